"""Two facts at once: the question names two keys, and the values of both are the answer.

A sequence has n key–value pairs with different keys. The question names two of the keys, a first
and a second. There are two answers, and `ORDERS` says which is to come first:

* as asked: the value of the key named first, then that of the key named second;
* smallest first: the same two values, sorted, so that it does not matter whose value is whose.

Both orders ask for the same two values of the same sequences, so that what they demand of a head
differs in one thing alone: to tell the two named pairs apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb

import numpy as np

from core.recall import Integers, sample_sequences

ORDERS = ("as asked", "smallest first")


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoFacts:
    """B sequences, as indices. The keys of one sequence differ; its values may repeat."""

    keys: Integers  # (B, n_pairs) 0 … n_keys − 1
    values: Integers  # (B, n_pairs) 0 … n_values − 1
    asked: Integers  # (B, 2) which pair has the key named first, and which the one named second
    answers: Integers  # (B, 2) the two values, in the order they are to be given

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def named(self) -> Integers:
        """The two keys that the question names, (B, 2)."""
        return np.take_along_axis(self.keys, self.asked, axis=1)


def two_facts(keys: Integers, values: Integers, asked: Integers, order: str) -> TwoFacts:
    """Return these sequences with their answers.

    >>> keys, values, asked = np.array([[5, 2, 7]]), np.array([[3, 1, 1]]), np.array([[0, 2]])
    >>> [two_facts(keys, values, asked, order).answers.tolist() for order in ORDERS]
    [[[3, 1]], [[1, 3]]]
    """
    answers = np.take_along_axis(values, asked, axis=1)
    if order == "smallest first":
        answers = np.sort(answers, axis=1)
    return TwoFacts(keys=keys, values=values, asked=asked, answers=answers)


def sample_two_facts(
    n_sequences: int,
    n_pairs: int,
    n_keys: int,
    n_values: int,
    order: str,
    rng: np.random.Generator,
) -> TwoFacts:
    """Draw sequences, and a question about two different pairs of each."""
    drawn = sample_sequences(n_sequences, n_pairs, n_keys, n_values, rng)
    apart = rng.integers(1, n_pairs, size=n_sequences)
    asked = np.stack([drawn.asked, (drawn.asked + apart) % n_pairs], axis=1)
    return two_facts(drawn.keys, drawn.values, asked, order)


def count_all(n_pairs: int, n_keys: int, n_values: int) -> int:
    """Return how many sequences there are, when the order of the pairs does not count.

    >>> count_all(3, 8, 8)
    172032
    """
    return comb(n_keys, n_pairs) * n_pairs * (n_pairs - 1) * int(n_values**n_pairs)


def all_two_facts(n_pairs: int, n_keys: int, n_values: int, order: str) -> Iterator[TwoFacts]:
    """Yield every sequence once, those with the same keys together.

    The pairs come in the order of their keys: a head without positions gives the same answer in
    any other order.
    """
    questions = np.array(list(permutations(range(n_pairs), 2)))  # (n (n − 1), 2)
    every = np.indices((n_values,) * n_pairs).reshape(n_pairs, -1).T  # (n_values ** n_pairs, n)
    values = np.repeat(every, len(questions), axis=0)
    asked = np.tile(questions, (len(every), 1))
    for chosen in combinations(range(n_keys), n_pairs):
        yield two_facts(np.tile(np.array(chosen), (len(values), 1)), values, asked, order)
