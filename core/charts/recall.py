"""Charts of the recall training: curves, weights, one question's answer, the gradient check."""

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, no_data
from core.reported import RECALL_GRADIENT
from core.tables.gradcheck import BACKWARD, DIFFERENCE, IN_WORDS, LEAST_SHOWN, NUDGED
from core.tables.numbers import power_of_ten
from core.tables.recall import ACCURACY, LOSS, STEP, WEIGHT

AXES = ("logarithmic", "linear")
RUNS = ("learned", "uniform")

# Pixels. The height of a chart includes its axes and legends.
_BAR_HEIGHT = 24
_AROUND_BARS = 150
_ARTICLES_WORDS = 130  # room for what the article reported of an early step
_POWERS = {power: 10.0**power for power in range(-12, 0, 2)}  # of ten, on the axis of differences
_LARGEST_GRADIENT = 1.0  # nats per unit; beyond it a point is drawn at the edge


def accuracy_curve(axis: str = "logarithmic") -> alt.TopLevelMixin:
    """Draw accuracy against step, with chance, the ceiling, and the article's two figures.

    Args:
        axis: one of `AXES`; the logarithmic one is linear up to step 10, so that 0 has a place.
    """
    x = _steps(axis)
    y = alt.Y(field=ACCURACY, type="quantitative", scale=alt.Scale(domain=[0, 100]))
    article = _marks("article").encode(x=x, y=y, tooltip=_mark_tooltip(ACCURACY, ".1f"))
    words = alt.Text(field="Words", type="nominal")
    early = article.transform_filter(f"datum.{STEP} <= 100")
    late = article.transform_filter(f"datum.{STEP} > 100")
    colour = COLOURS["article"]
    # Right of its point, or as far right as there is room: a short run ends soon after it.
    beside = alt.value({"expr": f"min(scale('x', datum.{STEP}), width - {_ARTICLES_WORDS})"})
    return _layered(
        _line("chance", x, y, ACCURACY),
        _label("chance", y),
        _line("ceiling", x, y, ACCURACY),
        _label("ceiling", y),
        *_runs(x, y, ACCURACY, ".2f"),
        article.mark_point(shape="diamond", size=110, strokeWidth=2, opacity=1, color=colour),
        early.mark_text(align="left", dx=4, dy=16, color=colour).encode(text=words, x=beside),
        late.mark_text(align="right", dx=-8, dy=16, color=colour).encode(text=words),
    )


def loss_curve(axis: str = "logarithmic") -> alt.TopLevelMixin:
    """Draw the test loss against step, on a logarithmic axis, with the loss of pure chance."""
    x = _steps(axis)
    y = alt.Y(
        field=LOSS,
        type="quantitative",
        scale=alt.Scale(type="log", domain=[1e-6, 10], clamp=True),
        axis=alt.Axis(values=[1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10], format="~g"),
    )
    return _layered(
        _line("chance", x, y, LOSS),
        _label("chance", y, text="chance"),
        *_runs(x, y, LOSS, ".3g"),
    )


def weights() -> alt.TopLevelMixin:
    """Draw the mean weight on each kind of position: a bar learned, marks uniform and article."""
    base = alt.Chart(no_data())
    x = alt.X(
        field=WEIGHT,
        type="quantitative",
        title="Mean weight (%)",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(tickCount=5),
    )
    y = _rows("Position")
    tooltip = [
        alt.Tooltip(field="Who", type="nominal"),
        alt.Tooltip(field="Position", type="nominal"),
        alt.Tooltip(field=WEIGHT, type="quantitative", format=".2f"),
    ]
    bars = (
        base.mark_bar(height=18)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                field="Meaning",
                type="nominal",
                scale=colour_scale("matching pair", "other pairs", "question"),
                legend=None,
            ),
            tooltip=tooltip,
        )
        .transform_filter("datum.Who == 'learned'")
    )
    marks = (
        base.mark_point(size=160, strokeWidth=3, opacity=1, fill="#ffffff")
        .encode(
            x=x,
            y=y,
            shape=alt.Shape(
                field="Who",
                type="nominal",
                scale=alt.Scale(domain=["uniform", "article"], range=["stroke", "diamond"]),
                legend=alt.Legend(orient="top", title="Bar: learned"),
            ),
            stroke=alt.Stroke(
                field="Who",
                type="nominal",
                scale=colour_scale("uniform", "article"),
                legend=alt.Legend(orient="top", title="Bar: learned"),
            ),
            angle=alt.condition("datum.Who == 'uniform'", alt.value(90), alt.value(0)),
            tooltip=tooltip,
        )
        .transform_filter("datum.Who != 'learned'")
    )
    return alt.layer(bars, marks, data=no_data()).properties(
        height=3 * 2 * _BAR_HEIGHT + _AROUND_BARS, width="container"
    )


