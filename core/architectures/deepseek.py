"""DeepSeek V2 and V3: keys and values out of one short vector, and many small experts.

DeepSeek-AI 2024, "DeepSeek-V2", sections 2.1 and 2.2, and "DeepSeek-V3 Technical Report". The
short vector (kv_lora_rank numbers) and a key for the position (qk_rope_head_dim numbers), which
all heads share, are all that a layer has to keep of a token.
"""

from dataclasses import replace

from core.architectures.blocks import Sizes, gated, linear, norm
from core.architectures.experts import routed
from core.architectures.llama import LAYER, assembled
from core.architectures.tensors import Looking, Model, Tensor
from core.config_reader import Fields

_AT = f"{LAYER}.self_attn"


def deepseek_v2(fields: Fields) -> Model:
    """DeepSeek V2 and V2 Lite."""
    return _deepseek(fields, n_plain=0, n_shared=2, corrected=False)


def deepseek_v3(fields: Fields) -> Model:
    """DeepSeek V3 and R1: the router has a bias for each expert, set by a rule while training."""
    model = _deepseek(fields, n_plain=3, n_shared=1, corrected=True)
    name = fields.name_of("num_nextn_predict_layers", "num_mtp_layers")
    n_more = fields.size(name, "layers", default=0, at_least=0)
    if not n_more:
        return model
    note = (
        f"{name} is {n_more}: layers that predict a token further ahead come with the published "
        "weights. They are no part of the main model and are not counted."
    )
    return replace(model, notes=(*model.notes, note))


def _deepseek(fields: Fields, *, n_plain: int, n_shared: int, corrected: bool) -> Model:
    n_heads = fields.size("num_attention_heads")
    d_key = fields.size("qk_nope_head_dim") + fields.size("qk_rope_head_dim")
    sizes = Sizes(
        n_layers=fields.size("num_hidden_layers", "layers"),
        d_model=fields.size("hidden_size"),
        n_vocab=fields.size("vocab_size", "tokens"),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_head=d_key,
    )
    looking = Looking(
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_key=d_key,
        d_value=fields.size("v_head_dim"),
        d_short=fields.size("kv_lora_rank"),
        d_position=fields.size("qk_rope_head_dim"),
    )
    attention = _attention(fields, sizes, looking)
    feed_forward = _feed_forward(
        fields, sizes, n_plain=n_plain, n_shared=n_shared, corrected=corrected
    )
    return replace(assembled(fields, sizes, attention, feed_forward), looking=looking)


def _attention(fields: Fields, sizes: Sizes, looking: Looking) -> list[Tensor]:
    biased = fields.flag("attention_bias", default=False)
    n, d_model = sizes.n_layers, sizes.d_model
    assert looking.d_short is not None
    d_query, d_kept = sizes.n_heads * looking.d_key, looking.d_short + looking.d_position
    d_content = looking.d_key - looking.d_position + looking.d_value  # of a head
    d_values = sizes.n_heads * looking.d_value
    return [
        *_queries(fields, sizes, d_query, biased=biased),
        *linear(
            "attention",
            "W_DKV, to the short vector and the position's key",
            f"{_AT}.kv_a_proj_with_mqa",
            (d_kept, d_model),
            biases=d_kept * biased,
            n_layers=n,
        ),
        *norm(f"{_AT}.kv_a_layernorm", "norm of the short vector", looking.d_short, n_layers=n),
        *linear(
            "attention",
            "W_UK and W_UV, from the short vector to keys and values",
            f"{_AT}.kv_b_proj",
            (sizes.n_heads * d_content, looking.d_short),
            n_layers=n,
        ),
        *linear(
            "attention",
            "W_O, output",
            f"{_AT}.o_proj",
            (d_model, d_values),
            biases=d_model * biased,
            n_layers=n,
        ),
    ]


def _queries(fields: Fields, sizes: Sizes, d_query: int, *, biased: bool) -> list[Tensor]:
    n, d_model = sizes.n_layers, sizes.d_model
    d_short = fields.optional_size("q_lora_rank", default=1536)
    if d_short is None:
        return linear("attention", "W_Q, query", f"{_AT}.q_proj", (d_query, d_model), n_layers=n)
    return [
        *linear(
            "attention",
            "W_DQ, to a short vector for queries",
            f"{_AT}.q_a_proj",
            (d_short, d_model),
            biases=d_short * biased,
            n_layers=n,
        ),
        *norm(f"{_AT}.q_a_layernorm", "norm of that vector", d_short, n_layers=n),
        *linear(
            "attention",
            "W_UQ, from there to queries",
            f"{_AT}.q_b_proj",
            (d_query, d_short),
            n_layers=n,
        ),
    ]


def _feed_forward(
    fields: Fields, sizes: Sizes, *, n_plain: int, n_shared: int, corrected: bool
) -> list[Tensor]:
    first = fields.size("first_k_dense_replace", "layers", default=n_plain, at_least=0)
    step = fields.size("moe_layer_freq", "layers", default=1)
    n_mixed = sum(layer >= first and layer % step == 0 for layer in range(sizes.n_layers))
    at, tensors = f"{LAYER}.mlp", list[Tensor]()
    if n_mixed < sizes.n_layers:
        tensors += gated(
            at,
            sizes.d_model,
            fields.size("intermediate_size"),
            whose=" of a layer without experts",
            n_layers=sizes.n_layers - n_mixed,
        )
    if not n_mixed:
        return tensors
    n_experts, d_ff = (
        fields.size("n_routed_experts", "experts"),
        fields.size("moe_intermediate_size"),
    )
    tensors += routed(fields, sizes, at, n_experts=n_experts, d_ff=d_ff, n_layers=n_mixed)
    if corrected:
        tensors.append(
            Tensor(
                part="biases",
                meaning="bias of W_route, set by a rule",
                name=f"{at}.gate.e_score_correction_bias",
                shape=(n_experts,),
                n_layers=n_mixed,
            )
        )
    shared = fields.optional_size("n_shared_experts", "experts", default=n_shared, at_least=0)
    if shared:
        tensors += gated(
            f"{at}.shared_experts",
            sizes.d_model,
            shared * d_ff,
            whose=" of the shared experts",
            n_layers=n_mixed,
        )
    return tensors
