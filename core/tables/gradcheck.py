"""Tables of the gradient check."""

import pandas as pd

from core.gradcheck import GradientCheck
from core.reported import RECALL_GRADIENT

BACKWARD = "Backward pass (nats per unit)"
NUDGED = "Nudged (nats per unit)"
DIFFERENCE = "Relative difference (no unit)"
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


def gradient_points(check: GradientCheck) -> pd.DataFrame:
    """Return the check for the charts, with every difference given a place on a log axis."""
    frame = gradient_check(check)
    frame["Shown difference"] = frame[DIFFERENCE].clip(lower=LEAST_SHOWN)
    frame["Parameter"] = [f"{one.matrix}[{one.row}, {one.column}]" for one in check.checked]
    return frame


def gradient_sentence(check: GradientCheck) -> str:
    """Say what the worst of the sampled parameters is, beside the article's."""
    worst = check.worst
    return (
        f"{len(check.checked)} parameters, each moved by ±{check.nudge:g} on one batch of "
        f"{check.n_sequences:,} sequences, in float64: the largest relative difference is "
        f"{scientific(worst.relative_difference)}, at {worst.matrix}[{worst.row}, {worst.column}]. "
        f"Article: {scientific(RECALL_GRADIENT.value)}."
    )


def scientific(value: float) -> str:
    """Write a number with two digits and a power of ten.

    >>> scientific(1.2e-6), scientific(0.0)
    ('1.2 × 10⁻⁶', '0')
    """
    if value == 0:
        return "0"
    digits, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits} × 10{raised}"
