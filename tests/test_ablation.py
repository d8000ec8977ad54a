"""The ceiling for even attention, against counting every sequence and against other strategies."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ablation import (
    ceiling_cases,
    ceiling_map,
    guess_most_repeated,
    largest_counts,
    uniform_ceiling,
    value_counts,
)

pairs = st.integers(1, 16)
values = st.integers(1, 32)


def ceiling_by_enumeration(n_pairs, n_values):
    """Write out every sequence of values and every question, and name the best answer to each."""
    right = 0
    for sequence in product(range(n_values), repeat=n_pairs):
        right += max(sequence.count(value) for value in sequence)
    return Fraction(right, n_pairs * n_values**n_pairs)


def best_rule_by_enumeration(n_pairs, n_values):
    """Count right answers of the best rule that sees the values sorted, so without the pairing.

    Unlike the formula this does not assume that the most repeated value is the best guess: it
    tries every answer to everything that the rule can tell apart.
    """
    seen: dict[tuple[int, ...], list[int]] = {}
    for sequence in product(range(n_values), repeat=n_pairs):
        for asked in range(n_pairs):
            answers = seen.setdefault(tuple(sorted(sequence)), [0] * n_values)
            answers[sequence[asked]] += 1
    return Fraction(sum(max(answers) for answers in seen.values()), n_pairs * n_values**n_pairs)


def test_the_articles_case_is_29_of_64():
    assert uniform_ceiling(3, 8) == Fraction(29, 64)


def test_the_articles_three_cases():
    cases = ceiling_cases(3, 8)
    assert [case.name for case in cases] == ["all differ", "two match", "all match"]
    assert [case.probability for case in cases] == [
        Fraction(42, 64),
        Fraction(21, 64),
        Fraction(1, 64),
    ]
    assert [case.accuracy for case in cases] == [Fraction(1, 3), Fraction(2, 3), Fraction(1)]
    assert [case.sequences for case in cases] == [336, 168, 8]


@pytest.mark.parametrize(
    ("n_pairs", "n_values"),
    [(n, v) for n in range(1, 8) for v in range(1, 9) if v**n <= 5000],
)
def test_the_ceiling_equals_counting_every_sequence(n_pairs, n_values):
    ceiling = uniform_ceiling(n_pairs, n_values)
    assert ceiling == ceiling_by_enumeration(n_pairs, n_values)
    assert ceiling == best_rule_by_enumeration(n_pairs, n_values)


def test_the_cases_equal_counting_every_sequence():
    largest = [max(s.count(v) for v in s) for s in product(range(4), repeat=5)]
    cases = {case.largest: case.sequences for case in ceiling_cases(5, 4)}
    assert cases == {m: largest.count(m) for m in (2, 3, 4, 5)}


@given(pairs, values)
@settings(max_examples=25, deadline=None)
def test_the_cases_share_out_all_sequences_and_sum_to_the_ceiling(n_pairs, n_values):
    cases = ceiling_cases(n_pairs, n_values)
    assert sum(case.sequences for case in cases) == n_values**n_pairs
    assert sum(case.probability for case in cases) == 1
    assert sum(case.contribution for case in cases) == uniform_ceiling(n_pairs, n_values)


@given(pairs, values)
@settings(max_examples=25, deadline=None)
def test_the_ceiling_is_between_a_blind_guess_and_certainty(n_pairs, n_values):
    ceiling = uniform_ceiling(n_pairs, n_values)
    assert max(Fraction(1, n_pairs), Fraction(1, n_values)) <= ceiling <= 1
    assert ceiling >= uniform_ceiling(n_pairs + 1, n_values)
    assert ceiling >= uniform_ceiling(n_pairs, n_values + 1)


def test_one_pair_or_one_value_is_certain():
    assert uniform_ceiling(1, 32) == 1
    assert uniform_ceiling(16, 1) == 1


def test_the_map_holds_the_same_fractions():
    cells = ceiling_map(16, 32)
    assert len(cells) == 16 * 31
    assert [(c.n_values, c.n_pairs) for c in cells] == list(product(range(2, 33), range(1, 17)))
    for cell in cells[:: len(cells) // 20] + cells[-1:]:
        assert cell.ceiling == uniform_ceiling(cell.n_pairs, cell.n_values)


def test_counting_many_values_agrees_with_drawing_them():
    # 50,000 draws; the largest share of 16 has a standard deviation below 0.06, so its mean has a
    # standard error below 0.0003. The tolerance is four of those.
    drawn = np.random.default_rng(0).integers(32, size=(50_000, 16))
    measured = largest_counts(drawn, 32).mean() / 16
    assert measured == pytest.approx(float(uniform_ceiling(16, 32)), abs=0.0012)


def test_a_tie_goes_to_the_smallest_value_and_repeats_win():
    rows = np.array([[6, 0, 1], [5, 2, 5], [7, 7, 7]])
    assert guess_most_repeated(rows, 8).tolist() == [0, 5, 7]
    assert largest_counts(rows, 8).tolist() == [1, 2, 3]
    assert value_counts(rows, 8)[1].tolist() == [0, 0, 1, 0, 0, 2, 0, 0]


def test_the_best_strategy_scores_the_ceiling_over_every_sequence():
    sequences = np.array(list(product(range(8), repeat=3)))
    guesses = guess_most_repeated(sequences, 8)
    right = (sequences == guesses[:, np.newaxis]).sum()
    assert Fraction(int(right), sequences.size) == Fraction(29, 64)


def test_a_strategy_that_sees_the_pairing_beats_the_ceiling():
    # Negative control: the ceiling binds only those who cannot tell which value has the key asked
    # for. Knowing it for one position out of three is enough to pass it.
    sequences = np.array(list(product(range(8), repeat=3)))
    blind = guess_most_repeated(sequences, 8)[:, np.newaxis]
    guesses = np.where(np.arange(3) == 0, sequences, blind)  # asked for pair 0: look it up
    right = Fraction(int((sequences == guesses).sum()), sequences.size)
    assert right > uniform_ceiling(3, 8)


def test_a_strategy_that_guesses_the_rarest_value_stays_below():
    sequences = np.array(list(product(range(8), repeat=3)))
    counts = value_counts(sequences, 8)
    rarest = np.where(counts > 0, counts, 9).argmin(axis=1)[:, np.newaxis]
    right = Fraction(int((sequences == rarest).sum()), sequences.size)
    assert Fraction(1, 3) <= right < uniform_ceiling(3, 8)


@pytest.mark.parametrize(
    ("n_pairs", "n_values", "sentence"),
    [
        (0, 8, "n_pairs must be a whole number of at least 1, got 0"),
        (3, -1, "n_values must be a whole number of at least 1, got -1"),
        (2.5, 8, "n_pairs must be a whole number of at least 1, got 2.5"),
    ],
)
def test_impossible_counts_are_refused_by_name(n_pairs, n_values, sentence):
    for function in (uniform_ceiling, ceiling_cases):
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            function(n_pairs, n_values)
    with pytest.raises(ValueError, match=f"^{sentence.replace('n_', 'max_')}$"):
        ceiling_map(n_pairs, n_values)


def test_numpys_whole_numbers_do_not_overflow():
    assert uniform_ceiling(np.int64(16), np.int64(32)) == uniform_ceiling(16, 32)
