"""Does it scale? More pairs than d_k, longer sequences, more keys: a map, and any cell again."""

from typing import Any

import streamlit as st

from core.charts import scale as charts
from core.circle_head import circle_head
from core.recall_at_scale import (
    KEYS_PER_PAIR,
    PAIRS,
    WIDTHS,
    ScaleSettings,
    cell_runs,
    run_steps,
    score_at_scale,
)
from core.recall_map import N_SEEDS
from core.tables import scale as tables
from core.tables import scale_findings as findings
from core.training import train_pieces
from core.training_run import TrainingRun
from pages import close_page, open_page
from pages.parts import scale as parts
from pages.parts.controls import AnyControl, Choice, Slider, draw, settings_or_none
from pages.parts.glossary import introduce
from pages.parts.html_table import steady
from pages.parts.lesson import Choose, ask, compare, seen, try_this
from pages.parts.moving import draw_moving, paint_first
from pages.parts.present import side_by_side
from pages.parts.series import POLL_SECONDS, followed, start
from pages.parts.show import fold, show_chart, show_limits, show_source, show_table

CELL = (
    Choice(key="n_pairs", label="Pairs in a sequence", options=PAIRS, default=16, kind="slider"),
    Choice(key="d_k", label="d_k (numbers in a query)", options=WIDTHS, default=4, kind="slider"),
    Choice(
        key="keys_per_pair",
        label="Different keys for each pair",
        options=KEYS_PER_PAIR,
        default=2,
        kind="radio",
        help="The keys to draw from: this many times the pairs of a sequence.",
    ),
)
TRAINING = (
    Slider(key="n_steps", label="Steps", low=100, high=10_000, default=3000, step=100),
    Choice(
        key="learning_rate",
        label="Learning rate (no unit)",
        options=(0.0003, 0.001, 0.003, 0.01, 0.03, 0.1),
        default=0.003,
        kind="slider",
    ),
    Slider(key="d_model", label="d_model (numbers in an embedding)", low=1, high=128, default=64),
    Slider(key="seed", label="Seed", low=0, high=99, default=0, help="The first of the seeds."),
)
CONTROLS: tuple[AnyControl, ...] = (
    *CELL,
    Choice(
        key="shows",
        label="The map shows",
        options=tuple(tables.SHOWN),
        default="accuracy",
        kind="radio",
        help="How often the answer is right, or how often the asked key's pair has the highest "
        "weight of all pairs.",
    ),
    *TRAINING,
    Slider(key="n_seeds", label="Seeds (runs of the cell)", low=1, high=5, default=N_SEEDS),
)

WHY = (
    "A query has to fit its own key's vector better than the others'. The vectors need not be "
    "unrelated for that, and d_k numbers have room for many more directions than d_k."
)

PREDICTION = Choose(
    question="128 keys, and a sequence holds 64 of them, each with a value. How many numbers must "
    "a query have before the trained head answers 99 % right?",
    answers=(
        "128: one for each key",
        "64: one for each pair in the sequence",
        "Between 4 and 16",
        "2 are enough",
    ),
)

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("64 pairs, d_k = 8: does it still answer?", {"n_pairs": 64, "d_k": 8}),
    ("A query of one number: what stops it?", {"n_pairs": 4, "d_k": 1}),
    ("d_k too small, or too few steps?", {"n_pairs": 32, "d_k": 4, "n_steps": 10_000}),
    ("Run it with d_model = 4: how far now?", {"n_pairs": 16, "d_k": 16, "d_model": 4}),
)


def follow(title: str) -> None:
    """Draw the controls and everything that depends on them."""
    left, right = side_by_side()
    with left:
        values = draw(CONTROLS, first=4)
        training = {control.key: values[control.key] for control in TRAINING}
        task = settings_or_none(ScaleSettings, CONTROLS, training)
        if task is None:
            return
    with right:
        waiting = ask(title, PREDICTION, CONTROLS, values)
    if waiting:
        return
    with right:
        show_cell(task, values, title)
    show_lines(values)


