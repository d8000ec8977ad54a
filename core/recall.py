"""Associative recall: look a key up among pairs, with a model that is one attention head.

A sequence is a list of n pairs, each a key with a value, and last one of its keys alone: the
question. To answer is to name that key's value. The model embeds a pair as key embedding + value
embedding and the question as its key embedding alone, lets the question attend to all tokens
(Vaswani et al. 2017, eq. 1), and turns the head's output into a score for each value with a last
matrix, W_O. There are no positions, no residual, and no biases, so the order of the pairs cannot
matter.

This module computes it token by token, the way it is explained. `core.circuits` computes the same
numbers from two small tables, which is what the training uses.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.attention import Floats, softmax_rows

Integers = NDArray[np.int64]

MATRICES = ("W_Q", "W_K", "E_key", "E_value", "W_V", "W_O")
"""The six matrices in the order they lie in the flat array of `Parameters`.

What a variant of the training freezes comes first, so that what is trained is one slice; the two
embeddings are neighbours, so that both together are one matrix, E.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequences:
    """B sequences of the task, as indices.

    The keys of one sequence differ from each other; its values may repeat.
    """

    keys: Integers  # (B, n_pairs) 0 … n_keys − 1
    values: Integers  # (B, n_pairs) 0 … n_values − 1
    questions: Integers  # (B,) the key that is asked about
    asked: Integers  # (B,) which pair has that key, 0 … n_pairs − 1
    answers: Integers  # (B,) that pair's value

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The four sizes that fix the shapes of the six matrices."""

    n_keys: int  # different keys
    n_values: int  # different values
    d_model: int  # numbers in an embedding
    d_k: int  # numbers in a query, a key vector, and a value vector

    @property
    def n_parts(self) -> int:
        """The rows of E: every key and every value."""
        return self.n_keys + self.n_values

    @property
    def matrices(self) -> dict[str, tuple[int, int]]:
        """The shape of each matrix, in the order of `MATRICES`."""
        return {
            "W_Q": (self.d_model, self.d_k),
            "W_K": (self.d_model, self.d_k),
            "E_key": (self.n_keys, self.d_model),
            "E_value": (self.n_values, self.d_model),
            "W_V": (self.d_model, self.d_k),
            "W_O": (self.d_k, self.n_values),
        }

    @property
    def n_parameters(self) -> int:
        """The number of trained numbers, all six matrices together."""
        return sum(rows * columns for rows, columns in self.matrices.values())


class Parameters:
    """The six matrices as views of one flat array, so that an optimiser can treat them as one.

    A gradient has the same six matrices, and is a `Parameters` too.
    """

    def __init__(self, flat: Floats, shape: ModelShape) -> None:
        if flat.shape != (shape.n_parameters,):
            raise ValueError(f"flat must be ({shape.n_parameters},), got {flat.shape}")
        self.flat = flat
        self.shape = shape
        self.offsets: dict[str, int] = {}  # where each matrix starts in flat
        views: dict[str, Floats] = {}
        start = 0
        for name, (rows, columns) in shape.matrices.items():
            self.offsets[name] = start
            views[name] = flat[start : start + rows * columns].reshape(rows, columns)
            start += rows * columns
        self.W_Q, self.W_K = views["W_Q"], views["W_K"]  # (d_model, d_k)
        self.E_key = views["E_key"]  # (n_keys, d_model)
        self.E_value = views["E_value"]  # (n_values, d_model)
        self.W_V = views["W_V"]  # (d_model, d_k)
        self.W_O = views["W_O"]  # (d_k, n_values)
        start = self.offsets["E_key"]
        self.E = flat[start : self.offsets["W_V"]].reshape(shape.n_parts, shape.d_model)

    def copy(self, dtype: DTypeLike | None = None) -> "Parameters":
        """Return a copy that shares no memory, in another float type if one is given."""
        return Parameters(np.array(self.flat, dtype=dtype or self.flat.dtype), self.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What the model does with B sequences of T tokens: n_pairs pairs, then the question."""

    scores: Floats  # (B, T) how well each token's key vector matches the question's query
    weights: Floats  # (B, T) their softmax: each row sums to 1
    logits: Floats  # (B, n_values)
    probabilities: Floats  # (B, n_values) their softmax: each row sums to 1

    @property
    def predicted(self) -> Integers:
        """The most probable value of each sequence, (B,)."""
        predicted: Integers = self.logits.argmax(axis=1)
        return predicted


