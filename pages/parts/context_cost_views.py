"""The controls of the context-cost page, and what it draws anew while a measurement runs."""

import streamlit as st

from core.charts import context_cost as charts
from core.tables import context_cost as tables
from pages.parts.context_cost import SIZES, Visit
from pages.parts.controls import Choice, Slider
from pages.parts.followed import redraw_if_changed
from pages.parts.present import STATUS
from pages.parts.show import fold, show_chart, show_table

CONTROLS = (
    Choice(
        key="n_largest",
        label="Largest size (tokens)",
        options=SIZES,
        default=4096,
        kind="slider",
        help="Measured from 256 tokens up to here, doubling each time.",
    ),
    Slider(key="n_repeats", label="Repeats (timed runs of each)", low=1, high=20, default=5),
    Choice(
        key="d_k",
        label="d_k (numbers in a query, key or value)",
        options=(16, 32, 64, 128, 256),
        default=128,
        kind="slider",
    ),
    Choice(
        key="block_size",
        label="Rows in a block",
        options=(1, 8, 16, 32, 64, 128, 256, 512, 1024),
        default=128,
        kind="slider",
        help="How many query rows the row blocks compute at once.",
    ),
    Slider(
        key="n_threads",
        label="Threads for row blocks",
        low=1,
        high=4,
        default=1,
        help="How many blocks are computed at the same time, each on a core of its own if there is "
        "one. The output is bit-identical for any number.",
    ),
    Slider(
        key="seed",
        label="Seed",
        low=0,
        high=99,
        default=0,
        help="Fixes the random queries, keys and values. The cost does not depend on them.",
    ),
)
PATTERN_CONTROLS = (
    Choice(
        key="context",
        label="Context (tokens)",
        options=tuple(2**i for i in range(8, 21)),
        default=2048,
        kind="slider",
    ),
    Slider(key="n_heads", label="Heads in a layer", low=1, high=128, default=96),
    Slider(key="n_layers", label="Layers", low=1, high=128, default=96),
    Choice(
        key="bytes_per_entry",
        label="Bytes an entry",
        options=(1, 2, 4, 8),
        default=2,
        kind="radio",
    ),
)


def show_times(visit: Visit, *, polling: bool) -> None:
    """Follow the measurement, and show the times so far.

    Args:
        visit: the measurement.
        polling: whether the page draws this again and again, as it should only while it goes on.
    """
    visit.poll()
    visit.show_status(tables.progress_sentence)
    show_chart(
        charts.time,
        tables.time_points(visit.snapshot),
        key="times_chart",
        above=STATUS,
        says=tables.time_sentence(visit.snapshot),
        lines=3,
        alt_text="Time against the number of tokens, both logarithmic: every run by the formula "
        "and by row blocks, lines through the fastest, and a dashed line that grows as n².",
    )
    if visit.snapshot:
        st.caption(tables.whose_sentence(visit.snapshot, visit.asked))
    scattered = tables.scatter_sentence(visit.result) if visit.result else None
    if scattered:
        st.info(scattered)
    ratios = tables.ratios(visit.snapshot)
    show_table(ratios, key="doublings", display=tables.ratios_in_words(ratios))
    with fold("Every run", key="runs") as unfolded:
        if unfolded:
            show_table(tables.times(visit.snapshot), key="context_times")
    redraw_if_changed(live=visit.live, polling=polling)


def show_memory(visit: Visit) -> None:
    """Show the memory measured so far beside the predictions."""
    show_chart(
        charts.memory,
        tables.memory_points(visit.settings, visit.snapshot),
        key="memory_chart",
        says=tables.memory_sentence(visit.snapshot),
        alt_text="Peak memory against the number of tokens, both logarithmic: predicted lines and "
        "measured points of the formula and of row blocks, and this server's memory cap.",
    )
    with fold("Measured beside predicted", key="memory") as unfolded:
        if unfolded:
            show_table(tables.memory(visit.snapshot), key="context_memory")
