"""Phi: Phi-1, 1.5 and 2, and the quite different Phi-3 and its kin.

Li et al. 2023; Abdin et al. 2024. The first have biases everywhere, also on the scores of the next
token; attention and feed-forward read the same norm. Phi-3 is a Llama whose matrices are stored
joined together.
"""

from core.architectures.blocks import (
    Sizes,
    embeddings,
    grouped_attention,
    linear,
    norm,
    read_context,
    read_sizes,
)
from core.architectures.gpt import IN_ONE, plain_feed_forward
from core.architectures.llama import LAYER, all_slide, assembled
from core.architectures.tensors import Model, Tensor
from core.config_reader import Fields


def phi(fields: Fields) -> Model:
    """Phi-1, 1.5 and 2."""
    sizes = read_sizes(fields, has_head_dim=False)
    n, d = sizes.n_layers, sizes.d_model
    tied = fields.flag("tie_word_embeddings", default=False)
    at = f"{LAYER}.self_attn"
    tensors = [
        *embeddings(sizes, "model.embed_tokens", "lm_head", tied=tied),
        *_output_bias(sizes),
        *grouped_attention(sizes, at, qkv_bias=True, output_bias=True, output="dense"),
        *plain_feed_forward(
            f"{LAYER}.mlp",
            d,
            fields.size("intermediate_size"),
            biased=True,
            n_layers=n,
            names=("fc1", "fc2"),
        ),
        *norm(
            f"{LAYER}.input_layernorm",
            "norm before attention and feed-forward",
            d,
            shift=True,
            n_layers=n,
        ),
        *norm("model.final_layernorm", "final norm", d, shift=True),
    ]
    if fields.flag("qk_layernorm", default=False):
        for name, meaning in (("q", "norm of a query"), ("k", "norm of a key")):
            tensors += norm(f"{at}.{name}_layernorm", meaning, sizes.d_head, shift=True, n_layers=n)
    return Model(
        tensors=tuple(tensors),
        looking=sizes.looking,
        windows=(None,) * n,
        d_model=d,
        n_vocab=sizes.n_vocab,
        n_context=read_context(fields),
    )


def phi3(fields: Fields) -> Model:
    """Phi-3, 3.5 and 4."""
    sizes = read_sizes(fields)
    n, d, d_ff = sizes.n_layers, sizes.d_model, fields.size("intermediate_size")
    width = (sizes.n_heads + 2 * sizes.n_kv_heads) * sizes.d_head
    at = f"{LAYER}.self_attn"
    attention = [
        *linear("attention", IN_ONE, f"{at}.qkv_proj", (width, d), n_layers=n),
        *linear(
            "attention",
            "W_O, output",
            f"{at}.o_proj",
            (d, sizes.n_heads * sizes.d_head),
            n_layers=n,
        ),
    ]
    feed_forward = [
        *linear(
            "feed-forward",
            "W_gate and W_up in one",
            f"{LAYER}.mlp.gate_up_proj",
            (2 * d_ff, d),
            n_layers=n,
        ),
        *linear("feed-forward", "W_down, down", f"{LAYER}.mlp.down_proj", (d, d_ff), n_layers=n),
    ]
    windows = all_slide(fields, sizes, window=None)
    return assembled(fields, sizes, attention, feed_forward, windows=windows)


def _output_bias(sizes: Sizes) -> list[Tensor]:
    return [
        Tensor(part="biases", meaning="bias of W_U", name="lm_head.bias", shape=(sizes.n_vocab,))
    ]
