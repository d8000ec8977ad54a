"""Tables of the experiment with one head and several: every run, and every row of the chart."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd

from core.ablation_scores import SOLVED, Score, add_up, distance_in_errors
from core.many_heads import (
    CASES,
    Case,
    HeadsRun,
    ManyHeadsSettings,
    n_scored,
    of_case,
    scored_exactly,
)
from core.one_head_ceiling import one_head_ceiling
from core.tables.ceiling import percent
from core.tables.counts import count_runs, keep_whole
from core.tables.sampling import in_errors
from core.two_facts_settings import TwoFactsSettings
from core.two_facts_training import N_TEST

_SPREAD = 0.6  # how much of its row the seeds of a case take up
SORTED, ONE_HEAD, TWO_HEADS = CASES[0], CASES[1], CASES[2]


def label(case: Case) -> str:
    """Name a case in a few words.

    >>> [label(case) for case in CASES[:3]]
    ['1 head, smallest first', '1 head', '2 heads']
    """
    heads = "1 head" if case.n_heads == 1 else f"{case.n_heads} heads"
    return f"{heads}, smallest first" if case.order == "smallest first" else heads


def run_points(runs: Sequence[HeadsRun], settings: ManyHeadsSettings) -> pd.DataFrame:
    """Return a row for every mark of the chart: each run, chance, and the ceiling of one head."""
    n_values = settings.train.n_values
    ceiling, chance = 100 * float(one_head_ceiling(n_values)), 100 / n_values**2
    rows: list[dict[str, object]] = [_point(run, settings) for run in runs]
    top, bottom = -0.5, len(CASES) - 0.5
    rows.append(
        {"Mark": "chance", "Accuracy": chance, "Row": bottom, "Words": f"chance {chance:.1f} %"}
    )
    rows.append(
        {
            "Mark": "ceiling",
            "Accuracy": ceiling,
            "Row": top,
            "Words": f"ceiling {percent(one_head_ceiling(n_values))}",
        }
    )
    columns = ["Mark", "Case", "Seed", "Accuracy", "First", "Second", "Row", "Solved", "Words"]
    return pd.DataFrame(rows, columns=[*columns, "Sequences"])


def case_summary(runs: Sequence[HeadsRun], settings: ManyHeadsSettings) -> pd.DataFrame:
    """Return a row for each case: all its runs so far together."""
    ceiling = one_head_ceiling(settings.train.n_values)
    rows = []
    for case in CASES:
        mine = of_case(runs, case)
        shares = [100 * run.whole.both.share for run in mine]
        solved = [run.solved_at for run in mine if run.solved_at is not None]
        bound = case == ONE_HEAD
        rows.append(
            {
                "Heads": case.n_heads,
                "Order of the answers": case.order,
                "Runs": len(mine),
                "Sequences a run": n_scored(settings.train),
                "Lowest accuracy (%)": min(shares, default=np.nan),
                "Mean accuracy (%)": float(np.mean(shares)) if shares else np.nan,
                "Highest accuracy (%)": max(shares, default=np.nan),
                "First answer, mean (%)": _mean(100 * run.whole.first.share for run in mine),
                "Second answer, mean (%)": _mean(100 * run.whole.second.share for run in mine),
                "Runs that reached 99 %": len(solved),
                "Earliest at 99 % (step)": min(solved, default=np.nan),
                "Latest at 99 % (step)": max(solved, default=np.nan),
                "One-head ceiling (exact)": str(ceiling) if bound else "",
                "Runs exactly at the ceiling": sum(_at(run, ceiling) for run in mine)
                if bound
                else np.nan,
                "Runs stopped early": sum(run.diverged is not None for run in mine),
            }
        )
    return pd.DataFrame(rows)


def case_summary_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text, short enough for a static table."""
    rows = []
    for row in table.to_dict("records"):
        runs = row["Runs"]
        steps = (row["Earliest at 99 % (step)"], row["Latest at 99 % (step)"])
        ceiling = row["One-head ceiling (exact)"]
        rows.append(
            {
                "Heads": str(row["Heads"]),
                "Answers": row["Order of the answers"],
                "Runs": str(runs),
                "Both right": _shares(row["Lowest accuracy (%)"], row["Highest accuracy (%)"])
                if runs
                else "—",
                "First right": _short(row["First answer, mean (%)"]) if runs else "—",
                "Second right": _short(row["Second answer, mean (%)"]) if runs else "—",
                "99 % reached": _reached(row["Runs that reached 99 %"], runs, *steps)
                if runs
                else "—",
                "Ceiling": ceiling or "100 %",
            }
        )
    return pd.DataFrame(rows)


def run_list(runs: Sequence[HeadsRun]) -> pd.DataFrame:
    """Return a row for each run and each state of its heads: all on, then each one off."""
    rows = []
    for run in runs:
        states = [("none", run.whole)]
        states += [(str(head), off) for head, off in enumerate(run.without, start=1)]
        for off, answered in states:
            rows.append(
                {
                    "Heads": run.settings.n_heads,
                    "Order of the answers": run.settings.order,
                    "Seed": run.settings.seed,
                    "Head switched off": off,
                    "Both right": answered.both.right,
                    "First right": answered.first.right,
                    "Second right": answered.second.right,
                    "Sequences": answered.both.total,
                    "Every possible sequence": run.exact,
                    "Both right (%)": 100 * answered.both.share,
                    "First right (%)": 100 * answered.first.share,
                    "Second right (%)": 100 * answered.second.share,
                    "99 % reached (step)": run.solved_at,
                    "Stopped early": run.diverged or "",
                }
            )
    return keep_whole(pd.DataFrame(rows), "99 % reached (step)")


