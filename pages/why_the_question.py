"""What decides where a trained head looks? Change one thing at a time, and see the weight move."""

from functools import partial

import streamlit as st

from core.question_model import QUESTION_TABLES, QuestionSettings, circuits
from core.question_runs import INTERVENTIONS, score_run
from core.reported import SINK_KEPT, SINK_SOFTMAX
from pages import close_page, open_page
from pages.parts.controls import Choice, Slider, Switch, draw, keep_at_most, settings_from
from pages.parts.glossary import introduce
from pages.parts.lesson import Choose, ask, try_this
from pages.parts.present import presenting, side_by_side
from pages.parts.series import POLL_SECONDS, REDRAW_SECONDS
from pages.parts.show import show_limits, show_source
from pages.parts.why_the_question import (
    Runs,
    show_changes,
    show_gap,
    show_history,
    show_scores,
    show_sinks,
    show_weights,
    start_all,
)

CONTROLS = (
    Choice(
        key="init_scale",
        label="Initial scale",
        options=(0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0),
        default=0.1,
        kind="slider",
        help="Standard deviation of the random start.",
    ),
    Choice(
        key="question_table",
        label="The question's embedding table",
        options=QUESTION_TABLES,
        default="shared",
        help="The question is used twice: it asks, and it is looked at. Shared: for both, its "
        "key's row. Own: a table that only questions have, for one use or for both.",
    ),
    Switch(key="looks_at_itself", label="The question may look at itself", default=True),
    Switch(
        key="values_hidden",
        label="Values hidden from the scores",
        default=False,
        help="A pair is looked at through its key alone. It still hands its value over.",
    ),
    Switch(
        key="centred_start",
        label="Centred start",
        default=False,
        help="From each embedding table its mean row is taken off before the training, so that no "
        "direction is shared by all keys or by all values.",
    ),
    Switch(
        key="sum_to_one",
        label="Weights sum to 1",
        default=True,
        help="On: softmax. Off: each weight is the sigmoid of its own score, with nothing to share "
        "out.",
    ),
    Slider(
        key="n_seeds",
        label="Seeds (runs)",
        low=1,
        high=20,
        default=5,
        help="A seed fixes the random start, the training batches and the test sequences.",
    ),
    Slider(key="n_steps", label="Steps", low=100, high=10_000, default=3000, step=100),
    Slider(key="n_pairs", label="Pairs in a sequence", low=1, high=16, default=3),
    Slider(key="n_keys", label="Different keys", low=2, high=32, default=8),
    Slider(key="n_values", label="Different values", low=2, high=32, default=8),
    Slider(key="d_model", label="d_model (numbers in an embedding)", low=1, high=128, default=32),
    Slider(key="d_k", label="d_k (numbers in a query or key vector)", low=1, high=128, default=32),
    Choice(
        key="learning_rate",
        label="Learning rate (no unit)",
        options=(0.001, 0.003, 0.01, 0.03, 0.1),
        default=0.01,
        kind="slider",
    ),
    Slider(key="seed", label="Seed", low=0, high=99, default=0, help="The first of the seeds."),
)

PREDICTION = Choose(
    question="A trained head answers every question right. Yet half of the question's weight stays "
    "on the question itself, which holds no value. Why?",
    answers=(
        "It is what is left over: softmax has to put it somewhere",
        "The head needs the question's own vector for the answer",
        "It was not trained for long enough",
        "The question looks just like the pair it is looking for",
    ),
)

page = open_page("pages/why_the_question.py")
introduce(
    "The article's head answers every question and still keeps about 47 % of the weight on the "
    "question. It leaves open why. Change the model, train it anew, and see what takes the weight "
    "away.",
    "query, q, Q",
    "q · k",
    "√d_k",
    "pair, key, value",
    "key vector, k, K",
    "value vector, v, V",
    "score",
    "softmax",
    "sigmoid",
    "weight",
    "embedding",
    "E_key, E_value",
    "QK circuit",
    "attention sink",
    "accuracy",
    "loss",
    "seed",
    "d_model",
    "d_k",
    "learning rate",
)

left, right = side_by_side()
with left:
    values = draw(CONTROLS, first=7)
    values = keep_at_most(values, CONTROLS, "n_pairs", values["n_keys"])
    n_seeds = values.pop("n_seeds")
    settings = settings_from(QuestionSettings, CONTROLS, values)

