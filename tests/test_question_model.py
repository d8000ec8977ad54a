"""The question's own uses, taken apart: the same numbers as token by token, and right gradients."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st

from core import training
from core.circuits import forward, index_parts
from core.gradcheck import central_difference
from core.question_model import (
    QUESTION_TABLES,
    QuestionParameters,
    QuestionSettings,
    backward,
    circuits,
    n_parameters,
    start,
)
from core.question_training import QuestionCheckpoint, answer_all, train
from core.recall import MATRICES, answer, sample_sequences
from core.training import TrainSettings

few = settings(max_examples=25, deadline=None)
fewer = settings(max_examples=12, deadline=None)
SMALL = {"n_keys": 4, "n_values": 3, "n_pairs": 3, "d_model": 5, "d_k": 3, "float_type": "float64"}
NAMES = (*MATRICES, "E_question")


@st.composite
def tasks(draw):
    """Settings of every kind, a random model for them, and sequences."""
    n_keys = draw(st.integers(1, 7))
    chosen = QuestionSettings(
        n_keys=n_keys,
        n_pairs=draw(st.integers(1, n_keys)),
        n_values=draw(st.integers(2, 7)),
        d_model=draw(st.integers(1, 9)),
        d_k=draw(st.integers(1, 9)),
        init_scale=draw(st.sampled_from([0.1, 0.5, 1.0])),
        float_type="float64",
        question_table=draw(st.sampled_from(QUESTION_TABLES)),
        looks_at_itself=draw(st.booleans()),
        values_hidden=draw(st.booleans()),
        centred_start=draw(st.booleans()),
        sum_to_one=draw(st.booleans()),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return chosen, start(chosen, rng), drawn(chosen, draw(st.integers(1, 15)), rng)


def drawn(chosen, n_sequences, rng):
    return sample_sequences(n_sequences, chosen.n_pairs, chosen.n_keys, chosen.n_values, rng)


def matrices_of(parameters):
    return [np.array(getattr(parameters.six, name)) for name in MATRICES] + [
        np.array(parameters.E_question)
    ]


def in_autograd(matrices, chosen, sequences):
    """Mean loss and all weights, one token at a time, written from the description alone."""
    w_q, w_k, e_key, e_value, w_v, w_o, e_question = matrices
    asks = {"own to ask": e_question, "own for both": e_question}.get(chosen.question_table, e_key)
    seen = {"own to be looked at": e_question, "own for both": e_question}.get(
        chosen.question_table, e_key
    )
    total, all_weights = 0.0, []
    for keys, values, question, right in zip(
        sequences.keys, sequences.values, sequences.questions, sequences.answers, strict=True
    ):
        advertised = [
            e_key[k] + (0 if chosen.values_hidden else 1) * e_value[v]
            for k, v in zip(keys, values, strict=True)
        ]
        handed_over = [e_key[k] + e_value[v] for k, v in zip(keys, values, strict=True)]
        if chosen.looks_at_itself:
            advertised.append(seen[question])
            handed_over.append(seen[question])
        query = anp.dot(asks[question], w_q)
        scores = [
            anp.dot(query, anp.dot(token, w_k)) / anp.sqrt(w_q.shape[1]) for token in advertised
        ]
        if chosen.sum_to_one:
            weights = [anp.exp(score) for score in scores]
            weights = [weight / sum(weights) for weight in weights]
        else:
            weights = [1 / (1 + anp.exp(-score)) for score in scores]
        output = sum(w * anp.dot(t, w_v) for w, t in zip(weights, handed_over, strict=True))
        logits = anp.dot(output, w_o)
        total = total + anp.log(anp.sum(anp.exp(logits))) - logits[right]
        all_weights.append(weights if chosen.looks_at_itself else [*weights, 0.0])
    return total / len(sequences), all_weights


def loss_in_autograd(matrices, chosen, sequences):
    return in_autograd(matrices, chosen, sequences)[0]


def gradient(parameters, chosen, sequences):
    [batch] = index_parts(sequences, chosen.n_keys, chosen.n_values, own_questions=True)
    tables = circuits(parameters, chosen)
    answers = forward(tables, batch, normalised=chosen.sum_to_one)
    found = parameters.copy()
    backward(parameters, chosen, tables, batch, answers, found)
    return found


# Worked example


def test_the_gap_between_match_and_question_is_the_values_entry():
    """Key i asks along axis i, and part j answers with row j of W_K; √d_k = 2."""
    chosen = QuestionSettings(
        n_keys=2, n_pairs=1, n_values=2, d_model=4, d_k=4, float_type="float64"
    )
    parameters = start(chosen, np.random.default_rng(0))
    parameters.six.E[:] = np.eye(4)
    parameters.six.W_Q[:] = np.eye(4)
    parameters.six.W_K[:] = np.arange(16).reshape(4, 4)
    parameters.E_question[:] = [[2, 0, 0, 0], [0, 2, 0, 0]]
    keys_and_values = [[0, 2, 4, 6], [0.5, 2.5, 4.5, 6.5]]
    shared = circuits(parameters, chosen).qk
    np.testing.assert_array_equal(shared, np.hstack([keys_and_values, [[0, 2], [0.5, 2.5]]]))
    own = circuits(parameters, replace(chosen, question_table="own to be looked at")).qk
    np.testing.assert_array_equal(own, np.hstack([keys_and_values, [[0, 4], [1, 5]]]))
    asks = circuits(parameters, replace(chosen, question_table="own to ask")).qk
    np.testing.assert_array_equal(asks, 2 * shared)
    hidden = circuits(parameters, replace(chosen, values_hidden=True)).qk
    np.testing.assert_array_equal(hidden, np.where([[1, 1, 0, 0, 1, 1]], shared, 0))
    cut = circuits(parameters, replace(chosen, looks_at_itself=False)).qk
    np.testing.assert_array_equal(cut[:, :4], keys_and_values)
    assert (cut[:, 4:] == -np.inf).all()


# Invariants


@given(task=tasks())
@few
def test_a_shared_table_scores_the_question_as_its_key_to_the_last_bit(task):
    chosen, parameters, _ = task
    chosen = replace(chosen, looks_at_itself=True)
    n_keys, n_parts = chosen.n_keys, chosen.shape.n_parts
    for table in ("shared", "own to ask"):
        qk = circuits(parameters, replace(chosen, question_table=table)).qk
        np.testing.assert_array_equal(qk[:, n_parts:], qk[:, :n_keys])
    # Negative control: with the question's own row the two differ. One key, centred, is 0.
    for table in ("own to be looked at", "own for both"):
        qk = circuits(parameters, replace(chosen, question_table=table)).qk
        differs = (qk[:, n_parts:] != qk[:, :n_keys]).any()
        assert differs == (n_keys > 1 or not chosen.centred_start)


@given(task=tasks())
@few
def test_weights_sum_to_one_or_need_not(task):
    chosen, parameters, sequences = task
    weights = answer_all(parameters, replace(chosen, sum_to_one=True), sequences).weights
    np.testing.assert_allclose(weights.sum(axis=0), 1, atol=1e-12)
    each = answer_all(parameters, replace(chosen, sum_to_one=False), sequences).weights
    assert (each >= 0).all()
    assert (each <= 1).all()
    if not chosen.looks_at_itself:
        assert not weights[-1].any()
        assert not each[-1].any()


def test_a_centred_start_has_no_direction_that_all_rows_share():
    chosen = QuestionSettings(init_scale=0.3, float_type="float64")
    centred, plain = (
        start(replace(chosen, centred_start=centred), np.random.default_rng(3))
        for centred in (True, False)
    )
    for tables in ((centred.six.E_key, plain.six.E_key), (centred.six.E_value, plain.six.E_value)):
        np.testing.assert_allclose(tables[0].mean(axis=0), 0, atol=1e-16)
        np.testing.assert_allclose(tables[0], tables[1] - tables[1].mean(axis=0), atol=1e-16)
        assert np.abs(tables[1].mean(axis=0)).max() > 0.05
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        np.testing.assert_array_equal(getattr(centred.six, name), getattr(plain.six, name))


@pytest.mark.parametrize("sum_to_one", [True, False])
def test_scores_in_the_thousands_stay_finite(sum_to_one):
    chosen = QuestionSettings(
        n_keys=4, n_values=3, d_model=4, d_k=4, init_scale=1.0, sum_to_one=sum_to_one
    )
    parameters = start(chosen, np.random.default_rng(0))
    parameters.flat *= 30
    sequences = drawn(chosen, 200, np.random.default_rng(1))
    assert np.abs(circuits(parameters, chosen).qk).max() > 1000
    answers = answer_all(parameters, chosen, sequences)
    assert np.isfinite(answers.losses).all()
    assert np.isfinite(gradient(parameters, chosen, sequences).flat).all()
    assert answers.weights.dtype == np.float32


# Oracles


@given(task=tasks())
@few
def test_circuits_equal_token_by_token(task):
    chosen, parameters, sequences = task
    found = answer_all(parameters, chosen, sequences)
    loss, weights = in_autograd(matrices_of(parameters), chosen, sequences)
    np.testing.assert_allclose(found.weights.T, weights, atol=1e-12, rtol=0)
    assert found.losses.mean() == pytest.approx(loss, abs=1e-12)


@given(task=tasks())
@fewer
def test_backward_equals_automatic_differentiation(task):
    """Every parameter; differences are measured against the gradient's largest entry."""
    chosen, parameters, sequences = task
    found = matrices_of(gradient(parameters, chosen, sequences))
    expected = grad(loss_in_autograd)(matrices_of(parameters), chosen, sequences)
    largest = max(1.0, *(np.abs(matrix).max() for matrix in expected))
    for name, by_hand, by_library in zip(NAMES, found, expected, strict=True):
        np.testing.assert_allclose(by_hand, by_library, rtol=0, atol=1e-12 * largest, err_msg=name)


