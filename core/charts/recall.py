"""Charts of the recall training: curves, weights, one question's answer, the gradient check."""

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, no_data
from core.reported import RECALL_GRADIENT
from core.tables.gradcheck import BACKWARD, DIFFERENCE, LEAST_SHOWN, NUDGED
from core.tables.recall import ACCURACY, LOSS, STEP, WEIGHT

AXES = ("logarithmic", "linear")
RUNS = ("learned", "uniform")

_BAR_HEIGHT = 44  # pixels a bar
_LARGEST_GRADIENT = 1.0  # nats per unit; beyond it a point is drawn at the edge


def accuracy_curve(axis: str = "logarithmic") -> alt.TopLevelMixin:
    """Draw accuracy against step, with chance, the ceiling, and the article's two figures.

    Args:
        axis: one of `AXES`; the logarithmic one is linear up to step 10, so that 0 has a place.
    """
    y = alt.Y(field=ACCURACY, type="quantitative", scale=alt.Scale(domain=[0, 100]))
    article = (
        alt.Chart(no_data())
        .mark_point(shape="diamond", size=110, strokeWidth=2, opacity=1, color=COLOURS["article"])
        .encode(x=_steps(axis), y=y, tooltip=_mark_tooltip(ACCURACY, ".1f"))
        .transform_filter("datum.Series == 'article'")
    )
    words = article.mark_text(align="right", dx=-10, dy=14, color=COLOURS["article"]).encode(
        text=alt.Text(field="Words", type="nominal")
    )
    return _layered(
        _line("chance", axis, y, ACCURACY),
        _label("chance", y, at_end=True),
        _line("ceiling", axis, y, ACCURACY),
        _label("ceiling", y),
        _runs(axis, y, ACCURACY, ".1f"),
        article,
        words,
    )


def loss_curve(axis: str = "logarithmic") -> alt.TopLevelMixin:
    """Draw the test loss against step, on a logarithmic axis, with the loss of pure chance."""
    y = alt.Y(
        field=LOSS,
        type="quantitative",
        scale=alt.Scale(type="log", domain=[1e-6, 10], clamp=True),
        axis=alt.Axis(values=[1e-6, 1e-4, 0.01, 1, 10], format="~g"),
    )
    return _layered(
        _line("chance", axis, y, LOSS),
        _label("chance", y, at_end=True, text="chance"),
        _runs(axis, y, LOSS, ".3g"),
    )


def weights() -> alt.TopLevelMixin:
    """Draw the mean weight on each kind of position: a bar learned, marks uniform and article."""
    base = alt.Chart(no_data())
    x = alt.X(
        field=WEIGHT,
        type="quantitative",
        title="Mean weight from the question's position (%)",
        scale=alt.Scale(domain=[0, 100]),
    )
    y = alt.Y(field="Position", type="nominal", sort=None, title=None)
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
        base.mark_point(size=110, strokeWidth=2, opacity=1)
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
        height=3 * _BAR_HEIGHT + 20, width="container"
    )


def reply_weights(n_tokens: int) -> alt.TopLevelMixin:
    """Draw the weight on each token of one sequence."""
    return _bars(
        "Token",
        WEIGHT,
        "Weight from the question's position (%)",
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
    diagonal = alt.Chart(no_data()).mark_rule(strokeDash=[4, 4], color=COLOURS["prediction"])
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
    x = alt.X(
        field="Shown difference",
        type="quantitative",
        title=DIFFERENCE,
        scale=alt.Scale(type="log", domain=[LEAST_SHOWN, 1], clamp=True),
        axis=alt.Axis(values=[1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1], format=".0e"),
    )
    points = (
        alt.Chart(no_data())
        .mark_point(size=70, strokeWidth=2, opacity=1, color=COLOURS["measured"])
        .encode(
            x=x,
            y=alt.Y(field="Matrix", type="nominal", sort=None, title=None),
            tooltip=_gradient_tooltip(),
        )
    )
    article = alt.Chart(no_data()).encode(x=alt.XDatum(RECALL_GRADIENT.value))
    return alt.layer(
        article.mark_rule(strokeWidth=2, strokeDash=[4, 4], color=COLOURS["article"]),
        article.mark_text(align="left", dx=6, color=COLOURS["article"]).encode(
            y=alt.value(10), text=alt.value("article, largest")
        ),
        points,
        data=no_data(),
    ).properties(height=240, width="container")


def _steps(axis: str) -> alt.X:
    """The axis is as long as the rows of chance, which reach the last step from the start."""
    log = axis == "logarithmic"
    return alt.X(
        field=STEP,
        type="quantitative",
        title="Step (optimiser steps taken)",
        scale=alt.Scale(type="symlog", constant=10, nice=False)
        if log
        else alt.Scale(zero=True, nice=False),
        axis=alt.Axis(values=[0, 10, 30, 100, 300, 1000, 3000, 10_000], format=",d")
        if log
        else alt.Axis(format=",d"),
    )


def _layered(*layers: alt.Chart) -> alt.TopLevelMixin:
    chart: alt.TopLevelMixin = alt.layer(*layers, data=no_data()).properties(
        height=CHART_HEIGHT, width="container"
    )
    return chart


def _runs(axis: str, y: alt.Y, field: str, form: str) -> alt.Chart:
    scale = colour_scale(*RUNS)
    legend = alt.Legend(orient="top", title=None)
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_line(
            strokeWidth=2, point=alt.OverlayMarkDef(size=24, filled=True), interpolate="linear"
        )
        .encode(
            x=_steps(axis),
            y=y,
            color=alt.Color(field="Series", type="nominal", scale=scale, legend=legend),
            strokeDash=alt.StrokeDash(
                field="Series",
                type="nominal",
                scale=alt.Scale(domain=list(RUNS), range=[[1, 0], [6, 3]]),
                legend=legend,
            ),
            tooltip=_mark_tooltip(field, form),
        )
        .transform_filter("datum.Series == 'learned' || datum.Series == 'uniform'")
    )
    return chart


def _line(series: str, axis: str, y: alt.Y, field: str) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_line(strokeWidth=1.5, strokeDash=[2, 3], color=COLOURS[series])
        .encode(x=_steps(axis), y=y, tooltip=_mark_tooltip(field, ".4f"))
        .transform_filter(f"datum.Series == '{series}'")
    )
    return chart


def _label(
    series: str,
    y: alt.Y,
    *,
    at_end: bool = False,
    text: str | None = None,
) -> alt.Chart:
    """Write the series' own words above its line, once: its row of step 0 says how high."""
    words = alt.Text(field="Words", type="nominal") if text is None else alt.value(text)
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_text(align="right" if at_end else "left", dy=-7, color=COLOURS[series])
        .encode(x=alt.value("width") if at_end else alt.value(6), y=y, text=words)
        .transform_filter(f"datum.Series == '{series}' && datum.{STEP} == 0")
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
            ),
            y=alt.Y(field=category, type="nominal", sort=None, title=None),
            color=alt.Color(
                field="Meaning",
                type="nominal",
                scale=colour_scale(*meanings),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=[
                alt.Tooltip(field=category, type="nominal"),
                alt.Tooltip(field="Meaning", type="nominal"),
                alt.Tooltip(field=value, type="quantitative", format=".3f"),
                alt.Tooltip(field=behind, type="quantitative", format=".4f"),
            ],
        )
        .properties(height=70 + 24 * n_bars, width="container")
    )
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
        *(
            alt.Tooltip(field=field, type="quantitative", format=".8e")
            for field in (BACKWARD, NUDGED)
        ),
        alt.Tooltip(field=DIFFERENCE, type="quantitative", format=".2e"),
    ]
