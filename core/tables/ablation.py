"""Tables of the ablation experiment: every run, and every variant."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.ablation import uniform_ceiling
from core.ablation_runs import AblationSettings
from core.ablation_scores import (
    AblationRun,
    add_up,
    interval,
    standard_error,
)
from core.reported import (
    ABLATION_LEARNED,
    ABLATION_N_FRESH,
    ABLATION_UNIFORM,
)
from core.tables.counts import count_runs, keep_whole
from core.tables.recall import is_articles_task
from core.tables.sampling import has_articles_ceiling, uniform_runs
from core.training import TrainSettings

_SPREAD = 0.6  # how much of its row the seeds of a variant take up

LABELS = {
    "learned": "learned",
    "uniform": "uniform",
    "frozen_scores": "W_Q, W_K frozen",
    "frozen_query": "W_Q frozen",
    "keys_without_values": "values hidden",
}

TAKEN_AWAY = {
    "learned": "Nothing. All six matrices are trained.",
    "uniform": "All scores: W_Q and W_K are zero and stay zero.",
    "frozen_scores": "The training of W_Q and W_K: both keep their random start.",
    "frozen_query": "The training of W_Q alone: it keeps its random start.",
    "keys_without_values": "The value's part in a pair's key vector.",
}

ASKS = {
    "learned": "Can one head solve the task?",
    "uniform": "How far does it get when it weighs every position alike?",
    "frozen_scores": "Do W_Q and W_K have to learn?",
    "frozen_query": "Do both of them have to learn?",
    "keys_without_values": "Does the match need to see the value?",
}


def run_points(runs: Sequence[AblationRun], settings: AblationSettings) -> pd.DataFrame:
    """Return a row for every mark of the chart of the runs.

    ``Mark`` says what a row is: a run; the article's score; chance; the ceiling, with the range
    that 95 % of runs at the ceiling fall into.
    """
    task = settings.train
    rows = [_point(run, settings) for run in runs]
    ceiling = 100 * float(uniform_ceiling(task.n_pairs, task.n_values))
    spread = 100 * 1.96 * standard_error(ceiling / 100, ABLATION_N_FRESH)
    chance = 100 / task.n_values
    # The names of the two lines stand at opposite ends, as the lines can come close to each other.
    top, bottom = -0.5, len(LABELS) - 0.5
    rows.append(
        {"Mark": "chance", "Accuracy": chance, "Row": bottom, "Words": f"chance {chance:.1f} %"}
    )
    rows.append(
        {
            "Mark": "ceiling",
            "Accuracy": ceiling,
            "Low": max(0.0, ceiling - spread),
            "High": min(100.0, ceiling + spread),
            "Row": top,
            "Words": f"ceiling {ceiling:.1f} %",
        }
    )
    if has_articles_ceiling(task) and "uniform" in settings.variants:
        rows.append(
            {
                "Mark": "article",
                "Variant": LABELS["uniform"],
                "Accuracy": ABLATION_UNIFORM.value,
                "Row": float(_row("uniform")),
                "Words": f"article {ABLATION_UNIFORM.value} %",
            }
        )
    columns = ["Mark", "Variant", "Seed", "Accuracy", "Low", "High", "Row", "Solved", "Words"]
    return pd.DataFrame(rows, columns=columns)


def variant_summary(runs: Sequence[AblationRun], settings: AblationSettings) -> pd.DataFrame:
    """Return a row for each variant chosen: what it is, and all its runs so far together."""
    rows = []
    for variant in settings.variants:
        mine = [run for run in runs if run.settings.variant == variant]
        shares = [100 * run.score.share for run in mine]
        solved = [run.solved_at for run in mine if run.solved_at is not None]
        rows.append(
            {
                "Variant": LABELS[variant],
                "What is taken away": TAKEN_AWAY[variant],
                "What it asks": ASKS[variant],
                "Runs": len(mine),
                "Lowest accuracy (%)": min(shares, default=np.nan),
                "Mean accuracy (%)": 100 * add_up(run.score for run in mine).share,
                "Highest accuracy (%)": max(shares, default=np.nan),
                "Runs that solved it": len(solved),
                "Earliest at 99 % (step)": min(solved, default=np.nan),
                "Latest at 99 % (step)": max(solved, default=np.nan),
                "With the scores of the start (%)": 100
                * add_up(run.at_start_scores for run in mine).share,
                "Article": _article(variant, settings.train),
            }
        )
    return pd.DataFrame(rows)


def variant_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text, a row for each variant."""
    rows = []
    for row in summary.to_dict("records"):
        low, high = row["Lowest accuracy (%)"], row["Highest accuracy (%)"]
        first, last = row["Earliest at 99 % (step)"], row["Latest at 99 % (step)"]
        start = row["With the scores of the start (%)"]
        rows.append(
            {
                "Variant": row["Variant"],
                "Runs": str(row["Runs"]),
                "Accuracy": _range(low, high, "{:.1f}", " %") if row["Runs"] else "—",
                "99 % at step": _range(first, last, "{:,.0f}", "")
                if first == first
                else "never"
                if row["Runs"]
                else "—",
                "With the scores of the start": f"{start:.1f} %" if row["Runs"] else "—",
                "Article": row["Article"],
            }
        )
    return pd.DataFrame(rows)


