"""Tables of the gradient check."""

import pandas as pd

from core.gradcheck import GradientCheck
from core.reported import RECALL_GRADIENT
from core.tables.counts import count_of
from core.tables.numbers import scientific

BACKWARD = "Backward pass (nats per unit)"
NUDGED = "Nudged (nats per unit)"
DIFFERENCE = "Relative difference (no unit)"
IN_WORDS = {BACKWARD: "Backward in words", NUDGED: "Nudged in words", DIFFERENCE: "In words"}
LEAST_SHOWN = 1e-12  # a smaller relative difference has no place on a logarithmic axis


def gradient_check(check: GradientCheck) -> pd.DataFrame:
    """Return a row for each sampled parameter."""
    return pd.DataFrame(
        [
            {
                "Matrix": one.matrix,
                "Row": one.row,
                "Column": one.column,
                BACKWARD: one.analytic,
                NUDGED: one.numeric,
                DIFFERENCE: one.relative_difference,
            }
            for one in check.checked
        ]
    )


def gradient_check_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the check as text: gradients to nine digits, where they differ, that to two."""
    words = table.astype(object)
    for column, digits in ((BACKWARD, 9), (NUDGED, 9), (DIFFERENCE, 2)):
        words[column] = [scientific(value, digits) for value in table[column]]
    return words


def gradient_points(check: GradientCheck) -> pd.DataFrame:
    """Return the check for the charts, with every difference given a place on a log axis."""
    frame = gradient_check(check)
    for column, words in gradient_check_in_words(frame)[list(IN_WORDS)].items():
        frame[IN_WORDS[str(column)]] = words
    frame["Shown difference"] = frame[DIFFERENCE].clip(lower=LEAST_SHOWN)
    frame["Parameter"] = [f"{one.matrix}[{one.row}, {one.column}]" for one in check.checked]
    return frame


def gradient_sentence(check: GradientCheck) -> str:
    """Say what the worst of the sampled parameters is, beside the article's."""
    worst = check.worst
    return (
        f"{len(check.checked)} parameters, each moved by ±{check.nudge:g} on one batch of "
        f"{count_of(check.n_sequences, 'sequence')}, in float64: the largest relative difference "
        f"is {scientific(worst.relative_difference)}, at {worst.matrix}[{worst.row}, "
        f"{worst.column}]. Article: {scientific(RECALL_GRADIENT.value)}."
    )
