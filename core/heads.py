"""Three heads for the mechanism page: two set by hand, one random.

Nobody trained the hand-set heads. They show what queries, keys and values can do when their
matrices hold the right numbers, over the named dimensions of `core.lexicon`. A trained head finds
such numbers by gradient descent, and is rarely so tidy.

W_V is (d_model, d_model) here, so that the output can be added to the token's vector as it is. In
a transformer, W_V goes down to d_v numbers and the output projection W_O back up to d_model.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.lexicon import D_MODEL, QUALITIES, RANDOM_ENTRY, axis

HEADS = ("adjectives", "context", "random")

# A question and its answer multiply to 8: a score of 4 at d_k = 4, and e⁴ ≈ 55 times the weight of
# a token that does not answer.
_STRENGTH = float(np.sqrt(8))
# Added in full to a bank that holds 0.7 of both meanings, one meaning doubles, the other vanishes.
_SHIFT = 0.7


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadWeights:
    """The three matrices of one head."""

    W_Q: NDArray[np.float64]  # (d_model, d_k)
    W_K: NDArray[np.float64]  # (d_model, d_k)
    W_V: NDArray[np.float64]  # (d_model, d_model)


def make_head(name: str, d_k: int, rng: np.random.Generator) -> HeadWeights:
    """Return the named head of `HEADS` at this d_k; only the random one draws.

    Raises:
        ValueError: if there is no such head.
    """
    if name == "adjectives":
        return adjective_head(d_k)
    if name == "context":
        return context_head(d_k)
    if name == "random":
        return random_head(d_k, rng)
    raise ValueError(f"head must be one of {', '.join(HEADS)}, got {name!r}")


def adjective_head(d_k: int) -> HeadWeights:
    """Let nouns ask for adjectives, and take from them the qualities they name.

    One question fills one dimension of q and k; the other d_k − 1 are 0. So q·k is the same at
    any d_k, while the division by √d_k is not.
    """
    W_Q, W_K, W_V = _zeros(d_k)
    W_Q[axis("noun"), 0] = _STRENGTH
    W_K[axis("adjective"), 0] = _STRENGTH
    for quality in QUALITIES:
        W_V[axis(quality), axis(quality)] = 1
    return HeadWeights(W_Q=W_Q, W_K=W_K, W_V=W_V)


def context_head(d_k: int) -> HeadWeights:
    """Let an ambiguous word ask what the talk is about, and shift it to that meaning.

    Two questions fill two dimensions: "are you about water?" and "are you about money?". At
    d_k = 1 there is room for the first alone. An ambiguous word's own key answers neither, so that
    it does not look at itself, and its own value is 0, for it speaks for both sides equally.
    """
    W_Q, W_K, W_V = _zeros(d_k)
    water, money, ambiguous = axis("water"), axis("money"), axis("ambiguous")
    for column, topic in enumerate((water, money)[:d_k]):
        W_Q[ambiguous, column] = _STRENGTH
        W_K[topic, column] = _STRENGTH
        W_K[ambiguous, column] = -0.7 * _STRENGTH  # takes back the 0.7 of its own topic
    W_V[water, [water, money]] = _SHIFT, -_SHIFT
    W_V[money, [water, money]] = -_SHIFT, _SHIFT
    return HeadWeights(W_Q=W_Q, W_K=W_K, W_V=W_V)


def random_head(d_k: int, rng: np.random.Generator) -> HeadWeights:
    """Draw every weight from a normal distribution.

    For random vectors, the entries of q and k then have a standard deviation of 1, as has
    q·k / √d_k, and v is about as long as x. A larger d_k adds columns and keeps the ones before.
    """
    query_rng, key_rng, value_rng = rng.spawn(3)
    return HeadWeights(
        # Drawn (d_k, d_model): row by row, so that the first rows are the same for any d_k.
        W_Q=query_rng.normal(0, RANDOM_ENTRY, (d_k, D_MODEL)).T,
        W_K=key_rng.normal(0, RANDOM_ENTRY, (d_k, D_MODEL)).T,
        W_V=value_rng.normal(0, 1 / np.sqrt(D_MODEL), (D_MODEL, D_MODEL)),
    )


def _zeros(
    d_k: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    return np.zeros((D_MODEL, d_k)), np.zeros((D_MODEL, d_k)), np.zeros((D_MODEL, D_MODEL))
