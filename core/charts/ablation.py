"""Charts of the ablation experiment."""

from typing import Any

import altair as alt

from core.ablation_scores import N_FRESH
from core.charts.style import COLOURS, no_data, short_of_foot, short_of_head

VARIANTS = ["learned", "uniform", "W_Q, W_K frozen", "W_Q frozen", "values hidden"]
WHO = ["uniform head", "best strategy", "article"]
ROW_HEIGHT = 62  # pixels; up to 20 seeds lie beside each other across a row
FARTHEST = 4  # standard errors at the ends of the axis of distances


def run_points() -> alt.TopLevelMixin:
    """Draw a point for every run, a row for each variant, beside chance and the ceiling.

    The seeds of a variant are spread across its row, in the same order in every row.
    """
    base = alt.Chart(no_data())
    x = alt.X(
        "Accuracy:Q",
        title=f"Accuracy on {N_FRESH:,} fresh sequences (%)",
        scale=alt.Scale(domain=[0, 100], nice=False),
    )
    names = " : ".join(f"datum.value == {i} ? '{name}'" for i, name in enumerate(VARIANTS))
    y = alt.Y(
        "Row:Q",
        title=None,
        scale=alt.Scale(domain=[len(VARIANTS) - 0.5, -0.5], nice=False),
        axis=_rows(values=list(range(len(VARIANTS))), labelExpr=f"{names} : ''", grid=False),
    )
    band = (
        base.transform_filter("datum.Mark == 'ceiling'")
        .mark_rect(opacity=0.2, color=COLOURS["ceiling"])
        .encode(
            x=alt.X("Low:Q", scale=alt.Scale(domain=[0, 100], nice=False)),
            x2="High:Q",
            tooltip=[
                alt.Tooltip("Low:Q", title="95 % of runs at the ceiling: from (%)", format=".2f"),
                alt.Tooltip("High:Q", title="to (%)", format=".2f"),
            ],
        )
    )
    points = (
        base.transform_filter("datum.Mark == 'run'")
        .mark_circle(size=70, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.condition(
                "datum.Variant == 'uniform'",
                alt.value(COLOURS["uniform"]),
                alt.value(COLOURS["learned"]),
            ),
            tooltip=[
                "Variant:N",
                "Seed:Q",
                alt.Tooltip("Accuracy:Q", title="Accuracy (%)", format=".2f"),
                alt.Tooltip("Low:Q", title="95 % interval from (%)", format=".2f"),
                alt.Tooltip("High:Q", title="95 % interval to (%)", format=".2f"),
                alt.Tooltip("Solved:N", title="99 % reached"),
            ],
        )
    )
    layers = [band, *_rules(base, x, y), points]
    layers += _article(base, x, y)
    return alt.layer(*layers, data=no_data()).properties(
        height=ROW_HEIGHT * len(VARIANTS), width="container"
    )


def sampling_points() -> alt.TopLevelMixin:
    """Draw how far each score lies from the ceiling, counted in standard errors of its sample.

    The shaded range holds 95 % of what chance alone makes of a score at the ceiling.
    """
    base = alt.Chart(no_data())
    scale = alt.Scale(domain=[-FARTHEST, FARTHEST], nice=False)
    once = base.transform_aggregate(rows="count()")  # one mark, however many rows there are
    band = once.mark_rect(opacity=0.2, color=COLOURS["ceiling"]).encode(
        x=alt.XDatum(-1.96, scale=scale), x2=alt.X2Datum(1.96)
    )
    middle = once.mark_rule(color=COLOURS["ceiling"], strokeWidth=2).encode(
        x=alt.XDatum(0, scale=scale)
    )
    points = base.mark_point(size=80, filled=True, opacity=0.8).encode(
        x=alt.X(
            "Shown:Q",
            title="From the ceiling (standard errors)",
            scale=scale,
            axis=alt.Axis(format="+d", tickMinStep=1),
        ),
        y=alt.Y("Who:N", title=None, scale=alt.Scale(domain=WHO), axis=_rows()),
        color=alt.Color(
            "Who:N",
            scale=alt.Scale(
                domain=WHO, range=[COLOURS["uniform"], COLOURS["ceiling"], COLOURS["article"]]
            ),
            legend=None,
        ),
        shape=alt.Shape(
            "Who:N",
            scale=alt.Scale(domain=WHO, range=["circle", "square", "diamond"]),
            legend=None,
        ),
        tooltip=[
            "Who:N",
            "Seed:N",
            alt.Tooltip("Accuracy:Q", title="Accuracy (%)", format=".2f"),
            alt.Tooltip("Distance:Q", title="From the ceiling (standard errors)", format="+.2f"),
            alt.Tooltip("Right answers:Q", format=","),
            alt.Tooltip("Sequences:Q", format=","),
        ],
    )
    return (
        alt.layer(band, middle, points, data=no_data())
        .transform_calculate(Shown=f"clamp(datum.Distance, -{FARTHEST}, {FARTHEST})")
        .properties(height=200, width="container")
    )


