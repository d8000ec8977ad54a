"""Tables of every change to the question, side by side, and of the question as a sink."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from core.question_model import QuestionSettings
from core.question_runs import INTERVENTIONS, QuestionRun, intervention_of
from core.reported import SINK_DROPPED, SINK_KEPT, SINK_SIGMOID, SINK_SOFTMAX
from core.tables.counts import count_runs
from core.tables.question_scores import mean_gap
from core.tables.why_the_question import WEIGHT, in_range

NAMES = tuple(intervention.name for intervention in INTERVENTIONS)

EXPECTED = {
    "nothing changed": "as much as the match",
    "own table for both": "next to nothing",
    "own table to be looked at": "next to nothing",
    "own table to ask with": "as much as the match",
    "may not look at itself": "exactly 0",
    "values hidden from the scores": "exactly as much as the match",
    "start three times larger": "left to what the value adds",
    "the same, centred": "as much as the match",
    "weights need not sum to 1": "as much as the match",
}
"""The weight on the question under each change, if it has it as a copy of the match's key."""

ALIKE = 0.1  # difference of two weights up to which one is as much as the other
NEXT_TO_NOTHING = 0.05  # weight

_SPREAD = 0.5  # of a row, taken up by the seeds


def intervention_points(
    runs: Sequence[QuestionRun], settings: QuestionSettings, n_seeds: int
) -> pd.DataFrame:
    """Return two rows for every run: its weight on the match and on the question."""
    rows = []
    for run in runs:
        name = _name(run)
        place = (run.settings.seed - settings.seed + 0.5) / n_seeds - 0.5
        for position, weight in (
            ("matching pair", run.weight_on_match),
            ("question", run.weight_on_question),
        ):
            rows.append(
                {
                    "Change": name,
                    "Position": position,
                    "Seed": run.settings.seed,
                    WEIGHT: 100 * weight,
                    "Accuracy (%)": 100 * run.accuracy,
                    "Row": NAMES.index(name) + _SPREAD * place,
                }
            )
    columns = ["Change", "Position", "Seed", WEIGHT, "Accuracy (%)", "Row"]
    return pd.DataFrame(rows, columns=columns)


