"""Exact attention one block of rows at a time, so that the n × n table never exists.

A row of the pattern needs all of its own scores and none of any other row's. So a block of query
rows can be taken through scores, softmax and weighted sum, and its table thrown away, before the
next block is begun. With a causal mask a block only reads the keys up to its own last row: half of
the arithmetic is never done. Rabe and Staats 2021, "Self-attention Does Not Need O(n²) Memory",
and Dao et al. 2022, "FlashAttention", split the columns too, which this does not: each row is
still in memory whole, and no softmax has to be corrected afterwards.

Threads: a matrix product inside NumPy can run on every core by itself (its BLAS library decides).
Then one thread here is fastest, since two would compete for the same cores, and on a machine with
other work either is many times slower, as the threads of BLAS wait for each other. Importing this
package before NumPy holds BLAS to one thread (see `core`), and then it is the threads here that
put the other cores to use: each takes whole blocks, products, exponentials and all.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from core.attention import Floats, causal_mask
from core.formula import checked_qkv

# Query rows in a block. More rows hold more memory. Measured at d_k = 128: twice as many were
# slower by 1 to 6 % up to 8,192 tokens, and faster by 3 to 7 % at 16,384.
BLOCK_SIZE = 128
LONG, LONG_BLOCK_SIZE = 16384, 256  # from so many tokens on


def block_size_for(n: int) -> int:
    """Return how many query rows of n to compute at once.

    >>> block_size_for(8192), block_size_for(16384)
    (128, 256)
    """
    return BLOCK_SIZE if n < LONG else LONG_BLOCK_SIZE


def attention_by_row_blocks(
    q: Floats,
    k: Floats,
    v: Floats,
    causal: bool = True,  # noqa: FBT001, FBT002 - as in core.attention.attention
    *,
    block_size: int | None = None,
    n_threads: int = 1,
) -> Floats:
    """Return softmax(q kᵀ / √d_k) v without ever holding the n × n table.

    The output is bit-identical for any number of threads: the threads share out whole blocks, and
    a block is computed the same way whoever does it.

    Args:
        q: (n, d_k), what each token asks.
        k: (n, d_k), what each token can be found by.
        v: (n, d_v), what is taken from each token.
        causal: whether each token is kept from looking at later ones.
        block_size: query rows computed at once, at least 1, `block_size_for` the tokens when None;
            the last block may be smaller.
        n_threads: how many blocks are computed at the same time, at least 1.

    Returns:
        (n, d_v), in the float type of the input.

    Raises:
        ValueError: if a shape does not fit, if a token's scores are not finite, or if
            ``block_size`` or ``n_threads`` is below 1.

    >>> v = np.array([[1.0], [2.0], [6.0]])
    >>> attention_by_row_blocks(np.zeros((3, 1)), np.zeros((3, 1)), v, block_size=2)
    array([[1. ],
           [1.5],
           [3. ]])
    """
    q, k, v = checked_qkv(q, k, v)
    n = len(q)
    if block_size is None:
        block_size = block_size_for(n)
    for name, count in (("block_size", block_size), ("n_threads", n_threads)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")
    block_size = min(block_size, n)
    starts = range(0, n, block_size)
    output = np.empty((n, v.shape[1]), dtype=q.dtype)
    # Written out once, (d_k, n): BLAS would turn the keys round in its own memory for each block.
    k_t = np.ascontiguousarray(k.T)

    def work(thread: int) -> None:
        # One buffer a thread, the size of the largest block, used for every block in turn.
        buffer = np.empty(block_size * n, dtype=q.dtype)
        # Every n_threads-th block, since with a mask the later blocks cost more.
        for start in starts[thread::n_threads]:
            rows = slice(start, min(start + block_size, n))
            attend_rows(q, k_t, v, rows, causal=causal, buffer=buffer, output=output[rows])

    n_workers = min(n_threads, len(starts))
    if n_workers == 1:
        work(0)
    else:
        with ThreadPoolExecutor(n_workers) as threads:
            list(threads.map(work, range(n_workers)))
    return output


def attend_rows(
    q: Floats,
    k_t: Floats,
    v: Floats,
    rows: slice,
    *,
    causal: bool,
    buffer: Floats,
    output: Floats,
) -> None:
    """Write the output of one block of query rows, using the buffer for its scores.

    The keys are given transposed, (d_k, n).
    """
    n_rows = rows.stop - rows.start
    n_columns = rows.stop if causal else len(v)
    # A contiguous (n_rows, n_columns) table at the front of the buffer.
    table = buffer[: n_rows * n_columns].reshape(n_rows, n_columns)
    # Dividing the queries by √d_k rather than the scores: d_k numbers a row instead of n.
    np.matmul(q[rows] * float(1 / np.sqrt(q.shape[1])), k_t[:, :n_columns], out=table)
    if causal:
        # Only the square on the diagonal holds keys that some of these rows may not look at.
        table[:, rows.start :][~causal_mask(n_rows)] = -np.inf
    largest = table.max(axis=1, keepdims=True)  # (n_rows, 1)
    if not np.isfinite(largest).all():
        raise ValueError(
            f"each row of scores must have a largest entry that is finite, got one in rows "
            f"{rows.start} to {rows.stop - 1} that is not"
        )
    table -= largest
    np.exp(table, out=table)
    np.matmul(table, v[:n_columns], out=output)
    # Dividing the output rather than the weights: d_v numbers a row instead of n. A product with
    # ones adds up a row three times as fast as np.sum.
    output /= table @ np.ones((n_columns, 1), dtype=table.dtype)
