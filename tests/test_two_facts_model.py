"""core.two_facts_model and its circuits: both forms agree, and the gradient with autograd's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.two_facts import TwoFacts, sample_two_facts, two_facts
from core.two_facts_circuits import forward_heads, head_tables, index_facts
from core.two_facts_gradcheck import check_heads, heads_gradient
from core.two_facts_model import (
    HEADS_MATRICES,
    HeadsParameters,
    HeadsShape,
    answer_two,
    power_loss,
    start_heads,
    two_facts_loss,
)
from core.two_facts_settings import TwoFactsSettings
from tests.two_facts_helpers import gradient_by_autograd, heads_tasks, loss_in_autograd

FEW = settings(max_examples=25, deadline=None)
PASSES = 2e-5  # relative difference; a gradient wrong by 0.05 % is at 5e-4


def by_hand():
    """Two heads over 2 keys and 3 values, each set to look at one named pair alone."""
    shape = HeadsShape(n_heads=2, n_keys=2, n_values=3, d_model=7, d_k=3)
    p = HeadsParameters(np.zeros(shape.n_parameters), shape)
    p.E_first[:, 0:2] = p.E_second[:, 2:4] = np.eye(2)
    p.E_key[:, 0:2] = np.eye(2)
    p.E_value[:, 4:7] = np.eye(3)
    p.W_Q[0, 0:2, 0:2] = p.W_Q[1, 2:4, 0:2] = 50 * np.eye(2)
    p.W_K[:, 0:2, 0:2] = np.eye(2)
    p.W_V[:, 4:7] = np.eye(3)
    p.W_O[0, :, 0:3] = p.W_O[1, :, 3:6] = np.eye(3)
    return p


def test_two_heads_set_by_hand_answer_both():
    asked = two_facts(np.array([[0, 1]]), np.array([[2, 0]]), np.array([[1, 0]]), "as asked")
    answers = answer_two(by_hand(), asked)
    assert asked.answers.tolist() == answers.predicted.tolist() == [[0, 2]]
    np.testing.assert_allclose(answers.weights[:, 0], [[0, 1], [1, 0]], atol=1e-12)
    np.testing.assert_allclose(answers.logits[0], [[1, 0, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(answers.by_head[0, 0], [[1, 0, 0], [0, 0, 0]], atol=1e-12)


@FEW
@given(heads_tasks(), st.booleans())
def test_the_circuits_give_the_same_numbers_as_the_tokens(task, values_in_keys):
    parameters, sequences = task
    tables = head_tables(parameters, values_in_keys=values_in_keys)
    [batch] = index_facts(sequences, parameters.shape, values_in_keys=values_in_keys)
    short, long = (
        forward_heads(tables, batch),
        answer_two(parameters, sequences, values_in_keys=values_in_keys),
    )
    np.testing.assert_allclose(short.weights.transpose(0, 2, 1), long.weights, atol=1e-12)
    np.testing.assert_allclose(short.logits.transpose(2, 0, 1), long.logits, atol=1e-10)
    np.testing.assert_allclose(short.weights.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(short.probabilities.sum(axis=1), 1, atol=1e-12)
    assert (long.predicted == short.predicted.T).all()


@FEW
@given(heads_tasks(), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_the_loss_is_that_of_an_independent_model(task, q, values_in_keys):
    parameters, sequences = task
    matrices = [getattr(parameters, name) for name in HEADS_MATRICES]
    mine = two_facts_loss(parameters, sequences, q, values_in_keys=values_in_keys)
    theirs = loss_in_autograd(matrices, sequences, q, values_in_keys)
    assert mine == pytest.approx(float(theirs), rel=1e-9, abs=1e-12)


@settings(max_examples=12, deadline=None)
@given(heads_tasks(), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_the_gradient_agrees_with_automatic_differentiation(task, q, values_in_keys):
    parameters, sequences = task
    mine = heads_gradient(parameters, sequences, q, values_in_keys=values_in_keys)
    theirs = gradient_by_autograd(parameters, sequences, q, values_in_keys)
    np.testing.assert_allclose(mine.flat, theirs.flat, rtol=1e-7, atol=1e-12)


@FEW
@given(heads_tasks(), st.integers(0, 2**32 - 1))
def test_the_order_of_the_pairs_does_not_matter(task, seed):
    """Which is why listing each set of pairs once is listing all sequences."""
    parameters, sequences = task
    order = np.random.default_rng(seed).permutation(sequences.keys.shape[1])
    shuffled = TwoFacts(
        keys=sequences.keys[:, order],
        values=sequences.values[:, order],
        asked=np.argsort(order)[sequences.asked],
        answers=sequences.answers,
    )
    one, other = answer_two(parameters, sequences), answer_two(parameters, shuffled)
    np.testing.assert_allclose(one.logits, other.logits, atol=1e-10)
    np.testing.assert_allclose(one.weights[:, :, order], other.weights, atol=1e-12)


@FEW
@given(heads_tasks())
def test_the_scores_see_the_values_only_if_they_may(task):
    parameters, sequences = task
    others = TwoFacts(
        keys=sequences.keys,
        values=(sequences.values + 1) % parameters.shape.n_values,
        asked=sequences.asked,
        answers=sequences.answers,
    )
    blind = [answer_two(parameters, some).scores for some in (sequences, others)]
    seeing = [
        answer_two(parameters, some, values_in_keys=True).scores for some in (sequences, others)
    ]
    np.testing.assert_array_equal(*blind)
    assert (seeing[0] != seeing[1]).any()
    n_keys = parameters.shape.n_keys
    assert (head_tables(parameters).qk[:, :, n_keys:] == 0).all()
    assert (head_tables(parameters, values_in_keys=True).qk[:, :, n_keys:] != 0).any()


def test_batches_are_cut_from_the_same_sequences():
    shape = TwoFactsSettings(n_heads=2).shape
    rng = np.random.default_rng(0)
    tables = head_tables(start_heads(shape, 0.5, rng))
    sequences = sample_two_facts(12, 3, 8, 8, "as asked", rng)
    [whole] = index_facts(sequences, shape)
    parts = [forward_heads(tables, batch).logits for batch in index_facts(sequences, shape, 4)]
    np.testing.assert_allclose(
        np.concatenate(parts, axis=2), forward_heads(tables, whole).logits, atol=1e-12
    )


def test_large_scores_and_logits_stay_finite():
    shape = TwoFactsSettings(n_heads=2).shape
    rng = np.random.default_rng(0)
    parameters = start_heads(shape, 30.0, rng)
    sequences = sample_two_facts(50, 3, 8, 8, "as asked", rng)
    [batch] = index_facts(sequences, shape)
    answers = forward_heads(head_tables(parameters), batch)
    assert np.abs(answers.logits).max() > 1000
    assert np.isfinite(answers.log_p).all()
    for q in (0.0, 1.0):
        assert np.isfinite(heads_gradient(parameters, sequences, q).flat).all()
        assert np.isfinite(two_facts_loss(parameters, sequences, q))


def test_the_loss_runs_from_cross_entropy_to_the_chance_of_an_error():
    log_p = np.log([0.5, 0.01, 1.0])
    np.testing.assert_allclose(power_loss(log_p, 0.0), [np.log(2), np.log(100), 0])
    np.testing.assert_allclose(power_loss(log_p, 1e-9), power_loss(log_p, 0.0), rtol=1e-6)
    np.testing.assert_allclose(power_loss(log_p, 1.0), [0.5, 0.99, 0])
    np.testing.assert_allclose(power_loss(log_p, 0.5), 2 * (1 - np.sqrt([0.5, 0.01, 1.0])))


def test_parameters_are_views_that_cover_the_flat_array():
    shape = HeadsShape(n_heads=3, n_keys=4, n_values=5, d_model=6, d_k=2)
    p = HeadsParameters(np.arange(shape.n_parameters, dtype=float), shape)
    joined = np.concatenate([getattr(p, name).ravel() for name in HEADS_MATRICES])
    np.testing.assert_array_equal(joined, p.flat)
    np.testing.assert_array_equal(p.E, np.concatenate([p.E_key, p.E_value]))
    np.testing.assert_array_equal(p.E_question, np.concatenate([p.E_first, p.E_second]))
    assert not np.shares_memory(p.copy().flat, p.flat)
    with pytest.raises(ValueError, match=r"flat must be \(\d+,\), got \(3,\)"):
        HeadsParameters(np.zeros(3), shape)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4])
@pytest.mark.parametrize("goal", ["fewest errors", "cross-entropy"])
def test_the_hand_written_gradient_passes(n_heads, goal):
    check = check_heads(TwoFactsSettings(n_heads=n_heads, goal=goal))
    assert [one.matrix for one in check.checked] == [m for m in HEADS_MATRICES for _ in range(3)]
    assert all(one.analytic != 0 and one.numeric != 0 for one in check.checked)
    assert check.worst.relative_difference < PASSES


@pytest.mark.parametrize("matrix", HEADS_MATRICES)
def test_a_gradient_wrong_by_a_twentieth_of_a_per_cent_is_rejected(matrix):
    """In one matrix alone, the other seven being right."""

    def slightly_wrong(parameters, sequences):
        gradient = heads_gradient(parameters, sequences, 0.5)
        getattr(gradient, matrix)[:] *= 1.0005
        return gradient

    check = check_heads(TwoFactsSettings(n_heads=2), gradient=slightly_wrong)
    assert check.worst.matrix == matrix
    assert check.worst.relative_difference == pytest.approx(0.0005, rel=0.1)
    others = [one for one in check.checked if one.matrix != matrix]
    assert max(one.relative_difference for one in others) < PASSES


def test_a_model_with_fewer_entries_than_samples_is_checked_whole():
    tiny = TwoFactsSettings(n_pairs=2, n_keys=2, n_values=2, d_model=1, d_k=1)
    entries = [(one.matrix, one.row, one.column) for one in check_heads(tiny).checked]
    assert sorted(entries) == sorted(
        [(matrix, 0, 0) for matrix in ("W_Q", "W_K", "W_V")]
        + [(f"E_{name}", row, 0) for name in ("first", "second", "key", "value") for row in (0, 1)]
        + [("W_O", 0, column) for column in sorted({o[2] for o in entries if o[0] == "W_O"})]
    )
