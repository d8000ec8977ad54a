"""Charts of the mask-leak experiment."""

import altair as alt

from core.charts.style import CHART_HEIGHT, COLOURS, colour_scale, no_data

# From below the smallest change that −10 for −∞ leaves, to above the largest at size 10.
CHANGE_DOMAIN = [1e-6, 100]


def output_changes() -> alt.TopLevelMixin:
    """Draw the change of every output against its position, with the mask and without.

    The axis is symmetric-log: linear below 0.001, so that an exact zero has a place on it.
    """
    y = alt.Y(
        "Largest change:Q",
        title="Largest change of the output (no unit)",
        scale=alt.Scale(type="symlog", constant=0.001, domain=[0, 100], nice=False),
        axis=alt.Axis(values=[0, 0.001, 0.01, 0.1, 1, 10, 100], labelExpr="datum.value"),
    )
    base = alt.Chart(no_data())
    points = base.mark_point(size=90, strokeWidth=2, opacity=1).encode(
        x=alt.X("Position:O", title="Position of the output", axis=alt.Axis(labelAngle=0)),
        y=y,
        color=alt.Color(
            "Mask:N", scale=colour_scale("with mask", "without mask"), legend=_legend()
        ),
        fill=alt.Fill("Mask:N", scale=colour_scale("with mask", "without mask"), legend=None),
        shape=alt.Shape(
            "Mask:N",
            scale=alt.Scale(domain=["with mask", "without mask"], range=["circle", "triangle-up"]),
            legend=_legend(),
        ),
        tooltip=["Position:O", "Mask:N", alt.Tooltip("In words:N", title="Largest change")],
    )
    changed = (
        base.mark_rule(strokeDash=[4, 4], strokeWidth=2, color=COLOURS["question"])
        .encode(x="Position:O")
        .transform_filter("datum.Position == datum['Changed position']")
    )
    return alt.layer(changed, points, data=no_data()).properties(
        height=CHART_HEIGHT, width="container"
    )


def influence() -> alt.TopLevelMixin:
    """Draw the influence map: a row for each output, a column for each changed token.

    The colour is logarithmic and fixed; an exact zero has no colour at all.
    """
    x = alt.X(
        "Changed token:O",
        title="Changed token (position)",
        axis=alt.Axis(labelAngle=0, labelOverlap=True),
    )
    y = alt.Y("Output:O", title="Output (position)", axis=alt.Axis(labelOverlap=True))
    tooltip = ["Output:O", "Changed token:O", alt.Tooltip("In words:N", title="Largest change")]
    base = alt.Chart(no_data())
    zeros = (
        base.mark_rect(opacity=0)
        .transform_filter("datum['Largest change'] == 0")
        .encode(x=x, y=y, tooltip=tooltip)
    )
    moved = (
        base.mark_rect()
        .transform_filter("datum['Largest change'] > 0")
        .encode(
            x=x,
            y=y,
            tooltip=tooltip,
            color=alt.Color(
                "Largest change:Q",
                title="Largest change",
                scale=alt.Scale(type="log", domain=CHANGE_DOMAIN, clamp=True),
                legend=alt.Legend(
                    orient="bottom", gradientLength=220, values=[1e-6, 1e-4, 0.01, 1, 100]
                ),
            ),
        )
    )
    return alt.layer(zeros, moved, data=no_data()).properties(height=460, width="container")


def _legend() -> alt.Legend:
    return alt.Legend(orient="top", title=None)