def intervention_summary(runs: Sequence[QuestionRun]) -> pd.DataFrame:
    """Return a row for each change: what was expected, and all its runs so far together."""
    rows = []
    for name in NAMES:
        mine = [run for run in runs if _name(run) == name]
        row: dict[str, object] = {
            "Change": name,
            "Expected on the question": EXPECTED[name],
            "Runs": len(mine),
            "As expected": sum(is_expected(run) is True for run in mine),
            "Open": sum(is_expected(run) is None for run in mine),
        }
        for quantity, found in (
            ("Question (%)", [100 * run.weight_on_question for run in mine]),
            ("Match (%)", [100 * run.weight_on_match for run in mine]),
            ("Gap (no unit)", [mean_gap([run]) for run in mine]),
            ("Right (%)", [100 * run.accuracy for run in mine]),
        ):
            row |= {
                f"{quantity}: lowest": min(found, default=np.nan),
                f"{quantity}: mean": float(np.mean(found)) if found else np.nan,
                f"{quantity}: highest": max(found, default=np.nan),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def intervention_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text."""
    rows = []
    for row in summary.to_dict("records"):
        words = {
            "Change": row["Change"],
            "Expected on the question": row["Expected on the question"],
            "As expected": _of_runs(row["As expected"], row["Runs"], row["Open"]),
        }
        for quantity, form in (
            ("Question (%)", ".1f"),
            ("Match (%)", ".1f"),
            ("Gap (no unit)", "+.2f"),
            ("Right (%)", ".1f"),
        ):
            low, mean, high = (row[f"{quantity}: {p}"] for p in ("lowest", "mean", "highest"))
            words[quantity] = in_range(low, mean, high, form)
        rows.append(words)
    return pd.DataFrame(rows)


def is_expected(run: QuestionRun) -> bool | None:
    """Say whether a run came out as a copy of the match's key would, None where it may do both."""
    match, question = run.weight_on_match, run.weight_on_question
    expected = EXPECTED[_name(run)]
    if expected == "as much as the match":
        return abs(match - question) <= ALIKE
    if expected == "exactly as much as the match":
        return not run.gaps.any()
    if expected == "next to nothing":
        return question <= NEXT_TO_NOTHING
    return question == 0 if expected == "exactly 0" else None


def expected_sentence(runs: Sequence[QuestionRun]) -> str:
    """Say how many of the runs came out as expected."""
    outcomes = [outcome for run in runs if (outcome := is_expected(run)) is not None]
    if not outcomes:
        return "No run has finished yet."
    return (
        f"{sum(outcomes)} of {count_runs(len(outcomes))} came out as expected of a copy: “as much” "
        f"is within {100 * ALIKE:.0f} percentage points, “next to nothing” up to "
        f"{100 * NEXT_TO_NOTHING:.0f} %."
    )


def interventions_sentence(runs: Sequence[QuestionRun]) -> str | None:
    """Put the runs that tell the explanations apart beside each other; None until all are there."""
    half, asks, seen = _telling(runs)
    if np.isnan(half + asks + seen):
        return None
    return (
        f"Weight on the question: {half:.0f} % with nothing changed; {asks:.0f} % with a table of "
        f"its own to ask with; {seen:.1f} % with one to be looked at."
    )


def why(runs: Sequence[QuestionRun]) -> str:
    """Say which explanation the runs leave, if they tell them apart."""
    half, asks, seen = _telling(runs)
    if min(half, asks) > 40 and seen < 10:
        return (
            "The question is a copy of its match's key: both are looked at through the same row of "
            "the key embeddings, and their scores differ by what the value adds. A row of its own "
            "to ask with leaves the copy; one to be looked at ends it."
        )
    return "With this task and training the runs do not tell the explanations apart."


def sink_tests(unchanged: Sequence[QuestionRun], every: Sequence[QuestionRun]) -> pd.DataFrame:
    """Return four tests of attention sinks in large models beside the same test of this head.

    Args:
        unchanged: runs with nothing changed.
        every: runs of every change so far.
    """
    free = [run for run in every if _name(run) == "weights need not sum to 1"]
    on_question = _percent(run.weight_on_question for run in unchanged)
    unmatched = _percent(run.unmatched_on_question for run in unchanged)
    right = _percent(run.accuracy for run in unchanged)
    cut = _percent(run.accuracy_cut for run in unchanged)
    unbound = _percent(run.weight_on_question for run in free)
    value = _percent(run.value_writes for run in unchanged) / 100
    question = _percent(run.question_writes for run in unchanged) / 100
    rows = [
        (
            "What it hands over",
            "Hardly anything (Gu et al. 2025)",
            "Mean size of a logit: a value's, the question's",
            value,
            question,
            question < value / 2,
        ),
        (
            "Nothing matches",
            "The sink takes the weight that has to go somewhere (Xiao et al. 2024)",
            "Weight on the question, asked for a key that a pair has, that none has (%)",
            on_question,
            unmatched,
            unmatched > 50,
        ),
        (
            "Left out after training",
            f"Perplexity rises from {SINK_KEPT.value:.2f} to {SINK_DROPPED.value:,.0f} "
            "(Xiao et al. 2024)",
            "Right answers, with the question and without (%)",
            right,
            cut,
            cut < right - 10,
        ),
        (
            "Weights need not sum to 1",
            f"Heads with a sink fall from {SINK_SOFTMAX.value:.1f} to {SINK_SIGMOID.value:.1f} % "
            "(Gu et al. 2025)",
            "Weight on the question, trained with softmax, with sigmoid (%)",
            on_question,
            unbound,
            unbound < on_question / 2,
        ),
    ]
    columns = ["Test", "Sinks in large models", "Here", "Before", "After", "Alike"]
    return pd.DataFrame(rows, columns=columns)


def sink_tests_in_words(tests: pd.DataFrame) -> pd.DataFrame:
    """Return the tests as text."""
    rows = []
    for row in tests.to_dict("records"):
        before, after = row["Before"], row["After"]
        done = not np.isnan(before) and not np.isnan(after)
        rows.append(
            {
                "Test": row["Test"],
                "Sinks in large models": row["Sinks in large models"],
                "Here": row["Here"],
                "Measured": f"{before:.1f} → {after:.1f}" if done else "not run yet",
                "Like a sink?": ("yes" if row["Alike"] else "no") if done else "—",
            }
        )
    return pd.DataFrame(rows)


def _of_runs(expected: int, n_runs: int, n_open: int) -> str:
    if n_open or not n_runs:
        return "—"
    return f"{expected} of {n_runs}"


def _telling(runs: Sequence[QuestionRun]) -> tuple[float, ...]:
    """Return the mean weight on the question, in %, of the three changes that tell most."""
    return tuple(
        _percent(run.weight_on_question for run in runs if _name(run) == name)
        for name in ("nothing changed", "own table to ask with", "own table to be looked at")
    )


def _percent(found: Iterable[float | None]) -> float:
    """Return the mean as a percentage, NaN if there is nothing to average."""
    known = [value for value in found if value is not None]
    return 100 * float(np.mean(known)) if known else float("nan")


def _name(run: QuestionRun) -> str:
    intervention = intervention_of(run.settings)
    if intervention is None:
        raise ValueError(f"the run must be one of the interventions, got {run.settings}")
    return intervention.name
