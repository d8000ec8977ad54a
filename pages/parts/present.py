"""A page on a projector: larger, and with no more controls than the teacher picked.

``?present=1&show=n_tokens,position`` hides every control but those two.
"""

import streamlit as st

# Sizes in the app are multiples of the root's, so this one line scales text, controls and tables.
# Streamlit's theme has no size that one visit can choose.
_LARGER = "<style>:root{font-size:135%}</style>"


def presenting() -> bool:
    """Return whether the link asks for the projector's view."""
    return st.query_params.get("present") == "1"


def enlarge() -> None:
    """Make everything on the page larger, if the link asks for the projector's view."""
    if presenting():
        st.html(_LARGER)


def shown(key: str) -> bool:
    """Return whether a control stays on the page."""
    return not presenting() or key in st.query_params.get("show", "").split(",")
