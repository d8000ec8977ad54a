"""Training on word order: what each scheme reaches, how runs are scored, and that they can fail."""

from dataclasses import replace

import numpy as np
import pytest

from core.ablation_scores import add_up, standard_error
from core.order_model import forward, positions_of
from core.order_training import (
    N_FRESH,
    SLOPES,
    OrderSeries,
    order_pieces,
    order_steps,
    score_order,
    slope_runs,
    train_order,
)
from core.positions import SCHEMES
from core.series import finished
from core.training_run import checkpoint_steps
from core.word_order import OrderSettings, one_hot, order_ceiling, sample_order

SEEDS = (0, 1)


@pytest.fixture(scope="module")
def runs():
    """Two seeds of every scheme with the page's settings, and without the need for order."""
    cases = {(scheme, 2): replace(OrderSettings(), scheme=scheme) for scheme in SCHEMES}
    cases[("none", 1)] = OrderSettings(n_times=1)
    cases[("none", 3)] = OrderSettings(n_times=3)
    cases[("slope 0", 2)] = OrderSettings(scheme="alibi", alibi_slope=0.0)
    return {
        case: [score_order(train_order(replace(settings, seed=seed))) for seed in SEEDS]
        for case, settings in cases.items()
    }


@pytest.mark.parametrize(("scheme", "m"), [("none", 2), ("none", 3), ("slope 0", 2)])
def test_without_positions_the_ceiling_is_reached_and_not_passed(runs, scheme, m):
    """10,000 sequences together; four standard errors of a score at the ceiling."""
    score = add_up(run.score for run in runs[scheme, m])
    assert score.total == len(SEEDS) * N_FRESH
    off = abs(score.share - float(order_ceiling(m)))
    assert off < 4 * standard_error(order_ceiling(m), score.total)


def test_without_positions_all_is_well_where_order_does_not_matter(runs):
    """The control: it is order that the head lacks, and nothing else."""
    assert all(run.score.share == 1 for run in runs["none", 1])


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_every_scheme_answers_everything(runs, scheme):
    for run in runs[scheme, 2]:
        assert run.score.share >= 0.999  # 100 % in the ten seeds tried; one in 1,000 for rounding
        assert run.solved_at is not None
        assert run.solved_at < 1000
        assert run.weight_on_last > run.weight_on_earlier
        assert (np.diff(run.by_distance) < 0).all()  # nearer is better, all the way
        assert run.diverged is None


def test_without_positions_neither_weight_nor_score_knows_the_order(runs):
    for run in runs["none", 2]:
        assert run.weight_on_last == pytest.approx(run.weight_on_earlier, rel=0.01)
        assert np.ptp(run.by_distance) < 0.1  # the values' part of the scores is left
        assert run.shuffle_change < 1e-12
        assert run.shuffle_kept.share == 1
        assert run.solved_at is None


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_with_positions_a_shuffle_changes_half_the_answers(runs, scheme):
    """Half of all shuffles change which of two comes last; 1,000 sequences, four errors."""
    kept = add_up(run.shuffle_kept for run in runs[scheme, 2])
    assert abs(kept.share - 0.5) < 4 * standard_error(0.5, kept.total)
    assert all(run.shuffle_change > 0.9 for run in runs[scheme, 2])


def test_only_distances_carry_over_to_longer_sequences(runs):
    """Ten pairs instead of five; the trained length itself is the control."""
    longest = {scheme: [run.by_others[7] for run in runs[scheme, 2]] for scheme in SCHEMES}
    assert longest["learned"] == [None, None]
    assert all(score.share > 0.95 for score in longest["alibi"])
    assert all(score.share < 0.9 for score in longest["sinusoidal"])
    for scheme in SCHEMES[1:]:
        assert all(run.by_others[3].share >= 0.99 for run in runs[scheme, 2])


@pytest.mark.parametrize(("slope", "low", "high"), [(1 / 256, 0.5, 0.7), (16.0, 0.09, 0.16)])
def test_a_slope_can_be_too_flat_or_too_steep(slope, low, high):
    """Seed 0, 5,000 sequences; chance is 1/8, and a slope of 1/2 is the control above."""
    run = score_order(train_order(OrderSettings(scheme="alibi", alibi_slope=slope)))
    assert low < run.score.share < high
    if slope < 1:
        assert run.weight_on_last == pytest.approx(run.weight_on_earlier, rel=0.02)
        assert run.weight_on_last > run.weight_on_earlier
    else:
        assert run.weight_on_question > 0.999


def test_a_sinusoidal_head_can_be_stuck():
    """Four facts about the key: this start ends far from the solution, its neighbour does not."""
    stuck, solved = (
        score_order(train_order(OrderSettings(scheme="sinusoidal", n_times=4, seed=seed)))
        for seed in (4, 3)
    )
    assert order_ceiling(4) < stuck.score.share < 0.9
    assert solved.score.share > 0.99


