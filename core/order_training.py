"""Train one head on the task that needs word order, and score it.

The start, the training batches, the test sequences and the fresh sequences of the score are
independent streams of one seed, so that all schemes of a seed start from the same numbers and see
the same sequences. Adam's learning rate falls in a straight line to 0 over the run: at a constant
rate the last steps' noise hides whether a scheme gets everything right.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace

import numpy as np

from core.ablation_scores import SOLVED, Score
from core.attention import Bools, Floats
from core.limits import check_whole
from core.optimisers import Adam
from core.order_model import (
    OrderAnswers,
    OrderParameters,
    backward,
    forward,
    losses,
    positions_of,
    start_order,
)
from core.positions import SCHEMES
from core.recall import Integers
from core.series import SeriesStep, series_steps
from core.training_run import RunResult, TrainingRun, checkpoint_steps, to_the_end
from core.word_order import N_KEYS, OrderSequences, OrderSettings, arrange, one_hot, sample_order

N_TEST = 1000  # sequences behind the loss and accuracy of every checkpoint
N_FRESH = 5000  # fresh sequences behind a run's score
N_LENGTH = 1000  # fresh sequences behind the score at each other length
N_SHUFFLED = 500  # sequences whose pairs are shuffled
CHUNK_STEPS = 16  # steps whose batches are drawn at once, and between two chances for others
MAX_SEEDS = 10
SLOPES = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 4.0, 16.0)


@dataclass(frozen=True, kw_only=True)
class OrderCheckpoint:
    """The model after some steps, on the same N_TEST sequences at every checkpoint of a seed."""

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy
    accuracy: float  # 0 … 1


class OrderResult(RunResult[OrderSettings, OrderCheckpoint, OrderParameters]):
    """A finished run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderRun:
    """A finished run's scores, all on fresh sequences."""

    settings: OrderSettings
    score: Score  # N_FRESH sequences of the trained length
    weight_on_last: float  # mean weight on the pair that counts
    weight_on_earlier: float | None  # the same on all the asked key's earlier pairs together
    weight_on_others: float | None  # the same on all pairs of other keys together
    weight_on_question: float  # the same on the question itself
    by_distance: (
        Floats  # (n_pairs,) mean score of the asked key's pairs, [i] is i + 1 positions back
    )
    by_others: tuple[Score | None, ...]  # (8,) with 0 … 7 other pairs; None: no vector that far
    shuffle_change: float  # largest change of a probability when pairs are shuffled, in float64
    shuffle_kept: Score  # how many answers stay when the pairs are shuffled
    positions: Floats  # (n_tokens, d_model) the trained position vectors, or no rows
    solved_at: int | None  # step of the first checkpoint from 99 % on; None if there is none
    diverged: str | None  # a sentence if the training had to stop early


@dataclass(frozen=True, kw_only=True)
class OrderSeries:
    """Every scheme, trained from each of several seeds."""

    train: OrderSettings  # shared by all runs; its seed is the first one, its scheme not used
    n_seeds: int = 3  # runs of each scheme, 1 … 10

    def __post_init__(self) -> None:
        check_whole(self, {"n_seeds": (1, MAX_SEEDS)})

    @property
    def runs(self) -> tuple[OrderSettings, ...]:
        """The settings of every run: all schemes of one seed, then those of the next."""
        return tuple(
            replace(self.train, scheme=scheme, seed=self.train.seed + i)
            for i in range(self.n_seeds)
            for scheme in SCHEMES
        )


def slope_runs(series: OrderSeries) -> tuple[OrderSettings, ...]:
    """Return the settings of an ALiBi run for each of `SLOPES` and each seed of the series."""
    return tuple(
        replace(series.train, scheme="alibi", alibi_slope=slope, seed=series.train.seed + i)
        for i in range(series.n_seeds)
        for slope in SLOPES
    )


def order_steps(
    runs: Iterable[OrderSettings],
) -> Generator[SeriesStep[OrderSettings, OrderRun] | None, None, None]:
    """Train and score these runs one after another; see `core.series.series_steps`."""
    yield from series_steps(runs, order_pieces, score_order)


def train_order(settings: OrderSettings) -> OrderResult:
    """Train to the end.

    >>> result = train_order(OrderSettings(scheme="alibi", n_steps=300))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.9
    (300, True)
    """
    return to_the_end(order_pieces(settings))


def order_pieces(settings: OrderSettings) -> Generator[OrderCheckpoint | None, None, OrderResult]:
    """Train; see `core.training_run.TrainingRun.pieces`."""
    run = _Run(settings)
    return (yield from run.pieces(checkpoint_steps(settings.n_steps), CHUNK_STEPS, OrderResult))


