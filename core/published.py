"""Published models: their sizes, their exact totals, and how both reconcile with the ledger.

``core/data/models.csv`` holds configurations and parameter totals of published checkpoints, and
``core/data/gpt3_table_2_1.csv`` table 2.1 of Brown et al. 2020, "Language Models are Few-Shot
Learners". Two rows of that table contradict themselves. They are shown as printed and flagged;
nothing is corrected.
"""

import csv
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from core.ledger import ModelConfig, count_parameters

DATA = Path(__file__).parent / "data"

PHRASES: tuple[tuple[str, dict[str, str | int | bool]], ...] = (
    ("LayerNorm with bias", {"norm": "layer norm with bias"}),
    ("RMSNorm", {"norm": "rms norm"}),
    ("biases everywhere", {"biases": "everywhere"}),
    ("q, k, v biases", {"biases": "q, k, v only"}),
    ("plain feed-forward", {"gated_feed_forward": False}),
    ("gated feed-forward", {"gated_feed_forward": True}),
    ("4 norms a layer", {"norms_per_layer": 4}),
    ("learned positions", {}),  # their number has a column of its own
)
"""What each phrase of the notes says in the fields of ModelConfig."""


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """A published configuration and the parameters its checkpoint holds."""

    config: ModelConfig
    total_parameters: int  # as published
    notes: str  # as in the file


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """A published total beside the ledger's count of the same model."""

    published: PublishedModel
    counted: int  # parameters, from the ledger

    @property
    def difference(self) -> int:
        """Counted minus published; 0 when the ledger has every matrix and no other."""
        return self.counted - self.published.total_parameters


@dataclass(frozen=True, kw_only=True)
class Gpt3Row:
    """One row of the GPT-3 paper's table 2.1, as printed."""

    model: str
    n_params_printed: str  # "125M", "1.3B": rounded, in millions or billions
    n_layers: int
    d_model: int
    n_heads: int
    d_head: int

    @property
    def heads_width(self) -> int:
        """``n_heads`` × ``d_head``: what the heads of one layer are wide together."""
        return self.n_heads * self.d_head

    @property
    def contradicts_itself(self) -> bool:
        """Whether the heads do not fill d_model, as they do in the rest of the table."""
        return self.heads_width != self.d_model

    @property
    def flag(self) -> str:
        """The contradiction in one line; empty for a row without one."""
        if not self.contradicts_itself:
            return ""
        return f"⚠ contradicts itself: {self.heads_width:,} is not {self.d_model:,}"

    @property
    def counted(self) -> int:
        """Parameters in the ledger of this row exactly as printed."""
        return count_parameters(self.config).total

    @property
    def config(self) -> ModelConfig:
        """The row as a configuration.

        The table leaves out what the paper's section 2.1 says in words: a feed-forward block of
        4 × d_model, 2,048 positions, and otherwise GPT-2's architecture, with its vocabulary.
        """
        return ModelConfig(
            model=self.model,
            n_layers=self.n_layers,
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_kv_heads=self.n_heads,
            d_head=self.d_head,
            d_ff=4 * self.d_model,
            n_vocab=50_257,
            n_context_learned=2048,
        )


@cache
def published_models() -> tuple[PublishedModel, ...]:
    """Read every row of models.csv, in its order."""
    return tuple(
        PublishedModel(
            config=config_from_row(row),
            total_parameters=int(row["total_parameters"]),
            notes=row["notes"],
        )
        for row in _rows(DATA / "models.csv")
    )


@cache
def reconciliations() -> tuple[Reconciliation, ...]:
    """Count every published model and set the count beside its published total."""
    return tuple(
        Reconciliation(published=published, counted=count_parameters(published.config).total)
        for published in published_models()
    )


def reconciliation_of(config: ModelConfig) -> Reconciliation | None:
    """Return the published model that has these sizes and habits, whatever its name; or None."""
    nameless = replace(config, model="")
    for reconciled in reconciliations():
        if replace(reconciled.published.config, model="") == nameless:
            return reconciled
    return None


@cache
def gpt3_table() -> tuple[Gpt3Row, ...]:
    """Read every row of gpt3_table_2_1.csv, in its order."""
    return tuple(
        Gpt3Row(
            model=row["model"],
            n_params_printed=row["n_params_printed"],
            n_layers=int(row["n_layers"]),
            d_model=int(row["d_model"]),
            n_heads=int(row["n_heads"]),
            d_head=int(row["d_head"]),
        )
        for row in _rows(DATA / "gpt3_table_2_1.csv")
    )


def gpt3_row_of(config: ModelConfig) -> Gpt3Row | None:
    """Return the row of the GPT-3 paper that has these sizes, whatever its name; or None."""
    nameless = replace(config, model="")
    return next((row for row in gpt3_table() if replace(row.config, model="") == nameless), None)


def config_from_row(row: dict[str, str]) -> ModelConfig:
    """Turn one row of models.csv into a configuration, its notes into fields of their own.

    Raises:
        ValueError: if the notes say something that `PHRASES` does not know, or a cell that should
            be yes or no, or a number, is neither.
    """
    if row["tied_embedding"] not in ("yes", "no"):
        raise ValueError(f"tied_embedding must be yes or no, got {row['tied_embedding']!r}")
    return ModelConfig(
        model=row["model"],
        n_layers=int(row["n_layers"]),
        d_model=int(row["d_model"]),
        n_heads=int(row["n_heads"]),
        n_kv_heads=int(row["n_kv_heads"]),
        d_head=int(row["d_head"]),
        d_ff=int(row["d_ff"]),
        n_vocab=int(row["n_vocab"]),
        tied_embedding=row["tied_embedding"] == "yes",
        n_context_learned=int(row["n_context_learned"] or 0),
        **_habits(row["notes"]),  # type: ignore[arg-type]
    )


def _habits(notes: str) -> dict[str, str | int | bool]:
    # Without a word about biases a checkpoint has none; the fields' own defaults are GPT-2's.
    habits: dict[str, str | int | bool] = {"biases": "none"}
    rest = notes
    for phrase, fields in PHRASES:
        if phrase in rest:
            habits |= fields
            rest = rest.replace(phrase, "")
    # A phrase skipped in silence would be a matrix left out of the count.
    if rest.strip(" ,;"):
        raise ValueError(
            f"notes must be made of {[phrase for phrase, _ in PHRASES]}, got {notes!r}"
        )
    return habits


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