runs = Runs(settings, n_seeds)  # while the visitor still predicts
with right:
    waiting = ask(page.title, PREDICTION, CONTROLS, {**values, "n_seeds": n_seeds})
if waiting:
    close_page(page.path)
    st.stop()

redraw = REDRAW_SECONDS if runs.live else None
with right:
    st.fragment(show_weights, run_every=POLL_SECONDS if runs.live else None)(
        runs, polling=runs.live
    )
    if runs.every is None and not presenting():
        st.markdown(
            "Why does it keep that weight? Your prediction meets its result under “One change at a "
            "time”, further down: the changes are run there when you press the button."
        )
    try_this(
        CONTROLS,
        ("Weights need not sum to 1: does it go?", {"sum_to_one": False}),
        ("10,000 steps: does it go?", {"n_steps": 10_000}),
        ("Asking with its own row: what then?", {"question_table": "own to ask"}),
        ("Seen through its own row: what then?", {"question_table": "own to be looked at"}),
        ("Start three times larger: how much goes?", {"init_scale": 0.3}),
        ("The same, centred: does it come back?", {"init_scale": 0.3, "centred_start": True}),
    )

st.header("What does the question score with itself?", anchor=False)
st.markdown(
    "A row is a question about one key. Compare the two outlined entries: what it scores with the "
    "key part of its matching pair, and, in the last column, what it scores with itself."
)
st.fragment(show_scores, run_every=redraw)(runs)

st.header("What is left between the two?", anchor=False)
st.markdown(
    "The match's score is its key part plus its value part. The gap is the match's score less the "
    "question's; softmax gives the match exp(gap) times the question's weight."
)
st.fragment(show_gap, run_every=redraw)(runs)

st.header("Does it pass with more training?", anchor=False)
st.markdown(
    "Leaving the question out lowers the loss, so training does push the weight off it. But the "
    "gap, averaged over keys and values, is the mean query · the mean key vector of the values ÷ "
    "√d_k, and a small start has next to nothing of either: try an initial scale of 0.3, then the "
    "same start centred."
)
st.fragment(show_history, run_every=redraw)(runs)

st.header("One change at a time", anchor=False)
st.markdown(
    "If the question has its weight for being a copy of the match's key, what ends the copy must "
    "end the weight, and what leaves the copy, however alike it looks, must not."
)
n_runs = len(INTERVENTIONS) * n_seeds
st.button(
    f"Run all {len(INTERVENTIONS)} changes: {n_runs} runs",
    key="run_all_changes",
    on_click=partial(start_all, settings, n_seeds),
    disabled=runs.every is not None,
)
st.fragment(show_changes, run_every=POLL_SECONDS if runs.live_below else None)(
    runs, page.title, polling=runs.live_below
)

st.header("Is it an attention sink?", anchor=False)
st.markdown(
    "Large language models put much weight on their first tokens, whatever these say "
    f"({SINK_KEPT.source}; {SINK_SOFTMAX.source}). This head's question, too, hands over next to "
    "nothing and takes the weight when nothing matches. But it is looked at for its key: it can be "
    "left out, and it keeps its weight where none has to be put anywhere."
)
st.fragment(show_sinks, run_every=redraw or (POLL_SECONDS if runs.live_below else None))(runs)

show_limits(
    (
        f"One head, one layer, and {settings.n_keys + settings.n_values} symbols: keys and values. "
        "In a larger model several heads and the residual stream can do what this head has no room "
        "for.",
        "That a shared direction at the start drives the weight off is shown by taking it away, at "
        "an initial scale of 0.3, and where a table to ask with tips the split: in 3 of the seeds "
        "0 to 19 it leaves the question 33 to 43 %, and from a centred start the half.",
        "With weights that need not sum to 1, 9 of the seeds 0 to 19 stay below 99 % right answers "
        "in 3,000 steps.",
        "The figures on sinks are the papers' own, from other models and other tasks; they are "
        "beside this head's for the direction and not for the size.",
        "The article trained one head; its text gives no seed and no initial scale.",
    )
)
show_source(circuits, score_run)
close_page(page.path)
