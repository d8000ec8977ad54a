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
from core.training import CHUNK_SEQUENCES, N_TEST, PIECE_SEQUENCES, checkpoint_steps


@dataclass(frozen=True, kw_only=True)
class QuestionCheckpoint:
    """The model after some number of steps, tested on N_TEST sequences it never trains on."""

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy
    accuracy: float  # share answered right, 0 … 1
    weight_on_match: float  # mean weight on the pair that holds the answer
    weight_on_question: float  # mean weight on the question's own position


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionResult:
    """A finished run."""

    settings: QuestionSettings
    checkpoints: tuple[QuestionCheckpoint, ...]  # at least the one of step 0
    parameters: QuestionParameters  # at the last checkpoint
    diverged: str | None  # a sentence if the run had to stop early


def train(settings: QuestionSettings) -> QuestionResult:
    """Train to the end.

    >>> result = train(QuestionSettings(n_steps=100))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.99
    (100, True)
    """
    pieces = train_pieces(settings)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            result: QuestionResult = end.value
            return result


def train_pieces(
    settings: QuestionSettings,
) -> Generator[QuestionCheckpoint | None, None, QuestionResult]:
    """Train, yield the checkpoints, and None wherever others may have a turn in between.

    A run that diverges ends early: its checkpoints stop at the last good one.
    """
    start_rng, batch_rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
    run = _Run(settings, start(settings, start_rng), batch_rng)
    sequences = _draw(settings, N_TEST, test_rng)
    checkpoints: list[QuestionCheckpoint] = []
    diverged = None
    piece_steps = max(1, PIECE_SEQUENCES // settings.batch_size)
    for step in checkpoint_steps(settings.n_steps):
        finite = True
        while finite and run.step < step:
            finite = run.advance_to(min(step, run.step + piece_steps))
            yield None
        checkpoint = _test(run, sequences) if finite else None
        if checkpoint is None:
            diverged = (
                f"The loss stopped being a finite number at step {run.step}; "
                f"the last good checkpoint is step {checkpoints[-1].step}."
            )
            break
        good = run.parameters.copy()
        checkpoints.append(checkpoint)
        yield checkpoint
    return QuestionResult(
        settings=settings, checkpoints=tuple(checkpoints), parameters=good, diverged=diverged
    )


def answer_all(
    parameters: QuestionParameters, settings: QuestionSettings, sequences: Sequences
) -> Forward:
    """Let the model answer these sequences."""
    [batch] = _index(settings, sequences)
    return forward(circuits(parameters, settings), batch, normalised=settings.sum_to_one)


class _Run:
    """The moving parts of one run: parameters that change in place, and the batches to come."""

    def __init__(
        self,
        settings: QuestionSettings,
        parameters: QuestionParameters,
        rng: np.random.Generator,
    ) -> None:
        self.settings = settings
        self.parameters = parameters
        self.gradient = parameters.copy()
        self.optimiser = make_optimiser(settings.optimiser, settings.learning_rate, parameters.flat)
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
        n_batches = max(1, CHUNK_SEQUENCES // size)
        sequences = _draw(self.settings, n_batches * size, self.rng)
        self.batches = _index(self.settings, sequences, size)
        self.batches.reverse()

    def _take_step(self, batch: PartIndex) -> bool:
        settings = self.settings
        tables = circuits(self.parameters, settings)
        answers = forward(tables, batch, normalised=settings.sum_to_one)
        if not np.isfinite(answers.losses.sum()):
            return False
        backward(self.parameters, settings, tables, batch, answers, self.gradient)
        self.optimiser.step(self.parameters.flat, self.gradient.flat)
        return True


def _draw(settings: QuestionSettings, n_sequences: int, rng: np.random.Generator) -> Sequences:
    return sample_sequences(n_sequences, settings.n_pairs, settings.n_keys, settings.n_values, rng)


def _index(
    settings: QuestionSettings, sequences: Sequences, batch_size: int | None = None
) -> list[PartIndex]:
    return index_parts(
        sequences, settings.n_keys, settings.n_values, batch_size, own_questions=True
    )


def _test(run: _Run, sequences: Sequences) -> QuestionCheckpoint | None:
    """Return the checkpoint of where the run is, or None if its loss is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        answers = answer_all(run.parameters, run.settings, sequences)
        loss = float(answers.losses.mean())
    if not np.isfinite(loss):
        return None
    match: Floats = answers.weights[sequences.asked, np.arange(len(sequences))]
    return QuestionCheckpoint(
        step=run.step,
        loss=loss,
        accuracy=float((answers.predicted == sequences.answers).mean()),
        weight_on_match=float(match.mean(dtype=np.float64)),
        weight_on_question=float(answers.weights[-1].mean(dtype=np.float64)),
    )