@pytest.mark.parametrize("sum_to_one", [True, False])
@pytest.mark.parametrize("table", QUESTION_TABLES)
def test_backward_equals_central_differences_for_every_parameter(table, sum_to_one):
    chosen = QuestionSettings(**SMALL, init_scale=0.6, question_table=table, sum_to_one=sum_to_one)
    parameters = start(chosen, np.random.default_rng(3))
    sequences = drawn(chosen, 30, np.random.default_rng(4))

    def loss():
        return float(answer_all(parameters, chosen, sequences).losses.mean())

    by_hand = gradient(parameters, chosen, sequences).flat
    nudged = [central_difference(loss, parameters.flat, i, 1e-5) for i in range(by_hand.size)]
    np.testing.assert_allclose(by_hand, nudged, rtol=1e-7, atol=2e-9)
    used = slice(None) if table != "shared" else slice(chosen.shape.n_parameters)
    assert (np.abs(by_hand[used]) > 1e-6).mean() > 0.9  # the comparison is not of zeros
    # Negative control: the gradient of another use of the table is another one.
    other = QUESTION_TABLES[(QUESTION_TABLES.index(table) + 1) % len(QUESTION_TABLES)]
    wrong = gradient(parameters, replace(chosen, question_table=other), sequences).flat
    assert np.abs(wrong - nudged).max() > 1e-3


