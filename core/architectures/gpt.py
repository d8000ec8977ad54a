"""GPT-2 and GPT-NeoX: norms with a shift, biases, and a plain feed-forward block.

Radford et al. 2019; Black et al. 2022. Queries, keys and values of all heads come out of one
matrix.
"""

from core.architectures.blocks import (
    Sizes,
    embeddings,
    keep_dividing,
    linear,
    norm,
    read_context,
    read_sizes,
)
from core.architectures.tensors import Model, Tensor
from core.config_reader import ConfigError, Fields

IN_ONE = "W_Q, W_K and W_V in one"


def gpt2(fields: Fields) -> Model:
    """GPT-2, whose matrices stand the other way round: a row for each number that goes in."""
    sizes = _gpt2_sizes(fields)
    n, d = sizes.n_layers, sizes.d_model
    d_ff = fields.optional_size("n_inner", default=None) or 4 * d
    n_context = fields.size(fields.name_of("n_positions", "max_position_embeddings"), "tokens")
    if fields.flag("add_cross_attention", default=False):
        raise ConfigError(
            "add_cross_attention must be false: attention to a second text is not counted here."
        )
    at = "transformer.h.*"
    tensors = [
        *embeddings(
            sizes,
            "transformer.wte",
            "lm_head",
            tied=fields.flag("tie_word_embeddings", default=True),
        ),
        *linear("embeddings", "W_P, position to vector", "transformer.wpe", (n_context, d)),
        *linear("attention", IN_ONE, f"{at}.attn.c_attn", (d, 3 * d), biases=3 * d, n_layers=n),
        *linear("attention", "W_O, output", f"{at}.attn.c_proj", (d, d), biases=d, n_layers=n),
        *linear("feed-forward", "W_up, up", f"{at}.mlp.c_fc", (d, d_ff), biases=d_ff, n_layers=n),
        *linear(
            "feed-forward", "W_down, down", f"{at}.mlp.c_proj", (d_ff, d), biases=d, n_layers=n
        ),
        *norm(f"{at}.ln_1", "norm before attention", d, shift=True, n_layers=n),
        *norm(f"{at}.ln_2", "norm before feed-forward", d, shift=True, n_layers=n),
        *norm("transformer.ln_f", "final norm", d, shift=True),
    ]
    return _model(sizes, tensors, n_context)


def gpt_neox(fields: Fields) -> Model:
    """GPT-NeoX and Pythia."""
    n_heads = fields.size("num_attention_heads")
    sizes = read_sizes(fields, n_kv_heads=n_heads, has_head_dim=False)
    n, d = sizes.n_layers, sizes.d_model
    d_ff = fields.size("intermediate_size")
    biased = fields.flag("attention_bias", default=True)
    at = "gpt_neox.layers.*"
    tensors = [
        *embeddings(
            sizes,
            "gpt_neox.embed_in",
            "embed_out",
            tied=fields.flag("tie_word_embeddings", default=False),
        ),
        *linear(
            "attention",
            IN_ONE,
            f"{at}.attention.query_key_value",
            (3 * d, d),
            biases=3 * d * biased,
            n_layers=n,
        ),
        *linear(
            "attention",
            "W_O, output",
            f"{at}.attention.dense",
            (d, d),
            biases=d * biased,
            n_layers=n,
        ),
        *plain_feed_forward(f"{at}.mlp", d, d_ff, biased=True, n_layers=n),
        *norm(f"{at}.input_layernorm", "norm before attention", d, shift=True, n_layers=n),
        *norm(
            f"{at}.post_attention_layernorm", "norm before feed-forward", d, shift=True, n_layers=n
        ),
        *norm("gpt_neox.final_layer_norm", "final norm", d, shift=True),
    ]
    return _model(sizes, tensors, read_context(fields))


def plain_feed_forward(
    at: str,
    d_model: int,
    d_ff: int,
    *,
    biased: bool,
    n_layers: int,
    names: tuple[str, str] = ("dense_h_to_4h", "dense_4h_to_h"),
) -> list[Tensor]:
    """Return the two matrices of a feed-forward block without a gate."""
    up, down = names
    return [
        *linear(
            "feed-forward",
            "W_up, up",
            f"{at}.{up}",
            (d_ff, d_model),
            biases=d_ff * biased,
            n_layers=n_layers,
        ),
        *linear(
            "feed-forward",
            "W_down, down",
            f"{at}.{down}",
            (d_model, d_ff),
            biases=d_model * biased,
            n_layers=n_layers,
        ),
    ]


def _gpt2_sizes(fields: Fields) -> Sizes:
    width = fields.name_of("n_embd", "hidden_size")
    heads = fields.name_of("n_head", "num_attention_heads")
    d_model, n_heads = fields.size(width), fields.size(heads)
    keep_dividing(heads, n_heads, width, d_model)
    return Sizes(
        n_layers=fields.size(fields.name_of("n_layer", "num_hidden_layers"), "layers"),
        d_model=d_model,
        n_vocab=fields.size("vocab_size", "tokens"),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=d_model // n_heads,
    )


def _model(sizes: Sizes, tensors: list[Tensor], n_context: int | None) -> Model:
    return Model(
        tensors=tuple(tensors),
        looking=sizes.looking,
        windows=(None,) * sizes.n_layers,
        d_model=sizes.d_model,
        n_vocab=sizes.n_vocab,
        n_context=n_context,
    )
