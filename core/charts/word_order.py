"""Charts of the word-order experiment."""

from typing import Any

import altair as alt

from core.charts.style import (
    CHART_HEIGHT,
    COLOURS,
    colour_scale,
    no_data,
    short_of_foot,
    short_of_head,
)
from core.order_training import N_FRESH, SLOPES
from core.tables.order_findings import DISTANCE, OTHERS, RELATIVE, SLOPE, slope_words
from core.tables.word_order import ACCURACY, LABELS

SCHEMES = list(LABELS.values())
MOST_RELATIVE = 16  # a relative score beyond it is drawn at the edge
_ROW_HEIGHT = 62  # pixels; up to ten seeds lie beside each other across a row


def run_points() -> alt.TopLevelMixin:
    """Draw a point for every run, a row for each scheme, beside chance and the ceiling."""
    base = alt.Chart(no_data())
    scale = alt.Scale(domain=[0, 100], nice=False)
    x = alt.X("Accuracy:Q", title=f"Accuracy on {N_FRESH:,} fresh sequences (%)", scale=scale)
    names = " : ".join(f"datum.value == {i} ? '{name}'" for i, name in enumerate(SCHEMES))
    y = alt.Y(
        "Row:Q",
        title=None,
        scale=alt.Scale(domain=[len(SCHEMES) - 0.5, -0.5], nice=False),
        axis=alt.Axis(
            values=list(range(len(SCHEMES))),
            labelExpr=f"{names} : ''",
            grid=False,
            labelLimit=140,
            ticks=False,
            domain=False,
            labelPadding=6,
        ),
    )
    band = (
        base.transform_filter("datum.Mark == 'ceiling'")
        .mark_rect(opacity=0.2, color=COLOURS["ceiling"])
        .encode(
            x=alt.X("Low:Q", scale=scale),
            x2="High:Q",
            tooltip=[
                alt.Tooltip("Low:Q", title="95 % of runs at the ceiling: from (%)", format=".2f"),
                alt.Tooltip("High:Q", title="to (%)", format=".2f"),
            ],
        )
    )
    points = (
        base.transform_filter("datum.Mark == 'run'")
        .mark_circle(size=80, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.Color("Scheme:N", scale=colour_scale(*SCHEMES), legend=None),
            tooltip=[
                alt.Tooltip("Scheme:N", title="Positions"),
                "Seed:Q",
                alt.Tooltip("Accuracy:Q", title="Accuracy (%)", format=".2f"),
                alt.Tooltip("Wrong:Q", title=f"Wrong of {N_FRESH:,}", format=","),
                alt.Tooltip("Solved:N", title="99 % reached"),
            ],
        )
    )
    return alt.layer(
        band, *_rule(base, "chance", x, y), *_rule(base, "ceiling", x, y), points, data=no_data()
    ).properties(height=_ROW_HEIGHT * len(SCHEMES), width="container")


def distances(n_pairs: int) -> alt.TopLevelMixin:
    """Draw the trained score of the asked key's pairs by their distance from the question."""
    x = alt.X(
        field=DISTANCE,
        type="quantitative",
        scale=alt.Scale(domain=[1, max(2, n_pairs)], reverse=True),
        axis=alt.Axis(tickMinStep=1, format="d"),
    )
    y = alt.Y(
        field=RELATIVE,
        type="quantitative",
        scale=alt.Scale(domain=[-2, MOST_RELATIVE], clamp=True),
    )
    return _lines(DISTANCE, x, y, [_number(RELATIVE, ".3f"), "Runs:Q"])


