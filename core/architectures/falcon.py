"""Falcon: one key and value for all heads in the 7B, one for each group of heads from the 40B on.

Almazrouei et al. 2023, "The Falcon Series of Open Language Models". Attention and feed-forward
stand side by side and may share a norm.
"""

from core.architectures.blocks import (
    embeddings,
    keep_dividing,
    linear,
    norm,
    read_context,
    read_sizes,
)
from core.architectures.gpt import IN_ONE, plain_feed_forward
from core.architectures.tensors import Model, Tensor
from core.config_reader import Fields


def falcon(fields: Fields) -> Model:
    """Falcon 1 (the old decoder and the new one) and Falcon 2."""
    is_new = fields.flag("new_decoder_architecture", default=False)
    sizes = read_sizes(fields, has_head_dim=False, n_kv_heads=_kv_heads(fields, is_new=is_new))
    n, d = sizes.n_layers, sizes.d_model
    d_ff = fields.optional_size("ffn_hidden_size", default=None) or 4 * d
    biased = fields.flag("bias", default=False)
    width = (sizes.n_heads + 2 * sizes.n_kv_heads) * sizes.d_head
    at = "transformer.h.*"
    tensors = [
        *embeddings(
            sizes,
            "transformer.word_embeddings",
            "lm_head",
            tied=fields.flag("tie_word_embeddings", default=True),
        ),
        *linear(
            "attention",
            IN_ONE,
            f"{at}.self_attention.query_key_value",
            (width, d),
            biases=width * biased,
            n_layers=n,
        ),
        *linear(
            "attention",
            "W_O, output",
            f"{at}.self_attention.dense",
            (d, d),
            biases=d * biased,
            n_layers=n,
        ),
        *plain_feed_forward(f"{at}.mlp", d, d_ff, biased=biased, n_layers=n),
        *_norms(fields, at, d, n, is_new=is_new),
        *norm("transformer.ln_f", "final norm", d, shift=True),
    ]
    return Model(
        tensors=tuple(tensors),
        looking=sizes.looking,
        windows=(None,) * n,
        d_model=d,
        n_vocab=sizes.n_vocab,
        n_context=read_context(fields),
    )


def _kv_heads(fields: Fields, *, is_new: bool) -> int:
    """Return the heads that have keys and values; the old decoder has one or all."""
    n_heads = fields.size("num_attention_heads")
    if not is_new:
        return 1 if fields.flag("multi_query", default=True) else n_heads
    n_kv_heads = fields.optional_size("num_kv_heads", default=None) or n_heads
    keep_dividing("num_kv_heads", n_kv_heads, "num_attention_heads", n_heads)
    return n_kv_heads


def _norms(fields: Fields, at: str, d: int, n: int, *, is_new: bool) -> list[Tensor]:
    """Return the norms of a layer: one shared, or one each for attention and feed-forward."""
    count = fields.optional_size("num_ln_in_parallel_attn", default=None)
    if not fields.flag("parallel_attn", default=True):
        names = {
            "input_layernorm": "norm before attention",
            "post_attention_layernorm": "norm before feed-forward",
        }
    elif count == 2 or (count is None and is_new):
        names = {"ln_attn": "norm before attention", "ln_mlp": "norm before feed-forward"}
    else:
        names = {"input_layernorm": "norm before attention and feed-forward"}
    return [
        tensor
        for name, meaning in names.items()
        for tensor in norm(f"{at}.{name}", meaning, d, shift=True, n_layers=n)
    ]
