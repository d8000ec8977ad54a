"""What does the next token cost? One head writes, with its keys and values kept and without."""

import streamlit as st

from core.broken_cache import BROKEN
from core.charts import inference_cost as charts
from core.decode_agreement import DecodeSettings
from core.decode_cost import measure_steps
from core.generation import CachedHead, attend, last_row, whole_head
from core.generation_work import multiply_adds
from core.kv_cache import bytes_per_token, cache_bytes
from core.tables import inference_cost as tables
from core.tables import kv_cache as memory
from core.tables.counts import count_of
from pages import close_page, open_page
from pages.parts import inference_cost as parts
from pages.parts.controls import draw, settings_from
from pages.parts.glossary import introduce
from pages.parts.lesson import ask, compare, try_this
from pages.parts.measuring import POLL_SECONDS, follow
from pages.parts.present import side_by_side
from pages.parts.show import fold, show_chart, show_limits, show_source, show_table

page = open_page("pages/inference_cost.py")
introduce(
    "A model writes one token at a time, and each needs one more row of the pattern. One head is "
    "timed on this server as it writes, in float32: with its keys and values kept, with them made "
    "again, and with the whole head run again on all n tokens. The fourth line takes n tokens that "
    "are known already, all at once, and shares the time among them.",
    *("token", "n", "head", "d_model", "d_k", "d_head", "W_Q, W_K, W_V", "query, q, Q"),
    *("key vector, k, K", "value vector, v, V", "pattern", "causal mask", "multiply-add"),
    *("context", "key–value cache", "prefill", "decode", "grouped-query attention", "float32"),
    *("MiB, GiB", "seed"),
)

left, right = side_by_side()
with left:
    values = draw(parts.CONTROLS)
    settings = settings_from(DecodeSettings, parts.CONTROLS, values)
    try_this(parts.CONTROLS, *parts.CASES)

with right:
    waiting = ask(page.title, parts.PREDICTION, parts.CONTROLS, values)
if waiting:
    close_page(page.path)
    st.stop()

visit = follow("inference_cost", settings, measure_steps)
every = POLL_SECONDS if visit.live else None
with right:
    st.fragment(parts.show_times, run_every=every)(visit, polling=visit.live)
    if visit.result:
        compare(page.title, tables.result_sentence(visit.result), parts.WHY)

st.header("Are the outputs the same?", anchor=False)
st.markdown(
    "Every way against the full head, on the tokens that were timed; and three caches that are "
    "broken, which the comparison must notice."
)
st.fragment(parts.show_agreement, run_every=every)(visit)

st.header("What does a whole text cost?", anchor=False)
st.fragment(parts.show_totals, run_every=every)(visit)

st.header("One at a time, or all at once?", anchor=False)
st.markdown(
    "Reading a prompt (prefill) takes all its tokens at once; writing (decode) takes one at a "
    "time, with about as many multiply-adds a token. But one token alone uses each number of W_Q, "
    "W_K, W_V and of the cache once and must fetch all of them; n tokens share one fetch of the "
    "matrices."
)
st.fragment(parts.show_work, run_every=every)(visit)
with fold(
    "The formulas, and a count by loops over single numbers", key="decode_counted"
) as unfolded:
    if unfolded:
        st.markdown(parts.COUNTED_WORDS)
        counted = tables.counted_table()
        show_table(counted, key="decode_counted", display=counted)

st.header("What does a model have to keep?", anchor=False)
st.markdown(
    "Each token leaves a key and a value in every layer, for every key–value head. Letting several "
    "query heads share one (multi-query attention, Shazeer 2019; grouped-query attention, Ainslie "
    "et al. 2023) divides that. The sliders begin at Llama-2-70B."
)
left, right = side_by_side()
with left:
    cache_values = draw(parts.CACHE_CONTROLS, first=7)
    kept = parts.cache_settings(cache_values)
    try_this(parts.CACHE_CONTROLS, *parts.CACHE_CASES, at="the chart of the cache")
with right:
    show_chart(
        charts.memory,
        memory.memory_points(kept),
        key="kv_memory",
        says=memory.memory_sentence(kept),
        lines=3,
        alt_text="Memory of the key–value cache against the context, both logarithmic: with a key–"
        "value head for each query head, as chosen, and with one for all. Points: your context.",
    )
    table = memory.memory_table(kept)
    show_table(table, key="kv_memory", display=memory.memory_table_in_words(table))
    st.fragment(parts.show_own_cache, run_every=every)(visit)
st.markdown(f"Published models, one sequence, {count_of(kept.bytes_per_number, 'byte')} a number:")
published = memory.published_table(kept.bytes_per_number)
show_table(published, key="kv_published", display=memory.published_in_words(published))
st.caption(
    "Arithmetic on sizes printed by Brown et al. 2020, Touvron et al. 2023 and Meta's model cards. "
    "Pope et al. 2022, “Efficiently Scaling Transformer Inference”, weigh the same count: many "
    "sequences at once share one fetch of the matrices, but each brings a cache of its own."
)

show_limits(parts.LIMITS)
show_source(
    whole_head,
    last_row,
    CachedHead,
    attend,
    multiply_adds,
    measure_steps,
    bytes_per_token,
    cache_bytes,
    *BROKEN.values(),
)
close_page(page.path)
