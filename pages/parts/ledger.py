"""The parameter ledger's controls, and starting them from a published model."""

from dataclasses import replace
from typing import Any

import streamlit as st

from core.gpt3_article import gpt3
from core.ledger import BIASES, NORMS, ModelConfig, nearest_kv_heads
from core.published import published_models
from pages.parts.controls import Choice, Slider, Switch, draw, set_controls, settings_or_none
from pages.parts.lesson import Choose
from pages.parts.present import shown

CONTROLS = (
    Slider(key="n_layers", label="Layers", low=1, high=128, default=96),
    Slider(
        key="d_model",
        label="Model width d_model (numbers)",
        low=64,
        high=16_384,
        default=12_288,
        step=64,
        help="How many numbers stand for a token between the layers.",
    ),
    Slider(key="n_heads", label="Heads", low=1, high=128, default=96),
    Slider(
        key="n_kv_heads",
        label="Key-value heads",
        low=1,
        high=128,
        default=96,
        help="Grouped-query attention: several heads share one key and value matrix. As many as "
        "heads means that none share.",
    ),
    Slider(
        key="d_head",
        label="Head size d_head (numbers)",
        low=8,
        high=256,
        default=128,
        step=8,
        help="How many numbers each head's query, key and value have.",
    ),
    Slider(
        key="d_ff",
        label="Feed-forward width d_ff (numbers)",
        low=64,
        high=65_536,
        default=49_152,
        step=64,
        help="How many numbers the feed-forward block works with in its middle.",
    ),
    Slider(
        key="n_vocab",
        label="Vocabulary (tokens)",
        low=1,
        high=262_144,
        default=50_257,
        help="The arrow keys move it by one.",
    ),
    Slider(
        key="n_context_learned",
        label="Learned positions (tokens)",
        low=0,
        high=8_192,
        default=2_048,
        step=64,
        help="0 for models whose positions are not learned, such as rotary ones.",
    ),
    Switch(
        key="tied_embedding",
        label="Tied embedding",
        default=True,
        help="One table both reads tokens in and scores them at the end; otherwise there are two.",
    ),
    Switch(
        key="gated_feed_forward",
        label="Gated feed-forward",
        default=False,
        help="Three matrices in place of two: the third, the gate, multiplies the middle.",
    ),
    Choice(key="biases", label="Biases", options=BIASES, default=BIASES[0]),
    Choice(
        key="norm",
        label="Norm",
        options=NORMS,
        default=NORMS[0],
        help="A layer norm learns a scale and a shift, an RMS norm a scale alone.",
    ),
    Slider(key="norms_per_layer", label="Norms in a layer", low=0, high=4, default=2),
    Switch(key="final_norm", label="Norm after the last layer", default=True),
)


PREDICTION = Choose(
    question="How much of GPT-3, counted in parameters, is attention?",
    answers=("About a tenth", "About a third", "About half", "About two thirds"),
)


def cases() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the telling cases: each a question, and the sizes that answer it."""
    return (
        ("Llama-3-70B: what does sharing save?", _sizes(_starts()["Llama-3-70B"])),
        ("GPT-2 small: is it a third again?", _sizes(_starts()["GPT-2 small"])),
        ("Vocabulary times five: still a third?", {"n_vocab": 5 * gpt3().n_vocab}),
    )


def choose_sizes() -> tuple[dict[str, Any], ModelConfig | None]:
    """Draw the controls and, above them, the published model whose sizes they hold, if any.

    Returns:
        What the controls hold, and the model they make; None, with a sentence, if they make none.
    """
    above = st.container()
    values = draw(CONTROLS)
    fitting = nearest_kv_heads(values["n_heads"], values["n_kv_heads"])
    if fitting != values["n_kv_heads"]:
        st.info(
            f"“Key-value heads” must divide “Heads” ({values['n_heads']}), so that every group "
            f"shares one. You chose {values['n_kv_heads']}; {fitting} is used."
        )
    values["n_kv_heads"] = fitting
    config = settings_or_none(ModelConfig, CONTROLS, values)
    if config is None:
        return values, None
    with above:
        return values, _draw_start(config)


def _draw_start(config: ModelConfig) -> ModelConfig:
    """Draw the choice of a model, showing the one that has these sizes; return it by its name."""
    starts = _starts()
    names = {_nameless(start): name for name, start in starts.items()}
    name = names.get(_nameless(config))
    named = replace(config, model=name or config.model)
    if not shown("start"):
        return named
    st.session_state["start"] = name
    st.selectbox(
        "Start from a published model",
        list(starts),
        key="start",
        index=None,
        placeholder="Your own sizes",
        on_change=_take_sizes,
    )
    return named


def _take_sizes() -> None:
    name = st.session_state["start"]
    set_controls(CONTROLS, _sizes(_starts()[name] if name else gpt3()))


def _sizes(config: ModelConfig) -> dict[str, Any]:
    return {control.key: getattr(config, control.key) for control in CONTROLS}


def _starts() -> dict[str, ModelConfig]:
    configs = [gpt3(), *(published.config for published in published_models())]
    return {config.model: config for config in configs}


def _nameless(config: ModelConfig) -> ModelConfig:
    return replace(config, model="")
