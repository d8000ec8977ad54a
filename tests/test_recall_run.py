"""The recall experiment as one sequence of parts."""

from dataclasses import replace

import numpy as np
import pytest

from core.evaluation import evaluate_on
from core.recall import sample_sequences
from core.recall_run import N_FRESH, Asked, Trained, part_bytes, recall_parts, run_so_far
from core.training import TrainResult, TrainSettings, train
from core.training_run import checkpoint_steps

SHORT = TrainSettings(n_steps=200)


@pytest.fixture(scope="module")
def parts() -> list:
    return [part for part in recall_parts(SHORT) if part is not None]


def test_both_runs_are_those_of_train(parts):
    run = run_so_far(parts)
    for variant, checkpoints, result in (
        ("learned", run.learned, run.learned_result),
        ("uniform", run.uniform, run.uniform_result),
    ):
        alone = train(replace(SHORT, variant=variant))
        assert [point.step for point in checkpoints] == [*checkpoint_steps(200)]
        assert [point.loss for point in checkpoints] == [point.loss for point in alone.checkpoints]
        np.testing.assert_array_equal(result.parameters.flat, alone.parameters.flat)
    assert run.step == 200
    assert run.diverged == ()


def test_checkpoints_alternate_and_the_answers_come_last(parts):
    trained = [part for part in parts if isinstance(part, Trained)]
    assert [part.variant for part in trained[:4]] == ["learned", "uniform", "learned", "uniform"]
    kinds = [type(part) for part in parts]
    assert kinds[-3:] == [TrainResult, TrainResult, Asked]


def test_both_heads_answer_the_same_sequences_that_no_run_has_seen(parts):
    run = run_so_far(parts)
    asked = run.asked
    assert asked.learned.n_sequences == asked.uniform.n_sequences == N_FRESH
    again = evaluate_on(
        asked.learned.sequences, run.uniform_result.parameters, run.uniform_result.settings
    )
    assert asked.uniform.accuracy == again.accuracy
    for rng in np.random.default_rng(SHORT.seed).spawn(3):  # start, batches, test sequences
        used = sample_sequences(N_FRESH, SHORT.n_pairs, SHORT.n_keys, SHORT.n_values, rng)
        assert not np.array_equal(used.values, asked.learned.sequences.values)


def test_a_run_that_is_under_way_has_what_was_yielded(parts):
    run = run_so_far(parts[:5])
    assert [point.step for point in run.learned] == [0, 1, 2]
    assert [point.step for point in run.uniform] == [0, 1]
    assert run.step == 1
    assert run.learned_result is run.uniform_result is run.asked is None
    assert run_so_far(()).step == 0


def test_others_get_a_turn_between_the_parts():
    """No more than 1,024 sequences are trained on between two yields."""
    pieces = list(recall_parts(replace(SHORT, batch_size=512, n_steps=40)))
    gaps = pieces.count(None)
    assert gaps >= 2 * 40 * 512 / 1024


def test_a_diverging_head_keeps_its_last_good_checkpoint_while_the_other_goes_on():
    settings = replace(SHORT, optimiser="sgd", learning_rate=10.0, init_scale=1.0)
    run = run_so_far([part for part in recall_parts(settings) if part is not None])
    assert dict(run.diverged)["learned"].startswith("The loss stopped being a finite number")
    assert np.isfinite(run.learned[-1].loss)
    assert run.learned_result.checkpoints[-1] is run.learned[-1]
    assert np.isfinite(run.asked.learned.weights).all()


def test_bytes_are_those_of_the_arrays(parts):
    checkpoint, answers = parts[0], parts[-1]
    assert part_bytes(checkpoint) == 4 * (8 * 16 + 16 * 8)
    sequences = answers.learned.sequences
    arrays = [
        *(getattr(sequences, name) for name in ("keys", "values", "questions", "asked", "answers")),
        *(getattr(answers.learned, name) for name in ("weights", "predicted")),
        *(getattr(answers.uniform, name) for name in ("weights", "predicted")),
    ]
    assert part_bytes(answers) == sum(array.nbytes for array in arrays)
