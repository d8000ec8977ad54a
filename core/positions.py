"""Four ways to tell a head where a token stands.

* learned: a trained vector for each position is added to the token's embedding;
* sinusoidal: the same with fixed vectors of sines and cosines (Vaswani et al. 2017, "Attention Is
  All You Need", section 3.5);
* rotary: queries and keys are turned by an angle that grows with the position (Su et al. 2021,
  "RoFormer", section 3.2);
* alibi: a straight line of the distance is taken from the scores (Press et al. 2022, "Train Short,
  Test Long", section 3).

The first two change what a token is, the last two change only how well a query fits a key. Without
any of them a head computes the same for every order of its tokens.
"""

from dataclasses import dataclass

import numpy as np

from core.attention import Floats

SCHEMES = ("none", "learned", "sinusoidal", "rotary", "alibi")
LONGEST_WAVE = 10_000.0  # the base of both papers: the slowest wave is about 2π times as long


@dataclass(frozen=True, kw_only=True, eq=False)
class Positions:
    """What a scheme fixes for T tokens, before any training; None where it has no such part."""

    added: Floats | None = None  # (T, d_model) added to the embeddings
    angles: Floats | None = None  # (T, d_k / 2) radians, what queries and keys are turned by
    bias: Floats | None = None  # (T, T) added to the scores: a row asks, a column is looked at


def make_positions(
    scheme: str, n_tokens: int, d_model: int, d_k: int, slope: float, float_type: str = "float64"
) -> Positions:
    """Return the fixed part of one scheme; that of "none" and of "learned" is empty.

    Raises:
        ValueError: if there is no such scheme.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme}")
    if scheme == "sinusoidal":
        return Positions(added=sinusoids(n_tokens, d_model).astype(float_type))
    if scheme == "rotary":
        return Positions(angles=rotary_angles(n_tokens, d_k).astype(float_type))
    if scheme == "alibi":
        return Positions(bias=alibi_bias(n_tokens, slope).astype(float_type))
    return Positions()


def sinusoids(n_tokens: int, d_model: int) -> Floats:
    """Return a vector for each position: sines at even places, cosines at odd ones.

    The dot product of two of them depends on their distance alone.

    Returns:
        (n_tokens, d_model), each entry from −1 to 1.

    Raises:
        ValueError: if ``d_model`` is odd.

    >>> sinusoids(2, 2).round(3)
    array([[0.   , 1.   ],
           [0.841, 0.54 ]])
    """
    angles = _angles(n_tokens, d_model, "d_model")
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n_tokens, d_model)


def rotary_angles(n_tokens: int, d_k: int) -> Floats:
    """Return the angle by which each position turns each pair of numbers, (n_tokens, d_k / 2).

    Raises:
        ValueError: if ``d_k`` is odd.

    >>> rotary_angles(3, 4)
    array([[0.  , 0.  ],
           [1.  , 0.01],
           [2.  , 0.02]])
    """
    return _angles(n_tokens, d_k, "d_k")


def rotate(vectors: Floats, angles: Floats) -> Floats:
    """Turn each pair of neighbouring numbers by its angle; lengths do not change.

    The dot product of two turned vectors depends on the difference of their angles alone.

    Args:
        vectors: (..., d_k).
        angles: (..., d_k / 2), radians; their negatives turn back.

    >>> rotate(np.array([1.0, 0.0]), np.array([np.pi / 2])).round(3)
    array([0., 1.])
    """
    cos, sin = np.cos(angles), np.sin(angles)
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    turned = np.empty(np.broadcast_shapes(vectors.shape, (*angles.shape[:-1], 1)), vectors.dtype)
    turned[..., 0::2] = even * cos - odd * sin
    turned[..., 1::2] = even * sin + odd * cos
    return turned


def alibi_bias(n_tokens: int, slope: float) -> Floats:
    """Return −slope × the distance between each asking and each looked-at position.

    It is added to the scores after their division by √d_k. A head of the paper has one fixed
    slope: 1/2, 1/4 … 1/256 for eight heads.

    Returns:
        (n_tokens, n_tokens), 0 on the diagonal. The paper's models never look at later tokens;
        here the line falls on both sides.

    >>> alibi_bias(3, 0.5)[2]
    array([-1. , -0.5, -0. ])
    """
    at = np.arange(n_tokens)
    bias: Floats = -slope * np.abs(at[:, np.newaxis] - at)
    return bias


def _angles(n_tokens: int, width: int, name: str) -> Floats:
    if width < 2 or width % 2:
        raise ValueError(f"{name} must be an even number of at least 2, got {width}")
    speeds = LONGEST_WAVE ** (-np.arange(0, width, 2) / width)  # radians a position
    angles: Floats = np.arange(n_tokens)[:, np.newaxis] * speeds
    return angles
