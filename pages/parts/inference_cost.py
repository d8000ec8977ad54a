"""The controls of the inference-cost page, and what it draws anew while a measurement runs."""

from typing import Any, TypeAlias

import streamlit as st

from core.charts import inference_cost as charts
from core.decode_agreement import DecodeSettings
from core.decode_cost import DecodeSnapshot
from core.kv_cache import CacheSettings
from core.ledger import nearest_kv_heads
from core.tables import inference_cost as tables
from core.tables.kv_cache import CONTEXTS
from core.tables.measured import whose_sentence
from pages.parts.controls import Choice, Slider, settings_from
from pages.parts.followed import redraw_if_changed
from pages.parts.lesson import Choose
from pages.parts.measuring import Visit
from pages.parts.present import STATUS
from pages.parts.show import fold, show_chart, show_table

DecodeVisit: TypeAlias = Visit[DecodeSettings, DecodeSnapshot]

CONTROLS = (
    Choice(
        key="d_model",
        label="d_model (numbers in a token's vector)",
        options=(64, 128, 256, 512, 1024, 2048, 4096),
        default=512,
        kind="slider",
    ),
    Choice(
        key="d_k",
        label="d_k (numbers in a query, key or value)",
        options=(16, 32, 64, 128, 256),
        default=128,
        kind="slider",
    ),
    Choice(
        key="n_tokens",
        label="Tokens written",
        options=(128, 256, 512, 1024, 2048),
        default=2048,
        kind="slider",
        help="The ways without a cache are timed at 1, 2, 4, … tokens up to here.",
    ),
    Slider(key="n_repeats", label="Repeats (timed runs of each)", low=1, high=20, default=5),
    Slider(
        key="seed",
        label="Seed",
        low=0,
        high=99,
        default=0,
        help="Fixes the random head and the tokens drawn. The cost does not depend on them.",
    ),
)
CASES = (
    ("A large d_model: is it worth more?", {"d_model": 4096, "n_repeats": 3}),
    ("A tiny head: does the count still tell?", {"d_model": 64, "d_k": 16}),
    ("A short text: is a cache worth it?", {"n_tokens": 128, "n_repeats": 20}),
)

CACHE_CONTROLS = (
    Slider(key="n_kv_heads", label="Key–value heads in a layer", low=1, high=128, default=8),
    Slider(key="n_heads", label="Query heads in a layer", low=1, high=128, default=64),
    Slider(key="n_layers", label="Layers", low=1, high=128, default=80),
    Choice(
        key="d_head",
        label="d_head (numbers in a key or a value)",
        options=(32, 64, 80, 96, 128, 256),
        default=128,
        kind="slider",
    ),
    Choice(
        key="bytes_per_number", label="Bytes a number", options=(1, 2, 4), default=2, kind="radio"
    ),
    Choice(key="context", label="Context (tokens)", options=CONTEXTS, default=4096, kind="slider"),
    Slider(key="sequences", label="Sequences at once", low=1, high=64, default=1),
)
CACHE_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "GPT-3 shares nothing: how large?",
        {"n_layers": 96, "n_heads": 96, "n_kv_heads": 96, "context": 2048},
    ),
    ("Llama-2-70B: what does sharing save?", {}),
    ("Llama-2-70B unshared: how large?", {"n_kv_heads": 64}),
    (
        "Llama-3-8B: what does it save?",
        {"n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "context": 8192},
    ),
)

PREDICTION = Choose(
    question="A head has read 2,048 tokens. Its program kept every key and value it made. How much "
    "of the next token's work does that save?",
    answers=(
        "Nothing: it still looks at every token",
        "About half",
        "About nine tenths",
        "More than 99 %",
    ),
)
WHY = (
    "A key and a value depend on their own token alone, and the mask lets no later token change "
    "them. Without a cache they are made again from d_model numbers a token; with it, each is only "
    "read."
)

COUNTED_WORDS = (
    f"For {tables.COUNTED[0]} tokens, d_model {tables.COUNTED[1]} and d_k {tables.COUNTED[2]}. A "
    "row block holds up to 128 rows and makes every score up to its last row."
)