def sample_sequences(
    n_sequences: int, n_pairs: int, n_keys: int, n_values: int, rng: np.random.Generator
) -> Sequences:
    """Draw sequences: distinct keys, any values, and a question about one of the pairs."""
    every = np.arange(n_sequences)
    # Fisher and Yates' shuffle of one deck of keys per sequence, stopped after n_pairs cards.
    deck = np.repeat(np.arange(n_keys)[:, np.newaxis], n_sequences, axis=1)  # (n_keys, B)
    for card in range(n_pairs):
        picked = rng.integers(card, n_keys, size=n_sequences)
        drawn = deck[picked, every]
        deck[picked, every] = deck[card]
        deck[card] = drawn
    keys = deck[:n_pairs].T
    values = rng.integers(n_values, size=(n_sequences, n_pairs))
    asked = rng.integers(n_pairs, size=n_sequences)
    return Sequences(
        keys=keys,
        values=values,
        questions=keys[every, asked],
        asked=asked,
        answers=values[every, asked],
    )


def start_parameters(
    shape: ModelShape, init_scale: float, rng: np.random.Generator, dtype: DTypeLike = np.float64
) -> Parameters:
    """Draw all six matrices from a normal distribution with standard deviation ``init_scale``."""
    # Drawn in float64 whatever the dtype, so that both types start from the same numbers.
    return Parameters((rng.standard_normal(shape.n_parameters) * init_scale).astype(dtype), shape)


def answer(
    parameters: Parameters,
    keys: Integers,
    values: Integers,
    questions: Integers,
    *,
    values_in_keys: bool = True,
) -> Answers:
    """Run the model token by token.

    Args:
        parameters: the six matrices.
        keys: (B, n_pairs).
        values: (B, n_pairs).
        questions: (B,) the key asked about.
        values_in_keys: whether a pair's key vector sees its value embedding, or only its key's.
    """
    question = parameters.E_key[questions][:, np.newaxis]  # (B, 1, d_model)
    pair_keys = parameters.E_key[keys]  # (B, n_pairs, d_model)
    pairs = pair_keys + parameters.E_value[values]
    x = np.concatenate([pairs, question], axis=1)  # (B, T, d_model)
    advertised = x if values_in_keys else np.concatenate([pair_keys, question], axis=1)

    Q = question @ parameters.W_Q  # (B, 1, d_k) only the question asks
    K = advertised @ parameters.W_K  # (B, T, d_k)
    V = x @ parameters.W_V  # (B, T, d_k)
    scores = Q @ K.swapaxes(1, 2) * float(1 / np.sqrt(parameters.shape.d_k))  # (B, 1, T)
    weights = softmax_rows(scores)
    logits = (weights @ V @ parameters.W_O)[:, 0]  # (B, n_values)
    return Answers(
        scores=scores[:, 0],
        weights=weights[:, 0],
        logits=logits,
        probabilities=softmax_rows(logits),
    )


def recall_loss(
    parameters: Parameters, sequences: Sequences, *, values_in_keys: bool = True
) -> float:
    """Return the mean cross-entropy of the answers, in nats, computed token by token."""
    answers = answer(
        parameters,
        sequences.keys,
        sequences.values,
        sequences.questions,
        values_in_keys=values_in_keys,
    )
    logits = answers.logits - answers.logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(logits).sum(axis=1))
    return float((log_sum - logits[np.arange(len(sequences)), sequences.answers]).mean())
