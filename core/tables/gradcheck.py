"""Tables of the gradient check."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.gradcheck import CheckedParameter, GradientCheck
from core.reported import RECALL_GRADIENT
from core.tables.counts import count_of
from core.tables.numbers import scientific

BACKWARD = "Backward pass (nats per unit)"
NUDGED = "Nudged (nats per unit)"
DIFFERENCE = "Relative difference (no unit)"
DIGITS = {BACKWARD: 9, NUDGED: 9, DIFFERENCE: 2}
IN_WORDS = {BACKWARD: "Backward in words", NUDGED: "Nudged in words", DIFFERENCE: "In words"}
LEAST_SHOWN = 1e-12  # a smaller relative difference has no place on a logarithmic axis


def gradient_check(check: GradientCheck) -> pd.DataFrame:
    """Return a row for each sampled parameter."""
    return pd.DataFrame(_columns(check.checked))


def gradient_check_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the check as text: gradients to nine digits, where they differ, that to two."""
    words = table.astype(object)
    for column, digits in DIGITS.items():
        words[column] = _in_words(table[column], digits)
    return words


def gradient_points(check: GradientCheck | None) -> pd.DataFrame:
    """Return the check for the charts, with every difference given a place on a log axis.

    There is no point while the check is still to come, which is then None.
    """
    checked = check.checked if check else ()
    columns = _columns(checked)
    return pd.DataFrame(
        columns
        | {words: _in_words(columns[name], DIGITS[name]) for name, words in IN_WORDS.items()}
        | {
            "Shown difference": np.maximum(columns[DIFFERENCE], LEAST_SHOWN),
            "Parameter": [f"{one.matrix}[{one.row}, {one.column}]" for one in checked],
        }
    )


def gradient_sentence(check: GradientCheck | None) -> str:
    """Say what the worst of the sampled parameters is, beside the article's."""
    if check is None:
        return "Checked when the training has ended: until then the check would hold it up."
    worst = check.worst
    return (
        f"{len(check.checked)} parameters, each moved by ±{check.nudge:g} on one batch of "
        f"{count_of(check.n_sequences, 'sequence')}, in float64: the largest relative difference "
        f"is {scientific(worst.relative_difference)}, at {worst.matrix}[{worst.row}, "
        f"{worst.column}]. Article: {scientific(RECALL_GRADIENT.value)}."
    )


def _columns(checked: Sequence[CheckedParameter]) -> dict[str, Any]:
    return {
        "Matrix": [one.matrix for one in checked],
        "Row": np.array([one.row for one in checked], dtype=int),
        "Column": np.array([one.column for one in checked], dtype=int),
        BACKWARD: np.array([one.analytic for one in checked], dtype=float),
        NUDGED: np.array([one.numeric for one in checked], dtype=float),
        DIFFERENCE: np.array([one.relative_difference for one in checked], dtype=float),
    }


def _in_words(numbers: Iterable[float], digits: int) -> list[str]:
    return [scientific(number, digits) for number in numbers]
