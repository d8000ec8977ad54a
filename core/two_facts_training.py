"""Train a few heads on two facts at once.

As in `core.training`, a run depends on nothing but its settings: the start, the training batches
and the test sequences are three independent streams of one seed. Runs of one seed that differ in
their heads or in the order of the answers see the same sequences.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from core.optimisers import Adam
from core.training import CHUNK_SEQUENCES
from core.training_run import RunResult, TrainingRun, checkpoint_steps, to_the_end
from core.two_facts import TwoFacts, sample_two_facts
from core.two_facts_circuits import (
    FactIndex,
    backward_heads,
    forward_heads,
    head_tables,
    index_facts,
)
from core.two_facts_model import HeadsParameters, start_heads
from core.two_facts_settings import TwoFactsSettings

N_TEST = 1000  # sequences behind the loss and accuracy of every checkpoint
PIECE_SEQUENCES = 512  # trained on between two chances to do something else: about 2 to 5 ms


@dataclass(frozen=True, kw_only=True)
class TwoFactsCheckpoint:
    """The model after some number of steps, tested on N_TEST sequences it never trains on."""

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy of both answers together, whatever the goal
    accuracy: float  # share of the test sequences with both answers right, 0 … 1


class TwoFactsResult(RunResult[TwoFactsSettings, TwoFactsCheckpoint, HeadsParameters]):
    """A finished run."""


def train_pieces(
    settings: TwoFactsSettings,
) -> Generator[TwoFactsCheckpoint | None, None, TwoFactsResult]:
    """Train; see `core.training_run.TrainingRun.pieces`."""
    run = _Run(settings)
    steps = checkpoint_steps(settings.n_steps)
    piece_steps = max(1, PIECE_SEQUENCES // settings.batch_size)
    return (yield from run.pieces(steps, piece_steps, TwoFactsResult))


def train(settings: TwoFactsSettings) -> TwoFactsResult:
    """Train to the end.

    >>> result = train(TwoFactsSettings(n_heads=2, n_steps=200))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.9
    (200, True)
    """
    return to_the_end(train_pieces(settings))


def fresh_facts(settings: TwoFactsSettings, n_sequences: int) -> TwoFacts:
    """Draw sequences of the seed's fourth stream, which no training of the seed uses."""
    rng = np.random.default_rng(settings.seed).spawn(4)[3]
    return _sample(settings, n_sequences, rng)


class _Run(TrainingRun[TwoFactsSettings, HeadsParameters, FactIndex, TwoFactsCheckpoint]):
    def __init__(self, settings: TwoFactsSettings) -> None:
        start_rng, self.rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
        parameters = start_heads(
            settings.shape, settings.init_scale, start_rng, settings.float_type
        )
        super().__init__(settings, parameters)
        self.gradient = parameters.copy()
        self.optimiser = Adam(settings.learning_rate, parameters.flat)
        [self.test_batch] = _draw(settings, 1, N_TEST, test_rng)

    def draw_batches(self) -> list[FactIndex]:
        size = self.settings.batch_size
        return _draw(self.settings, max(1, CHUNK_SEQUENCES // size), size, self.rng)

    def take_step(self, batch: FactIndex) -> bool:
        settings = self.settings
        tables = head_tables(self.parameters, values_in_keys=settings.values_in_keys)
        answers = forward_heads(tables, batch)
        if not np.isfinite(answers.log_p.sum()):
            return False
        backward_heads(
            self.parameters,
            tables,
            batch,
            answers,
            self.gradient,
            q=settings.q_at(self.step),
        )
        self.optimiser.step(self.parameters.flat, self.gradient.flat)
        return True

    def test(self) -> TwoFactsCheckpoint:
        tables = head_tables(self.parameters, values_in_keys=self.settings.values_in_keys)
        answers = forward_heads(tables, self.test_batch)
        right = (answers.predicted == self.test_batch.answers).all(axis=0)
        return TwoFactsCheckpoint(
            step=self.step,
            loss=float(-answers.log_p.mean(dtype=np.float64)),
            accuracy=float(right.mean()),
        )


def _sample(settings: TwoFactsSettings, n_sequences: int, rng: np.random.Generator) -> TwoFacts:
    return sample_two_facts(
        n_sequences,
        settings.n_pairs,
        settings.n_keys,
        settings.n_values,
        settings.order,
        rng,
    )


def _draw(
    settings: TwoFactsSettings, n_batches: int, batch_size: int, rng: np.random.Generator
) -> list[FactIndex]:
    sequences = _sample(settings, n_batches * batch_size, rng)
    return index_facts(
        sequences, settings.shape, batch_size, values_in_keys=settings.values_in_keys
    )
