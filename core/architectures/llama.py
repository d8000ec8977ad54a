"""Llama and those built like it: Mistral, Qwen 2, 2.5 and 3, Gemma 1 and 2.

Touvron et al. 2023; Jiang et al. 2023; Qwen Team 2024 and 2025; Gemma Team 2024. All have rotary
positions, norms with a scale alone and a gated feed-forward block; they differ in biases, in the
number of norms and in how far a layer looks back.
"""

from core.architectures.blocks import (
    Sizes,
    embeddings,
    gated,
    grouped_attention,
    norm,
    read_context,
    read_sizes,
    read_windows,
)
from core.architectures.tensors import Model, Tensor
from core.config_reader import Fields

LAYER = "model.layers.*"
TWO_NORMS = ("input_layernorm", "post_attention_layernorm")
FOUR_NORMS = (*TWO_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")
_MEANINGS = {
    "input_layernorm": "norm before attention",
    "post_attention_layernorm": "norm after attention",
    "pre_feedforward_layernorm": "norm before feed-forward",
    "post_feedforward_layernorm": "norm after feed-forward",
}


def llama(fields: Fields) -> Model:
    """Llama 1, 2, 3 and the many models saved as such."""
    sizes = read_sizes(fields)
    bias = fields.flag("attention_bias", default=False)
    return dense(
        fields,
        sizes,
        grouped_attention(
            sizes, f"{LAYER}.self_attn", qkv_bias=bias, output_bias=bias, output="o_proj"
        ),
        mlp_bias=fields.flag("mlp_bias", default=False),
    )


def mistral(fields: Fields) -> Model:
    """Mistral: every layer may look back no further than a window."""
    sizes = read_sizes(fields, kv_heads=8)
    return dense(
        fields,
        sizes,
        grouped_attention(sizes, f"{LAYER}.self_attn", output="o_proj"),
        windows=all_slide(fields, sizes, window=4096),
    )


def qwen2(fields: Fields) -> Model:
    """Qwen 2 and 2.5: biases on queries, keys and values."""
    sizes = read_sizes(fields, kv_heads=32)
    return dense(
        fields,
        sizes,
        grouped_attention(sizes, f"{LAYER}.self_attn", qkv_bias=True, output="o_proj"),
        windows=late_slide(fields, sizes),
    )


def qwen3(fields: Fields) -> Model:
    """Qwen 3: each query and key goes through a norm."""
    sizes = read_sizes(fields, kv_heads=32, head_size=128)
    return dense(fields, sizes, normed_attention(fields, sizes), windows=late_slide(fields, sizes))


def gemma(fields: Fields) -> Model:
    """Gemma 1: heads wider together than the model, one table for tokens in and out."""
    sizes = read_sizes(fields, kv_heads=16, head_size=256)
    return dense(fields, sizes, _gemma_attention(fields, sizes), tied=True)


def gemma2(fields: Fields) -> Model:
    """Gemma 2: four norms, and every other layer looks back no further than a window."""
    sizes = read_sizes(fields, kv_heads=4, head_size=256)
    window = fields.optional_size("sliding_window", "tokens", default=4096)
    slides = [window is not None and layer % 2 == 0 for layer in range(sizes.n_layers)]
    return dense(
        fields,
        sizes,
        _gemma_attention(fields, sizes),
        windows=read_windows(fields, sizes.n_layers, slides, window),
        norms=FOUR_NORMS,
        tied=True,
    )


def dense(
    fields: Fields,
    sizes: Sizes,
    attention: list[Tensor],
    *,
    windows: tuple[int | None, ...] | None = None,
    norms: tuple[str, ...] = TWO_NORMS,
    tied: bool = False,
    mlp_bias: bool = False,
) -> Model:
    """Return a model whose every layer has one gated feed-forward block."""
    feed_forward = gated(
        f"{LAYER}.mlp",
        sizes.d_model,
        fields.size("intermediate_size"),
        bias=mlp_bias,
        n_layers=sizes.n_layers,
    )
    return assembled(
        fields, sizes, attention, feed_forward, windows=windows, norms=norms, tied=tied
    )


def assembled(
    fields: Fields,
    sizes: Sizes,
    attention: list[Tensor],
    feed_forward: list[Tensor],
    *,
    windows: tuple[int | None, ...] | None = None,
    norms: tuple[str, ...] = TWO_NORMS,
    tied: bool = False,
) -> Model:
    """Put the tables, the layers and the norms around them together.

    ``tied`` is the family's habit where the file says nothing; all layers look at everything when
    ``windows`` is None.
    """
    tensors = embeddings(
        sizes,
        "model.embed_tokens",
        "lm_head",
        tied=fields.flag("tie_word_embeddings", default=tied),
    )
    tensors += attention + feed_forward
    for name in norms:
        tensors += norm(f"{LAYER}.{name}", _MEANINGS[name], sizes.d_model, n_layers=sizes.n_layers)
    tensors += norm("model.norm", "final norm", sizes.d_model)
    return Model(
        tensors=tuple(tensors),
        looking=sizes.looking,
        windows=windows or (None,) * sizes.n_layers,
        d_model=sizes.d_model,
        n_vocab=sizes.n_vocab,
        n_context=read_context(fields),
    )


def normed_attention(fields: Fields, sizes: Sizes) -> list[Tensor]:
    """Return the attention step of Qwen 3: with a norm for each query and each key."""
    at = f"{LAYER}.self_attn"
    bias = fields.flag("attention_bias", default=False)
    return [
        *grouped_attention(sizes, at, qkv_bias=bias, output_bias=bias, output="o_proj"),
        *norm(f"{at}.q_norm", "norm of a query", sizes.d_head, n_layers=sizes.n_layers),
        *norm(f"{at}.k_norm", "norm of a key", sizes.d_head, n_layers=sizes.n_layers),
    ]


def all_slide(fields: Fields, sizes: Sizes, *, window: int | None) -> tuple[int | None, ...]:
    """Return the windows where a file that names one means it for every layer."""
    found = fields.optional_size("sliding_window", "tokens", default=window)
    return read_windows(fields, sizes.n_layers, [found is not None] * sizes.n_layers, found)


def late_slide(fields: Fields, sizes: Sizes) -> tuple[int | None, ...]:
    """Return the windows of Qwen: for the layers from ``max_window_layers`` on, if at all."""
    window = switched_window(fields)
    first = fields.size("max_window_layers", "layers", default=28, at_least=0)
    slides = [window is not None and layer >= first for layer in range(sizes.n_layers)]
    return read_windows(fields, sizes.n_layers, slides, window)


def switched_window(fields: Fields) -> int | None:
    """Return a window that the file must switch on."""
    if not fields.flag("use_sliding_window", default=False):
        return None
    return fields.optional_size("sliding_window", "tokens", default=4096)


def _gemma_attention(fields: Fields, sizes: Sizes) -> list[Tensor]:
    bias = fields.flag("attention_bias", default=False)
    return grouped_attention(
        sizes, f"{LAYER}.self_attn", qkv_bias=bias, output_bias=bias, output="o_proj"
    )
