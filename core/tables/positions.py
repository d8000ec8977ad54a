"""Tables of what each scheme of positions does, and of what another order of the pairs changes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.attention import Floats
from core.order_pictures import Shuffle, spread_along_distance
from core.positions import alibi_bias
from core.tables.word_order import LABELS, small

ALONG = "Scores of one distance differ by at most (no unit)"
IN_ALL = "All scores differ by at most (no unit)"
ROUNDING = 1e-9  # float64 rounding of these scores is below 1e-12
PAPERS_SLOPES = tuple(0.5**i for i in range(1, 9))  # of eight heads, Press et al. 2022, section 3


def shuffled_weights(shuffle: Shuffle) -> pd.DataFrame:
    """Return each pair's weight in both orders, one row for each pair and order."""
    n = len(shuffle.keys)
    names = [
        f"{i + 1}: key {key}, value {value}"
        for i, (key, value) in enumerate(zip(shuffle.keys, shuffle.values, strict=True))
    ]
    names.append(f"question: key {shuffle.question}")
    stands = [*(shuffle.order.argsort() + 1).tolist(), n + 1]
    rows = []
    for order, weights, places in (
        ("as written", shuffle.before, range(1, n + 2)),
        ("reordered", shuffle.after, stands),
    ):
        rows += [
            {"Token": name, "Order": order, "Weight (no unit)": float(weight), "Stands at": place}
            for name, weight, place in zip(names, weights, places, strict=True)
        ]
    return pd.DataFrame(rows)


def shuffle_sentence(shuffle: Shuffle) -> str:
    """Say how far weights and answers move over all the orders that were tried."""
    return (
        f"Positions: {LABELS[shuffle.scheme]}. Over {shuffle.n_orders:,} orders, a pair's weight "
        f"moves by at most {small(shuffle.weight_change)}, and a value's probability by "
        f"{small(shuffle.answer_change)}."
    )


def shuffle_summary(shuffles: Sequence[Shuffle]) -> pd.DataFrame:
    """Return the largest changes of every scheme, on the same pairs."""
    return pd.DataFrame(
        {
            "Positions": [LABELS[shuffle.scheme] for shuffle in shuffles],
            "Orders tried": [shuffle.n_orders for shuffle in shuffles],
            "Largest change of a pair's weight (no unit)": [s.weight_change for s in shuffles],
            "Largest change of a probability (no unit)": [s.answer_change for s in shuffles],
        }
    )


def shuffle_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the changes as text, in powers of ten where they are rounding."""
    words = summary.astype(object)
    for column in summary.columns[2:]:
        words[column] = [small(value) for value in summary[column]]
    words["Orders tried"] = [f"{count:,}" for count in summary["Orders tried"]]
    return words


def score_cells(scores: Floats) -> pd.DataFrame:
    """Return a table of scores between positions, one row for each cell."""
    n = len(scores)
    looked_at, asking = np.meshgrid(np.arange(n), np.arange(n))
    return pd.DataFrame(
        {
            "Asking": asking.ravel(),
            "Looked at": looked_at.ravel(),
            "Distance": (asking - looked_at).ravel(),
            "Score (no unit)": scores.ravel(),
        }
    )


def score_sentence(scores: Floats, scheme: str) -> str:
    """Say whether the distance alone decides a score, as a number."""
    spread, whole = spread_along_distance(scores), float(np.ptp(scores))
    return (
        f"Positions: {LABELS[scheme]}. Scores of one distance differ by at most "
        f"{small(spread)}; all scores together by {small(whole)}."
    )


def spreads(tables: dict[str, Floats]) -> pd.DataFrame:
    """Return for each scheme by how much scores differ, along one distance and in all."""
    return pd.DataFrame(
        {
            "Positions": [LABELS[scheme] for scheme in tables],
            ALONG: [spread_along_distance(scores) for scores in tables.values()],
            IN_ALL: [float(np.ptp(scores)) for scores in tables.values()],
        }
    )


def spreads_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the spreads as text, and what follows from them."""
    words = table.astype(object)
    for column in (ALONG, IN_ALL):
        words[column] = [small(value) for value in table[column]]
    words["So a score depends on"] = [
        depends_on(along, whole) for along, whole in zip(table[ALONG], table[IN_ALL], strict=True)
    ]
    return words


def depends_on(along: float, whole: float) -> str:
    """Say what decides a score, from how much scores of one distance and all scores differ.

    >>> depends_on(0.0, 0.0), depends_on(1e-15, 2.0), depends_on(0.5, 2.0)
    ('no position', 'the distance alone', 'both positions')
    """
    if whole < ROUNDING:
        return "no position"
    return "the distance alone" if along < ROUNDING else "both positions"


def vector_cells(vectors: Floats) -> pd.DataFrame:
    """Return position vectors, one row for each number."""
    n, width = vectors.shape
    number, position = np.meshgrid(np.arange(width), np.arange(n))
    return pd.DataFrame(
        {
            "Position": position.ravel(),
            "Number": number.ravel(),
            "Value (no unit)": vectors.ravel().astype(float),
        }
    )


def bias_lines(slope: float, n_positions: int) -> pd.DataFrame:
    """Return ALiBi's line for this slope and for each of the paper's eight."""
    rows = []
    for value, whose in [(slope, "yours"), *((s, "paper") for s in PAPERS_SLOPES)]:
        bias = alibi_bias(n_positions, value)[-1][::-1]  # [i]: i positions back
        rows += [
            {
                "Whose": whose,
                "Slope": value,
                "Distance": i,
                "Added to the score (no unit)": float(b),
            }
            for i, b in enumerate(bias)
        ]
    return pd.DataFrame(rows)
