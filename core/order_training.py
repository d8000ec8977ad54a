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
from core.training import checkpoint_steps
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


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderResult:
    """A finished run."""

    settings: OrderSettings
    checkpoints: tuple[OrderCheckpoint, ...]  # at least the one of step 0
    parameters: OrderParameters  # at the last checkpoint
    diverged: str | None  # a sentence if the run had to stop early


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
    pieces = order_pieces(settings)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            result: OrderResult = end.value
            return result


def order_pieces(settings: OrderSettings) -> Generator[OrderCheckpoint | None, None, OrderResult]:
    """Train, yield each checkpoint, and None wherever others may have a turn in between."""
    start_rng, batch_rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
    parameters = start_order(settings, start_rng)
    batches = _batches(settings, batch_rng)
    stepper = _Stepper(parameters)
    test = sample_order(settings, N_TEST, test_rng)
    tokens = one_hot(settings, test)
    checkpoints: list[OrderCheckpoint] = []
    diverged = None
    good = parameters.copy()
    for target in checkpoint_steps(settings.n_steps):
        finite = True
        while finite and stepper.step < target:
            for _ in range(min(CHUNK_STEPS, target - stepper.step)):
                finite = finite and stepper.take(*next(batches))
            yield None
        checkpoint = _test(stepper, tokens, test) if finite else None
        if checkpoint is None:
            diverged = (
                f"The loss stopped being a finite number at step {stepper.step}; "
                f"the last good checkpoint is step {checkpoints[-1].step if checkpoints else 0}."
            )
            break
        good = parameters.copy()
        checkpoints.append(checkpoint)
        yield checkpoint
    return OrderResult(
        settings=settings, checkpoints=tuple(checkpoints), parameters=good, diverged=diverged
    )


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


class _Stepper:
    """Takes optimiser steps on parameters that change in place."""

    def __init__(self, parameters: OrderParameters) -> None:
        self.parameters = parameters
        self.settings = parameters.settings
        self.positions = positions_of(self.settings)
        self.gradient = parameters.copy()
        self.optimiser = Adam(self.settings.learning_rate, parameters.flat)
        self.step = 0

    def take(self, tokens: Floats, right: Integers) -> bool:
        """Take one step; return False, and take none, if the loss is no longer finite."""
        # An overflow is not a mistake here but the outcome to report.
        with np.errstate(over="ignore", invalid="ignore"):
            answers = forward(self.parameters, self.positions, tokens)
            if not np.isfinite(answers.logits).all():
                return False
            backward(self.parameters, self.positions, tokens, right, answers, self.gradient)
            left = 1 - self.step / self.settings.n_steps
            self.optimiser.learning_rate = self.settings.learning_rate * left
            self.optimiser.step(self.parameters.flat, self.gradient.flat)
        self.step += 1
        return True


def _batches(
    settings: OrderSettings, rng: np.random.Generator
) -> Generator[tuple[Floats, Integers], None, None]:
    """Draw batches for ever, CHUNK_STEPS of them at a time."""
    size = settings.batch_size
    while True:
        chunk = sample_order(settings, CHUNK_STEPS * size, rng)
        tokens = one_hot(settings, chunk)
        for start in range(0, CHUNK_STEPS * size, size):
            yield tokens[start : start + size], chunk.answers[start : start + size]


def _test(stepper: _Stepper, tokens: Floats, test: OrderSequences) -> OrderCheckpoint | None:
    with np.errstate(over="ignore", invalid="ignore"):
        answers = forward(stepper.parameters, stepper.positions, tokens)
        loss = float(losses(answers, test.answers).mean(dtype=np.float64))
    if not np.isfinite(loss):
        return None
    accuracy = float((answers.predicted == test.answers).mean())
    return OrderCheckpoint(step=stepper.step, loss=loss, accuracy=accuracy)


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
