"""A model read from its config.json, as frames: where its parameters are, what its file said."""

import pandas as pd

from core.architectures.tensors import Model, Tensor
from core.config_reader import shown
from core.ledger import PARTS
from core.model_presets import Preset
from core.tables.counts import count_of
from core.tables.ledger import PICTURE_PARTS, PICTURE_ROWS, count_in_words, in_words, share_in_words
from core.tables.numbers import fixed
from core.tables.text import text_table

AT_WORK, IDLE = "at work on a token", "experts a token is not sent to"


def part_table(model: Model) -> pd.DataFrame:
    """Return one row for each part of the ledger, and the total: all, and at work on a token."""
    rows = [(part, model.part(part), model.active_part(part)) for part in PARTS]
    rows.append(("total", model.total, model.active))
    return pd.DataFrame(
        [
            {
                "Part": part,
                "Parameters": total,
                "Share of all (%)": 100 * total / model.total,
                "At work on a token (parameters)": active,
                "Share of those at work (%)": 100 * active / model.active,
            }
            for part, total, active in rows
        ]
    )


def part_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the parts as text."""
    return text_table(
        {
            "Part": frame["Part"],
            "Parameters": map(count_in_words, frame["Parameters"]),
            "Share of all": map(share_in_words, frame["Share of all (%)"]),
            "At work on a token": map(count_in_words, frame["At work on a token (parameters)"]),
            "Share of those": map(share_in_words, frame["Share of those at work (%)"]),
        }
    )


def tensor_table(model: Model) -> pd.DataFrame:
    """Return one row for each kind of tensor, named as in a published checkpoint."""
    return pd.DataFrame(
        [
            {
                "Part": tensor.part,
                "Tensor": tensor.meaning,
                "Name in the weights": tensor.name,
                "Shape": " × ".join(f"{size:,}" for size in tensor.shape),
                "Layers": tensor.n_layers,
                "Experts in a layer": tensor.n_experts,
                "Experts at work": tensor.n_used,
                "Parameters": tensor.total,
                "At work on a token (parameters)": tensor.active,
                "Share of all (%)": 100 * tensor.total / model.total,
            }
            for tensor in model.tensors
        ]
    ).astype({"Layers": "Int64"})  # empty outside the layers, without turning to floats


TENSOR_FORMATS = {"Share of all (%)": "%.3f"}


def picture_table(model: Model) -> pd.DataFrame:
    """Return the picture's bars: each tensor once in its part's row, each part in the top row.

    As in the ledger of GPT-3, ``Start`` and ``End`` are the shares before and after a bar. Experts
    make two bars: those that work on a token, and the others.
    """
    top, below, done = [], [], 0
    for part in PICTURE_ROWS[1:]:
        tensors = [tensor for tensor in model.tensors if PICTURE_PARTS[tensor.part] == part]
        row = _row_words(part, sum(tensor.total for tensor in tensors), model.total)
        whole = _row_words(PICTURE_ROWS[0], model.total, model.total)
        pieces = _pieces(tensors)
        start = done
        for name, work, size in pieces:
            below.append(_bar(row, part, name, work, done, done + size, model.total))
            done += size
        for work in (AT_WORK, IDLE):
            size = sum(size for _, kind, size in pieces if kind == work)
            if size:
                top.append(_bar(whole, part, part, work, start, start + size, model.total))
                start += size
    return pd.DataFrame(top + below)


def _pieces(tensors: list[Tensor]) -> list[tuple[str, str, int]]:
    """Return name, kind and size of each bar: what is at work first."""
    at_work = [(tensor.meaning, AT_WORK, tensor.active) for tensor in tensors]
    idle = [(tensor.meaning, IDLE, tensor.total - tensor.active) for tensor in tensors]
    return at_work + [piece for piece in idle if piece[2]]


def _row_words(row: str, size: int, total: int) -> str:
    return f"{row.capitalize()}: {share_in_words(100 * size / total)}, {in_words(size)}"


def _bar(
    row: str, part: str, name: str, work: str, start: int, end: int, total: int
) -> dict[str, object]:
    return {
        "Row": row,
        "Part": part,
        "Tensor": name,
        "Kind": work,
        "Parameters": end - start,
        "Share (%)": 100 * (end - start) / total,
        "Start (%)": 100 * start / total,
        "End (%)": 100 * end / total,
    }


def total_sentence(name: str, model: Model) -> str:
    """Say how many parameters there are, and attention's share of them."""
    attention = model.part("attention")
    return (
        f"{name}: {model.total:,} parameters ({in_words(model.total)}). Attention's matrices have "
        f"{attention:,} of them, {share_in_words(100 * attention / model.total)}."
    )


