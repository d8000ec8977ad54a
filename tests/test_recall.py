"""core.recall: the task's sequences, and the model token by token."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.attention import attention
from core.recall import (
    MATRICES,
    ModelShape,
    Parameters,
    answer,
    recall_loss,
    sample_sequences,
    start_parameters,
)
from tests.recall_helpers import loss_in_autograd, tasks

few = settings(max_examples=40, deadline=None)


def test_a_model_made_by_hand_looks_the_value_up():
    """Keys and values on axes of their own: the question finds its pair, and the value passes."""
    shape = ModelShape(n_keys=3, n_values=2, d_model=5, d_k=5)
    model = Parameters(np.zeros(shape.n_parameters), shape)
    model.E[:] = np.eye(5)
    model.W_Q[:] = model.W_K[:] = 10 * np.diag([1, 1, 1, 0, 0])  # match keys, ignore values
    model.W_V[:] = np.eye(5)
    model.W_O[3:] = 10 * np.eye(2)  # a value's axis is its logit

    answers = answer(model, np.array([[0, 2, 1]]), np.array([[0, 1, 0]]), np.array([2]))

    assert answers.weights[0] == pytest.approx([0, 0.5, 0, 0.5], abs=1e-12)
    assert answers.logits[0] == pytest.approx([0, 5], abs=1e-12)
    assert answers.probabilities[0, 1] == pytest.approx(1 / (1 + np.exp(-5)))
    assert answers.predicted.tolist() == [1]


@given(
    n_keys=st.integers(1, 12),
    n_values=st.integers(2, 12),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
@few
def test_sequences_obey_the_task(n_keys, n_values, seed, data):
    n_pairs = data.draw(st.integers(1, n_keys))
    drawn = sample_sequences(50, n_pairs, n_keys, n_values, np.random.default_rng(seed))

    assert drawn.keys.shape == drawn.values.shape == (50, n_pairs)
    for keys, values, question, asked, right in zip(
        drawn.keys, drawn.values, drawn.questions, drawn.asked, drawn.answers, strict=True
    ):
        assert len(set(keys)) == n_pairs
        assert set(keys) <= set(range(n_keys))
        assert set(values) <= set(range(n_values))
        assert keys[asked] == question
        assert values[asked] == right


def test_every_sequence_is_equally_likely():
    """All 24 ordered choices of 3 keys out of 4, times 8 of values, times 3 questions.

    100 draws a cell; chi-square with 575 degrees of freedom has standard deviation √1150 ≈ 34, and
    six of those are allowed to either side.
    """
    n = 57_600
    drawn = sample_sequences(n, 3, 4, 2, np.random.default_rng(0))
    code = drawn.asked
    for column in (*drawn.keys.T, *drawn.values.T):
        code = code * 4 + column
    _, counts = np.unique(code, return_counts=True)
    cells = 24 * 8 * 3
    assert len(counts) == cells
    chi_square = ((counts - n / cells) ** 2 / (n / cells)).sum()
    assert abs(chi_square - (cells - 1)) < 6 * np.sqrt(2 * (cells - 1))


@given(task=tasks(), values_in_keys=st.booleans())
@few
def test_weights_and_probabilities_sum_to_one(task, values_in_keys):
    model, drawn = task
    answers = answer(
        model, drawn.keys, drawn.values, drawn.questions, values_in_keys=values_in_keys
    )
    assert answers.weights.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert answers.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-12)


@given(task=tasks(), seed=st.integers(0, 2**32 - 1))
@few
def test_permuting_pairs_permutes_weights_and_leaves_the_answer(task, seed):
    model, drawn = task
    order = np.random.default_rng(seed).permutation(drawn.keys.shape[1])
    before = answer(model, drawn.keys, drawn.values, drawn.questions)
    after = answer(model, drawn.keys[:, order], drawn.values[:, order], drawn.questions)
    np.testing.assert_allclose(after.weights[:, :-1], before.weights[:, order], atol=1e-13)
    np.testing.assert_allclose(after.weights[:, -1], before.weights[:, -1], atol=1e-13)
    np.testing.assert_allclose(after.probabilities, before.probabilities, atol=1e-12)


@given(task=tasks())
@few
def test_it_is_the_head_of_the_first_page(task):
    """The last row of core.attention over the same embeddings, times W_O."""
    model, drawn = task
    answers = answer(model, drawn.keys, drawn.values, drawn.questions)
    for i in range(len(drawn)):
        pairs = model.E_key[drawn.keys[i]] + model.E_value[drawn.values[i]]
        x = np.vstack([pairs, model.E_key[drawn.questions[i]]])
        output, pattern = attention(x, model.W_Q, model.W_K, model.W_V)
        np.testing.assert_allclose(answers.weights[i], pattern[-1], atol=1e-13)
        np.testing.assert_allclose(answers.logits[i], output[-1] @ model.W_O, atol=1e-12)


@given(task=tasks(), values_in_keys=st.booleans())
@few
def test_the_loss_is_the_one_written_with_loops(task, values_in_keys):
    model, drawn = task
    expected = loss_in_autograd([getattr(model, name) for name in MATRICES], drawn, values_in_keys)
    assert recall_loss(model, drawn, values_in_keys=values_in_keys) == pytest.approx(
        expected, rel=1e-12
    )


@given(task=tasks())
@few
def test_hidden_values_do_not_change_the_weights(task):
    model, drawn = task
    before = answer(model, drawn.keys, drawn.values, drawn.questions, values_in_keys=False)
    others = (drawn.values + 1) % model.shape.n_values
    after = answer(model, drawn.keys, others, drawn.questions, values_in_keys=False)
    np.testing.assert_array_equal(after.weights, before.weights)
    # and where they are not hidden, they do
    seen = answer(model, drawn.keys, drawn.values, drawn.questions).weights
    changed = answer(model, drawn.keys, others, drawn.questions).weights
    assert not np.array_equal(seen, changed)


def test_large_scores_stay_finite():
    shape = ModelShape(n_keys=4, n_values=3, d_model=4, d_k=4)
    model = start_parameters(shape, 30.0, np.random.default_rng(0))
    drawn = sample_sequences(200, 3, 4, 3, np.random.default_rng(1))
    answers = answer(model, drawn.keys, drawn.values, drawn.questions)
    assert np.abs(answers.scores).max() > 1000
    assert np.isfinite(recall_loss(model, drawn))


def test_the_six_matrices_are_views_of_one_array():
    shape = ModelShape(n_keys=5, n_values=3, d_model=4, d_k=2)
    model = Parameters(np.arange(float(shape.n_parameters)), shape)
    assert shape.n_parameters == 3 * 8 + 5 * 4 + 3 * 4 + 2 * 3
    together = np.concatenate([getattr(model, name).ravel() for name in MATRICES])
    np.testing.assert_array_equal(together, model.flat)
    np.testing.assert_array_equal(model.E, np.vstack([model.E_key, model.E_value]))
    model.E_value[0, 0] = -1
    assert model.flat[model.offsets["E_value"]] == -1
    copied = model.copy(np.float32)
    assert copied.flat.dtype == np.float32
    copied.flat[:] = 0
    assert model.flat.any()


def test_a_flat_array_of_the_wrong_length_is_refused():
    shape = ModelShape(n_keys=1, n_values=2, d_model=1, d_k=1)
    with pytest.raises(ValueError, match=r"flat must be \(8,\), got \(7,\)"):
        Parameters(np.zeros(7), shape)
