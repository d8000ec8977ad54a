"""The parts of the page of recall at scale: its map, and the cell that is run again."""

from typing import Any

import streamlit as st

from core.charts import scale as charts
from core.recall_at_scale import ScaleRun, ScaleSettings
from core.tables import scale as tables
from core.tables import scale_cell as one_cell
from core.tables import scale_findings as findings
from pages.parts.controls import AnyControl, set_some
from pages.parts.followed import redraw_if_changed
from pages.parts.series import Series
from pages.parts.show import show_chart, show_table

CELL = "scale_cell"  # the name of the series that runs a cell again
_MAP = "scale_map"  # the chart's name
_WANTED = "scale_cell_wanted"  # set by a click, until the page has the cell's settings
_CLICKS = "scale_clicks"  # on the map so far

CellSeries = Series[ScaleSettings, ScaleRun]

written_down = st.cache_data(max_entries=1, show_spinner=False)(findings.written_down)


def show_map(values: dict[str, Any], controls: tuple[AnyControl, ...]) -> None:
    """Draw the shipped map; a click on a cell sets the controls to it and has it run."""

    def clicked() -> None:
        picked = st.session_state[_MAP].selection.get(charts.CELL)
        options = {control.key: getattr(control, "options", ()) for control in controls}
        if not picked:
            return
        n_pairs, d_k = int(picked[0]["Pairs"]), int(picked[0]["d_k"])
        if n_pairs in options["n_pairs"] and d_k in options["d_k"]:
            set_some(controls, {"n_pairs": n_pairs, "d_k": d_k})
            st.session_state[_WANTED] = True
            st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1

    chosen = values["n_pairs"], values["d_k"]
    show_chart(
        charts.recall_map,
        tables.map_cells(
            values["keys_per_pair"], values["shows"], chosen, st.session_state.get(_CLICKS, 0)
        ),
        key=_MAP,
        says=tables.map_sentence(values["keys_per_pair"], chosen),
        lines=3,
        alt_text="Heat-map: the share of sequences answered right, or whose match has the highest "
        "weight, over d_k and pairs in a sequence. One cell is outlined.",
        on_click=clicked,
    )


def wanted() -> bool:
    """Return whether a click asked for the chosen cell to be run, once."""
    return bool(st.session_state.pop(_WANTED, False))


def show_cell(series: CellSeries | None, runs: tuple[ScaleSettings, ...], *, polling: bool) -> None:
    """Draw the shipped numbers of the chosen cell beside those of the runs on this server.

    Args:
        series: the runs, if they were asked for.
        runs: their settings.
        polling: whether the page draws this again and again, as it should only while runs go on.
    """
    if series is not None:
        series.poll()
        series.show_progress()
    fresh = series.runs if series is not None else ()
    table = one_cell.cell_table(runs, fresh)
    show_table(table, key="scale_cell", display=one_cell.cell_table_in_words(table))
    st.markdown(one_cell.again_sentence(fresh))
    st.caption(one_cell.shipped_sentence(runs[0]))
    show_chart(
        charts.curves,
        one_cell.curve(fresh, runs[0]),
        key="scale_curves",
        says=one_cell.curve_sentence(fresh, runs[0]),
        alt_text="Lines: the accuracy of each run on this server over its training steps, with "
        "chance and the ceiling for equal weights.",
    )
    redraw_if_changed(live=series is not None and series.live, polling=polling)