def score_order(result: OrderResult) -> OrderRun:
    """Score a trained head on fresh sequences, on other lengths, and on shuffled pairs."""
    settings, p = result.settings, result.parameters
    fresh_rng, length_rng, shuffle_rng = np.random.default_rng(settings.seed).spawn(6)[3:]
    fresh = sample_order(settings, N_FRESH, fresh_rng)
    answers = forward(p, positions_of(settings), one_hot(settings, fresh))
    pairs = answers.weights[:, :-1]
    matches = fresh.keys == fresh.questions[:, np.newaxis]
    last = np.arange(settings.n_pairs) == fresh.last[:, np.newaxis]
    change, kept = _shuffle(result, shuffle_rng)
    return OrderRun(
        settings=settings,
        score=_score(answers, fresh),
        weight_on_last=_mean(pairs, last),
        weight_on_earlier=_mean(pairs, matches & ~last) if settings.n_times > 1 else None,
        weight_on_others=_mean(pairs, ~matches) if settings.n_others else None,
        weight_on_question=float(answers.weights[:, -1].mean(dtype=np.float64)),
        by_distance=_by_distance(answers.scores[:, :-1], matches),
        by_others=tuple(_at_length(result, n, length_rng) for n in range(N_KEYS)),
        shuffle_change=change,
        shuffle_kept=kept,
        positions=p.positions.copy(),
        solved_at=next((c.step for c in result.checkpoints if c.accuracy >= SOLVED), None),
        diverged=result.diverged,
    )


class _Run(TrainingRun[OrderSettings, OrderParameters, tuple[Floats, Integers], OrderCheckpoint]):
    def __init__(self, settings: OrderSettings) -> None:
        start_rng, self.rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
        parameters = start_order(settings, start_rng)
        super().__init__(settings, parameters)
        self.positions = positions_of(settings)
        self.gradient = parameters.copy()
        self.optimiser = Adam(settings.learning_rate, parameters.flat)
        self.test_sequences = sample_order(settings, N_TEST, test_rng)
        self.test_tokens = one_hot(settings, self.test_sequences)

    def draw_batches(self) -> list[tuple[Floats, Integers]]:
        size = self.settings.batch_size
        chunk = sample_order(self.settings, CHUNK_STEPS * size, self.rng)
        tokens = one_hot(self.settings, chunk)
        return [
            (tokens[start : start + size], chunk.answers[start : start + size])
            for start in range(0, CHUNK_STEPS * size, size)
        ]

    def take_step(self, batch: tuple[Floats, Integers]) -> bool:
        tokens, right = batch
        answers = forward(self.parameters, self.positions, tokens)
        if not np.isfinite(answers.logits).all():
            return False
        backward(self.parameters, self.positions, tokens, right, answers, self.gradient)
        left = 1 - self.step / self.settings.n_steps
        self.optimiser.learning_rate = self.settings.learning_rate * left
        self.optimiser.step(self.parameters.flat, self.gradient.flat)
        return True

    def test(self) -> OrderCheckpoint:
        answers = forward(self.parameters, self.positions, self.test_tokens)
        right = self.test_sequences.answers
        return OrderCheckpoint(
            step=self.step,
            loss=float(losses(answers, right).mean(dtype=np.float64)),
            accuracy=float((answers.predicted == right).mean()),
        )


def _at_length(result: OrderResult, n_others: int, rng: np.random.Generator) -> Score | None:
    """Score the head on sequences with another number of other pairs than it was trained on."""
    settings = replace(result.settings, n_others=n_others)
    sequences = sample_order(settings, N_LENGTH, rng)
    if settings.scheme == "learned" and settings.n_tokens > len(result.parameters.positions):
        return None
    positions = positions_of(settings)
    return _score(forward(result.parameters, positions, one_hot(settings, sequences)), sequences)


def _shuffle(result: OrderResult, rng: np.random.Generator) -> tuple[float, Score]:
    """Shuffle each sequence's pairs; return the largest change, and how many answers stay."""
    settings = replace(result.settings, float_type="float64")
    before = sample_order(settings, N_SHUFFLED, rng)
    order = rng.random(before.keys.shape).argsort(axis=1)
    after = arrange(
        np.take_along_axis(before.keys, order, axis=1),
        np.take_along_axis(before.values, order, axis=1),
        before.questions,
    )
    p, positions = result.parameters.copy("float64"), positions_of(settings)
    one, other = (forward(p, positions, one_hot(settings, order)) for order in (before, after))
    kept = int((one.predicted == other.predicted).sum())
    change = float(np.abs(one.probabilities - other.probabilities).max())
    return change, Score(right=kept, total=N_SHUFFLED)


def _by_distance(scores: Floats, matches: Bools) -> Floats:
    """Return the mean score of the asked key's pairs for each distance from the question."""
    sums = np.where(matches, scores, 0).sum(axis=0, dtype=np.float64)
    means: Floats = (sums / matches.sum(axis=0))[::-1]
    return means


def _mean(weights: Floats, which: Bools) -> float:
    return float(np.where(which, weights, 0).sum(axis=1).mean(dtype=np.float64))


def _score(answers: OrderAnswers, sequences: OrderSequences) -> Score:
    right = int((answers.predicted == sequences.answers).sum())
    return Score(right=right, total=len(sequences))
