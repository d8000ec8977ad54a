"""A page on a projector: larger, and with no more controls than the teacher picked.

``?present=1&show=n_tokens,position`` hides every control but those two. The page's first chart and
the sentence below it then fit a screen of 1280 × 720 pixels, so nobody has to scroll to them.
"""

from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_TALLER = 1.3  # how much taller a chart is drawn
_ROOM = 480  # pixels; what a screen has for it between the title and four lines of its sentence
STATUS = 76  # pixels; what a line on the progress of a run takes, with its button and the gap

# Sizes in the app are multiples of the root's, so one rule scales text, controls and tables.
# Streamlit's theme has no size that one visit can choose. Its bar on top holds only the buttons of
# the two menus: the title stands between them, and what introduces the page hangs below the right
# one, so that neither takes a line from the chart.
_LOOK = """<style>
:root {font-size: 135%}
.stAppHeader {background: none}
.stAppHeader, .stAppHeader[data-testid] * {pointer-events: none}
.stAppHeader[data-testid] :is(button, button *) {pointer-events: auto}
.stMain .stMainBlockContainer {padding: 0.7rem 3.3rem 4rem}
.stMain .stHeading h1 {font-size: 1.42rem; padding: 0.2rem 0 0}
.st-key-about {position: absolute; top: 2.6rem; right: 0.4rem; width: auto}
.st-key-about button {padding: 0.2rem 0.3rem; min-height: 0}
.st-key-about button [data-testid=stMarkdownContainer] {position: absolute; width: 1px; height: 1px;
  overflow: hidden; clip-path: inset(50%); white-space: nowrap}
.stMain :is(.stButton, .stCheckbox) label p, .stMain .stButton button p {white-space: normal}
.stMain .stButton button[kind=tertiary] .stMarkdownEllipsis {text-align: left}
</style>"""


def presenting() -> bool:
    """Return whether the link asks for the projector's view."""
    return st.query_params.get("present") == "1"


def enlarge() -> None:
    """Make everything on the page larger, if the link asks for the projector's view."""
    if presenting():
        st.html(_LOOK)


def shown(key: str) -> bool:
    """Return whether a control stays on the page."""
    return not presenting() or key in st.query_params.get("show", "").split(",")


def side_by_side() -> "tuple[DeltaGenerator, DeltaGenerator]":
    """Return the column of the controls and, right of it, that of what they change.

    On a projector the second is wider, so that a sentence in large letters takes no more lines.
    """
    if presenting():
        controls, results = st.columns([1, 3], gap="medium")
    else:
        controls, results = st.columns([1, 2], gap="large")
    return controls, results


def chart_height(height: float, above: float = 0) -> float:
    """Return how tall a chart is drawn on a projector, in pixels.

    Args:
        height: its usual height. One that needs more than a screen has keeps it.
        above: what stands between the title and the chart.

    >>> chart_height(200), chart_height(400), chart_height(400, above=80), chart_height(700)
    (260.0, 480, 400, 700)
    """
    return min(_TALLER * height, max(height, _ROOM) - above)
