"""How does a word take meaning from its neighbours? Run one head and follow every number."""

import streamlit as st

from core.attention import head_steps
from core.charts import mechanism as charts
from core.charts import scaling as scaling_charts
from core.heads import make_head
from core.mechanism import (
    MechanismSettings,
    explain_row,
    mechanism,
    moves,
    preset_moves,
)
from core.scaling import ScalingSettings, scaling
from core.tables import mechanism as tables
from core.tables import scaling as scaling_tables
from pages import close_page, open_page
from pages.parts import mechanism as parts
from pages.parts.controls import draw, keep_at_most, plain, settings_from
from pages.parts.glossary import glossary
from pages.parts.lesson import ask, compare, try_this
from pages.parts.show import show_chart, show_limits, show_source, show_table

page = open_page("pages/mechanism.py")
glossary(
    *("token", "vector", "x, X", "head", "query, q, Q", "key, k, K", "value, v, V", "q · k"),
    *("d_k", "√d_k", "score", "causal mask", "−∞", "softmax", "weight", "pattern", "cosine"),
    *("d_model", "W_Q, W_K, W_V", "W_O", "seed"),
)
st.markdown(
    "A word starts with one fixed vector, the same in every sentence. One attention head lets it "
    "look at its neighbours and adds what it finds. The word vectors here are made by hand, with "
    "16 named dimensions, so that you can read what changes."
)

parts.show_presets()
left, right = st.columns([1, 2], gap="large")
with left:
    values = draw(parts.CONTROLS)
    chosen = {key: value for key, value in values.items() if key != "token"}
    settings = settings_from(MechanismSettings, parts.CONTROLS, chosen)
    result = mechanism(settings)
    values = keep_at_most(values, parts.CONTROLS, "token", len(result.tokens))
    index = values["token"] - 1
    st.caption(tables.words_sentence(result))

with right:
    waiting = ask(page.title, parts.PREDICTION, parts.CONTROLS, values)
if waiting:
    close_page(page.path)
    st.stop()

labels, dimensions = tables.token_labels(result), tables.dimension_names(result)
turned, row = moves(result, index), explain_row(result, index)

with right:
    show_chart(
        charts.moves,
        tables.move_points(turned),
        len(turned),
        key="moves",
        says=plain(tables.moves_sentence(turned)),
        alt_text="Points: the cosine of the followed word's vector with each direction, before "
        "the head and after it, from −1 to 1.",
    )
    compare(page.title, tables.moves_sentence(turned), parts.WHY)
    st.markdown(
        "The presets, each with the head made for it and otherwise your settings; the article "
        "tells these stories without numbers. “bank” starts from the same vector twice. A cosine "
        "of 1 is the same direction, 0 a right angle."
    )
    found = tables.move_table(preset_moves(settings))
    show_table(found, key="preset_moves", display=tables.move_table_in_words(found))
    try_this(parts.CONTROLS, *parts.CASES)

st.subheader("One head, stage by stage", anchor=False)
diagram, words = st.columns([1, 1], gap="large")
with diagram:
    st.mermaid_chart(parts.DIAGRAM, width="content", alt="Data flow of one attention head")
with words:
    st.markdown(parts.STAGES_IN_WORDS)
parts.show_stages(result, index)
with st.expander("Every stage as one table"):
    show_table(tables.stage_table(result), key="stages", height=300)
with st.expander("The hand-made lexicon"):
    show_table(tables.lexicon_table(), key="lexicon", height=300)

st.subheader("One row, step by step", anchor=False)
st.markdown(
    plain(f"The word you follow is “{labels[index]}”. ") + tables.row_sentence(row, settings)
)
show_table(
    tables.row_table(row, labels), key="row", formats=dict.fromkeys(tables.ROW_NUMBERS, "%.4f")
)
parts.show_weighted_values(row, labels, dimensions)
with st.expander("Weight × value as a table"):
    show_table(
        tables.weighted_value_table(row, labels, dimensions),
        key="weighted_values",
        formats=dict.fromkeys(dimensions, "%.4f"),
    )

st.subheader("Why divide by √d_k?", anchor=False)
st.markdown(
    "A dot product of two random vectors is a sum of d_k products, so it spreads by √d_k. The "
    "softmax of such scores ends up on one token, whatever the words are."
)
drawn = parts.scaling_of(ScalingSettings(seed=settings.seed))
points = scaling_tables.scaling_points(drawn)
spread, weight = st.columns(2, gap="large")
with spread:
    show_chart(
        scaling_charts.score_spread,
        points,
        key="score_spread",
        says=scaling_tables.scaling_sentence(drawn),
        alt_text="Points: standard deviation of the scores against d_k, with and without the "
        "division. Dashed lines: the predictions, √d_k and 1.",
    )
with weight:
    show_chart(
        scaling_charts.largest_weight,
        points,
        key="largest_weight",
        says=scaling_tables.weight_sentence(drawn),
        alt_text="Points: mean largest weight of a softmax row against d_k, with and without the "
        "division.",
    )
st.caption(scaling_tables.sample_sentence(drawn))
with st.expander("Predicted and measured, as a table"):
    show_table(
        scaling_tables.scaling_table(drawn),
        key="scaling",
        formats=dict.fromkeys(scaling_tables.SCALING_NUMBERS, "%.3f"),
    )

show_limits(parts.LIMITS)
show_source(mechanism, head_steps, make_head, scaling)
close_page(page.path)
