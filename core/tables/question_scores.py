"""Tables of the scores: the QK circuit with the question's own column, and the gap."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.attention import Floats
from core.question_runs import QuestionRun
from core.tables.numbers import fixed, signed

ENTRY, SHARE = "Entry (no unit)", "Share of the fresh sequences (%)"
OWN_KEY, ITSELF, OTHER = "own key", "itself", "another part"
FROM, TO = "From", "To"

BIN = 0.1  # no unit, the width of a bar of the histogram
LOWEST, HIGHEST = -2.0, 3.0  # no unit; what lies beyond is one bar at either end


def qk_cells(run: QuestionRun) -> pd.DataFrame:
    """Return a row for each entry of the QK circuit, the question's own scores in a last column.

    ``Kind`` says which entries a question about a key meets at its match and at itself. ``Limit``
    is the largest size of any entry.
    """
    n_keys, n_parts = run.qk.shape
    parts = [f"key {i}" for i in range(n_keys)]
    parts += [f"value {i}" for i in range(n_parts - n_keys)]
    table = np.column_stack([run.qk, np.where(np.isfinite(run.own_scores), run.own_scores, np.nan)])
    kinds = np.full(table.shape, OTHER, dtype=object)
    kinds[np.arange(n_keys), np.arange(n_keys)] = OWN_KEY
    kinds[:, -1] = ITSELF
    columns = [*parts, "itself"]
    frame = pd.DataFrame(
        {
            "Asks": np.repeat([f"asks key {i}" for i in range(n_keys)], len(columns)),
            "Part": np.tile(columns, n_keys),
            "Kind": kinds.ravel(),
            ENTRY: table.ravel(),
            "Limit": max(float(np.nanmax(np.abs(table))), 1e-30),
        }
    )
    frame["Words"] = [
        "may not be looked at" if np.isnan(entry) else fixed(entry, 5) for entry in frame[ENTRY]
    ]
    return frame


def qk_sentence(run: QuestionRun) -> str:
    """Say how the question's own scores compare with those of the match's key part."""
    own, key = run.own_scores, np.diagonal(run.qk)
    start = (
        f"Seed {run.settings.seed}: a question scores {fixed(key.mean())} on average with the key "
        "part of its matching pair"
    )
    if not np.isfinite(own).all():
        return f"{start}; with itself it has no score, as it may not look there."
    equal = int((own == key).sum())
    words = f"{start} and {fixed(own.mean())} with itself"
    if equal == len(key):
        return f"{words}: in all {equal} rows the two are equal to the last digit."
    return f"{words}: equal in {equal} of {len(key)} rows."


def gap_bins(groups: Sequence[tuple[str, Sequence[QuestionRun]]]) -> pd.DataFrame:
    """Return the histogram of the gap over the fresh sequences of all runs of each group.

    Args:
        groups: the name of each, and its runs.

    Returns:
        A row for each bar that is not empty. The first and the last hold all that lies beyond.
    """
    rows = []
    edges = _edges()
    for who, runs in groups:
        gaps, counts = _gaps(runs)
        if not len(gaps):
            continue
        inner = np.floor((gaps - LOWEST) / BIN)
        places = np.clip(np.where(gaps < LOWEST, -1, inner), -1, len(edges) - 1).astype(int)
        sums = np.bincount(places + 1, weights=counts, minlength=len(edges) + 1)
        for place in np.flatnonzero(sums):
            low = LOWEST + BIN * (int(place) - 1)
            rows.append(
                {
                    "Who": who,
                    FROM: round(low, 6),
                    TO: round(low + BIN, 6),
                    SHARE: 100 * sums[place] / counts.sum(),
                    "Sequences": int(sums[place]),
                    "Words": _bar_words(int(place), len(edges), low),
                }
            )
    return pd.DataFrame(rows, columns=["Who", FROM, TO, SHARE, "Sequences", "Words"])


def gap_sentence(groups: Sequence[tuple[str, Sequence[QuestionRun]]]) -> str:
    """Say where the gap lies, and what it makes of the weights."""
    parts = []
    for who, runs in groups:
        gaps, counts = _gaps(runs)
        if not len(gaps):
            continue
        mean = mean_gap(runs)
        if np.isinf(mean):
            parts.append(f"{who.capitalize()}: the question has no score to compare with.")
        elif not gaps.any():
            parts.append(
                f"{who.capitalize()}: exactly 0 in all {counts.sum():,} sequences, so the two "
                "weights are equal."
            )
        else:
            parts.append(
                f"{who.capitalize()}: {signed(mean)} on average over {counts.sum():,} sequences, "
                f"from {signed(gaps.min())} to {signed(gaps.max())}."
            )
    return " ".join(parts) or "No run has finished yet."


def mean_gap(runs: Sequence[QuestionRun]) -> float:
    """Return the mean gap over the fresh sequences of these runs, NaN without runs."""
    gaps, counts = _gaps(runs)
    return float(np.average(gaps, weights=counts)) if len(gaps) else float("nan")


def _gaps(runs: Sequence[QuestionRun]) -> tuple[Floats, Floats]:
    """Return the gaps that occur in these runs' sequences, and how often each does."""
    if not runs:
        return np.empty(0), np.empty(0)
    gaps = np.concatenate([run.gaps.ravel() for run in runs]).astype(np.float64)
    counts = np.concatenate([run.counts.ravel() for run in runs])
    occur = counts > 0
    return gaps[occur], counts[occur]


def _edges() -> Floats:
    n_bins = round((HIGHEST - LOWEST) / BIN)
    edges: Floats = np.linspace(LOWEST, HIGHEST, n_bins + 1)
    return edges


def _bar_words(place: int, n_edges: int, low: float) -> str:
    if place == 0:
        return f"below {fixed(LOWEST, 1)}"
    if place == n_edges:
        times = int(np.exp(HIGHEST))
        return f"{fixed(HIGHEST, 1)} or more: the match has over {times:,} times the weight"
    return f"{fixed(low, 1)} to {fixed(low + BIN, 1)}"
