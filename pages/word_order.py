"""Does a head know which fact came last? Take the order away, and give it back in four ways."""

from dataclasses import replace
from functools import partial

import streamlit as st

from core.order_model import backward, forward
from core.order_pictures import shuffle_pairs
from core.order_training import OrderSeries, order_steps
from core.positions import SCHEMES, alibi_bias, rotate, sinusoids
from core.tables import word_order as tables
from core.word_order import OrderSettings
from pages import close_page, open_page
from pages.parts import word_order as parts
from pages.parts.controls import AnyControl, Choice, Slider, draw, settings_from
from pages.parts.glossary import glossary
from pages.parts.lesson import Choose, ask, try_this
from pages.parts.series import POLL_SECONDS, REDRAW_SECONDS, follow
from pages.parts.show import show_limits, show_source

WIDTHS = (2, 4, 8, 16, 32, 64)
TASK = (
    Slider(
        key="n_times",
        label="Times the asked key occurs",
        low=1,
        high=4,
        default=2,
        help="Each time with another value; the last one counts. With 1, order does not matter.",
    ),
    Slider(key="n_others", label="Other pairs", low=0, high=7, default=3),
    Choice(
        key="alibi_slope",
        label="ALiBi's slope (score lost a position)",
        options=(0.0, 1 / 256, 1 / 64, 1 / 16, 0.25, 0.5, 1.0, 4.0, 16.0),
        default=0.5,
        kind="slider",
        show=lambda slope: f"{float(slope):.3g}",
        help="The paper gives eight heads 1/2, 1/4 … 1/256. With 0 nothing is added.",
    ),
    Choice(key="d_k", label="d_k (numbers in a query)", options=WIDTHS, default=32, kind="slider"),
    Slider(key="n_steps", label="Steps", low=100, high=3000, default=1000, step=100),
    Slider(key="n_values", label="Different values", low=4, high=32, default=8),
    Choice(
        key="d_model",
        label="d_model (numbers in an embedding)",
        options=WIDTHS,
        default=32,
        kind="slider",
    ),
    Choice(
        key="learning_rate",
        label="Learning rate at the start (no unit)",
        options=(0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 10.0),
        default=0.01,
        kind="slider",
        help="It falls in a straight line to 0 over the run.",
    ),
    Choice(
        key="init_scale",
        label="Initial scale",
        options=(0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0),
        default=0.1,
        kind="slider",
        help="Standard deviation of the random start.",
    ),
    Slider(key="seed", label="Seed", low=0, high=99, default=0, help="The first of the seeds."),
)
SEEDS = Slider(key="n_seeds", label="Seeds (runs of each scheme)", low=1, high=10, default=3)
CONTROLS: tuple[AnyControl, ...] = (*TASK[:2], SEEDS, *TASK[2:])
WHICH = partial(Choice, options=SCHEMES, kind="radio", show=tables.label)
ORDERS: tuple[AnyControl, ...] = (
    WHICH(key="shuffled_scheme", label="Positions of this head", default="none"),
    Slider(key="order", label="Order", low=0, high=50, default=0, help="0 is the reverse."),
)
PICTURES: tuple[AnyControl, ...] = (
    WHICH(key="drawn_scheme", label="Scheme", default="rotary"),
    Slider(key="n_positions", label="Positions", low=4, high=48, default=16),
)

PREDICTION = Choose(
    question="One key stands twice in a sequence, with two different values out of eight; the "
    "later one is the right answer. The head is trained, and is never told where a pair stands. "
    "How often is its answer right?",
    answers=(
        "1 in 8: it can only guess",
        "Half the time",
        "Always: the later pair is nearer to the question",
        "Never: it answers with the average of both",
    ),
)

page = open_page("pages/word_order.py")
glossary(
    *("key, k, K", "value, v, V", "query, q, Q", "W_Q, W_K, W_V", "score", "softmax", "weight"),
    *("position", "accuracy", "chance", "ceiling without positions", "seed", "d_model", "d_k"),
    *("learning rate",),
)
st.markdown(
    "A sequence holds pairs of a key and a value, then one of its keys again. That key may stand "
    "there several times, and its last value counts. One attention head is trained on this without "
    "positions, and with four ways to tell it where a pair stands."
)

left, right = st.columns([1, 2], gap="large")
with left:
    values = draw(CONTROLS)
    task = settings_from(OrderSettings, CONTROLS, {c.key: values[c.key] for c in TASK})
    settings = settings_from(
        partial(OrderSeries, train=task), CONTROLS, {"n_seeds": values["n_seeds"]}
    )

series = follow("order_series", settings.runs, order_steps)  # while the visitor still predicts
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
    ("The key only once: is order needed?", {"n_times": 1}),
    ("Slope 0: what is left of ALiBi?", {"alibi_slope": 0.0}),
    ("Slope 1/256: is so little enough?", {"alibi_slope": 1 / 256}),
    ("d_k = 2: which schemes still work?", {"d_k": 2}),
)

st.subheader("Another order, the same answer", anchor=False)
st.markdown(
    "A head with random weights sees one sequence in two orders. Without positions each pair takes "
    "its weight along; what is left is the rounding of sums in another order."
)
one, two = st.columns([1, 2], gap="large")
with one:
    chosen = draw(ORDERS)
with two:
    parts.show_shuffle(task, chosen["shuffled_scheme"], chosen["order"])
parts.show_shuffles(task, chosen["order"])

st.subheader("Why no positions means this ceiling", anchor=False)
st.markdown(tables.ceiling_sentence(task))

st.subheader("What each scheme adds", anchor=False)
st.markdown(
    "A head with random weights again. The same word stands at every position, so whatever differs "
    "between two scores is where it stands."
)
drawing, picture = st.columns([1, 2], gap="large")
with drawing:
    drawn = draw(PICTURES)
    scheme = drawn["drawn_scheme"]
    st.markdown(parts.WHAT[scheme])
with picture:
    pictured = replace(task, scheme=scheme)
    parts.show_scores(pictured, drawn["n_positions"])
    parts.show_scheme(pictured, drawn["n_positions"], series.runs)
parts.show_spreads(task, drawn["n_positions"])

st.subheader("What the trained heads do with it", anchor=False)
st.markdown(
    "The score of the asked key's pairs by how long before the question they stand. A line that "
    "rises to the right puts the last pair on top; a flat one cannot tell."
)
st.fragment(parts.show_mechanism, run_every=seldom)(series, settings)

st.subheader("Sequences of another length", anchor=False)
st.markdown(
    "The same heads, not trained further, on fewer and on more other pairs: 1,000 fresh sequences "
    "a run at each length."
)
st.fragment(parts.show_lengths, run_every=seldom)(series, settings)

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
