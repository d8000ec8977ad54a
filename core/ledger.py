"""Count a transformer's parameters, matrix by matrix, from nothing but its sizes.

The shapes are those of the published GPT-2, Llama, Gemma and Qwen checkpoints: query, key, value
and output matrices (Vaswani et al. 2017, section 3.2.2), keys and values shared by groups of heads
(Ainslie et al. 2023), and a feed-forward block of two matrices, or three when it is gated (Shazeer
2020). Left out, because nothing in them is learned: the causal mask, rotary positions and the
softmax. Left out as well: mixtures of experts, adapters and anything beside the language model.
"""

import math
from dataclasses import dataclass

from core.limits import is_whole

NORMS = ("layer norm with bias", "rms norm")
BIASES = ("everywhere", "q, k, v only", "none")
PARTS = ("embeddings", "attention", "feed-forward", "biases", "norms")
"""The parts of a ledger. Attention and feed-forward are their matrices; biases are apart."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The sizes and habits that decide how many parameters a model has.

    The habits default to those of GPT-2 and GPT-3. ``n_heads`` × ``d_head`` may differ from
    ``d_model``: the matrices take a vector of d_model numbers to the heads and back, and nothing
    requires both sides to be equally wide. Gemma-7B has 16 × 256 = 4,096 beside a d_model of 3,072.
    """

    model: str = "your model"  # its name, which changes no count
    n_layers: int  # layers, each one attention step and one feed-forward block
    d_model: int  # numbers in each token's vector
    n_heads: int  # query heads in a layer
    n_kv_heads: int  # key-value heads in a layer; n_heads of them unless heads share
    d_head: int  # numbers in each head's query, key and value
    d_ff: int  # numbers in the middle of the feed-forward block
    n_vocab: int  # tokens in the vocabulary
    tied_embedding: bool = True  # one table both reads tokens in and scores them at the end
    n_context_learned: int | None = None  # positions with a learned vector; None or 0 for none
    norm: str = NORMS[0]  # one of NORMS: a scale and a shift, or a scale alone
    norms_per_layer: int = 2  # norms in a layer
    final_norm: bool = True  # one more norm after the last layer
    gated_feed_forward: bool = False  # a third matrix, whose output multiplies the middle
    biases: str = BIASES[0]  # one of BIASES: which matrices add a learned vector

    def __post_init__(self) -> None:
        for name in ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_head", "d_ff", "n_vocab"):
            self._keep_whole(name, at_least=1)
        self._keep_whole("norms_per_layer", at_least=0)
        if self.n_context_learned is not None:
            self._keep_whole("n_context_learned", at_least=0)
        for name in ("tied_embedding", "final_norm", "gated_feed_forward"):
            # "no" read from a file is a true value in Python.
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for name, allowed in (("norm", NORMS), ("biases", BIASES)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_kv_heads must divide n_heads ({self.n_heads}), so that every group of heads "
                f"shares one, got {self.n_kv_heads}"
            )

    def _keep_whole(self, name: str, *, at_least: int) -> None:
        value = getattr(self, name)
        if not is_whole(value) or value < at_least:
            raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
        # A NumPy int32 from a data frame would overflow in the products below.
        object.__setattr__(self, name, int(value))


@dataclass(frozen=True, kw_only=True)
class Line:
    """One kind of matrix or vector in the ledger, and how often the model holds it."""

    part: str  # one of PARTS
    matrix: str  # its symbol, then what it does
    shape_formula: str  # in the names of ModelConfig
    shape: tuple[int, ...]  # the same in numbers
    in_layer: int = 1  # copies in one layer; copies in the model when it is outside the layers
    is_per_head: bool = False  # whether each copy in a layer belongs to a head of its own
    n_layers: int | None = None  # layers that hold it; None when it is outside the layers

    @property
    def per_head(self) -> int | None:
        """Parameters in one head; None for what no single head owns."""
        return math.prod(self.shape) if self.is_per_head else None

    @property
    def per_layer(self) -> int | None:
        """Parameters in one layer; None for what is outside the layers."""
        return None if self.n_layers is None else math.prod(self.shape) * self.in_layer

    @property
    def whole_model(self) -> int:
        """Parameters in the whole model."""
        return math.prod(self.shape) * self.in_layer * (self.n_layers or 1)


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Every line of a model's parameters; each total is a sum over the lines."""

    config: ModelConfig
    lines: tuple[Line, ...]

    def part(self, part: str) -> int:
        """Return the parameters of one of `PARTS`."""
        return sum(line.whole_model for line in self.lines if line.part == part)

    @property
    def total(self) -> int:
        """All parameters of the model."""
        return sum(line.whole_model for line in self.lines)

    @property
    def embedding(self) -> int:
        """The tables between tokens and vectors, and the learned positions."""
        return self.part("embeddings")

    @property
    def attention(self) -> int:
        """The four attention matrices of every head and layer, without biases."""
        return self.part("attention")

    @property
    def feed_forward(self) -> int:
        """The two or three feed-forward matrices of every layer, without biases."""
        return self.part("feed-forward")

    @property
    def biases(self) -> int:
        """The vectors that matrices add."""
        return self.part("biases")

    @property
    def norms(self) -> int:
        """The scales and shifts of the norms."""
        return self.part("norms")


