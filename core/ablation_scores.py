"""Score a trained recall model case by case, beside the best strategy without attention.

The cases are those of `core.ablation`: sequences by how often their most repeated value occurs.
The model and the strategy answer the very same sequences, so that what chance does to both can be
told from what the model does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from core.ablation import Ints, guess_most_repeated, largest_counts
from core.attention import Floats
from core.circuits import circuits, forward, index_parts
from core.evaluation import evaluate_on
from core.recall import Sequences, sample_sequences
from core.training import TrainResult, TrainSettings

N_FRESH = 5000  # fresh sequences behind each run's score, as in the article
SOLVED = 0.99  # the accuracy from which a checkpoint counts as having solved the task


@dataclass(frozen=True, kw_only=True)
class Score:
    """How many of some sequences were answered right."""

    right: int
    total: int

    @property
    def share(self) -> float:
        """The accuracy, 0 … 1; NaN without sequences."""
        return self.right / self.total if self.total else float("nan")

    def __add__(self, other: "Score") -> "Score":
        return Score(right=self.right + other.right, total=self.total + other.total)


@dataclass(frozen=True, kw_only=True)
class AblationRun:
    """One finished run, scored on fresh sequences.

    The tuples have an entry for each case: [m − 1] are the sequences whose most repeated value
    occurs m times.
    """

    settings: TrainSettings
    cases: tuple[Score, ...]  # (n_pairs,) the trained model
    best_cases: tuple[Score, ...]  # (n_pairs,) the best strategy, on the very same sequences
    at_start_scores: Score  # the trained model with the attention scores of before the training
    solved_at: int | None  # step of the first checkpoint from SOLVED on; None if there is none
    diverged: str | None  # a sentence if the training had to stop early

    @property
    def score(self) -> Score:
        """The trained model, over all cases."""
        return add_up(self.cases)

    @property
    def best(self) -> Score:
        """The best strategy, over all cases."""
        return add_up(self.best_cases)


def score_run(result: TrainResult, n_sequences: int = N_FRESH) -> AblationRun:
    """Score a trained model, and the best strategy, on the same fresh sequences."""
    settings = result.settings
    sequences = fresh_sequences(settings, n_sequences)
    predicted = evaluate_on(sequences, result.parameters, settings).predicted
    at_start = _predict_with_scores(result, result.checkpoints[0].qk, sequences)
    largest = largest_counts(sequences.values, settings.n_values)
    guessed = guess_most_repeated(sequences.values, settings.n_values)
    answers, n = sequences.answers, settings.n_pairs
    return AblationRun(
        settings=settings,
        cases=score_cases(predicted == answers, largest, n),
        best_cases=score_cases(guessed == answers, largest, n),
        at_start_scores=add_up(score_cases(at_start == answers, largest, n)),
        solved_at=next((c.step for c in result.checkpoints if c.accuracy >= SOLVED), None),
        diverged=result.diverged,
    )


def fresh_sequences(settings: TrainSettings, n_sequences: int = N_FRESH) -> Sequences:
    """Draw the sequences that every variant of this seed is scored on.

    They are the seed's fourth stream: `core.training` draws the start, the batches and its own test
    sequences from the first three.
    """
    rng = np.random.default_rng(settings.seed).spawn(4)[3]
    return sample_sequences(n_sequences, settings.n_pairs, settings.n_keys, settings.n_values, rng)


def score_cases(right: NDArray[np.bool_], largest: Ints, n_pairs: int) -> tuple[Score, ...]:
    """Count the right answers in each case.

    Args:
        right: (N,) whether each sequence was answered right.
        largest: (N,) how often the most repeated value of each sequence occurs, 1 to n_pairs.
        n_pairs: the number of cases.

    >>> score_cases(np.array([True, False, True]), np.array([1, 1, 2]), 2)
    (Score(right=1, total=2), Score(right=1, total=1))
    """
    totals = np.bincount(largest, minlength=n_pairs + 1)[1:]
    rights = np.bincount(largest[right], minlength=n_pairs + 1)[1:]
    return tuple(Score(right=int(r), total=int(t)) for r, t in zip(rights, totals, strict=True))


def add_up(scores: Iterable[Score]) -> Score:
    """Return the score over all the sequences of several scores."""
    return sum(scores, start=Score(right=0, total=0))


def add_up_cases(runs: Iterable[tuple[Score, ...]]) -> tuple[Score, ...]:
    """Return the cases of several runs of one task together, such as all seeds of a variant."""
    return tuple(add_up(scores) for scores in zip(*runs, strict=True))


def standard_error(share: float | Fraction, n_sequences: int) -> float:
    """Return how far a measured share typically falls from the true one, √(p (1 − p) / N).

    >>> f"{standard_error(Fraction(29, 64), 5000):.4f}"
    '0.0070'
    """
    p = float(share)
    return float(np.sqrt(p * (1 - p) / n_sequences)) if n_sequences else float("nan")


def distance_in_errors(score: Score, expected: Fraction) -> float:
    """Return by how many standard errors a score lies above what is expected.

    A case that is expected to be always right leaves no room for chance: 0 if it is always right,
    and −∞ otherwise. NaN without sequences.
    """
    if not score.total:
        return float("nan")
    off, error = score.share - float(expected), standard_error(expected, score.total)
    if error == 0:
        return 0.0 if off == 0 else float(np.copysign(np.inf, off))
    return off / error


def interval(score: Score, z: float = 1.959964) -> tuple[float, float]:
    """Return the 95 % interval for the true share behind a score (Wilson 1927).

    >>> [round(end, 3) for end in interval(Score(right=2285, total=5000))]
    [0.443, 0.471]
    """
    n, p = score.total, score.share
    if not n:
        return 0.0, 1.0
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    # At 0 or 1 the two terms are equal, and rounding must not push the end past the share.
    return max(0.0, min(p, middle - half)), min(1.0, max(p, middle + half))


def _predict_with_scores(result: TrainResult, qk: Floats, sequences: Sequences) -> Ints:
    """Answer with the trained model, except that its scores come from another QK circuit."""
    settings = result.settings
    tables = circuits(result.parameters, values_in_keys=settings.values_in_keys)
    [batch] = index_parts(sequences, settings.n_keys, settings.n_values)
    return forward(replace(tables, qk=qk), batch).predicted
