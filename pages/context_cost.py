"""What does a context twice as long cost? Measure one head, with and without its whole pattern."""

import streamlit as st

from core.charts import context_cost as charts
from core.context_cost import measure_steps
from core.context_plan import ContextSettings, needed_mib
from core.formula import attention_by_formula
from core.pattern_memory import PatternSettings, pattern_memory
from core.peak_memory import measure_peaks
from core.row_blocks import attend_rows, attention_by_row_blocks
from core.tables import context_cost as tables
from core.tables import pattern_memory as pattern_tables
from pages import close_page, open_page
from pages.parts.context_cost import POLL_SECONDS, follow, largest_that_fits, memory_cap
from pages.parts.context_cost_views import CONTROLS, PATTERN_CONTROLS, show_memory, show_times
from pages.parts.controls import draw, keep_at_most, settings_from
from pages.parts.glossary import introduce
from pages.parts.lesson import Choose, ask, compare, try_this
from pages.parts.present import side_by_side
from pages.parts.show import show_chart, show_limits, show_source, show_table

PREDICTION = Choose(
    question="The context becomes twice as long. How much longer does one head take by the "
    "formula?",
    answers=(
        "About as long: the head is the same",
        "Twice as long: twice the tokens",
        "Four times as long",
        "Eight times as long",
    ),
)
WHY = (
    "Every token is compared with every other, a table of n × n scores: twice the tokens are four "
    "times the entries. At small sizes fixed costs hide this; a table that outgrows the "
    "processor's cache can cost more than that."
)

page = open_page("pages/context_cost.py")
introduce(
    "One head is measured on this server as the number of tokens, n, doubles, in two ways that "
    "give the same output: the formula, which makes the whole pattern and then uses it, and row "
    "blocks, which make a few of its rows at a time and throw them away.",
    "token",
    "n",
    "n²",
    "d_k",
    "head",
    "pattern",
    "row block",
    "float32",
    "MiB, GiB",
    "seed",
)
left, right = side_by_side()
with left:
    cap_mib, complaint = memory_cap()
    if complaint:
        st.warning(complaint)
    values = {**draw(CONTROLS), "memory_cap_mib": cap_mib}
    values = keep_at_most(values, CONTROLS, "n_largest", largest_that_fits(values))
    settings = settings_from(ContextSettings, CONTROLS, values)
    try_this(
        CONTROLS,
        ("16,384: what no longer fits?", {"n_largest": 16384}),
        ("One row in a block: who is faster?", {"block_size": 1, "n_largest": 2048}),
        ("All rows in a block: who is faster?", {"block_size": 1024, "n_largest": 1024}),
        ("Two threads: how much faster?", {"n_threads": 2}),
    )

with right:
    waiting = ask(page.title, PREDICTION, CONTROLS, values)
if waiting:
    close_page(page.path)
    st.stop()

visit = follow(settings)
every = POLL_SECONDS if visit.live else None
with right:
    st.fragment(show_times, run_every=every)(visit, polling=visit.live)
    if visit.result:
        compare(page.title, tables.doubling_sentence(visit.result), WHY)
    for sentence in tables.left_out_sentences(settings):
        st.caption(sentence)

st.header("Where the memory goes", anchor=False)
st.markdown(
    "Inside its softmax the formula holds three tables of n × n. Row blocks hold the output, the "
    "keys once more, and one block of rows, which they throw away before they begin the next."
)
st.fragment(show_memory, run_every=every)(visit)

st.header("The row blocks, one by one", anchor=False)
st.markdown(
    "Drawn for 32 tokens. Move the row: its block is computed from the queries left of it and the "
    "keys and values above it, and only its output is kept."
)
show_chart(
    charts.row_blocks,
    tables.block_cells(),
    key="row_blocks_chart",
    says="The arithmetic is still n², halved by the mask. What changed is how much must be held.",
    alt_text="The table of 32 × 32 scores, with queries left of it, keys and values above it and "
    "the output right of it. Colours mark what is in memory, thrown away, to come or never "
    "computed, as the block moves down.",
)

st.header("All patterns of GPT-3 at once", anchor=False)
st.markdown(
    "One table for each head in each layer, if a program kept them all. The defaults are GPT-3's."
)
left, right = side_by_side()
with left:
    pattern_values = draw(PATTERN_CONTROLS)
    counted = pattern_memory(settings_from(PatternSettings, PATTERN_CONTROLS, pattern_values))
with right:
    st.markdown(pattern_tables.all_patterns_sentence(counted))
    show_table(
        pattern_tables.all_patterns(counted),
        key="all_patterns",
        display=pattern_tables.all_patterns_in_words(counted),
    )
    st.markdown("One head in one layer, in float32:")
    show_table(
        pattern_tables.patterns(),
        key="one_pattern",
    )

st.header("The same on a GPU: FlashAttention", anchor=False)
st.markdown(
    "Table 21 of the FlashAttention paper ([arXiv 2205.14135](https://arxiv.org/abs/2205.14135)) "
    "prints the memory of attention for 16 sequences, 8 heads and 64 numbers a head. Counting "
    "16 · 8 · (4 · n² · 2 + 10 · n · 64 · 2) bytes, four tables and ten vectors a token at 2 bytes "
    "a number, gives every number of the standard one."
)
flash = pattern_tables.flash()
show_table(flash, key="flash_attention", display=pattern_tables.flash_in_words(flash))
st.caption(
    "FlashAttention: 209 MiB for each 1,024 tokens, from 1,024 upward. That is 16 · 8 · n · "
    "(13 · 64 · 2 + 2 · 4) bytes: thirteen vectors and two float32 a token. Both formulas are "
    "our reading of the printed numbers. Its memory no longer grows as n². Its arithmetic still "
    "does."
)

show_limits(
    (
        "The times depend on this machine and on who else uses it: another visitor, another "
        "program or this page drawing itself can double a run. Every repeat is shown; lines and "
        "ratios use the fastest.",
        "NumPy on a CPU, 32-bit floats, one head. On a GPU the milliseconds are others. What you "
        "may expect there as well is the growth: the formula asks for n² there too.",
        "Below about 1,000 tokens fixed costs count, and at some size the table outgrows the "
        "processor's cache. So a ratio can lie well below or above 4.",
        "The article's text gives the ratios, and no times, repeats or machine.",
        "Peak memory is what NumPy and Python allocate beyond the queries, keys and values, "
        "traced in one run of each size, before the timed ones, in a process that does nothing "
        "else. The matrix library's own working memory is not counted. With several threads the "
        "peak can be below the prediction, which has all of them at their largest block at once.",
        f"This server's memory cap is {cap_mib:,} MiB; whoever runs it can set another with the "
        "environment variable ATTENTION_LAB_MEMORY_CAP_MIB. The formula at the article's 8,192 "
        f"tokens needs {needed_mib(8192, 'formula', ContextSettings(n_largest=8192))} MiB, the "
        "process that measures it included.",
        "The 72 GiB are arithmetic on a program that would store every pattern. No production "
        "system does.",
    )
)
show_source(
    attention_by_formula, attention_by_row_blocks, attend_rows, measure_steps, measure_peaks
)
close_page(page.path)
