"""The sections of the page on the question's weight, drawn again while runs go on."""

from collections.abc import Sequence

import streamlit as st

from core.ablation_scores import N_FRESH
from core.charts import why_the_question as charts
from core.question_model import QuestionSettings
from core.question_runs import QuestionRun, all_interventions, run_steps, seeds_of, unchanged
from core.question_training import QuestionCheckpoint
from core.reported import RECALL_QUESTION, SINK_KEPT, SINK_SIGMOID
from core.tables import interventions, question_scores
from core.tables import why_the_question as tables
from core.training import N_TEST
from pages.parts.followed import redraw_if_changed
from pages.parts.lesson import compare
from pages.parts.series import Series, follow, followed, leave
from pages.parts.show import fold, show_chart, show_table

QuestionSeries = Series[QuestionSettings, QuestionRun]

_MINE, _PLAIN, _ALL = "question_changed", "question_unchanged", "question_all"


class Runs:
    """What one visit follows: the runs with changes, those with nothing changed, every change's."""

    def __init__(self, settings: QuestionSettings, n_seeds: int) -> None:
        """Join the runs of these settings; runs of other settings are abandoned."""
        self.settings, self.n_seeds = settings, n_seeds
        plain, mine = seeds_of(unchanged(settings), n_seeds), seeds_of(settings, n_seeds)
        self.of_every_change = all_interventions(settings, n_seeds)
        self.mine: QuestionSeries | None = None
        if mine == plain:
            leave(_MINE)
        else:
            self.mine = follow(_MINE, mine, run_steps)
        self.plain = follow(_PLAIN, plain, run_steps)
        self.every: QuestionSeries | None = followed(
            _ALL, lambda series: series.settings == self.of_every_change
        )

    @property
    def live(self) -> bool:
        """Whether more is to come of the runs on top of the page."""
        return self.plain.live or (self.mine is not None and self.mine.live)

    @property
    def live_below(self) -> bool:
        """Whether more is to come of the runs of every change."""
        return self.every is not None and self.every.live

    def poll(self) -> None:
        """Hear what all of them have done since."""
        for series in (self.mine, self.plain, self.every):
            if series is not None:
                series.poll()

    @property
    def changed_runs(self) -> Sequence[QuestionRun]:
        """The finished runs with the student's changes; none if nothing is changed."""
        return self.mine.runs if self.mine else ()

    @property
    def under_way(self) -> list[tuple[str, QuestionSettings, QuestionCheckpoint]]:
        """The runs in training on top of the page, each at its last checkpoint."""
        found = []
        for who, series in ((tables.CHANGED, self.mine), (tables.UNCHANGED, self.plain)):
            last = series.steps[-1] if series and series.steps else None
            if last and isinstance(last.checkpoint, QuestionCheckpoint):
                found.append((who, last.settings, last.checkpoint))
        return found

    @property
    def every_run(self) -> Sequence[QuestionRun]:
        """The finished runs of every change, none before they were asked for."""
        return self.every.runs if self.every else ()

    @property
    def groups(self) -> tuple[tuple[str, Sequence[QuestionRun]], ...]:
        """The finished runs by what was done to them."""
        return ((tables.CHANGED, self.changed_runs), (tables.UNCHANGED, self.plain.runs))


def start_all(settings: QuestionSettings, n_seeds: int) -> None:
    """Start the runs of every change."""
    follow(_ALL, all_interventions(settings, n_seeds), run_steps)


def show_weights(runs: Runs, *, polling: bool) -> None:
    """Draw where the question looks in every run so far, and the runs' summary.

    Args:
        runs: the visit's runs.
        polling: whether the page draws this again and again, as it should only while runs go on.
    """
    runs.poll()
    changed, plain = runs.changed_runs, runs.plain.runs
    show_chart(
        charts.weight_points,
        tables.weight_points(changed, plain, runs.settings, runs.n_seeds, runs.under_way),
        key="question_weights",
        says=tables.weights_sentence(changed, plain),
        lines=3,
        alt_text="Points: the mean weight on the matching pair, on each other pair and on the "
        "question, for every run with the changes, every run without them, and the article.",
    )
    if runs.mine:
        runs.mine.show_progress(tables.CHANGED.capitalize())
    runs.plain.show_progress(tables.UNCHANGED.capitalize())
    summary = tables.weight_summary(changed, plain, runs.settings)
    show_table(summary, key="why_weights", display=tables.weight_summary_in_words(summary))
    st.caption(
        "A mean over runs, and the range of the runs. Each run is one seed, asked "
        f"{N_FRESH:,} fresh sequences. Paler: a run under way, on the {N_TEST:,} sequences of its "
        "last checkpoint. "
        f"Article: {RECALL_QUESTION.conditions}."
    )
    redraw_if_changed(live=runs.live, polling=polling)


