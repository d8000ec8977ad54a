"""What one server process holds once for all its visitors."""

import gc

import streamlit as st


@st.cache_resource(show_spinner=False)
def settle() -> None:
    """Freeze the heap once everything heavy is imported.

    A full garbage collection walks every object of pandas and Altair, about 45 ms in which no
    other visitor is served. Frozen objects are skipped, so that the automatic collections that
    still happen stay short.
    """
    gc.collect()
    gc.freeze()
