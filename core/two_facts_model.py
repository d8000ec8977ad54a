"""A few heads that answer two facts at once, token by token, the way it is explained.

A pair is embedded as key embedding + value embedding, and the question as the embedding of its
first key + that of its second, from two tables of their own. From the question, each head looks at
the pairs (Vaswani et al. 2017, eq. 1), with a pattern of its own. The heads' outputs, each through
its own W_O, add up to one vector of 2 n_values logits: the first half is the first answer, the
second half the second.

The scores see the keys alone, unless ``values_in_keys``: with them, a head's weights depend on the
sequence's keys and its question, and on none of its values. There are no positions, no residual,
and no biases, and the question does not look at itself.

`core.two_facts_circuits` computes the same numbers from small tables; the training uses those.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from core.attention import Floats, softmax_rows
from core.recall import Integers
from core.two_facts import TwoFacts

HEADS_MATRICES = ("W_Q", "W_K", "E_first", "E_second", "E_key", "E_value", "W_V", "W_O")
"""The matrices in the order they lie in the flat array; neighbours are used together."""


@dataclass(frozen=True, kw_only=True)
class HeadsShape:
    """The five sizes that fix the shapes of the matrices."""

    n_heads: int
    n_keys: int  # different keys
    n_values: int  # different values
    d_model: int  # numbers in an embedding
    d_k: int  # numbers in a query, key vector and value vector of one head

    @property
    def n_parts(self) -> int:
        """What a pair is made of: every key and every value."""
        return self.n_keys + self.n_values

    @property
    def matrices(self) -> dict[str, tuple[int, ...]]:
        """The shape of each matrix, in the order of `HEADS_MATRICES`; heads come first."""
        return {
            "W_Q": (self.n_heads, self.d_model, self.d_k),
            "W_K": (self.n_heads, self.d_model, self.d_k),
            "E_first": (self.n_keys, self.d_model),
            "E_second": (self.n_keys, self.d_model),
            "E_key": (self.n_keys, self.d_model),
            "E_value": (self.n_values, self.d_model),
            "W_V": (self.n_heads, self.d_model, self.d_k),
            "W_O": (self.n_heads, self.d_k, 2 * self.n_values),
        }

    @property
    def n_parameters(self) -> int:
        """The number of trained numbers, all matrices together."""
        return sum(prod(shape) for shape in self.matrices.values())


class HeadsParameters:
    """The matrices as views of one flat array; a gradient has the same form."""

    def __init__(self, flat: Floats, shape: HeadsShape) -> None:
        if flat.shape != (shape.n_parameters,):
            raise ValueError(f"flat must be ({shape.n_parameters},), got {flat.shape}")
        self.flat = flat
        self.shape = shape
        self.offsets: dict[str, int] = {}  # where each matrix starts in flat
        views: dict[str, Floats] = {}
        start = 0
        for name, sizes in shape.matrices.items():
            self.offsets[name] = start
            views[name] = flat[start : start + prod(sizes)].reshape(sizes)
            start += prod(sizes)
        self.W_Q, self.W_K = views["W_Q"], views["W_K"]  # (H, d_model, d_k)
        self.E_first, self.E_second = views["E_first"], views["E_second"]  # (n_keys, d_model)
        self.E_key = views["E_key"]  # (n_keys, d_model)
        self.E_value = views["E_value"]  # (n_values, d_model)
        self.W_V = views["W_V"]  # (H, d_model, d_k)
        self.W_O = views["W_O"]  # (H, d_k, 2 n_values)
        begin, middle, end = (self.offsets[name] for name in ("E_first", "E_key", "W_V"))
        self.E_question = flat[begin:middle].reshape(2 * shape.n_keys, shape.d_model)
        self.E = flat[middle:end].reshape(shape.n_parts, shape.d_model)

    def copy(self, dtype: DTypeLike | None = None) -> "HeadsParameters":
        """Return a copy that shares no memory, in another float type if one is given."""
        return HeadsParameters(np.array(self.flat, dtype=dtype or self.flat.dtype), self.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoAnswers:
    """What the model does with B sequences of n pairs."""

    scores: Floats  # (H, B, n) how well each pair's key vector matches the head's query
    weights: Floats  # (H, B, n) their softmax: each head's row sums to 1
    by_head: Floats  # (H, B, 2, n_values) what each head adds to the logits
    logits: Floats  # (B, 2, n_values) the sum over the heads

    @property
    def predicted(self) -> Integers:
        """The most probable value for each answer, (B, 2)."""
        predicted: Integers = self.logits.argmax(axis=2)
        return predicted


def start_heads(
    shape: HeadsShape, init_scale: float, rng: np.random.Generator, dtype: DTypeLike = np.float64
) -> HeadsParameters:
    """Draw all matrices from a normal distribution with standard deviation ``init_scale``."""
    drawn = rng.standard_normal(shape.n_parameters) * init_scale
    return HeadsParameters(drawn.astype(dtype), shape)


def answer_two(
    parameters: HeadsParameters, sequences: TwoFacts, *, values_in_keys: bool = False
) -> TwoAnswers:
    """Run the model token by token."""
    p, B = parameters, len(sequences)
    named = sequences.named
    question = (p.E_first[named[:, 0]] + p.E_second[named[:, 1]])[:, np.newaxis]  # (B, 1, d_model)
    pair_keys = p.E_key[sequences.keys]  # (B, n, d_model)
    pairs = pair_keys + p.E_value[sequences.values]
    advertised = pairs if values_in_keys else pair_keys

    Q = question @ p.W_Q[:, np.newaxis]  # (H, B, 1, d_k)
    K = advertised @ p.W_K[:, np.newaxis]  # (H, B, n, d_k)
    V = pairs @ p.W_V[:, np.newaxis]  # (H, B, n, d_k)
    scores = (Q @ K.swapaxes(2, 3))[:, :, 0] * float(1 / np.sqrt(p.shape.d_k))  # (H, B, n)
    weights = softmax_rows(scores)
    output = (weights[:, :, np.newaxis] @ V)[:, :, 0]  # (H, B, d_k)
    by_head = (output @ p.W_O).reshape(p.shape.n_heads, B, 2, p.shape.n_values)
    return TwoAnswers(scores=scores, weights=weights, by_head=by_head, logits=by_head.sum(axis=0))


def two_facts_loss(
    parameters: HeadsParameters, sequences: TwoFacts, q: float, *, values_in_keys: bool = False
) -> float:
    """Return the mean loss, computed token by token; see `power_loss`."""
    logits = answer_two(parameters, sequences, values_in_keys=values_in_keys).logits
    logits = logits - logits.max(axis=2, keepdims=True)
    log_sums = np.log(np.exp(logits).sum(axis=2))  # (B, 2)
    right = np.take_along_axis(logits, sequences.answers[:, :, np.newaxis], axis=2)[:, :, 0]
    return float(power_loss((right - log_sums).sum(axis=1), q).mean())


def power_loss(log_p: Floats, q: float) -> Floats:
    """Return (1 − p^q) / q, where p is the probability given to both right answers together.

    Towards q = 0 this is the cross-entropy −ln p, and at q = 1 it is 1 − p, how often an answer
    drawn with the model's own probabilities is wrong (Zhang & Sabuncu 2018, "Generalized Cross
    Entropy Loss for Training Deep Neural Networks with Noisy Labels", eq. 6).

    >>> power_loss(np.log([0.25]), 0.5), power_loss(np.array([-2.0]), 0.0)
    (array([1.]), array([2.]))
    """
    return -log_p if q == 0 else -np.expm1(q * log_p) / q
