"""Writing with a cache gives what the full head gives, and the multiply-adds are those counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.attention import attention
from core.broken_cache import BROKEN
from core.generation import (
    AT_ONCE,
    CACHE,
    LAST_ROW,
    METHODS,
    N_VOCAB,
    WHOLE,
    CachedHead,
    all_at_once,
    draw_writer,
    generate_steps,
    last_row,
    whole_head,
)
from core.generation_by_hand import by_hand
from core.generation_work import intensity, multiply_adds, numbers_moved, outputs_of, per_token
from core.row_blocks import BLOCK_SIZE

SIZES = {
    "n": st.integers(1, 40),
    "d_model": st.integers(1, 9),
    "d_k": st.integers(1, 6),
    "seed": st.integers(0, 2**32 - 1),
}


def drawn(n, d_model, d_k, seed, dtype=np.float64):
    """A writer, and n tokens written with its cache: their vectors and the steps."""
    rng = np.random.default_rng(seed)
    writer = draw_writer(d_model, d_k, rng, dtype)
    noise = rng.gumbel(size=(n, N_VOCAB))
    steps = list(generate_steps(writer, CachedHead(writer, n), noise))
    return writer, writer.embeddings[[step.token for step in steps]], steps, noise


def test_two_tokens_by_hand():
    """One number a vector and all matrices 1: the second output is the softmax-weighted sum."""
    writer = draw_writer(1, 1, np.random.default_rng(0), np.float64)
    for weights in (writer.w_q, writer.w_k, writer.w_v):
        weights[:] = 1.0
    x = np.array([[1.0], [2.0]])
    e = np.exp([2.0, 4.0])
    expected = (e[0] * 1 + e[1] * 2) / e.sum()
    cache = CachedHead(writer, 2)
    assert cache(x[:1]) == pytest.approx([1.0])
    for output in (cache(x), last_row(writer)(x), whole_head(writer)(x), all_at_once(writer, x)[1]):
        assert output == pytest.approx([expected])


@settings(max_examples=40, deadline=None)
@given(**SIZES)
def test_cached_outputs_are_the_full_heads_last_rows(n, d_model, d_k, seed):
    writer, x, steps, _ = drawn(n, d_model, d_k, seed)
    for i, step in enumerate(steps, start=1):
        expected = attention(x[:i], writer.w_q, writer.w_k, writer.w_v)[0][-1]
        np.testing.assert_allclose(step.output, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(last_row(writer)(x[:i]), expected, rtol=1e-9, atol=1e-12)
        assert np.array_equal(whole_head(writer)(x[:i]), expected)


@settings(max_examples=25, deadline=None)
@given(**SIZES)
def test_all_at_once_gives_what_was_written_one_by_one(n, d_model, d_k, seed):
    writer, x, steps, _ = drawn(n, d_model, d_k, seed)
    outputs = np.stack([step.output for step in steps])
    np.testing.assert_allclose(all_at_once(writer, x), outputs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_every_way_writes_the_same_tokens(seed):
    writer, _, steps, noise = drawn(100, 32, 16, seed, np.float32)
    for way in (whole_head(writer), last_row(writer)):
        again = list(generate_steps(writer, way, noise))
        assert [step.written for step in again] == [step.written for step in steps]
    assert [step.token for step in steps[1:]] == [step.written for step in steps[:-1]]
    assert len({step.token for step in steps}) > 20  # not one token over and over


def test_float32_stays_float32():
    writer, x, steps, _ = drawn(5, 8, 4, 0, np.float32)
    outputs = [steps[-1].output, last_row(writer)(x), whole_head(writer)(x), all_at_once(writer, x)]
    assert {output.dtype for output in outputs} == {np.dtype(np.float32)}


def test_the_cache_writes_two_rows_and_leaves_the_others_alone():
    writer, x, _, _ = drawn(6, 5, 3, 1)
    cache = CachedHead(writer, 6)
    for i in range(1, 7):
        before = cache.keys.copy(), cache.values.copy()
        cache(x[:i])
        for now, old in zip((cache.keys, cache.values), before, strict=True):
            assert np.array_equal(np.delete(now, i - 1, axis=0), np.delete(old, i - 1, axis=0))
    np.testing.assert_allclose(cache.keys, x @ writer.w_k, rtol=1e-12)
    np.testing.assert_allclose(cache.values, x @ writer.w_v, rtol=1e-12)
    assert cache.nbytes == 2 * 6 * 3 * 8


@pytest.mark.parametrize("way", BROKEN)
@pytest.mark.parametrize("seed", range(5))
def test_a_broken_cache_is_noticed(way, seed):
    """Negative control: 64 tokens, float32; rounding there is below 1e-5."""
    writer, x, steps, _ = drawn(64, 32, 16, seed, np.float32)
    full = attention(x, writer.w_q, writer.w_k, writer.w_v)[0]
    sound = max(np.abs(step.output - full[i]).max() for i, step in enumerate(steps))
    broken = BROKEN[way](writer, 64)
    worst = max(np.abs(broken(x[: i + 1]) - full[i]).max() for i in range(64))
    assert sound < 1e-5
    assert worst > 1e-2


def test_a_shift_of_keys_and_values_together_would_not_be_noticed():
    """A head knows no order: only a shift of values against keys, or a loss, changes anything."""
    writer, x, steps, _ = drawn(8, 6, 4, 2)
    order = np.roll(np.arange(8), 1)
    q = x[-1] @ writer.w_q
    weights = np.exp((x @ writer.w_k)[order] @ q / 2.0)
    output = weights @ (x @ writer.w_v)[order] / weights.sum()
    np.testing.assert_allclose(output, steps[-1].output, rtol=1e-9)


@pytest.mark.parametrize("given_tokens", [0, 1, 3])
def test_a_cache_takes_one_token_at_a_time(given_tokens):
    writer, x, _, _ = drawn(4, 3, 2, 0)
    cache = CachedHead(writer, 4)
    cache(x[:1])
    with pytest.raises(ValueError, match=rf"\(1 of at most 4\), got {given_tokens}$"):
        cache(x[:given_tokens])


def test_a_full_cache_takes_nothing_more():
    writer, x, _, _ = drawn(3, 3, 2, 0)
    cache = CachedHead(writer, 2)
    cache(x[:1])
    cache(x[:2])
    with pytest.raises(ValueError, match=r"\(2 of at most 2\), got 3$"):
        cache(x)


@pytest.mark.parametrize("name", ["d_model", "d_k"])
def test_a_head_without_numbers_is_refused(name):
    with pytest.raises(ValueError, match=rf"^{name} must be at least 1, got 0$"):
        draw_writer(**{"d_model": 2, "d_k": 2, name: 0}, rng=np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 12), d_model=st.integers(1, 5), d_k=st.integers(1, 4))
def test_the_formula_is_what_loops_count(method, n, d_model, d_k):
    writer, x, steps, _ = drawn(n, d_model, d_k, 0)
    loops = by_hand(method, x, writer, block_size=BLOCK_SIZE)
    assert loops.multiply_adds == multiply_adds(method, n, d_model, d_k)
    expected = [step.output for step in steps][-len(loops.outputs) :]
    np.testing.assert_allclose(loops.outputs, expected, rtol=1e-9, atol=1e-12)
    assert len(loops.outputs) == outputs_of(method, n)


@pytest.mark.parametrize("n", [BLOCK_SIZE, BLOCK_SIZE + 1, 2 * BLOCK_SIZE + 3])
def test_the_formula_counts_several_row_blocks(n):
    writer, x, _, _ = drawn(n, 1, 1, 0)
    loops = by_hand(AT_ONCE, x, writer, block_size=BLOCK_SIZE)
    assert loops.multiply_adds == multiply_adds(AT_ONCE, n, 1, 1)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 5000), d_model=st.integers(1, 300), d_k=st.integers(1, 300))
def test_n_twice_as_large_adds_what_the_page_says(n, d_model, d_k):
    """The cache: n. K and V again: n, d_model times as steeply. The whole head: n²."""

    def work(method, tokens):
        return multiply_adds(method, tokens, d_model, d_k)

    assert work(CACHE, 2 * n) - work(CACHE, n) == 2 * n * d_k
    assert work(LAST_ROW, 2 * n) - work(LAST_ROW, n) == 2 * n * d_k * (d_model + 1)
    squares = [work(WHOLE, m) - 3 * m * d_model * d_k for m in (n, 2 * n)]
    assert squares[1] == 4 * squares[0] == 8 * n * n * d_k
    assert work(CACHE, n) <= work(LAST_ROW, n) <= work(WHOLE, n) or n == 1


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 3000), d_model=st.integers(1, 600), d_k=st.integers(1, 300))
def test_one_at_a_time_and_all_at_once_need_about_as_much(n, d_model, d_k):
    """All at once exceeds the sum of the cached steps by half a block of masked scores a row."""
    one_by_one = sum(multiply_adds(CACHE, i, d_model, d_k) for i in range(1, n + 1))
    extra = multiply_adds(AT_ONCE, n, d_model, d_k) - one_by_one
    assert 0 <= extra <= d_k * n * BLOCK_SIZE


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 3000), d_model=st.integers(1, 600), d_k=st.integers(1, 300))
def test_one_token_alone_uses_each_number_once(n, d_model, d_k):
    """At most d_k multiply-adds more: those with the key and value it has just made itself."""
    moved = numbers_moved(CACHE, n, d_model, d_k)
    assert multiply_adds(CACHE, n, d_model, d_k) == moved - d_model + 2 * d_k
    assert intensity(CACHE, n, d_model, d_k) <= 3.0


def test_all_at_once_uses_each_number_hundreds_of_times():
    assert intensity(CACHE, 2048, 512, 128) == pytest.approx(1.0, abs=0.001)
    assert intensity(AT_ONCE, 2048, 512, 128) > 700
    assert per_token(AT_ONCE, 2048, 512, 128) == 475136


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match=r"^n must be at least 1, got 0$"):
        multiply_adds(CACHE, 0, 1, 1)
    with pytest.raises(ValueError, match=r"^method must be one of .*, got 'magic'$"):
        multiply_adds("magic", 1, 1, 1)
    writer, x, _, _ = drawn(1, 1, 1, 0)
    with pytest.raises(ValueError, match=r"^method must be one of .*, got 'magic'$"):
        by_hand("magic", x, writer, block_size=1)
