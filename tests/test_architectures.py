"""Every family against published totals, an enumeration layer by layer, and the ledger of GPT-3."""

import json
import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.architectures import FAMILIES, read_model
from core.architectures.tensors import MOST_PARAMETERS
from core.config_reader import ConfigError, read_config
from core.ledger import PARTS, ModelConfig, count_parameters
from core.model_presets import preset, presets
from core.published import published_models
from tests.published_configs import PUBLISHED

PRESETS = {preset.name: json.loads(preset.text) for preset in presets()}


def counted(config):
    return read_model(read_config(json.dumps(config)))


def refusal(config):
    with pytest.raises(ConfigError) as caught:
        counted(config)
    return str(caught.value)


# Published totals.


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_a_preset_comes_out_to_its_published_total(preset):
    difference = preset.model.total - preset.total_parameters
    if preset.name == "Falcon-7B":
        table = 65_024 * 4_544  # the published file holds it twice, the model has it once
        assert difference == -table
        assert preset.difference
        untied = json.loads(preset.text) | {"tie_word_embeddings": False}
        assert counted(untied).total == preset.total_parameters
    else:
        assert difference == 0
        assert not preset.difference


@pytest.mark.parametrize("name", [name for name, (_, total) in PUBLISHED.items() if total])
def test_other_published_totals(name):
    config, total = PUBLISHED[name]
    assert counted(config).total == total


@pytest.mark.parametrize(
    ("name", "config", "low", "high"),
    [
        # What their makers print, to its own rounding.
        ("Mixtral-8x7B-v0.1", None, 12.5, 13.5),  # Jiang et al. 2024: 13B active
        ("Qwen3-30B-A3B", None, 3.25, 3.45),  # Qwen Team 2025: 3.3B activated
        ("DeepSeek-V3", None, 36.5, 37.6),  # DeepSeek-AI 2024: 37B
        ("DeepSeek-V2", PUBLISHED["DeepSeek-V2"][0], 20.5, 21.5),  # DeepSeek-AI 2024: 21B
        ("Qwen1.5-MoE-A2.7B", PUBLISHED["Qwen1.5-MoE-A2.7B"][0], 2.65, 2.75),
    ],
)
def test_active_parameters_as_printed(name, config, low, high):
    model = counted(config or PRESETS[name])
    assert low * 10**9 <= model.active <= high * 10**9


def test_every_family_has_a_published_model():
    seen = {config["model_type"] for config in PRESETS.values()}
    seen |= {config["model_type"] for config, _ in PUBLISHED.values()}
    assert seen == set(FAMILIES)


# The ledger of GPT-3, which counts the same in another way.

LIKE = {
    "GPT-2": "gpt2",
    "Llama": "llama",
    "Gemma-7B": "gemma",
    "Gemma-2": "gemma2",
    "Qwen2.5": "qwen2",
}


def as_file(c: ModelConfig) -> dict:
    kind = next(kind for name, kind in LIKE.items() if c.model.startswith(name))
    if kind == "gpt2":
        return {
            "model_type": kind,
            "n_embd": c.d_model,
            "n_layer": c.n_layers,
            "n_head": c.n_heads,
            "n_inner": c.d_ff,
            "n_positions": c.n_context_learned,
            "vocab_size": c.n_vocab,
        }
    return {
        "model_type": kind,
        "hidden_size": c.d_model,
        "num_hidden_layers": c.n_layers,
        "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_kv_heads,
        "head_dim": c.d_head,
        "intermediate_size": c.d_ff,
        "vocab_size": c.n_vocab,
        "tie_word_embeddings": c.tied_embedding,
    }


@pytest.mark.parametrize("published", published_models(), ids=lambda p: p.config.model)
def test_every_part_is_the_ledgers(published):
    ledger, model = count_parameters(published.config), counted(as_file(published.config))
    assert {part: model.part(part) for part in PARTS} == {part: ledger.part(part) for part in PARTS}
    assert model.total == published.total_parameters


