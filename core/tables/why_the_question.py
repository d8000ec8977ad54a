"""Tables of where the question looks: every run, their summary, and how it came about."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from core.question_model import QuestionSettings
from core.question_runs import QuestionRun
from core.question_training import QuestionCheckpoint
from core.reported import RECALL_LEARNED, RECALL_MATCH, RECALL_OTHER, RECALL_QUESTION
from core.tables.counts import count_of
from core.tables.numbers import signed, significant
from core.tables.question_scores import mean_gap
from core.tables.recall import is_articles_task

CHANGED, UNCHANGED, ARTICLE = "your changes", "unchanged", "article"
WHO = (CHANGED, UNCHANGED, ARTICLE)
POSITIONS = ("matching pair", "each other pair", "question")
MEANINGS = ("matching pair", "other pairs", "question")  # of the positions, in the same order

WEIGHT, ACCURACY, STEP = "Weight (%)", "Accuracy (%)", "Step"
QUANTITY = "Quantity"
DONE = "to the end"

_LANES = {CHANGED: -0.2, UNCHANGED: 0.2, ARTICLE: 0.2}  # above and below the middle of a row
_SPREAD = 0.28  # of a row, taken up by the seeds of a lane
_ARTICLES_WEIGHTS = (RECALL_MATCH, RECALL_OTHER, RECALL_QUESTION)

_QUANTITIES: tuple[tuple[str, Callable[[QuestionRun], float], float], ...] = (
    ("Right answers (%)", lambda run: 100 * run.accuracy, RECALL_LEARNED.value),
    ("Weight on the matching pair (%)", lambda run: 100 * run.weight_on_match, RECALL_MATCH.value),
    ("Weight on each other pair (%)", lambda run: _weights(run)[1], RECALL_OTHER.value),
    ("Weight on the question (%)", lambda run: 100 * run.weight_on_question, RECALL_QUESTION.value),
    ("Score of the match − score of the question (no unit)", lambda run: mean_gap([run]), np.nan),
)


def weight_points(
    changed: Sequence[QuestionRun],
    unchanged: Sequence[QuestionRun],
    settings: QuestionSettings,
    n_seeds: int,
    under_way: Sequence[tuple[str, QuestionSettings, QuestionCheckpoint]] = (),
) -> pd.DataFrame:
    """Return a row for every run and position, and the article's three for its own task.

    ``Row`` is where it is drawn: the position's number, and in it a lane for each who, across
    which the seeds are spread.

    Args:
        changed: finished runs with the student's changes.
        unchanged: finished runs with nothing changed.
        settings: of the runs with the changes; its seed is the first.
        n_seeds: runs of each kind, once all are finished.
        under_way: runs still in training, with whose they are and their last checkpoint; they have
            a point on the match and one on the question.
    """
    rows = []

    def add(who: str, row: int, weight: float, seed: int, accuracy: float, trained: str) -> None:
        place = (seed - settings.seed + 0.5) / n_seeds - 0.5
        rows.append(
            _point(who, row, weight, row + _LANES[who] + _SPREAD * place)
            | {"Seed": str(seed), ACCURACY: 100 * accuracy, "Trained": trained}
        )

    for who, runs in ((CHANGED, changed), (UNCHANGED, unchanged)):
        for run in runs:
            for row, weight in enumerate(_weights(run)):
                add(who, row, weight, run.settings.seed, run.accuracy, DONE)
    for who, of, point in under_way:
        for row, share in ((0, point.weight_on_match), (2, point.weight_on_question)):
            trained = f"step {point.step:,} of {of.n_steps:,}"
            add(who, row, 100 * share, of.seed, point.accuracy, trained)
    if is_articles_task(settings):
        for row, reported in enumerate(_ARTICLES_WEIGHTS):
            rows.append(
                _point(ARTICLE, row, reported.value, row + _LANES[ARTICLE])
                | {"Seed": "not reported", ACCURACY: RECALL_LEARNED.value, "Trained": DONE}
            )
    columns = ["Who", "Position", "Meaning", "Seed", WEIGHT, ACCURACY, "Trained", "Row"]
    return pd.DataFrame(rows, columns=columns)


def weight_summary(
    changed: Sequence[QuestionRun], unchanged: Sequence[QuestionRun], settings: QuestionSettings
) -> pd.DataFrame:
    """Return each quantity's lowest, mean and highest value over the runs, beside the article's."""
    rows = []
    for quantity, of_run, article in _QUANTITIES:
        row: dict[str, object] = {QUANTITY: quantity}
        for who, runs in ((CHANGED, changed), (UNCHANGED, unchanged)):
            found = [of_run(run) for run in runs]
            row |= {
                f"{who}: lowest": min(found, default=np.nan),
                f"{who}: mean": float(np.mean(found)) if found else np.nan,
                f"{who}: highest": max(found, default=np.nan),
                f"{who}: runs": len(found),
            }
        row["Article"] = article if is_articles_task(settings) else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


def weight_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text: a mean, and the range of the runs it is over."""
    rows = []
    for row in summary.to_dict("records"):
        form = ".1f" if "%" in row[QUANTITY] else "+.2f"
        words = {QUANTITY: row[QUANTITY]}
        for who in (CHANGED, UNCHANGED):
            words[who.capitalize()] = in_range(
                row[f"{who}: lowest"], row[f"{who}: mean"], row[f"{who}: highest"], form
            )
        about = "about " if row[QUANTITY].startswith("Weight") else ""
        article = row["Article"]
        words["Article"] = "—" if np.isnan(article) else f"{about}{significant(article)}"
        rows.append(words)
    return pd.DataFrame(rows)


