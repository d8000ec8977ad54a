"""The parts of the page on many heads, those drawn again while runs go on among them."""

from collections.abc import Generator, Iterable

import streamlit as st

from core.charts import many_heads as charts
from core.charts import recall as gradient_charts
from core.gradcheck import GradientCheck
from core.many_heads import Case, HeadsRun, ManyHeadsSettings, run_pieces
from core.series import SeriesStep, series_steps
from core.tables import gradcheck, heads_off
from core.tables import many_heads as tables
from core.tables import one_head_ceiling as ceilings
from core.two_facts_gradcheck import check_heads
from core.two_facts_settings import TwoFactsSettings
from pages.parts.followed import redraw_if_changed
from pages.parts.lesson import compare
from pages.parts.series import Series
from pages.parts.show import fold, show_chart, show_table

WHY = (
    "One pattern serves both answers, so one of the two values speaks at least as loudly as the "
    "other in both. Two heads have two patterns: each can look at one named pair alone."
)

HeadsFollowed = Series[TwoFactsSettings, HeadsRun]

ceiling_checks = st.cache_data(max_entries=1, show_spinner=False)(ceilings.ceiling_checks)


def heads_steps(
    runs: Iterable[TwoFactsSettings],
) -> Generator[SeriesStep[TwoFactsSettings, HeadsRun] | None, None, None]:
    """Train and score these runs one after another; see `core.series.series_steps`."""
    yield from series_steps(runs, run_pieces, lambda result: result.run)


def show_runs(
    series: HeadsFollowed, settings: ManyHeadsSettings, title: str, *, polling: bool
) -> None:
    """Draw every finished run and what each case's runs say, beside the prediction.

    Args:
        series: the runs.
        settings: what they were made from.
        title: the page's, under which the prediction is kept.
        polling: whether the page draws this again and again, as it should only while runs go on.
    """
    series.poll()
    show_chart(
        charts.run_points,
        tables.run_points(series.runs, settings),
        key="heads_runs",
        says=tables.progress_sentence(series.runs, settings),
        lines=4,
        alt_text="Points: the share of sequences with both answers right, for every run, a row for "
        "each number of heads, with lines at chance and at the ceiling of one head.",
    )
    series.show_progress()
    result = tables.result_sentence(series.runs, settings.train)
    if result and not series.live:
        compare(title, result, WHY)
    summary = tables.case_summary(series.runs, settings)
    show_table(summary, key="heads", display=tables.case_summary_in_words(summary))
    st.caption(tables.scored_sentence(settings))
    redraw_if_changed(live=series.live, polling=polling)


def show_control(series: HeadsFollowed, settings: ManyHeadsSettings) -> None:
    """Say what one head makes of the same two values, sorted."""
    series.poll()
    st.markdown(tables.control_sentence(series.runs, settings.train))


def show_checks() -> None:
    """Draw what looking through all sets of pairs found."""
    checks = ceiling_checks()
    show_table(checks, key="ceiling_checks", display=ceilings.ceiling_checks_in_words(checks))


def show_off(series: HeadsFollowed, n_heads: int, seed: int) -> None:
    """Draw what one run gets right with all heads on, and with each of them off."""
    series.poll()
    run = _chosen(series, n_heads, seed)
    if run is None:
        st.markdown("This run has not finished yet.")
        return
    show_chart(
        charts.heads_off,
        heads_off.heads_off(run),
        n_heads + 1,
        key="heads_off",
        says=heads_off.off_sentence(series.runs, Case(n_heads=n_heads, order="as asked")),
        alt_text="Bars: the share of sequences with both answers, the first and the second right, "
        "with all heads on and with each head switched off.",
    )
    table = heads_off.head_table(run)
    show_table(table, key="each_head", display=heads_off.head_table_in_words(table))


def show_circuits(series: HeadsFollowed, n_heads: int, seed: int) -> None:
    """Draw both circuits of each head of one run."""
    series.poll()
    run = _chosen(series, n_heads, seed)
    if run is None:
        st.markdown("This run has not finished yet.")
        return
    # Two beside each other at most, so that the axis and the legend have room.
    columns = st.columns(1) if n_heads == 1 else [*st.columns(2), *st.columns(2)]
    for head, column in zip(range(n_heads), columns, strict=False):
        with column:
            show_chart(
                charts.head_circuits,
                heads_off.head_circuits(run, head),
                2 * (run.settings.n_keys + run.settings.n_values),
                key=f"circuits_{head}",
                says=heads_off.circuits_sentence(run, head),
                lines=4,
                alt_text="Heat-maps: one head's QK circuit, a row for each key named first or "
                "second, above its OV circuit, a row for each value of the first and the second "
                "answer; a column for each part of a pair.",
            )


def show_gradients(settings: TwoFactsSettings) -> None:
    """Check the hand-written gradient by nudging, and draw every sampled parameter."""
    check = _check(settings)
    points = gradcheck.gradient_points(check)
    agreement, differences = st.columns(2, gap="large")
    with agreement:
        show_chart(
            gradient_charts.gradient_agreement,
            points,
            key="heads_agreement",
            says="On the dashed line both are equal.",
            alt_text="Points: each sampled parameter's gradient by nudging against the backward "
            "pass's, with the diagonal on which they are equal.",
        )
    with differences:
        show_chart(
            gradient_charts.gradient_differences,
            points,
            key="heads_differences",
            says=gradcheck.gradient_sentence(check),
            lines=3,
            alt_text="Points: the relative difference of each sampled parameter, by matrix, with "
            "the article's largest.",
        )
    with fold("Every sampled parameter", key="heads_gradients") as unfolded:
        if unfolded:
            table = gradcheck.gradient_check(check)
            words = gradcheck.gradient_check_in_words(table)
            show_table(table, key="heads_gradients", display=words)


def _chosen(series: HeadsFollowed, n_heads: int, seed: int) -> HeadsRun | None:
    case = Case(n_heads=n_heads, order="as asked")
    return next(
        (run for run in series.runs if run.case == case and run.settings.seed == seed), None
    )


@st.cache_data(max_entries=64, show_spinner=False)
def _check(settings: TwoFactsSettings) -> GradientCheck:
    return check_heads(settings)
