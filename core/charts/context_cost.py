"""Charts of the context-cost experiment."""

import altair as alt

from core.charts.style import COLOURS, colour_scale, no_data
from core.tables.context_cost import ALL_SIZES, PICTURE_TOKENS

TIME_DOMAIN = [0.1, 20_000]  # ms
MEMORY_DOMAIN = [0.1, 10_000]  # MiB
HEIGHT = 400  # pixels; taller than the other charts, as a slope is read off it
PICTURE_HEIGHT = 660  # pixels

STATES = {
    "in memory now": ("row blocks", 1.0),
    "in memory, set to −∞ by the mask": ("formula", 1.0),
    "read or written by this block": ("read or written", 1.0),
    "written by an earlier block": ("read or written", 0.4),
    "computed and thrown away": ("not in memory", 0.6),
    "still to come": ("not in memory", 0.15),
    "never computed: the mask forbids it": ("never computed", 0.3),
}
"""What a cell of the picture can be, with the meaning of its colour and how opaque it is."""


def time() -> alt.TopLevelMixin:
    """Draw time against the number of tokens, both logarithmic, with a line of slope 2 for n²."""
    names = ("formula", "row blocks", "n²")
    base = alt.Chart(no_data()).encode(
        x=_tokens(),
        y=_logarithmic("Time (ms):Q", TIME_DOMAIN),
        color=alt.Color("Method:N", scale=colour_scale(*names), legend=_legend()),
        tooltip=[
            "Method:N",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Time (ms):Q", format=",.3f"),
        ],
    )
    guide = base.mark_line(strokeDash=[5, 5], clip=True).transform_filter("datum.Kind == 'guide'")
    lines = base.mark_line(strokeWidth=2).transform_filter("datum.Kind == 'fastest'")
    runs = (
        base.mark_point(size=55, strokeWidth=1.5)
        .encode(shape=_shape(*names))
        .transform_filter("datum.Kind == 'run'")
    )
    return alt.layer(guide, lines, runs, data=no_data()).properties(
        height=HEIGHT, width="container"
    )


def memory() -> alt.TopLevelMixin:
    """Draw peak memory against the number of tokens: lines predicted, points measured."""
    names = ("formula", "row blocks", "cap")
    base = alt.Chart(no_data()).encode(
        x=_tokens(),
        y=_logarithmic("Peak memory (MiB):Q", MEMORY_DOMAIN),
        color=alt.Color("Method:N", scale=colour_scale(*names), legend=_legend()),
        tooltip=[
            "Method:N",
            "Kind:N",
            alt.Tooltip("Tokens:Q", format=","),
            alt.Tooltip("Peak memory (MiB):Q", format=",.3f"),
        ],
    )
    cap = base.mark_line(strokeDash=[5, 5]).transform_filter("datum.Kind == 'cap'")
    predicted = base.mark_line(strokeWidth=2, clip=True).transform_filter(
        "datum.Kind == 'predicted'"
    )
    measured = (
        base.mark_point(size=80, strokeWidth=2)
        .encode(shape=_shape(*names))
        .transform_filter("datum.Kind == 'measured'")
    )
    return alt.layer(cap, predicted, measured, data=no_data()).properties(
        height=HEIGHT, width="container"
    )


