"""How the time of a measured method grows with the number of tokens."""

import math

import numpy as np

from core.context_cost import CostSnapshot


def doublings(snapshot: CostSnapshot, method: str) -> dict[tuple[int, int], float]:
    """Return by what a method's time grew from each size to its double: (n, 2 n) -> ratio.

    Both times are those of the fastest run.
    """
    fastest = fastest_by_size(snapshot, method)
    return {
        (n, 2 * n): fastest[2 * n] / seconds for n, seconds in fastest.items() if 2 * n in fastest
    }


def fastest_by_size(snapshot: CostSnapshot, method: str) -> dict[int, float]:
    """Return the time of a method's fastest run at each size timed so far: n -> seconds."""
    return {
        result.n: result.fastest
        for result in snapshot.measurements
        if result.method == method and result.seconds
    }


def fitted_exponent(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """Fit time = constant × n^exponent, and return the exponent and its standard error.

    Ordinary least squares of log time on log n. With a fixed cost for each run, or a cache that
    overflows, time is not a power of n, and the standard error only says how far from one.

    Raises:
        ValueError: if there are fewer than three sizes, which any line through two would fit.

    >>> fitted_exponent([1, 2, 4], [3.0, 12.0, 48.0])
    (2.0, 0.0)
    """
    if len(sizes) != len(seconds) or len(set(sizes)) < 3:
        raise ValueError(
            f"sizes must hold at least 3 different numbers, one for each of the {len(seconds)} "
            f"times, got {sizes}"
        )
    x, y = np.log2(sizes), np.log2(seconds)
    x = x - x.mean()
    exponent = float(x @ y / (x @ x))
    residuals = y - y.mean() - exponent * x
    variance = float(residuals @ residuals) / (len(sizes) - 2)
    return exponent, math.sqrt(variance / float(x @ x))
