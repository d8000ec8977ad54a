"""Charts of the scaling experiment: what scores and weights do as d_k grows."""

from typing import Any

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, no_data
from core.tables.scaling import DIVIDED, UNDIVIDED


def score_spread() -> alt.TopLevelMixin:
    """Draw the standard deviation of scores against d_k, both axes in doublings."""
    y_scale = alt.Scale(type="log", base=2, domain=[0.25, 64])
    prediction = (
        alt.Chart(no_data())
        .mark_line(strokeDash=[6, 4], strokeWidth=2, color=COLOURS["prediction"])
        .encode(
            x=_d_k(),
            y=alt.Y(field="Predicted (no unit)", type="quantitative", scale=y_scale),
            detail=alt.Detail(field="Scores", type="nominal"),
            tooltip=[
                alt.Tooltip(field="d_k", type="quantitative"),
                alt.Tooltip(field="Predicted (no unit)", type="quantitative", format=".4f"),
            ],
        )
    )
    measured = _draws_and_all(
        "Standard deviation of the draw (no unit)",
        "Standard deviation (no unit)",
        alt.Axis(title="Standard deviation (no unit)", format="~g"),
        y_scale,
    )
    return _layer(prediction, *measured)


def largest_weight() -> alt.TopLevelMixin:
    """Draw the mean largest weight of a softmax row against d_k."""
    return _layer(
        *_draws_and_all(
            "Largest weight of the draw (no unit)",
            "Largest weight (no unit)",
            alt.Axis(title="Mean largest weight (no unit)"),
            alt.Scale(domain=[0, 1]),
        )
    )


def _draws_and_all(
    of_draw: str, of_all: str, axis: alt.Axis, scale: alt.Scale
) -> tuple[alt.Chart, alt.Chart]:
    """Draw single draws as small points, and all of them together as large ones."""
    charts = []
    # One legend for both layers, in the strength of the large points.
    legend = alt.Legend(orient="top", title=None, symbolOpacity=1, symbolSize=80)
    for field, size, opacity in ((of_draw, 12, 0.35), (of_all, 80, 1.0)):
        charts.append(
            alt.Chart(no_data())
            .mark_point(size=size, opacity=opacity, filled=True)
            .encode(
                x=_d_k(),
                y=alt.Y(field=field, type="quantitative", scale=scale, axis=axis),
                color=_by_treatment(alt.Color, colour_scale(UNDIVIDED, DIVIDED), legend),
                shape=_by_treatment(
                    alt.Shape,
                    alt.Scale(domain=[UNDIVIDED, DIVIDED], range=["triangle-up", "circle"]),
                    legend,
                ),
                tooltip=[
                    alt.Tooltip(field="d_k", type="quantitative"),
                    alt.Tooltip(field="Scores", type="nominal"),
                    alt.Tooltip(field=field, type="quantitative", format=".4f"),
                    *([alt.Tooltip(field="Draw", type="quantitative")] if size < 80 else []),
                ],
            )
        )
    return charts[0], charts[1]


def _by_treatment(channel: Any, scale: alt.Scale, legend: alt.Legend) -> Any:  # noqa: ANN401
    return channel(field="Scores", type="nominal", scale=scale, legend=legend)


def _d_k() -> alt.X:
    return alt.X(
        field="d_k",
        type="quantitative",
        scale=alt.Scale(type="log", base=2, domain=[1, 1024]),
        axis=alt.Axis(values=[1, 4, 16, 64, 256, 1024], format=",d"),
        title="d_k (numbers in each query and key)",
    )


def _layer(*layers: alt.Chart) -> alt.TopLevelMixin:
    return alt.layer(*layers, data=no_data()).properties(height=CHART_HEIGHT, width="container")
