"""The two circuits of the recall model as one heat-map, with a slider over the training steps."""

import altair as alt

from core.charts.style import COLOURS, diverging, no_data

# Pixels. The height of a chart includes its axes and its legend.
ROW_HEIGHT = 20  # up to MOST_ROWS rows; more rows are drawn thinner
MOST_ROWS = 35
AROUND_ROWS = 210

_IS_CELL = "datum.Circuit == 'QK' || datum.Circuit == 'OV'"
_WORDS = (
    f"{_IS_CELL} ? '' "
    ": datum.Circuit == 'step' ? 'after step ' + format(datum.entry, ',d') "
    ": datum.Circuit == 'accuracy' ? format(100 * datum.entry, '.1f') + ' % right' "
    ": 'above: QK, who looks at it; below: OV, what it says'"
)


def circuits(n_frames: int, n_rows: int) -> alt.TopLevelMixin:
    """Draw the QK circuit above the OV circuit; both have a column for each part of a token.

    The slider is inside the chart: moving it asks nothing of the server. The colours are full at
    the largest entry of each circuit over all steps, so that they can be compared between steps.

    Args:
        n_frames: the steps the frame has, see `core.tables.circuits`.
        n_rows: keys and values together.
    """
    frame = alt.param(
        name="checkpoint",
        value=n_frames - 1,
        bind=alt.binding_range(min=0, max=n_frames - 1, step=1, name="Checkpoint "),
    )
    # Every layer reads the same rows: filtered ones would change the order of the axis.
    y = alt.Y(field="Row", type="nominal", sort=None, title=None, axis=alt.Axis(labelOverlap=True))
    base = (
        alt.Chart(no_data())
        .transform_calculate(entry="datum['f' + checkpoint]")
        .transform_calculate(share="datum.entry / datum.Limit", words=_WORDS)
    )
    cells = base.mark_rect().encode(
        x=alt.X(
            field="Part",
            type="nominal",
            sort=None,
            title="Part of a token that is looked at",
            axis=alt.Axis(labelAngle=-90, labelOverlap=True),
        ),
        y=y,
        color=alt.Color(
            field="share",
            type="quantitative",
            scale=diverging(1),
            title="Share of the circuit's largest entry",
            legend=alt.Legend(orient="bottom", gradientLength=220, values=[-1, 0, 1], titleLimit=0),
        ),
        opacity=alt.condition(f"{_IS_CELL}", alt.value(1), alt.value(0)),
        tooltip=[
            alt.Tooltip(field="Circuit", type="nominal"),
            alt.Tooltip(field="Row", type="nominal"),
            alt.Tooltip(field="Part", type="nominal"),
            alt.Tooltip(field="entry", type="quantitative", title="Entry (no unit)", format=".5f"),
        ],
    )
    words = base.mark_text(align="left", color=COLOURS["other pairs"]).encode(
        x=alt.value(4), y=y, text=alt.Text(field="words", type="nominal")
    )
    chart: alt.TopLevelMixin = (
        alt.layer(cells, words, data=no_data())
        .add_params(frame)
        .properties(height=AROUND_ROWS + ROW_HEIGHT * min(n_rows + 3, MOST_ROWS), width="container")
    )
    return chart
