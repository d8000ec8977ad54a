"""core.two_facts_training: a run depends on its settings alone, and ends well or says why not."""

from dataclasses import replace

import numpy as np
import pytest

import core.two_facts_training as training
from core.training_run import checkpoint_steps
from core.two_facts import sample_two_facts
from core.two_facts_circuits import forward_heads, head_tables, index_facts
from core.two_facts_settings import TwoFactsSettings
from core.two_facts_training import N_TEST, fresh_facts, train, train_pieces

SHORT = TwoFactsSettings(n_heads=2, n_steps=60)


def test_equal_settings_give_equal_runs_and_other_seeds_others():
    one, same, other = train(SHORT), train(SHORT), train(replace(SHORT, seed=1))
    np.testing.assert_array_equal(one.parameters.flat, same.parameters.flat)
    assert one.checkpoints == same.checkpoints
    assert (one.parameters.flat != other.parameters.flat).any()


def test_the_goal_changes_the_run_but_not_its_first_step():
    """The loss of fewest errors begins as cross-entropy."""
    errors, entropy = (
        train(replace(SHORT, goal=goal)) for goal in ("fewest errors", "cross-entropy")
    )
    assert errors.checkpoints[:2] == entropy.checkpoints[:2]
    assert errors.checkpoints[-1] != entropy.checkpoints[-1]


def test_both_float_types_start_from_the_same_numbers():
    single = train(replace(SHORT, n_steps=0)).parameters.flat
    double = train(replace(SHORT, n_steps=0, float_type="float64")).parameters.flat
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(single, double.astype(np.float32))


def test_checkpoints_say_what_the_model_does_on_the_test_sequences():
    result = train(SHORT)
    assert [c.step for c in result.checkpoints] == list(checkpoint_steps(60))
    assert result.checkpoints[0].loss == pytest.approx(2 * np.log(8), rel=0.1)
    assert 0 <= result.checkpoints[0].accuracy < 0.06  # chance is 1/64; 1,000 sequences
    assert result.checkpoints[-1].loss < result.checkpoints[0].loss / 2


def test_training_lets_others_have_a_turn_between_checkpoints():
    items = list(train_pieces(SHORT))
    assert items.count(None) >= 60 * SHORT.batch_size // 512
    assert [item for item in items if item is not None] == list(train(SHORT).checkpoints)


@pytest.mark.parametrize("order", ["as asked", "smallest first"])
def test_two_heads_learn_either_order(order):
    result = train(replace(SHORT, order=order, n_steps=300))
    assert result.checkpoints[-1].accuracy == 1.0
    fresh = fresh_facts(result.settings, 500)
    [batch] = index_facts(fresh, result.settings.shape)
    answers = forward_heads(head_tables(result.parameters), batch)
    assert (answers.predicted == batch.answers).all()
    assert N_TEST == 1000


def test_fresh_sequences_are_none_of_the_training():
    one, other = fresh_facts(SHORT, 50), fresh_facts(replace(SHORT, seed=1), 50)
    assert (one.keys != other.keys).any()
    np.testing.assert_array_equal(one.keys, fresh_facts(SHORT, 50).keys)
    for stream in np.random.default_rng(SHORT.seed).spawn(3):
        used = sample_two_facts(50, 3, 8, 8, "as asked", stream)
        assert (one.keys != used.keys).any()


def test_the_wildest_settings_of_the_page_stay_finite():
    wild = replace(SHORT, init_scale=10.0, learning_rate=1.0, d_model=64, d_k=64, n_steps=200)
    result = train(wild)
    assert result.diverged is None
    assert all(np.isfinite(checkpoint.loss) for checkpoint in result.checkpoints)
    assert np.isfinite(result.parameters.flat).all()


def test_a_loss_that_is_not_finite_stops_the_run(monkeypatch):
    """No settings of the page do this, so the step is broken here."""
    real = training._Run.take_step
    monkeypatch.setattr(
        training._Run, "take_step", lambda run, batch: run.step < 4 and real(run, batch)
    )
    result = train(replace(SHORT, n_steps=1000, goal="cross-entropy"))
    assert result.diverged == (
        "The loss stopped being a finite number at step 4; the last good checkpoint is step 2."
    )
    assert [c.step for c in result.checkpoints] == [0, 1, 2]
    good = train(replace(SHORT, n_steps=2, goal="cross-entropy")).parameters
    np.testing.assert_array_equal(result.parameters.flat, good.flat)


def test_a_test_loss_that_is_not_finite_stops_the_run_too(monkeypatch):
    real = training._Run.test

    def broken(run):
        return replace(real(run), loss=np.nan) if run.step > 5 else real(run)

    monkeypatch.setattr(training._Run, "test", broken)
    result = train(replace(SHORT, n_steps=1000))
    assert result.diverged is not None
    assert [c.step for c in result.checkpoints] == [0, 1, 2, 5]
