"""Every family against the transformers library: its tensors, its cache and its multiply-adds.

Run where transformers and torch are installed; the tests elsewhere need neither. Sizes are drawn
odd, so that no two of them can be mistaken for each other.
"""

import json
import random
import re
from collections import Counter

import pytest

from core.architectures import FAMILIES, read_model
from core.config_reader import ConfigError, read_config
from core.model_presets import presets
from core.token_cost import kept_numbers, token_work, unshared_numbers
from tests.published_configs import PUBLISHED

pytestmark = pytest.mark.filterwarnings("default")

SEEDS = range(6)


@pytest.fixture(scope="module")
def library():
    """The library and torch, or a reason to skip."""
    reason = "compares with transformers, which needs torch"
    torch = pytest.importorskip("torch", reason=reason)
    return pytest.importorskip("transformers", reason=reason), torch


def drawn(kind, seed):
    """A config.json of this family with small odd sizes."""
    rng = random.Random(f"{kind} {seed}")
    n_kv_heads = rng.choice([1, 2, 3])
    n_heads = n_kv_heads * rng.choice([1, 2, 3])
    d_head = 4 * rng.randint(1, 4)  # a quarter of it turns with the position in some
    config = {
        "model_type": kind,
        "hidden_size": n_heads * d_head,
        "num_hidden_layers": rng.randint(2, 5),
        "num_attention_heads": n_heads,
        "intermediate_size": rng.randint(9, 70),
        "vocab_size": rng.randint(30, 90),
        "max_position_embeddings": rng.randint(40, 80),
    }

    def flip(*names):
        config.update({name: rng.random() < 0.5 for name in names})

    if kind not in ("gpt_neox", "falcon", "gpt2"):
        config["num_key_value_heads"] = n_kv_heads
    flip("tie_word_embeddings")
    if kind in ("llama", "mistral", "mixtral", "qwen3", "qwen3_moe", "gemma", "gemma2"):
        config["head_dim"] = 2 * rng.randint(2, 9)
    if kind in ("llama", "qwen3", "qwen3_moe", "gemma", "gemma2", "gpt_neox"):
        flip("attention_bias")
    if kind == "llama":
        flip("mlp_bias")
    if kind in ("mistral", "mixtral", "phi3", "gemma2"):
        config["sliding_window"] = rng.choice([7, 16, None]) if kind != "gemma2" else 7
    if kind in ("qwen2", "qwen3", "qwen2_moe", "qwen3_moe"):
        flip("use_sliding_window")
        config |= {"sliding_window": 9, "max_window_layers": rng.randint(0, 5)}
    if kind == "mixtral":
        config |= {"num_local_experts": rng.randint(3, 6), "num_experts_per_tok": 2}
    if kind in ("qwen2_moe", "qwen3_moe"):
        config |= {
            "num_experts": rng.randint(4, 7),
            "num_experts_per_tok": rng.randint(1, 3),
            "moe_intermediate_size": rng.randint(5, 30),
            "decoder_sparse_step": rng.choice([1, 2]),
            "mlp_only_layers": rng.choice([[], [1]]),
        }
    if kind == "qwen2_moe":
        flip("qkv_bias")
        config["shared_expert_intermediate_size"] = rng.randint(5, 30)
    if kind.startswith("deepseek"):
        n_groups = 2
        config |= {
            "num_key_value_heads": n_heads,
            "q_lora_rank": rng.choice([None, rng.randint(5, 11)]),
            "kv_lora_rank": 2 * rng.randint(3, 6),
            "qk_nope_head_dim": 2 * rng.randint(2, 4),
            "qk_rope_head_dim": 2 * rng.randint(1, 3),
            "v_head_dim": rng.randint(3, 9),
            "n_routed_experts": n_groups * rng.randint(2, 4),
            "n_shared_experts": rng.randint(1, 3),
            "num_experts_per_tok": 2,
            "first_k_dense_replace": rng.randint(0, 2),
            "moe_intermediate_size": rng.randint(5, 30),
            "n_group": n_groups,
            "topk_group": 1,
        }
        flip("attention_bias")
    if kind == "falcon":
        flip("new_decoder_architecture", "multi_query", "parallel_attn", "bias")
        is_new = config["new_decoder_architecture"]
        config |= {
            "num_kv_heads": n_kv_heads if is_new else None,
            "ffn_hidden_size": rng.choice([None, rng.randint(9, 70)]),
            # The library builds other combinations with the old decoder, but cannot run them.
            "num_ln_in_parallel_attn": rng.choice([None, 1, 2] if is_new else [None, 1]),
            "parallel_attn": config["parallel_attn"] or is_new,
        }
        del config["intermediate_size"]
    if kind == "phi":
        flip("qk_layernorm")
    if kind == "gpt2":
        config = {
            "model_type": "gpt2",
            "n_embd": config["hidden_size"],
            "n_head": n_heads,
            "n_layer": config["num_hidden_layers"],
            "n_inner": rng.choice([None, config["intermediate_size"]]),
            "n_positions": config["max_position_embeddings"],
            "vocab_size": config["vocab_size"],
            "tie_word_embeddings": config["tie_word_embeddings"],
        }
    return config


