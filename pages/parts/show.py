"""Charts, tables, source and limits, put on screen the same way on every page."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from core.charts.large import enlarge_words
from core.charts.style import spec
from pages.parts.html_table import STYLE, show_words, steady
from pages.parts.moving import note_chart
from pages.parts.present import chart_height, presenting


# Streamlit's own cache takes 0.2 ms to find a chart again, and a page has up to eleven.
@lru_cache(maxsize=200)
def _spec_of(
    make: Callable[..., alt.TopLevelMixin],
    args: tuple[str | float | bool, ...],
    *,
    large: bool,
    above: float,
) -> dict[str, Any]:
    """Build a chart once for all visits."""
    specification = spec(make(*args))
    if large:
        enlarge_words(specification)
        if isinstance(specification.get("height"), int | float):
            specification["height"] = chart_height(specification["height"], above)
    return specification


def show_chart(
    make: Callable[..., alt.TopLevelMixin],
    frame: pd.DataFrame,
    *args: str | float | bool,
    key: str,
    says: str,
    alt_text: str,
    lines: int = 2,
    on_click: Callable[[], None] | None = None,
    above: float = 0,
) -> None:
    """Draw a chart whose specification stays constant while its data change.

    Args:
        make: the function of `core.charts` that returns the chart without data.
        frame: its data.
        *args: passed to ``make``; a new value rebuilds and remounts the chart, so keep them few.
        key: the chart's name on the page, constant.
        says: one live sentence, what the chart shows now. It stands beside the chart because a
            changing title or text alternative would remount it.
        alt_text: the constant text alternative: what is drawn, and on which axes.
        lines: the lines kept for what it says.
        on_click: called before the next run when the chart's own selection changes; it is then
            found in the session's state under ``key``.
        above: in pixels, what stands between it and the title: on a projector it is as much less
            tall.
    """
    st.vega_lite_chart(
        frame,
        _spec_of(make, args, large=presenting(), above=above),
        key=key,
        alt=alt_text,
        width="stretch",
        on_select=on_click or "ignore",
    )
    note_chart((key, args), frame)
    steady(says, lines=lines)


def style_page() -> None:
    """Style what is written as HTML."""
    st.html(f"<style>{STYLE}</style>")


def show_table(
    frame: pd.DataFrame,
    *,
    key: str,
    formats: dict[str, str] | None = None,
    height: int | None = None,
    display: pd.DataFrame | None = None,
) -> None:
    """Draw a table with a download of its unrounded numbers.

    Args:
        frame: what the CSV holds: raw numbers, units in the column names.
        key: names the table and the file.
        formats: a printf or preset number format for a column; whole numbers have their thousands
            apart without one.
        height: in pixels, for a table that scrolls; all rows are shown when None.
        display: what is shown instead of the frame, where words say it better than a number; as
            a static table that wraps its text, so meant for few rows.
    """
    if display is not None:
        show_words(display, label=key.replace("_", " "))
    else:
        counts = frame.select_dtypes("integer").columns
        columns = {
            str(name): st.column_config.NumberColumn(format=form)
            for name, form in {**dict.fromkeys(counts, "%,d"), **(formats or {})}.items()
        }
        st.dataframe(
            frame,
            key=f"{key}_table",
            hide_index=True,
            column_config=columns,
            placeholder="—",  # for a number that is still to come, or that there is none of
            height="content" if height is None else height,
        )
    st.download_button(
        "Download as CSV",
        data=lambda: frame.to_csv(index=False),
        file_name=f"{key}.csv",
        mime="text/csv",
        key=f"{key}_csv",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


@contextmanager
def fold(label: str, *, key: str) -> Iterator[bool]:
    """Keep a part of the page folded away, and draw it only where it is unfolded.

    Args:
        label: says what is in it.
        key: names it on the page.

    Yields:
        Whether it is unfolded: if not, its content need not be computed or sent.
    """
    box = st.expander(label, key=f"fold_{key}", on_change="rerun")
    with box:
        yield bool(box.open)


def show_source(*functions: Callable[..., object]) -> None:
    """Show the source of the functions that computed this page, read from the running program."""
    names = ", ".join(f"{function.__module__}.{function.__qualname__}" for function in functions)
    with fold(f"The code that ran: {names}", key="source") as unfolded:
        if unfolded:
            for function in functions:
                st.code(_source(function), language="python")


@lru_cache(maxsize=200)
def _source(function: Callable[..., object]) -> str:
    return inspect.getsource(inspect.unwrap(function))


def show_limits(limits: Sequence[str]) -> None:
    """List what the measurements on this page do not show."""
    st.header("What this does not show", anchor=False)
    st.markdown("\n".join(f"- {limit}" for limit in limits))
