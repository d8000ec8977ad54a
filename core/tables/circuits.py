"""The two circuits of the recall model at many steps of its training, as one small frame."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.attention import Floats
from core.tables.entries import entry_words
from core.tables.numbers import fixed
from core.training import Checkpoint, TrainSettings

MOST_FRAMES, FEWEST_FRAMES = 40, 8
ENTRIES = 15_000  # numbers to send, at 4 bytes each


def n_frames(settings: TrainSettings) -> int:
    """Return how many steps of the training are shown: fewer where the circuits are larger.

    >>> n_frames(TrainSettings()), n_frames(TrainSettings(n_keys=32, n_values=32))
    (40, 8)
    """
    parts = settings.n_keys + settings.n_values
    return int(np.clip(ENTRIES // parts**2, FEWEST_FRAMES, MOST_FRAMES))


def circuit_frames(checkpoints: Sequence[Checkpoint], settings: TrainSettings) -> pd.DataFrame:
    """Return both circuits, a row for each entry and a column for each step shown.

    The columns of steps are ``f0``, ``f1`` …, spread evenly over the checkpoints; a run that is
    not far enough to fill them repeats its last. The rows whose ``Circuit`` is ``step`` and
    ``accuracy`` hold the step and the accuracy (0 … 1) of each column. ``Limit`` is the largest
    size of any entry of that circuit in all columns. A column of the chart is a part; the OV
    circuit's rows are its answers, so that both circuits share that axis.
    """
    shown = _spread(checkpoints, n_frames(settings))
    parts = [f"key {i}" for i in range(settings.n_keys)]
    parts += [f"value {i}" for i in range(settings.n_values)]
    asks = [f"asks key {i}" for i in range(settings.n_keys)]
    says = [f"says value {i}" for i in range(settings.n_values)]
    blocks = [
        ("step", [" "], parts[:1]),
        ("accuracy", [" " * 2], parts[:1]),
        ("QK", asks, parts),
        ("gap", [" " * 3], parts[:1]),
        ("OV", says, parts),
    ]
    tables = [
        np.array([[point.step for point in shown]]),
        np.array([[point.accuracy for point in shown]]),
        _flattened([point.qk for point in shown]),
        np.zeros((1, len(shown))),
        _flattened([point.ov.T for point in shown]),
    ]
    limits = np.array([max(np.abs(table).max(), 1e-30) for table in tables], dtype=np.float32)
    return pd.DataFrame(
        {
            name: pd.Categorical(column, list(dict.fromkeys(column)))
            for name, column in entry_words(blocks).items()
        }
        | {"Limit": np.repeat(limits, [len(table) for table in tables])}
        | {f"f{i}": column for i, column in enumerate(np.concatenate(tables, dtype=np.float32).T)}
    )


def circuits_sentence(checkpoints: Sequence[Checkpoint]) -> str:
    """Say how far the two lookups stand out from the rest of their circuits."""
    if not checkpoints:
        return "No checkpoint yet."
    last = checkpoints[-1]
    n_keys, n_values = len(last.qk), last.ov.shape[1]
    return (
        f"After step {last.step:,}: a key's mean score with itself is "
        f"{_diagonal_and_rest(last.qk[:, :n_keys])} with another key; a value's mean logit for "
        f"itself is {_diagonal_and_rest(last.ov[-n_values:])} for another value."
    )


def _diagonal_and_rest(square: Floats) -> str:
    n = len(square)
    own = float(np.trace(square)) / n
    rest = (float(square.sum()) - n * own) / max(1, n * (n - 1))
    return f"{fixed(own)}, against {fixed(rest)}"


def _spread(checkpoints: Sequence[Checkpoint], count: int) -> list[Checkpoint]:
    if len(checkpoints) <= count:
        return [*checkpoints, *[checkpoints[-1]] * (count - len(checkpoints))]
    places = np.linspace(0, len(checkpoints) - 1, count).round().astype(int)
    return [checkpoints[place] for place in places]


def _flattened(tables: Sequence[Floats]) -> Floats:
    return np.stack([table.ravel() for table in tables], axis=1)  # (entries, frames)
