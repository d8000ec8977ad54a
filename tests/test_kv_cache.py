"""The cache's bytes are those of arrays that hold it, and of the figures papers print."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.architectures.tensors import Looking, Model
from core.attention import attention
from core.generation import CachedHead, draw_writer
from core.kv_cache import (
    GROUPED,
    MULTI_HEAD,
    MULTI_QUERY,
    SHARINGS,
    CacheSettings,
    bytes_per_token,
    cache_bytes,
    published_caches,
    sharing,
)
from core.tables import kv_cache as tables
from core.token_cost import cache_bytes as bytes_of_model


def test_llama_2_70b_by_hand():
    """80 layers × 8 key–value heads × (a key and a value) × 128 numbers × 2 bytes."""
    assert bytes_per_token(CacheSettings()) == 80 * 8 * 2 * 128 * 2 == 327_680
    assert cache_bytes(CacheSettings()) == 1.25 * 2**30


@settings(max_examples=30, deadline=None)
@given(
    n_layers=st.integers(1, 4),
    n_kv_heads=st.integers(1, 4),
    group=st.integers(1, 4),
    d_head=st.integers(1, 8),
    context=st.integers(1, 20),
    sequences=st.integers(1, 3),
    dtype=st.sampled_from([np.int8, np.float16, np.float32]),
)
def test_the_formula_is_the_size_of_arrays(
    n_layers, n_kv_heads, group, d_head, context, sequences, dtype
):
    chosen = CacheSettings(
        n_layers=n_layers,
        n_heads=n_kv_heads * group,
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        bytes_per_number=np.dtype(dtype).itemsize,
        context=context,
        sequences=sequences,
    )
    keys, values = np.empty((2, sequences, n_layers, n_kv_heads, context, d_head), dtype)
    assert keys.nbytes + values.nbytes == cache_bytes(chosen)
    many, grouped, one = (bytes_per_token(sharing(chosen)[name]) for name in SHARINGS)
    assert many == group * grouped
    assert grouped == n_kv_heads * one


def test_one_layer_and_head_is_the_cache_that_is_measured():
    cache = CachedHead(draw_writer(5, 3, np.random.default_rng(0)), 7)
    chosen = CacheSettings(
        n_layers=1, n_heads=1, n_kv_heads=1, d_head=3, bytes_per_number=4, context=7
    )
    assert cache.nbytes == cache_bytes(chosen)


def test_heads_that_share_need_one_cache():
    """Two query heads over one key–value head: one cache serves both, and each is exact."""
    rng = np.random.default_rng(0)
    writer = draw_writer(6, 4, rng, np.float64)
    other = draw_writer(6, 4, rng, np.float64).w_q
    x = rng.standard_normal((5, 6))
    cache = CachedHead(writer, 5)
    for n in range(1, 6):
        cache(x[:n])
        scores = cache.keys[:n] @ (x[n - 1] @ other) / 2.0
        weights = np.exp(scores) / np.exp(scores).sum()
        expected = attention(x[:n], other, writer.w_k, writer.w_v)[0][-1]
        np.testing.assert_allclose(weights @ cache.values[:n], expected, rtol=1e-9)


def test_published_models_are_what_their_papers_say():
    found = {
        cache.config.model: (
            bytes_per_token(cache.settings(2)),
            cache_bytes(cache.settings(2)) / 2**30,
        )
        for cache in published_caches()
    }
    assert found == {
        "GPT-3": (4_718_592, 9.0),  # 2 · 96 · 96 · 128 · 2 bytes; 2,048 tokens
        "Llama-2-7B": (524_288, 2.0),
        "Llama-2-70B": (327_680, 1.25),
        "Llama-3-8B": (131_072, 1.0),
        "Llama-3-70B": (327_680, 2.5),
    }


def test_the_count_agrees_with_the_one_made_from_a_models_file():
    for cache in published_caches():
        config, chosen = cache.config, cache.settings(2)
        model = Model(
            tensors=(),
            looking=Looking(
                n_heads=config.n_heads,
                n_kv_heads=config.n_kv_heads,
                d_key=config.d_head,
                d_value=config.d_head,
            ),
            windows=(None,) * config.n_layers,
            d_model=config.d_model,
            n_vocab=config.n_vocab,
            n_context=None,
        )
        assert bytes_of_model(model, cache.context, 16) == cache_bytes(chosen)


@pytest.mark.parametrize(
    "name",
    [
        *("n_layers", "n_heads", "n_kv_heads", "d_head"),
        *("bytes_per_number", "context", "sequences"),
    ],
)
def test_sizes_below_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"^{name} must be at least 1, got 0$"):
        CacheSettings(**{name: 0})


def test_groups_must_be_whole():
    with pytest.raises(ValueError, match=r"^n_kv_heads must divide n_heads \(64\), .*, got 7$"):
        CacheSettings(n_kv_heads=7)


def test_the_chart_has_three_lines_and_a_mark_on_each():
    points = tables.memory_points(CacheSettings(sequences=3))
    marks = points[points["Kind"] == "context"].set_index("Sharing")["Memory (GiB)"]
    assert marks.to_dict() == {MULTI_HEAD: 30.0, GROUPED: 3.75, MULTI_QUERY: 0.46875}
    lines = points[points["Kind"] == "line"]
    assert lines.groupby("Sharing").size().to_dict() == dict.fromkeys(
        SHARINGS, len(tables.CONTEXTS)
    )
    at = lines[lines["Tokens"] == 4096].set_index("Sharing")["Memory (GiB)"]
    assert at.to_dict() == marks.to_dict()


def test_the_sentence_writes_the_product_out():
    sentence = tables.memory_sentence(CacheSettings())
    assert "2 · 80 · 8 · 128 · 2 = 327,680 bytes" in sentence
    assert "8 query heads share each: 8 times less." in sentence
    assert "nothing is shared" in tables.memory_sentence(CacheSettings(n_kv_heads=64))


def test_the_tables_hold_the_numbers():
    table = tables.memory_table(CacheSettings(sequences=2))
    assert table["All sequences (bytes)"].tolist() == [20 * 2**30, 5 * 2**29, 5 * 2**26]
    assert table["Smaller by (×)"].tolist() == [1, 8, 64]
    words = tables.memory_table_in_words(table)
    assert words["Key–value heads"].tolist()[1] == "as chosen: 8"
    published = tables.published_table(2)
    assert published["One token (bytes)"].tolist()[0] == 4_718_592
    assert published["With one for each head (bytes)"].tolist()[2] == 10 * 2**30
    assert tables.published_in_words(published)["One context"].tolist()[0] == "9 GiB"