def reply_weights(n_tokens: int) -> alt.TopLevelMixin:
    """Draw the weight on each token of one sequence."""
    return _bars(
        "Token",
        WEIGHT,
        "Weight (%)",
        ("matching pair", "other pairs", "question"),
        n_tokens,
        "Score (no unit)",
    )


def reply_values(n_values: int) -> alt.TopLevelMixin:
    """Draw the probability of each value as the answer to one question."""
    return _bars(
        "Value",
        "Probability (%)",
        "Probability (%)",
        ("right answer", "other values"),
        n_values,
        "Logit (no unit)",
    )


def gradient_agreement() -> alt.TopLevelMixin:
    """Draw the nudged gradient against the backward pass's; on the diagonal they are equal."""
    diagonal = _once().mark_rule(strokeDash=[4, 4], color=COLOURS["prediction"])
    points = (
        alt.Chart(no_data())
        .mark_point(size=70, strokeWidth=2, opacity=1, color=COLOURS["measured"])
        .encode(
            x=_gradient(alt.X, BACKWARD),
            y=_gradient(alt.Y, NUDGED),
            tooltip=_gradient_tooltip(),
        )
    )
    return alt.layer(
        diagonal.encode(
            x=alt.value(0), y=alt.value("height"), x2=alt.value("width"), y2=alt.value(0)
        ),
        points,
        data=no_data(),
    ).properties(height=CHART_HEIGHT, width="container")


def gradient_differences() -> alt.TopLevelMixin:
    """Draw the relative difference of each sampled parameter, by matrix, beside the article's."""
    labels = ", ".join(f"'{power}': '{power_of_ten(power)}'" for power in _POWERS)
    x = alt.X(
        field="Shown difference",
        type="quantitative",
        title=DIFFERENCE,
        scale=alt.Scale(type="log", domain=[LEAST_SHOWN, 1], clamp=True),
        axis=alt.Axis(
            values=[1.0, *_POWERS.values()],
            labelExpr=f"{{{labels}}}[round(log(datum.value) / LN10)] || '1'",
        ),
    )
    points = (
        alt.Chart(no_data())
        .mark_point(size=70, strokeWidth=2, opacity=1, color=COLOURS["measured"])
        .encode(
            x=x,
            y=_rows("Matrix"),
            tooltip=_gradient_tooltip(),
        )
    )
    article = _once().encode(x=alt.XDatum(RECALL_GRADIENT.value))
    return alt.layer(
        article.mark_rule(strokeWidth=2, strokeDash=[4, 4], color=COLOURS["article"]),
        article.mark_text(align="left", dx=6, color=COLOURS["article"]).encode(
            y=alt.value(10), text=alt.value("article, largest")
        ),
        points,
        data=no_data(),
    ).properties(height=CHART_HEIGHT, width="container")


def _steps(axis: str) -> alt.X:
    """Return the axis of steps: as long as the lines of chance and ceiling, whose data set it.

    A domain in the specification would have every number of steps build the chart anew.
    """
    if axis == "linear":
        scale = alt.Scale(nice=False)
        ticks = alt.Axis(format=",d")
    else:
        scale = alt.Scale(type="symlog", constant=10, nice=False)
        ticks = alt.Axis(values=[0, 10, 30, 100, 300, 1000, 3000, 10_000], format=",d")
    return alt.X(
        field=STEP,
        type="quantitative",
        title="Step (optimiser steps taken)",
        scale=scale,
        axis=ticks,
    )


def _layered(*layers: alt.Chart) -> alt.TopLevelMixin:
    chart: alt.TopLevelMixin = alt.layer(*layers, data=no_data()).properties(
        height=CHART_HEIGHT, width="container"
    )
    return chart


