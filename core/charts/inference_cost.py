"""Charts of the inference-cost experiment."""

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, no_data
from core.generation import METHODS
from core.kv_cache import SHARINGS
from core.tables.inference_cost import POSITIONS, WORK_DOMAIN
from core.tables.kv_cache import CONTEXTS

TIME_DOMAIN = [3e-4, 3e3]  # ms for one output
MEMORY_DOMAIN = [1e-5, 1e7]  # GiB
LEGEND = 60  # pixels that two rows of a legend take from a chart's height
HEIGHT = 400 + LEGEND  # pixels; taller than other charts, as slopes are read off it
_SHAPES = ["circle", "triangle-up", "square", "diamond"]
_IN_WORDS = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, ',') + ' billion' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, ',') + ' million' : format(datum.value, ',')"
)


def time() -> alt.TopLevelMixin:
    """Draw the time for one output against the tokens so far, both logarithmic.

    Every run is a point, a line joins the fastest, and a dashed line is the counted work.
    """
    base = alt.Chart(no_data()).encode(
        x=alt.X(
            "Tokens:Q",
            title="Tokens so far",
            scale=alt.Scale(type="log", base=2, domain=[0.9, 2300], nice=False),
            axis=alt.Axis(values=list(POSITIONS), format=",", labelOverlap=True, labelFlush=8),
        ),
        y=_time("Time for one output (ms)"),
        color=_method(),
        tooltip=[
            "Method:N",
            "Kind:N",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Time (ms):Q", format=",.3~g"),
        ],
    )
    counted = base.mark_line(strokeDash=[5, 5], strokeWidth=1, clip=True).transform_filter(
        "datum.Kind == 'counted'"
    )
    lines = base.mark_line(strokeWidth=2, clip=True).transform_filter("datum.Kind == 'fastest'")
    runs = (
        base.mark_point(size=35, strokeWidth=1.2, clip=True)
        .encode(shape=_shape())
        .transform_filter("datum.Kind == 'run'")
    )
    return alt.layer(counted, lines, runs, data=no_data()).properties(
        height=HEIGHT, width="container"
    )


def work() -> alt.TopLevelMixin:
    """Draw the measured time for one output against its counted multiply-adds.

    Grey lines join what one speed would take.
    """
    base = alt.Chart(no_data()).encode(
        x=alt.X(
            "Multiply-adds:Q",
            title="Multiply-adds for one output",
            scale=alt.Scale(type="log", domain=list(WORK_DOMAIN), nice=False),
            axis=alt.Axis(
                values=[10.0**power for power in range(3, 11)],
                labelExpr=_IN_WORDS,
                labelOverlap=True,
            ),
        ),
        y=_time("Time for one output (ms)"),
        tooltip=[
            "Method:N",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Multiply-adds:Q", format=",.0f"),
            alt.Tooltip("Time (ms):Q", format=",.3~g"),
            alt.Tooltip("Speed (billion/s):Q", format=",.3~g"),
        ],
    )
    speeds = base.mark_line(
        strokeDash=[2, 3], strokeWidth=1, color=COLOURS["n²"], clip=True
    ).encode(detail="Method:N")
    # Slow lines are named where they begin, at the left, and fast ones near their right end.
    slow = _named(base, f"{WORK_DOMAIN[0]}").mark_text(
        align="left", baseline="top", dx=8, dy=2, color=COLOURS["n²"]
    )
    fast = _named(base, "datum['Speed (billion/s)'] < 5 ? 0 : 1e10").mark_text(
        align="right", baseline="bottom", dx=-4, dy=-4, color=COLOURS["n²"]
    )
    lines = (
        base.mark_line(strokeWidth=1.5, clip=True)
        .encode(color=_method(), order="Tokens:Q")
        .transform_filter("datum.Kind == 'measured'")
    )
    points = (
        base.mark_point(size=55, strokeWidth=1.5, clip=True)
        .encode(color=_method(), shape=_shape())
        .transform_filter("datum.Kind == 'measured'")
    )
    return alt.layer(
        speeds.transform_filter("datum.Kind == 'speed'"), slow, fast, lines, points, data=no_data()
    ).properties(height=HEIGHT, width="container")


def memory() -> alt.TopLevelMixin:
    """Draw the memory of a model's cache against the context, both logarithmic."""
    base = alt.Chart(no_data()).encode(
        x=alt.X(
            "Tokens:Q",
            title="Context (tokens)",
            scale=alt.Scale(type="log", base=2, domain=[230, 1_200_000], nice=False),
            axis=alt.Axis(values=list(CONTEXTS), format=",", labelOverlap=True, labelFlush=8),
        ),
        y=alt.Y(
            "Memory (GiB):Q",
            title="Memory of the cache (GiB)",
            scale=alt.Scale(type="log", domain=MEMORY_DOMAIN, nice=False),
            axis=alt.Axis(values=[10.0**power for power in range(-5, 8)], format=",~g"),
        ),
        color=alt.Color(
            "Sharing:N",
            scale=colour_scale(*SHARINGS),
            legend=_lines_legend(),
        ),
        strokeDash=alt.StrokeDash(
            "Sharing:N",
            scale=alt.Scale(domain=list(SHARINGS), range=[[7, 4], [1, 0], [2, 3]]),
            legend=_lines_legend(),
        ),
        tooltip=[
            "Sharing:N",
            "Key–value heads:Q",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Memory (GiB):Q", format=",.4~g"),
        ],
    )
    lines = base.mark_line(strokeWidth=2, clip=True).transform_filter("datum.Kind == 'line'")
    chosen = base.mark_point(size=110, strokeWidth=2.5, filled=True, opacity=1).transform_filter(
        "datum.Kind == 'context'"
    )
    return alt.layer(lines, chosen, data=no_data()).properties(
        height=CHART_HEIGHT + LEGEND, width="container"
    )


def _named(base: alt.Chart, at: str) -> alt.Chart:
    """Return the place of each speed's name on its line, at these multiply-adds if on the chart."""
    return (
        base.encode(x="at:Q", y="high:Q", text="Method:N")
        .transform_filter(f"datum.Kind == 'speed' && datum['Multiply-adds'] == {WORK_DOMAIN[0]}")
        .transform_calculate(at=at)
        .transform_calculate(high="datum.at / datum['Speed (billion/s)'] / 1e6")
        .transform_filter(f"{TIME_DOMAIN[0]} < datum.high && datum.high < {TIME_DOMAIN[1]}")
    )


def _time(title: str) -> alt.Y:
    return alt.Y(
        "Time (ms):Q",
        title=title,
        scale=alt.Scale(type="log", domain=TIME_DOMAIN, nice=False),
        axis=alt.Axis(values=[10.0**power for power in range(-3, 4)], format=",~g"),
    )


def _method() -> alt.Color:
    return alt.Color("Method:N", scale=colour_scale(*METHODS), legend=_legend())


def _shape() -> alt.Shape:
    return alt.Shape(
        "Method:N",
        scale=alt.Scale(domain=list(METHODS), range=_SHAPES),
        legend=_legend(),
    )


def _legend() -> alt.Legend:
    return alt.Legend(orient="top", title=None, columns=2)


def _lines_legend() -> alt.Legend:
    return alt.Legend(
        orient="top", title="Key–value heads", columns=2, symbolType="stroke", symbolStrokeWidth=3
    )
