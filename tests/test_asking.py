"""core.asking: one sequence of the reader's own."""

import numpy as np
import pytest

from core.asking import ask
from core.training import TrainSettings, train


@pytest.fixture(scope="module")
def trained():
    return train(TrainSettings(n_steps=200)).parameters


def test_the_articles_example(trained):
    """Keys 0, 3 and 4 with values 6, 0 and 1: 1 goes with key 4."""
    reply = ask(trained, [0, 3, 4], [6, 0, 1], 4)
    assert reply.predicted == reply.right == 1
    assert reply.weights.shape == reply.scores.shape == (4,)
    assert reply.weights[:3].argmax() == 2
    assert reply.weights.sum() == pytest.approx(1, abs=1e-6)
    assert reply.probabilities.shape == (8,)
    assert reply.probabilities.sum() == pytest.approx(1, abs=1e-6)
    assert reply.probabilities[1] > 0.9


def test_every_question_about_a_trained_key_is_answered(trained):
    """All 8 keys in one sequence, though it was trained on three."""
    keys, values = list(range(8)), [3, 1, 4, 1, 5, 2, 6, 5]
    assert [ask(trained, keys, values, key).predicted for key in keys] == values


def test_a_key_that_no_pair_has_gets_an_answer_and_none_is_right(trained):
    reply = ask(trained, [0, 3], [6, 0], 5)
    assert reply.right is None
    assert 0 <= reply.predicted < 8
    assert reply.weights[-1] > 0.9  # its own position is the only one with its key


@pytest.mark.parametrize(
    ("keys", "values", "question", "sentence"),
    [
        ([], [], 0, "keys and values must be equally many, at least one each, got 0 and 0"),
        ([1, 2], [0], 1, "keys and values must be equally many, at least one each, got 2 and 1"),
        ([1, 8], [0, 0], 1, "keys must be from 0 to 7, got 8"),
        ([1, 2], [0, -1], 1, "values must be from 0 to 7, got -1"),
        ([1, 2], [0, 0], 9, "question must be from 0 to 7, got 9"),
        ([1, 2, 1], [0, 0, 0], 1, "keys must differ from each other, got 1 more than once"),
    ],
)
def test_what_does_not_fit_is_named(trained, keys, values, question, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        ask(trained, keys, values, question)


def test_hidden_values_change_no_weight(trained):
    one, other = (ask(trained, [0, 1], v, 0, values_in_keys=False) for v in ([2, 3], [4, 5]))
    np.testing.assert_array_equal(one.weights, other.weights)
