"""Train the model of `core.question_model`, and watch where the question looks meanwhile.

Start, training batches and test sequences are those of `core.training` for the same seed, so that
what differs between two runs of a seed is what was done to the question alone.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.circuits import Forward, PartIndex, forward, index_parts
from core.optimisers import make_optimiser
from core.question_model import (
    QuestionParameters,
    QuestionSettings,
    backward,
    circuits,
    start,
)
from core.recall import Sequences, sample_sequences
from core.training import CHUNK_SEQUENCES, N_TEST, PIECE_SEQUENCES
from core.training_run import RunResult, TrainingRun, checkpoint_steps, to_the_end


@dataclass(frozen=True, kw_only=True)
class QuestionCheckpoint:
    """The model after some number of steps, tested on N_TEST sequences it never trains on."""

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy
    accuracy: float  # share answered right, 0 … 1
    weight_on_match: float  # mean weight on the pair that holds the answer
    weight_on_question: float  # mean weight on the question's own position


class QuestionResult(RunResult[QuestionSettings, QuestionCheckpoint, QuestionParameters]):
    """A finished run."""


def train(settings: QuestionSettings) -> QuestionResult:
    """Train to the end.

    >>> result = train(QuestionSettings(n_steps=100))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.99
    (100, True)
    """
    return to_the_end(train_pieces(settings))


def train_pieces(
    settings: QuestionSettings,
) -> Generator[QuestionCheckpoint | None, None, QuestionResult]:
    """Train; see `core.training_run.TrainingRun.pieces`."""
    run = _Run(settings)
    steps = checkpoint_steps(settings.n_steps)
    piece_steps = max(1, PIECE_SEQUENCES // settings.batch_size)
    return (yield from run.pieces(steps, piece_steps, QuestionResult))


def answer_all(
    parameters: QuestionParameters, settings: QuestionSettings, sequences: Sequences
) -> Forward:
    """Let the model answer these sequences."""
    [batch] = _index(settings, sequences)
    return forward(circuits(parameters, settings), batch, normalised=settings.sum_to_one)


class _Run(TrainingRun[QuestionSettings, QuestionParameters, PartIndex, QuestionCheckpoint]):
    def __init__(self, settings: QuestionSettings) -> None:
        start_rng, self.rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
        parameters = start(settings, start_rng)
        super().__init__(settings, parameters)
        self.gradient = parameters.copy()
        self.optimiser = make_optimiser(settings.optimiser, settings.learning_rate, parameters.flat)
        self.test_sequences = _draw(settings, N_TEST, test_rng)

    def draw_batches(self) -> list[PartIndex]:
        size = self.settings.batch_size
        sequences = _draw(self.settings, max(1, CHUNK_SEQUENCES // size) * size, self.rng)
        return _index(self.settings, sequences, size)

    def take_step(self, batch: PartIndex) -> bool:
        settings = self.settings
        tables = circuits(self.parameters, settings)
        answers = forward(tables, batch, normalised=settings.sum_to_one)
        if not np.isfinite(answers.losses.sum()):
            return False
        backward(self.parameters, settings, tables, batch, answers, self.gradient)
        self.optimiser.step(self.parameters.flat, self.gradient.flat)
        return True

    def test(self) -> QuestionCheckpoint:
        sequences = self.test_sequences
        answers = answer_all(self.parameters, self.settings, sequences)
        match: Floats = answers.weights[sequences.asked, np.arange(len(sequences))]
        return QuestionCheckpoint(
            step=self.step,
            loss=float(answers.losses.mean()),
            accuracy=float((answers.predicted == sequences.answers).mean()),
            weight_on_match=float(match.mean(dtype=np.float64)),
            weight_on_question=float(answers.weights[-1].mean(dtype=np.float64)),
        )


def _draw(settings: QuestionSettings, n_sequences: int, rng: np.random.Generator) -> Sequences:
    return sample_sequences(n_sequences, settings.n_pairs, settings.n_keys, settings.n_values, rng)


def _index(
    settings: QuestionSettings, sequences: Sequences, batch_size: int | None = None
) -> list[PartIndex]:
    return index_parts(
        sequences, settings.n_keys, settings.n_values, batch_size, own_questions=True
    )