def row_blocks() -> alt.TopLevelMixin:
    """Draw the n × n table as row blocks go through it, with sliders inside the chart.

    Everything is worked out in the browser from the row that is being computed and the number of
    rows in a block.
    """
    n = PICTURE_TOKENS
    row = alt.param(
        name="row",
        value=18,
        bind=alt.binding_range(min=0, max=n - 1, step=1, name="Query row being computed: "),
    )
    size = alt.param(
        name="size",
        value=8,
        bind=alt.binding_select(options=[1, 2, 4, 8, 16, 32], name="Rows in a block: "),
    )
    causal = alt.param(name="causal", value=True, bind=alt.binding_checkbox(name="Causal mask: "))
    first = alt.param(name="first", expr="floor(row / size) * size")
    end = alt.param(name="end", expr="first + size")
    read = alt.param(name="read", expr=f"causal ? end : {n}")
    now, masked, used, written, thrown, to_come, never = (f"'{state}'" for state in STATES)
    # The first column that the block of a cell's row does not read.
    unread = f"(causal ? (floor(datum.Row / size) + 1) * size : {n})"
    in_block = "datum.Row >= first && datum.Row < end"
    state = (
        f"datum.Part == 'keys and values' ? (datum.Column < read ? {used} : {to_come}) : "
        f"datum.Part == 'queries' ? ({in_block} ? {used} : {to_come}) : "
        f"datum.Part == 'output' ? ({in_block} ? {used} : datum.Row < first ? {written} : "
        f"{to_come}) : "
        f"datum.Column >= {unread} ? {never} : "
        f"datum.Row < first ? {thrown} : datum.Row >= end ? {to_come} : "
        f"causal && datum.Column > datum.Row ? {masked} : {now}"
    )
    words = (
        "['Block ' + (first / size + 1) + ' of ' + "
        f"({n} / size) + ': rows ' + first + ' to ' + (end - 1) + "
        "', keys 0 to ' + (read - 1) + '.', "
        f"'In memory: ' + size + ' × ' + read + ' = ' + (size * read) + ' of {n * n:,} scores.']"
    )
    colours = alt.Scale(
        domain=list(STATES),
        # Two more hexadecimal digits are how opaque a colour is.
        range=[
            f"{COLOURS[meaning]}{round(255 * opaque):02x}" for meaning, opaque in STATES.values()
        ],
    )
    legend = alt.Legend(orient="bottom", title=None, columns=1, labelLimit=300)
    ticks = [row + 0.5 for row in range(0, n, 8)]  # the middle of a cell
    chart: alt.Chart = (
        alt.Chart(no_data())
        .mark_rect(strokeWidth=0.5)
        .transform_calculate(State=state, x2="datum.Column + 1", y2="datum.Row + 1")
        .encode(
            x=alt.X(
                "Column:Q",
                title="Key looked at (column)",
                scale=alt.Scale(domain=[-2, n + 2], nice=False),
                axis=alt.Axis(
                    labelExpr=(
                        f"datum.value < 0 ? 'Q' : datum.value > {n} ? 'out' : floor(datum.value)"
                    ),
                    values=[-1.5, *ticks, n + 1.5],
                    labelOverlap=False,
                    grid=False,
                ),
            ),
            x2="x2:Q",
            y=alt.Y(
                "Row:Q",
                title="Query asking (row)",
                scale=alt.Scale(domain=[-2, n], reverse=True, nice=False),
                axis=alt.Axis(
                    labelExpr="datum.value < 0 ? 'K, V' : floor(datum.value)",
                    values=[-1.5, *ticks],
                    labelOverlap=False,
                    grid=False,
                ),
            ),
            y2="y2:Q",
            color=alt.Color("State:N", scale=colours, legend=legend),
            tooltip=["Part:N", "Row:Q", "Column:Q", "State:N"],
        )
        .add_params(row, size, causal, first, end, read)
        .properties(
            height=PICTURE_HEIGHT,
            width="container",
            title=alt.Title(text=alt.expr(words), anchor="start"),
        )
    )
    return chart


def _tokens() -> alt.X:
    return alt.X(
        "Tokens:Q",
        title="Tokens",
        scale=alt.Scale(type="log", base=2, domain=[220, 19_000], nice=False),
        axis=alt.Axis(values=list(ALL_SIZES), format=",", labelOverlap=True),
    )


def _logarithmic(field: str, domain: list[float]) -> alt.Y:
    return alt.Y(
        field,
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(values=[0.1, 1, 10, 100, 1000, 10_000], format=",~g"),
    )


def _shape(*names: str) -> alt.Shape:
    shapes = ["circle", "triangle-up", "stroke"]
    return alt.Shape(
        "Method:N", scale=alt.Scale(domain=list(names), range=shapes), legend=_legend()
    )


def _legend() -> alt.Legend:
    return alt.Legend(orient="top", title=None)
