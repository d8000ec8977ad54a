"""The ablation runs: who is trained, on what, and what the variants can and cannot reach."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from core.ablation import ceiling_cases, uniform_ceiling
from core.ablation_runs import (
    MAP_PAIRS,
    MAP_VALUES,
    AblationSettings,
    ablation_steps,
    finished,
    map_runs,
    run_steps,
)
from core.ablation_scores import (
    N_FRESH,
    add_up,
    add_up_cases,
    distance_in_errors,
    fresh_sequences,
    score_run,
)
from core.recall import sample_sequences
from core.recall_run import Asked, recall_parts
from core.training import VARIANTS, TrainSettings, train

SHORT = TrainSettings(n_steps=60)


def runs_of(settings):
    return finished(ablation_steps(settings))


def test_two_variants_and_two_seeds_are_four_runs_in_order():
    settings = AblationSettings(train=SHORT, variants=("uniform", "learned"), n_seeds=2)
    steps = [step for step in ablation_steps(settings) if step is not None]
    runs = finished(steps)
    assert [(run.settings.variant, run.settings.seed) for run in runs] == [
        ("uniform", 0),
        ("learned", 0),
        ("uniform", 1),
        ("learned", 1),
    ]
    assert [step.n_done for step in steps if step.run] == [1, 2, 3, 4]
    assert {step.n_runs for step in steps} == {4}
    of_first = [step.step for step in steps if step.settings == runs[0].settings]
    assert of_first[0] == 0
    assert of_first == sorted(of_first)
    assert of_first[-1] == 60


def test_runs_differ_in_variant_and_seed_alone():
    train = replace(SHORT, n_pairs=2, n_values=5, learning_rate=0.02, seed=7)
    for run in AblationSettings(train=train, n_seeds=3).runs:
        assert replace(run, variant=train.variant, seed=train.seed) == train
        assert 7 <= run.seed < 10


def test_equal_settings_give_equal_runs():
    settings = AblationSettings(train=SHORT, n_seeds=1)
    assert runs_of(settings) == runs_of(settings)


def test_one_run_does_not_depend_on_the_others():
    alone = AblationSettings(train=replace(SHORT, seed=1), variants=("frozen_query",), n_seeds=1)
    among = AblationSettings(train=SHORT, n_seeds=2)
    assert runs_of(alone)[0] in runs_of(among)


def test_all_variants_of_a_seed_meet_the_same_fresh_sequences():
    runs = runs_of(AblationSettings(train=SHORT, n_seeds=2))
    first, second = runs[: len(VARIANTS)], runs[len(VARIANTS) :]
    assert len({run.best_cases for run in first}) == 1
    assert first[0].best_cases != second[0].best_cases
    assert {run.score.total for run in runs} == {N_FRESH}


def test_the_fresh_sequences_are_not_those_of_the_training():
    fresh = fresh_sequences(SHORT)
    for stream in np.random.default_rng(SHORT.seed).spawn(3):
        other = sample_sequences(N_FRESH, 3, 8, 8, stream)
        assert (other.keys == fresh.keys).all(axis=1).mean() < 0.02  # 1 in 336 by chance


def test_the_recall_experiment_asks_the_same_sequences():
    [asked] = [part for part in recall_parts(SHORT) if isinstance(part, Asked)]
    run = score_run(train(replace(SHORT, variant="uniform")))
    assert asked.uniform.accuracy == run.score.share
    assert (asked.uniform.sequences.keys == fresh_sequences(SHORT).keys).all()


def test_even_attention_reaches_the_ceiling_and_does_not_pass_it():
    # 8 seeds of 5,000 fresh sequences: a standard error of 0.25 percentage points. Three of them
    # on either side; the draws are fixed by the seeds.
    train = TrainSettings(n_steps=500)
    runs = runs_of(AblationSettings(train=train, variants=("uniform",), n_seeds=8))
    pooled = add_up(run.score for run in runs)
    assert pooled.total == 40_000
    assert abs(distance_in_errors(pooled, uniform_ceiling(3, 8))) < 3
    cases = add_up_cases(run.cases for run in runs)
    for case, score in zip(ceiling_cases(3, 8), cases, strict=True):
        assert abs(distance_in_errors(score, case.accuracy)) < 3
    assert cases[2].right == cases[2].total


def test_the_best_strategy_scores_the_ceiling_and_is_sure_of_equal_values():
    runs = [score_run(train(replace(SHORT, n_steps=0, seed=seed))) for seed in range(20)]
    pooled = add_up(run.best for run in runs)  # 100,000 sequences, error 0.16 percentage points
    assert abs(distance_in_errors(pooled, uniform_ceiling(3, 8))) < 3
    for run in runs:
        assert run.best_cases[2].right == run.best_cases[2].total


def test_no_single_run_of_even_attention_is_far_above_the_ceiling_in_other_cells():
    # 5,000 sequences each; four standard errors, as 8 cells are looked at.
    cells = [(2, 2), (2, 16), (3, 4), (5, 2), (5, 8), (8, 4), (12, 8), (16, 2)]
    settings = [
        TrainSettings(variant="uniform", n_pairs=n, n_values=v, n_keys=16, n_steps=500)
        for n, v in cells
    ]
    for run in finished(run_steps(settings)):
        n, v = run.settings.n_pairs, run.settings.n_values
        assert distance_in_errors(run.score, uniform_ceiling(n, v)) < 4
        assert run.score.share > float(uniform_ceiling(n, v)) - 0.03


def test_attention_passes_the_ceiling_by_far():
    # Negative control for the two tests above: with scores to learn, the same check must fail.
    [run] = runs_of(
        AblationSettings(train=TrainSettings(n_steps=200), variants=("learned",), n_seeds=1)
    )
    assert run.score.share > 0.99
    assert distance_in_errors(run.score, uniform_ceiling(3, 8)) > 50
    assert run.solved_at is not None
    assert run.solved_at <= 100


def test_a_model_that_was_never_trained_stays_at_chance():
    run = score_run(train(replace(SHORT, n_steps=0)))
    assert run.score.share == pytest.approx(1 / 8, abs=0.05)
    assert run.solved_at is None
    assert run.at_start_scores == run.score


def test_frozen_random_scores_are_learned_around_but_later():
    # Seed 0, 2,000 steps. The embeddings move so that even random W_Q and W_K tell keys apart;
    # with the scores of before the training, nothing above the ceiling is left.
    settings = AblationSettings(
        train=TrainSettings(n_steps=2000), variants=("learned", "frozen_scores"), n_seeds=1
    )
    learned, frozen = runs_of(settings)
    assert frozen.score.share > 0.99
    assert frozen.solved_at > 2 * learned.solved_at
    for run in (learned, frozen):
        assert abs(distance_in_errors(run.at_start_scores, uniform_ceiling(3, 8))) < 4


def test_the_uniform_run_has_the_scores_it_started_with():
    run = score_run(train(replace(SHORT, variant="uniform")))
    assert run.at_start_scores == run.score


def test_a_diverging_run_says_so_and_the_next_one_still_runs():
    broken = TrainSettings(optimiser="sgd", learning_rate=10.0, init_scale=10.0, n_steps=50)
    diverged, sound = finished(run_steps([broken, SHORT]))
    assert "stopped being a finite number" in diverged.diverged
    assert diverged.score.total == N_FRESH
    assert sound.diverged is None
    assert sound == score_run(train(SHORT))


def test_the_measured_cells_of_the_map_are_uniform_runs_with_keys_enough():
    runs = map_runs(replace(SHORT, n_pairs=2, n_keys=4))
    assert [(run.n_pairs, run.n_values) for run in runs] == [
        (n, v) for n in MAP_PAIRS for v in MAP_VALUES
    ]
    assert {run.variant for run in runs} == {"uniform"}
    assert {run.n_keys for run in runs} == {4, 5, 8, 12, 16}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_seeds": 0}, "n_seeds must be a whole number from 1 to 20, got 0"),
        ({"n_seeds": 21}, "n_seeds must be a whole number from 1 to 20, got 21"),
        ({"n_seeds": 2.0}, "n_seeds must be a whole number from 1 to 20, got 2.0"),
        ({"variants": ()}, "at least one of the variants must be on, got none"),
        ({"variants": ("taught",)}, f"variants must be among {', '.join(VARIANTS)}, got taught"),
        ({"variants": ("learned",) * 2}, "variants must differ, got learned, learned"),
    ],
)
def test_bad_settings_are_refused_by_name(change, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        AblationSettings(train=SHORT, **change)


def test_the_articles_uniform_score_is_sampling():
    # 45.7 % of 5,000 against 29/64: half a standard error.
    article = replace(add_up([]), right=2285, total=5000)
    assert distance_in_errors(article, Fraction(29, 64)) == pytest.approx(0.551, abs=0.001)
