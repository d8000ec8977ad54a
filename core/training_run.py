"""The frame of a training run: step by step, with checkpoints, to its end or to where it diverges.

What is trained, on what and by which rule is a `TrainingRun` of its own in each of
`core.training`, `core.question_training`, `core.two_facts_training` and `core.order_training`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

EARLY_STEPS = (0, 1, 2, 5, *range(10, 101, 10))  # where most of the learning happens
REGULAR_CHECKPOINTS = 100  # at most, besides the early ones


class Scored(Protocol):
    """A checkpoint, of whatever model."""

    @property
    def step(self) -> int:
        """Optimiser steps taken."""

    @property
    def loss(self) -> float:
        """Nats, on test sequences."""


class Copied(Protocol):
    """Parameters, of whatever model."""

    def copy(self) -> Self:
        """Return the same numbers in arrays of their own."""


S = TypeVar("S")  # the settings
P = TypeVar("P", bound=Copied)  # the parameters
C = TypeVar("C", bound=Scored)  # a checkpoint
B = TypeVar("B")  # a batch
V = TypeVar("V")  # what a generator returns


@dataclass(frozen=True, kw_only=True, eq=False)
class RunResult(Generic[S, C, P]):
    """A finished run. Each model has its own, under its own name."""

    settings: S
    checkpoints: tuple[C, ...]  # at least the one of step 0
    parameters: P  # at the last checkpoint
    diverged: str | None  # a sentence if the run had to stop early


R = TypeVar("R", bound=RunResult[Any, Any, Any])


class TrainingRun(ABC, Generic[S, P, B, C]):
    """The moving parts of one run: parameters that change in place, and the batches to come."""

    def __init__(self, settings: S, parameters: P) -> None:
        self.settings = settings
        self.parameters = parameters
        self.batches: list[B] = []  # drawn and not yet used, the next one last
        self.step = 0  # optimiser steps taken

    @abstractmethod
    def draw_batches(self) -> list[B]:
        """Draw the next few batches, the first to be used first."""

    @abstractmethod
    def take_step(self, batch: B) -> bool:
        """Take one step; return False, and take none, if the loss is no longer finite."""

    @abstractmethod
    def test(self) -> C:
        """Return the checkpoint of where the run is."""

    def pieces(
        self, steps: Iterable[int], piece_steps: int, result: type[R]
    ) -> Generator[C | None, None, R]:
        """Train, yield each checkpoint, and None wherever others may have a turn in between.

        A run that diverges ends early: its checkpoints stop at the last good one, and the result
        says why.

        Args:
            steps: which get a checkpoint, rising from 0 to the last.
            piece_steps: steps between two turns of others, at the most.
            result: the class of what is returned.
        """
        checkpoints: list[C] = []
        diverged = None
        for step in steps:
            finite = True
            while finite and self.step < step:
                finite = self._advance_to(min(step, self.step + piece_steps))
                yield None
            checkpoint = self._tested() if finite else None
            if checkpoint is None:
                diverged = (
                    f"The loss stopped being a finite number at step {self.step}; "
                    f"the last good checkpoint is step {checkpoints[-1].step}."
                )
                break
            good = self.parameters.copy()
            checkpoints.append(checkpoint)
            yield checkpoint
        return result(
            settings=self.settings,
            checkpoints=tuple(checkpoints),
            parameters=good,
            diverged=diverged,
        )

    def _advance_to(self, step: int) -> bool:
        """Train until this many steps are taken; return whether the loss stayed finite."""
        # An overflow is not a mistake here but the outcome to report.
        with np.errstate(over="ignore", invalid="ignore"):
            while self.step < step:
                if not self.batches:
                    self.batches = self.draw_batches()[::-1]
                if not self.take_step(self.batches.pop()):
                    return False
                self.step += 1
        return True

    def _tested(self) -> C | None:
        """Return the checkpoint of where the run is, or None if its loss is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            checkpoint = self.test()
        return checkpoint if math.isfinite(checkpoint.loss) else None


def checkpoint_steps(n_steps: int) -> tuple[int, ...]:
    """Return the steps that get a checkpoint: dense early, then regular, and always the last.

    >>> checkpoint_steps(30)[:8]
    (0, 1, 2, 3, 4, 5, 6, 7)
    >>> checkpoint_steps(3000)[12:17]
    (90, 100, 150, 200, 250)
    """
    spacing = next(
        factor * 10**power
        for power in range(5)
        for factor in (1, 2, 5)
        if n_steps <= factor * 10**power * REGULAR_CHECKPOINTS
    )
    steps = {*EARLY_STEPS, *range(0, n_steps, spacing), n_steps}
    return tuple(sorted(step for step in steps if step <= n_steps))


def to_the_end(pieces: Generator[object, None, V]) -> V:
    """Let a generator run out, and return its value."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            value: V = end.value
            return value
