"""Tables of the scaling experiment: the spread of scores against d_k."""

import numpy as np
import pandas as pd

from core.scaling import Scaling

DIVIDED = "with ÷ √d_k"
UNDIVIDED = "without ÷ √d_k"

SCALING_NUMBERS = (
    "Predicted spread, √d_k (no unit)",
    "Spread without division (no unit)",
    "Spread with division (no unit)",
    "Largest weight without (no unit)",
    "Largest weight with (no unit)",
)


def scaling_points(result: Scaling) -> pd.DataFrame:
    """Return one row for each draw, d_k and treatment, with what all draws gave beside it."""
    frames = [
        pd.DataFrame(
            {
                "Draw": np.repeat(np.arange(1, result.settings.n_draws + 1), len(result.d_k)),
                "d_k": np.tile(result.d_k, result.settings.n_draws),
                "Scores": name,
                "Standard deviation of the draw (no unit)": spread.draw_std.ravel(),
                "Standard deviation (no unit)": np.tile(spread.std, result.settings.n_draws),
                "Predicted (no unit)": np.tile(spread.predicted_std, result.settings.n_draws),
                "Largest weight of the draw (no unit)": spread.draw_largest.ravel(),
                "Largest weight (no unit)": np.tile(spread.largest, result.settings.n_draws),
            }
        )
        for name, spread in ((UNDIVIDED, result.undivided), (DIVIDED, result.divided))
    ]
    return pd.concat(frames, ignore_index=True)


def scaling_table(result: Scaling) -> pd.DataFrame:
    """Return one row for each d_k: predicted and measured, with and without the division."""
    columns = (
        result.undivided.predicted_std,
        result.undivided.std,
        result.divided.std,
        result.undivided.largest,
        result.divided.largest,
    )
    return pd.DataFrame(
        {
            "d_k": result.d_k,
            **dict(zip(SCALING_NUMBERS, columns, strict=True)),
            "Scores (count)": result.n_scores,
            "Softmax rows (count)": result.n_rows,
        }
    )


def scaling_sentence(result: Scaling) -> str:
    """Say what happens at the largest d_k."""
    return (
        f"At d_k = {result.d_k[-1]:,} the scores spread by {result.undivided.std[-1]:.1f} "
        f"(predicted {result.undivided.predicted_std[-1]:.0f}) without the division and by "
        f"{result.divided.std[-1]:.2f} (predicted 1) with it."
    )


def weight_sentence(result: Scaling) -> str:
    """Say how much weight the top token gets at the largest d_k, and from how many rows."""
    return (
        f"At d_k = {result.d_k[-1]:,} the top one of {result.settings.n_tokens} tokens gets "
        f"{result.undivided.largest[-1]:.2f} of the weight without the division and "
        f"{result.divided.largest[-1]:.2f} with it. Even weights would give it "
        f"{1 / result.settings.n_tokens:.4f}."
    )


def sample_sentence(result: Scaling) -> str:
    """Say what was drawn: settings, seed and sample sizes."""
    drawn = result.settings
    return (
        f"{drawn.n_draws} draws of {drawn.n_tokens} queries and {drawn.n_tokens} keys at "
        f"each d_k, entries standard normal, seed {drawn.seed}: {result.n_scores:,} scores and "
        f"{result.n_rows:,} softmax rows each. Small points: single draws."
    )