def built(library, config, device="meta"):
    transformers, torch = library
    fields = {name: value for name, value in config.items() if name != "model_type"}
    if config["model_type"] == "phi3":
        fields["pad_token_id"] = 0  # the library's own default lies beyond a small vocabulary
    made = transformers.CONFIG_MAPPING[config["model_type"]](**fields)
    with torch.device(device):
        return transformers.AutoModelForCausalLM.from_config(
            made, attn_implementation="eager", experts_implementation="eager"
        )


def counted(config):
    return read_model(read_config(json.dumps(config)))


def by_name(module):
    """Parameters by name, the numbers of layers left out."""
    found = Counter()
    extra = [(n, b) for n, b in module.named_buffers() if n.endswith("e_score_correction_bias")]
    for name, tensor in (*module.named_parameters(), *extra):
        found[re.sub(r"\.\d+\.", ".*.", name)] += tensor.numel()
    return dict(found)


def as_in_memory(model):
    """The counted tensors by the names the library has once a checkpoint is loaded.

    It stacks the experts of a layer, and joins their first two matrices.
    """
    found = Counter()
    for tensor in model.tensors:
        name = tensor.name.replace("embed_out", "lm_head").replace("block_sparse_moe", "mlp")
        name = re.sub(
            r"experts\.\*\.(w1|w3|gate_proj|up_proj)\.weight", "experts.gate_up_proj", name
        )
        name = re.sub(r"experts\.\*\.(w2|down_proj)\.weight", "experts.down_proj", name)
        found[name] += tensor.total
    return dict(found)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", FAMILIES)
def test_every_tensor_of_a_small_model(library, kind, seed):
    config = drawn(kind, seed)
    assert as_in_memory(counted(config)) == by_name(built(library, config))


@pytest.mark.parametrize("kind", FAMILIES)
def test_shapes_are_those_in_memory(library, kind):
    config = drawn(kind, 0)
    module = built(library, config)
    shapes = {re.sub(r"\.\d+\.", ".*.", n): tuple(p.shape) for n, p in module.named_parameters()}
    compared = 0
    for tensor in counted(config).tensors:
        if tensor.n_experts == 1 and tensor.name in shapes:
            assert shapes[tensor.name] == tensor.shape, tensor.name
            compared += 1
    assert compared >= 8


@pytest.mark.parametrize("name", [*(p.name for p in presets()), *PUBLISHED])
def test_every_published_model(library, name):
    texts = {preset.name: preset.text for preset in presets()}
    config = json.loads(texts[name]) if name in texts else PUBLISHED[name][0]
    fields = {key: value for key, value in config.items() if key not in ("architectures", "n_ctx")}
    assert as_in_memory(counted(config)) == by_name(built(library, fields))


def lacking(config):
    """The field that is missing, if one is."""
    try:
        counted(config)
    except ConfigError as error:
        return str(error).split()[0]
    return None


@pytest.mark.parametrize("kind", FAMILIES)
def test_what_is_missing_takes_the_librarys_default(library, kind):
    """Only what has no default in core is given; the library fills in the rest."""
    transformers, _ = library
    default = transformers.CONFIG_MAPPING[kind]()
    needed = {"model_type": kind}
    while (name := lacking(needed)) is not None:
        assert name not in needed
        # DeepSeek V2 needs a number of experts that the library leaves open.
        needed[name] = 2 if getattr(default, name) is None else getattr(default, name)
    if kind == "gpt2":
        needed |= {"n_layer": 2}
    else:
        needed |= {"num_hidden_layers": 2}
    assert as_in_memory(counted(needed)) == by_name(built(library, needed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["gemma2", "qwen2", "qwen3", "qwen2_moe"])
def test_windows_are_the_librarys(library, kind, seed):
    transformers, _ = library
    config = drawn(kind, seed)
    fields = {name: value for name, value in config.items() if name != "model_type"}
    made = transformers.CONFIG_MAPPING[kind](**fields)
    expected = tuple(
        made.sliding_window if layer == "sliding_attention" else None for layer in made.layer_types
    )
    assert counted(config).windows == expected
    # The library's own file, which names every layer's type, says the same.
    again = {name: made.to_dict()[name] for name in (*fields, "layer_types")} | {"model_type": kind}
    assert counted(again).windows == expected


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.parametrize("kind", FAMILIES)
def test_the_cache_holds_what_is_counted(library, kind, seed):
    _, torch = library
    config = drawn(kind, seed)
    module = built(library, config, "cpu")
    n = 6  # within every window, so that no program's handling of windows matters
    with torch.no_grad():
        cache = module(torch.zeros((1, n), dtype=torch.long), use_cache=True).past_key_values
    kept = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
    model = counted(config)
    if config.get("new_decoder_architecture"):
        # The library repeats the keys of a group for each of its heads before it keeps them.
        assert kept == unshared_numbers(model, n)
    else:
        assert kept == kept_numbers(model, n)


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.parametrize("kind", FAMILIES)
def test_multiply_adds_are_those_that_run(library, kind, seed):
    """All n tokens at once, nothing skipped that the mask forbids: n times the cost of the last."""
    _, torch = library
    counter = pytest.importorskip("torch.utils.flop_counter")
    config = drawn(kind, seed)
    module = built(library, config, "cpu")
    n = 6
    with torch.no_grad(), counter.FlopCounterMode(display=False) as flops:
        module(torch.zeros((1, n), dtype=torch.long), use_cache=False)
    ours = token_work(counted(config), n, compressed=False).total
    assert flops.get_total_flops() == 2 * n * ours
