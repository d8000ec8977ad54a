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
from core.training_run import RunResult, TrainingRun, checkpoint_steps, to_the_end

__all__ = [
    "N_TEST",
    "VARIANTS",
    "Checkpoint",
    "TrainResult",
    "TrainSettings",
    "train",
    "train_pieces",
    "train_steps",
]

N_TEST = 2000  # sequences behind the loss and accuracy of every checkpoint
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


class TrainResult(RunResult[TrainSettings, Checkpoint, Parameters]):
    """A finished run."""


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
    run = _Run(settings)
    if steps is None:
        steps = checkpoint_steps(settings.n_steps)
    piece_steps = max(1, PIECE_SEQUENCES // settings.batch_size)
    return (yield from run.pieces(steps, piece_steps, TrainResult))


def train(settings: TrainSettings) -> TrainResult:
    """Train to the end.

    >>> result = train(TrainSettings(n_steps=100))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.99
    (100, True)
    """
    return to_the_end(train_pieces(settings))


class _Run(TrainingRun[TrainSettings, Parameters, PartIndex, Checkpoint]):
    def __init__(self, settings: TrainSettings) -> None:
        start_rng, self.rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
        parameters = start(settings, start_rng)
        super().__init__(settings, parameters)
        self.gradient = parameters.copy()
        # What is frozen lies at the front of the flat array, so the optimiser never sees it.
        after_frozen = slice(parameters.offsets[MATRICES[len(settings.frozen)]], None)
        self.trained = parameters.flat[after_frozen]
        self.trained_gradient = self.gradient.flat[after_frozen]
        self.optimiser = make_optimiser(settings.optimiser, settings.learning_rate, self.trained)
        [self.test_batch] = _draw(settings, 1, N_TEST, test_rng)

    def draw_batches(self) -> list[PartIndex]:
        size = self.settings.batch_size
        return _draw(self.settings, max(1, CHUNK_SEQUENCES // size), size, self.rng)

    def take_step(self, batch: PartIndex) -> bool:
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

    def test(self) -> Checkpoint:
        tables = circuits(self.parameters, values_in_keys=self.settings.values_in_keys)
        answers = forward(tables, self.test_batch)
        return Checkpoint(
            step=self.step,
            loss=float(answers.losses.mean()),
            accuracy=float((answers.predicted == self.test_batch.answers).mean()),
            qk=tables.qk,
            ov=tables.ov,
        )


def _draw(
    settings: TrainSettings, n_batches: int, batch_size: int, rng: np.random.Generator
) -> list[PartIndex]:
    sequences = sample_sequences(
        n_batches * batch_size, settings.n_pairs, settings.n_keys, settings.n_values, rng
    )
    return index_parts(sequences, settings.n_keys, settings.n_values, batch_size)
