"""The pieces that most families share: their sizes, and the tensors of a block.

A matrix is listed with the shape and the name it has in published checkpoints: rows for what comes
out, columns for what goes in.
"""

from dataclasses import dataclass

from core.architectures.tensors import Looking, Tensor
from core.config_reader import ConfigError, Fields, shown

SLIDING, FULL = "sliding_attention", "full_attention"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes that nearly every config.json has, by the same names."""

    n_layers: int
    d_model: int
    n_vocab: int
    n_heads: int
    n_kv_heads: int
    d_head: int

    @property
    def looking(self) -> Looking:
        """How a layer of these sizes looks."""
        return Looking(
            n_heads=self.n_heads,
            n_kv_heads=self.n_kv_heads,
            d_key=self.d_head,
            d_value=self.d_head,
        )


def read_sizes(
    fields: Fields,
    *,
    kv_heads: int | None = None,
    head_size: int | None = None,
    n_kv_heads: int | None = None,
    has_head_dim: bool = True,
) -> Sizes:
    """Read the sizes of a family.

    Args:
        fields: the config.json.
        kv_heads: key-value heads if the file does not say; as many as heads when None.
        head_size: numbers in a head if the file does not say; d_model ÷ heads when None.
        n_kv_heads: key-value heads, for a family that has no num_key_value_heads.
        has_head_dim: whether the family has a head_dim.

    Raises:
        ConfigError: if a size is missing or unfit, or two do not go together.
    """
    d_model = fields.size("hidden_size")
    n_heads = fields.size("num_attention_heads")
    if n_kv_heads is None:
        n_kv_heads = fields.optional_size("num_key_value_heads", default=kv_heads) or n_heads
        keep_dividing("num_key_value_heads", n_kv_heads, "num_attention_heads", n_heads)
    d_head = fields.optional_size("head_dim", default=head_size) if has_head_dim else None
    if d_head is None:
        keep_dividing("num_attention_heads", n_heads, "hidden_size", d_model)
        d_head = d_model // n_heads
    return Sizes(
        n_layers=fields.size("num_hidden_layers", "layers"),
        d_model=d_model,
        n_vocab=fields.size("vocab_size", "tokens"),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
    )


def keep_dividing(name: str, divisor: int, of: str, number: int) -> None:
    """Refuse sizes that do not divide.

    Raises:
        ConfigError: naming both.
    """
    if number % divisor:
        raise ConfigError(f"{name} must divide {of} ({number:,}), got {divisor:,}.")


def read_context(fields: Fields) -> int | None:
    """Return how many tokens the model was made for, if the file says so."""
    return fields.optional_size("max_position_embeddings", "tokens", default=None)


def read_windows(
    fields: Fields, n_layers: int, slides: list[bool], window: int | None
) -> tuple[int | None, ...]:
    """Return how far each layer looks back.

    Args:
        fields: the config.json; its ``layer_types``, if it has any, go before ``slides``.
        n_layers: layers.
        slides: whether each layer looks back no further than the window.
        window: tokens; None if no layer may slide.

    Raises:
        ConfigError: if ``layer_types`` is no list of as many known types, or asks for a window
            that is not there.
    """
    types = fields.items("layer_types")
    if types is not None:
        if len(types) != n_layers:
            raise ConfigError(
                f"layer_types must have one entry for each of num_hidden_layers ({n_layers:,}), "
                f"got {len(types):,}."
            )
        for kind in types:
            if kind not in (SLIDING, FULL):
                raise ConfigError(
                    f"layer_types must be made of {SLIDING} and {FULL}, got {shown(kind)}."
                )
        slides = [kind == SLIDING for kind in types]
    if not any(slides):
        return (None,) * n_layers
    if window is None:
        raise ConfigError(
            f"sliding_window must be a number of tokens, as layer_types names {SLIDING}, got none."
        )
    return tuple(window if sliding else None for sliding in slides)


def linear(
    part: str,
    meaning: str,
    name: str,
    shape: tuple[int, int],
    *,
    biases: int = 0,
    **where: int,
) -> list[Tensor]:
    """Return a matrix, and the vector of ``biases`` numbers that is added to what comes out."""
    tensors = [Tensor(part=part, meaning=meaning, name=f"{name}.weight", shape=shape, **where)]
    if biases:
        symbol = meaning.split(",")[0]
        tensors.append(
            Tensor(
                part="biases",
                meaning=f"bias of {symbol}",
                name=f"{name}.bias",
                shape=(biases,),
                **where,
            )
        )
    return tensors


def norm(name: str, meaning: str, size: int, *, shift: bool = False, **where: int) -> list[Tensor]:
    """Return a norm's scale, and its shift if it has one."""
    vectors = {"scale": "weight", "shift": "bias"} if shift else {"scale": "weight"}
    return [
        Tensor(
            part="norms",
            meaning=f"{meaning}, {vector}",
            name=f"{name}.{suffix}",
            shape=(size,),
            **where,
        )
        for vector, suffix in vectors.items()
    ]


def embeddings(sizes: Sizes, table: str, output: str, *, tied: bool) -> list[Tensor]:
    """Return the table from tokens to vectors, and the one back unless it is the same."""
    shape = (sizes.n_vocab, sizes.d_model)
    read_in = linear("embeddings", "W_E, token to vector", table, shape)
    if tied:
        return read_in
    return read_in + linear("embeddings", "W_U, vector to token", output, shape)


def grouped_attention(
    sizes: Sizes, at: str, *, qkv_bias: bool = False, output_bias: bool = False, output: str
) -> list[Tensor]:
    """Return the four matrices of an attention step, keys and values perhaps shared by heads."""
    tensors = []
    for symbol, meaning, heads in (
        ("q", "W_Q, query", sizes.n_heads),
        ("k", "W_K, key", sizes.n_kv_heads),
        ("v", "W_V, value", sizes.n_kv_heads),
    ):
        width = heads * sizes.d_head
        tensors += linear(
            "attention",
            meaning,
            f"{at}.{symbol}_proj",
            (width, sizes.d_model),
            biases=width * qkv_bias,
            n_layers=sizes.n_layers,
        )
    return tensors + linear(
        "attention",
        "W_O, output",
        f"{at}.{output}",
        (sizes.d_model, sizes.n_heads * sizes.d_head),
        biases=sizes.d_model * output_bias,
        n_layers=sizes.n_layers,
    )


def gated(
    at: str,
    d_model: int,
    d_ff: int,
    *,
    whose: str = "",
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    bias: bool = False,
    **where: int,
) -> list[Tensor]:
    """Return the three matrices of a gated feed-forward block (Shazeer 2020)."""
    gate, up, down = names
    into, out = (d_ff, d_model), (d_model, d_ff)
    return [
        *linear(
            "feed-forward",
            f"W_gate, gate{whose}",
            f"{at}.{gate}",
            into,
            biases=d_ff * bias,
            **where,
        ),
        *linear(
            "feed-forward", f"W_up, up{whose}", f"{at}.{up}", into, biases=d_ff * bias, **where
        ),
        *linear(
            "feed-forward",
            f"W_down, down{whose}",
            f"{at}.{down}",
            out,
            biases=d_model * bias,
            **where,
        ),
    ]