def count_parameters(config: ModelConfig) -> Ledger:
    """Write a model's ledger.

    >>> gpt2_small = ModelConfig(n_layers=12, d_model=768, n_heads=12, n_kv_heads=12, d_head=64,
    ...                          d_ff=3072, n_vocab=50257, n_context_learned=1024)
    >>> count_parameters(gpt2_small).total
    124439808
    """
    lines = (
        _embedding_lines(config)
        + _attention_lines(config)
        + _feed_forward_lines(config)
        + _bias_lines(config)
        + _norm_lines(config)
    )
    return Ledger(config=config, lines=lines)


def nearest_kv_heads(n_heads: int, wanted: int) -> int:
    """Return the divisor of ``n_heads`` that is nearest to ``wanted``, the larger of two.

    >>> nearest_kv_heads(96, 96), nearest_kv_heads(95, 96), nearest_kv_heads(12, 5)
    (96, 95, 6)
    """
    divisors = (count for count in range(1, n_heads + 1) if n_heads % count == 0)
    return min(divisors, key=lambda count: (abs(count - wanted), -count))


def _embedding_lines(c: ModelConfig) -> tuple[Line, ...]:
    def line(matrix: str, formula: str, *shape: int) -> Line:
        return Line(part="embeddings", matrix=matrix, shape_formula=formula, shape=shape)

    lines = [line("W_E, token to vector", "n_vocab × d_model", c.n_vocab, c.d_model)]
    if not c.tied_embedding:
        lines.append(line("W_U, vector to token", "d_model × n_vocab", c.d_model, c.n_vocab))
    if c.n_context_learned:
        formula = "n_context_learned × d_model"
        lines.append(line("W_P, position to vector", formula, c.n_context_learned, c.d_model))
    return tuple(lines)


def _attention_lines(c: ModelConfig) -> tuple[Line, ...]:
    def line(matrix: str, in_layer: int, formula: str, *shape: int) -> Line:
        return Line(
            part="attention",
            matrix=matrix,
            shape_formula=formula,
            shape=shape,
            in_layer=in_layer,
            is_per_head=True,
            n_layers=c.n_layers,
        )

    return (
        line("W_Q, query", c.n_heads, "d_model × d_head", c.d_model, c.d_head),
        line("W_K, key", c.n_kv_heads, "d_model × d_head", c.d_model, c.d_head),
        line("W_V, value", c.n_kv_heads, "d_model × d_head", c.d_model, c.d_head),
        line("W_O, output", c.n_heads, "d_head × d_model", c.d_head, c.d_model),
    )


def _feed_forward_lines(c: ModelConfig) -> tuple[Line, ...]:
    def line(matrix: str, formula: str, *shape: int) -> Line:
        return Line(
            part="feed-forward",
            matrix=matrix,
            shape_formula=formula,
            shape=shape,
            n_layers=c.n_layers,
        )

    gate = line("W_gate, gate", "d_model × d_ff", c.d_model, c.d_ff)
    up = line("W_up, up", "d_model × d_ff", c.d_model, c.d_ff)
    down = line("W_down, down", "d_ff × d_model", c.d_ff, c.d_model)
    return (gate, up, down) if c.gated_feed_forward else (up, down)


def _bias_lines(c: ModelConfig) -> tuple[Line, ...]:
    def line(matrix: str, formula: str, length: int, n_heads: int | None = None) -> Line:
        return Line(
            part="biases",
            matrix=matrix,
            shape_formula=formula,
            shape=(length,),
            in_layer=1 if n_heads is None else n_heads,
            is_per_head=n_heads is not None,
            n_layers=c.n_layers,
        )

    inputs = (
        line("b_Q, added to queries", "d_head", c.d_head, c.n_heads),
        line("b_K, added to keys", "d_head", c.d_head, c.n_kv_heads),
        line("b_V, added to values", "d_head", c.d_head, c.n_kv_heads),
    )
    outputs = (
        line("b_O, added after W_O", "d_model", c.d_model),
        *((line("b_gate, added after W_gate", "d_ff", c.d_ff),) if c.gated_feed_forward else ()),
        line("b_up, added after W_up", "d_ff", c.d_ff),
        line("b_down, added after W_down", "d_model", c.d_model),
    )
    return {"everywhere": inputs + outputs, "q, k, v only": inputs, "none": ()}[c.biases]


def _norm_lines(c: ModelConfig) -> tuple[Line, ...]:
    def line(matrix: str, in_layer: int, n_layers: int | None) -> Line:
        return Line(
            part="norms",
            matrix=matrix,
            shape_formula="d_model",
            shape=(c.d_model,),
            in_layer=in_layer,
            n_layers=n_layers,
        )

    vectors = ("scale", "shift") if c.norm == "layer norm with bias" else ("scale",)
    lines = [line(f"norm {vector}", c.norms_per_layer, c.n_layers) for vector in vectors]
    if c.final_norm:
        lines += [line(f"final norm {vector}", 1, None) for vector in vectors]
    return tuple(line for line in lines if line.in_layer)
