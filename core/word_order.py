"""A task that needs word order: of several facts about one key, the last one counts.

A sequence has ``n_times`` pairs with the asked key and values that all differ, and ``n_others``
pairs with other keys, in random order, and then the question: the asked key alone. The answer is
the value of the last of the asked key's pairs.

A head without positions computes the same for every order of the pairs. The order was drawn
independently of which pairs there are, so, given everything the head can tell apart, each of the
``n_times`` values is equally likely to have come last. No answer is right more often than

    ceiling = 1 / n_times,

and a head that finds the asked key's pairs and names any of their values gets there.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from core.attention import Floats
from core.limits import check_choices, check_training, check_whole, is_whole
from core.positions import SCHEMES
from core.recall import Integers

_LIMITS = {
    "n_times": (1, 4),
    "n_others": (0, 7),
    "n_values": (4, 32),
    "n_steps": (0, 3000),
    "batch_size": (1, 1024),
}
N_KEYS = 8  # different keys: the asked one and at most seven others
_WIDTHS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, kw_only=True)
class OrderSettings:
    """Everything that determines one training run."""

    n_times: int = 2  # pairs with the asked key, 1 … 4
    n_others: int = 3  # pairs with other keys, each key once, 0 … 7
    n_values: int = 8  # different values, 4 … 32
    n_steps: int = 1000  # optimiser steps, 0 … 3,000
    alibi_slope: float = 0.5  # score lost for each position of distance, 0 … 16
    d_k: int = 32  # numbers in a query, key vector and value vector: 2, 4, 8, 16, 32 or 64
    d_model: int = 32  # numbers in an embedding: 2, 4, 8, 16, 32 or 64
    learning_rate: float = 0.01  # no unit, above 0 and at most 10
    init_scale: float = 0.1  # standard deviation of the random start, 0 … 10
    batch_size: int = 64  # sequences a step, 1 … 1,024
    scheme: str = "none"  # one of SCHEMES
    seed: int = 0  # of the start, the batches and the test sequences
    float_type: str = "float32"  # "float32" or "float64"; float64 is for checks

    def __post_init__(self) -> None:
        check_whole(self, _LIMITS)
        check_training(self, highest_rate=10)
        if not 0 <= self.alibi_slope <= 16:
            raise ValueError(f"alibi_slope must be from 0 to 16, got {self.alibi_slope}")
        check_choices(self, {"d_k": _WIDTHS, "d_model": _WIDTHS, "scheme": SCHEMES})

    @property
    def n_pairs(self) -> int:
        """Pairs in a sequence."""
        return self.n_times + self.n_others

    @property
    def n_tokens(self) -> int:
        """Pairs, and the question after them."""
        return self.n_pairs + 1

    @property
    def n_parts(self) -> int:
        """Different keys and values: what a token can be made of."""
        return N_KEYS + self.n_values


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderSequences:
    """B sequences of the task, as indices."""

    keys: Integers  # (B, n_pairs) 0 … N_KEYS − 1
    values: Integers  # (B, n_pairs) 0 … n_values − 1
    questions: Integers  # (B,) the key that is asked about
    last: Integers  # (B,) where the last pair with that key stands
    answers: Integers  # (B,) its value

    def __len__(self) -> int:
        return len(self.questions)


def order_ceiling(n_times: int) -> Fraction:
    """Return the accuracy that no head without positions can pass on average.

    Raises:
        ValueError: if ``n_times`` is not a whole number of at least 1.

    >>> order_ceiling(2)
    Fraction(1, 2)
    """
    if not is_whole(n_times) or n_times < 1:
        raise ValueError(f"n_times must be a whole number of at least 1, got {n_times}")
    return Fraction(1, int(n_times))


def sample_order(
    settings: OrderSettings, n_sequences: int, rng: np.random.Generator
) -> OrderSequences:
    """Draw sequences; the order of the pairs is drawn last, independently of what they hold."""
    B, m, n = n_sequences, settings.n_times, settings.n_pairs
    deck = rng.random((B, N_KEYS)).argsort(axis=1)  # (B, N_KEYS) each row a shuffle of all keys
    questions = deck[:, 0]
    keys = np.concatenate(
        [np.repeat(questions[:, np.newaxis], m, axis=1), deck[:, 1 : 1 + settings.n_others]], axis=1
    )
    values = np.concatenate(
        [
            rng.random((B, settings.n_values)).argsort(axis=1)[:, :m],  # these differ
            rng.integers(settings.n_values, size=(B, settings.n_others)),
        ],
        axis=1,
    )
    order = rng.random((B, n)).argsort(axis=1)
    return arrange(
        np.take_along_axis(keys, order, axis=1),
        np.take_along_axis(values, order, axis=1),
        questions,
    )


def arrange(keys: Integers, values: Integers, questions: Integers) -> OrderSequences:
    """Return these pairs with the right answers: the value of the last pair with the asked key.

    >>> arrange(np.array([[4, 0, 4]]), np.array([[6, 1, 3]]), np.array([4])).answers
    array([3])
    """
    matches = keys == questions[:, np.newaxis]
    last = keys.shape[1] - 1 - matches[:, ::-1].argmax(axis=1)
    return OrderSequences(
        keys=keys,
        values=values,
        questions=questions,
        last=last,
        answers=values[np.arange(len(keys)), last],
    )


def one_hot(settings: OrderSettings, sequences: OrderSequences) -> Floats:
    """Return each token as the sum of its parts: a 1 for its key, and a 1 for its value.

    Returns:
        (B, n_tokens, n_parts); the last token is the question, which has no value.
    """
    B, n = sequences.keys.shape
    tokens = np.zeros((B, n + 1, settings.n_parts), dtype=settings.float_type)
    rows, columns = np.arange(B)[:, np.newaxis], np.arange(n)
    tokens[rows, columns, sequences.keys] = 1
    tokens[rows, columns, N_KEYS + sequences.values] = 1
    tokens[np.arange(B), n, sequences.questions] = 1
    return tokens
