"""Attention the way its formula is written: the whole n × n table at once.

Vaswani et al. 2017, "Attention Is All You Need", equation 1, on queries, keys and values that are
already there. This is what `core.row_blocks` is measured against.
"""

import numpy as np

from core.attention import Floats, as_floats, causal_mask, softmax_rows

N_TABLES = 3
"""How many n × n tables of floats are held at once: inside the softmax the scores, the scores
less each row's largest, and the weights."""


def attention_by_formula(
    q: Floats,
    k: Floats,
    v: Floats,
    causal: bool = True,  # noqa: FBT001, FBT002 - as in core.attention.attention
) -> Floats:
    """Return softmax(q kᵀ / √d_k) v, with the causal mask unless told otherwise.

    Args:
        q: (n, d_k), what each token asks.
        k: (n, d_k), what each token can be found by.
        v: (n, d_v), what is taken from each token.
        causal: whether each token is kept from looking at later ones.

    Returns:
        (n, d_v), in the float type of the input.

    Raises:
        ValueError: if a shape does not fit, or if a token's scores are not finite.

    >>> attention_by_formula(np.zeros((2, 1)), np.zeros((2, 1)), np.array([[1.0], [2.0]]))
    array([[1. ],
           [1.5]])
    """
    q, k, v = checked_qkv(q, k, v)
    n, d_k = q.shape
    # A Python float: dividing by np.sqrt(d_k) would turn a float32 table into one of float64.
    scores = q @ k.T * float(1 / np.sqrt(d_k))  # (n, n)
    if causal:
        scores = np.where(causal_mask(n), scores, scores.dtype.type(-np.inf))
    return softmax_rows(scores) @ v  # (n, d_v)


def checked_qkv(q: Floats, k: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """Return q, k and v in one float type, or say which shape does not fit."""
    q, k, v = (as_floats(array) for array in (q, k, v))
    if q.ndim != 2 or 0 in q.shape:
        raise ValueError(
            f"q must be (n, d_k) with at least one token and one number, got shape {q.shape}"
        )
    if k.shape != q.shape:
        raise ValueError(f"k must have the shape of q, {q.shape}, got shape {k.shape}")
    if v.ndim != 2 or len(v) != len(q):
        raise ValueError(f"v must have {len(q)} rows, one for each row of q, got shape {v.shape}")
    dtype = np.result_type(q, k, v)
    return q.astype(dtype, copy=False), k.astype(dtype, copy=False), v.astype(dtype, copy=False)
