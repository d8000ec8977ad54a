"""How often one head can give two named keys' values in order: an exact fraction, with its proof.

The question names two keys. A head has one pattern, so one of the two named pairs gets at least as
much weight as the other; call their values heavy, i, and light, j, and the quotient of the weights
λ ≥ 1. The scores see the keys alone, so λ depends on the keys and the question and on no value.
Every answer is read from the head's output by a linear read-out, so, apart from what does not
depend on i and j, the logit of an answer r is

    λ C[i, r] + C[j, r] + b[r],

and the named value is the largest logit's. (If several are, it is the first one's; adding to b a
tiny amount that falls with r gives the same names without ties.) Ask how many of the V² pairs
(i, j) can have the *light* pair's value named, j. Call such a pair right.

1. If both orders of two values y ≠ z are right, call them linked. Then for no value x are both
   (x, y) and (x, z) right. For write D(s) = C[s, z] − C[s, y] and c = b[z] − b[y]; the four say

       (x, z), z above y:   λ D(x) + D(z) + c > 0     (z, y), y above z:  −λ D(z) − D(y) − c > 0
       (x, y), y above z:  −λ D(x) − D(y) − c > 0     (y, z), z above y:   λ D(y) + D(z) + c > 0

   and λ − 1 times the left two plus the right two says 0 > 0. `contradiction` returns this sum.

2. So linked values make (x, x) wrong for every linked x (take x = y), and if x is linked to y and
   to z, then (y, z) and (z, y) are both wrong: (y, z) right would put x and z, which are linked,
   into y's row.

3. Compared with "every (x, x) right, and one order of every two values", which makes V (V + 1) / 2,
   each link adds one right pair, each linked value loses one, and each two values with a common
   partner lose one. Let value v be linked to d(v) others. It shares a partner with at least
   max d(w) − 1 values, over its partners w. Summed over all linked values that counts the losses
   of the last kind twice at most, and Σ max d(w) ≥ Σ (average of d(w)) =
   Σ over links (d(w) / d(v) + d(v) / d(w)) ≥ 2 × links. So the links gain no more than is lost.

No more than V (V + 1) / 2 of V² pairs are right, whatever λ, C and b are. (If the light pair's
weight is 0, its answer does not look at j, and V pairs are right at most.) The accuracy of the
light answer, and of both answers together, is at most

    (V + 1) / (2 V).

It holds for every question, every set of keys and all values of the other pairs, and so for their
average. A model that draws its answers with its own probabilities is bound by it too: drawing is
naming the largest of the logits plus noise that does not look at the values (Gumbel 1954), which is
one more b. A head reaches it: it weighs both named pairs alike, and names the smaller value first,
which is right whenever i ≤ j, V (V + 1) / 2 times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from operator import index

import numpy as np
from numpy.typing import NDArray

MOST_ENUMERATED = 4  # values; 2 ** 16 sets of pairs are looked through, five would make 2 ** 25


@dataclass(frozen=True, kw_only=True)
class CeilingCheck:
    """What looking through all sets of right pairs found."""

    n_values: int
    sets: int  # of right pairs (i, j), 2 ** (n_values ** 2)
    possible: int  # of them without a contradiction
    largest: int  # right pairs in the largest of those
    pairs: int  # all pairs, n_values ** 2
    by_sorting: int  # pairs that a head which names the smaller value first gets right

    @property
    def share(self) -> Fraction:
        """The largest share of pairs that can be right."""
        return Fraction(self.largest, self.pairs)


def one_head_ceiling(n_values: int) -> Fraction:
    """Return the accuracy, both answers right, that no single head can pass.

    Raises:
        ValueError: if n_values is not a whole number of at least 1.

    >>> one_head_ceiling(8), one_head_ceiling(2)
    (Fraction(9, 16), Fraction(3, 4))
    """
    try:
        V = index(n_values)
    except TypeError:
        V = 0
    if V < 1:
        raise ValueError(f"n_values must be a whole number of at least 1, got {n_values}")
    return Fraction(V + 1, 2 * V)


def contradiction(
    C: NDArray[np.float64], b: NDArray[np.float64], quotient: float, x: int, y: int, z: int
) -> float:
    """Add up step 1's four inequalities, weighted: 0 up to rounding, where all four need more.

    Args:
        C: (V, V), what a value adds to the logits of the answers.
        b: (V,), what is added without looking at the two values.
        quotient: λ, the heavy pair's weight over the light one's, at least 1.
        x: any value.
        y: a value.
        z: another value.
    """

    def margin(heavy: int, light: int, above: int, below: int) -> float:
        logits = quotient * C[heavy] + C[light] + b
        return float(logits[above] - logits[below])

    return (quotient - 1) * (margin(x, z, z, y) + margin(x, y, y, z)) + (
        margin(z, y, y, z) + margin(y, z, z, y)
    )


def impossible(n_values: int) -> Iterator[frozenset[tuple[int, int]]]:
    """Yield the sets of pairs (heavy, light) that step 1 forbids to be right together."""
    for y, z in combinations(range(n_values), 2):
        for x in range(n_values):
            yield frozenset({(x, y), (x, z), (y, z), (z, y)})


def right_by_sorting(n_values: int) -> int:
    """Count the pairs (i, j) right when the smaller of the two is named first.

    Both named pairs weigh the same, and a value's own logit is n_values − value for the first
    answer, value for the second; the count is over all pairs, one by one.

    >>> right_by_sorting(8)
    36
    """
    falling = np.diag(np.arange(n_values, 0, -1))  # (V, V) a value votes for itself alone
    rising = np.diag(np.arange(1, n_values + 1))
    return sum(
        int((falling[i] + falling[j]).argmax() == i and (rising[i] + rising[j]).argmax() == j)
        for i, j in product(range(n_values), repeat=2)
    )


def enumerate_ceiling(n_values: int) -> CeilingCheck:
    """Look through every set of right pairs for the largest without a contradiction.

    Raises:
        ValueError: if n_values is not from 1 to 4.

    >>> enumerate_ceiling(3).share
    Fraction(2, 3)
    """
    if not 1 <= n_values <= MOST_ENUMERATED:
        raise ValueError(f"n_values must be from 1 to {MOST_ENUMERATED}, got {n_values}")
    pairs = list(product(range(n_values), repeat=2))
    bit = {pair: 1 << place for place, pair in enumerate(pairs)}
    sets = np.arange(1 << len(pairs))
    possible = np.ones(len(sets), dtype=bool)
    for forbidden in impossible(n_values):
        mask = sum(bit[pair] for pair in forbidden)
        possible &= sets & mask != mask
    return CeilingCheck(
        n_values=n_values,
        sets=len(sets),
        possible=int(possible.sum()),
        largest=int(np.bitwise_count(sets[possible]).max()),
        pairs=len(pairs),
        by_sorting=right_by_sorting(n_values),
    )
