"""Recall with many pairs and many keys, on a head with few numbers in a query: one run at a time.

The task and the model are those of `core.recall`; only the sizes are larger. They follow the
sizes of Arora et al. 2023, "Zoology: Measuring and Improving Recall in Efficient Language Models",
4 to 64 pairs in a sequence, as far as a small processor reaches: keys are counted in hundreds here
and in thousands there.

A query has d_k numbers, and so has the value that is passed on. With one number, every table of
logits has rank 1, which bounds what can be answered: see `one_number_ceiling`.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from core.ablation_scores import SOLVED, Score, fresh_sequences
from core.evaluation import evaluate_on
from core.series import SeriesStep, series_steps
from core.train_settings import LIMITS, TrainSettings
from core.training import Checkpoint, TrainResult, train_pieces

PAIRS = (4, 8, 16, 32, 64)
WIDTHS = (1, 2, 3, 4, 6, 8, 16, 32, 64)  # of a query: d_k
KEYS_PER_PAIR = (2, 4)
N_FRESH = 2000  # fresh sequences behind each run's score
N_CHECKPOINTS = 20  # after the one of step 0; few, as each holds tables of all keys by all keys


@dataclass(frozen=True, kw_only=True)
class ScaleSettings(TrainSettings):
    """Everything that determines a run at scale: the fields of `TrainSettings`, larger."""

    limits: ClassVar[Mapping[str, tuple[int, int]]] = MappingProxyType(
        {**LIMITS, "n_pairs": (1, 64), "n_keys": (1, 256)}
    )

    n_pairs: int = 16  # key–value pairs in a sequence, 1 … 64 and at most n_keys
    n_keys: int = 32  # different keys, 1 … 256
    d_model: int = 64  # numbers in an embedding, 1 … 128
    d_k: int = 4  # numbers in a query, key vector and value vector, 1 … 128
    learning_rate: float = 0.003  # no unit, above 0 and at most 10


@dataclass(frozen=True, kw_only=True)
class ScaleRun:
    """One finished run, scored on fresh sequences."""

    settings: ScaleSettings
    score: Score  # on N_FRESH sequences
    match_on_top: float  # share of them where the match has the highest weight of all pairs
    weight_on_match: float  # mean weight on the pair that holds the answer
    curve: tuple[tuple[int, float], ...]  # step and accuracy of each checkpoint
    diverged: str | None  # a sentence if the training had to stop early

    @property
    def solved_at(self) -> int | None:
        """The step of the first checkpoint at 99 % or above; None if there is none."""
        return next((step for step, accuracy in self.curve if accuracy >= SOLVED), None)


ScaleStep = SeriesStep[ScaleSettings, ScaleRun]
"""One report of a series: a checkpoint passed, or a run finished."""


def cell_runs(
    base: ScaleSettings, n_pairs: int, d_k: int, keys_per_pair: int, n_seeds: int
) -> tuple[ScaleSettings, ...]:
    """Return the runs of one cell of the map: one a seed, from the seed of ``base`` on."""
    n_keys = keys_per_pair * n_pairs
    return tuple(
        replace(base, n_pairs=n_pairs, n_keys=n_keys, d_k=d_k, seed=base.seed + number)
        for number in range(n_seeds)
    )


def scale_checkpoints(n_steps: int) -> tuple[int, ...]:
    """Return the steps that get a checkpoint, evenly apart, the first 0 and the last n_steps.

    >>> scale_checkpoints(3000)[:4], scale_checkpoints(3000)[-1]
    ((0, 150, 300, 450), 3000)
    """
    return tuple(sorted({n_steps * i // N_CHECKPOINTS for i in range(N_CHECKPOINTS + 1)}))


def scale_pieces(
    settings: ScaleSettings,
) -> Generator[Checkpoint | None, None, TrainResult]:
    """Train one run; see `core.training.train_pieces`."""
    return train_pieces(settings, scale_checkpoints(settings.n_steps))


def score_at_scale(result: TrainResult) -> ScaleRun:
    """Score a trained model on N_FRESH sequences that it has not seen."""
    settings = result.settings
    if not isinstance(settings, ScaleSettings):
        raise TypeError(f"settings must be ScaleSettings, got {type(settings).__name__}")
    sequences = fresh_sequences(settings, N_FRESH)
    found = evaluate_on(sequences, result.parameters, settings)
    return ScaleRun(
        settings=settings,
        score=Score(right=int((found.predicted == sequences.answers).sum()), total=N_FRESH),
        match_on_top=found.match_on_top,
        weight_on_match=found.weight_on_match,
        curve=tuple((point.step, point.accuracy) for point in result.checkpoints),
        diverged=result.diverged,
    )


def run_steps(runs: Iterable[ScaleSettings]) -> Generator[ScaleStep | None, None, None]:
    """Train and score these runs one after another; see `core.series.series_steps`."""
    yield from series_steps(runs, scale_pieces, score_at_scale)


def one_number_ceiling(n_values: int) -> Fraction:
    """Return the best accuracy of any head that passes on one number, d_k = 1.

    Its logits are that number times a fixed row. Their largest is the row's largest entry where
    the number is positive and the row's smallest where it is negative, so that only two values are
    ever answered, whatever the weights. All values are equally likely to be right.

    >>> one_number_ceiling(8)
    Fraction(1, 4)
    """
    return Fraction(min(2, n_values), n_values)
