"""Why does half the weight stay on the question? One explanation after another, run by run.

A question about key i holds the key part i and nothing else; the matching pair holds the same key
part and a value. So their scores differ by the QK circuit's entry for that value alone, the gap,
and softmax gives the match exp(gap) times the question's weight. `INTERVENTIONS` change the
article's model. One that ends the copy must take the weight off the question; one that looks alike
and keeps the copy, a control, must not.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ablation_scores import N_FRESH, fresh_sequences
from core.attention import Floats
from core.evaluation import evaluation_of
from core.question_model import QuestionSettings, circuits
from core.question_training import (
    QuestionCheckpoint,
    QuestionResult,
    answer_all,
    train_pieces,
)
from core.recall import Integers, Sequences
from core.series import SeriesStep, series_steps

MAX_SEEDS = 20
LARGE_START = 0.3  # standard deviation of a start that tips the split


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """One change to the article's model."""

    name: str  # as the table writes it
    changes: dict[str, Any] = field(hash=False)  # fields of QuestionSettings


INTERVENTIONS = (
    Intervention(name="nothing changed", changes={}),
    Intervention(name="own table for both", changes={"question_table": "own for both"}),
    Intervention(
        name="own table to be looked at", changes={"question_table": "own to be looked at"}
    ),
    Intervention(name="own table to ask with", changes={"question_table": "own to ask"}),
    Intervention(name="may not look at itself", changes={"looks_at_itself": False}),
    Intervention(name="values hidden from the scores", changes={"values_hidden": True}),
    Intervention(name="start three times larger", changes={"init_scale": LARGE_START}),
    Intervention(
        name="the same, centred", changes={"init_scale": LARGE_START, "centred_start": True}
    ),
    Intervention(name="weights need not sum to 1", changes={"sum_to_one": False}),
)

