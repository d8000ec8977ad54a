"""The frame of a training run, around a model of one number that a batch is added to."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from core.training_run import RunResult, TrainingRun, to_the_end

STEPS = (0, 1, 2, 7, 12)


@dataclass(frozen=True)
class Point:
    step: int
    loss: float


class Adder(TrainingRun[str, np.ndarray, int, Point]):
    """Adds 1, 2, 3, … to its number, drawn three at a time; some losses can be broken."""

    def __init__(self, *, bad_batch=None, bad_test=None):
        super().__init__("the settings", np.zeros(1))
        self.bad_batch, self.bad_test = bad_batch, bad_test
        self.drawn = 0

    def draw_batches(self):
        self.drawn += 3
        return [self.drawn - 2, self.drawn - 1, self.drawn]

    def take_step(self, batch):
        if batch == self.bad_batch:
            return False
        self.parameters += batch
        return True

    def test(self):
        loss = math.nan if self.step == self.bad_test else self.parameters.item()
        return Point(self.step, loss)


def test_every_batch_is_used_once_and_in_the_order_drawn():
    result = to_the_end(Adder().pieces(STEPS, 100, RunResult))
    sums = [step * (step + 1) / 2 for step in STEPS]
    assert result.checkpoints == tuple(map(Point, STEPS, sums))
    assert result.parameters.tolist() == [sums[-1]]
    assert (result.settings, result.diverged) == ("the settings", None)


@pytest.mark.parametrize("piece_steps", [1, 2, 3, 100])
def test_others_have_a_turn_after_so_many_steps(piece_steps):
    run = Adder()
    before = most = 0
    for piece in run.pieces(STEPS, piece_steps, RunResult):
        assert piece is None or run.step == before  # no steps between a turn and a checkpoint
        most = max(most, run.step - before)
        before = run.step
    assert most == min(piece_steps, 5)  # 5 steps lie between two checkpoints, at the most


@pytest.mark.parametrize("broken", [{"bad_batch": 8}, {"bad_test": 7}])
def test_a_loss_that_is_not_finite_ends_the_run_at_the_last_good_checkpoint(broken):
    result = to_the_end(Adder(**broken).pieces(STEPS, 2, RunResult))
    good = [0, 1, 2, 7] if "bad_batch" in broken else [0, 1, 2]
    assert [point.step for point in result.checkpoints] == good
    assert result.parameters.tolist() == [result.checkpoints[-1].loss]
    assert result.diverged == (
        "The loss stopped being a finite number at step 7; the last good checkpoint is step "
        f"{good[-1]}."
    )


def test_an_overflow_is_an_outcome_and_no_warning():
    class Wild(Adder):
        def take_step(self, batch):
            self.parameters *= np.float64(1e300)
            self.parameters += 1e300
            return True

    result = to_the_end(Wild().pieces(STEPS, 2, RunResult))
    assert [point.step for point in result.checkpoints] == [0, 1]
    assert result.diverged is not None
