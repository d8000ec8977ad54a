"""Scores by case, and how far chance carries them."""

from fractions import Fraction
from math import inf, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ablation import ceiling_cases, uniform_ceiling
from core.ablation_scores import (
    Score,
    add_up,
    add_up_cases,
    distance_in_errors,
    fresh_sequences,
    interval,
    score_cases,
    standard_error,
)
from core.training import TrainSettings

scores = st.integers(1, 10**6).flatmap(
    lambda total: st.builds(Score, right=st.integers(0, total), total=st.just(total))
)


def test_right_answers_are_counted_in_their_case():
    right = np.array([True, False, True, True, False])
    largest = np.array([1, 1, 3, 2, 2])
    assert score_cases(right, largest, 3) == (
        Score(right=1, total=2),
        Score(right=1, total=2),
        Score(right=1, total=1),
    )


def test_the_cases_add_up_to_everything():
    rng = np.random.default_rng(0)
    right, largest = rng.random(1000) < 0.4, rng.integers(1, 6, size=1000)
    whole = add_up(score_cases(right, largest, 5))
    assert whole == Score(right=int(right.sum()), total=1000)


def test_runs_are_added_case_by_case():
    one = (Score(right=1, total=2), Score(right=0, total=0))
    two = (Score(right=3, total=4), Score(right=5, total=5))
    assert add_up_cases([one, two]) == (Score(right=4, total=6), Score(right=5, total=5))


def test_fresh_sequences_fall_into_the_cases_as_often_as_predicted():
    # 20,000 sequences, seed 0; four standard errors of each share.
    drawn = fresh_sequences(TrainSettings(n_pairs=4, n_values=3), 20_000)
    largest = np.array([np.bincount(row).max() for row in drawn.values])
    for case in ceiling_cases(4, 3):
        share = (largest == case.largest).mean()
        tolerance = 4 * standard_error(case.probability, len(largest))
        assert share == pytest.approx(float(case.probability), abs=tolerance)


@given(scores)
@settings(max_examples=50, deadline=None)
def test_the_interval_holds_the_shares_that_the_score_would_not_surprise(score):
    # Wilson's definition: at each end p, the score is z standard errors of p away.
    low, high = interval(score)
    assert 0 <= low <= score.share <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            error = sqrt(end * (1 - end) / score.total)
            assert abs(score.share - end) == pytest.approx(1.959964 * error, rel=1e-6, abs=1e-9)


def test_the_interval_of_no_sequences_is_everything():
    assert interval(Score(right=0, total=0)) == (0.0, 1.0)


def test_the_standard_error_is_the_spread_of_binomial_draws():
    # 20,000 draws: the spread of a spread is 0.5 %; four of those.
    p = float(uniform_ceiling(3, 8))
    shares = np.random.default_rng(1).binomial(5000, p, size=20_000) / 5000
    assert standard_error(p, 5000) == pytest.approx(shares.std(), rel=0.02)


def test_distances_are_counted_in_standard_errors():
    assert distance_in_errors(Score(right=60, total=100), Fraction(1, 2)) == pytest.approx(2.0)
    assert distance_in_errors(Score(right=40, total=100), Fraction(1, 2)) == pytest.approx(-2.0)
    assert distance_in_errors(Score(right=7, total=7), Fraction(1)) == 0
    assert distance_in_errors(Score(right=6, total=7), Fraction(1)) == -inf
    assert isnan(distance_in_errors(Score(right=0, total=0), Fraction(1, 2)))


def test_no_sequences_have_no_share():
    assert isnan(Score(right=0, total=0).share)
    assert isnan(standard_error(0.5, 0))
