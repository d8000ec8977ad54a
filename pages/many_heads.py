"""What can two heads do that one cannot? Ask for two values, and switch heads off."""

from functools import partial

import streamlit as st

import core.one_head_ceiling
from core.many_heads import ManyHeadsSettings
from core.one_head_ceiling import enumerate_ceiling, one_head_ceiling
from core.tables import many_heads as tables
from core.tables import one_head_ceiling as ceilings
from core.two_facts_circuits import backward_heads, forward_heads
from core.two_facts_model import answer_two
from core.two_facts_settings import TwoFactsSettings
from pages import close_page, open_page
from pages.parts import many_heads as parts
from pages.parts.controls import draw, keep_at_most, settings_from
from pages.parts.glossary import introduce
from pages.parts.lesson import ask, try_this
from pages.parts.many_heads_controls import CLOSER, CONTROLS, PREDICTION, TASK
from pages.parts.present import side_by_side
from pages.parts.series import POLL_SECONDS, REDRAW_SECONDS, follow
from pages.parts.show import fold, show_limits, show_source, show_table

page = open_page("pages/many_heads.py")
introduce(
    "A sequence holds pairs of a key and a value. The question names two of the keys, and both "
    "values are the answer: first that of the key named first, then that of the other. Both are "
    "read from one output vector, to which every head adds its own.",
    *("pair, key, value", "key vector, k, K", "value vector, v, V", "head", "pattern", "weight"),
    *("logits", "accuracy", "chance", "ceiling of one head", "cross-entropy", "fewest errors"),
    *("QK circuit", "OV circuit", "gradient", "backward pass", "seed", "embedding", "d_model"),
    *("d_k", "learning rate"),
)

left, right = side_by_side()
with left:
    values = draw(CONTROLS)
    values = keep_at_most(values, CONTROLS, "n_pairs", values["n_keys"])
    task = settings_from(TwoFactsSettings, CONTROLS, {c.key: values[c.key] for c in TASK})
    settings = settings_from(
        partial(ManyHeadsSettings, train=task), CONTROLS, {"n_seeds": values["n_seeds"]}
    )

series = follow("heads_series", settings.runs, parts.heads_steps)  # while the visitor predicts
with right:
    waiting = ask(page.title, PREDICTION, CONTROLS, values)
if waiting:
    close_page(page.path)
    st.stop()

every, seldom = (POLL_SECONDS, REDRAW_SECONDS) if series.live else (None, None)
with right:
    st.fragment(parts.show_runs, run_every=every)(series, settings, page.title, polling=series.live)
try_this(
    CONTROLS,
    ("Two values: how far does one head get?", {"n_values": 2}),
    ("A head four times as wide: any better?", {"d_k": 64}),
    ("Cross-entropy: is the ceiling still met?", {"goal": "cross-entropy"}),
    (
        "Two keys, values seen: ceiling passed?",
        {"n_keys": 2, "n_pairs": 2, "n_values": 4, "values_in_keys": True},
    ),
)

st.header("Why one head stops there", anchor=False)
st.markdown(
    "\n".join(f"{n}. {step}" for n, step in enumerate(ceilings.proof_steps(task.n_values), start=1))
)
st.markdown(ceilings.ceiling_sentence(task.n_values))
with st.expander("The whole proof"):
    st.code(core.one_head_ceiling.__doc__, language=None, wrap_lines=True)
st.markdown(
    "For up to four values, every set of pairs was looked through. A set is free of contradictions "
    "if the inequalities it asks of the read-out do not add up to 0 > 0."
)
parts.show_checks()

st.header("Two values alone do not need two heads", anchor=False)
st.markdown(
    "A task that fails to tell one head from two: the same sequences and questions, the smaller "
    "value first, whosever it is. Both values must still be found, yet one head is enough. It "
    "weighs both pairs alike, and each value's own logits say how early it wants to be named."
)
st.fragment(parts.show_control, run_every=seldom)(series, settings)

st.header("Switch the heads off", anchor=False)
st.markdown(
    "One trained run, its heads switched off one by one: a head that is off adds nothing, and "
    "nothing is trained again. Which heads carry which answer?"
)
closer, shown = side_by_side()
with closer:
    chosen = draw(CLOSER)
    chosen = keep_at_most(chosen, CLOSER, "run", settings.n_seeds)
n_heads, seed = chosen["heads"], settings.seed_of(chosen["run"])
with shown:
    st.fragment(parts.show_off, run_every=seldom)(series, n_heads, seed)

st.header("What each head has become", anchor=False)
st.markdown(
    "The same run. Above, QK: how strongly a key named first or second looks at each part of a "
    "pair. Below, OV: what that part adds to the logits of the first and the second answer."
)
st.fragment(parts.show_circuits, run_every=seldom)(series, n_heads, seed)
with fold("All runs, with each head off", key="heads_runs") as unfolded:
    if unfolded:
        show_table(tables.run_list(series.runs), key="heads_runs", height=300)

st.header("Is the backward pass right?", anchor=False)
st.markdown(
    "The gradient is written by hand. 24 parameters sampled from all eight matrices, at the start "
    "of the run chosen above, each nudged up and down."
)
parts.show_gradients(tables.chosen_settings(task, n_heads, seed))

show_limits(
    (
        "The ceiling is for one head whose scores see the keys alone and whose two answers are "
        "read off linearly. With two keys and scores that see the values, one head can pass it.",
        "A read-out with a score for each pair of answers can undo the mixture of one head.",
        "Fewest errors is not how models are trained. Cross-entropy makes one head hedge between "
        "the two values, and it is then right less often than it could be.",
        "Heads that can be switched off without loss here were never asked to share work. Michel "
        "et al. (2019) found such heads in translation models; the reasons there may be others.",
        "One layer, no positions, and a question that cannot look at itself.",
    )
)
show_source(one_head_ceiling, enumerate_ceiling, answer_two, forward_heads, backward_heads)
close_page(page.path)
