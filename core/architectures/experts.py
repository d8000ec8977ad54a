"""Mixtures of experts: Mixtral, and the mixtures of Qwen 1.5, 2 and 3.

A layer has several feed-forward blocks, the experts, and a small matrix, the router, that sends
each token to a few of them (Shazeer et al. 2017; Jiang et al. 2024; Qwen Team 2024 and 2025).
"""

from core.architectures.blocks import (
    Sizes,
    gated,
    grouped_attention,
    linear,
    read_sizes,
    read_windows,
)
from core.architectures.llama import (
    LAYER,
    all_slide,
    assembled,
    normed_attention,
    switched_window,
)
from core.architectures.tensors import Model, Tensor
from core.config_reader import ConfigError, Fields, shown


def mixtral(fields: Fields) -> Model:
    """Mixtral: every layer is a mixture."""
    sizes = read_sizes(fields, kv_heads=8)
    name = fields.name_of("num_local_experts", "num_experts")
    at = f"{LAYER}.block_sparse_moe"
    feed_forward = routed(
        fields,
        sizes,
        at,
        n_experts=fields.size(name, "experts"),
        d_ff=fields.size("intermediate_size"),
        names=("w1", "w3", "w2"),
        n_layers=sizes.n_layers,
    )
    return assembled(
        fields,
        sizes,
        grouped_attention(sizes, f"{LAYER}.self_attn", output="o_proj"),
        feed_forward,
        windows=all_slide(fields, sizes, window=None),
    )


def qwen2_moe(fields: Fields) -> Model:
    """Qwen 1.5 and 2 as mixtures: with an expert for all tokens, through a gate of its own."""
    sizes = read_sizes(fields, kv_heads=16)
    n_mixed, feed_forward = _qwen_feed_forward(fields, sizes)
    at = f"{LAYER}.mlp"
    if n_mixed:
        feed_forward += gated(
            f"{at}.shared_expert",
            sizes.d_model,
            fields.size("shared_expert_intermediate_size"),
            whose=" of the shared expert",
            n_layers=n_mixed,
        )
        feed_forward += linear(
            "feed-forward",
            "W_share, gate of the shared expert",
            f"{at}.shared_expert_gate",
            (1, sizes.d_model),
            n_layers=n_mixed,
        )
    bias = fields.flag("qkv_bias", default=True)
    window = switched_window(fields)
    first = fields.size("max_window_layers", "layers", default=28, at_least=0)
    slides = [
        window is not None and layer % 2 == 0 and layer < first for layer in range(sizes.n_layers)
    ]
    return assembled(
        fields,
        sizes,
        grouped_attention(sizes, f"{LAYER}.self_attn", qkv_bias=bias, output="o_proj"),
        feed_forward,
        windows=read_windows(fields, sizes.n_layers, slides, window),
    )


def qwen3_moe(fields: Fields) -> Model:
    """Qwen 3 as a mixture."""
    sizes = read_sizes(fields, kv_heads=4)
    _, feed_forward = _qwen_feed_forward(fields, sizes)
    window = switched_window(fields)
    slides = [window is not None] * sizes.n_layers
    return assembled(
        fields,
        sizes,
        normed_attention(fields, sizes),
        feed_forward,
        windows=read_windows(fields, sizes.n_layers, slides, window),
    )


def routed(
    fields: Fields,
    sizes: Sizes,
    at: str,
    *,
    n_experts: int,
    d_ff: int,
    n_layers: int,
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
) -> list[Tensor]:
    """Return a router and its experts.

    Raises:
        ConfigError: if a token is sent to more experts than there are.
    """
    n_used = fields.size("num_experts_per_tok", "experts")
    if n_used > n_experts:
        raise ConfigError(
            f"num_experts_per_tok must be at most the number of experts ({n_experts:,}), "
            f"got {n_used:,}."
        )
    return [
        *linear(
            "feed-forward",
            "W_route, router",
            f"{at}.gate",
            (n_experts, sizes.d_model),
            n_layers=n_layers,
        ),
        *gated(
            f"{at}.experts.*",
            sizes.d_model,
            d_ff,
            whose=" of an expert",
            names=names,
            n_layers=n_layers,
            n_experts=n_experts,
            n_used=n_used,
        ),
    ]


def _qwen_feed_forward(fields: Fields, sizes: Sizes) -> tuple[int, list[Tensor]]:
    """Return how many layers are mixtures, and the feed-forward tensors of all layers."""
    step = fields.size("decoder_sparse_step", "layers", default=1)
    plain = _plain_layers(fields)
    mixed = [
        layer for layer in range(sizes.n_layers) if layer not in plain and (layer + 1) % step == 0
    ]
    tensors: list[Tensor] = []
    if len(mixed) < sizes.n_layers:
        tensors += gated(
            f"{LAYER}.mlp",
            sizes.d_model,
            fields.size("intermediate_size"),
            whose=" of a layer without experts",
            n_layers=sizes.n_layers - len(mixed),
        )
    if mixed:
        tensors += routed(
            fields,
            sizes,
            f"{LAYER}.mlp",
            n_experts=fields.size(fields.name_of("num_experts", "num_local_experts"), "experts"),
            d_ff=fields.size("moe_intermediate_size"),
            n_layers=len(mixed),
        )
    return len(mixed), tensors


def _plain_layers(fields: Fields) -> set[int]:
    layers = fields.items("mlp_only_layers") or []
    for layer in layers:
        if not isinstance(layer, int) or isinstance(layer, bool):
            raise ConfigError(f"mlp_only_layers must be made of whole numbers, got {shown(layer)}.")
    return set(layers)
