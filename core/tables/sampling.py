"""Tables of the sampling error: what chance alone makes of a score at the ceiling."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.ablation import uniform_ceiling
from core.ablation_scores import (
    AblationRun,
    Score,
    add_up,
    distance_in_errors,
    interval,
    standard_error,
)
from core.reported import (
    ABLATION_CEILING,
    ABLATION_N_FRESH,
    ABLATION_N_PAIRS,
    ABLATION_N_VALUES,
    ABLATION_UNIFORM,
)
from core.tables import numbers
from core.training import TrainSettings


def sampling_points(runs: Sequence[AblationRun], task: TrainSettings) -> pd.DataFrame:
    """Return how far each score lies from the ceiling, in standard errors of its own sample."""
    ceiling = uniform_ceiling(task.n_pairs, task.n_values)
    scores: list[tuple[str, int | None, Score]] = []
    for run in uniform_runs(runs):
        scores.append(("uniform head", run.settings.seed, run.score))
        scores.append(("best strategy", run.settings.seed, run.best))
    if has_articles_ceiling(task):
        scores.append(("article", None, articles_score()))
    rows = [
        {
            "Who": who,
            "Seed": "not reported" if seed is None else str(seed),
            "Accuracy": 100 * score.share,
            "Distance": distance_in_errors(score, ceiling),
            "Right answers": score.right,
            "Sequences": score.total,
        }
        for who, seed, score in scores
    ]
    columns = ["Who", "Seed", "Accuracy", "Distance", "Right answers", "Sequences"]
    return pd.DataFrame(rows, columns=columns)


def sampling_summary(runs: Sequence[AblationRun], task: TrainSettings) -> pd.DataFrame:
    """Return the exact ceiling beside what was scored: strategy, uniform head, article."""
    ceiling = uniform_ceiling(task.n_pairs, task.n_values)
    uniform = uniform_runs(runs)
    rows = [_exactly("Ceiling, exact", 100 * float(ceiling))]
    if uniform:
        best, head = add_up(r.best for r in uniform), add_up(r.score for r in uniform)
        rows.append(_sampled("Best strategy, on the test sequences", best, task))
        rows.append(_sampled("Uniform head, on the same sequences", head, task))
    if has_articles_ceiling(task):
        rows.append(_exactly("Article, ceiling", ABLATION_CEILING.value))
        rows.append(_sampled("Article, uniform head", articles_score(), task))
    return pd.DataFrame(rows)


def sampling_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text."""
    rows = []
    for row in summary.to_dict("records"):
        sampled = row["Sequences"] > 0
        low, high = row["95 % interval from (%)"], row["95 % interval to (%)"]
        digits = 1 if str(row["Score"]).startswith("Article") else 4 if not sampled else 2
        rows.append(
            {
                "Score": row["Score"],
                "Accuracy": f"{row['Accuracy (%)']:.{digits}f} %",
                "Sequences": f"{row['Sequences']:,}" if sampled else "none: counted",
                "95 % interval": f"{low:.1f} to {high:.1f} %" if sampled else "—",
                "From the ceiling, in standard errors": signed(row["Difference (standard errors)"]),
            }
        )
    return pd.DataFrame(rows)


def sampling_sentence(runs: Sequence[AblationRun], task: TrainSettings) -> str:
    """Say how far chance alone carries one score, and where the article's lies."""
    ceiling = uniform_ceiling(task.n_pairs, task.n_values)
    error = 100 * standard_error(ceiling, ABLATION_N_FRESH)
    sentence = (
        f"One standard error of {ABLATION_N_FRESH:,} sequences at the ceiling is {error:.2f} "
        "percentage points."
    )
    if has_articles_ceiling(task):
        distance = distance_in_errors(articles_score(), ceiling)
        sentence += (
            f" The article's {ABLATION_UNIFORM.value} % is {in_errors(distance)} the exact ceiling."
        )
    above = [distance_in_errors(run.score, ceiling) for run in uniform_runs(runs)]
    if above:
        sentence += (
            f" Uniform runs: {len(above)}; above the ceiling: {sum(d > 0 for d in above)}; outside "
            f"the shaded 95 %: {sum(abs(d) > 1.96 for d in above)}."
        )
    return sentence


def in_errors(distance: float) -> str:
    """Write a distance in standard errors.

    >>> in_errors(0.551), in_errors(-2.0), in_errors(0.0)
    ('0.55 standard errors above', '2.00 standard errors below', 'exactly at')
    """
    if np.isnan(distance):
        return "no sequences"
    if distance == 0:
        return "exactly at"
    if np.isinf(distance):
        return "below, where chance leaves no room"
    return f"{abs(distance):.2f} standard errors {'above' if distance > 0 else 'below'}"


def signed(distance: float) -> str:
    """Write a distance in standard errors as a signed number.

    >>> signed(0.5504), signed(-2.0), signed(float("nan"))
    ('+0.55', '−2.00', '—')
    """
    if np.isnan(distance):
        return "—"
    return numbers.signed(distance) if distance else "0"


def has_articles_ceiling(task: TrainSettings) -> bool:
    """Whether even attention has the article's ceiling: keys do not matter to it."""
    return (task.n_pairs, task.n_values) == (ABLATION_N_PAIRS, ABLATION_N_VALUES)


def articles_score() -> Score:
    """Return the article's uniform score as answers out of its fresh sequences."""
    right = round(ABLATION_UNIFORM.value / 100 * ABLATION_N_FRESH)
    return Score(right=right, total=ABLATION_N_FRESH)


def uniform_runs(runs: Sequence[AblationRun]) -> list[AblationRun]:
    """Return those of the runs that were trained with even attention."""
    return [run for run in runs if run.settings.variant == "uniform"]


def _exactly(name: str, percent: float) -> dict[str, object]:
    return {
        "Score": name,
        "Accuracy (%)": percent,
        "Sequences": 0,
        "95 % interval from (%)": np.nan,
        "95 % interval to (%)": np.nan,
        "Difference (standard errors)": np.nan,
    }


def _sampled(name: str, score: Score, task: TrainSettings) -> dict[str, object]:
    low, high = interval(score)
    ceiling = uniform_ceiling(task.n_pairs, task.n_values)
    return {
        "Score": name,
        "Accuracy (%)": 100 * score.share,
        "Sequences": score.total,
        "95 % interval from (%)": 100 * low,
        "95 % interval to (%)": 100 * high,
        "Difference (standard errors)": distance_in_errors(score, ceiling),
    }