def run_list(runs: Sequence[AblationRun]) -> pd.DataFrame:
    """Return every run with all its numbers, for reading and for the download."""
    rows = []
    for run in runs:
        low, high = interval(run.score)
        task = run.settings
        rows.append(
            {
                "Variant": task.variant,
                "Seed": task.seed,
                "Pairs": task.n_pairs,
                "Keys": task.n_keys,
                "Values": task.n_values,
                "Steps": task.n_steps,
                "Fresh sequences": run.score.total,
                "Right answers": run.score.right,
                "Accuracy (%)": 100 * run.score.share,
                "95 % interval from (%)": 100 * low,
                "95 % interval to (%)": 100 * high,
                "Best strategy, same sequences (%)": 100 * run.best.share,
                "With the scores of the start (%)": 100 * run.at_start_scores.share,
                "First checkpoint at 99 % (step)": run.solved_at,
                "Stopped early": run.diverged or "",
            }
        )
    return keep_whole(pd.DataFrame(rows), "First checkpoint at 99 % (step)")


def progress_sentence(runs: Sequence[AblationRun], settings: AblationSettings) -> str:
    """Say what the finished runs show, as it is."""
    if not runs:
        return "No run has finished yet."
    uniform = uniform_sentence(runs, settings.train)
    parts = [uniform] if uniform else []
    reached: dict[str, list[str]] = {}  # names of variants, by how many of their runs reached it
    for variant in settings.variants:
        solved = [r.solved_at is not None for r in runs if r.settings.variant == variant]
        if solved:
            how = "every run" if all(solved) else "some runs" if any(solved) else "no run"
            reached.setdefault(how, []).append(LABELS[variant])
    for how in ("every run", "some runs", "no run"):
        if how in reached:
            parts.append(f"99 % reached in {how}: {'; '.join(reached[how])}.")
    broken = sum(run.diverged is not None for run in runs)
    if broken:
        parts.append(
            f"Stopped early, as the loss was no longer a finite number: {count_runs(broken)}."
        )
    return " ".join(parts)


def uniform_sentence(runs: Sequence[AblationRun], task: TrainSettings) -> str | None:
    """Put what the uniform runs scored beside the ceiling; None if none has finished."""
    uniform = add_up(run.score for run in uniform_runs(runs))
    if not uniform.total:
        return None
    ceiling = uniform_ceiling(task.n_pairs, task.n_values)
    return (
        f"Uniform answered {100 * uniform.share:.1f} % of {uniform.total:,} sequences right; its "
        f"ceiling is {100 * float(ceiling):.1f} %."
    )


def frozen_sentence(runs: Sequence[AblationRun]) -> str | None:
    """Put random scores that are never trained beside equal ones; None without a run of them."""
    frozen, uniform = (
        add_up(run.score for run in runs if run.settings.variant == variant)
        for variant in ("frozen_scores", "uniform")
    )
    if not frozen.total:
        return None
    words = (
        f"W_Q and W_K kept at their random start: {100 * frozen.share:.1f} % of "
        f"{frozen.total:,} answers right."
    )
    if not uniform.total:
        return words
    return f"{words} Both at zero, so that all scores are equal: {100 * uniform.share:.1f} %."


def findings(runs: Sequence[AblationRun], settings: AblationSettings) -> list[str]:
    """Answer each variant's question as far as its finished runs do, a line each."""
    lines = []
    for variant in settings.variants:
        mine = [run for run in runs if run.settings.variant == variant]
        solved = [run.solved_at for run in mine if run.solved_at is not None]
        answer = "No run has finished yet."
        if mine and solved:
            when = _range(min(solved), max(solved), "{:,}", "")
            answer = f"{len(solved)} of {count_runs(len(mine))} reached 99 %, at step {when}."
        elif mine:
            best = 100 * max(run.score.share for run in mine)
            answer = f"None of {count_runs(len(mine))} reached 99 %; the best scored {best:.1f} %."
        taken_away = f"Taken away: {_lower(TAKEN_AWAY[variant])}"
        lines.append(f"**{LABELS[variant]}.** {taken_away} {ASKS[variant]} {answer}")
    return lines


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _point(run: AblationRun, settings: AblationSettings) -> dict[str, object]:
    low, high = interval(run.score)
    place = run.settings.seed - settings.train.seed
    return {
        "Mark": "run",
        "Variant": LABELS[run.settings.variant],
        "Seed": run.settings.seed,
        "Accuracy": 100 * run.score.share,
        "Low": 100 * low,
        "High": 100 * high,
        # Seeds lie beside each other across their row, so that equal scores stay apart.
        "Row": _row(run.settings.variant) + _SPREAD * ((place + 0.5) / settings.n_seeds - 0.5),
        "Solved": "never" if run.solved_at is None else f"step {run.solved_at:,}",
        "Words": f"{100 * run.score.share:.2f} %",
    }


def _row(variant: str) -> int:
    return list(LABELS).index(variant)


def _article(variant: str, task: TrainSettings) -> str:
    if variant == "uniform" and has_articles_ceiling(task):
        return f"{ABLATION_UNIFORM.value} %"
    if not is_articles_task(task):
        return "another task"
    if variant == "learned":
        return f"solved within {ABLATION_LEARNED.value:,.0f} steps"
    return "not tried"


def _range(low: float, high: float, form: str, unit: str) -> str:
    first, last = form.format(low), form.format(high)
    return f"{first}{unit}" if first == last else f"{first} to {last}{unit}"
