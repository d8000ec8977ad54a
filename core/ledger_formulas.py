"""The ledger again as one closed formula for each part, to be held against the count.

`core.ledger` lists matrices and adds them up; here each part is a single product worked out by
hand. Two routes to one number: a slip in either shows as a difference.
"""

import re
from dataclasses import dataclass

from core.ledger import PARTS, ModelConfig


@dataclass(frozen=True, kw_only=True)
class PartFormula:
    """One part's formula in names, in numbers, and what it comes to."""

    part: str  # one of core.ledger.PARTS
    formula: str  # in the names of ModelConfig
    in_numbers: str  # the same with this model's sizes
    value: int  # parameters


def part_formulas(config: ModelConfig) -> tuple[PartFormula, ...]:
    """Work out every part of `PARTS` from its formula.

    >>> gpt3 = ModelConfig(n_layers=96, d_model=12288, n_heads=96, n_kv_heads=96, d_head=128,
    ...                    d_ff=49152, n_vocab=50257, n_context_learned=2048)
    >>> attention = part_formulas(gpt3)[1]
    >>> attention.formula
    'n_layers × d_model × d_head × 2 × (n_heads + n_kv_heads)'
    >>> attention.in_numbers, attention.value
    ('96 × 12,288 × 128 × 2 × (96 + 96)', 57982058496)
    """
    c, written = config, _written(config)
    n_context = c.n_context_learned or 0
    tables = 1 if c.tied_embedding else 2
    feed_forward_matrices = 3 if c.gated_feed_forward else 2
    feed_forward_biases = feed_forward_matrices - 1
    norm_vectors = 2 if c.norm == "layer norm with bias" else 1
    bias_lengths = {
        "everywhere": c.d_head * (c.n_heads + 2 * c.n_kv_heads)
        + 2 * c.d_model
        + feed_forward_biases * c.d_ff,
        "q, k, v only": c.d_head * (c.n_heads + 2 * c.n_kv_heads),
        "none": 0,
    }
    values = {
        "embeddings": (tables * c.n_vocab + n_context) * c.d_model,
        "attention": c.n_layers * c.d_model * c.d_head * 2 * (c.n_heads + c.n_kv_heads),
        "feed-forward": c.n_layers * feed_forward_matrices * c.d_model * c.d_ff,
        "biases": c.n_layers * bias_lengths[c.biases],
        "norms": (c.n_layers * c.norms_per_layer + int(c.final_norm)) * norm_vectors * c.d_model,
    }
    return tuple(
        PartFormula(
            part=part,
            formula=written[part],
            in_numbers=_in_numbers(written[part], config),
            value=values[part],
        )
        for part in PARTS
    )


def _written(c: ModelConfig) -> dict[str, str]:
    """Return each part's formula in words, with this model's habits already put in."""
    table = "n_vocab" if c.tied_embedding else "2 × n_vocab"
    rows = f"({table} + n_context_learned)" if c.n_context_learned else table
    matrices = 3 if c.gated_feed_forward else 2
    inputs = "d_head × (n_heads + 2 × n_kv_heads)"
    middle = "2 × d_ff" if c.gated_feed_forward else "d_ff"
    norms = f"n_layers × {c.norms_per_layer}"
    vectors = "2 × d_model" if c.norm == "layer norm with bias" else "d_model"
    return {
        "embeddings": f"{rows} × d_model",
        "attention": "n_layers × d_model × d_head × 2 × (n_heads + n_kv_heads)",
        "feed-forward": f"n_layers × {matrices} × d_model × d_ff",
        "biases": {
            "everywhere": f"n_layers × ({inputs} + 2 × d_model + {middle})",
            "q, k, v only": f"n_layers × {inputs}",
            "none": "0",
        }[c.biases],
        "norms": f"({norms} + 1) × {vectors}" if c.final_norm else f"{norms} × {vectors}",
    }


def _in_numbers(formula: str, config: ModelConfig) -> str:
    return re.sub(r"[nd]_\w+", lambda name: f"{getattr(config, name[0]):,}", formula)
