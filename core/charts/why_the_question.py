"""Charts of why the question keeps half the weight: weights, scores, gaps, training, changes."""

import altair as alt

from core.ablation_scores import N_FRESH
from core.charts.style import (
    CHART_HEIGHT,
    COLOURS,
    LONG_TITLE,
    colour_scale,
    diverging,
    no_data,
)
from core.tables.interventions import NAMES
from core.tables.question_scores import BIN, ENTRY, HIGHEST, ITSELF, LOWEST, OWN_KEY, SHARE
from core.tables.why_the_question import (
    ACCURACY,
    CHANGED,
    DONE,
    MEANINGS,
    POSITIONS,
    STEP,
    UNCHANGED,
    WEIGHT,
    WHO,
)

# Pixels. The height of a chart includes its axes and its legend.
_POSITION_HEIGHT = 74  # of a row with two lanes of runs
_CHANGE_HEIGHT = 40  # of a row with one
_AROUND = 120
_CELL_HEIGHT = 24  # up to _MOST_ROWS rows; more rows are drawn thinner
_MOST_ROWS = 20
_AROUND_CELLS = 190


def weight_points() -> alt.TopLevelMixin:
    """Draw every run's mean weight on the match, on each other pair and on the question.

    In each row the runs with the student's changes lie above those with nothing changed. A run
    under way is paler, and stands where it is at its last checkpoint.
    """
    points = (
        alt.Chart(no_data())
        .mark_point(size=80, strokeWidth=2)
        .encode(
            opacity=alt.condition(f"datum.Trained == '{DONE}'", alt.value(1), alt.value(0.5)),
            x=_percent(WEIGHT, f"Mean weight on {N_FRESH:,} fresh sequences (%)"),
            y=_rows(POSITIONS),
            stroke=_meaning(alt.Stroke),
            fill=_meaning(alt.Fill),
            fillOpacity=alt.condition(f"datum.Who == '{UNCHANGED}'", alt.value(0), alt.value(0.85)),
            shape=alt.Shape(
                field="Who",
                type="nominal",
                scale=alt.Scale(domain=list(WHO), range=["circle", "square", "diamond"]),
                # Two columns, so that it fits a phone.
                legend=alt.Legend(
                    orient="top",
                    title=None,
                    columns=2,
                    symbolFillColor="transparent",
                    symbolStrokeColor=COLOURS["other pairs"],
                    symbolStrokeWidth=2,
                ),
            ),
            tooltip=[
                *(
                    alt.Tooltip(field=name, type="nominal")
                    for name in ("Who", "Position", "Seed", "Trained")
                ),
                alt.Tooltip(field=WEIGHT, type="quantitative", format=".3f"),
                alt.Tooltip(field=ACCURACY, type="quantitative", format=".2f"),
            ],
        )
    )
    return _finished(points, _POSITION_HEIGHT * len(POSITIONS) + _AROUND)


def qk_circuit(n_rows: int) -> alt.TopLevelMixin:
    """Draw the QK circuit, a row for each question, and what each scores with itself at the end.

    The entries a question meets at its matching pair's key and at itself are outlined.

    Args:
        n_rows: different keys.
    """
    base = (
        alt.Chart(no_data())
        .transform_calculate(share=f"datum['{ENTRY}'] / datum.Limit")
        .encode(
            x=alt.X(
                field="Part",
                type="nominal",
                sort=None,
                title="Part of a token that is looked at",
                axis=alt.Axis(labelAngle=-90, labelOverlap=True, labelLimit=140),
            ),
            y=alt.Y(field="Asks", type="nominal", sort=None, title=None),
            tooltip=[
                alt.Tooltip(field="Asks", type="nominal", title="Question"),
                alt.Tooltip(field="Part", type="nominal", title="Looked at"),
                alt.Tooltip(field="Words", type="nominal", title=ENTRY),
            ],
        )
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            field="share",
            type="quantitative",
            scale=diverging(1),
            title="Share of the largest entry",
            legend=alt.Legend(orient="bottom", gradientLength=220, values=[-1, 0, 1], titleLimit=0),
        )
    )
    outlines = [
        base.transform_filter(f"datum.Kind == '{kind}'")
        .mark_rect(filled=False, strokeWidth=2.5)
        .encode(stroke=alt.value(COLOURS[meaning]))
        for kind, meaning in ((OWN_KEY, "matching pair"), (ITSELF, "question"))
    ]
    return _finished(
        alt.layer(cells, *outlines, data=no_data()),
        _CELL_HEIGHT * min(n_rows, _MOST_ROWS) + _AROUND_CELLS,
    )


def gap_histogram() -> alt.TopLevelMixin:
    """Draw how often each gap occurs: bars with the changes, an outline with nothing changed.

    The first and the last bar hold everything beyond the ends.
    """
    base = alt.Chart(no_data()).encode(
        x=alt.X(
            field="From",
            type="quantitative",
            bin="binned",
            title="Score of match − score of question (no unit)",  # short enough for a phone
            scale=alt.Scale(domain=[LOWEST - 2 * BIN, HIGHEST + 2 * BIN], nice=False),
            axis=alt.Axis(format="~g", tickMinStep=0.5, grid=False),
        ),
        x2=alt.X2(field="To"),
        y=alt.Y(field=SHARE, type="quantitative", scale=alt.Scale(domain=[0, 100]), title=SHARE),
        tooltip=[
            alt.Tooltip(field="Who", type="nominal"),
            alt.Tooltip(field="Words", type="nominal", title="Gap (no unit)"),
            alt.Tooltip(field=SHARE, type="quantitative", format=".2f"),
            alt.Tooltip(field="Sequences", type="quantitative", format=","),
        ],
    )
    bars = (
        base.transform_filter(f"datum.Who == '{CHANGED}'")
        .mark_bar(opacity=0.8, binSpacing=0)
        .encode(fill=_who(alt.Fill))
    )
    outline = (
        base.transform_filter(f"datum.Who == '{UNCHANGED}'")
        .mark_bar(filled=False, strokeWidth=2, binSpacing=0)
        .encode(stroke=_who(alt.Stroke))
    )
    even = (
        alt.Chart(no_data())
        .transform_aggregate(rows="count()")
        .encode(x=alt.XDatum(0))
        .mark_rule(strokeDash=[4, 4], color=COLOURS["ceiling"])
    )
    return _finished(alt.layer(bars, outline, even, data=no_data()), CHART_HEIGHT)