def test_with_nothing_changed_it_is_the_recall_model():
    chosen = QuestionSettings(**SMALL, init_scale=0.7)
    parameters = start(chosen, np.random.default_rng(1))
    sequences = drawn(chosen, 40, np.random.default_rng(2))
    found = answer_all(parameters, chosen, sequences)
    expected = answer(parameters.six, sequences.keys, sequences.values, sequences.questions)
    np.testing.assert_allclose(found.weights.T, expected.weights, atol=1e-14)
    np.testing.assert_allclose(found.logits.T, expected.logits, atol=1e-13)


@pytest.mark.parametrize("hidden", [False, True])
def test_with_nothing_changed_it_trains_as_the_recall_model_does(hidden):
    """The same start, batches and test sequences: 300 steps of Adam in float64."""
    variant = "keys_without_values" if hidden else "learned"
    expected = training.train(
        TrainSettings(n_steps=300, float_type="float64", variant=variant, seed=4)
    )
    found = train(QuestionSettings(n_steps=300, float_type="float64", values_hidden=hidden, seed=4))
    np.testing.assert_allclose(
        found.parameters.six.flat, expected.parameters.flat, rtol=0, atol=1e-12
    )
    for mine, theirs in zip(found.checkpoints, expected.checkpoints, strict=True):
        assert (mine.step, mine.accuracy) == (theirs.step, theirs.accuracy)
        assert mine.loss == pytest.approx(theirs.loss, rel=1e-9)


