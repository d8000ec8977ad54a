"""Tables of what the trained heads on word order do: by distance, by length, by ALiBi's slope."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from core.ablation_scores import add_up
from core.order_training import SLOPES, OrderRun
from core.positions import SCHEMES
from core.tables.numbers import signed
from core.tables.word_order import ACCURACY, LABELS, between
from core.word_order import OrderSettings, order_ceiling

DISTANCE = "Positions before the question"
RELATIVE = "Score above the farthest (no unit)"
OTHERS = "Other pairs"
SLOPE = "Slope (score lost a position)"


def distances(runs: Sequence[OrderRun]) -> pd.DataFrame:
    """Return each scheme's mean score of the asked key's pairs by distance, over its runs.

    Scores count against each other only, so each run's are given above that of its farthest pair.
    """
    rows = []
    for scheme in SCHEMES:
        mine = [run.by_distance for run in runs if run.settings.scheme == scheme]
        if mine:
            relative = np.mean([scores - scores[-1] for scores in mine], axis=0)
            rows += [
                {
                    "Scheme": LABELS[scheme],
                    DISTANCE: i + 1,
                    RELATIVE: float(value),
                    "Runs": len(mine),
                }
                for i, value in enumerate(relative)
            ]
    return pd.DataFrame(rows, columns=["Scheme", DISTANCE, RELATIVE, "Runs"])


def distances_sentence(frame: pd.DataFrame) -> str:
    """Say by how much the nearest position's score is above the farthest's, for each scheme."""
    nearest = frame[frame[DISTANCE] == 1]
    if nearest.empty:
        return "No run has finished yet."
    parts = [f"{row['Scheme']} {signed(row[RELATIVE])}" for row in nearest.to_dict("records")]
    return f"The nearest pair's score above the farthest's: {', '.join(parts)}."


def lengths(runs: Sequence[OrderRun]) -> pd.DataFrame:
    """Return each scheme's accuracy on shorter and longer sequences, over its runs."""
    rows = []
    for scheme in SCHEMES:
        mine = [run.by_others for run in runs if run.settings.scheme == scheme]
        for others, scores in enumerate(zip(*mine, strict=True)):
            known = [score for score in scores if score is not None]
            if known:
                total = add_up(known)
                rows.append(
                    {
                        "Scheme": LABELS[scheme],
                        OTHERS: others,
                        ACCURACY: 100 * total.share,
                        "Fresh sequences": total.total,
                        "Trained here": others == runs[0].settings.n_others,
                    }
                )
    columns = ["Scheme", OTHERS, ACCURACY, "Fresh sequences", "Trained here"]
    return pd.DataFrame(rows, columns=columns)


def lengths_sentence(frame: pd.DataFrame, task: OrderSettings) -> str:
    """Say how each scheme does at the most other pairs, and which cannot be asked there."""
    if frame.empty:
        return "No run has finished yet."
    most = int(frame[OTHERS].max())
    there = frame[frame[OTHERS] == most]
    parts = [f"{row['Scheme']} {row[ACCURACY]:.1f} %" for row in there.to_dict("records")]
    sentence = f"Trained with {task.n_others} other pairs, tested with {most}: {', '.join(parts)}."
    names = set(there["Scheme"])
    if LABELS["learned"] in set(frame["Scheme"]) - names:
        sentence += (
            " Learned positions end where training ended: there is no vector further on. In a "
            "shorter sequence the question stands where none stood in training."
        )
    return sentence


def slope_points(runs: Sequence[OrderRun], task: OrderSettings) -> pd.DataFrame:
    """Return each run's accuracy by ALiBi's slope, and a row for the ceiling without positions."""
    rows: list[dict[str, object]] = [
        {
            "Mark": "run",
            SLOPE: slope_words(run.settings.alibi_slope),
            "Seed": run.settings.seed,
            ACCURACY: 100 * run.score.share,
            "Right answers": run.score.right,
            "Fresh sequences": run.score.total,
            "Weight on the last pair (%)": 100 * run.weight_on_last,
            "Weight on the question (%)": 100 * run.weight_on_question,
        }
        for run in runs
    ]
    ceiling = 100 * float(order_ceiling(task.n_times))
    rows.append({"Mark": "ceiling", SLOPE: slope_words(SLOPES[-1]), ACCURACY: ceiling})
    columns = ["Mark", SLOPE, "Seed", ACCURACY, "Right answers", "Fresh sequences"]
    weights = ["Weight on the last pair (%)", "Weight on the question (%)"]
    return pd.DataFrame(rows, columns=[*columns, *weights])


def slopes_sentence(runs: Sequence[OrderRun]) -> str:
    """Say which slopes answered everything, and how far the others came."""
    if not runs:
        return "No slope has been measured with these settings yet."
    by_slope: dict[float, list[float]] = {}
    for run in runs:
        by_slope.setdefault(run.settings.alibi_slope, []).append(100 * run.score.share)
    perfect = [slope_words(slope) for slope in SLOPES if min(by_slope.get(slope, [0])) == 100]
    first = f"Every answer right with slopes {', '.join(perfect)}." if perfect else ""
    others = [
        f"{slope_words(slope)}: {between(min(shares), max(shares), '{:.1f}', ' %')}"
        for slope, shares in sorted(by_slope.items())
        if slope_words(slope) not in perfect
    ]
    rest = f"Others, lowest to highest run: {'; '.join(others)}." if others else ""
    return f"{first} {rest}".strip()


def slope_words(slope: float) -> str:
    """Write a slope as the paper does, as a fraction.

    >>> [slope_words(slope) for slope in (0.0, 1 / 256, 0.5, 4.0)]
    ['0', '1/256', '1/2', '4']
    """
    return str(Fraction(slope).limit_denominator(1024))
