"""Train a few heads on two facts at once.

As in `core.training`, a run depends on nothing but its settings: the start, the training batches
and the test sequences are three independent streams of one seed. Runs of one seed that differ in
their heads or in the order of the answers see the same sequences.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from core.optimisers import Adam
from core.training import checkpoint_steps
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
CHUNK_SEQUENCES = 1024  # drawn at once; see `core.training`
PIECE_SEQUENCES = 512  # trained on between two chances to do something else: about 2 to 5 ms


@dataclass(frozen=True, kw_only=True)
class TwoFactsCheckpoint:
    """The model after some number of steps, tested on N_TEST sequences it never trains on."""

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy of both answers together, whatever the goal
    accuracy: float  # share of the test sequences with both answers right, 0 … 1


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoFactsResult:
    """A finished run."""

    settings: TwoFactsSettings
    checkpoints: tuple[TwoFactsCheckpoint, ...]  # at least the one of step 0
    parameters: HeadsParameters  # at the last checkpoint
    diverged: str | None  # a sentence if the run had to stop early


def train_pieces(
    settings: TwoFactsSettings,
) -> Generator[TwoFactsCheckpoint | None, None, TwoFactsResult]:
    """Train; yield a checkpoint now and then, and None wherever others may have a turn.

    A run that diverges ends early: its checkpoints stop at the last good one.
    """
    start_rng, batch_rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
    start = start_heads(settings.shape, settings.init_scale, start_rng, settings.float_type)
    run = _Run(settings, start, batch_rng)
    test = _draw(settings, 1, N_TEST, test_rng)[0]
    checkpoints: list[TwoFactsCheckpoint] = []
    diverged = None
    piece_steps = max(1, PIECE_SEQUENCES // settings.batch_size)
    for step in checkpoint_steps(settings.n_steps):
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
    return TwoFactsResult(
        settings=settings, checkpoints=tuple(checkpoints), parameters=good, diverged=diverged
    )


def train(settings: TwoFactsSettings) -> TwoFactsResult:
    """Train to the end.

    >>> result = train(TwoFactsSettings(n_heads=2, n_steps=200))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.9
    (200, True)
    """
    run = train_pieces(settings)
    while True:
        try:
            next(run)
        except StopIteration as end:
            result: TwoFactsResult = end.value
            return result


def fresh_facts(settings: TwoFactsSettings, n_sequences: int) -> TwoFacts:
    """Draw sequences of the seed's fourth stream, which no training of the seed uses."""
    rng = np.random.default_rng(settings.seed).spawn(4)[3]
    return _sample(settings, n_sequences, rng)


class _Run:
    """The moving parts of one run: parameters that change in place, and the batches to come."""

    def __init__(
        self, settings: TwoFactsSettings, parameters: HeadsParameters, rng: np.random.Generator
    ) -> None:
        self.settings = settings
        self.parameters = parameters
        self.gradient = parameters.copy()
        self.optimiser = Adam(settings.learning_rate, parameters.flat)
        self.rng = rng
        self.batches: list[FactIndex] = []  # drawn and not yet used, the next one last
        self.step = 0

    def advance_to(self, step: int) -> bool:
        """Train until this many steps are taken; return whether the loss stayed finite."""
        # An overflow is not a mistake here but the outcome to report.
        with np.errstate(over="ignore", invalid="ignore"):
            while self.step < step:
                if not self._take_step():
                    return False
                self.step += 1
        return True

    def _take_step(self) -> bool:
        settings = self.settings
        if not self.batches:
            n_batches = max(1, CHUNK_SEQUENCES // settings.batch_size)
            self.batches = _draw(settings, n_batches, settings.batch_size, self.rng)[::-1]
        batch = self.batches.pop()
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


def _test(run: _Run, test: FactIndex) -> TwoFactsCheckpoint | None:
    """Return the checkpoint of where the run is, or None if its loss is not finite."""
    settings = run.settings
    with np.errstate(over="ignore", invalid="ignore"):
        tables = head_tables(run.parameters, values_in_keys=settings.values_in_keys)
        answers = forward_heads(tables, test)
        loss = float(-answers.log_p.mean(dtype=np.float64))
    if not np.isfinite(loss):
        return None
    right = (answers.predicted == test.answers).all(axis=0)
    return TwoFactsCheckpoint(step=run.step, loss=loss, accuracy=float(right.mean()))