# Training


def test_runs_of_one_seed_start_alike_and_an_unused_table_is_left_alone():
    starts, ends = {}, {}
    for table in QUESTION_TABLES:
        chosen = QuestionSettings(n_steps=30, question_table=table, seed=9)
        starts[table] = start(chosen, np.random.default_rng(9).spawn(3)[0])
        ends[table] = train(chosen).parameters
    for table in QUESTION_TABLES:
        np.testing.assert_array_equal(starts[table].flat, starts["shared"].flat)
        moved = (ends[table].E_question != starts[table].E_question).all()
        assert moved == (table != "shared")
    np.testing.assert_array_equal(ends["shared"].E_question, starts["shared"].E_question)


def test_equal_settings_give_equal_runs_and_a_short_run_begins_a_long_one():
    chosen = QuestionSettings(n_steps=40, question_table="own for both")
    one, two = train(chosen), train(chosen)
    np.testing.assert_array_equal(one.parameters.flat, two.parameters.flat)
    assert one.checkpoints == two.checkpoints
    longer = train(replace(chosen, n_steps=50)).checkpoints
    steps = [checkpoint.step for checkpoint in one.checkpoints]
    assert [c for c in longer if c.step in steps] == list(one.checkpoints)


def test_a_checkpoint_is_what_the_model_does_with_the_test_sequences():
    chosen = QuestionSettings(n_steps=60, seed=2)
    result = train(chosen)
    test = drawn(chosen, 2000, np.random.default_rng(2).spawn(3)[2])
    answers = answer_all(result.parameters, chosen, test)
    match = np.take_along_axis(answers.weights, test.asked[np.newaxis], axis=0)
    assert result.checkpoints[-1] == QuestionCheckpoint(
        step=60,
        loss=pytest.approx(answers.losses.mean()),
        accuracy=(answers.predicted == test.answers).mean(),
        weight_on_match=pytest.approx(match.mean(dtype=np.float64)),
        weight_on_question=pytest.approx(answers.weights[-1].mean(dtype=np.float64)),
    )


def test_a_diverging_run_stops_with_a_sentence_at_its_last_good_checkpoint():
    broken = {"optimiser": "sgd", "learning_rate": 0.5, "init_scale": 1.0, "n_steps": 3000}
    chosen = QuestionSettings(**broken, float_type="float64")
    result = train(chosen)
    expected = training.train(TrainSettings(**broken, float_type="float64"))
    assert result.diverged == expected.diverged is not None
    assert [c.step for c in result.checkpoints] == [c.step for c in expected.checkpoints]
    assert all(np.isfinite(checkpoint.loss) for checkpoint in result.checkpoints)
    test = drawn(chosen, 2000, np.random.default_rng(0).spawn(3)[2])
    losses = answer_all(result.parameters, chosen, test).losses
    assert losses.mean() == pytest.approx(result.checkpoints[-1].loss)


# Errors


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"question_table": "own"},
            "question_table must be one of shared, own to ask, own to be looked at, own for both, "
            "got own",
        ),
        ({"variant": "uniform"}, "variant must be learned for this model, got uniform"),
        ({"n_pairs": 9}, "n_pairs must be at most n_keys .8., got 9"),
    ],
)
def test_bad_settings_are_refused_by_name(change, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        QuestionSettings(**change)


def test_a_flat_array_of_another_size_is_refused():
    shape = QuestionSettings(**SMALL).shape
    assert n_parameters(shape) == shape.n_parameters + 4 * 5
    with pytest.raises(ValueError, match="flat must be"):
        QuestionParameters(np.zeros(shape.n_parameters), shape)
