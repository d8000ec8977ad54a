"""Charts of recall at scale."""

from typing import Any

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, no_data
from core.recall_at_scale import PAIRS, WIDTHS
from core.tables.scale import ACCURACY, ON_TOP

CELL = "cell"  # the name of the selection: the clicked cell's Pairs and d_k


def recall_map() -> alt.TopLevelMixin:
    """Draw the shipped map, pairs over d_k, the chosen cell outlined; a click selects a cell."""
    base = alt.Chart(no_data())
    x = alt.X(
        "d_k:O",
        title="d_k (numbers in a query)",
        scale=alt.Scale(domain=list(WIDTHS)),
        axis=alt.Axis(labelAngle=0),
    )
    y = alt.Y("Pairs:O", title="Pairs in a sequence", scale=alt.Scale(domain=list(reversed(PAIRS))))
    tooltip = [
        "Pairs:O",
        "Keys:Q",
        "d_k:O",
        _number(ACCURACY, ".2f", "Accuracy, mean of the seeds (%)"),
        _number("Lowest seed (%)", ".2f"),
        _number("Highest seed (%)", ".2f"),
        _number(ON_TOP, ".2f"),
        _number("Ceiling, equal weights (%)", ".2f"),
        "Seeds:Q",
        _number("Fresh sequences", ","),
    ]
    cells = (
        base.mark_rect(cursor="pointer")
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "Shown:Q",
                title="Share of sequences (%)",
                scale=alt.Scale(domain=[0, 100]),
                legend=alt.Legend(orient="bottom", gradientLength=220),
            ),
            tooltip=tooltip,
        )
        .add_params(
            alt.selection_point(
                name=CELL, fields=["Pairs", "d_k", "Clicks"], on="click", toggle=False, empty=False
            )
        )
    )
    chosen = (
        base.transform_filter("datum.Chosen")
        .mark_rect(filled=False, strokeWidth=4, stroke=COLOURS["article"])
        .encode(x=x, y=y, tooltip=tooltip)
    )
    return alt.layer(cells, chosen, data=no_data()).properties(height=360, width="container")


def by_width() -> alt.TopLevelMixin:
    """Draw accuracy over d_k, a line for each number of pairs, the chosen one in colour."""
    base = alt.Chart(no_data())
    cells = base.transform_filter("datum.Mark == 'cell'")
    x = alt.X(
        "d_k:O",
        title="d_k (numbers in a query)",
        scale=alt.Scale(domain=list(WIDTHS)),
        axis=alt.Axis(labelAngle=0),
    )
    y = alt.Y(field=ACCURACY, type="quantitative", scale=alt.Scale(domain=[0, 100]))
    tooltip = [
        "Pairs:O",
        "Keys:Q",
        "d_k:O",
        _number(ACCURACY, ".2f", "Accuracy, mean of the seeds (%)"),
        _number("Lowest seed (%)", ".2f"),
        _number("Highest seed (%)", ".2f"),
    ]
    layers = _levels(base, y)
    for where, colour, width in (
        ("!datum.Chosen", COLOURS["other pairs"], 1.5),
        ("datum.Chosen", COLOURS["learned"], 3),
    ):
        lines = cells.transform_filter(where)
        layers.append(
            lines.mark_line(
                strokeWidth=width, color=colour, point=alt.OverlayMarkDef(size=50, color=colour)
            ).encode(x=x, y=y, detail="Pairs:O", tooltip=tooltip)
        )
    chosen = cells.transform_filter("datum.Chosen")
    layers.append(
        chosen.mark_rule(color=COLOURS["learned"], strokeWidth=2).encode(
            x=x,
            y=alt.Y(field="Lowest seed (%)", type="quantitative", title=ACCURACY),
            y2=alt.Y2("Highest seed (%)", title=ACCURACY),
            tooltip=tooltip,
        )
    )
    return alt.layer(*layers, data=no_data()).properties(height=CHART_HEIGHT, width="container")


def curves() -> alt.TopLevelMixin:
    """Draw the accuracy of each run over the steps of its training."""
    base = alt.Chart(no_data())
    x = alt.X("Step:Q", title="Training steps", scale=alt.Scale(nice=False))
    y = alt.Y(field=ACCURACY, type="quantitative", scale=alt.Scale(domain=[0, 100]))
    # Unseen: it gives the axis its length before there is a run.
    ends = base.transform_filter("datum.Mark == 'end of axis'").mark_point(opacity=0).encode(x=x)
    lines = (
        base.transform_filter("datum.Mark == 'run'")
        .mark_line(color=COLOURS["learned"], point=alt.OverlayMarkDef(size=25))
        .encode(
            x=x,
            y=y,
            detail="Seed:N",
            tooltip=["Seed:N", _number("Step", ","), _number(ACCURACY, ".2f")],
        )
    )
    return alt.layer(*_levels(base, y), ends, lines, data=no_data()).properties(
        height=240, width="container"
    )


def _levels(base: alt.Chart, y: alt.Y) -> list[alt.Chart]:
    """Return the horizontal lines of chance and of the ceiling, each with its name."""
    layers: list[alt.Chart] = []
    for mark, dash, baseline in (("chance", [4, 4], "top"), ("ceiling", [1, 0], "bottom")):
        line = base.transform_filter(f"datum.Mark == '{mark}'")
        style: dict[str, Any] = {"color": COLOURS[mark]}
        text: dict[str, Any] = {"align": "right", "dx": -4, "baseline": baseline, "fontSize": 13}
        layers += [
            line.mark_rule(strokeWidth=2, strokeDash=dash, **style).encode(y=y),
            line.mark_text(**text, **style).encode(x=alt.value("width"), y=y, text="Words:N"),
        ]
    return layers


def _number(field: str, form: str, title: str | None = None) -> alt.Tooltip:
    return alt.Tooltip(field=field, type="quantitative", format=form, title=title or field)