QuestionStep = SeriesStep[QuestionSettings, "QuestionRun"]
"""One report of a series of runs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionRun:
    """One finished run, asked fresh sequences."""

    settings: QuestionSettings
    n_sequences: int  # fresh ones
    accuracy: float  # share answered right, 0 … 1
    loss: float  # nats, mean cross-entropy
    weight_on_match: float  # mean weight
    weight_on_other: float | None  # mean weight on each other pair; None if there is none
    weight_on_question: float  # mean weight
    accuracy_cut: float  # the same head, the question hidden from it afterwards
    loss_cut: float  # nats, of the same
    unmatched_on_question: float | None  # weight when no pair has the key; None if all have it
    qk: Floats  # (n_keys, n_keys + n_values) the QK circuit: a row asks
    own_scores: Floats  # (n_keys,) the question's score with itself; −∞ if it may not look
    question_writes: float  # mean size of a logit the question adds, less the mean over answers
    value_writes: float  # the same, of a value
    gaps: Floats  # (n_keys, n_values) score of key i's pair with value v, less the question's
    counts: Integers  # (n_keys, n_values) fresh sequences that ask for key i with the answer v
    checkpoints: tuple[QuestionCheckpoint, ...]
    diverged: str | None  # a sentence if the training had to stop early

    @property
    def nbytes(self) -> int:
        """About how much memory the run takes."""
        arrays = (self.qk, self.own_scores, self.gaps, self.counts)
        return sum(array.nbytes for array in arrays) + 200 * len(self.checkpoints)


def unchanged(settings: QuestionSettings) -> QuestionSettings:
    """Return the article's model for the same task, training and seed.

    >>> unchanged(QuestionSettings(values_hidden=True, n_pairs=2)) == QuestionSettings(n_pairs=2)
    True
    """
    default = QuestionSettings()
    changed = {name for intervention in INTERVENTIONS for name in intervention.changes}
    return replace(settings, **{name: getattr(default, name) for name in changed})


def seeds_of(settings: QuestionSettings, n_seeds: int) -> tuple[QuestionSettings, ...]:
    """Return the same settings with one seed after another.

    Raises:
        ValueError: if ``n_seeds`` is out of its range.
    """
    if not 1 <= n_seeds <= MAX_SEEDS:
        raise ValueError(f"n_seeds must be from 1 to {MAX_SEEDS}, got {n_seeds}")
    return tuple(replace(settings, seed=settings.seed + i) for i in range(n_seeds))


def all_interventions(settings: QuestionSettings, n_seeds: int) -> tuple[QuestionSettings, ...]:
    """Return the runs of every intervention: all of one seed, then all of the next."""
    return tuple(
        replace(run, **intervention.changes)
        for run in seeds_of(unchanged(settings), n_seeds)
        for intervention in INTERVENTIONS
    )


def intervention_of(settings: QuestionSettings) -> Intervention | None:
    """Return the intervention these settings are, or None if they change something else."""
    plain = unchanged(settings)
    for intervention in INTERVENTIONS:
        if replace(plain, **intervention.changes) == settings:
            return intervention
    return None


def run_steps(
    runs: Iterable[QuestionSettings],
) -> Generator[QuestionStep | None, None, None]:
    """Train and score these runs one after another; see `core.series.series_steps`."""
    yield from series_steps(runs, train_pieces, score_run)


def score_run(result: QuestionResult, n_sequences: int = N_FRESH) -> QuestionRun:
    """Ask a trained head fresh sequences, hide the question from it, and ask what nobody has."""
    settings = result.settings
    # In float32 a loss below about 1e-7 is rounded to 0.
    parameters = result.parameters.copy(np.float64)
    sequences = fresh_sequences(settings, n_sequences)
    seen = evaluation_of(sequences, answer_all(parameters, settings, sequences))
    hidden = replace(settings, looks_at_itself=False)
    cut = evaluation_of(sequences, answer_all(parameters, hidden, sequences))
    n_keys, n_parts = settings.n_keys, settings.shape.n_parts
    tables = circuits(parameters, settings)
    qk, ov = tables.qk, np.abs(tables.ov - tables.ov.mean(axis=1, keepdims=True))
    own_scores = np.diagonal(qk[:, n_parts:]).copy()
    return QuestionRun(
        settings=settings,
        n_sequences=n_sequences,
        accuracy=seen.accuracy,
        loss=seen.loss,
        weight_on_match=seen.weight_on_match,
        weight_on_other=seen.weight_on_other,
        weight_on_question=seen.weight_on_question,
        accuracy_cut=cut.accuracy,
        loss_cut=cut.loss,
        unmatched_on_question=_unmatched(result, sequences),
        qk=qk[:, :n_parts].copy(),
        own_scores=own_scores,
        question_writes=float(ov[n_parts:].mean()),
        value_writes=float(ov[n_keys:n_parts].mean()),
        # The differences first: where the two key parts are equal, exactly the value's entry stays.
        gaps=(np.diagonal(qk)[:n_keys] - own_scores)[:, np.newaxis] + qk[:, n_keys:n_parts],
        counts=_counts(sequences, settings),
        checkpoints=result.checkpoints,
        diverged=result.diverged,
    )


def _counts(sequences: Sequences, settings: QuestionSettings) -> Integers:
    """Return how many sequences have each question and each answer, (n_keys, n_values)."""
    counts = np.zeros((settings.n_keys, settings.n_values), dtype=np.int64)
    np.add.at(counts, (sequences.questions, sequences.answers), 1)
    return counts


def _unmatched(result: QuestionResult, sequences: Sequences) -> float | None:
    """Return the mean weight on the question when it is about a key that no pair has."""
    settings = result.settings
    if settings.n_pairs == settings.n_keys:
        return None
    rng = np.random.default_rng(settings.seed).spawn(5)[4]  # the first four streams are in use
    lots: NDArray[np.float64] = rng.random((len(sequences), settings.n_keys))
    np.put_along_axis(lots, sequences.keys, -1.0, axis=1)
    absent = replace(sequences, questions=lots.argmax(axis=1))
    weights = answer_all(result.parameters, settings, absent).weights
    return float(weights[-1].mean(dtype=np.float64))
