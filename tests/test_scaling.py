"""core.scaling: scores spread as √d_k without the division, and as 1 with it."""

import numpy as np
import pytest

from core.attention import softmax_rows
from core.scaling import D_KS, ScalingSettings, scaling

SEEDS = (0, 1, 2)


def test_d_k_runs_in_powers_of_two_from_1_to_1024():
    assert D_KS == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize("seed", SEEDS)
def test_standard_deviation_is_as_predicted(seed):
    """100 draws of 16 × 16 scores at each d_k.

    A draw holds 16 queries and 16 keys, so the 25,600 scores are worth some 1,600 to 3,200
    independent ones: about 2 % error, more at d_k = 1, where a score is the product of two
    numbers. 8 % is some four standard errors at the worst d_k.
    """
    result = scaling(ScalingSettings(n_draws=100, seed=seed))
    np.testing.assert_allclose(result.undivided.std, np.sqrt(D_KS), rtol=0.08)
    np.testing.assert_allclose(result.divided.std, 1, rtol=0.08)
    np.testing.assert_array_equal(result.undivided.predicted_std, np.sqrt(D_KS))
    np.testing.assert_array_equal(result.divided.predicted_std, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_undivided_scores_end_in_one_token_and_divided_ones_do_not(seed):
    """20 draws of 16 rows at each d_k: 320 rows, standard error of the mean weight below 0.015."""
    result = scaling(ScalingSettings(seed=seed))
    assert result.undivided.largest[-1] > 0.9
    assert (np.diff(result.undivided.largest) > 0).all()
    assert (result.divided.largest < 0.32).all()
    assert (result.divided.largest >= 1 / 16).all()


def test_division_only_divides():
    result = scaling(ScalingSettings(n_draws=3))
    np.testing.assert_allclose(result.divided.std * np.sqrt(D_KS), result.undivided.std)
    np.testing.assert_allclose(result.divided.draw_std * np.sqrt(D_KS), result.undivided.draw_std)
    assert result.divided.largest[0] == result.undivided.largest[0]  # √1


def test_equals_plain_loops_over_the_same_draws():
    settings = ScalingSettings(n_tokens=5, n_draws=2, seed=9)
    result = scaling(settings)
    rng = np.random.default_rng(9)
    for column, d_k in enumerate(D_KS):
        queries, keys = rng.standard_normal((2, 2, 5, d_k))
        for draw in range(2):
            dots = np.array([[q @ k for k in keys[draw]] for q in queries[draw]])
            assert result.undivided.draw_std[draw, column] == pytest.approx(dots.std())
            largest = softmax_rows(dots / d_k**0.5).max(axis=1).mean()
            assert result.divided.draw_largest[draw, column] == pytest.approx(largest)


def test_sample_sizes_are_carried():
    result = scaling(ScalingSettings(n_tokens=5, n_draws=7))
    assert (result.n_scores, result.n_rows) == (7 * 25, 7 * 5)
    assert result.undivided.draw_std.shape == result.divided.draw_largest.shape == (7, 11)


def test_equal_settings_give_equal_results_and_another_seed_does_not():
    first, again, other = (scaling(ScalingSettings(n_draws=2, seed=seed)) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.undivided.std, again.undivided.std)
    assert not np.array_equal(first.undivided.std, other.undivided.std)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_tokens": 1}, "n_tokens must be from 2 to 64, got 1"),
        ({"n_draws": 101}, "n_draws must be from 1 to 100, got 101"),
        ({"seed": -2}, "seed must be at least 0, got -2"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        ScalingSettings(**changes)


def test_negative_control_correlated_entries_break_the_prediction():
    """Were all d_k entries one number, scores would grow as d_k: the test above must see it."""
    rng = np.random.default_rng(0)
    q, k = np.repeat(rng.standard_normal((2, 5000, 1)), 64, axis=2)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose((q * k).sum(axis=1).std(), 8, rtol=0.08)