def progress_sentence(runs: Sequence[HeadsRun], settings: ManyHeadsSettings) -> str:
    """Say what the finished runs show, as it is."""
    if not runs:
        return "No run has finished yet."
    parts = [result_sentence(runs, settings.train)]
    reached = [
        label(case)
        for case in CASES
        if (mine := of_case(runs, case)) and all(r.whole.both.share >= SOLVED for r in mine)
    ]
    if reached:
        parts.append(f"At least 99 % in every run: {'; '.join(reached)}.")
    broken = sum(run.diverged is not None for run in runs)
    if broken:
        parts.append(
            f"Stopped early, as the loss was no longer a finite number: {count_runs(broken)}."
        )
    return " ".join(part for part in parts if part)


def result_sentence(runs: Sequence[HeadsRun], task: TwoFactsSettings) -> str:
    """Put what the runs with one head scored beside their ceiling, and two heads beside them."""
    one = of_case(runs, ONE_HEAD)
    if not one:
        return ""
    ceiling = one_head_ceiling(task.n_values)
    shares = [100 * run.whole.both.share for run in one]
    words = (
        f"One head answered {_shares(min(shares), max(shares))} of "
        f"{_of_what(task)} right; its ceiling is {ceiling} = {percent(ceiling)}"
        f"{_against(one, ceiling)}."
    )
    two = [100 * run.whole.both.share for run in of_case(runs, TWO_HEADS)]
    if two:
        words += f" Two heads: {_shares(min(two), max(two))}."
    if task.values_in_keys:
        words += " The scores see the values here, so the ceiling does not bind."
    return words


def control_sentence(runs: Sequence[HeadsRun], task: TwoFactsSettings) -> str:
    """Say what one head makes of the same two values when they may be sorted."""
    mine = of_case(runs, SORTED)
    if not mine:
        return "No run has finished yet."
    shares = [100 * run.whole.both.share for run in mine]
    return (
        f"Asked for them smallest first, one head answered "
        f"{_shares(min(shares), max(shares))} of {_of_what(task)} right, in "
        f"{count_runs(len(mine))}."
    )


def scored_sentence(settings: ManyHeadsSettings) -> str:
    """Say what the runs were scored on, and what 99 % means there."""
    task = settings.train
    if scored_exactly(task):
        scored = (
            f"Scored on every possible sequence, {n_scored(task):,} of them when the order of the "
            "pairs does not count, so the shares carry no sampling error."
        )
    else:
        scored = (
            f"Scored on {n_scored(task):,} fresh sequences a run: all possible ones are too many."
        )
    return f"{scored} 99 %: on {N_TEST:,} sequences at a checkpoint of the training."


def chosen_settings(task: TwoFactsSettings, n_heads: int, seed: int) -> TwoFactsSettings:
    """Return the settings of one run of the experiment, the answers in the order asked."""
    return replace(task, n_heads=n_heads, order="as asked", seed=seed)


def _point(run: HeadsRun, settings: ManyHeadsSettings) -> dict[str, object]:
    place = run.settings.seed - settings.train.seed
    both = run.whole.both
    return {
        "Mark": "run",
        "Case": label(run.case),
        "Seed": run.settings.seed,
        "Accuracy": 100 * both.share,
        "First": 100 * run.whole.first.share,
        "Second": 100 * run.whole.second.share,
        # Seeds lie beside each other across their row, so that equal scores stay apart.
        "Row": CASES.index(run.case) + _SPREAD * ((place + 0.5) / settings.n_seeds - 0.5),
        "Solved": "never" if run.solved_at is None else f"step {run.solved_at:,}",
        "Words": f"{both.right:,} of {both.total:,}",
        "Sequences": "every possible one" if run.exact else "fresh ones",
    }


def _of_what(task: TwoFactsSettings) -> str:
    if scored_exactly(task):
        return f"all {n_scored(task):,} possible sequences"
    return f"{n_scored(task):,} fresh sequences"


def _against(runs: Sequence[HeadsRun], ceiling: Fraction) -> str:
    """Say how the runs lie against the ceiling: exactly if nothing was sampled."""
    if all(run.exact for run in runs):
        exactly = sum(_at(run, ceiling) for run in runs)
        scores = [run.whole.both for run in runs]
        past = sum(Fraction(score.right, score.total) > ceiling for score in scores)
        passed = f", passed by {past}" if past else ""
        return f", met exactly by {exactly or 'none'} of {count_runs(len(runs))}{passed}"
    total = add_up(run.whole.both for run in runs)
    return f", and all runs together lie {in_errors(distance_in_errors(total, ceiling))} it"


def _at(run: HeadsRun, ceiling: Fraction) -> bool:
    score: Score = run.whole.both
    return run.exact and Fraction(score.right, score.total) == ceiling


def _mean(shares: Iterable[float]) -> float:
    listed = list(shares)
    return float(np.mean(listed)) if listed else float("nan")


def _reached(count: int, runs: int, earliest: float, latest: float) -> str:
    if not count:
        return "never"
    step = f"{earliest:,.0f}" if earliest == latest else f"{earliest:,.0f} to {latest:,.0f}"
    return f"step {step}" if count == runs else f"step {step}, in {count} of {runs}"


def _shares(lowest: float, highest: float) -> str:
    first, last = _short(lowest), _short(highest)
    return first if first == last else f"{first.removesuffix(' %')} to {last}"


def _short(share: float) -> str:
    """Write a share in percent; what is not all of them is never rounded up to 100 %."""
    if share < 100:
        share = min(share, 99.99)
    return f"{share:.2f}".rstrip("0").rstrip(".") + " %"
