"""core.recall_at_scale and core.circle_head: larger sizes, the same training, and two bounds."""

from dataclasses import fields as fields_of
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ablation_scores import fresh_sequences
from core.circle_head import circle_head, score_scale
from core.circuits import circuits
from core.recall import ModelShape, answer, sample_sequences, start_parameters
from core.recall_at_scale import (
    N_FRESH,
    ScaleSettings,
    cell_runs,
    one_number_ceiling,
    run_steps,
    scale_checkpoints,
    scale_pieces,
    score_at_scale,
)
from core.series import finished
from core.train_settings import LIMITS
from core.training import TrainSettings, train, train_steps

few = settings(max_examples=20, deadline=None)
SHORT = ScaleSettings(n_pairs=4, n_keys=8, d_k=4, n_steps=100)


def result_of(chosen):
    pieces = scale_pieces(chosen)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


# Settings and runs


def test_a_run_at_scale_is_the_same_training_with_fewer_checkpoints():
    """Against train() with the article's settings class: bit for bit, at every shared step."""
    fields = {field.name: getattr(SHORT, field.name) for field in fields_of(TrainSettings)}
    plain = train(TrainSettings(**fields))
    scaled = result_of(SHORT)
    assert np.array_equal(plain.parameters.flat, scaled.parameters.flat)
    there = {point.step: point.accuracy for point in plain.checkpoints}
    shared = [point for point in scaled.checkpoints if point.step in there]
    assert [there[point.step] for point in shared] == [point.accuracy for point in shared]
    assert len(shared) >= 5
    assert [point.step for point in scaled.checkpoints] == list(scale_checkpoints(100))


def test_the_article_s_limits_stay_and_the_larger_ones_hold():
    ScaleSettings(n_pairs=64, n_keys=256)
    with pytest.raises(ValueError, match="n_pairs must be a whole number from 1 to 64, got 65"):
        ScaleSettings(n_pairs=65, n_keys=256)
    with pytest.raises(ValueError, match="n_keys must be a whole number from 1 to 256, got 257"):
        ScaleSettings(n_keys=257)
    with pytest.raises(ValueError, match="n_pairs must be a whole number from 1 to 16, got 17"):
        TrainSettings(n_pairs=17, n_keys=32)
    assert {**ScaleSettings.limits, "n_pairs": (1, 16), "n_keys": (1, 32)} == LIMITS


def test_the_runs_of_a_cell_differ_in_their_seed_alone():
    runs = cell_runs(replace(SHORT, seed=7), 16, 3, 4, 2)
    assert [run.seed for run in runs] == [7, 8]
    assert {(run.n_pairs, run.n_keys, run.d_k, run.n_steps) for run in runs} == {(16, 64, 3, 100)}


@few
@given(st.integers(0, 10_000))
def test_checkpoints_rise_from_0_to_the_last_step(n_steps):
    steps = scale_checkpoints(n_steps)
    assert (steps[0], steps[-1]) == (0, n_steps)
    assert all(a < b for a, b in pairwise(steps))
    assert len(steps) <= 21


def test_the_scores_are_those_of_a_slow_loop():
    result = result_of(replace(SHORT, n_steps=80))
    run = score_at_scale(result)
    sequences = fresh_sequences(SHORT, N_FRESH)
    replies = answer(result.parameters, sequences.keys, sequences.values, sequences.questions)
    right = on_top = 0
    for i in range(N_FRESH):
        right += int(replies.predicted[i] == sequences.answers[i])
        pairs = replies.weights[i, :-1]
        on_top += int(pairs.argmax() == sequences.asked[i])
    assert run.score.right == right
    assert run.match_on_top == pytest.approx(on_top / N_FRESH)
    assert 0.3 < run.score.share < 1  # a loop over a perfect head would not see a mistake


def test_equal_settings_give_equal_runs_and_another_seed_another():
    one, two = finished(run_steps((SHORT, replace(SHORT, seed=1))))
    assert finished(run_steps((SHORT,))) == (one,)
    assert two.curve != one.curve


def test_settings_of_the_small_task_are_refused():
    steps = train_steps(TrainSettings(n_steps=0))
    next(steps)
    with pytest.raises(StopIteration) as end:
        next(steps)
    with pytest.raises(TypeError, match="settings must be ScaleSettings, got TrainSettings"):
        score_at_scale(end.value.value)


# One number


def random_head(d_k, n_values, seed):
    shape = ModelShape(n_keys=8, n_values=n_values, d_model=5, d_k=d_k)
    return start_parameters(shape, 3.0, np.random.default_rng(seed), "float64")


@few
@given(st.integers(2, 12), st.integers(0, 999))
def test_one_number_answers_two_values_at_most(n_values, seed):
    sequences = sample_sequences(300, 4, 8, n_values, np.random.default_rng(seed))
    replies = answer(
        random_head(1, n_values, seed), sequences.keys, sequences.values, sequences.questions
    )
    assert len(set(replies.predicted.tolist())) <= 2


def test_two_numbers_answer_more_than_two_values():
    sequences = sample_sequences(300, 4, 8, 8, np.random.default_rng(0))
    replies = answer(random_head(2, 8, 0), sequences.keys, sequences.values, sequences.questions)
    assert len(set(replies.predicted.tolist())) > 2


@pytest.mark.parametrize(("n_pairs", "n_values"), [(1, 2), (2, 3), (3, 4)])
def test_the_ceiling_of_one_number_by_enumeration(n_pairs, n_values):
    """Whoever answers with two values only, and always rightly when it can, is right that often."""
    cases = list(product(product(range(n_values), repeat=n_pairs), range(n_pairs)))
    right = max(
        sum(values[asked] in allowed for values, asked in cases)
        for allowed in product(range(n_values), repeat=2)
    )
    assert Fraction(right, len(cases)) == one_number_ceiling(n_values)


# Two numbers, written down


@few
@given(st.integers(2, 256), st.integers(2, 32), st.integers(0, 99))
def test_two_numbers_are_enough_when_written_down(n_keys, n_values, seed):
    rng = np.random.default_rng(seed)
    sequences = sample_sequences(200, min(n_keys, 64), n_keys, n_values, rng)
    head = circle_head(n_keys, n_values)
    replies = answer(head, sequences.keys, sequences.values, sequences.questions)
    assert (replies.predicted == sequences.answers).all()
    on_match = replies.weights[np.arange(200), sequences.asked]
    assert on_match == pytest.approx(0.5, abs=1e-6)  # the other half stays on the question


@pytest.mark.parametrize("n_keys", [3, 8, 100, 256])
def test_every_key_fits_itself_best_by_the_gap(n_keys):
    scores = circuits(circle_head(n_keys, 8, gap=5.0)).qk[:, :n_keys]
    own = np.diagonal(scores)
    others = np.where(np.eye(n_keys, dtype=bool), -np.inf, scores).max(axis=1)
    assert own - others == pytest.approx(5.0)
    assert own == pytest.approx(score_scale(n_keys, 5.0))


def test_without_a_gap_the_written_down_head_fails():
    sequences = sample_sequences(500, 64, 128, 8, np.random.default_rng(0))
    replies = answer(
        circle_head(128, 8, gap=0.01), sequences.keys, sequences.values, sequences.questions
    )
    assert (replies.predicted == sequences.answers).mean() < 0.5
