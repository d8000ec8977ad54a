"""The part of the mechanism page that asks why scores are divided by √d_k."""

import streamlit as st

from core.charts import scaling as charts
from core.scaling import Scaling, ScalingSettings, scaling
from core.tables import scaling as tables
from pages.parts.controls import Slider, draw
from pages.parts.moving import turn_given
from pages.parts.present import side_by_side
from pages.parts.show import fold, show_chart, show_table

CONTROLS = (
    Slider(
        key="n_keys",
        label="Tokens in a row of scores",
        low=2,
        high=64,
        default=16,
        help="How many random keys each random query is compared with.",
    ),
    Slider(
        key="draw_seed", label="Seed of the draws", low=0, high=99, default=0, help="Fixes them."
    ),
)


def show_scaling() -> None:
    """Draw the spread of scores and the largest weight against d_k, with and without division."""
    st.header("Why divide by √d_k?", anchor=False)
    st.markdown(
        "A dot product of two random vectors is a sum of d_k products, so it spreads by √d_k. The "
        "softmax of such scores ends up on one token, whatever the words are."
    )
    left, right = side_by_side()
    with left:
        values = draw(CONTROLS)
    with turn_given():
        drawn = scaling_of(ScalingSettings(n_tokens=values["n_keys"], seed=values["draw_seed"]))
    points = tables.scaling_points(drawn)
    with right:
        show_chart(
            charts.score_spread,
            points,
            key="score_spread",
            says=tables.scaling_sentence(drawn),
            alt_text="Points: standard deviation of the scores against d_k, with and without the "
            "division. Dashed lines: the predictions, √d_k and 1.",
        )
        show_chart(
            charts.largest_weight,
            points,
            key="largest_weight",
            says=tables.weight_sentence(drawn),
            alt_text="Points: mean largest weight of a softmax row against d_k, with and without "
            "the division.",
        )
        st.caption(tables.sample_sentence(drawn))
    with fold("Predicted and measured, as a table", key="scaling") as unfolded:
        if unfolded:
            show_table(
                tables.scaling_table(drawn),
                key="scaling",
                formats=dict.fromkeys(tables.SCALING_NUMBERS, "%.3f"),
            )


@st.cache_data(max_entries=100, show_spinner=False)
def scaling_of(settings: ScalingSettings) -> Scaling:
    """Return the scaling experiment, computed once for each setting."""
    return scaling(settings)
