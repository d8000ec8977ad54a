"""One attention head, in NumPy, with every intermediate kept.

Vaswani et al. 2017, "Attention Is All You Need", equation 1: softmax(Q Kᵀ / √d_k) V, with the
causal mask of their section 3.2.3. Left out, because one head alone does not need them: the output
projection W_O that adds the heads together, biases, dropout, and batches.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
"""An array of any NumPy float type; the functions below return the type they were given."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadSteps:
    """Every stage of one head over n tokens, in the order it is computed.

    Each row of ``pattern`` sums to 1, and with a causal mask every entry above its diagonal is
    exactly 0.
    """

    Q: Floats  # (n, d_k) what each token asks
    K: Floats  # (n, d_k) what each token can be found by
    V: Floats  # (n, d_v) what is taken from each token
    scores: Floats  # (n, n) Q Kᵀ times the scale; a row asks, a column is looked at
    masked_scores: Floats  # (n, n) scores, with −∞ where the mask forbids looking
    pattern: Floats  # (n, n) softmax of each row of masked_scores
    output: Floats  # (n, d_v) pattern V


def softmax_rows(scores: Floats) -> Floats:
    """Turn each row of scores into weights that are at least 0 and sum to 1.

    Args:
        scores: (..., n), no unit. −∞ marks an entry that must get weight exactly 0.

    Returns:
        (..., n), the float type of ``scores``.

    Raises:
        ValueError: if a row has no finite score, or holds NaN or +∞: its weights are undefined.

    >>> softmax_rows(np.array([[0.0, 0.0], [1000.0, -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    scores = as_floats(scores)
    largest = scores.max(axis=-1, keepdims=True)
    if not np.isfinite(largest).all():
        raise ValueError(
            "each row of scores must have a largest entry that is finite, "
            f"got {largest[~np.isfinite(largest)][0]}"
        )
    # Without the shift, exp overflows from a score of about 710 in float64 and 89 in float32.
    weights: Floats = np.exp(scores - largest)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def causal_mask(n: int) -> Bools:
    """Return the (n, n) table that is True where the asking row may look at the column.

    A token may look at itself and at what came before it.

    >>> causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return np.tri(n, dtype=np.bool_)


def head_steps(
    x: Floats,
    w_q: Floats,
    w_k: Floats,
    w_v: Floats,
    *,
    causal: bool = True,
    scale: float | None = None,
) -> HeadSteps:
    """Run one head and keep every stage.

    Args:
        x: (n, d_model), one row per token.
        w_q: (d_model, d_k).
        w_k: (d_model, d_k).
        w_v: (d_model, d_v).
        causal: whether each token is kept from looking at later ones.
        scale: what Q Kᵀ is multiplied by; 1 / √d_k (Vaswani et al. 2017, eq. 1) when None.

    Returns:
        The stages, in the float type of the input.

    Raises:
        ValueError: if a shape does not fit, naming both.
    """
    x, w_q, w_k, w_v = (as_floats(array) for array in (x, w_q, w_k, w_v))
    _check_shapes(x, w_q, w_k, w_v)
    n, d_k = len(x), w_q.shape[1]
    Q, K, V = x @ w_q, x @ w_k, x @ w_v
    # A Python float: a NumPy float64 here would promote float32 scores.
    scores = Q @ K.T * (float(1 / np.sqrt(d_k)) if scale is None else float(scale))  # (n, n)
    masked_scores = scores
    if causal:
        # where(), not adding −∞ times the mask: 0 × −∞ is NaN.
        masked_scores = np.where(causal_mask(n), scores, scores.dtype.type(-np.inf))
    pattern = softmax_rows(masked_scores)
    return HeadSteps(
        Q=Q,
        K=K,
        V=V,
        scores=scores,
        masked_scores=masked_scores,
        pattern=pattern,
        output=pattern @ V,  # (n, d_v)
    )


def attention(
    x: Floats,
    w_q: Floats,
    w_k: Floats,
    w_v: Floats,
    causal: bool = True,  # noqa: FBT001, FBT002 - the literature's own signature
) -> tuple[Floats, Floats]:
    """Run one head: its output (n, d_v) and its pattern (n, n).

    See `head_steps` for the arguments, the errors and the stages in between.

    >>> x = np.eye(2)
    >>> output, pattern = attention(x, x, x, x)
    >>> pattern[0]
    array([1., 0.])
    """
    steps = head_steps(x, w_q, w_k, w_v, causal=causal)
    return steps.output, steps.pattern


def as_floats(array: Floats) -> Floats:
    """Return the array itself if it holds floats, and its float64 copy otherwise."""
    array = np.asarray(array)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)


def _check_shapes(x: Floats, w_q: Floats, w_k: Floats, w_v: Floats) -> None:
    if x.ndim != 2 or len(x) == 0:
        raise ValueError(f"x must be (n, d_model) with at least one token, got shape {x.shape}")
    for name, weights in (("w_q", w_q), ("w_k", w_k), ("w_v", w_v)):
        if weights.ndim != 2 or weights.shape[0] != x.shape[1]:
            raise ValueError(
                f"{name} must have d_model = {x.shape[1]} rows, as x has columns, "
                f"got shape {weights.shape}"
            )
    if w_q.shape[1] != w_k.shape[1]:
        raise ValueError(
            f"w_q and w_k must have the same d_k, got {w_q.shape[1]} and {w_k.shape[1]}"
        )