def active_sentence(model: Model) -> str:
    """Say how many parameters work on a token."""
    if not model.has_experts:
        return "It has no experts, so every parameter works on every token."
    attention = model.active_part("attention")
    expert = next(tensor for tensor in model.tensors if tensor.n_experts > 1)
    return (
        f"A token is sent to {expert.n_used:,} of {expert.n_experts:,} experts in a layer, so "
        f"{model.active:,} ({in_words(model.active)}, "
        f"{share_in_words(100 * model.active / model.total)}) work on it. Of those, attention has "
        f"{share_in_words(100 * attention / model.active)}."
    )


def published_sentence(preset: Preset | None, model: Model) -> str:
    """Say how the count compares with the published total, if there is one."""
    if preset is None:
        return "For a file of your own, no published total is at hand to compare with."
    difference = model.total - preset.total_parameters
    reason = f": {preset.difference}" if preset.difference else ""
    printed = (
        f" Active, as its makers print it: {preset.active_printed}."
        if preset.active_printed
        else ""
    )
    return (
        f"Published: {preset.total_parameters:,}. Difference of the count: "
        f"{fixed(difference, 0)}{reason}."
        f"{printed}"
    )


def published_table(presets: tuple[Preset, ...]) -> pd.DataFrame:
    """Return every preset's count beside its published total."""
    return pd.DataFrame([_published_row(preset, preset.model) for preset in presets])


PUBLISHED_FORMATS = {"Attention (%)": "%.1f"}


def _published_row(preset: Preset, model: Model) -> dict[str, object]:
    return {
        "Model": preset.name,
        "Counted (parameters)": model.total,
        "Published (parameters)": preset.total_parameters,
        "Difference (parameters)": model.total - preset.total_parameters,
        "Attention (%)": 100 * model.part("attention") / model.total,
        "At work on a token (parameters)": model.active,
        "As printed": preset.active_printed,
        "Source": preset.source,
        "Why they differ": preset.difference,
    }


def reconciliation_sentence(presets: tuple[Preset, ...]) -> str:
    """Say how many presets come out to the parameter, and why the others do not."""
    checked = [(preset, preset.model.total - preset.total_parameters) for preset in presets]
    exact = sum(difference == 0 for _, difference in checked)
    others = [
        f"{preset.name} differs by {fixed(difference, 0)}: {preset.difference}."
        for preset, difference in checked
        if difference
    ]
    return " ".join([f"{exact} of {len(checked)} come out to the parameter.", *others])


def field_table(model: Model) -> pd.DataFrame:
    """Return every field that was read, its value, and where the value is from."""
    return pd.DataFrame(
        [
            {
                "Field": name,
                "Value": _value(value),
                "From": _origin(value, from_file=from_file),
            }
            for name, value, from_file in model.fields
        ]
    )


def _origin(value: object, *, from_file: bool) -> str:
    if from_file:
        return "the file"
    # Without a value of its own, the family's rule stands, such as as many as there are heads.
    return "left out: the family's rule" if value is None else "left out: transformers' default"


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    return shown(value).removeprefix("the text ")


def size_sentence(model: Model) -> str:
    """Say the sizes that decide what follows."""
    looking = model.looking
    shared = (
        count_of(looking.n_kv_heads, "key–value head")
        if looking.n_kv_heads != looking.n_heads
        else "as many key–value heads"
    )
    context = "" if model.n_context is None else f", made for {model.n_context:,} tokens"
    layers, heads = count_of(model.n_layers, "layer"), count_of(looking.n_heads, "head")
    return (
        f"{model.model_type}: {layers}, {model.d_model:,} numbers a token, "
        f"{heads} of {looking.d_key:,}, {shared}, {model.n_vocab:,} tokens in "
        f"the vocabulary{context}."
    )
