"""Tables of the word-order experiment: every run, and every scheme of positions."""

from collections.abc import Sequence
from math import factorial

import numpy as np
import pandas as pd

from core.ablation_scores import add_up, interval, standard_error
from core.order_training import N_FRESH, OrderRun, OrderSeries
from core.positions import SCHEMES
from core.tables.counts import count_runs, keep_whole
from core.tables.mask_leak import exactly
from core.tables.numbers import scientific
from core.word_order import OrderSettings, order_ceiling

LABELS = {
    "none": "no positions",
    "learned": "learned",
    "sinusoidal": "sinusoidal",
    "rotary": "rotary (RoPE)",
    "alibi": "ALiBi",
}
ACCURACY = "Accuracy (%)"
_SPREAD = 0.6  # how much of its row the seeds of a scheme take up


def label(scheme: str) -> str:
    """Return a scheme's name on the page; any other text is left as it is."""
    return LABELS.get(scheme, scheme)


def run_points(runs: Sequence[OrderRun], series: OrderSeries) -> pd.DataFrame:
    """Return a row for every mark of the chart of the runs; ``Mark`` says what a row is."""
    task = series.train
    ceiling = 100 * float(order_ceiling(task.n_times))
    spread = 100 * 1.96 * standard_error(ceiling / 100, N_FRESH)
    chance = 100 / task.n_values
    rows: list[dict[str, object]] = [
        {
            "Mark": "run",
            "Scheme": LABELS[run.settings.scheme],
            "Seed": run.settings.seed,
            "Accuracy": 100 * run.score.share,
            # Seeds lie beside each other across their row, so that equal scores stay apart.
            "Row": SCHEMES.index(run.settings.scheme)
            + _SPREAD * ((run.settings.seed - task.seed + 0.5) / series.n_seeds - 0.5),
            "Wrong": run.score.total - run.score.right,
            "Solved": _step(run.solved_at),
        }
        for run in runs
    ]
    words = f"ceiling {_exactly(task.n_times)}{ceiling:.1f} %"
    rows.append(
        {
            "Mark": "ceiling",
            "Accuracy": ceiling,
            "Low": max(0.0, ceiling - spread),
            "High": min(100.0, ceiling + spread),
            "Row": len(SCHEMES) - 0.5,
            "Words": words,
        }
    )
    rows.append(
        {"Mark": "chance", "Accuracy": chance, "Row": -0.5, "Words": f"chance {chance:.1f} %"}
    )
    columns = ["Mark", "Scheme", "Seed", "Accuracy", "Low", "High", "Row", "Wrong", "Solved"]
    return pd.DataFrame(rows, columns=[*columns, "Words"])


def scheme_summary(runs: Sequence[OrderRun]) -> pd.DataFrame:
    """Return a row for each scheme: all its runs so far together."""
    rows = []
    for scheme in SCHEMES:
        mine = [run for run in runs if run.settings.scheme == scheme]
        shares = [100 * run.score.share for run in mine]
        solved = [run.solved_at for run in mine if run.solved_at is not None]
        rows.append(
            {
                "Positions": LABELS[scheme],
                "Runs": len(mine),
                "Lowest accuracy (%)": min(shares, default=np.nan),
                "Highest accuracy (%)": max(shares, default=np.nan),
                "Runs without an error": sum(run.score.share == 1 for run in mine),
                "Wrong answers": sum(run.score.total - run.score.right for run in mine),
                "Fresh sequences": sum(run.score.total for run in mine),
                "Runs at 99 %": len(solved),
                "Earliest at 99 % (step)": min(solved, default=np.nan),
                "Latest at 99 % (step)": max(solved, default=np.nan),
                "Weight on the last pair (%)": _percent([r.weight_on_last for r in mine]),
                "Weight on earlier pairs of the key (%)": _percent(
                    [r.weight_on_earlier for r in mine]
                ),
                "Weight on other pairs (%)": _percent([r.weight_on_others for r in mine]),
                "Weight on the question (%)": _percent([r.weight_on_question for r in mine]),
                "Largest change when shuffled (no unit)": max(
                    (r.shuffle_change for r in mine), default=np.nan
                ),
                "Answers kept when shuffled (%)": 100 * add_up(r.shuffle_kept for r in mine).share,
            }
        )
    return pd.DataFrame(rows)


