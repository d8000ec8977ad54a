"""The shipped map: its rows are complete, they can be measured again, and they say what is said."""

from dataclasses import replace

import pytest

from benchmarks.recall_at_scale import all_runs, measure
from core import recall_map
from core.ablation import uniform_ceiling
from core.ablation_scores import SOLVED, standard_error
from core.circle_head import circle_head
from core.recall_at_scale import (
    KEYS_PER_PAIR,
    PAIRS,
    WIDTHS,
    ScaleSettings,
    cell_runs,
    one_number_ceiling,
    run_steps,
)
from core.recall_map import (
    LONG_PAIRS,
    LONG_STEPS,
    LONG_WIDTHS,
    N_SEEDS,
    TOLERANCE,
    answered_by,
    shipped_cell,
    shipped_runs,
)
from core.series import finished
from core.tables import scale_findings as findings

SMALL = cell_runs(ScaleSettings(), 8, 6, 2, 1)


def shares(n_pairs, d_k, keys_per_pair, variant="learned"):
    return [run.score.share for run in shipped_cell(n_pairs, d_k, keys_per_pair, variant)]


def test_every_cell_has_every_seed_once_and_nothing_else():
    assert [run.settings for run in shipped_runs()] == list(all_runs())
    on_the_map = (len(WIDTHS) + 1) * len(PAIRS) * len(KEYS_PER_PAIR) * N_SEEDS
    longer = len(LONG_WIDTHS) * len(LONG_PAIRS) * len(KEYS_PER_PAIR) * N_SEEDS
    assert len(shipped_runs()) == on_the_map + longer
    for run in shipped_runs():
        assert 0 <= run.score.right <= run.score.total == 2000
        assert 0 <= run.match_on_top <= 1
        assert run.measured.startswith("20")
        assert "NumPy" in run.machine or "numpy" in run.machine
    header, *rows = recall_map.FILE.read_text().splitlines()
    assert header == ",".join(recall_map.COLUMNS)
    assert len(rows) == len(shipped_runs())


def test_a_small_cell_run_again_gives_the_shipped_accuracy():
    """Within the points that a solved cell may move on a processor that rounds otherwise."""
    [run] = finished(run_steps(SMALL))
    shipped = shipped_cell(8, 6, 2)[0]
    assert shipped.settings == run.settings
    assert abs(run.score.share - shipped.score.share) <= TOLERANCE


def test_an_unsolved_cell_run_twice_is_the_same_to_the_last_answer():
    """Where training has not settled, any difference in rounding would be seen."""
    settings = cell_runs(ScaleSettings(), 16, 2, 2, 1)
    [run], [again] = finished(run_steps(settings)), finished(run_steps(settings))
    assert run.score == again.score
    assert run.match_on_top == again.match_on_top
    assert run.score.share < SOLVED
    assert shipped_cell(16, 2, 2)[0].score.share < SOLVED


def test_the_tolerance_can_fail():
    """Another seed, width or task is farther off than the tolerance."""
    lowest, *_, highest = sorted(shares(8, 2, 2))
    assert highest - lowest > TOLERANCE
    assert abs(shares(16, 2, 2)[0] - shares(16, 3, 2)[0]) > TOLERANCE


def test_one_number_never_passes_its_ceiling():
    """Within four standard errors of a sample of 2,000; two numbers pass it, as the control."""
    for n_pairs in PAIRS:
        for keys_per_pair in KEYS_PER_PAIR:
            bound = float(one_number_ceiling(8))
            assert max(shares(n_pairs, 1, keys_per_pair)) <= bound + 4 * standard_error(bound, 2000)
    assert min(shares(4, 2, 2)) > 0.9


def test_the_control_ends_at_the_ceiling_for_equal_weights_and_learned_scores_do_not():
    """Below it by no more than 3 points, above it by no more than four standard errors."""
    for n_pairs in PAIRS:
        for keys_per_pair in KEYS_PER_PAIR:
            ceiling = float(uniform_ceiling(n_pairs, 8))
            for share in shares(n_pairs, WIDTHS[-1], keys_per_pair, "uniform"):
                assert -0.03 < share - ceiling < 4 * standard_error(ceiling, 2000)
            for share in shares(n_pairs, WIDTHS[-1], keys_per_pair):
                assert share > ceiling + 0.3


@pytest.mark.parametrize("keys_per_pair", KEYS_PER_PAIR)
def test_sixty_four_pairs_are_solved_with_far_fewer_numbers_than_pairs(keys_per_pair):
    width = findings.smallest_width(64, keys_per_pair)
    assert width is not None
    assert 4 <= width <= 16
    assert min(shares(64, width, keys_per_pair)) >= SOLVED
    assert min(shares(64, 2, keys_per_pair)) < 0.5  # the control: too narrow is seen


def test_more_steps_move_the_edge_of_the_map():
    """What fails at 3,000 steps for want of steps is no limit of d_k; the control is d_k = 1."""
    assert max(shares(32, 4, 2)) < SOLVED
    assert min(run.score.share for run in shipped_cell(32, 4, 2, n_steps=LONG_STEPS)) >= SOLVED
    [longer] = finished(run_steps(cell_runs(ScaleSettings(n_steps=10_000), 4, 1, 2, 1)))
    assert longer.score.share < float(one_number_ceiling(8)) + 4 * standard_error(0.25, 2000)


def test_the_written_down_head_beats_the_trained_ones_at_two_numbers():
    for n_pairs in PAIRS:
        settings = shipped_cell(n_pairs, 2, 4)[0].settings
        assert answered_by(circle_head(settings.n_keys, 8), settings).share == 1
    assert max(shares(64, 2, 4)) < 0.5


def test_measuring_stops_in_time_and_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "map.csv"
    base = ScaleSettings(n_steps=2)
    runs = [replace(base, seed=seed) for seed in range(3)]
    assert measure(path, iter(runs), -1) == (0, 3)
    assert measure(path, iter(runs[:2]), 60) == (2, 0)
    assert measure(path, iter(runs), 60) == (1, 0)
    assert measure(path, iter(runs), 60) == (0, 0)
    assert [run.settings for run in shipped_runs(path)] == runs
    fresh = finished(run_steps(runs))
    for kept, run in zip(shipped_runs(path), fresh, strict=True):
        assert kept.score == run.score
        assert kept.match_on_top == pytest.approx(run.match_on_top, abs=1e-6)