def show_scores(runs: Runs) -> None:
    """Draw the scores of the first finished run, with the question's own at the end."""
    runs.poll()
    done = [*runs.changed_runs, *runs.plain.runs][:1]
    if not done:
        st.markdown("No run has finished yet.")
    for run in done:
        cells = question_scores.qk_cells(run)
        show_chart(
            charts.qk_circuit,
            cells,
            len(run.qk),
            key="question_qk",
            says=question_scores.qk_sentence(run),
            alt_text="Heat-map: the score of a question about each key with every part of a token, "
            "and with itself in the last column. Its own key's part and itself are outlined.",
        )
        with fold("The entries as a table", key="entries") as unfolded:
            if unfolded:
                show_table(cells.drop(columns=["Limit", "Words"]), key="why_scores", height=300)


def show_gap(runs: Runs) -> None:
    """Draw the gap of the match's and the question's score over the fresh sequences."""
    runs.poll()
    bins = question_scores.gap_bins(runs.groups)
    show_chart(
        charts.gap_histogram,
        bins,
        key="question_gap",
        says=question_scores.gap_sentence(runs.groups),
        alt_text="Histogram: the score of the matching pair less the score of the question, over "
        "the fresh sequences of all runs, with the changes and without.",
    )
    with fold("The bars as a table", key="bars") as unfolded:
        if unfolded:
            show_table(bins, key="why_gap", height=300)


def show_history(runs: Runs) -> None:
    """Draw the weight on the question over the training of every run."""
    runs.poll()
    changed, plain = runs.changed_runs, runs.plain.runs
    points = tables.history(changed, plain)
    show_chart(
        charts.history,
        points,
        runs.settings.n_steps,
        key="question_history",
        says=tables.history_sentence(changed, plain),
        lines=3,
        alt_text="Lines: the mean weight on the question against the training step, a line for "
        "every run with the changes and without.",
    )
    with fold("The checkpoints as a table", key="history") as unfolded:
        if unfolded:
            show_table(points.drop(columns="Run"), key="why_history", height=300)


def show_changes(runs: Runs, title: str, *, polling: bool) -> None:
    """Draw every run of every change, and what they say of the explanations.

    Args:
        runs: the visit's runs.
        title: the page's, under which the prediction is kept.
        polling: whether the page draws this again and again, as it should only while runs go on.
    """
    runs.poll()
    every = runs.every_run
    result = interventions.interventions_sentence(every)
    if runs.every is not None:
        runs.every.show_progress()
        show_chart(
            charts.intervention_points,
            interventions.intervention_points(every, runs.settings, runs.n_seeds),
            key="question_changes",
            says=interventions.expected_sentence(every),
            alt_text="Points: the weight on the matching pair and on the question, a row for each "
            "change and a point for each run.",
        )
    if result is None:
        st.caption("Your prediction is held against the result once all of them have been run.")
    if result and not runs.live_below:
        compare(title, result, interventions.why(every))
    summary = interventions.intervention_summary(every)
    show_table(
        summary, key="why_changes", display=interventions.intervention_summary_in_words(summary)
    )
    redraw_if_changed(live=runs.live_below, polling=polling)


def show_sinks(runs: Runs) -> None:
    """Draw what is known of attention sinks beside the same tests of this head."""
    runs.poll()
    tests = interventions.sink_tests(runs.plain.runs, runs.every_run)
    show_table(tests, key="why_sinks", display=interventions.sink_tests_in_words(tests))
    st.caption(
        f"Perplexities: {SINK_KEPT.conditions} of Xiao et al. Heads: {SINK_SIGMOID.conditions}, of "
        "Gu et al. The unasked key: drawn for each fresh sequence from those that no pair has."
    )
