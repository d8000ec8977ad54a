"""What a token costs: against slow loops, against a layer that is computed, and in closed form."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.architectures import read_model
from core.architectures.tensors import Looking, Model, Tensor
from core.binary_units import GIB
from core.config_reader import read_config
from core.model_presets import preset, presets
from core.token_cost import (
    cache_bytes,
    crossing,
    kept_numbers,
    token_work,
    tokens_seen,
    unshared_numbers,
    weight_bytes,
)

LLAMA = preset("Llama-3.1-8B").model


@st.composite
def models(draw):
    """A model of two tensors, attention's and feed-forward's, with windows of any kind."""
    n_kv_heads = draw(st.integers(1, 3))
    return Model(
        tensors=(
            Tensor(part="attention", meaning="W", name="a", shape=(draw(st.integers(1, 300)),)),
            Tensor(part="feed-forward", meaning="W", name="f", shape=(draw(st.integers(1, 3000)),)),
        ),
        looking=Looking(
            n_heads=n_kv_heads * draw(st.integers(1, 3)),
            n_kv_heads=n_kv_heads,
            d_key=draw(st.integers(1, 5)),
            d_value=draw(st.integers(1, 5)),
            d_short=draw(st.none() | st.integers(1, 5)),
            d_position=draw(st.integers(0, 3)),
        ),
        windows=tuple(draw(st.lists(st.none() | st.integers(1, 30), min_size=1, max_size=6))),
        d_model=draw(st.integers(1, 9)),
        n_vocab=draw(st.integers(1, 9)),
        n_context=None,
    )


# Worked examples.


def test_llama_by_hand():
    work = token_work(LLAMA, 8192)
    matrices = 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096)
    assert work.matrices == matrices == 1_342_177_280
    assert work.feed_forward == 32 * 3 * 4096 * 14336
    assert work.looking == 32 * 32 * (128 + 128) * 8192
    assert work.output == 128_256 * 4096
    assert work.total == work.attention + work.feed_forward + work.output
    # All its matrices but the token table, which is only looked up.
    assert work.matrices + work.feed_forward + work.output == (
        LLAMA.total - LLAMA.part("norms") - 128_256 * 4096
    )


def test_llama_crosses_at_16384():
    assert crossing(LLAMA) == 16_384
    assert token_work(LLAMA, 16_384).attention == token_work(LLAMA, 16_384).feed_forward
    # The question of the page: four times as many parameters in feed-forward as in attention.
    assert LLAMA.part("feed-forward") / LLAMA.part("attention") == pytest.approx(4.2)


def test_llamas_cache_at_its_whole_context_is_as_large_as_its_weights():
    assert cache_bytes(LLAMA, 1, 16) == 128 * 2**10
    assert cache_bytes(LLAMA, 131_072, 16) == 16 * GIB
    assert cache_bytes(LLAMA, 131_072, 8) == 8 * GIB
    assert cache_bytes(LLAMA, 131_072, 4, sequences=3) == 12 * GIB
    assert weight_bytes(LLAMA, 16) / GIB == pytest.approx(14.96, abs=0.01)


def test_gpt3s_cache_and_crossing_from_the_articles_sizes():
    """GPT-3 has no file; its sizes in GPT-2's are the article's."""
    gpt3 = {"model_type": "gpt2", "n_embd": 12288, "n_layer": 96, "n_head": 96}
    model = read_model(read_config(json.dumps(gpt3 | {"n_positions": 2048, "vocab_size": 50257})))
    assert model.part("attention") == 57_982_058_496
    # 4 d² and 2 n d in attention, 8 d² in feed-forward: they meet at n = 2 d.
    assert crossing(model) == 2 * 12288
    assert kept_numbers(model, 1) == 2 * 96 * 12288


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Mistral-7B-v0.1", None),
        ("Phi-3-mini-4k", None),
        ("Gemma-2-9B", 22_784),
        ("GPT-2 small", 1536),
        ("Falcon-7B", 13_568),
        ("Qwen3-30B-A3B", 2336),
        ("DeepSeek-V3", 1516),
    ],
)
def test_crossings_of_the_presets(name, expected):
    assert crossing(preset(name).model) == expected


def test_experts_cross_earlier_than_the_same_without():
    """A token meets few experts, so attention catches up sooner: twice as many, twice as late."""
    config = json.loads(preset("Qwen3-30B-A3B").text)
    found = [
        crossing(read_model(read_config(json.dumps(config | {"num_experts_per_tok": n}))))
        for n in (4, 8, 16, 128)
    ]
    assert found == sorted(found)
    assert found[0] < 2336 == found[1] < found[2] < found[3] / 8


def test_deepseek_keeps_less_and_looks_longer():
    model = preset("DeepSeek-V3").model
    assert kept_numbers(model, 1) == 61 * (512 + 64)
    assert kept_numbers(model, 1, compressed=False) == 61 * 128 * (128 + 64 + 128)
    assert unshared_numbers(model, 1) == kept_numbers(model, 1, compressed=False)
    assert Fraction(unshared_numbers(model, 1), kept_numbers(model, 1)) == Fraction(640, 9)
    assert model.looking.cost(compressed=True) == 128 * (512 + 64 + 512)
    assert model.looking.cost(compressed=False) == 128 * (192 + 128)
    assert crossing(model) < crossing(model, compressed=False) == 5152


def test_one_key_for_all_heads():
    falcon = preset("Falcon-7B").model
    assert kept_numbers(falcon, 1) == 32 * 2 * 64
    assert unshared_numbers(falcon, 1) == 71 * kept_numbers(falcon, 1)


# Against a layer that is computed: what the short vector costs, and that it gives the same.


class Multiplier:
    """Multiplies matrices and counts the multiply-adds."""

    def __init__(self):
        self.count = 0

    def __call__(self, a, b):
        self.count += a.shape[0] * a.shape[1] * b.shape[1]
        return a @ b


def test_looking_at_short_vectors_gives_the_same_at_the_cost_that_is_counted():
    rng = np.random.default_rng(0)
    n, n_heads, content, turned, value, rank = 7, 3, 5, 2, 4, 6
    short = rng.standard_normal((n, rank))
    position = rng.standard_normal((n, turned))  # one key for the position, for all heads
    w_uk = rng.standard_normal((n_heads, rank, content))
    w_uv = rng.standard_normal((n_heads, rank, value))
    q = rng.standard_normal((n_heads, 1, content + turned))  # of the last token
    written, absorbed, making, bringing = (Multiplier() for _ in range(4))
    for h in range(n_heads):
        keys = np.hstack([short @ w_uk[h], position])  # kept, for all tokens but the last
        making(short[-1:], w_uk[h]), making(short[-1:], w_uv[h])  # for the last
        scores = written(q[h], keys.T)
        out = written(np.exp(scores), short @ w_uv[h])
        brought = bringing(q[h][:, :content], w_uk[h].T)
        same = absorbed(np.hstack([brought, q[h][:, content:]]), np.hstack([short, position]).T)
        np.testing.assert_allclose(same, scores, rtol=1e-12)
        of_short = absorbed(np.exp(same), short)
        np.testing.assert_allclose(bringing(of_short, w_uv[h]), out, rtol=1e-12)
    looking = Looking(
        n_heads=n_heads,
        n_kv_heads=n_heads,
        d_key=content + turned,
        d_value=value,
        d_short=rank,
        d_position=turned,
    )
    assert written.count == n * looking.cost(compressed=False)
    assert absorbed.count == n * looking.cost(compressed=True)
    # Bringing the query to its length and the output back costs what keys and values would have.
    assert bringing.count == making.count
    assert short.size + position.size == n * looking.kept(compressed=True)


# Against slow loops.


@given(models(), st.integers(1, 60), st.booleans())
@settings(max_examples=60, deadline=None)
def test_tokens_one_by_one(model, n, compressed):
    seen = 0
    for window in model.windows:
        for token in range(n):  # is this token still in sight of the last?
            seen += window is None or n - token <= window
    assert tokens_seen(model, n) == seen
    looking = model.looking
    short = compressed and looking.d_short is not None
    kept = 0
    for _ in range(seen):
        if short:
            kept += looking.d_short + looking.d_position
        else:
            kept += looking.n_kv_heads * looking.d_key + looking.n_kv_heads * looking.d_value
    assert kept_numbers(model, n, compressed=compressed) == kept
    work = token_work(model, n, compressed=compressed)
    assert work.looking == seen * looking.cost(compressed=compressed)


@given(models(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_crossing_is_the_first_token_that_looks_as_long_as_feed_forward_takes(
    model, compressed
):
    def reached(n):
        work = token_work(model, n, compressed=compressed)
        return work.attention >= work.feed_forward

    far = 3100  # beyond any window here, and any feed-forward block
    first = next((n for n in range(1, far) if reached(n)), None)
    assert crossing(model, compressed=compressed) == first


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
@pytest.mark.parametrize("compressed", [True, False])
def test_just_before_a_presets_crossing_feed_forward_takes_more(preset, compressed):
    n = crossing(preset.model, compressed=compressed)
    if n is None:
        far = token_work(preset.model, 10**9, compressed=compressed)
        assert far.attention < far.feed_forward
        return
    at, before = (token_work(preset.model, m, compressed=compressed) for m in (n, n - 1))
    assert at.attention >= at.feed_forward
    assert before.attention < before.feed_forward


@pytest.mark.parametrize(("work", "expected"), [(39, 4), (40, 4), (41, None)])
def test_a_crossing_at_the_very_edge_of_every_window(work, expected):
    """Two layers with a window of 4 look at 8 tokens at most, for 5 multiply-adds each."""
    model = Model(
        tensors=(Tensor(part="feed-forward", meaning="W", name="f", shape=(work,)),),
        looking=Looking(n_heads=1, n_kv_heads=1, d_key=2, d_value=3),
        windows=(4, 4),
        d_model=1,
        n_vocab=1,
        n_context=None,
    )
    assert crossing(model) == expected


# Invariants.


@given(models(), st.integers(1, 50), st.integers(1, 16), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_bytes_are_rounded_up_once(model, n, bits, sequences):
    exact = Fraction(kept_numbers(model, n) * sequences * bits, 8)
    assert 0 <= cache_bytes(model, n, bits, sequences=sequences) - exact < 1


@given(models(), st.integers(1, 50))
@settings(max_examples=40, deadline=None)
def test_costs_never_fall_and_only_looking_grows(model, n):
    now, then = token_work(model, n), token_work(model, n + 1)
    assert then.looking >= now.looking
    assert (then.matrices, then.feed_forward, then.output) == (
        now.matrices,
        now.feed_forward,
        now.output,
    )
    assert kept_numbers(model, n) <= kept_numbers(model, n + 1)


def test_without_windows_looking_and_the_cache_grow_as_the_context():
    for n in (1, 10, 1000):
        assert token_work(LLAMA, n).looking == n * token_work(LLAMA, 1).looking
        assert kept_numbers(LLAMA, n) == n * kept_numbers(LLAMA, 1)


def test_a_window_stops_both():
    mistral = preset("Mistral-7B-v0.1").model
    assert token_work(mistral, 4096).looking == token_work(mistral, 10**6).looking
    assert kept_numbers(mistral, 4096) == kept_numbers(mistral, 10**6)
    assert kept_numbers(mistral, 4095) < kept_numbers(mistral, 4096)