def _marks(*series: str) -> alt.Chart:
    """Return a chart of these series' rows only."""
    wanted = " || ".join(f"datum.Series == '{name}'" for name in series)
    chart: alt.Chart = alt.Chart(no_data()).transform_filter(wanted)
    return chart


def _runs(x: alt.X, y: alt.Y, field: str, form: str) -> tuple[alt.Chart, alt.Chart]:
    """Draw both curves, and an unseen point at every checkpoint for the pointer to find."""
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolSize=400)
    base = _marks(*RUNS).encode(x=x, y=y)
    lines = base.mark_line(strokeWidth=2).encode(
        color=alt.Color(field="Series", type="nominal", scale=colour_scale(*RUNS), legend=legend),
        strokeDash=alt.StrokeDash(
            field="Series",
            type="nominal",
            scale=alt.Scale(domain=list(RUNS), range=[[1, 0], [6, 3]]),
            legend=legend,
        ),
    )
    points = base.mark_point(size=90, opacity=0).encode(tooltip=_mark_tooltip(field, form))
    return lines, points


def _line(series: str, x: alt.X, y: alt.Y, field: str) -> alt.Chart:
    chart: alt.Chart = (
        _marks(series)
        .mark_line(strokeWidth=1.5, strokeDash=[2, 3], color=COLOURS[series])
        .encode(x=x, y=y, tooltip=_mark_tooltip(field, ".4f"))
    )
    return chart


def _label(series: str, y: alt.Y, *, text: str | None = None) -> alt.Chart:
    """Write the series' own words above the end of its line, once."""
    words = alt.Text(field="Words", type="nominal") if text is None else alt.value(text)
    chart: alt.Chart = (
        _marks(series)
        .transform_filter(f"datum.{STEP} == 0")
        .mark_text(align="right", dx=-8, dy=-11, color=COLOURS[series])
        .encode(x=alt.value("width"), y=y, text=words)
    )
    return chart


def _mark_tooltip(field: str, form: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(field="Series", type="nominal"),
        alt.Tooltip(field=STEP, type="quantitative", format=",d"),
        alt.Tooltip(field=field, type="quantitative", format=form),
    ]


def _bars(
    category: str,
    value: str,
    title: str,
    meanings: tuple[str, ...],
    n_bars: int,
    behind: str,
) -> alt.TopLevelMixin:
    """Draw one horizontal bar from 0 to 100 % for each row, coloured by what it means."""
    chart: alt.TopLevelMixin = (
        alt.Chart(no_data())
        .mark_bar()
        .encode(
            x=alt.X(
                field=value,
                type="quantitative",
                title=title,
                scale=alt.Scale(domain=[0, 100]),
                axis=alt.Axis(tickCount=5),
            ),
            y=_rows(category),
            color=alt.Color(
                field="Meaning",
                type="nominal",
                scale=colour_scale(*meanings),
                legend=alt.Legend(orient="top", title=None, columns=2),
            ),
            tooltip=[
                alt.Tooltip(field=category, type="nominal"),
                alt.Tooltip(field="Meaning", type="nominal"),
                alt.Tooltip(field=value, type="quantitative", format=".3f"),
                alt.Tooltip(field=behind, type="quantitative", format=".4f"),
            ],
        )
        .properties(height=_BAR_HEIGHT * n_bars + _AROUND_BARS, width="container")
    )
    return chart


def _rows(field: str) -> alt.Y:
    return alt.Y(
        field=field, type="nominal", sort=None, title=None, axis=alt.Axis(labelOverlap=False)
    )


def _once() -> alt.Chart:
    """Return a chart with one row whatever the frame has, for marks that stand for no row."""
    chart: alt.Chart = alt.Chart(no_data()).transform_aggregate(rows="count()")
    return chart


def _gradient(channel: type[alt.X] | type[alt.Y], field: str) -> alt.X | alt.Y:
    largest = _LARGEST_GRADIENT
    return channel(
        field=field,
        type="quantitative",
        scale=alt.Scale(type="symlog", constant=1e-6, domain=[-largest, largest], clamp=True),
        axis=alt.Axis(values=[-1, -1e-2, -1e-4, 0, 1e-4, 1e-2, 1], format="~g"),
    )


def _gradient_tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip(field="Parameter", type="nominal"),
        *(alt.Tooltip(field=field, type="nominal", title=name) for name, field in IN_WORDS.items()),
    ]
