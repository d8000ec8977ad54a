"""One head or several on two facts at once: what each run gets right, and what each head is for.

A run is scored on every possible sequence of its task if there are not too many, so that its
accuracy carries no sampling error and may be held against the exact ceiling of
`core.one_head_ceiling`. Then the heads are switched off one by one: a head that is off adds nothing
to the logits, and nothing is trained again.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.ablation_scores import SOLVED, Score
from core.attention import Floats
from core.limits import check_whole
from core.two_facts import TwoFacts, all_two_facts, count_all
from core.two_facts_circuits import HeadTables, forward_heads, head_tables, index_facts
from core.two_facts_settings import MAX_HEADS, TwoFactsSettings
from core.two_facts_training import (
    TwoFactsCheckpoint,
    TwoFactsResult,
    fresh_facts,
    train_pieces,
)

MAX_SEEDS = 10
EXACT_UP_TO = 200_000  # sequences; a task with more is scored on N_FRESH of them
N_FRESH = 5000
PIECE_SEQUENCES = 4096  # scored at once: a few milliseconds


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the experiment: how many heads, and in which order they are to answer."""

    n_heads: int
    order: str


CASES = (
    Case(n_heads=1, order="smallest first"),
    *(Case(n_heads=H, order="as asked") for H in range(1, MAX_HEADS + 1)),
)


@dataclass(frozen=True, kw_only=True)
class ManyHeadsSettings:
    """What to train on, and how often. Every seed trains each of `CASES`."""

    train: TwoFactsSettings  # shared by all runs; its seed is the first, n_heads and order not used
    n_seeds: int = 5  # runs of each case, 1 … 10

    def __post_init__(self) -> None:
        check_whole(self, {"n_seeds": (1, MAX_SEEDS)})

    @property
    def runs(self) -> tuple[TwoFactsSettings, ...]:
        """The settings of every run: all cases of one seed, then those of the next."""
        return tuple(
            replace(self.train, n_heads=case.n_heads, order=case.order, seed=self.train.seed + i)
            for i in range(self.n_seeds)
            for case in CASES
        )

    def seed_of(self, run: int) -> int:
        """Return the seed of each case's nth run, counted from 1."""
        return self.train.seed + run - 1


@dataclass(frozen=True, kw_only=True)
class Answered:
    """How many sequences were answered right."""

    both: Score  # both answers
    first: Score  # the first answer, whatever the second
    second: Score  # the second answer, whatever the first

    def __add__(self, other: "Answered") -> "Answered":
        return Answered(
            both=self.both + other.both,
            first=self.first + other.first,
            second=self.second + other.second,
        )


@dataclass(frozen=True, kw_only=True)
class Looks:
    """One head's mean weights. The first, the second and n − 2 times ``other`` sum to 1."""

    first: float  # on the pair named first
    second: float  # on the pair named second
    other: float | None  # on each pair that was not named; None if there is none


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadsRun:
    """One finished run."""

    settings: TwoFactsSettings
    exact: bool  # whether it was scored on every possible sequence, else on N_FRESH fresh ones
    whole: Answered  # with all heads on
    without: tuple[Answered, ...]  # (H,) with that one head off
    looks: tuple[Looks, ...]  # (H,)
    qk: Floats  # (H, 2 n_keys, P) the QK circuits
    ov: Floats  # (H, P, 2 n_values) the OV circuits
    solved_at: int | None  # step of the first checkpoint from SOLVED on; None if there is none
    diverged: str | None  # a sentence if the training had to stop early

    @property
    def case(self) -> Case:
        """Which row of the experiment this run belongs to."""
        return Case(n_heads=self.settings.n_heads, order=self.settings.order)

    @property
    def nbytes(self) -> int:
        """The memory the run's arrays take."""
        return self.qk.nbytes + self.ov.nbytes


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredResult:
    """A training result and its scores, for `core.series.series_steps`."""

    checkpoints: tuple[TwoFactsCheckpoint, ...]
    run: HeadsRun


def run_pieces(
    settings: TwoFactsSettings,
) -> Generator[TwoFactsCheckpoint | None, None, ScoredResult]:
    """Train and score one run; yield None wherever others may have a turn."""
    result = yield from train_pieces(settings)
    run = yield from score_pieces(result)
    return ScoredResult(checkpoints=result.checkpoints, run=run)


