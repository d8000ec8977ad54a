"""Charts of the mechanism experiment: heat-maps of every stage, and where the words moved."""

from typing import Any

import altair as alt

from core.charts.style import COLOURS, LONG_TITLE, colour_scale, diverging, no_data
from core.tables.mechanism import AFTER, BEFORE

ROW_HEIGHT = 18  # pixels, enough for a label
SMALL_ROWS = 7  # heat-maps with fewer rows are as high as with this many
_SHORT = 64  # pixels of a legend's colours, so that its title fits a phone beside long words


def vectors(n_rows: int, limit: float) -> alt.TopLevelMixin:
    """Draw a table of vectors: a row for each token, a column for each dimension.

    The colour is 0 in the middle and full at ±limit, and beyond.
    """
    colour = alt.Color(
        field="Value (no unit)",
        type="quantitative",
        scale=diverging(limit),
        legend=_legend(f"Value, full at ±{limit:g}", [-limit, 0, limit], _SHORT),
    )
    value = alt.Tooltip(field="Value (no unit)", type="quantitative", format=".6f")
    return _sized(_cells("Token", "Dimension", n_rows, colour, value), n_rows)


def scores(n_rows: int, limit: float) -> alt.TopLevelMixin:
    """Draw a table of scores; a pair that the mask forbids is grey."""
    colour = alt.Color(
        field="Score (no unit)",
        type="quantitative",
        scale=diverging(limit),
        legend=_legend(f"Score, full at ±{limit:g}", [-limit, 0, limit], _SHORT),
    )
    value = alt.Tooltip(field="Score in words", type="nominal", title="Score (no unit)")
    # Two layers: in one, Vega-Lite would colour −∞ as if it were 0.
    allowed = _cells("Asking", "Looked at", n_rows, colour, value).transform_filter(
        "datum['May look'] == 'yes'"
    )
    forbidden = _cells(
        "Asking", "Looked at", n_rows, alt.ColorValue(COLOURS["other pairs"]), value
    ).transform_filter("datum['May look'] == 'no'")
    return _sized(alt.layer(forbidden, allowed, data=no_data()), n_rows)


def pattern(n_rows: int) -> alt.TopLevelMixin:
    """Draw the attention pattern: each row sums to 1."""
    colour = alt.Color(
        field="Weight (no unit)",
        type="quantitative",
        scale=alt.Scale(domain=[0, 1]),
        legend=_legend("Weight", [0, 0.5, 1]),
    )
    value = alt.Tooltip(field="Weight (no unit)", type="quantitative", format=".6f")
    return _sized(_cells("Asking", "Looked at", n_rows, colour, value), n_rows)


def moves(n_rows: int) -> alt.TopLevelMixin:
    """Draw how far a vector points along each direction, before the head and after it."""
    x = alt.X(
        field="Cosine (no unit)",
        type="quantitative",
        scale=alt.Scale(domain=[-1, 1]),
        title="Cosine with the direction (no unit)",
        axis=alt.Axis(labelFlush=False, **LONG_TITLE),
    )
    y = _axis(alt.Y, "Direction", labelOverlap=False)
    tooltip = [
        alt.Tooltip(field="Direction", type="nominal"),
        alt.Tooltip(field="When", type="nominal"),
        alt.Tooltip(field="Cosine (no unit)", type="quantitative", format=".6f"),
        alt.Tooltip(field="Change (no unit)", type="quantitative", format="+.6f"),
    ]
    base = alt.Chart(no_data())
    path = base.mark_line(strokeWidth=2, color=COLOURS["other pairs"]).encode(
        x=x, y=y, detail=alt.Detail(field="Direction", type="nominal"), tooltip=tooltip[:1]
    )
    # One column: beside long words a phone has no room for both names in a row.
    legend = alt.Legend(orient="top", title=None, columns=1)
    points = base.mark_point(size=70, strokeWidth=2, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color(
            field="When",
            type="nominal",
            scale=colour_scale(BEFORE, AFTER),
            legend=legend,
        ),
        shape=alt.Shape(
            field="When",
            type="nominal",
            scale=alt.Scale(domain=[BEFORE, AFTER], range=["circle", "diamond"]),
            legend=legend,
        ),
        tooltip=tooltip,
    )
    return alt.layer(path, points, data=no_data()).properties(
        height=124 + ROW_HEIGHT * n_rows, width="container"
    )


def _cells(row: str, column: str, n_rows: int, colour: Any, value: alt.Tooltip) -> alt.Chart:  # noqa: ANN401
    names = [alt.Tooltip(field=name, type="nominal") for name in (row, column)]
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_rect()
        .encode(
            # Every token has its label; where many dimensions stand close, some are left out.
            x=_axis(
                alt.X,
                column,
                labelAngle=-90,
                labelOverlap=column == "Dimension",
                **({"labelFontSize": 10} if column == "Looked at" and n_rows > 12 else {}),
            ),
            y=_axis(alt.Y, row, labelOverlap=False),
            color=colour,
            tooltip=[*names, value],
        )
    )
    return chart


def _sized(chart: Any, n_rows: int) -> alt.TopLevelMixin:  # noqa: ANN401 - single or layered
    sized: alt.TopLevelMixin = chart.properties(
        height=210 + ROW_HEIGHT * max(n_rows, SMALL_ROWS), width="container"
    )
    return sized


def _axis(channel: Any, field: str, **axis: Any) -> Any:  # noqa: ANN401 - altair channel classes
    return channel(
        field=field,
        type="nominal",
        sort=alt.EncodingSortField(field=f"{field} order", op="min", order="ascending"),
        title=field,
        axis=alt.Axis(labelLimit=100, labelFlush=False, **axis),
    )


def _legend(title: str, values: list[float], length: int = 120) -> alt.Legend:
    return alt.Legend(
        orient="top", title=title, titleOrient="left", values=values, gradientLength=length
    )
