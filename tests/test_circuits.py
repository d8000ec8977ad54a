"""core.circuits: the two tables against the token-by-token model, forward and backward."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.circuits import backward, circuits, forward, index_parts
from core.gradcheck import central_difference, circuit_gradient
from core.recall import (
    MATRICES,
    ModelShape,
    Parameters,
    answer,
    recall_loss,
    sample_sequences,
    start_parameters,
)
from tests.recall_helpers import gradient_by_autograd, tasks

few = settings(max_examples=40, deadline=None)
fewer = settings(max_examples=15, deadline=None)


def one_batch(model, drawn):
    [batch] = index_parts(drawn, model.shape.n_keys, model.shape.n_values)
    return batch


def test_the_tables_of_a_model_made_by_hand():
    shape = ModelShape(n_keys=2, n_values=2, d_model=4, d_k=4)
    model = Parameters(np.zeros(shape.n_parameters), shape)
    model.E[:] = np.eye(4)
    model.W_Q[:] = np.eye(4)
    model.W_K[:] = np.arange(16).reshape(4, 4)
    model.W_V[:] = 3 * np.eye(4)
    model.W_O[:] = np.arange(8).reshape(4, 2)
    tables = circuits(model)
    # Row i asks with axis i, and part j answers with row j of W_K; √d_k = 2.
    np.testing.assert_array_equal(tables.qk, np.arange(16).reshape(4, 4).T[:2] / 2)
    np.testing.assert_array_equal(tables.ov, 3 * np.arange(8).reshape(4, 2))


@given(task=tasks(), values_in_keys=st.booleans())
@few
def test_forward_equals_token_by_token(task, values_in_keys):
    model, drawn = task
    by_tables = forward(circuits(model, values_in_keys=values_in_keys), one_batch(model, drawn))
    by_token = answer(
        model, drawn.keys, drawn.values, drawn.questions, values_in_keys=values_in_keys
    )
    np.testing.assert_allclose(by_tables.weights.T, by_token.weights, atol=1e-12, rtol=0)
    np.testing.assert_allclose(by_tables.logits.T, by_token.logits, atol=1e-12, rtol=1e-12)
    np.testing.assert_allclose(by_tables.probabilities.T, by_token.probabilities, atol=1e-12)
    assert by_tables.losses.mean() == pytest.approx(
        recall_loss(model, drawn, values_in_keys=values_in_keys), abs=1e-12
    )


@given(task=tasks(), values_in_keys=st.booleans())
@fewer
def test_backward_equals_automatic_differentiation_token_by_token(task, values_in_keys):
    """Every parameter; differences are measured against the gradient's largest entry."""
    model, drawn = task
    by_hand = circuit_gradient(model, drawn, values_in_keys=values_in_keys)
    expected = gradient_by_autograd(model, drawn, values_in_keys)
    for name in MATRICES:
        np.testing.assert_allclose(
            getattr(by_hand, name),
            getattr(expected, name),
            rtol=0,
            atol=1e-12 * max(1.0, np.abs(expected.flat).max()),
            err_msg=name,
        )


@pytest.mark.parametrize("values_in_keys", [True, False])
def test_backward_equals_central_differences_for_every_parameter(values_in_keys):
    shape = ModelShape(n_keys=4, n_values=3, d_model=5, d_k=3)
    model = start_parameters(shape, 0.6, np.random.default_rng(3))
    drawn = sample_sequences(30, 3, 4, 3, np.random.default_rng(4))
    by_hand = circuit_gradient(model, drawn, values_in_keys=values_in_keys)

    def loss():
        return recall_loss(model, drawn, values_in_keys=values_in_keys)

    nudged = [central_difference(loss, model.flat, i, 1e-5) for i in range(shape.n_parameters)]
    # Rounding leaves about 2e-16 / 1e-5, and the terms in h³ about 1e-10.
    np.testing.assert_allclose(by_hand.flat, nudged, rtol=1e-7, atol=2e-9)
    assert (np.abs(by_hand.flat) > 1e-6).mean() > 0.9  # the comparison is not of zeros


@given(task=tasks(), seed=st.integers(0, 2**32 - 1))
@fewer
def test_permuting_pairs_permutes_weights_and_leaves_answer_and_gradient(task, seed):
    model, drawn = task
    order = np.random.default_rng(seed).permutation(drawn.keys.shape[1])
    permuted = type(drawn)(
        keys=drawn.keys[:, order],
        values=drawn.values[:, order],
        questions=drawn.questions,
        asked=np.argsort(order)[drawn.asked],
        answers=drawn.answers,
    )
    tables = circuits(model)
    before, after = (forward(tables, one_batch(model, d)) for d in (drawn, permuted))
    np.testing.assert_allclose(after.weights[:-1], before.weights[:-1][order], atol=1e-13)
    np.testing.assert_allclose(after.probabilities, before.probabilities, atol=1e-13)
    np.testing.assert_allclose(
        circuit_gradient(model, permuted).flat, circuit_gradient(model, drawn).flat, atol=1e-12
    )


def test_batches_are_cut_in_order():
    drawn = sample_sequences(12, 2, 4, 3, np.random.default_rng(0))
    model = start_parameters(
        ModelShape(n_keys=4, n_values=3, d_model=5, d_k=5), 1.0, np.random.default_rng(1)
    )
    tables = circuits(model)
    whole = forward(tables, one_batch(model, drawn)).losses
    batches = index_parts(drawn, 4, 3, batch_size=4)
    cut = [forward(tables, batch).losses for batch in batches]
    assert len(cut) == 3
    np.testing.assert_allclose(np.concatenate(cut), whole, atol=1e-14)
    answers = np.concatenate([batch.answers for batch in batches])
    np.testing.assert_array_equal(answers, drawn.answers)


def test_hidden_values_have_no_entry_and_get_no_gradient_through_the_keys():
    model = start_parameters(
        ModelShape(n_keys=4, n_values=3, d_model=5, d_k=5), 1.0, np.random.default_rng(1)
    )
    model.W_V[:] = 0  # the other way from a value embedding to the loss
    drawn = sample_sequences(20, 2, 4, 3, np.random.default_rng(0))
    assert not circuits(model, values_in_keys=False).qk[:, 4:].any()
    assert not circuit_gradient(model, drawn, values_in_keys=False).E_value.any()


def test_float32_stays_float32():
    shape = ModelShape(n_keys=4, n_values=3, d_model=5, d_k=5)
    model = start_parameters(shape, 1.0, np.random.default_rng(1), np.float32)
    drawn = sample_sequences(20, 2, 4, 3, np.random.default_rng(0))
    tables = circuits(model)
    answers = forward(tables, one_batch(model, drawn))
    for array in (tables.qk, tables.ov, answers.weights, answers.logits, answers.losses):
        assert array.dtype == np.float32


def test_scores_in_the_thousands_stay_finite():
    shape = ModelShape(n_keys=4, n_values=3, d_model=4, d_k=4)
    model = start_parameters(shape, 30.0, np.random.default_rng(0), np.float32)
    drawn = sample_sequences(200, 3, 4, 3, np.random.default_rng(1))
    batch = one_batch(model, drawn)
    tables = circuits(model)
    assert np.abs(tables.qk).max() > 1000
    answers = forward(tables, batch)
    assert np.isfinite(answers.losses).all()
    gradient = model.copy()
    backward(model, tables, batch, answers, gradient)
    assert np.isfinite(gradient.flat).all()