def weights_sentence(changed: Sequence[QuestionRun], unchanged: Sequence[QuestionRun]) -> str:
    """Say where the question looks, with what was changed and with nothing changed."""
    parts: list[str] = []
    questions: list[float] = []  # % of the weight
    for who, runs in ((CHANGED, changed), (UNCHANGED, unchanged)):
        if runs:
            match = 100 * float(np.mean([run.weight_on_match for run in runs]))
            question = 100 * float(np.mean([run.weight_on_question for run in runs]))
            said = (
                f"{question:.1f} % and {match:.1f} %"  # in the order of the sentence before it
                if parts
                else f"{question:.1f} % of the weight on the question, {match:.1f} % on the "
                "matching pair"
            )
            parts.append(f"{who.capitalize()}: {said} ({count_of(len(runs), 'run')}).")
            questions.append(question)
    if len(questions) == 2:
        parts.append(
            f"Your changes move the question's weight by {signed(questions[0] - questions[1], 1)} "
            "percentage points."
        )
    broken = sum(run.diverged is not None for run in (*changed, *unchanged))
    if broken:
        parts.append(
            f"Stopped early, as the loss was no longer a finite number: {count_of(broken, 'run')}."
        )
    return " ".join(parts) or "No run has finished yet."


def history(changed: Sequence[QuestionRun], unchanged: Sequence[QuestionRun]) -> pd.DataFrame:
    """Return the weight on the question at every checkpoint of every run."""
    rows = [
        {
            "Who": who,
            "Run": f"{who}, seed {run.settings.seed}",
            "Seed": run.settings.seed,
            STEP: point.step,
            WEIGHT: 100 * point.weight_on_question,
            ACCURACY: 100 * point.accuracy,
        }
        for who, runs in ((CHANGED, changed), (UNCHANGED, unchanged))
        for run in runs
        for point in run.checkpoints
    ]
    return pd.DataFrame(rows, columns=["Who", "Run", "Seed", STEP, WEIGHT, ACCURACY])


def history_sentence(changed: Sequence[QuestionRun], unchanged: Sequence[QuestionRun]) -> str:
    """Say how far the weight on the question still moves once the task is solved."""
    parts = []
    for who, runs in ((CHANGED, changed), (UNCHANGED, unchanged)):
        solved = [(_solved(run), run) for run in runs]
        moved = [
            100 * (run.checkpoints[-1].weight_on_question - point.weight_on_question)
            for point, run in solved
            if point is not None
        ]
        if moved:
            parts.append(
                f"{who.capitalize()}: from the checkpoint at which every test sequence is right to "
                f"step {runs[0].checkpoints[-1].step:,}, the weight on the question moves by "
                f"{in_range(min(moved), float(np.mean(moved)), max(moved), '+.1f')} percentage "
                f"points."
            )
        elif runs:
            parts.append(f"{who.capitalize()}: no run has every test sequence right.")
    return " ".join(parts) or "No run has finished yet."


def in_range(low: float, mean: float, high: float, form: str) -> str:
    """Write a mean and the range it is over, or the one value that all share.

    >>> in_range(1.0, 2.0, 3.0, ".1f"), in_range(1.01, 1.02, 1.03, ".1f")
    ('2.0 (1.0 to 3.0)', '1.0')
    """
    if np.isnan(mean):
        return "—"
    words = [_written(value, form) for value in (low, mean, high)]
    return words[1] if len(set(words)) == 1 else f"{words[1]} ({words[0]} to {words[2]})"


def _written(value: float, form: str) -> str:
    # With z, what rounds to zero has no minus.
    return format(value, form.replace(".", "z.")).replace("-", "−").replace("inf", "∞")


def _solved(run: QuestionRun) -> QuestionCheckpoint | None:
    """Return the first checkpoint with every test sequence right, if there is one."""
    return next((point for point in run.checkpoints if point.accuracy == 1), None)


def _weights(run: QuestionRun) -> tuple[float, float, float]:
    other = np.nan if run.weight_on_other is None else 100 * run.weight_on_other
    return 100 * run.weight_on_match, other, 100 * run.weight_on_question


def _point(who: str, row: int, weight: float, place: float) -> dict[str, object]:
    return {
        "Who": who,
        "Position": POSITIONS[row],
        "Meaning": MEANINGS[row],
        WEIGHT: weight,
        "Row": place,
    }
