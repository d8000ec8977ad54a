"""Families of models: each turns a config.json into the list of its tensors."""

from collections.abc import Callable
from dataclasses import replace

from core.architectures import deepseek, experts, falcon, gpt, llama, phi
from core.architectures.tensors import Model, checked
from core.config_reader import ConfigError, Fields, shown

LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")

FAMILIES: dict[str, Callable[[Fields], Model]] = {
    "gpt2": gpt.gpt2,
    "gpt_neox": gpt.gpt_neox,
    "falcon": falcon.falcon,
    "phi": phi.phi,
    "phi3": phi.phi3,
    "llama": llama.llama,
    "mistral": llama.mistral,
    "qwen2": llama.qwen2,
    "qwen3": llama.qwen3,
    "gemma": llama.gemma,
    "gemma2": llama.gemma2,
    "mixtral": experts.mixtral,
    "qwen2_moe": experts.qwen2_moe,
    "qwen3_moe": experts.qwen3_moe,
    "deepseek_v2": deepseek.deepseek_v2,
    "deepseek_v3": deepseek.deepseek_v3,
}
"""What builds the tensors, for each ``model_type`` of a config.json."""


def read_model(fields: Fields) -> Model:
    """List the tensors of the model that a config.json describes.

    Raises:
        ConfigError: if the architecture is unknown, or a field is missing or unfit.
    """
    if fields.has("text_config"):
        raise ConfigError(
            "This config.json describes a model of several parts. Its language model stands under "
            "text_config: give that object alone."
        )
    kind = fields.text("model_type")
    if kind not in FAMILIES:
        raise ConfigError(
            f"model_type must be one of {', '.join(FAMILIES)}, got {shown(kind)}: this page does "
            "not know that architecture."
        )
    model = FAMILIES[kind](fields)
    notes = (*model.notes, *_notes(fields))
    return checked(replace(model, model_type=kind, fields=tuple(fields.read), notes=notes))


def _notes(fields: Fields) -> list[str]:
    """Say what the file holds that the count leaves out."""
    notes = []
    if fields.has("quantization_config"):
        notes.append(
            "quantization_config: the weights are counted as if unpacked, without the scales that "
            "come with packed ones."
        )
    architectures = fields.items("architectures") or []
    other = [name for name in architectures if not str(name).endswith(LANGUAGE_MODELS)]
    if other:
        notes.append(
            f"architectures names {shown(other[0])}: what is counted is the language model, with "
            "scores for the next token."
        )
    return notes
