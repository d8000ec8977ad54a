"""Charts of a model read from its config.json."""

import altair as alt

from core.charts import ledger
from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, no_data
from core.tables.token_cost import CONTEXTS, LINES
from core.tables.your_model import AT_WORK, IDLE

LEGEND = 60  # pixels that two rows of a legend take from a chart's height
WORK_HEIGHT = 400 + LEGEND  # pixels; taller than the other charts, as a crossing is read off it


def work(low: int, high: int) -> alt.TopLevelMixin:
    """Draw the work on one token against the context, both logarithmic, and where lines cross.

    Args:
        low: the power of ten at the foot of the axis.
        high: the one at its top.
    """
    base = alt.Chart(no_data()).encode(
        x=_tokens(),
        y=alt.Y(
            "Multiply-adds:Q",
            title="Work on one token (multiply-adds)",
            scale=alt.Scale(type="log", domain=[10.0**low, 10.0**high], nice=False),
            axis=alt.Axis(values=_powers(low, high), labelExpr=_IN_WORDS),
        ),
        tooltip=[
            "Line:N",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Multiply-adds:Q", format=","),
        ],
    )
    lines = base.mark_line(strokeWidth=2.5).encode(
        color=alt.Color("Line:N", scale=colour_scale(*LINES), legend=_legend()),
        strokeDash=alt.StrokeDash(
            "Line:N",
            scale=alt.Scale(domain=list(LINES), range=[[1, 0], [1, 0], [2, 3], [7, 4]]),
            legend=_legend(),
        ),
    )
    crossing = base.mark_point(size=160, strokeWidth=2.5, opacity=1, color=COLOURS["crossing"])
    return alt.layer(
        _rule("made for", COLOURS["context made for"], [2, 4]),
        lines.transform_filter("datum.Kind == 'line'"),
        _rule("context", COLOURS["chosen context"], [1, 0]),
        crossing.transform_filter("datum.Kind == 'crossing'"),
        data=no_data(),
    ).properties(height=WORK_HEIGHT, width="container")


def parameters() -> alt.Chart:
    """Draw the ledger's picture, with the experts a token is not sent to faint."""
    chart: alt.Chart = ledger.parts().encode(
        # No legend: its black squares cannot be seen in the dark theme.
        opacity=alt.Opacity(
            "Kind:N", scale=alt.Scale(domain=[AT_WORK, IDLE], range=[1, 0.35]), legend=None
        ),
        tooltip=[
            "Part:N",
            "Tensor:N",
            "Kind:N",
            alt.Tooltip("Parameters:Q", format=","),
            alt.Tooltip("Share (%):Q", format=".4f"),
        ],
    )
    return chart


def cache(low: int, high: int) -> alt.TopLevelMixin:
    """Draw the memory of the cache against the context, both logarithmic, beside the weights.

    Args:
        low: the power of ten at the foot of the axis, in GiB.
        high: the one at its top.
    """
    names = ("cache at 16 bits", "cache at 8 bits", "cache at 4 bits", "weights at 16 bits")
    base = alt.Chart(no_data()).encode(
        x=_tokens(),
        y=alt.Y(
            "Memory (GiB):Q",
            title="Memory (GiB)",
            scale=alt.Scale(type="log", domain=[10.0**low, 10.0**high], nice=False),
            axis=alt.Axis(values=_powers(low, high), format=",~g"),
        ),
        color=alt.Color("What:N", scale=colour_scale(*names), legend=_legend()),
        strokeDash=alt.StrokeDash(
            "What:N",
            scale=alt.Scale(domain=list(names), range=[[1, 0], [7, 4], [2, 3], [1, 0]]),
            legend=_legend(),
        ),
        tooltip=[
            "What:N",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Memory (GiB):Q", format=",.6~g"),
        ],
    )
    lines = base.mark_line(strokeWidth=2, clip=True).transform_filter("datum.Kind == 'line'")
    chosen = base.mark_point(size=120, strokeWidth=2.5, filled=True, opacity=1).transform_filter(
        "datum.Kind == 'context'"
    )
    return alt.layer(lines, chosen, data=no_data()).properties(
        height=CHART_HEIGHT + LEGEND, width="container"
    )


_IN_WORDS = (
    "datum.value >= 1e12 ? format(datum.value / 1e12, ',') + ' trillion' : "
    "datum.value >= 1e9 ? format(datum.value / 1e9, ',') + ' billion' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, ',') + ' million' : "
    "format(datum.value, ',')"
)


def _rule(kind: str, colour: str, dash: list[int]) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_rule(strokeWidth=2, color=colour, strokeDash=dash)
        .encode(x=_tokens(), tooltip=[alt.Tooltip("Kind:N"), alt.Tooltip("Tokens:Q", format=",")])
        .transform_filter(f"datum.Kind == '{kind}'")
    )
    return chart


def _tokens() -> alt.X:
    return alt.X(
        "Tokens:Q",
        title="Context (tokens)",
        scale=alt.Scale(type="log", base=2, domain=[CONTEXTS[0], CONTEXTS[-1]], nice=False),
        axis=alt.Axis(values=list(CONTEXTS[::2]), format=",", labelOverlap=True),
    )


def _powers(low: int, high: int) -> list[float]:
    return [10.0**power for power in range(low, high + 1)]


def _legend() -> alt.Legend:
    return alt.Legend(orient="top", title=None, columns=2, symbolType="stroke", symbolStrokeWidth=3)
