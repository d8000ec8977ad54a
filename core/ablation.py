"""How often a head that attends evenly can be right: an exact fraction, by counting.

A sequence has n pairs of a key and a value, and then a question: one of those keys. A head whose
scores are all equal weighs every position alike, so its output is the average of the value vectors
of all n + 1 positions. An average does not change when the values are dealt out to the keys anew:
the output depends on which keys and which values are present, never on which value belongs to
which key. The values are drawn independently of the keys and of the question, so, given everything
the output depends on, each of the n values is equally likely to be the one asked for. A value that
occurs m times is then the answer with probability m / n, and no rule that reads this output can do
better than to name a most repeated value. Averaged over all sequences of values that gives

    ceiling = E[largest number of equal values] / n.

The ceiling is reached: an output that counts how often each value occurs is itself such an average,
and its largest entry is a most repeated value. Which one is named in a tie does not matter.

The counting follows the exponential generating function of words over V letters in which none
occurs more than m times, (Σ_{j ≤ m} x^j / j!)^V (Flajolet and Sedgewick 2009, "Analytic
Combinatorics", section II.3), in whole numbers.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from operator import index

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]

_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True, kw_only=True)
class CeilingCase:
    """The sequences whose most repeated value occurs exactly ``largest`` times."""

    largest: int  # how often the most repeated value occurs, 1 to n_pairs
    sequences: int  # how many sequences of values are like this, of n_values ** n_pairs
    n_pairs: int
    n_values: int

    @property
    def name(self) -> str:
        """Say the case in words.

        >>> [case.name for case in ceiling_cases(3, 8)]
        ['all differ', 'two match', 'all match']
        """
        return case_name(self.largest, self.n_pairs)

    @property
    def probability(self) -> Fraction:
        """How often a sequence is like this, when the values are random."""
        return Fraction(self.sequences, self.n_values**self.n_pairs)

    @property
    def accuracy(self) -> Fraction:
        """How often the most repeated value is then the answer."""
        return Fraction(self.largest, self.n_pairs)

    @property
    def contribution(self) -> Fraction:
        """What the case adds to the ceiling."""
        return self.probability * self.accuracy


@dataclass(frozen=True, kw_only=True)
class CeilingCell:
    """One cell of the map of the ceiling."""

    n_pairs: int
    n_values: int
    ceiling: Fraction


def uniform_ceiling(n_pairs: int, n_values: int) -> Fraction:
    """Return the accuracy that no head with even attention can pass on average.

    Args:
        n_pairs: pairs in a sequence, at least 1.
        n_values: values to draw from, at least 1.

    Returns:
        E[largest number of equal values] / n_pairs, exact; at least 1 / n_pairs and 1 / n_values.

    Raises:
        ValueError: if an argument is not a whole number of at least 1.

    >>> uniform_ceiling(3, 8)
    Fraction(29, 64)
    """
    return sum((case.contribution for case in ceiling_cases(n_pairs, n_values)), start=Fraction(0))


def ceiling_cases(n_pairs: int, n_values: int) -> tuple[CeilingCase, ...]:
    """Split all sequences of values by how often their most repeated value occurs.

    The probabilities sum to 1 and the contributions to `uniform_ceiling`. A case that cannot
    happen, as three different values out of two, is left out.

    >>> [(str(c.probability), str(c.accuracy)) for c in ceiling_cases(3, 8)]
    [('21/32', '1/3'), ('21/64', '2/3'), ('1/64', '1')]
    """
    n_pairs, n_values = _whole("n_pairs", n_pairs), _whole("n_values", n_values)
    at_most = [0] + [
        _sequences_at_most(most, n_pairs, n_values)[n_pairs] for most in range(1, n_pairs + 1)
    ]
    return tuple(
        CeilingCase(largest=m, sequences=exactly, n_pairs=n_pairs, n_values=n_values)
        for m in range(1, n_pairs + 1)
        if (exactly := at_most[m] - at_most[m - 1])
    )


def ceiling_map(max_pairs: int, max_values: int) -> tuple[CeilingCell, ...]:
    """Return the ceiling for 1 to ``max_pairs`` pairs and 2 to ``max_values`` values.

    >>> [str(cell.ceiling) for cell in ceiling_map(2, 3)]
    ['1', '3/4', '1', '2/3']
    """
    max_pairs, max_values = _whole("max_pairs", max_pairs), _whole("max_values", max_values)
    cells = []
    for V in range(2, max_values + 1):
        # at_most[m - 1][n]: sequences of n values, none of them more than m times
        at_most = [_sequences_at_most(m, max_pairs, V) for m in range(1, max_pairs + 1)]
        for n in range(1, max_pairs + 1):
            # E[largest] = Σ_{m ≥ 0} P(largest > m); m = 0 contributes 1.
            above = sum(V**n - at_most[m - 1][n] for m in range(1, n))
            ceiling = Fraction(V**n + above, V**n * n)
            cells.append(CeilingCell(n_pairs=n, n_values=V, ceiling=ceiling))
    return tuple(cells)


def case_name(largest: int, n_pairs: int) -> str:
    """Name the case in which the most repeated of n values occurs ``largest`` times."""
    if n_pairs == 1:
        return "only one value"
    if largest == 1:
        return "all differ"
    if largest == n_pairs:
        return "all match"
    return f"{_WORDS[largest - 2] if largest - 2 < len(_WORDS) else largest} match"


def value_counts(values: Ints, n_values: int) -> Ints:
    """Count how often each value occurs in each row of ``values``.

    Args:
        values: (N, n_pairs), the values of each sequence, 0 to n_values − 1.
        n_values: how many values there are.

    Returns:
        (N, n_values).

    >>> value_counts(np.array([[2, 0, 2]]), 3)
    array([[1, 0, 2]])
    """
    N = len(values)
    cells = values + n_values * np.arange(N)[:, np.newaxis]
    return np.bincount(cells.ravel(), minlength=N * n_values).reshape(N, n_values)


def guess_most_repeated(values: Ints, n_values: int) -> Ints:
    """Name a most repeated value of each row: the best strategy without the pairing.

    A tie goes to the smallest value, so that equal sequences give equal guesses. The rule costs
    nothing: tied values are equally likely to be the answer.

    Args:
        values: (N, n_pairs), the values of each sequence.
        n_values: how many values there are.

    Returns:
        (N,), the guesses.

    >>> guess_most_repeated(np.array([[6, 0, 1], [5, 2, 5]]), 8)
    array([0, 5])
    """
    guesses: Ints = value_counts(values, n_values).argmax(axis=1)
    return guesses


def largest_counts(values: Ints, n_values: int) -> Ints:
    """Return (N,), how often the most repeated value of each row occurs."""
    largest: Ints = value_counts(values, n_values).max(axis=1)
    return largest


def _sequences_at_most(most: int, n_pairs: int, n_values: int) -> list[int]:
    """Count sequences in which no value occurs more than ``most`` times.

    Returns:
        [n], the count for n values in a row, for n up to ``n_pairs``.
    """
    # Euler's recurrence for a power of a power series (Knuth 1997, "The Art of Computer
    # Programming", volume 2, section 4.7), times n!; the division leaves no remainder.
    counts = [1]
    for n in range(1, n_pairs + 1):
        total = sum(
            comb(n, j) * (j * (n_values + 1) - n) * counts[n - j]
            for j in range(1, min(most, n) + 1)
        )
        counts.append(total // n)
    return counts


def _whole(name: str, count: int) -> int:
    # index() takes NumPy's whole numbers too, and makes them Python's, which cannot overflow.
    try:
        whole = index(count)
    except TypeError:
        whole = 0
    if whole < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {count}")
    return whole