def lengths(trained: int) -> alt.TopLevelMixin:
    """Draw the accuracy on shorter and longer sequences, with a line at the trained length."""
    x = alt.X(
        field=OTHERS,
        type="quantitative",
        title="Other pairs in the tested sequences",
        scale=alt.Scale(domain=[0, 7]),
        axis=alt.Axis(tickMinStep=1, format="d"),
    )
    y = alt.Y(field=ACCURACY, type="quantitative", scale=alt.Scale(domain=[0, 100]))
    lines = _lines(
        OTHERS, x, y, [_number(ACCURACY, ".2f"), alt.Tooltip("Fresh sequences:Q", format=",")]
    )
    once = alt.Chart(no_data()).transform_aggregate(rows="count()")
    rule = once.mark_rule(color=COLOURS["other pairs"], strokeDash=[4, 4]).encode(
        x=alt.XDatum(trained, scale=alt.Scale(domain=[0, 7]))
    )
    words = once.mark_text(align="left", dx=5, baseline="bottom", color=COLOURS["other pairs"])
    words = words.encode(x=alt.XDatum(trained), y=alt.YDatum(2), text=alt.TextValue("trained here"))
    return alt.layer(rule, words, lines, data=no_data()).properties(
        height=CHART_HEIGHT, width="container"
    )


def slopes() -> alt.TopLevelMixin:
    """Draw the accuracy of ALiBi runs by their slope, with the ceiling without positions."""
    base = alt.Chart(no_data())
    y = alt.Y(field=ACCURACY, type="quantitative", scale=alt.Scale(domain=[0, 100]))
    x = alt.X(
        field=SLOPE,
        type="nominal",
        scale=alt.Scale(domain=[slope_words(slope) for slope in SLOPES]),
        axis=alt.Axis(labelAngle=0, grid=True),
    )
    ceiling = base.transform_filter("datum.Mark == 'ceiling'")
    colour = COLOURS["ceiling"]
    points = (
        base.transform_filter("datum.Mark == 'run'")
        .mark_circle(size=80, opacity=0.7, color=COLOURS["ALiBi"])
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip(field=SLOPE, type="nominal"),
                "Seed:Q",
                _number(ACCURACY, ".2f"),
                _number("Weight on the last pair (%)", ".1f"),
                _number("Weight on the question (%)", ".1f"),
            ],
        )
    )
    return alt.layer(
        ceiling.mark_rule(color=colour, strokeWidth=2).encode(y=y),
        ceiling.mark_text(
            align="right", baseline="bottom", color=colour, fontSize=13, dx=-4
        ).encode(x=alt.value("width"), y=y, text=alt.TextValue("ceiling without positions")),
        points,
        data=no_data(),
    ).properties(height=CHART_HEIGHT, width="container")


def _lines(where: str, x: alt.X, y: alt.Y, tooltip: list[Any]) -> alt.Chart:
    """Return a line with points for each scheme."""
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_line(point=alt.OverlayMarkDef(size=60), strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "Scheme:N",
                scale=colour_scale(*SCHEMES),
                legend=alt.Legend(orient="top", title=None, columns=2),
            ),
            tooltip=[alt.Tooltip("Scheme:N", title="Positions"), _number(where, "d"), *tooltip],
        )
        .properties(height=CHART_HEIGHT, width="container")
    )
    return chart


def _number(field: str, form: str) -> alt.Tooltip:
    return alt.Tooltip(field=field, type="quantitative", format=form)


def _rule(base: alt.Chart, mark: str, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return a vertical line with its name, on the side where there is room."""
    line = base.transform_filter(f"datum.Mark == '{mark}'")
    dash = [4, 4] if mark == "chance" else [1, 0]
    baseline = "top" if mark == "chance" else "bottom"
    style: dict[str, Any] = {"baseline": baseline, "color": COLOURS[mark], "fontSize": 13}
    left = line.transform_filter("datum.Accuracy <= 55").mark_text(align="left", dx=5, **style)
    right = line.transform_filter("datum.Accuracy > 55").mark_text(align="right", dx=-5, **style)
    return [
        line.mark_rule(color=COLOURS[mark], strokeWidth=2, strokeDash=dash).encode(
            x=x, **(short_of_foot() if baseline == "top" else short_of_head())
        ),
        *(text.encode(x=x, y=y, text="Words:N") for text in (left, right)),
    ]