LIMITS = (
    "The times are this machine's. Other programs, other visitors and this page drawing itself "
    "still share its memory and wear on a run, even where only processor time is counted. Every "
    "repeat is shown; lines and ratios use the fastest.",
    "One small head on one core. Its matrices and its cache fit into the processor's own memory, "
    "so waiting for memory shows little here. In a large model every token written alone fetches "
    "all matrices from main memory, and one at a time falls further behind.",
    "The whole head again is the formula with its n × n table, mask and all. A program that "
    "computes only what the mask leaves would take about half.",
    "Without a cache only some positions are timed, on the tokens written with it. Totals of those "
    "ways are reckoned between the positions, and marked so.",
    "The head and what it writes are random. Choosing the next token, and everything in a model "
    "that is not this head, is not timed.",
    "Below about 100 tokens each step takes as long as Python needs to ask for it: about ten calls "
    "to NumPy, whatever the numbers.",
    "The memory of whole models is arithmetic on their published sizes; none was run. Real servers "
    "also lose memory to cutting it into blocks.",
)


def cache_settings(values: dict[str, Any]) -> CacheSettings:
    """Return the sizes, with a number of key–value heads that divides the query heads."""
    fitting = nearest_kv_heads(values["n_heads"], values["n_kv_heads"])
    if fitting != values["n_kv_heads"]:
        st.info(
            f"“Key–value heads in a layer” must divide {values['n_heads']}, so that every group of "
            f"heads shares one. You chose {values['n_kv_heads']}; {fitting} is used."
        )
    return settings_from(CacheSettings, CACHE_CONTROLS, {**values, "n_kv_heads": fitting})


def show_times(visit: DecodeVisit, *, polling: bool) -> None:
    """Follow the measurement, and show the times so far.

    Args:
        visit: the measurement.
        polling: whether the page draws this again and again, as it should only while it goes on.
    """
    visit.poll()
    snapshot = visit.snapshot
    visit.show_status(tables.progress_sentence)
    show_chart(
        charts.time,
        tables.time_points(visit.settings, snapshot),
        key="decode_times",
        above=STATUS,
        says=tables.time_sentence(snapshot),
        lines=3,
        alt_text="Time for one output against the tokens so far, both logarithmic: with the whole "
        "head run again, with keys and values made again, with the key–value cache, and with all "
        "tokens at once. Points are runs, lines join the fastest, dashed lines are counted work.",
    )
    st.caption(tables.clock_sentence(snapshot))
    if snapshot:
        st.caption(whose_sentence(snapshot.started, visit.asked))
        growth = tables.growth_table(snapshot)
        show_table(growth, key="decode_growth", display=tables.growth_in_words(growth))
    with fold("Every run", key="decode_runs") as unfolded:
        if unfolded:
            show_table(tables.times(snapshot), key="decode_times", height=300)
    redraw_if_changed(live=visit.live, polling=polling)


def show_work(visit: DecodeVisit) -> None:
    """Show the measured times against the counted work."""
    show_chart(
        charts.work,
        tables.work_points(visit.snapshot),
        key="decode_work",
        says=tables.speed_sentence(visit.snapshot),
        alt_text="Fastest time for one output against its multiply-adds, both logarithmic, for the "
        "four ways; dotted lines of equal speed from 0.01 to 100 billion a second.",
    )
    if visit.snapshot:
        table = tables.work_table(visit.snapshot)
        show_table(table, key="decode_work", display=tables.work_table_in_words(table))


def show_totals(visit: DecodeVisit) -> None:
    """Show what all tokens take together, once every position is timed."""
    if visit.result is None:
        st.markdown("Wait for the measurement above to end.")
        return
    st.markdown(tables.totals_sentence(visit.result))
    table = tables.totals(visit.result)
    show_table(table, key="decode_totals", display=tables.totals_in_words(table))


def show_agreement(visit: DecodeVisit) -> None:
    """Show how far each way's outputs are from the full head's."""
    st.markdown(tables.agreement_sentence(visit.snapshot))
    if visit.snapshot and visit.snapshot.agreements:
        show_table(
            tables.agreement_table(visit.snapshot.agreements),
            key="decode_agreement",
            display=tables.agreement_in_words(visit.snapshot.agreements),
        )


def show_own_cache(visit: DecodeVisit) -> None:
    """Say how large the arrays of the head's own cache are."""
    st.markdown(tables.cache_bytes_sentence(visit.snapshot))
