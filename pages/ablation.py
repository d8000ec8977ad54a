"""How good is the answer when attention is taken away? Take parts of the head away, and see."""

from functools import partial

import streamlit as st

from core.ablation import ceiling_cases, uniform_ceiling
from core.ablation_runs import AblationSettings, cell_run, map_runs, run_steps
from core.ablation_scores import score_run
from core.tables import ablation as tables
from core.tables import ceiling as ceilings
from core.tables.counts import count_of
from core.training import VARIANTS, TrainSettings
from pages import close_page, open_page
from pages.parts.ablation import show_cases, show_findings, show_map, show_runs, show_sampling
from pages.parts.ablation_series import (
    POLL_SECONDS,
    REDRAW_SECONDS,
    follow,
    followed,
    remember,
    remembered,
    start,
)
from pages.parts.controls import (
    AnyControl,
    Choice,
    Slider,
    Switch,
    draw,
    keep_at_most,
    settings_from,
)
from pages.parts.glossary import introduce
from pages.parts.lesson import Choose, ask, try_this
from pages.parts.present import side_by_side
from pages.parts.show import fold, show_limits, show_source, show_table

WHICH = tuple(
    Switch(
        key=variant,
        label=tables.LABELS[variant],
        default=True,
        help=f"Taken away: {tables.TAKEN_AWAY[variant]} {tables.ASKS[variant]}",
    )
    for variant in VARIANTS
)
HOW_OFTEN = Slider(
    key="n_seeds",
    label="Seeds (runs of each variant)",
    low=1,
    high=20,
    default=5,
    help="A seed fixes the random start, the training batches and the test sequences.",
)
TASK = (
    Slider(key="n_pairs", label="Pairs in a sequence", low=1, high=16, default=3),
    Slider(key="n_values", label="Different values", low=2, high=32, default=8),
    Slider(key="n_keys", label="Different keys", low=2, high=32, default=8),
    Slider(key="n_steps", label="Steps", low=100, high=10_000, default=3000, step=100),
    Slider(key="d_model", label="d_model (numbers in an embedding)", low=1, high=128, default=32),
    Slider(key="d_k", label="d_k (numbers in a query or key vector)", low=1, high=128, default=32),
    Choice(
        key="learning_rate",
        label="Learning rate (no unit)",
        options=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        default=0.01,
        kind="slider",
    ),
    Choice(key="optimiser", label="Optimiser", options=("adam", "sgd"), default="adam"),
    Choice(
        key="init_scale",
        label="Initial scale",
        options=(0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        default=0.1,
        kind="slider",
        help="Standard deviation of the random start.",
    ),
    Slider(key="seed", label="Seed", low=0, high=99, default=0, help="The first of the seeds."),
)
CONTROLS: tuple[AnyControl, ...] = (*TASK[:2], HOW_OFTEN, *WHICH, *TASK[2:])
MAP = "ablation_map"  # the name of the series that measures cells of the map

PREDICTION = Choose(
    question="W_Q and W_K decide where a head looks. Let them keep the random numbers they start "
    "with and never be trained; everything else is. How often is the answer right in the end?",
    answers=(
        "No more often than by blind guessing",
        "As often as when every position gets the same weight",
        "More often than that, but far from always",
        "Always, or nearly: the rest makes up for it",
    ),
)

page = open_page("pages/ablation.py")
introduce(
    "A sequence holds pairs of a key and a value, then one of its keys again. One attention head "
    "learns to answer with that key's value. Here it is trained with a part taken away, on the "
    "same sequences and from the same start.",
    "pair, key, value",
    "key vector, k, K",
    "value vector, v, V",
    "W_Q, W_K, W_V",
    "score",
    "weight",
    "accuracy",
    "chance",
    "ceiling",
    "standard error",
    "seed",
    "embedding",
    "d_model",
    "d_k",
    "learning rate",
    "Adam, SGD",
)

left, right = side_by_side()
with left:
    values = draw(CONTROLS, first=8)
    values = keep_at_most(values, CONTROLS, "n_pairs", values["n_keys"])
    task = settings_from(TrainSettings, CONTROLS, {c.key: values[c.key] for c in TASK})
    settings = settings_from(
        partial(AblationSettings, train=task, variants=tuple(v for v in VARIANTS if values[v])),
        CONTROLS,
        {"n_seeds": values["n_seeds"]},
    )

series = follow("ablation_series", settings.runs)  # while the visitor still predicts
remember(series.runs)
with right:
    waiting = ask(page.title, PREDICTION, CONTROLS, values)
if waiting:
    close_page(page.path)
    st.stop()

every, seldom = (POLL_SECONDS, REDRAW_SECONDS) if series.live else (None, None)
with right:
    st.fragment(show_runs, run_every=every)(series, settings, page.title, polling=series.live)

st.header("What each part is for", anchor=False)
st.fragment(show_findings, run_every=seldom)(series, settings)
try_this(
    CONTROLS,
    ("300 steps: which one is late?", {"n_steps": 300}),
    ("Two values: how far does uniform get?", {"n_values": 2}),
    ("d_k = 1: which can still tell eight keys apart?", {"d_k": 1}),
    ("A start ten times larger: which still works?", {"init_scale": 1.0}),
)

st.header("Why uniform stops where it stops", anchor=False)
st.markdown(
    "With equal scores the output is the average over all positions. Deal the values out to the "
    "keys anew, and the average stays the same: it shows which values are there, and not which "
    "key each belongs to. So each pair is equally likely to be the one asked for. A value that m "
    "of the n pairs share is the answer m times in n, and no guess beats the most repeated value."
)
st.markdown(ceilings.counting_sentence(task.n_pairs, task.n_values))
st.code(
    f"ceiling = {ceilings.ceiling_sum(task.n_pairs, task.n_values)}", language=None, wrap_lines=True
)
st.fragment(show_cases, run_every=seldom)(series, settings)

st.header("Above the ceiling, or sampling?", anchor=False)
st.markdown(
    "Every score is a sample. The best strategy names the most repeated value, and the smallest of "
    "them in a tie; it answered the very sequences the uniform head was tested on."
)
st.fragment(show_sampling, run_every=seldom)(series, settings)

st.header("The ceiling for any task", anchor=False)
st.markdown(
    "What lowers the ceiling faster: more pairs, or more values? Each cell is counted exactly. A "
    "dot is the measured accuracy of a uniform head, on the same colours: where it vanishes, the "
    "head reaches the ceiling. Your pairs and values are outlined."
)
one, many = st.columns(2)
one.button(
    f"Measure this cell: {count_of(task.n_pairs, 'pair')}, {count_of(task.n_values, 'value')}",
    key="measure_cell",
    on_click=start,
    args=(MAP, (cell_run(task),)),
    width="stretch",
)
many.button(
    f"Measure {len(map_runs(task))} cells across the map",
    key="measure_map",
    on_click=start,
    args=(MAP, map_runs(task)),
    width="stretch",
)
measuring = followed(MAP, task)
st.fragment(show_map, run_every=POLL_SECONDS if measuring and measuring.live else seldom)(
    measuring, settings, polling=measuring is not None and measuring.live
)
with fold("The measured cells, and all runs, as tables", key="measured_cells") as unfolded:
    if unfolded:
        show_table(ceilings.measured_cells(remembered(task)), key="measured_cells", height=300)
        show_table(tables.run_list(series.runs), key="runs", height=300)

show_limits(
    (
        "One head, one layer, and a task without word order. Heads of a large model may use their "
        "scores for something else.",
        "The ceiling is for equal attention. Attention that is fixed but unequal is not bound by "
        "it.",
        "A uniform head can also stay below its ceiling: with few steps, or with a d_k of 1 or 2.",
        "“Frozen” freezes W_Q and W_K. The embeddings go on training, and the scores with them.",
        "The article trained each of its two models once; its text gives no seed.",
    )
)
show_source(uniform_ceiling, ceiling_cases, run_steps, score_run)
close_page(page.path)
