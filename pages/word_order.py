"""Does a head know which fact came last? Take the order away, and give it back in four ways."""

from dataclasses import replace
from functools import partial

import streamlit as st

from core.order_model import backward, forward
from core.order_pictures import shuffle_pairs
from core.order_training import N_LENGTH, SLOPES, OrderSeries, order_steps, slope_runs
from core.positions import alibi_bias, rotate, sinusoids
from core.tables import word_order as tables
from core.word_order import OrderSettings
from pages import close_page, open_page
from pages.parts import word_order as parts
from pages.parts import word_order_controls as choices
from pages.parts.controls import draw, settings_from
from pages.parts.glossary import introduce
from pages.parts.lesson import ask, try_this
from pages.parts.present import side_by_side
from pages.parts.series import POLL_SECONDS, REDRAW_SECONDS, follow, followed, start
from pages.parts.show import show_limits, show_source

page = open_page("pages/word_order.py")
introduce(
    "A sequence holds pairs of a key and a value, then one of its keys again. That key may stand "
    "there several times, and its last value counts. One attention head is trained on this without "
    "positions, and with four ways to tell it where a pair stands.",
    *("pair, key, value", "query, q, Q", "key vector, k, K", "value vector, v, V"),
    *("W_Q, W_K, W_V", "score", "softmax", "weight", "embedding", "position"),
    *("learned positions", "sinusoidal", "RoPE", "ALiBi", "accuracy", "chance"),
    *("ceiling without positions", "seed", "d_model", "d_k", "learning rate"),
)

left, right = side_by_side()
with left:
    values = draw(choices.CONTROLS)
    task = settings_from(
        OrderSettings, choices.CONTROLS, {c.key: values[c.key] for c in choices.TASK}
    )
    settings = settings_from(
        partial(OrderSeries, train=task), choices.CONTROLS, {"n_seeds": values["n_seeds"]}
    )

series = follow("order_series", settings.runs, order_steps)  # while the visitor still predicts
with right:
    waiting = ask(page.title, choices.PREDICTION, choices.CONTROLS, values)
if waiting:
    close_page(page.path)
    st.stop()

every, seldom = (POLL_SECONDS, REDRAW_SECONDS) if series.live else (None, None)
with right:
    st.fragment(parts.show_runs, run_every=every)(series, settings, page.title, polling=series.live)
try_this(
    choices.CONTROLS,
    ("The key only once: is order needed?", {"n_times": 1}),
    ("Slope 0: what is left of ALiBi?", {"alibi_slope": 0.0}),
    ("Four times, seed 4: which one is stuck?", {"n_times": 4, "seed": 4, "n_seeds": 1}),
    ("d_k = 2: which schemes still work?", {"d_k": 2}),
)

st.header("Another order, the same answer", anchor=False)
st.markdown(
    "A head with random weights sees one sequence in two orders. Without positions each pair takes "
    "its weight along; what is left is the rounding of sums in another order."
)
one, two = side_by_side()
with one:
    chosen = draw(choices.ORDERS)
with two:
    parts.show_shuffle(task, chosen["shuffled_scheme"], chosen["order"])
parts.show_shuffles(task, chosen["order"])

st.header("Why no positions means this ceiling", anchor=False)
st.markdown(tables.ceiling_sentence(task))

st.header("What each scheme adds", anchor=False)
st.markdown(
    "A head with random weights again. The same word stands at every position, so whatever differs "
    "between two scores is where it stands."
)
drawing, picture = side_by_side()
with drawing:
    drawn = draw(choices.PICTURES)
    scheme = drawn["drawn_scheme"]
    st.markdown(parts.WHAT[scheme])
with picture:
    pictured = replace(task, scheme=scheme)
    parts.show_scores(pictured, drawn["n_positions"])
    parts.show_scheme(pictured, drawn["n_positions"], series.runs)
parts.show_spreads(task, drawn["n_positions"])

st.header("What the trained heads do with it", anchor=False)
st.markdown(
    "The score of the asked key's pairs by how long before the question they stand. A line that "
    "rises to the right puts the last pair on top; a flat one cannot tell."
)
st.fragment(parts.show_mechanism, run_every=seldom)(series, settings)

st.header("Sequences of another length", anchor=False)
st.markdown(
    "The same heads, not trained further, on fewer and on more other pairs: "
    f"{N_LENGTH:,} fresh sequences a run at each length."
)
st.fragment(parts.show_lengths, run_every=seldom)(series, settings)

st.header("How steep must ALiBi's line be?", anchor=False)
st.markdown(
    "Too flat, and all pairs of the asked key get almost equal weights. Too steep, and the "
    "question itself, at distance 0, takes all the weight: nothing is left to learn from."
)
st.button(
    f"Train {len(slope_runs(settings))} ALiBi heads, {len(SLOPES)} slopes",
    key="measure_slopes",
    on_click=start,
    args=(choices.SLOPE_SERIES, slope_runs(settings), order_steps),
)
slopes = followed(choices.SLOPE_SERIES, lambda kept: kept.settings == slope_runs(settings))
measuring = slopes is not None and slopes.live
st.fragment(parts.show_slopes, run_every=POLL_SECONDS if measuring else None)(
    slopes, task, polling=measuring
)

show_limits(
    (
        "One head, one layer, short sequences, and a question that always stands last. It does not "
        "rank these schemes for large models.",
        "The ceiling is for this head. With a causal mask and more than one layer, a model without "
        "positions can work some of them out (Haviv et al. 2022).",
        "ALiBi's paper gives each head its own slope; here the one head has the one you choose.",
        "The heat-map of scores uses random weights and one word. Scores of trained heads differ.",
        "Lengths go up to 11 pairs; the ALiBi paper tests thousands of tokens.",
    )
)
show_source(sinusoids, rotate, alibi_bias, forward, backward, shuffle_pairs)
close_page(page.path)