# An enumeration, layer by layer and expert by expert, as a checkpoint lists its tensors.


class Listed(dict):
    """Tensors by full name; those of experts a token is not sent to are left out of ``active``."""

    def __init__(self):
        super().__init__()
        self.active = 0

    def add(self, name, *shape, idle=False):
        assert name not in self
        self[name] = shape
        self.active += 0 if idle else math.prod(shape)

    def linear(self, name, n_out, n_in, *, bias=False, idle=False):
        self.add(f"{name}.weight", n_out, n_in, idle=idle)
        if bias:
            self.add(f"{name}.bias", n_out, idle=idle)

    def layer_norm(self, name, size):
        self.add(f"{name}.weight", size)
        self.add(f"{name}.bias", size)

    def gated(self, at, d, d_ff, names=("gate_proj", "up_proj", "down_proj"), *, idle=False):
        self.linear(f"{at}.{names[0]}", d_ff, d, idle=idle)
        self.linear(f"{at}.{names[1]}", d_ff, d, idle=idle)
        self.linear(f"{at}.{names[2]}", d, d_ff, idle=idle)


def list_mixtral(c):
    t, d, heads = Listed(), c["hidden_size"], c["num_attention_heads"]
    size = d // heads
    t.add("model.embed_tokens.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}"
        t.linear(f"{at}.self_attn.q_proj", heads * size, d)
        t.linear(f"{at}.self_attn.k_proj", c["num_key_value_heads"] * size, d)
        t.linear(f"{at}.self_attn.v_proj", c["num_key_value_heads"] * size, d)
        t.linear(f"{at}.self_attn.o_proj", d, heads * size)
        t.linear(f"{at}.block_sparse_moe.gate", c["num_local_experts"], d)
        for j in range(c["num_local_experts"]):
            idle = j >= c["num_experts_per_tok"]
            where = f"{at}.block_sparse_moe.experts.{j}"
            t.gated(where, d, c["intermediate_size"], ("w1", "w3", "w2"), idle=idle)
        t.add(f"{at}.input_layernorm.weight", d)
        t.add(f"{at}.post_attention_layernorm.weight", d)
    t.add("model.norm.weight", d)
    t.add("lm_head.weight", c["vocab_size"], d)
    return t


def list_qwen2_moe(c):
    t, d, heads = Listed(), c["hidden_size"], c["num_attention_heads"]
    size = d // heads
    t.add("model.embed_tokens.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}"
        for name, n in (("q", heads), ("k", c["num_key_value_heads"])):
            t.linear(f"{at}.self_attn.{name}_proj", n * size, d, bias=True)
        t.linear(f"{at}.self_attn.v_proj", c["num_key_value_heads"] * size, d, bias=True)
        t.linear(f"{at}.self_attn.o_proj", d, heads * size)
        if i in c["mlp_only_layers"] or (i + 1) % c["decoder_sparse_step"]:
            t.gated(f"{at}.mlp", d, c["intermediate_size"])
        else:
            t.linear(f"{at}.mlp.gate", c["num_experts"], d)
            for j in range(c["num_experts"]):
                idle = j >= c["num_experts_per_tok"]
                t.gated(f"{at}.mlp.experts.{j}", d, c["moe_intermediate_size"], idle=idle)
            t.gated(f"{at}.mlp.shared_expert", d, c["shared_expert_intermediate_size"])
            t.linear(f"{at}.mlp.shared_expert_gate", 1, d)
        t.add(f"{at}.input_layernorm.weight", d)
        t.add(f"{at}.post_attention_layernorm.weight", d)
    t.add("model.norm.weight", d)
    t.add("lm_head.weight", c["vocab_size"], d)
    return t


def list_deepseek(c):
    t, d, heads = Listed(), c["hidden_size"], c["num_attention_heads"]
    content, turned, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    rank = c["kv_lora_rank"]
    t.add("model.embed_tokens.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}.self_attn"
        if c["q_lora_rank"] is None:
            t.linear(f"{at}.q_proj", heads * (content + turned), d)
        else:
            t.linear(f"{at}.q_a_proj", c["q_lora_rank"], d)
            t.add(f"{at}.q_a_layernorm.weight", c["q_lora_rank"])
            t.linear(f"{at}.q_b_proj", heads * (content + turned), c["q_lora_rank"])
        t.linear(f"{at}.kv_a_proj_with_mqa", rank + turned, d)
        t.add(f"{at}.kv_a_layernorm.weight", rank)
        t.linear(f"{at}.kv_b_proj", heads * (content + value), rank)
        t.linear(f"{at}.o_proj", d, heads * value)
        at = f"model.layers.{i}"
        if i < c["first_k_dense_replace"]:
            t.gated(f"{at}.mlp", d, c["intermediate_size"])
        else:
            t.linear(f"{at}.mlp.gate", c["n_routed_experts"], d)
            if c["model_type"] == "deepseek_v3":
                t.add(f"{at}.mlp.gate.e_score_correction_bias", c["n_routed_experts"])
            for j in range(c["n_routed_experts"]):
                idle = j >= c["num_experts_per_tok"]
                t.gated(f"{at}.mlp.experts.{j}", d, c["moe_intermediate_size"], idle=idle)
            if c["n_shared_experts"]:
                width = c["n_shared_experts"] * c["moe_intermediate_size"]
                t.gated(f"{at}.mlp.shared_experts", d, width)
        t.add(f"{at}.input_layernorm.weight", d)
        t.add(f"{at}.post_attention_layernorm.weight", d)
    t.add("model.norm.weight", d)
    t.add("lm_head.weight", c["vocab_size"], d)
    return t


def list_falcon(c):
    t, d, heads = Listed(), c["hidden_size"], c["num_attention_heads"]
    size, is_new = d // heads, c["new_decoder_architecture"]
    kv_heads = c["num_kv_heads"] if is_new else 1 if c["multi_query"] else heads
    t.add("transformer.word_embeddings.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"transformer.h.{i}"
        width = heads * size + kv_heads * size + kv_heads * size
        t.linear(f"{at}.self_attention.query_key_value", width, d, bias=c["bias"])
        t.linear(f"{at}.self_attention.dense", d, d, bias=c["bias"])
        t.linear(f"{at}.mlp.dense_h_to_4h", 4 * d, d, bias=c["bias"])
        t.linear(f"{at}.mlp.dense_4h_to_h", d, 4 * d, bias=c["bias"])
        if is_new:
            t.layer_norm(f"{at}.ln_attn", d)
            t.layer_norm(f"{at}.ln_mlp", d)
        else:
            t.layer_norm(f"{at}.input_layernorm", d)
            if not c["parallel_attn"]:
                t.layer_norm(f"{at}.post_attention_layernorm", d)
    t.layer_norm("transformer.ln_f", d)
    return t


def list_phi(c):
    t, d, heads = Listed(), c["hidden_size"], c["num_attention_heads"]
    size, d_ff = d // heads, c["intermediate_size"]
    t.add("model.embed_tokens.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}"
        t.linear(f"{at}.self_attn.q_proj", d, d, bias=True)
        for name in ("k_proj", "v_proj"):
            t.linear(f"{at}.self_attn.{name}", c["num_key_value_heads"] * size, d, bias=True)
        t.linear(f"{at}.self_attn.dense", d, d, bias=True)
        if c["qk_layernorm"]:
            t.layer_norm(f"{at}.self_attn.q_layernorm", size)
            t.layer_norm(f"{at}.self_attn.k_layernorm", size)
        t.linear(f"{at}.mlp.fc1", d_ff, d, bias=True)
        t.linear(f"{at}.mlp.fc2", d, d_ff, bias=True)
        t.layer_norm(f"{at}.input_layernorm", d)
    t.layer_norm("model.final_layernorm", d)
    t.linear("lm_head", c["vocab_size"], d, bias=True)
    return t


def list_phi3(c):
    t, d, heads = Listed(), c["hidden_size"], c["num_attention_heads"]
    size, d_ff = d // heads, c["intermediate_size"]
    t.add("model.embed_tokens.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}"
        width = heads * size + 2 * c["num_key_value_heads"] * size
        t.linear(f"{at}.self_attn.qkv_proj", width, d)
        t.linear(f"{at}.self_attn.o_proj", d, heads * size)
        t.linear(f"{at}.mlp.gate_up_proj", d_ff + d_ff, d)
        t.linear(f"{at}.mlp.down_proj", d, d_ff)
        t.add(f"{at}.input_layernorm.weight", d)
        t.add(f"{at}.post_attention_layernorm.weight", d)
    t.add("model.norm.weight", d)
    t.add("lm_head.weight", c["vocab_size"], d)
    return t


def list_gpt_neox(c):
    t, d, d_ff = Listed(), c["hidden_size"], c["intermediate_size"]
    t.add("gpt_neox.embed_in.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"gpt_neox.layers.{i}"
        t.linear(f"{at}.attention.query_key_value", d + d + d, d, bias=True)
        t.linear(f"{at}.attention.dense", d, d, bias=True)
        t.linear(f"{at}.mlp.dense_h_to_4h", d_ff, d, bias=True)
        t.linear(f"{at}.mlp.dense_4h_to_h", d, d_ff, bias=True)
        t.layer_norm(f"{at}.input_layernorm", d)
        t.layer_norm(f"{at}.post_attention_layernorm", d)
    t.layer_norm("gpt_neox.final_layer_norm", d)
    t.add("embed_out.weight", c["vocab_size"], d)
    return t


def list_qwen3(c):
    t, d, heads, size = Listed(), c["hidden_size"], c["num_attention_heads"], c["head_dim"]
    t.add("model.embed_tokens.weight", c["vocab_size"], d)
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}"
        t.linear(f"{at}.self_attn.q_proj", heads * size, d)
        t.linear(f"{at}.self_attn.k_proj", c["num_key_value_heads"] * size, d)
        t.linear(f"{at}.self_attn.v_proj", c["num_key_value_heads"] * size, d)
        t.linear(f"{at}.self_attn.o_proj", d, heads * size)
        t.add(f"{at}.self_attn.q_norm.weight", size)
        t.add(f"{at}.self_attn.k_norm.weight", size)
        t.gated(f"{at}.mlp", d, c["intermediate_size"])
        t.add(f"{at}.input_layernorm.weight", d)
        t.add(f"{at}.post_attention_layernorm.weight", d)
    t.add("model.norm.weight", d)
    t.add("lm_head.weight", c["vocab_size"], d)
    return t


LISTS = {
    "mixtral": list_mixtral,
    "qwen2_moe": list_qwen2_moe,
    "deepseek_v2": list_deepseek,
    "deepseek_v3": list_deepseek,
    "falcon": list_falcon,
    "phi": list_phi,
    "phi3": list_phi3,
    "gpt_neox": list_gpt_neox,
    "qwen3": list_qwen3,
}


@st.composite
def files(draw, kind):
    n_kv_heads = draw(st.integers(1, 3))
    n_heads = n_kv_heads * draw(st.integers(1, 3))
    n_experts = draw(st.integers(2, 5))
    small = st.integers(1, 12)
    return {
        "model_type": kind,
        "hidden_size": n_heads * draw(small),
        "num_hidden_layers": draw(st.integers(1, 4)),
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads,
        "intermediate_size": draw(small),
        "vocab_size": draw(small),
        "num_local_experts": n_experts,
        "num_experts": n_experts,
        "n_routed_experts": n_experts,
        "num_experts_per_tok": draw(st.integers(1, n_experts)),
        "moe_intermediate_size": draw(small),
        "shared_expert_intermediate_size": draw(small),
        "n_shared_experts": draw(st.none() | st.integers(0, 2)),
        "first_k_dense_replace": draw(st.integers(0, 5)),
        "decoder_sparse_step": draw(st.integers(1, 2)),
        "mlp_only_layers": draw(st.lists(st.integers(0, 3), max_size=2)),
        "q_lora_rank": draw(st.none() | small),
        "kv_lora_rank": draw(small),
        "qk_nope_head_dim": draw(small),
        "qk_rope_head_dim": draw(small),
        "v_head_dim": draw(small),
        "new_decoder_architecture": draw(st.booleans()),
        "multi_query": draw(st.booleans()),
        "parallel_attn": draw(st.booleans()) if kind != "falcon" else True,
        "bias": draw(st.booleans()),
        "num_kv_heads": n_kv_heads,
        "qk_layernorm": draw(st.booleans()),
        "tie_word_embeddings": kind == "falcon",
    } | ({"head_dim": draw(small)} if kind == "qwen3" else {})


@pytest.mark.parametrize("kind", LISTS)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_every_tensor_is_listed_once(kind, data):
    config = data.draw(files(kind))
    listed, model = LISTS[kind](config), counted(config)
    found = Counter()
    for name, shape in listed.items():
        found[re.sub(r"\.\d+", ".*", name), shape] += 1
    assert found == {
        (tensor.name, tensor.shape): (tensor.n_layers or 1) * tensor.n_experts
        for tensor in model.tensors
    }
    assert model.total == sum(math.prod(shape) for shape in listed.values())
    assert model.active == listed.active


def test_falcons_old_decoder_one_after_the_other():
    config = PRESETS["Falcon-7B"] | {"parallel_attn": False, "multi_query": False, "bias": True}
    small = config | {"hidden_size": 12, "num_attention_heads": 3, "vocab_size": 5}
    assert counted(small).total == sum(map(math.prod, list_falcon(small).values()))


# Invariants.


@pytest.mark.parametrize("name", PRESETS)
def test_parts_add_up_and_no_more_works_than_there_is(name):
    model = counted(PRESETS[name])
    assert sum(model.part(part) for part in PARTS) == model.total
    assert sum(model.active_part(part) for part in PARTS) == model.active <= model.total
    assert model.has_experts == ("expert" in json.dumps(PRESETS[name]))
    assert model.n_layers == len(model.windows)


@pytest.mark.parametrize("name", ["Mixtral-8x7B-v0.1", "Qwen3-30B-A3B", "DeepSeek-V3"])
def test_sent_to_every_expert_all_parameters_work(name):
    config = PRESETS[name]
    n_experts = next(
        config[key]
        for key in ("num_local_experts", "num_experts", "n_routed_experts")
        if key in config
    )
    model = counted(config | {"num_experts_per_tok": n_experts})
    assert model.active == model.total
    assert not model.has_experts


@pytest.mark.parametrize("kind", ["llama", "phi", "phi3"])
def test_key_value_heads_default_to_heads(kind):
    config = next(c for c in PRESETS.values() if c["model_type"] == kind)
    without = {key: value for key, value in config.items() if key != "num_key_value_heads"}
    full = counted(config | {"num_key_value_heads": config["num_attention_heads"]})
    for absent in (without, without | {"num_key_value_heads": None}):
        assert counted(absent).tensors == full.tensors


def test_the_size_of_a_head_defaults_to_an_even_share_or_to_the_familys():
    llama = counted(PRESETS["Llama-3.1-8B"])
    assert llama.looking.d_key == 4096 // 32
    assert counted(PRESETS["Llama-3.1-8B"] | {"head_dim": 64}).looking.d_key == 64
    gemma = {key: value for key, value in PRESETS["Gemma-2-9B"].items() if key != "head_dim"}
    assert counted(gemma).looking.d_key == 256 != 3584 // 16


@pytest.mark.parametrize(
    ("kind", "tied"),
    [("gpt2", True), ("falcon", True), ("gemma2", True), ("llama", False), ("gpt_neox", False)],
)
def test_tables_are_tied_by_the_familys_habit(kind, tied):
    config = next(c for c in PRESETS.values() if c["model_type"] == kind)
    without = {key: value for key, value in config.items() if key != "tie_word_embeddings"}
    tables = [t for t in counted(without).tensors if t.meaning.startswith(("W_E", "W_U"))]
    assert len(tables) == (1 if tied else 2)
    flipped = counted(without | {"tie_word_embeddings": not tied})
    assert len([t for t in flipped.tensors if t.meaning.startswith(("W_E", "W_U"))]) == 3 - len(
        tables
    )


def test_what_was_read_is_kept():
    model = counted(PRESETS["Gemma-2-9B"])
    fields = {name: (value, from_file) for name, value, from_file in model.fields}
    assert model.model_type == "gemma2"
    assert fields["head_dim"] == (256, True)
    assert fields["tie_word_embeddings"] == (True, False)


DEFAULTS = {
    # As the classes of transformers 5.24 have them.
    "Mistral-7B-v0.1": {"num_key_value_heads": 8, "sliding_window": 4096},
    "Mixtral-8x7B-v0.1": {"num_key_value_heads": 8},
    "Qwen2.5-7B": {"num_key_value_heads": 32, "max_window_layers": 28, "sliding_window": 4096},
    "Qwen3-30B-A3B": {"num_key_value_heads": 4, "decoder_sparse_step": 1, "mlp_only_layers": []},
    "Qwen3-8B": {"num_key_value_heads": 32, "head_dim": 128, "attention_bias": False},
    "Qwen1.5-MoE-A2.7B": {"num_key_value_heads": 16, "decoder_sparse_step": 1, "qkv_bias": True},
    "Gemma-2-9B": {"num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096},
    "Gemma-7B": {"num_key_value_heads": 16, "head_dim": 256},
    "GPT-2 small": {"n_inner": 4 * 768, "add_cross_attention": False},
    "GPT-NeoX-20B": {"attention_bias": True},
    "Falcon-7B": {
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "new_decoder_architecture": False,
        "ffn_hidden_size": 4 * 4544,
    },
    "Falcon-40B": {"num_ln_in_parallel_attn": 2, "ffn_hidden_size": 4 * 8192},
    "Phi-2": {"qk_layernorm": False},
    "DeepSeek-V2": {
        "n_shared_experts": 2,
        "q_lora_rank": 1536,
        "moe_layer_freq": 1,
        "first_k_dense_replace": 0,
    },
    "DeepSeek-V3": {
        "n_shared_experts": 1,
        "q_lora_rank": 1536,
        "moe_layer_freq": 1,
        "first_k_dense_replace": 3,
        "attention_bias": False,
    },
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_missing_takes_the_familys_default(name):
    config = PRESETS[name] if name in PRESETS else PUBLISHED[name][0]
    if name == "Qwen2.5-7B":  # whose default of 32 key-value heads wants 32 heads, and a window
        config = config | {"num_attention_heads": 32, "use_sliding_window": True, "head_dim": 8}
    if name == "Qwen3-8B":
        assert DEFAULTS[name]["num_key_value_heads"] != config["num_key_value_heads"]
    for field, value in DEFAULTS[name].items():
        rest = {key: old for key, old in config.items() if key != field}
        given, absent = counted(rest | {field: value}), counted(rest)
        assert (absent.tensors, absent.windows) == (given.tensors, given.windows), field
        assert (field, value, True) in given.fields, field
        other = not value if isinstance(value, bool) else [1] if value == [] else 2 * (value or 1)
        said = outcome(rest | {field: other})
        assert said or counted(rest | {field: other}).tensors != given.tensors or "window" in field


# Windows.


def test_windows_as_the_families_have_them():
    assert set(counted(PRESETS["Llama-3.1-8B"]).windows) == {None}
    assert set(counted(PRESETS["Mistral-7B-v0.1"]).windows) == {4096}
    assert set(counted(PRESETS["Mixtral-8x7B-v0.1"]).windows) == {None}
    assert set(counted(PRESETS["Phi-3-mini-4k"]).windows) == {2047}
    assert counted(PRESETS["Gemma-2-9B"]).windows == (4096, None) * 21
    assert set(counted(PRESETS["Qwen2.5-7B"]).windows) == {None}
    late = PRESETS["Qwen2.5-7B"] | {"use_sliding_window": True, "max_window_layers": 20}
    assert counted(late).windows == (None,) * 20 + (131_072,) * 8
    without = {key: v for key, v in PRESETS["Mistral-7B-v0.1"].items() if key != "sliding_window"}
    assert set(counted(without).windows) == {4096}
    assert set(counted(without | {"sliding_window": None}).windows) == {None}


def test_windows_of_a_mixture_as_the_library_has_them():
    config = PUBLISHED["Qwen1.5-MoE-A2.7B"][0] | {"use_sliding_window": True, "sliding_window": 9}
    assert counted(config | {"max_window_layers": 3}).windows == (9, None, 9) + (None,) * 21
    assert counted(config).windows == (9, None) * 12
    later = PRESETS["Qwen3-30B-A3B"] | {"use_sliding_window": True, "sliding_window": 9}
    assert set(counted(later).windows) == {9}


def test_every_other_layer_may_be_a_mixture():
    config = PUBLISHED["DeepSeek-V2-Lite"][0]
    router = counted(config | {"moe_layer_freq": 2}).tensors
    assert next(t.n_layers for t in router if t.meaning == "W_route, router") == 13  # 2, 4 … 26


def test_types_of_layers_that_are_written_down_go_first():
    types = ["full_attention"] * 3 + ["sliding_attention"] * 39
    model = counted(PRESETS["Gemma-2-9B"] | {"layer_types": types})
    assert model.windows == (None,) * 3 + (4096,) * 39


# Refusals.


def outcome(config):
    """What is said of a file that is refused; nothing of one that is counted."""
    try:
        counted(config)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", PRESETS)
def test_a_missing_field_takes_its_default_or_is_named(name):
    needed = 0
    for field in PRESETS[name]:
        said = outcome({key: value for key, value in PRESETS[name].items() if key != field})
        # A default that does not fit the other sizes is named as well.
        assert said == "" or said.startswith(f"{field} ")
        needed += said == f"{field} is missing: the file must have it."
    assert needed >= 5


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("value", ["4096", -1, 1.5, 10**12, [], {}])
def test_a_field_that_is_no_number_is_named(name, value):
    read = {field for field, _, _ in preset(name).model.fields}
    for field, old in PRESETS[name].items():
        if isinstance(old, int) and not isinstance(old, bool):
            said = outcome(PRESETS[name] | {field: value})
            assert said.startswith(f"{field} must be a whole number") == (field in read)
            assert (said == "") == (field not in read)


@pytest.mark.parametrize("kind", ["bert", "t5", "Llama", "", "*" * 500, "\ud800"])
def test_an_unknown_architecture_is_named(kind):
    said = refusal({"model_type": kind})
    assert said.startswith("model_type must be one of gpt2, gpt_neox, falcon,")
    assert said.endswith("”: this page does not know that architecture.")
    assert said.encode()
    assert len(said) < 400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": 7}, "model_type must be a text, got 7."),
        ({"num_key_value_heads": 5}, "num_key_value_heads must divide num_attention_heads (32), "),
        ({"num_attention_heads": 3, "num_key_value_heads": 3}, "num_attention_heads must divide "),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings must be true or false, got the text"),
        ({"text_config": {"model_type": "llama"}}, "This config.json describes a model of several"),
        ({"num_hidden_layers": 1001}, "num_hidden_layers must be a whole number from 1 to 1,000, "),
    ],
)
def test_what_does_not_go_together(change, said):
    assert refusal(PRESETS["Llama-3.1-8B"] | change).startswith(said)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("Mixtral-8x7B-v0.1", {"num_experts_per_tok": 9}, "number of experts (8), got 9."),
        ("Gemma-2-9B", {"layer_types": ["full_attention"]}, "(42), got 1."),
        ("Gemma-2-9B", {"layer_types": ["linear"] * 42}, "got the text “linear”."),
        ("Gemma-2-9B", {"layer_types": [["x"]] * 42}, "full_attention, got a list."),
        (
            "Qwen2.5-7B",
            {"layer_types": ["sliding_attention"] * 28},
            "as layer_types names sliding_attention, got none.",
        ),
        ("Qwen3-30B-A3B", {"mlp_only_layers": [[1]]}, "whole numbers, got a list."),
        ("GPT-2 small", {"add_cross_attention": True}, "is not counted here."),
        ("GPT-2 small", {"n_head": 7}, "n_head must divide n_embd (768), got 7."),
        ("Falcon-7B", {"new_decoder_architecture": True, "num_kv_heads": 8}, "(71), got 8."),
    ],
)
def test_what_does_not_go_together_in_other_families(name, change, said):
    assert refusal(PRESETS[name] | change).endswith(said)


def test_more_parameters_than_any_model_has():
    said = refusal(
        PRESETS["DeepSeek-V3"] | {"n_routed_experts": 100_000, "moe_intermediate_size": 10**6}
    )
    assert said.startswith("These sizes make ")
    assert f"at most {MOST_PARAMETERS:,} are counted here" in said
    assert said.endswith("Most are in model.layers.*.mlp.experts.*.gate_proj.weight.")


# Notes.


def test_notes_say_what_is_left_out():
    assert counted(PRESETS["Llama-3.1-8B"]).notes == ()
    (further,) = counted(PRESETS["DeepSeek-V3"]).notes
    assert further.startswith("num_nextn_predict_layers is 1: layers that predict a token further")
    packed = counted(PRESETS["Llama-3.1-8B"] | {"quantization_config": {"bits": 4}})
    assert packed.notes[0].startswith("quantization_config: ")
    other = counted(PRESETS["Llama-3.1-8B"] | {"architectures": ["LlamaForTokenClassification"]})
    assert "“LlamaForTokenClassification”" in other.notes[0]
    assert other.total == counted(PRESETS["Llama-3.1-8B"]).total


# Negative control: each habit, miscounted, misses the published total.


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Mistral-7B-v0.1", {"num_key_value_heads": 32}),
        ("Mixtral-8x7B-v0.1", {"num_local_experts": 7}),
        ("Qwen3-30B-A3B", {"head_dim": 64}),
        ("Qwen3-30B-A3B", {"mlp_only_layers": [0]}),
        ("Gemma-2-9B", {"tie_word_embeddings": False}),
        ("GPT-NeoX-20B", {"attention_bias": False}),
        ("GPT-2 small", {"n_positions": 1023}),
        ("Phi-2", {"qk_layernorm": True}),
        ("Phi-3-mini-4k", {"num_key_value_heads": 8}),
        ("DeepSeek-V3", {"first_k_dense_replace": 2}),
        ("DeepSeek-V3", {"n_shared_experts": 0}),
        ("DeepSeek-V3", {"q_lora_rank": None}),
        ("DeepSeek-V3", {"model_type": "deepseek_v2"}),
    ],
)
def test_a_miscount_misses_the_published_total(name, change):
    assert counted(PRESETS[name] | change).total != preset(name).total_parameters


def test_a_tensor_left_out_is_missed():
    model = preset("Llama-3.1-8B").model
    for at in range(len(model.tensors)):
        fewer = replace(model, tensors=model.tensors[:at] + model.tensors[at + 1 :])
        assert fewer.total < preset("Llama-3.1-8B").total_parameters