def score_pieces(result: TwoFactsResult) -> Generator[None, None, HeadsRun]:
    """Score a trained model, whole and with each head off, a piece at a time."""
    settings = result.settings
    tables = head_tables(result.parameters, values_in_keys=settings.values_in_keys)
    exact = scored_exactly(settings)
    tally = _Tally(settings.n_heads)
    for sequences in _sequences(settings, exact=exact):
        tally.add(tables, sequences, settings)
        yield None
    return HeadsRun(
        settings=settings,
        exact=exact,
        whole=tally.answered(0),
        without=tuple(tally.answered(1 + head) for head in range(settings.n_heads)),
        looks=tally.looks(settings.n_pairs),
        qk=tables.qk,
        ov=tables.ov,
        solved_at=next((c.step for c in result.checkpoints if c.accuracy >= SOLVED), None),
        diverged=result.diverged,
    )


def score(result: TwoFactsResult) -> HeadsRun:
    """Score a trained model to the end."""
    pieces = score_pieces(result)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            run: HeadsRun = end.value
            return run


def scored_exactly(settings: TwoFactsSettings) -> bool:
    """Return whether a run of these settings is scored on every possible sequence."""
    return count_all(settings.n_pairs, settings.n_keys, settings.n_values) <= EXACT_UP_TO


def n_scored(settings: TwoFactsSettings) -> int:
    """Return how many sequences a run of these settings is scored on."""
    if scored_exactly(settings):
        return count_all(settings.n_pairs, settings.n_keys, settings.n_values)
    return N_FRESH


def of_case(runs: Iterable[HeadsRun], case: Case) -> tuple[HeadsRun, ...]:
    """Return the runs of one row of the experiment."""
    return tuple(run for run in runs if run.case == case)


class _Tally:
    """Right answers and weights added up; row 0 has all heads on, row 1 + h has head h off."""

    def __init__(self, n_heads: int) -> None:
        self.total = 0
        self.right = np.zeros((1 + n_heads, 3), dtype=np.int64)  # both, first, second
        self.weights = np.zeros((n_heads, 2))  # on the pair named first and second

    def add(self, tables: HeadTables, sequences: TwoFacts, settings: TwoFactsSettings) -> None:
        """Answer these sequences, and count."""
        n_heads, B = settings.n_heads, len(sequences)
        [batch] = index_facts(sequences, settings.shape, values_in_keys=settings.values_in_keys)
        answers = forward_heads(tables, batch)
        by_head = (tables.ov.swapaxes(1, 2) @ answers.bag).reshape(n_heads, *answers.logits.shape)
        self.right[0] += _count(answers.logits, batch.answers)
        for head in range(n_heads):
            others = np.delete(by_head, head, axis=0).sum(axis=0)  # zero if it is the only one
            self.right[1 + head] += _count(others, batch.answers)
        named = sequences.asked.T[np.newaxis]  # (1, 2, B)
        self.weights += np.take_along_axis(answers.weights, named, axis=1).sum(
            axis=2, dtype=np.float64
        )
        self.total += B

    def answered(self, row: int) -> Answered:
        """Return one row's right answers."""
        both, first, second = (
            Score(right=int(right), total=self.total) for right in self.right[row]
        )
        return Answered(both=both, first=first, second=second)

    def looks(self, n_pairs: int) -> tuple[Looks, ...]:
        """Return the mean weights of each head."""
        means = self.weights / self.total
        return tuple(
            Looks(
                first=float(first),
                second=float(second),
                other=float(1 - first - second) / (n_pairs - 2) if n_pairs > 2 else None,
            )
            for first, second in means
        )


def _count(logits: Floats, answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the sequences with both, the first, and the second answer right, (3,)."""
    right = logits.argmax(axis=1) == answers  # (2, B)
    return np.array([right.all(axis=0).sum(), right[0].sum(), right[1].sum()])


def _sequences(settings: TwoFactsSettings, *, exact: bool) -> Iterator[TwoFacts]:
    if not exact:
        yield fresh_facts(settings, N_FRESH)
        return
    for same_keys in all_two_facts(
        settings.n_pairs, settings.n_keys, settings.n_values, settings.order
    ):
        for start in range(0, len(same_keys), PIECE_SEQUENCES):
            piece = slice(start, start + PIECE_SEQUENCES)
            yield TwoFacts(
                keys=same_keys.keys[piece],
                values=same_keys.values[piece],
                asked=same_keys.asked[piece],
                answers=same_keys.answers[piece],
            )