def show_cell(task: ScaleSettings, values: dict[str, Any], title: str) -> None:
    """Draw the map and the chosen cell, as it was measured and as it is run here."""
    n_pairs, d_k, keys_per_pair = (values[control.key] for control in CELL)
    runs = cell_runs(task, n_pairs, d_k, keys_per_pair, values["n_seeds"])
    if parts.wanted():
        start(parts.CELL, runs, run_steps)
    series = followed(parts.CELL, lambda kept: kept.settings == runs)
    live = series is not None and series.live
    parts.show_map(values, CONTROLS)
    paint_first()
    steady(tables.beside_sentence(keys_per_pair, (n_pairs, d_k)))
    compare(title, findings.result_sentence(), WHY)
    st.button(
        "Run this cell on this server",
        key="run_cell",
        on_click=start,
        args=(parts.CELL, runs, run_steps),
        width="stretch",
    )
    st.fragment(parts.show_cell, run_every=POLL_SECONDS if live else None)(
        series, runs, polling=live
    )
    try_this(CONTROLS, *CASES)


def show_lines(values: dict[str, Any]) -> None:
    """Draw the map as lines."""
    n_pairs, keys_per_pair = values["n_pairs"], values["keys_per_pair"]
    st.header("How small may d_k be?", anchor=False)
    st.markdown(
        "The same map as lines: one for each number of pairs, yours in colour, its bar from the "
        "lowest to the highest seed. The table lists the smallest d_k on the map from which on all "
        "seeds reach 99 %."
    )
    show_chart(
        charts.by_width,
        tables.by_width(keys_per_pair, n_pairs),
        key="by_width",
        says=f"In colour: {n_pairs} pairs of {keys_per_pair * n_pairs} keys.",
        alt_text="Lines: mean accuracy over d_k for each number of pairs, with chance and the "
        "ceiling for equal weights.",
    )


page = open_page("pages/scale.py")
introduce(
    "The recall task again: pairs of a key and a value, then one of the keys. Now with up to 64 "
    "pairs, 256 keys, and as little as one number in a query. The map is a measured series "
    "that comes with the app; click a cell to train it again here.",
    *("pair, key, value", "query, q, Q", "key vector, k, K", "value vector, v, V", "score"),
    *("weight", "accuracy", "chance", "ceiling", "d_k", "embedding", "d_model", "seed"),
    *("learning rate", "Adam, SGD"),
)
draw_moving(follow, page.title)
if page.title not in seen():
    close_page(page.path)
    st.stop()

smallest = findings.smallest_widths()
show_table(smallest, key="smallest", display=findings.smallest_widths_in_words(smallest))
st.markdown("\n".join(f"- {line}" for line in findings.findings()))

st.header("Out of room, or not found?", anchor=False)
st.markdown(
    "A head with two numbers in a query, its matrices written down by hand: the keys "
    "lie evenly on a circle, and each fits itself best. It answers the sequences that the trained "
    "heads of seed 0 were scored on."
)
written = parts.written_down(ScaleSettings().n_values)
show_table(written, key="written_down", display=findings.written_down_in_words(written))
st.markdown(findings.written_down_sentence(written))

st.header("Too narrow, or too few steps?", anchor=False)
st.markdown(
    "Part of the map again with 10,000 steps instead of 3,000: mean accuracy of three seeds after "
    "few steps → after many."
)
longer = findings.longer_runs()
show_table(longer, key="longer_runs", display=findings.longer_grid(longer))
st.markdown(findings.longer_sentence(longer))

with fold("The map and all runs of its series as tables", key="recall_map") as unfolded:
    if unfolded:
        show_table(tables.map_grid(), key="recall_map", height=230)
        show_table(tables.run_list(), key="recall_at_scale", height=300)

st.header("What others measured", anchor=False)
st.markdown(
    "Arora et al. 2023 (“Zoology”) train small language models on a recall task with several "
    "questions, 4 to 64 pairs in 64 to 512 tokens, and 8,192 different tokens. As sequences grow, "
    "models of gated convolutions need more width; attention does not. Here one head agrees, "
    "as far as 64 pairs and 256 keys reach."
)

show_limits(
    (
        "One head, one layer, no positions: a pair is one token here. In Zoology key and value are "
        "two tokens and several questions are asked, of models with two layers.",
        "At most 64 pairs and 256 keys, where Zoology has thousands of tokens to tell apart.",
        "One optimiser and one learning rate for every cell. A cell below 99 % may need more steps "
        "or another rate: it shows what this training found, not what is possible.",
        "d_k is also the number of numbers in a value vector here. With d_k = 1 the values are in "
        "each other's way, too; “match on top” looks at the keys alone.",
        "No recurrent model was trained, so the comparison with those is Zoology's, not this "
        "page's.",
        findings.machine_sentence(),
    )
)
show_source(train_pieces, TrainingRun, score_at_scale, circle_head)
close_page(page.path)
