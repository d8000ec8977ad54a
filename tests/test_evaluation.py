"""core.evaluation: counted again with loops over single sequences."""

import numpy as np
import pytest

from core.asking import ask
from core.evaluation import evaluate, evaluate_on
from core.recall import sample_sequences, start_parameters
from core.training import TrainSettings, train


def counted(parameters, drawn, values_in_keys):
    """The same figures from one question at a time."""
    right, match, others, question, top = [], [], [], [], []
    for i in range(len(drawn)):
        reply = ask(
            parameters,
            drawn.keys[i].tolist(),
            drawn.values[i].tolist(),
            int(drawn.questions[i]),
            values_in_keys=values_in_keys,
        )
        right.append(reply.predicted == drawn.answers[i])
        pairs = reply.weights[:-1].tolist()
        match.append(pairs.pop(drawn.asked[i]))
        others += pairs
        question.append(reply.weights[-1])
        top.append(all(match[-1] > other for other in pairs))
    return [float(np.mean(part)) for part in (right, match, others, question, top)]


@pytest.mark.parametrize("variant", ["learned", "keys_without_values"])
def test_the_figures_are_those_counted_one_by_one(variant):
    """Halfway through learning, where no figure is 0 or 1."""
    chosen = TrainSettings(variant=variant, n_steps=25, float_type="float64")
    parameters = train(chosen).parameters
    seen = evaluate(parameters, chosen, 300, rng=np.random.default_rng(0))
    figures = [
        seen.accuracy,
        seen.weight_on_match,
        seen.weight_on_other,
        seen.weight_on_question,
        seen.match_on_top,
    ]
    assert figures == pytest.approx(
        counted(parameters, seen.sequences, chosen.values_in_keys), abs=1e-12
    )
    assert 0.1 < seen.accuracy < 1
    assert 0.1 < seen.match_on_top <= 1


def test_the_weights_of_a_sequence_add_up():
    chosen = TrainSettings(n_pairs=5, n_steps=25)
    seen = evaluate(train(chosen).parameters, chosen, 500, rng=np.random.default_rng(0))
    total = seen.weight_on_match + 4 * seen.weight_on_other + seen.weight_on_question
    assert total == pytest.approx(1, abs=1e-6)
    assert seen.weights.shape == (500, 6)
    assert seen.n_sequences == len(seen.sequences) == 500


def test_even_weights_leave_no_pair_on_top():
    chosen = TrainSettings(variant="uniform", n_steps=0)
    seen = evaluate(train(chosen).parameters, chosen, rng=np.random.default_rng(0))
    assert seen.match_on_top == 0
    assert seen.weight_on_match == seen.weight_on_question == 0.25


def test_a_single_pair_has_no_others():
    chosen = TrainSettings(n_pairs=1, n_steps=0)
    seen = evaluate(train(chosen).parameters, chosen, 100, rng=np.random.default_rng(0))
    assert seen.weight_on_other is None
    assert seen.match_on_top == 1
    assert seen.weight_on_match + seen.weight_on_question == pytest.approx(1, abs=1e-6)


def test_the_same_sequences_serve_several_models():
    chosen = TrainSettings(n_steps=0)
    drawn = sample_sequences(200, 3, 8, 8, np.random.default_rng(4))
    one, other = (
        evaluate_on(drawn, start_parameters(chosen.shape, 1.0, np.random.default_rng(seed)), chosen)
        for seed in (0, 1)
    )
    assert one.sequences is other.sequences is drawn
    assert not np.array_equal(one.predicted, other.predicted)


def test_a_seed_fixes_the_sequences():
    chosen = TrainSettings(n_steps=0)
    parameters = train(chosen).parameters
    one, same, other = (
        evaluate(parameters, chosen, 50, rng=np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.weights, same.weights)
    assert not np.array_equal(one.sequences.keys, other.sequences.keys)
