"""Pieces of the page on a model of one's own: its controls, the box for the file, the sections."""

from dataclasses import dataclass

import streamlit as st

from core.architectures import read_model
from core.architectures.tensors import Model
from core.charts import your_model as charts
from core.config_reader import ConfigError, as_text, read_config
from core.model_presets import Preset, preset, presets
from core.tables import token_cost as costs
from core.tables import your_model as tables
from pages.parts.controls import Choice, Slider, Switch, plain
from pages.parts.lesson import Choose
from pages.parts.present import presenting
from pages.parts.show import fold, show_chart, show_table

DEFAULT = "Llama-3.1-8B"
OWN = "your own config.json"

CONTROLS = (
    Choice(
        key="model",
        label="Model",
        options=(*(preset.name for preset in presets()), OWN),
        default=DEFAULT,
    ),
    Choice(
        key="model_context",
        label="Context (tokens)",
        options=costs.CONTEXTS,
        default=8192,
        kind="slider",
        help="How many tokens the next one looks at.",
    ),
    Slider(
        key="sequences",
        label="Sequences at once",
        low=1,
        high=costs.MOST_SEQUENCES,
        default=1,
        help="Each has a cache of its own; the weights are shared.",
    ),
    Switch(
        key="short_vectors",
        label="Short vectors (DeepSeek)",
        default=True,
        help="DeepSeek can keep one short vector of each token in place of keys and values. Other "
        "models cannot, and are not moved by this.",
    ),
)

