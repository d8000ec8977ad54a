"""Can a head learn what to ask and where to look? Train one beside one that cannot attend."""

import streamlit as st

from core.circuits import backward, forward
from core.recall import answer
from core.training import TrainSettings, train_pieces
from core.training_run import TrainingRun
from pages import close_page, open_page
from pages.parts.controls import Choice, Slider, Text, draw, keep_at_most, settings_from
from pages.parts.glossary import introduce
from pages.parts.lesson import Choose, ask, try_this
from pages.parts.present import side_by_side
from pages.parts.recall import (
    AXES,
    show_answer,
    show_checkpoints,
    show_circuits,
    show_curve,
    show_fresh,
    show_gradients,
)
from pages.parts.show import show_limits, show_source
from pages.parts.training import follow

CONTROLS = (
    Slider(
        key="n_pairs",
        label="Pairs in a sequence",
        low=1,
        high=16,
        default=3,
        help="Each key occurs once in a sequence, so at most as many as there are keys.",
    ),
    Slider(key="n_keys", label="Different keys", low=2, high=32, default=8),
    Slider(key="n_values", label="Different values", low=2, high=32, default=8),
    Choice(
        key="learning_rate",
        label="Learning rate (no unit)",
        options=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        default=0.01,
        kind="slider",
        help="How far each step moves the parameters.",
    ),
    Choice(
        key="optimiser",
        label="Optimiser",
        options=("adam", "sgd"),
        default="adam",
        kind="radio",
        show={"adam": "Adam", "sgd": "SGD"}.__getitem__,
    ),
    Slider(key="n_steps", label="Steps", low=100, high=10_000, default=3000, step=100),
    Slider(
        key="d_model",
        label="d_model",
        low=1,
        high=128,
        default=32,
        help="How many numbers the embedding of a key or value has.",
    ),
    Slider(
        key="d_k",
        label="d_k",
        low=1,
        high=128,
        default=32,
        help="How many numbers a query, a key vector and a value vector have.",
    ),
    Choice(
        key="batch_size",
        label="Batch (sequences a step)",
        options=tuple(2**i for i in range(11)),
        default=64,
        kind="slider",
    ),
    Choice(
        key="init_scale",
        label="Initial scale",
        options=(0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        default=0.1,
        kind="slider",
        help="The standard deviation of the random numbers all six matrices start from.",
    ),
    Slider(
        key="seed",
        label="Seed",
        low=0,
        high=99,
        default=0,
        help="Fixes the start, the training sequences and the test sequences.",
    ),
    Choice(key="axis", label="Step axis of the chart", options=AXES, default=AXES[0], kind="radio"),
)

QUESTION = (
    Text(
        key="pairs",
        label="Your pairs",
        default="0:6 3:0 4:1",
        help="Each is a key, a colon and a value, with spaces between the pairs.",
    ),
    Text(key="question", label="Your question: which value goes with key", default="4"),
)

PREDICTION = Choose(
    question="The head learns the task. Where does it look, from the question, when it answers?",
    answers=(
        "At the pair with the same key, and nowhere else",
        "Half at that pair, half at the question itself",
        "Evenly at all pairs",
        "At every pair, most at the right one",
    ),
)

page = open_page("pages/recall_training.py")
introduce(
    "A sequence holds pairs of a key and a value, then one of its keys again as the question. The "
    "article's example is 0:6, 3:0, 4:1 and question 4; it asks for the 1. (The key vector and the "
    "value vector that a head makes of every token are something else.) Nobody tells the head what "
    "to ask or where to look; it only sees how wrong its answers are. The uniform head is the same "
    "model with W_Q and W_K held at zero, so it must look everywhere alike.",
    "token",
    "pair, key, value",
    "query, q, Q",
    "key vector, k, K",
    "value vector, v, V",
    "embedding",
    "d_model",
    "d_k",
    "W_Q, W_K, W_V",
    "weight",
    "loss",
    "accuracy",
    "chance",
    "ceiling",
    "logits",
    "QK circuit",
    "OV circuit",
    "gradient",
    "backward pass",
    "batch",
    "learning rate",
    "Adam, SGD",
    "seed",
)

left, right = side_by_side()
with left:
    values = draw(CONTROLS)
    values = keep_at_most(values, CONTROLS, "n_pairs", values["n_keys"])
    axis = values.pop("axis")
    settings = settings_from(TrainSettings, CONTROLS, values)

with right:
    waiting = ask(page.title, PREDICTION, CONTROLS, {**values, "axis": axis})
if waiting:
    close_page(page.path)
    st.stop()

visit = follow(settings)  # not before: the curve is to be seen growing
with right:
    live = st.fragment(show_curve, run_every=visit.poll_seconds)
    live(visit, axis, polling=visit.live)
    show_fresh(visit, page.title)
    try_this(
        CONTROLS,
        (
            "SGD at rate 10: does it still learn?",
            {"optimiser": "sgd", "learning_rate": 10.0},
        ),
        ("d_k = 2: enough for eight keys?", {"d_k": 2}),
        ("Sixteen pairs: too many for one head?", {"n_pairs": 16, "n_keys": 32}),
        ("Start at 0.3: where does the weight go?", {"init_scale": 0.3}),
        ("Start at 0: does it ever learn?", {"init_scale": 0.0}),
    )

show_checkpoints(visit, axis)

st.header("What the head has become", anchor=False)
st.markdown(
    "Everything this head can do is two small tables. QK, above: how strongly a question about a "
    "key (row) looks at each part of a token (column). OV, below: what that part adds to each "
    "possible answer (row). Drag the slider under the chart through the training."
)
show_circuits(visit)

st.header("Ask it yourself", anchor=False)
show_answer(visit, QUESTION)

st.header("Is the backward pass right?", anchor=False)
st.markdown(
    "The gradient is written by hand. Nudge one parameter up and down, see how the loss moves, "
    "and compare: 24 parameters sampled from all six matrices, at the start of this run."
)
show_gradients(visit)

show_limits(
    (
        "One head, one layer and a toy task: shuffle the pairs, and the head cannot tell. How real "
        "models are told the order is under “Word order”.",
        "A head this small can learn to look a key up. Whether heads of a large language model do "
        "the same has to be looked for in that model.",
        "The article did not look into why about half of the weight stays on the question.",
        "The article's text gives no learning rate, optimiser, batch, d_model, d_k or initial "
        "scale; with the defaults here the outcome is the same as there.",
    )
)
show_source(answer, forward, backward, train_pieces, TrainingRun)
close_page(page.path)
