"""The picture of the parameter ledger."""

import altair as alt

from core.charts.style import colour_scale, no_data
from core.tables.ledger import PICTURE_ROWS

ROW_HEIGHT = 62  # pixels: a line of words and a bar
BAR_HEIGHT = 24  # pixels
CHART_HEIGHT = ROW_HEIGHT * len(PICTURE_ROWS) + 60  # pixels, with the axis below the bars


def parts() -> alt.Chart:
    """Draw the whole model as one bar, and below it each part where it lies in that bar.

    A part's row is cut into its matrices. Each row's words stand above its bars, so that a part
    too thin to see still has its name and numbers; they are the labels of the axis, drawn inside
    it, because labels follow the light and the dark theme and marks of text do not.
    """
    words = alt.Axis(
        title=None,
        labelAlign="left",
        labelBaseline="middle",
        labelOffset=-16,
        labelPadding=0,
        labelLimit=600,
        labelFontSize=14,
        domain=False,
        ticks=False,
        grid=False,
        zindex=1,
    )
    bars = alt.Chart(no_data(), height=CHART_HEIGHT, width="container").mark_bar(
        height=BAR_HEIGHT, yOffset=10, xOffset=0.5, x2Offset=-0.5
    )
    chart: alt.Chart = bars.encode(
        x=alt.X(
            "Start (%):Q",
            title="Share of this ledger's total (%)",
            scale=alt.Scale(domain=[0, 100], nice=False),
        ),
        x2="End (%):Q",
        y=alt.Y("Row:N", sort=None, axis=words),
        color=alt.Color("Part:N", scale=colour_scale(*PICTURE_ROWS[1:]), legend=None),
        tooltip=[
            "Part:N",
            "Matrix:N",
            alt.Tooltip("Parameters:Q", format=","),
            alt.Tooltip("Share (%):Q", format=".4f"),
        ],
    )
    return chart
