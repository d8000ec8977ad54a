"""core.training: what is trained and what is not, the checkpoints, and the article's outcome."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import training
from core.circuits import circuits
from core.evaluation import evaluate
from core.gradcheck import circuit_gradient
from core.recall import MATRICES, recall_loss, sample_sequences
from core.training import (
    N_TEST,
    VARIANTS,
    TrainSettings,
    start,
    train,
    train_steps,
)
from core.training_run import checkpoint_steps

ROOT = Path(__file__).resolve().parents[1]
few = settings(max_examples=25, deadline=None)


def starting_point(chosen):
    return start(chosen, np.random.default_rng(chosen.seed).spawn(3)[0])


# What a step does


@pytest.mark.parametrize("variant", VARIANTS)
def test_three_steps_of_sgd_are_the_gradient_three_times(variant):
    """Against the same batches drawn here, and the gradient that test_circuits checks."""
    chosen = TrainSettings(
        variant=variant,
        optimiser="sgd",
        learning_rate=0.5,
        init_scale=0.5,
        n_steps=3,
        float_type="float64",
        seed=5,
    )
    model = starting_point(chosen)
    rng = np.random.default_rng(5).spawn(3)[1]
    chunk = training.CHUNK_SEQUENCES // 64 * 64
    drawn = sample_sequences(chunk, 3, 8, 8, rng)
    for step in range(3):
        rows = slice(64 * step, 64 * (step + 1))
        batch = type(drawn)(**{name: array[rows] for name, array in vars(drawn).items()})
        gradient = circuit_gradient(model, batch, values_in_keys=chosen.values_in_keys)
        for name in MATRICES:
            if name not in chosen.frozen:
                getattr(model, name)[:] -= 0.5 * getattr(gradient, name)
    np.testing.assert_allclose(train(chosen).parameters.flat, model.flat, rtol=0, atol=1e-14)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_frozen_matrices_stay_bit_identical_and_all_others_move(variant, optimiser):
    chosen = TrainSettings(variant=variant, optimiser=optimiser, n_steps=60)
    before, after = starting_point(chosen), train(chosen).parameters
    frozen = {
        "learned": set(),
        "uniform": {"W_Q", "W_K"},
        "frozen_scores": {"W_Q", "W_K"},
        "frozen_query": {"W_Q"},
        "keys_without_values": set(),
    }[variant]
    unmoved = {
        name for name in MATRICES if np.array_equal(getattr(before, name), getattr(after, name))
    }
    assert unmoved == frozen


def test_the_uniform_variant_has_no_scores_at_all():
    result = train(TrainSettings(variant="uniform", n_steps=60))
    assert not result.parameters.W_Q.any()
    assert not result.parameters.W_K.any()
    assert not result.checkpoints[-1].qk.any()
    assert result.checkpoints[-1].ov.any()


def test_hidden_values_stay_hidden_from_the_keys():
    learned, hidden = (
        train(TrainSettings(variant=variant, n_steps=60)).checkpoints[-1]
        for variant in ("learned", "keys_without_values")
    )
    assert learned.qk[:, 8:].any()
    assert hidden.qk[:, :8].any()
    assert not hidden.qk[:, 8:].any()


def test_variants_of_a_seed_start_from_the_same_numbers():
    chosen = TrainSettings(seed=9)
    learned = starting_point(chosen)
    for variant in VARIANTS:
        other = starting_point(replace(chosen, variant=variant))
        zeroed = ("W_Q", "W_K") if variant == "uniform" else ()
        for name in MATRICES:
            expected = 0 * getattr(learned, name) if name in zeroed else getattr(learned, name)
            np.testing.assert_array_equal(getattr(other, name), expected)


# Checkpoints


@given(n_steps=st.integers(0, 10_000))
@few
def test_checkpoints_are_dense_early_then_regular_and_end_at_the_last_step(n_steps):
    steps = checkpoint_steps(n_steps)
    assert steps[0] == 0
    assert steps[-1] == n_steps
    assert list(steps) == sorted(set(steps))
    assert len(steps) <= 120
    assert {0, 1, 2, 5, *range(10, 101, 10)} & set(range(n_steps + 1)) <= set(steps)
    late = np.diff([step for step in steps if step >= 100])
    assert len(set(late[:-1])) <= 1  # the last interval may be shorter


def test_each_checkpoint_is_the_model_at_that_step():
    """A shorter run is the beginning of a longer one, so it ends where the longer one passed."""
    long = train(TrainSettings(n_steps=300))
    assert [c.step for c in long.checkpoints] == list(checkpoint_steps(300))
    for checkpoint in long.checkpoints[::20]:
        short = train(TrainSettings(n_steps=checkpoint.step))
        assert short.checkpoints[-1].loss == checkpoint.loss
        tables = circuits(short.parameters)
        np.testing.assert_array_equal(tables.qk, checkpoint.qk)
        np.testing.assert_array_equal(tables.ov, checkpoint.ov)


def test_loss_and_accuracy_are_of_the_test_sequences():
    chosen = TrainSettings(n_steps=20, float_type="float64", seed=2)
    last = train(chosen).checkpoints[-1]
    drawn = sample_sequences(N_TEST, 3, 8, 8, np.random.default_rng(2).spawn(3)[2])
    parameters = train(chosen).parameters
    assert last.loss == pytest.approx(recall_loss(parameters, drawn), abs=1e-12)
    rng = np.random.default_rng(2).spawn(3)[2]
    assert last.accuracy == evaluate(parameters, chosen, N_TEST, rng=rng).accuracy


def test_an_untrained_model_knows_nothing():
    first = train(TrainSettings(n_steps=0)).checkpoints
    assert len(first) == 1
    assert first[0].loss == pytest.approx(np.log(8), abs=0.01)
    assert 0.08 < first[0].accuracy < 0.17


def test_a_run_can_be_abandoned():
    run = train_steps(TrainSettings(n_steps=10_000))
    assert [next(run).step for _ in range(3)] == [0, 1, 2]
    run.close()
    with pytest.raises(StopIteration):
        next(run)


# Repeatable


@given(
    seed=st.integers(0, 1000),
    variant=st.sampled_from(VARIANTS),
    optimiser=st.sampled_from(["adam", "sgd"]),
)
@few
def test_equal_settings_give_bit_equal_results(seed, variant, optimiser):
    chosen = TrainSettings(n_steps=12, seed=seed, variant=variant, optimiser=optimiser)
    one, other = train(chosen), train(replace(chosen))
    np.testing.assert_array_equal(one.parameters.flat, other.parameters.flat)
    assert [(c.step, c.loss, c.accuracy) for c in one.checkpoints] == [
        (c.step, c.loss, c.accuracy) for c in other.checkpoints
    ]


def test_different_seeds_differ():
    one, other = (train(TrainSettings(n_steps=20, seed=seed)) for seed in (0, 1))
    assert np.isclose(one.parameters.flat, other.parameters.flat).mean() < 0.01
    assert one.checkpoints[-1].loss != other.checkpoints[-1].loss


def test_float32_follows_float64():
    one, other = (
        train(TrainSettings(n_steps=30, float_type=name)) for name in ("float32", "float64")
    )
    assert one.parameters.flat.dtype == np.float32
    assert other.parameters.flat.dtype == np.float64
    assert one.checkpoints[-1].loss == pytest.approx(other.checkpoints[-1].loss, rel=1e-3)


# The article's outcome, with its settings: seeds 0, 1 and 2, each on 5,000 fresh sequences.


@pytest.fixture(scope="module", params=[0, 1, 2])
def article(request):
    return {
        variant: train(TrainSettings(seed=request.param, variant=variant))
        for variant in ("learned", "uniform")
    }


def fresh(result):
    rng = np.random.default_rng(result.settings.seed + 1000)
    return evaluate(result.parameters, result.settings, rng=rng)


def test_the_learned_model_solves_the_task_within_100_steps(article):
    """All 2,000 test sequences right at step 100, and all 5,000 fresh ones at the end."""
    by_step = {c.step: c.accuracy for c in article["learned"].checkpoints}
    assert by_step[0] < 0.2
    assert by_step[100] == 1.0
    assert fresh(article["learned"]).accuracy == 1.0


def test_the_learned_model_looks_at_the_match_and_at_the_question_alike(article):
    """Over seeds 0 to 11 the match had 0.494 to 0.505, the question 0.484 to 0.495."""
    seen = fresh(article["learned"])
    assert seen.match_on_top == 1.0
    assert seen.weight_on_match == pytest.approx(0.50, abs=0.015)
    assert seen.weight_on_question == pytest.approx(0.49, abs=0.015)
    assert seen.weight_on_other < 0.01


def test_the_uniform_model_stalls_at_its_ceiling(article):
    """29/64 in the limit; three standard errors of 5,000 sequences are 0.021."""
    seen = fresh(article["uniform"])
    assert 0.43 < seen.accuracy < 0.47
    assert seen.accuracy == pytest.approx(29 / 64, abs=3 * np.sqrt(29 / 64 * 35 / 64 / 5000))
    assert seen.weights == pytest.approx(1 / 4)


def test_the_uniform_model_names_a_most_repeated_value(article):
    """Negative control: no use of what it sees can do better, so it is right only by luck.

    Given a sequence's values, a value that occurs m times is right with probability m / 3. The
    score may pass the sum of those by three standard errors of 5,000 sequences, and no more.
    """
    seen = fresh(article["uniform"])
    values = seen.sequences.values
    occurs = (values[:, :, np.newaxis] == np.arange(8)).sum(axis=1)  # (5000, 8)
    named = occurs[np.arange(5000), seen.predicted]
    assert (named == occurs.max(axis=1)).mean() > 0.95
    assert seen.accuracy < (occurs.max(axis=1) / 3).mean() + 3 * np.sqrt(0.25 / 5000)


def test_without_values_in_the_keys_match_and_question_weigh_the_same():
    seen = fresh(train(TrainSettings(variant="keys_without_values", n_steps=1000)))
    match = seen.weights[np.arange(5000), seen.sequences.asked]
    np.testing.assert_allclose(match, seen.weights[:, -1], rtol=1e-6)
    assert seen.weight_on_match == pytest.approx(0.499, abs=0.005)
    assert seen.accuracy == 1.0


def test_frozen_scores_learn_through_the_embeddings():
    """More slowly than when W_K can help: seeds 0 to 2 need 300 to 1,000 steps."""
    query, scores = (
        train(TrainSettings(variant=variant, n_steps=1000))
        for variant in ("frozen_query", "frozen_scores")
    )
    assert min(fresh(query).accuracy, fresh(scores).accuracy) > 0.999
    at_100 = [{c.step: c.accuracy for c in run.checkpoints}[100] for run in (query, scores)]
    assert at_100[0] > 0.98
    assert at_100[1] < 0.6


def test_a_larger_start_breaks_the_tie_with_the_question():
    """Over seeds 0 to 11 the match had 0.76 to 0.85, the question 0.13 to 0.22."""
    seen = fresh(train(TrainSettings(init_scale=0.3)))
    assert 0.7 < seen.weight_on_match < 0.92
    assert 0.07 < seen.weight_on_question < 0.3
    assert seen.accuracy == 1.0


def test_shuffled_answers_cannot_be_learned(monkeypatch):
    """Negative control: with answers dealt out at random, 300 steps end at chance.

    Three standard errors of 1/8 in 2,000 sequences are 0.022.
    """
    honest = training.sample_sequences

    def shuffled(*arguments):
        drawn = honest(*arguments)
        answers = np.random.default_rng(0).permutation(drawn.answers)
        return type(drawn)(**{**vars(drawn), "answers": answers})

    assert train(TrainSettings(n_steps=300)).checkpoints[-1].accuracy == 1.0
    monkeypatch.setattr(training, "sample_sequences", shuffled)
    last = train(TrainSettings(n_steps=300)).checkpoints[-1]
    assert last.accuracy == pytest.approx(1 / 8, abs=0.022)
    assert last.loss > np.log(8) - 0.01


# Diverging


def test_a_diverging_run_stops_with_a_sentence_and_keeps_the_last_good_checkpoint():
    chosen = TrainSettings(optimiser="sgd", learning_rate=10, init_scale=0.1, n_steps=3000)
    result = train(chosen)
    last = result.checkpoints[-1]
    assert result.diverged == (
        "The loss stopped being a finite number at step 13; the last good checkpoint is step 10."
    )
    assert last.step == 10
    assert all(np.isfinite([c.loss, c.accuracy]).all() for c in result.checkpoints)
    assert np.isfinite(last.qk).all()
    np.testing.assert_array_equal(circuits(result.parameters).qk, last.qk)
    # At the named step, and not before it, the loss is no longer finite.
    assert train(replace(chosen, n_steps=12)).diverged is None
    assert train(replace(chosen, n_steps=13)).diverged is not None


def test_a_run_that_does_not_diverge_says_nothing():
    assert train(TrainSettings(n_steps=10)).diverged is None


@pytest.mark.parametrize("scale", [0, 10])
@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_extreme_starts_end_in_an_orderly_way(scale, optimiser):
    chosen = TrainSettings(
        init_scale=scale, optimiser=optimiser, learning_rate=10, d_model=128, d_k=128, n_steps=40
    )
    result = train(chosen)
    assert result.checkpoints
    assert (result.diverged is None) == (result.checkpoints[-1].step == 40)


# Settings


@pytest.mark.parametrize(
    "ends",
    [
        {"n_pairs": 1, "n_keys": 1, "n_values": 2, "d_model": 1, "d_k": 1, "batch_size": 1},
        {"n_pairs": 16, "n_keys": 16, "n_values": 32, "d_model": 128, "d_k": 1, "batch_size": 1024},
        {"n_pairs": 1, "n_keys": 32, "n_values": 2, "d_model": 1, "d_k": 128, "batch_size": 1},
    ],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_setting_works_at_its_ends(ends, variant):
    result = train(TrainSettings(**ends, variant=variant, n_steps=3))
    assert result.checkpoints[-1].step == 3
    assert result.checkpoints[-1].qk.shape == (ends["n_keys"], ends["n_keys"] + ends["n_values"])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_pairs": 6, "n_keys": 4}, r"n_pairs must be at most n_keys \(4\), got 6"),
        ({"n_pairs": 17}, "n_pairs must be a whole number from 1 to 16, got 17"),
        ({"n_keys": 33}, "n_keys must be a whole number from 1 to 32, got 33"),
        ({"n_values": 1}, "n_values must be a whole number from 2 to 32, got 1"),
        ({"d_model": 0}, "d_model must be a whole number from 1 to 128, got 0"),
        ({"d_k": 129}, "d_k must be a whole number from 1 to 128, got 129"),
        ({"batch_size": 1025}, "batch_size must be a whole number from 1 to 1,024, got 1025"),
        ({"batch_size": 2.5}, "batch_size must be a whole number from 1 to 1,024, got 2.5"),
        ({"n_steps": 10_001}, "n_steps must be a whole number from 0 to 10,000, got 10001"),
        ({"n_steps": True}, "n_steps must be a whole number from 0 to 10,000, got True"),
        ({"learning_rate": 0}, "learning_rate must be above 0 and at most 10, got 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0 and at most 10, got nan"),
        ({"learning_rate": 11}, "learning_rate must be above 0 and at most 10, got 11"),
        ({"init_scale": -0.1}, "init_scale must be from 0 to 10, got -0.1"),
        ({"init_scale": 10.5}, "init_scale must be from 0 to 10, got 10.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"optimiser": "rmsprop"}, "optimiser must be one of adam, sgd, got rmsprop"),
        ({"variant": "broken"}, "variant must be one of learned, uniform, .*, got broken"),
        ({"float_type": "int8"}, "float_type must be one of float32, float64, got int8"),
    ],
)
def test_bad_settings_are_named(wrong, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        TrainSettings(**wrong)


def test_numpy_integers_are_whole_numbers():
    assert TrainSettings(n_pairs=np.int64(2)) == TrainSettings(n_pairs=2)


# One thread


def test_a_fresh_process_computes_each_product_on_one_thread():
    """The variables count only if they are set before NumPy is imported."""
    script = "import core, os, sys; print('numpy' in sys.modules, os.environ[sys.argv[1]])"
    clean = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    ran = subprocess.run(
        [sys.executable, "-c", script, "OPENBLAS_NUM_THREADS"],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.split() == ["False", "1"], ran.stderr
