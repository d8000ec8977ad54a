"""core.one_head_ceiling: the fraction, the proof's one step, and searches that try to beat it."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.many_heads import score
from core.one_head_ceiling import (
    contradiction,
    enumerate_ceiling,
    impossible,
    one_head_ceiling,
    right_by_sorting,
)
from core.two_facts_model import start_heads
from core.two_facts_settings import TwoFactsSettings
from core.two_facts_training import TwoFactsCheckpoint, TwoFactsResult


def test_eight_values_give_nine_sixteenths():
    assert one_head_ceiling(8) == Fraction(9, 16)
    assert one_head_ceiling(1) == 1
    assert [one_head_ceiling(V) for V in (2, 3, 4)] == [
        Fraction(3, 4),
        Fraction(2, 3),
        Fraction(5, 8),
    ]


@pytest.mark.parametrize("n_values", [1, 2, 3, 4])
def test_looking_through_every_set_finds_the_fraction(n_values):
    check = enumerate_ceiling(n_values)
    assert check.share == one_head_ceiling(n_values)
    assert check.sets == 2 ** (n_values**2)
    assert (check.largest, check.pairs) == (n_values * (n_values + 1) // 2, n_values**2)
    assert check.by_sorting == check.largest


def test_the_sets_are_looked_through_as_a_slow_loop_does():
    """For three values: every subset of the nine pairs, with Python's own sets."""
    pairs = list(product(range(3), repeat=2))
    forbidden = list(impossible(3))
    possible = [
        chosen
        for size in range(10)
        for chosen in combinations(pairs, size)
        if not any(some <= set(chosen) for some in forbidden)
    ]
    check = enumerate_ceiling(3)
    assert (len(possible), max(map(len, possible))) == (check.possible, check.largest) == (267, 6)


def achieved(n_values, n_draws, rng):
    """The sets of right pairs of random read-outs and random quotients of weights."""
    found = set()
    for _ in range(n_draws):
        C, b = rng.normal(size=(n_values, n_values)), rng.normal(size=n_values)
        quotient = 1 + rng.exponential()
        found.add(
            frozenset(
                (i, j)
                for i, j in product(range(n_values), repeat=2)
                if int(np.argmax(quotient * C[i] + C[j] + b)) == j
            )
        )
    return found


def test_what_random_read_outs_achieve_is_what_is_possible():
    """None is a forbidden set, and for two values every largest possible one is achieved."""
    pairs = list(product(range(2), repeat=2))
    possible = {
        frozenset(chosen)
        for size in range(5)
        for chosen in combinations(pairs, size)
        if not any(some <= set(chosen) for some in impossible(2))
    }
    assert len(possible) == enumerate_ceiling(2).possible == 13
    two = achieved(2, 2000, np.random.default_rng(0))
    assert two < possible
    assert {some for some in two if len(some) == 3} == {some for some in possible if len(some) == 3}
    three = achieved(3, 2000, np.random.default_rng(0))
    assert not any(some <= found for found in three for some in impossible(3))


@settings(max_examples=30)
@given(st.integers(3, 6), st.floats(1, 50), st.integers(0, 2**32 - 1))
def test_the_four_inequalities_add_up_to_nothing(n_values, quotient, seed):
    rng = np.random.default_rng(seed)
    C, b = rng.normal(size=(n_values, n_values)), rng.normal(size=n_values)
    y, z = rng.choice(n_values, size=2, replace=False)
    for x in range(n_values):
        assert abs(contradiction(C, b, quotient, x, y, z)) < 1e-10 * quotient**2


def right_pairs(C, b, quotient):
    """How many of the V² pairs have the light value on top, naming every pair by itself."""
    V = len(b)
    return sum(
        int(np.argmax(quotient * C[i] + C[j] + b)) == j for i, j in product(range(V), repeat=2)
    )


