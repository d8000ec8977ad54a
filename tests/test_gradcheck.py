"""core.gradcheck: it passes a right gradient, and rejects one that is slightly wrong."""

import numpy as np
import pytest

from core.gradcheck import (
    central_difference,
    check_gradients,
    circuit_gradient,
    relative_difference,
)
from core.recall import MATRICES, Parameters, recall_loss
from core.training import VARIANTS, TrainSettings, train
from tests.recall_helpers import gradient_by_autograd

ARTICLE = TrainSettings()
PASSES = 2e-5  # relative difference; a gradient wrong by 0.05 % is at 5e-4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_hand_written_gradient_passes(seed):
    """24 parameters, four of each matrix. Where a gradient is small, rounding weighs most.

    With h = 0.003, the median over seeds 0 to 99 of the worst difference is 3e-7.
    """
    check = check_gradients(TrainSettings(seed=seed))
    assert [one.matrix for one in check.checked] == [m for m in MATRICES for _ in range(4)]
    assert len({(one.matrix, one.row, one.column) for one in check.checked}) == 24
    assert all(one.analytic != 0 and one.numeric != 0 for one in check.checked)
    assert check.worst.relative_difference == max(o.relative_difference for o in check.checked)
    assert check.worst.relative_difference < PASSES


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_passes(variant):
    check = check_gradients(TrainSettings(variant=variant))
    assert check.worst.relative_difference < PASSES


def test_it_agrees_with_automatic_differentiation():
    check = check_gradients(ARTICLE, gradient=gradient_by_autograd)
    assert check.worst.relative_difference < PASSES
    by_hand = check_gradients(ARTICLE)
    for one, other in zip(check.checked, by_hand.checked, strict=True):
        assert one.numeric == other.numeric
        assert one.analytic == pytest.approx(other.analytic, rel=1e-9)


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_gradient_wrong_by_a_twentieth_of_a_per_cent_is_rejected(matrix):
    """In one matrix alone, the other five being right."""

    def slightly_wrong(parameters, sequences):
        gradient = circuit_gradient(parameters, sequences)
        getattr(gradient, matrix)[:] *= 1.0005
        return gradient

    check = check_gradients(ARTICLE, gradient=slightly_wrong)
    assert check.worst.matrix == matrix
    assert check.worst.relative_difference == pytest.approx(0.0005, rel=0.1)
    others = [one for one in check.checked if one.matrix != matrix]
    assert max(one.relative_difference for one in others) < PASSES


def test_it_checks_trained_parameters_and_leaves_them_alone():
    chosen = TrainSettings(n_steps=20)
    trained = train(chosen).parameters
    before = trained.flat.copy()
    check = check_gradients(chosen, parameters=trained)
    assert check.worst.relative_difference < PASSES
    np.testing.assert_array_equal(trained.flat, before)
    assert trained.flat.dtype == np.float32
    untrained = check_gradients(chosen)
    assert all(
        one.analytic != other.analytic
        for one, other in zip(check.checked, untrained.checked, strict=True)
    )


def test_equal_settings_give_equal_checks_and_other_seeds_other_entries():
    assert check_gradients(ARTICLE) == check_gradients(TrainSettings())
    assert check_gradients(ARTICLE) != check_gradients(TrainSettings(seed=1))


def test_the_nudge_has_a_best_size():
    """Too large and the terms in h³ show; too small and rounding does."""
    worst = {
        nudge: check_gradients(ARTICLE, nudge=nudge).worst.relative_difference
        for nudge in (0.1, 3e-3, 1e-7)
    }
    assert worst[3e-3] < worst[0.1] / 10
    assert worst[3e-3] < worst[1e-7] / 10


def test_a_model_with_fewer_entries_than_samples_is_checked_whole():
    tiny = TrainSettings(n_pairs=1, n_keys=4, n_values=4, d_model=1, d_k=1)
    entries = [(one.matrix, one.row, one.column) for one in check_gradients(tiny).checked]
    assert sorted(entries) == sorted(
        [(matrix, 0, 0) for matrix in ("W_Q", "W_K", "W_V")]
        + [(matrix, row, 0) for matrix in ("E_key", "E_value") for row in range(4)]
        + [("W_O", 0, column) for column in range(4)]
    )


def test_central_differences_of_a_cubic():
    """For θ³ the central difference is 3θ² + h² exactly."""
    theta = np.array([1.0, 2.0])
    numeric = central_difference(lambda: float((theta**3).sum()), theta, 1, 0.5)
    assert numeric == 12.25
    assert theta.tolist() == [1.0, 2.0]


def test_relative_difference_is_symmetric_and_zero_only_for_equals():
    assert relative_difference(1.0, -1.0) == 2.0
    assert relative_difference(0.0, 3.0) == relative_difference(3.0, 0.0) == 1.0
    assert relative_difference(0.0, 0.0) == 0.0


def test_the_numeric_side_knows_nothing_of_the_circuits():
    """The loss that is nudged is the token-by-token one: a wrong backward cannot hide in it."""

    def nothing(parameters, sequences):
        return Parameters(np.zeros_like(parameters.flat), parameters.shape)

    check = check_gradients(ARTICLE, gradient=nothing)
    assert {one.relative_difference for one in check.checked} == {1.0}
    assert recall_loss.__module__ == "core.recall"
