"""Charts of the experiment with one head and several."""

from typing import Any

import altair as alt

from core.charts.style import COLOURS, LONG_TITLE, colour_scale, diverging, no_data

ROWS = ("1 head, smallest first", "1 head", "2 heads", "3 heads", "4 heads")
ANSWERS = ("both", "first", "second")

# Pixels. The height of a chart includes its axes and its legend.
ROW_HEIGHT = 62  # up to 10 seeds lie beside each other across a row
BAR_HEIGHT = 20
AROUND_BARS = 90
CELL_HEIGHT = 11  # up to MOST_CELLS rows of a head's circuits; more are drawn thinner
MOST_CELLS = 50
AROUND_CELLS = 150


def run_points() -> alt.TopLevelMixin:
    """Draw a point for every run, a row for each case, beside chance and the ceiling of one head.

    The ceiling bounds the second row alone, and stands as a line through all of them.
    """
    base = alt.Chart(no_data())
    scale = alt.Scale(domain=[0, 100], nice=False)
    x = alt.X(
        "Accuracy:Q",
        title="Sequences with both answers right (%)",
        scale=scale,
        axis=alt.Axis(**LONG_TITLE),
    )
    names = " : ".join(f"datum.value == {i} ? '{name}'" for i, name in enumerate(ROWS))
    y = alt.Y(
        "Row:Q",
        title=None,
        scale=alt.Scale(domain=[len(ROWS) - 0.5, -0.5], nice=False),
        axis=alt.Axis(
            values=list(range(len(ROWS))),
            labelExpr=f"{names} : ''",
            grid=False,
            labelLimit=160,
            ticks=False,
            domain=False,
            labelPadding=6,
        ),
    )
    points = (
        base.transform_filter("datum.Mark == 'run'")
        .mark_circle(size=70, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.condition(
                "datum.Case == '1 head'",
                alt.value(COLOURS["one head"]),
                alt.value(COLOURS["several heads"]),
            ),
            tooltip=[
                alt.Tooltip("Case:N", title="Heads"),
                "Seed:Q",
                alt.Tooltip("Accuracy:Q", title="Both right (%)", format=".3f"),
                alt.Tooltip("First:Q", title="First right (%)", format=".3f"),
                alt.Tooltip("Second:Q", title="Second right (%)", format=".3f"),
                alt.Tooltip("Words:N", title="Both right"),
                alt.Tooltip("Sequences:N"),
                alt.Tooltip("Solved:N", title="99 % reached"),
            ],
        )
    )
    return alt.layer(
        # Chance is at most 25 %, the ceiling above 50 %: both names stand between the two lines.
        *_rule(base, x, y, "chance", [4, 4], baseline="bottom", align="left", dx=5),
        *_rule(base, x, y, "ceiling", [1, 0], baseline="top", align="right", dx=-5),
        points,
        data=no_data(),
    ).properties(height=ROW_HEIGHT * len(ROWS), width="container")


def heads_off(n_states: int) -> alt.TopLevelMixin:
    """Draw what is right with all heads on, and with each one off: three bars a row.

    Args:
        n_states: one more than there are heads.
    """
    colours = colour_scale(*(f"{answer} right" for answer in ANSWERS))
    bars = (
        alt.Chart(no_data())
        .transform_calculate(Right_words="datum.Answer + ' right'")
        .mark_bar()
        .encode(
            x=alt.X(
                "Accuracy (%):Q",
                title="Sequences answered right (%)",
                scale=alt.Scale(domain=[0, 100], nice=False),
            ),
            y=alt.Y("Heads:N", sort=None, title=None, axis=alt.Axis(labelLimit=160)),
            yOffset=alt.YOffset("Answer:N", sort=list(ANSWERS)),
            color=alt.Color(
                "Right_words:N",
                scale=colours,
                title="Answered right",
                legend=alt.Legend(orient="bottom", labelExpr="split(datum.label, ' ')[0]"),
            ),
            tooltip=[
                "Heads:N",
                "Answer:N",
                alt.Tooltip("Accuracy (%):Q", format=".3f"),
                alt.Tooltip("Right:Q", format=","),
                alt.Tooltip("Sequences:Q", format=","),
            ],
        )
    )
    chart: alt.TopLevelMixin = bars.properties(
        height=AROUND_BARS + 3 * BAR_HEIGHT * n_states, width="container"
    )
    return chart


def head_circuits(n_rows: int) -> alt.TopLevelMixin:
    """Draw one head's QK circuit above its OV circuit; a column is a part of a pair.

    Args:
        n_rows: rows of both circuits together.
    """
    is_cell = "datum.Circuit == 'QK' || datum.Circuit == 'OV'"
    cells = (
        alt.Chart(no_data())
        .mark_rect()
        .encode(
            x=alt.X(
                "Part:N",
                sort=None,
                title="Part of a pair",
                axis=alt.Axis(labelAngle=-90, labelOverlap=True),
            ),
            y=alt.Y("Row:N", sort=None, title=None, axis=alt.Axis(labelOverlap=True)),
            color=alt.Color(
                "Share:Q",
                scale=diverging(1),
                title="Share of the largest entry",
                legend=alt.Legend(
                    orient="bottom", gradientLength=140, values=[-1, 0, 1], titleLimit=0
                ),
            ),
            opacity=alt.condition(is_cell, alt.value(1), alt.value(0)),
            tooltip=[
                "Circuit:N",
                "Row:N",
                "Part:N",
                alt.Tooltip("Entry:Q", title="Entry (no unit)", format=".4f"),
            ],
        )
    )
    height = AROUND_CELLS + CELL_HEIGHT * min(n_rows + 1, MOST_CELLS)
    chart: alt.TopLevelMixin = cells.properties(height=height, width="container")
    return chart


def _rule(
    base: alt.Chart,
    x: alt.X,
    y: alt.Y,
    mark: str,
    dash: list[int],
    **place: Any,  # noqa: ANN401 - Altair's own keywords
) -> list[alt.Chart]:
    """Return a vertical line with its name at one end."""
    line = base.transform_filter(f"datum.Mark == '{mark}'")
    name = line.mark_text(color=COLOURS[mark], fontSize=13, **place)
    return [
        line.mark_rule(color=COLOURS[mark], strokeWidth=2, strokeDash=dash).encode(x=x),
        name.encode(x=x, y=y, text="Words:N"),
    ]
