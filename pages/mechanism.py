"""How does a word take meaning from its neighbours? Run one head and follow every number."""

import streamlit as st

from core.attention import head_steps
from core.heads import make_head
from core.mechanism import MechanismSettings, mechanism
from core.scaling import scaling
from core.tables import mechanism as tables
from pages import close_page, open_page
from pages.parts import mechanism as parts
from pages.parts.controls import draw, keep_at_most, settings_or_none
from pages.parts.glossary import introduce
from pages.parts.lesson import ask
from pages.parts.mechanism_lesson import CONTROLS, LIMITS, PREDICTION
from pages.parts.moving import draw_moving
from pages.parts.present import presenting, side_by_side
from pages.parts.scaling import show_scaling
from pages.parts.show import show_limits, show_source, show_table


def follow(title: str) -> None:
    """Draw the controls and everything that depends on them."""
    left, right = side_by_side()
    with left:
        values = draw(CONTROLS)
        chosen = {key: value for key, value in values.items() if key != "token"}
        settings = settings_or_none(MechanismSettings, CONTROLS, chosen)
        if settings is None:
            return
        result = mechanism(settings)
        values = keep_at_most(values, CONTROLS, "token", len(result.tokens))
        st.caption(tables.words_sentence(result))
        if presenting():
            parts.show_presets()
    with right:
        waiting = ask(title, PREDICTION, CONTROLS, values)
    if waiting:
        return
    index = values["token"] - 1
    with right:
        parts.show_moves(result, index, title)
    parts.show_stages(result, index)
    parts.show_row(result, index)


page = open_page("pages/mechanism.py")
introduce(
    "A word starts with one fixed vector, the same in every sentence. One attention head lets it "
    "look at its neighbours and adds what it finds. The word vectors here are made by hand, with "
    "16 named dimensions, so that you can read what changes.",
    *("token", "vector", "x, X", "head", "query, q, Q", "key vector, k, K"),
    *("value vector, v, V", "q · k", "d_k", "√d_k", "score", "causal mask", "−∞", "softmax"),
    *("weight", "pattern", "cosine", "d_model", "W_Q, W_K, W_V", "W_O", "seed"),
)
if not presenting():
    parts.show_presets()
draw_moving(follow, page.title)
draw_moving(show_scaling)

st.header("The hand-made lexicon", anchor=False)
st.markdown(
    "Every word the lab knows, as the numbers a person chose for it. Any other word gets a random "
    "vector."
)
show_table(tables.lexicon_table(), key="lexicon", height=300)
show_limits(LIMITS)
show_source(mechanism, head_steps, make_head, scaling)
close_page(page.path)