@settings(max_examples=60)
@given(st.integers(2, 5), st.floats(1, 10), st.integers(0, 2**32 - 1))
def test_no_random_read_out_beats_it(n_values, quotient, seed):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(n_values, n_values)) + rng.choice([0, 2]) * np.eye(n_values)
    b = rng.normal(size=n_values)
    assert right_pairs(C, b, quotient) <= n_values * (n_values + 1) // 2


@pytest.mark.parametrize("quotient", [1.0, 1.3, 3.0])
@pytest.mark.parametrize("n_values", [2, 3, 4])
def test_climbing_reaches_it_and_never_passes(n_values, quotient):
    """Random changes are kept unless they make it worse, from three starts."""
    best = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        C, b = rng.normal(size=(n_values, n_values)), rng.normal(size=n_values)
        right = right_pairs(C, b, quotient)
        for _ in range(600):
            size = rng.choice([0.1, 0.5, 3.0])
            nearby = C + size * rng.normal(size=C.shape) * (rng.random(C.shape) < 0.3)
            moved = b + size * rng.normal(size=n_values) * (rng.random(n_values) < 0.3)
            now = right_pairs(nearby, moved, quotient)
            if now >= right:
                C, b, right = nearby, moved, now
        best = max(best, right)
        assert right <= n_values * (n_values + 1) // 2
    assert best >= n_values * (n_values + 1) // 2 - (n_values == 4)


def test_a_heavy_answer_alone_has_no_ceiling():
    """The other answer, the heavy pair's, can always be right, so the bound is on the light one."""
    V, quotient = 5, 1.5
    heavy = sum(
        int(np.argmax(quotient * np.eye(V)[i] + np.eye(V)[j])) == i
        for i, j in product(range(V), repeat=2)
    )
    assert heavy == V * V
    assert right_pairs(np.eye(V), np.zeros(V), quotient) == V


@pytest.mark.parametrize("n_values", [1, 2, 8, 16])
def test_sorting_reaches_it(n_values):
    assert Fraction(right_by_sorting(n_values), n_values**2) == one_head_ceiling(n_values)


def untrained(chosen, init_scale):
    rng = np.random.default_rng(chosen.seed)
    return TwoFactsResult(
        settings=chosen,
        checkpoints=(TwoFactsCheckpoint(step=0, loss=0.0, accuracy=0.0),),
        parameters=start_heads(chosen.shape, init_scale, rng),
        diverged=None,
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0, 3.0]), st.integers(2, 3))
def test_no_head_with_random_numbers_passes_on_all_sequences(seed, init_scale, n_values):
    chosen = TwoFactsSettings(n_keys=4, n_values=n_values, d_model=6, d_k=4, seed=seed)
    whole = score(untrained(chosen, init_scale)).whole.both
    assert Fraction(whole.right, whole.total) <= one_head_ceiling(n_values)


def test_a_score_for_each_pair_of_answers_undoes_the_mixture():
    """The ceiling needs two read-outs: one over all V² pairs of answers gets everything right."""
    V, heavy, light = 5, 0.6, 0.4
    table = np.zeros((V, V, V))  # what a value adds to the logit of (first, second)
    for value in range(V):
        table[value, value, :] += 10.0
        table[value, :, value] += 1.0
        table[value, value, value] = 10.5
    for first, second in product(range(V), repeat=2):
        logits = heavy * table[first] + light * table[second]
        assert np.unravel_index(logits.argmax(), logits.shape) == (first, second)


@pytest.mark.parametrize("bad", [0, -1, 2.5, "8"])
def test_a_bad_number_of_values_is_said_in_a_sentence(bad):
    with pytest.raises(ValueError, match="n_values must be a whole number of at least 1, got"):
        one_head_ceiling(bad)
    assert one_head_ceiling(np.int64(8)) == Fraction(9, 16)


def test_too_many_sets_are_refused():
    with pytest.raises(ValueError, match="n_values must be from 1 to 4, got 5"):
        enumerate_ceiling(5)
