"""The same outputs with plain loops over single numbers, each multiply-add counted as it is made.

Slow, and free of NumPy's products: what `core.generation` and the formulas of
`core.generation_work` are held against.
"""

import math
from dataclasses import dataclass, field

from core.attention import Floats
from core.generation import AT_ONCE, CACHE, LAST_ROW, METHODS, WHOLE, Writer

Vector = list[float]


@dataclass(kw_only=True)
class Counter:
    """Adds up products, and counts how many."""

    count: int = 0
    parts: dict[str, int] = field(default_factory=dict)  # what for -> how many

    def dot(self, what: str, a: Vector, b: Vector) -> float:
        """Return the sum of the products of two vectors' numbers."""
        total = 0.0
        for one, other in zip(a, b, strict=True):
            total += one * other
            self.count += 1
            self.parts[what] = self.parts.get(what, 0) + 1
        return total


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """The outputs of one run, and what it took."""

    outputs: list[Vector]  # one of d_k numbers, or n of them for `AT_ONCE`
    multiply_adds: int
    parts: dict[str, int]  # the multiply-adds of "vectors", "scores" and "values"


def by_hand(method: str, x: Floats, writer: Writer, *, block_size: int) -> ByHand:
    """Run one method on the tokens ``x`` (n, d_model), number by number.

    `CACHE` is run at the last token; the keys and values of the others are made before the count
    begins. ``block_size`` matters to `AT_ONCE` alone, whose rows make every score up to the last
    row of their block, and set those to come to −∞.

    Raises:
        ValueError: if the method is none of `core.generation.METHODS`.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    rows: list[Vector] = x.tolist()
    n, counter = len(rows), Counter()

    def made(weights: Floats, tokens: list[Vector]) -> list[Vector]:
        columns: list[Vector] = weights.T.tolist()
        return [[counter.dot("vectors", token, column) for column in columns] for token in tokens]

    if method == CACHE:
        kept = made(writer.w_k, rows[:-1]), made(writer.w_v, rows[:-1])
        counter.count, counter.parts = 0, {}
        keys, values = (
            old + made(weights, rows[-1:])
            for old, weights in zip(kept, (writer.w_k, writer.w_v), strict=True)
        )
    else:
        keys, values = made(writer.w_k, rows), made(writer.w_v, rows)
    asking = range(n - 1, n) if method in (LAST_ROW, CACHE) else range(n)
    queries = dict(zip(asking, made(writer.w_q, [rows[i] for i in asking]), strict=True))
    outputs = []
    for i, query in queries.items():
        # How many keys this row reads: some of them only to be set to −∞.
        end = {WHOLE: n, AT_ONCE: min(n, (i // block_size + 1) * block_size)}.get(method, i + 1)
        outputs.append(_row(query, i, keys[:end], values[:end], counter))
    return ByHand(
        outputs=outputs if method == AT_ONCE else outputs[-1:],
        multiply_adds=counter.count,
        parts=counter.parts,
    )


def _row(
    query: Vector, i: int, keys: list[Vector], values: list[Vector], counter: Counter
) -> Vector:
    scores = [counter.dot("scores", query, key) / math.sqrt(len(query)) for key in keys]
    scores = [score if j <= i else -math.inf for j, score in enumerate(scores)]
    weights = [math.exp(score - max(scores)) for score in scores]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    return [counter.dot("values", shares, list(column)) for column in zip(*values, strict=True)]