def scheme_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text, a row for each scheme."""
    rows = []
    for row in summary.to_dict("records"):
        done = row["Runs"] > 0
        low, high = row["Lowest accuracy (%)"], row["Highest accuracy (%)"]
        change = row["Largest change when shuffled (no unit)"]
        rows.append(
            {
                "Positions": row["Positions"],
                "Accuracy": between(low, high, "{:.2f}", " %") if done else "—",
                "Wrong": f"{row['Wrong answers']:,} of {row['Fresh sequences']:,}" if done else "—",
                "99 % at step": between(
                    row["Earliest at 99 % (step)"], row["Latest at 99 % (step)"], "{:,.0f}", ""
                )
                if row["Runs at 99 %"]
                else ("never" if done else "—"),
                "Weight: last pair": _or_none(row["Weight on the last pair (%)"]),
                "earlier": _or_none(row["Weight on earlier pairs of the key (%)"]),
                "Pairs shuffled: an answer moves by": small(change) if done else "—",
                "Article": "not tried" if row["Positions"] != LABELS["none"] else "no order asked",
            }
        )
    return pd.DataFrame(rows)


def run_list(runs: Sequence[OrderRun]) -> pd.DataFrame:
    """Return every run with all its numbers, for reading and for the download."""
    rows = []
    for run in runs:
        low, high = interval(run.score)
        task = run.settings
        rows.append(
            {
                "Positions": LABELS[task.scheme],
                "Seed": task.seed,
                "Times the key occurs": task.n_times,
                "Other pairs": task.n_others,
                "Steps": task.n_steps,
                "Fresh sequences": run.score.total,
                "Right answers": run.score.right,
                ACCURACY: 100 * run.score.share,
                "95 % interval from (%)": 100 * low,
                "95 % interval to (%)": 100 * high,
                "First checkpoint at 99 % (step)": run.solved_at,
                "Weight on the last pair (%)": 100 * run.weight_on_last,
                "Weight on the question (%)": 100 * run.weight_on_question,
                "Largest change when shuffled (no unit)": run.shuffle_change,
                "Answers kept when shuffled (%)": 100 * run.shuffle_kept.share,
                "Stopped early": run.diverged or "",
            }
        )
    return keep_whole(pd.DataFrame(rows), "First checkpoint at 99 % (step)")


def result_sentence(runs: Sequence[OrderRun], task: OrderSettings) -> str | None:
    """Put what the runs without positions scored beside the ceiling; None if none has finished."""
    score = add_up(run.score for run in runs if run.settings.scheme == "none")
    if not score.total:
        return None
    ceiling = order_ceiling(task.n_times)
    return (
        f"Without positions, {100 * score.share:.1f} % of {score.total:,} answers were right; the "
        f"ceiling is {_exactly(task.n_times)}{100 * float(ceiling):.1f} %."
    )


def progress_sentence(runs: Sequence[OrderRun], task: OrderSettings) -> str:
    """Say what the finished runs show, as it is."""
    first = result_sentence(runs, task)
    parts = [first] if first else ["No run has finished yet."]
    perfect, imperfect = [], []
    for scheme in SCHEMES[1:]:
        mine = [run.score for run in runs if run.settings.scheme == scheme]
        if mine and all(score.right == score.total for score in mine):
            perfect.append(LABELS[scheme])
        elif mine:
            lowest = 100 * min(score.share for score in mine)
            imperfect.append(f"{LABELS[scheme]} (lowest run {lowest:.2f} %)")
    if perfect:
        parts.append(f"Every answer of every run right: {', '.join(perfect)}.")
    if imperfect:
        parts.append(f"Not every answer right: {', '.join(imperfect)}.")
    broken = sum(run.diverged is not None for run in runs)
    if broken:
        parts.append(
            f"Stopped early, as the loss was no longer a finite number: {count_runs(broken)}."
        )
    return " ".join(parts)


def ceiling_sentence(task: OrderSettings) -> str:
    """Count the orders of one sequence's pairs, and in how many of them each value is right."""
    n, m = task.n_pairs, task.n_times
    orders = factorial(n)
    if m == 1:
        return (
            f"The asked key stands once: in all {orders:,} orders of the {n} pairs its one value "
            "is right, and no order has to be known. The ceiling is 1."
        )
    return (
        f"The {n} pairs have {orders:,} orders. Each of the asked key's {m} values comes last in "
        f"{orders // m:,} of them, and without positions all {orders:,} look the same. So no "
        f"answer is right in more than {order_ceiling(m)} of them."
    )


def between(low: float, high: float, form: str, unit: str) -> str:
    """Write a range, or one number where both ends look the same.

    >>> between(99.5, 100, "{:.1f}", " %"), between(3, 3, "{}", "")
    ('99.5 to 100.0 %', '3')
    """
    first, last = form.format(low), form.format(high)
    return f"{first}{unit}" if first == last else f"{first} to {last}{unit}"


def small(value: float) -> str:
    """Write a change: a zero as exact, and rounding as a power of ten.

    >>> small(0.0), small(2e-16), small(0.25)
    ('exactly 0', '2.0 × 10⁻¹⁶', '0.250')
    """
    return scientific(value) if 0 < value < 0.001 else exactly(value)


def _exactly(n_times: int) -> str:
    return f"{order_ceiling(n_times)} = " if n_times > 1 else ""


def _percent(shares: Sequence[float | None]) -> float:
    known = [share for share in shares if share is not None]
    return 100 * float(np.mean(known)) if known else float("nan")


def _or_none(percent: float) -> str:
    return "—" if np.isnan(percent) else f"{percent:.1f} %"


def _step(step: int | None) -> str:
    return "never" if step is None else f"step {step:,}"