def test_every_slope_is_run_from_every_seed():
    runs = slope_runs(OrderSeries(train=OrderSettings(n_steps=5, seed=3), n_seeds=2))
    assert [(run.seed, run.alibi_slope) for run in runs] == [
        (seed, slope) for seed in (3, 4) for slope in SLOPES
    ]
    assert {run.scheme for run in runs} == {"alibi"}


def test_the_weights_of_a_run_share_out_one(runs):
    for run in [run for several in runs.values() for run in several]:
        total = run.weight_on_last + run.weight_on_question
        total += (run.weight_on_earlier or 0) + (run.weight_on_others or 0)
        assert total == pytest.approx(1, abs=1e-5)
    assert runs["none", 1][0].weight_on_earlier is None


def test_a_score_is_what_counting_by_hand_gives():
    settings = OrderSettings(scheme="alibi", n_steps=60)
    result = train_order(settings)
    run = score_order(result)
    rng = np.random.default_rng(settings.seed).spawn(6)[3]
    fresh = sample_order(settings, N_FRESH, rng)
    answers = forward(result.parameters, positions_of(settings), one_hot(settings, fresh))
    right, on_last, scores = 0, 0.0, {}
    for i in range(N_FRESH):
        right += int(answers.logits[i].argmax() == fresh.answers[i])
        on_last += answers.weights[i, fresh.last[i]]
        for t in np.flatnonzero(fresh.keys[i] == fresh.questions[i]):
            scores.setdefault(settings.n_pairs - t, []).append(answers.scores[i, t])
    assert run.score.right == right
    assert run.weight_on_last == pytest.approx(on_last / N_FRESH, rel=1e-5)
    means = [np.mean(scores[distance]) for distance in range(1, settings.n_pairs + 1)]
    np.testing.assert_allclose(run.by_distance, means, rtol=1e-4)


def test_equal_settings_give_equal_runs_and_other_seeds_other_ones():
    short = OrderSettings(scheme="learned", n_steps=30)
    one, same = train_order(short), train_order(short)
    np.testing.assert_array_equal(one.parameters.flat, same.parameters.flat)
    assert one.checkpoints == same.checkpoints
    other = train_order(replace(short, seed=1))
    assert one.checkpoints[-1].loss != other.checkpoints[-1].loss


def test_there_is_a_checkpoint_at_each_of_the_steps_and_turns_in_between():
    pieces = list(order_pieces(OrderSettings(n_steps=120)))
    steps = [piece.step for piece in pieces if piece is not None]
    assert tuple(steps) == checkpoint_steps(120)
    assert sum(piece is None for piece in pieces) >= len(steps) - 1


def test_the_learning_rate_ends_at_nothing():
    """The last steps move the parameters less and less."""
    settings = OrderSettings(scheme="alibi", n_steps=400)
    moved = []
    pieces = order_pieces(settings)
    result = None
    last = None
    while result is None:
        try:
            piece = next(pieces)
        except StopIteration as end:
            result = end.value
            break
        if piece is None:
            flat = pieces.gi_frame.f_locals["run"].parameters.flat.copy()
            if last is not None:
                moved.append(np.abs(flat - last).max())
            last = flat
    assert moved[-1] < 0.02 * max(moved)


def test_a_run_that_breaks_says_where_and_is_scored_before_that():
    wild = OrderSettings(scheme="learned", n_steps=200, learning_rate=10.0, init_scale=10.0)
    result = train_order(replace(wild, float_type="float32"))
    run = score_order(result)
    assert np.isfinite(result.parameters.flat).all()
    assert run.diverged == result.diverged
    if result.diverged is not None:
        assert "stopped being a finite number at step" in result.diverged


def test_a_loss_that_is_not_finite_ends_the_run(monkeypatch):
    def broken(p, positions, tokens):
        answers = forward(p, positions, tokens)
        return answers if len(tokens) > 64 else replace(answers, logits=answers.logits * np.nan)

    monkeypatch.setattr("core.order_training.forward", broken)
    result = train_order(OrderSettings(n_steps=100))
    assert result.diverged == (
        "The loss stopped being a finite number at step 0; the last good checkpoint is step 0."
    )
    assert [checkpoint.step for checkpoint in result.checkpoints] == [0]


def test_a_series_runs_every_scheme_of_a_seed_before_the_next():
    series = OrderSeries(train=OrderSettings(n_steps=5, seed=3), n_seeds=2)
    runs = finished(order_steps(series.runs))
    assert [(run.settings.seed, run.settings.scheme) for run in runs] == [
        (seed, scheme) for seed in (3, 4) for scheme in SCHEMES
    ]
    for bad in (0, 11, 1.5):
        with pytest.raises(ValueError, match=f"n_seeds must be .* from 1 to 10, got {bad}$"):
            OrderSeries(train=OrderSettings(), n_seeds=bad)
