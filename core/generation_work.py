"""The multiply-adds of writing one more token with one head: by formula, and counted.

A matrix product of (a × b) by (b × c) takes a · b · c multiply-adds. Softmax, the mask and the
scale are left out: they grow as the pattern does, with no factor d_k.
"""

from core.generation import AT_ONCE, CACHE, LAST_ROW, METHODS, WHOLE
from core.row_blocks import BLOCK_SIZE


def multiply_adds(method: str, n: int, d_model: int, d_k: int) -> int:
    """Return the multiply-adds of one run of a method at n tokens.

    For `AT_ONCE` that run gives n outputs, for the others one.

    Raises:
        ValueError: if the method is none of `METHODS`, or a size is below 1.

    >>> [multiply_adds(method, 2048, 512, 128) for method in METHODS]
    [1476395008, 269025280, 720896, 973078528]
    """
    for name, size in (("n", n), ("d_model", d_model), ("d_k", d_k)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    vector = d_model * d_k  # of one query, one key or one value
    row = 2 * n * d_k  # of one row of the pattern: n scores, and n weighted values
    if method == WHOLE:
        return 3 * n * vector + n * row
    if method == LAST_ROW:
        return (2 * n + 1) * vector + row
    if method == CACHE:
        return 3 * vector + row
    if method == AT_ONCE:
        return 3 * n * vector + 2 * d_k * _entries_in_row_blocks(n)
    raise ValueError(f"method must be one of {METHODS}, got {method!r}")


def per_token(method: str, n: int, d_model: int, d_k: int) -> float:
    """Return the multiply-adds for each output that a run of the method gives."""
    return multiply_adds(method, n, d_model, d_k) / outputs_of(method, n)


def outputs_of(method: str, n: int) -> int:
    """Return how many outputs a run gives that is not thrown away."""
    return n if method == AT_ONCE else 1


def numbers_moved(method: str, n: int, d_model: int, d_k: int) -> int:
    """Return the least numbers that a run has to fetch: each input once, however often it is used.

    Inputs are the token vectors it is given, W_Q, W_K and W_V, and a cache. A key that a run has
    made itself need not be fetched, in the best case.
    """
    weights = 3 * d_model * d_k
    if method == CACHE:
        return weights + d_model + 2 * (n - 1) * d_k
    return weights + n * d_model


def intensity(method: str, n: int, d_model: int, d_k: int) -> float:
    """Return the most multiply-adds a run makes for each number it fetches.

    Below what a processor can do while one number arrives, it waits for memory (Williams et al.
    2009, "Roofline").
    """
    return multiply_adds(method, n, d_model, d_k) / numbers_moved(method, n, d_model, d_k)


def _entries_in_row_blocks(n: int) -> int:
    """Return how many entries of the pattern row blocks compute: up to each block's last row."""
    ends = (*range(BLOCK_SIZE, n, BLOCK_SIZE), n)
    starts = range(0, n, BLOCK_SIZE)
    return sum((end - start) * end for start, end in zip(starts, ends, strict=True))
