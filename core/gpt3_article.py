"""GPT-3 as the article counts it: from one matrix of one head to a share of the whole model.

A share needs its total named. The paper prints 175.0 billion for this model; the ledger, with the
paper's sizes and GPT-2's habits, counts 174,604,259,328. The same 57,982,058,496 attention
parameters are 33.13 % of the first and 33.21 % of the second.
"""

from dataclasses import dataclass, replace
from functools import cache

from core import reported
from core.ledger import ModelConfig, count_parameters
from core.published import gpt3_table
from core.reported import Reported

PRINTED_TOTAL = 175_000_000_000
"""GPT-3's parameters as table 2.1 of Brown et al. 2020 prints them: 175.0 billion, rounded."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the article's arithmetic, computed here, beside the value it gives."""

    quantity: str
    arithmetic: str  # with the sizes put in
    computed: float  # in the unit of the article's value
    article: Reported
    rounding: float  # how far the article's own rounding may put its value from the computed one

    @property
    def agrees(self) -> bool:
        """Whether the computed value is the article's to every digit the article gives."""
        return abs(self.computed - self.article.value) <= self.rounding


@dataclass(frozen=True, kw_only=True)
class NamedTotal:
    """A total that GPT-3's shares can be taken of, and attention's share of it."""

    name: str
    parameters: int
    attention: int  # parameters of the attention matrices, the same for each total

    @property
    def attention_share(self) -> float:
        """Attention's share, in per cent."""
        return 100 * self.attention / self.parameters


@cache
def gpt3() -> ModelConfig:
    """Return the last row of the GPT-3 paper's table, the model the article counts."""
    return gpt3_table()[-1].config


@cache
def named_totals() -> tuple[NamedTotal, ...]:
    """Return three totals GPT-3 goes by, none of them wrong, with attention's share of each."""
    config = gpt3()
    matrices_alone = replace(
        config,
        tied_embedding=False,
        n_context_learned=None,
        biases="none",
        norms_per_layer=0,
        final_norm=False,
    )
    attention = count_parameters(config).attention
    totals = (
        ("as the paper prints it, rounded", PRINTED_TOTAL),
        ("this ledger: one token table, positions, biases and norms", _total(config)),
        ("matrices alone, the token table counted in and out", _total(matrices_alone)),
    )
    return tuple(
        NamedTotal(name=name, parameters=parameters, attention=attention)
        for name, parameters in totals
    )


@cache
def article_steps() -> tuple[Step, ...]:
    """Redo the article's arithmetic from the ledger's lines, a step at a time."""
    c = gpt3()
    ledger = count_parameters(c)
    attention = [line for line in ledger.lines if line.part == "attention"]
    a_head = sum(line.per_head or 0 for line in attention)
    a_layer = sum(line.per_layer or 0 for line in attention)
    tokens = c.n_vocab * c.d_model
    return (
        Step(
            quantity="Attention, one head",
            arithmetic=f"4 × {c.d_model:,} × {c.d_head}",
            computed=a_head,
            article=reported.LEDGER_HEAD,
            rounding=0,
        ),
        Step(
            quantity="Attention, one layer",
            arithmetic=f"{c.n_heads} × {a_head:,}",
            computed=a_layer,
            article=reported.LEDGER_LAYER,
            rounding=0,
        ),
        Step(
            quantity="Attention, one layer, from the model width alone",
            arithmetic=f"4 × {c.d_model:,}²",
            computed=4 * c.d_model**2,
            article=reported.LEDGER_LAYER,
            rounding=0,
        ),
        Step(
            quantity="Attention, whole model",
            arithmetic=f"{c.n_layers} × {a_layer:,}",
            computed=ledger.attention,
            article=reported.LEDGER_ATTENTION,
            rounding=0,
        ),
        Step(
            quantity="Attention, share of the printed 175 billion",
            arithmetic=f"{ledger.attention:,} ÷ {PRINTED_TOTAL:,}",
            computed=100 * ledger.attention / PRINTED_TOTAL,
            article=reported.LEDGER_ATTENTION_SHARE,
            rounding=0.05,
        ),
        Step(
            quantity="Token table, in and out, share of the printed 175 billion",
            arithmetic=f"2 × {tokens:,} ÷ {PRINTED_TOTAL:,}",
            computed=100 * 2 * tokens / PRINTED_TOTAL,
            article=reported.LEDGER_EMBEDDING_SHARE,
            rounding=0.05,
        ),
        Step(
            quantity="Feed-forward, share of the printed 175 billion",
            arithmetic=f"{ledger.feed_forward:,} ÷ {PRINTED_TOTAL:,}",
            computed=100 * ledger.feed_forward / PRINTED_TOTAL,
            article=reported.LEDGER_FEED_FORWARD_SHARE,
            rounding=1,
        ),
    )


def _total(config: ModelConfig) -> int:
    return count_parameters(config).total
