"""Train the recall model, or a variant of it with something taken away.

A run depends on nothing but its `TrainSettings`: the start, the training batches and the test
sequences are three independent streams of one seed, so that variants of one seed start from the
same numbers and see the same sequences, and a short run is the beginning of a long one.
"""

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.circuits import PartIndex, backward, circuits, forward, index_parts
from core.optimisers import make_optimiser
from core.recall import MATRICES, Parameters, sample_sequences, start_parameters
from core.train_settings import VARIANTS, TrainSettings

__all__ = [
    "N_TEST",
    "VARIANTS",
    "Checkpoint",
    "TrainResult",
    "TrainSettings",
    "checkpoint_steps",
    "train",
    "train_pieces",
    "train_steps",
]

N_TEST = 2000  # sequences behind the loss and accuracy of every checkpoint
EARLY_STEPS = (0, 1, 2, 5, *range(10, 101, 10))  # where most of the learning happens
REGULAR_CHECKPOINTS = 100  # at most, besides the early ones
# Drawn at once. More would save no calls worth counting, and larger arrays cost more: memory is
# then given back and fetched anew for every chunk.
CHUNK_SEQUENCES = 1024
PIECE_SEQUENCES = 1024  # trained on between two chances to do something else: about 1 to 5 ms


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """The model after some number of steps, tested on N_TEST sequences it never trains on.

    The test sequences are the same at every checkpoint of a run, and for every variant of a seed.
    """

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy on the test sequences
    accuracy: float  # share of the test sequences answered right, 0 … 1
    qk: Floats  # (n_keys, n_keys + n_values) the QK circuit: a row asks
    ov: Floats  # (n_keys + n_values, n_values) the OV circuit: a row is looked at


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainResult:
    """A finished run."""

    settings: TrainSettings
    checkpoints: tuple[Checkpoint, ...]  # at least the one of step 0
    parameters: Parameters  # at the last checkpoint
    diverged: str | None  # a sentence if the run had to stop early


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


def start(settings: TrainSettings, rng: np.random.Generator) -> Parameters:
    """Draw the parameters that a run of these settings starts from."""
    parameters = start_parameters(settings.shape, settings.init_scale, rng, settings.float_type)
    if settings.variant == "uniform":
        parameters.W_Q[:] = 0
        parameters.W_K[:] = 0
    return parameters


def train_steps(settings: TrainSettings) -> Generator[Checkpoint, None, TrainResult]:
    """Train, and yield a checkpoint at each of `checkpoint_steps`.

    Abandon a run by not asking for its next checkpoint. The generator's return value (the
    ``value`` of its `StopIteration`) is the `TrainResult`. A run that diverges ends early: its
    checkpoints stop at the last good one, and the result says why.
    """
    pieces = train_pieces(settings)
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            result: TrainResult = end.value
            return result
        if piece is not None:
            yield piece


def train_pieces(
    settings: TrainSettings, steps: Iterable[int] | None = None
) -> Generator[Checkpoint | None, None, TrainResult]:
    """Train like `train_steps`, and yield None wherever others may have a turn in between.

    Args:
        settings: what determines the run. Its checkpoints do not.
        steps: which get a checkpoint, rising from 0 to the last; `checkpoint_steps` when None.
    """
    start_rng, batch_rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
    run = _Run(settings, start(settings, start_rng), batch_rng)
    test = _draw(settings, 1, N_TEST, test_rng)[0]
    checkpoints: list[Checkpoint] = []
    diverged = None
    piece_steps = max(1, PIECE_SEQUENCES // settings.batch_size)
    for step in checkpoint_steps(settings.n_steps) if steps is None else steps:
        finite = True
        while finite and run.step < step:
            finite = run.advance_to(min(step, run.step + piece_steps))
            yield None
        checkpoint = _test(run, test) if finite else None
        if checkpoint is None:
            diverged = (
                f"The loss stopped being a finite number at step {run.step}; "
                f"the last good checkpoint is step {checkpoints[-1].step}."
            )
            break
        good = run.parameters.copy()
        checkpoints.append(checkpoint)
        yield checkpoint
    return TrainResult(
        settings=settings, checkpoints=tuple(checkpoints), parameters=good, diverged=diverged
    )


def train(settings: TrainSettings) -> TrainResult:
    """Train to the end.

    >>> result = train(TrainSettings(n_steps=100))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.99
    (100, True)
    """
    run = train_steps(settings)
    while True:
        try:
            next(run)
        except StopIteration as end:
            result: TrainResult = end.value
            return result


class _Run:
    """The moving parts of one run: parameters that change in place, and the batches to come."""

    def __init__(
        self, settings: TrainSettings, parameters: Parameters, rng: np.random.Generator
    ) -> None:
        self.settings = settings
        self.parameters = parameters
        self.gradient = parameters.copy()
        # What is frozen lies at the front of the flat array, so the optimiser never sees it.
        after_frozen = slice(parameters.offsets[MATRICES[len(settings.frozen)]], None)
        self.trained = parameters.flat[after_frozen]
        self.trained_gradient = self.gradient.flat[after_frozen]
        self.optimiser = make_optimiser(settings.optimiser, settings.learning_rate, self.trained)
        self.rng = rng
        self.batches: list[PartIndex] = []  # drawn and not yet used, the next one last
        self.step = 0

    def advance_to(self, step: int) -> bool:
        """Train until this many steps are taken; return whether the loss stayed finite."""
        # An overflow is not a mistake here but the outcome to report.
        with np.errstate(over="ignore", invalid="ignore"):
            while self.step < step:
                if not self.batches:
                    self._draw_batches()
                if not self._take_step(self.batches.pop()):
                    return False
                self.step += 1
        return True

    def _draw_batches(self) -> None:
        size = self.settings.batch_size
        self.batches = _draw(self.settings, max(1, CHUNK_SEQUENCES // size), size, self.rng)
        self.batches.reverse()

    def _take_step(self, batch: PartIndex) -> bool:
        settings = self.settings
        tables = circuits(self.parameters, values_in_keys=settings.values_in_keys)
        answers = forward(tables, batch)
        if not math.isfinite(answers.losses.sum()):
            return False
        backward(
            self.parameters,
            tables,
            batch,
            answers,
            self.gradient,
            values_in_keys=settings.values_in_keys,
        )
        self.optimiser.step(self.trained, self.trained_gradient)
        return True


def _draw(
    settings: TrainSettings, n_batches: int, batch_size: int, rng: np.random.Generator
) -> list[PartIndex]:
    sequences = sample_sequences(
        n_batches * batch_size, settings.n_pairs, settings.n_keys, settings.n_values, rng
    )
    return index_parts(sequences, settings.n_keys, settings.n_values, batch_size)


def _test(run: _Run, test: PartIndex) -> Checkpoint | None:
    """Return the checkpoint of where the run is, or None if its loss is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        tables = circuits(run.parameters, values_in_keys=run.settings.values_in_keys)
        answers = forward(tables, test)
        loss = float(answers.losses.mean())
    if not np.isfinite(loss):
        return None
    return Checkpoint(
        step=run.step,
        loss=loss,
        accuracy=float((answers.predicted == test.answers).mean()),
        qk=tables.qk,
        ov=tables.ov,
    )