def ceiling_map() -> alt.TopLevelMixin:
    """Draw the ceiling over pairs and values, and a dot for each cell that was measured.

    Cells and dots share one colour scale: a dot disappears into its cell where the measured
    accuracy is the ceiling. The outlined cell is the one chosen.
    """
    base = alt.Chart(no_data())
    x = alt.X(
        "Values:O", title="Different values", axis=alt.Axis(labelAngle=0, labelOverlap="greedy")
    )
    y = alt.Y("Pairs:O", title="Pairs in a sequence", sort="descending")
    scale = alt.Scale(domain=[0, 100])
    tooltip = [
        "Pairs:O",
        "Values:O",
        alt.Tooltip("Ceiling:Q", title="Ceiling (%)", format=".4f"),
        alt.Tooltip("Exact:N", title="Ceiling, exact"),
        alt.Tooltip("Words:N", title="Measured"),
        alt.Tooltip("Sequences:Q", title="Fresh sequences", format=","),
    ]
    cells = base.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color(
            "Ceiling:Q",
            title="Accuracy (%)",
            scale=scale,
            legend=alt.Legend(orient="bottom", gradientLength=220),
        ),
        tooltip=tooltip,
    )
    chosen = (
        base.transform_filter("datum.Selected")
        .mark_rect(filled=False, strokeWidth=3, stroke=COLOURS["article"])
        .encode(x=x, y=y, tooltip=tooltip)
    )
    dots = (
        base.transform_filter("datum.Sequences > 0")
        .mark_point(
            shape="circle",
            filled=True,
            size=70,
            opacity=1,
            stroke=COLOURS["uniform"],
            strokeWidth=1.5,
        )
        .encode(x=x, y=y, fill=alt.Fill("Measured:Q", scale=scale, legend=None), tooltip=tooltip)
    )
    return alt.layer(cells, chosen, dots, data=no_data()).properties(height=400, width="container")


def _rules(base: alt.Chart, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return the vertical lines of chance and the ceiling, each with its name at one end."""
    layers = []
    # Past ``turn``, a name stands left of its line: chance's, so as not to meet the ceiling's line.
    for mark, dash, baseline, turn in (
        ("chance", [4, 4], "bottom", 25),
        ("ceiling", [1, 0], "top", 60),
    ):
        line = base.transform_filter(f"datum.Mark == '{mark}'")
        layers.append(
            line.mark_rule(color=COLOURS[mark], strokeWidth=2, strokeDash=dash).encode(
                x=x, **(short_of_head() if baseline == "bottom" else short_of_foot())
            )
        )
        style: dict[str, Any] = {"baseline": baseline, "color": COLOURS[mark], "fontSize": 13}
        left = line.transform_filter(f"datum.Accuracy <= {turn}").mark_text(
            align="left", dx=5, **style
        )
        right = line.transform_filter(f"datum.Accuracy > {turn}").mark_text(
            align="right", dx=-5, **style
        )
        layers += [text.encode(x=x, y=y, text="Words:N") for text in (left, right)]
    return layers


def _article(base: alt.Chart, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return the article's score on its row, with its name beside it."""
    row = base.transform_filter("datum.Mark == 'article'")
    colour = COLOURS["article"]
    return [
        row.mark_point(shape="diamond", size=110, filled=True, color=colour).encode(
            x=x, y=y, tooltip=alt.Tooltip("Words:N", title="Reported")
        ),
        row.mark_text(align="left", dx=14, color=colour, fontSize=13).encode(
            x=x, y=y, text="Words:N"
        ),
    ]


def _rows(**axis: Any) -> alt.Axis:  # noqa: ANN401 - Altair's own keywords
    return alt.Axis(labelLimit=140, ticks=False, domain=False, labelPadding=6, **axis)