def history(n_steps: int) -> alt.TopLevelMixin:
    """Draw the weight on the question against the training step, a line for every run.

    Args:
        n_steps: where the axis ends, however far the runs are.
    """
    lines = (
        alt.Chart(no_data())
        .mark_line(strokeWidth=1.5, opacity=0.8)
        .encode(
            x=alt.X(
                field=STEP,
                type="quantitative",
                title="Step (optimiser steps taken)",
                scale=alt.Scale(type="symlog", constant=10, domain=[0, n_steps], nice=False),
                axis=alt.Axis(values=[0, 10, 30, 100, 300, 1000, 3000, 10_000], format=",d"),
            ),
            y=alt.Y(
                field=WEIGHT,
                type="quantitative",
                title="Weight on the question (%)",
                scale=alt.Scale(domain=[0, 100]),
            ),
            detail=alt.Detail(field="Run", type="nominal"),
            color=_who(alt.Color, legend=True),
            strokeDash=alt.StrokeDash(
                field="Who",
                type="nominal",
                scale=alt.Scale(domain=list(WHO[:2]), range=[[1, 0], [5, 3]]),
                legend=_LINES,
            ),
            tooltip=[
                alt.Tooltip(field="Run", type="nominal"),
                alt.Tooltip(field=STEP, type="quantitative", format=",d"),
                alt.Tooltip(field=WEIGHT, type="quantitative", format=".2f"),
                alt.Tooltip(field=ACCURACY, type="quantitative", format=".2f"),
            ],
        )
    )
    unseen = lines.mark_point(size=60, opacity=0)  # for the pointer to find
    return _finished(alt.layer(lines, unseen, data=no_data()), CHART_HEIGHT)


def intervention_points() -> alt.TopLevelMixin:
    """Draw every run of every change: its weight on the match and on the question."""
    points = (
        alt.Chart(no_data())
        .mark_point(size=60, filled=True, opacity=0.85)
        .encode(
            x=_percent(WEIGHT, f"Mean weight on {N_FRESH:,} fresh sequences (%)"),
            y=_rows(NAMES),
            color=alt.Color(
                field="Position",
                type="nominal",
                scale=colour_scale("matching pair", "question"),
                legend=alt.Legend(orient="top", title=None),
            ),
            shape=alt.Shape(
                field="Position",
                type="nominal",
                scale=alt.Scale(
                    domain=["matching pair", "question"], range=["triangle-right", "circle"]
                ),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=[
                alt.Tooltip(field="Change", type="nominal"),
                alt.Tooltip(field="Position", type="nominal"),
                alt.Tooltip(field="Seed", type="quantitative"),
                alt.Tooltip(field=WEIGHT, type="quantitative", format=".3f"),
                alt.Tooltip(field=ACCURACY, type="quantitative", format=".2f"),
            ],
        )
    )
    return _finished(points, _CHANGE_HEIGHT * len(NAMES) + _AROUND)


_LINES = alt.Legend(orient="top", title=None, symbolType="stroke", symbolSize=400)


def _rows(names: tuple[str, ...]) -> alt.Y:
    """Return an axis of places in rows that are told apart by these names."""
    words = " : ".join(f"datum.value == {i} ? '{name}'" for i, name in enumerate(names))
    return alt.Y(
        field="Row",
        type="quantitative",
        title=None,
        scale=alt.Scale(domain=[len(names) - 0.5, -0.5], nice=False),
        axis=alt.Axis(
            values=list(range(len(names))),
            labelExpr=f"{words} : ''",
            labelLimit=190,
            labelPadding=6,
            grid=False,
            ticks=False,
            domain=False,
        ),
    )


def _percent(field: str, title: str) -> alt.X:
    return alt.X(
        field=field,
        type="quantitative",
        title=title,
        scale=alt.Scale(domain=[0, 100], nice=False),
        axis=alt.Axis(tickCount=5, **LONG_TITLE),
    )


def _meaning(channel: type[alt.Stroke] | type[alt.Fill]) -> alt.Stroke | alt.Fill:
    return channel(field="Meaning", type="nominal", scale=colour_scale(*MEANINGS), legend=None)


def _who(
    channel: type[alt.Stroke] | type[alt.Fill] | type[alt.Color], *, legend: bool = False
) -> alt.Stroke | alt.Fill | alt.Color:
    shown = _LINES if legend else alt.Legend(orient="top", title=None)
    return channel(
        field="Who", type="nominal", scale=colour_scale(CHANGED, UNCHANGED), legend=shown
    )


def _finished(chart: alt.TopLevelMixin, height: int) -> alt.TopLevelMixin:
    done: alt.TopLevelMixin = chart.properties(height=height, width="container")
    return done