PREDICTION = Choose(
    question="Llama-3.1-8B has four times as many parameters in feed-forward as in attention. But "
    "attention also looks back at every token. From which context on does the next token cost more "
    "in attention?",
    answers=(
        "From the first token on",
        "From about 500 tokens on",
        "From about 16,000 tokens on",
        "Never: feed-forward is four times as large",
    ),
)
WHY = (
    "A matrix costs the same for every token. Looking back costs more with each token there is to "
    "look at, until attention's matrices and looking back together cost as much as feed-forward. A "
    "window stops that: no more is looked at than fits into it."
)
CASES = (
    ("A window of 4,096: do the lines cross?", {"model": "Mistral-7B-v0.1"}),
    ("8 of 128 experts: who costs more?", {"model": "Qwen3-30B-A3B"}),
    ("DeepSeek with short vectors: how costly?", {"model": "DeepSeek-V3"}),
    ("Without them: how costly?", {"model": "DeepSeek-V3", "short_vectors": False}),
)
CACHE_CASES = (
    ("One key for 71 heads: how small a cache?", {"model": "Falcon-7B"}),
    ("DeepSeek's short vectors: how small?", {"model": "DeepSeek-V3"}),
    ("Without them: how large a cache?", {"model": "DeepSeek-V3", "short_vectors": False}),
    (
        "32 sequences of 131,072: what is larger?",
        {"model_context": 131_072, "sequences": 32},
    ),
)
LIMITS = (
    "Everything here is counted from sizes. No model runs, and no time is measured: a cache that "
    "has to be fetched from memory can cost more time than the multiply-adds on it.",
    "Not counted as work: norms, biases, softmax, rotary positions, activation functions, and "
    "picking the experts once the router has its scores.",
    "Not counted as cache: the scales that come with 8 and 4 bits, and what a program sets aside "
    "beyond what it needs.",
    "At work on a token is every parameter but those of the experts it is not sent to. Makers "
    "differ: some leave the table of tokens out.",
    "Totals are of the language model alone, without what some files hold besides: causal masks "
    "(GPT-2), a second copy of a table (Falcon-7B), layers that look further ahead (DeepSeek-V3).",
    "The article counts GPT-3, whose file is not published; the parameter ledger has it.",
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The model that is on the page, and where it is from."""

    name: str
    model: Model
    preset: Preset | None  # None for a file of the student's own


def draw_box() -> None:
    """Draw the box for a file of the student's own, which goes into no link."""
    if st.session_state.get("own_shown") and "model" not in {*st.session_state, *st.query_params}:
        # Back from another page, which let go of the choice: the file is still in the box.
        st.session_state["model"] = OWN
    if presenting():
        return
    with st.expander("Your own config.json"):
        st.caption(
            "On Hugging Face, a model's page has it under “Files and versions”. It is read for "
            "this visit, kept nowhere, and goes into no link."
        )
        st.text_area(
            "Your config.json",
            key="own_config",
            height=200,
            placeholder='{"model_type": "llama", "hidden_size": 4096, …}',
            on_change=_take_text,
            persist_state="session",
        )
        name = st.session_state.get("model", DEFAULT)
        st.button(
            f"Fill in the file of {DEFAULT if name == OWN else name}",
            key="fill_in",
            on_click=_fill_in,
            width="stretch",
        )
        st.file_uploader(
            "Or upload it", type=["json"], key="own_file", on_change=_take_file, max_upload_size=1
        )


def choose_model(name: str) -> Shown:
    """Return the chosen model; a sentence says why it is not the student's own, if it cannot be."""
    st.session_state["own_shown"] = name == OWN
    if name != OWN:
        found = preset(name)
        return Shown(name=name, model=found.model, preset=found)
    problem = st.session_state.get("own_problem")
    text = st.session_state.get("own_config") or ""
    if problem is None and not text.strip():
        st.info(f"Your own file goes into the box above. Until then, {DEFAULT} is shown.")
    elif problem is None:
        try:
            return Shown(name="Your model", model=read_model(read_config(text)), preset=None)
        except ConfigError as error:
            problem = str(error)
    if problem is not None:
        st.warning(plain(f"{problem} Until that is mended, {DEFAULT} is shown."))
    found = preset(DEFAULT)
    return Shown(name=DEFAULT, model=found.model, preset=found)


def show_parameters(shown: Shown) -> None:
    """Draw where the parameters are."""
    model = shown.model
    show_chart(
        charts.parameters,
        tables.picture_table(model),
        key="own_parameters",
        says=f"{tables.total_sentence(shown.name, model)} {tables.active_sentence(model)} "
        f"{tables.published_sentence(shown.preset, model)}",
        lines=3,
        alt_text="Bars: the whole model from 0 to 100 % of its parameters, and below it the "
        "embeddings, attention, feed-forward, and biases and norms, each where it lies in the "
        "whole and cut into its tensors. Experts a token is not sent to are faint.",
    )
    for note in model.notes:
        st.caption(plain(note))
    parts = tables.part_table(model)
    show_table(parts, key="own_parts", display=tables.part_table_in_words(parts))
    with fold("Every tensor, by its name in the weights", key="own_tensors") as unfolded:
        if unfolded:
            show_table(
                tables.tensor_table(model),
                key="own_tensors",
                formats=tables.TENSOR_FORMATS,
                height=400,
            )
    with fold("What was read from the file", key="own_fields") as unfolded:
        if unfolded:
            show_table(tables.field_table(model), key="own_fields", height=400)


def show_cache(model: Model, n: int, sequences: int, *, compressed: bool) -> None:
    """Draw what is kept of every token."""
    show_chart(
        charts.cache,
        costs.cache_points(model, n, sequences, compressed=compressed),
        *costs.cache_decades(model, compressed=compressed),
        key="own_cache",
        says=costs.cache_sentence(model, n, sequences, compressed=compressed),
        alt_text="Lines: the memory of the key–value cache at 16, 8 and 4 bits against the "
        "context, both axes logarithmic, beside a level line for the weights at 16 bits.",
    )
    table = costs.cache_table(model, n, sequences, compressed=compressed)
    show_table(table, key="own_cache", display=costs.cache_table_in_words(table))


def _take_text() -> None:
    """Show what was pasted. A text too long to read is dropped, or every run would send it."""
    st.session_state["own_problem"] = None
    text = st.session_state["own_config"] or ""
    try:
        as_text(text.encode(errors="replace"))
    except ConfigError as error:
        st.session_state["own_problem"] = str(error)
        st.session_state["own_config"] = ""
    if text.strip():
        st.session_state["model"] = OWN
    elif st.session_state.get("model") == OWN:
        st.session_state["model"] = DEFAULT


def _take_file() -> None:
    """Put the uploaded file into the box."""
    file = st.session_state["own_file"]
    if file is None:
        return
    st.session_state["own_problem"] = None
    try:
        st.session_state["own_config"] = as_text(file.getvalue())
    except ConfigError as error:
        st.session_state["own_problem"] = str(error)
    st.session_state["model"] = OWN


def _fill_in() -> None:
    """Put the file of the chosen model into the box, to be changed there."""
    name = st.session_state.get("model", DEFAULT)
    st.session_state["own_problem"] = None
    st.session_state["own_config"] = preset(DEFAULT if name == OWN else name).text
    st.session_state["model"] = OWN
