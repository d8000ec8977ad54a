"""Charts of what each scheme of positions does, and of the weights in another order."""

from typing import Any

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, diverging, no_data

SCORE_LIMIT = 2  # a score beyond it has the full colour
_CELLS_HEIGHT = 380  # pixels, the legend included


def shuffled_weights() -> alt.TopLevelMixin:
    """Draw each pair's weight in both orders of the sequence, a row for each pair."""
    base = alt.Chart(no_data())
    y = alt.Y(
        "Token:N",
        title="Pair (place in the first order)",
        sort=None,
        axis=alt.Axis(labelLimit=170, grid=True),
    )
    x = alt.X("Weight (no unit):Q", scale=alt.Scale(domain=[0, 1]))
    tooltip = [
        "Token:N",
        "Order:N",
        alt.Tooltip("Stands at:Q"),
        alt.Tooltip(field="Weight (no unit)", type="quantitative", format=".17f"),
    ]
    line = base.mark_line(color=COLOURS["other pairs"]).encode(x=x, y=y, detail="Token:N")
    points = base.mark_point(size=130, strokeWidth=2.5, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color(
            "Order:N",
            scale=colour_scale("as written", "reordered"),
            legend=alt.Legend(orient="top", title=None),
        ),
        shape=alt.Shape(
            "Order:N",
            scale=alt.Scale(domain=["as written", "reordered"], range=["circle", "cross"]),
            legend=alt.Legend(orient="top", title=None),
        ),
        tooltip=tooltip,
    )
    return alt.layer(line, points, data=no_data()).properties(
        height=CHART_HEIGHT, width="container"
    )


def scores() -> alt.TopLevelMixin:
    """Draw the score of one word about itself from each position to each position."""
    tooltip = [
        "Asking:O",
        "Looked at:O",
        "Distance:Q",
        alt.Tooltip(field="Score (no unit)", type="quantitative", format=".6f"),
    ]
    return _cells(
        "Looked at", "Looked-at position", "Asking", "Asking position", SCORE_LIMIT, tooltip
    )


def vectors(name: str) -> alt.TopLevelMixin:
    """Draw a vector for each position: a row of numbers, coloured from −1 to 1.

    Args:
        name: what a column is.
    """
    tooltip = [
        "Position:O",
        alt.Tooltip("Number:O", title=name),
        alt.Tooltip(field="Value (no unit)", type="quantitative", format=".6f"),
    ]
    return _cells("Number", name, "Position", "Position", 1, tooltip, value="Value (no unit)")


def bias_lines(n_positions: int) -> alt.TopLevelMixin:
    """Draw what ALiBi adds to a score by distance: the chosen slope and the paper's eight."""
    base = alt.Chart(no_data())
    x = alt.X(
        "Distance:Q", title="Distance (positions)", scale=alt.Scale(domain=[0, n_positions - 1])
    )
    y = alt.Y(
        field="Added to the score (no unit)",
        type="quantitative",
        scale=alt.Scale(domain=[-16, 0], clamp=True),
    )
    tooltip = [
        "Whose:N",
        alt.Tooltip("Slope:Q", format=".4~g"),
        "Distance:Q",
        alt.Tooltip(field="Added to the score (no unit)", type="quantitative", format=".4f"),
    ]
    layers = [
        base.transform_filter(f"datum.Whose == '{whose}'")
        .mark_line(point=True, strokeWidth=width, color=COLOURS[colour], strokeDash=dash)
        .encode(x=x, y=y, detail="Slope:N", tooltip=tooltip)
        for whose, width, colour, dash in (
            ("paper", 1, "other pairs", [3, 3]),
            ("yours", 3, "ALiBi", [1, 0]),
        )
    ]
    return alt.layer(*layers, data=no_data()).properties(height=CHART_HEIGHT, width="container")


def _cells(
    column: str,
    column_title: str,
    row: str,
    row_title: str,
    limit: float,
    tooltip: list[Any],
    value: str = "Score (no unit)",
) -> alt.TopLevelMixin:
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", ticks=False)
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_rect()
        .encode(
            x=alt.X(field=column, type="ordinal", title=column_title, axis=axis),
            y=alt.Y(field=row, type="ordinal", title=row_title, axis=axis),
            color=alt.Color(
                field=value,
                type="quantitative",
                scale=diverging(limit),
                legend=alt.Legend(
                    orient="top",
                    title=f"{value.split(' ')[0]}, full at ±{limit:g}",
                    values=[-limit, 0, limit],
                    gradientLength=150,
                ),
            ),
            tooltip=tooltip,
        )
        .properties(height=_CELLS_HEIGHT, width="container")
    )
    return chart
