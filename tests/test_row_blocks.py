"""Row blocks give the formula's output, whatever the block size and however many threads."""

import inspect
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import row_blocks
from core.attention import attention
from core.formula import attention_by_formula
from core.row_blocks import attention_by_row_blocks

TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}


def qkv(n, d_k, dtype=np.float64, seed=0, d_v=None):
    rng = np.random.default_rng(seed)
    shapes = ((n, d_k), (n, d_k), (n, d_v or d_k))
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def by_loop(q, k, v, causal):
    """The definition, one number at a time, in plain Python."""
    output = []
    for i in range(len(q)):
        seen = range(i + 1) if causal else range(len(k))
        scores = [
            sum(a * b for a, b in zip(q[i], k[j], strict=True)) / len(q[i]) ** 0.5 for j in seen
        ]
        weights = [np.exp(score - max(scores)) for score in scores]
        mixed = [
            sum(w * v[j][c] for w, j in zip(weights, seen, strict=True)) for c in range(v.shape[1])
        ]
        output.append([value / sum(weights) for value in mixed])
    return np.array(output)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "block_size"), [(1, 128), (1, 1), (7, 128), (256, 64), (256, 128), (300, 128), (129, 128)]
)
def test_the_output_is_the_formulas(n, block_size, dtype, causal):
    q, k, v = qkv(n, 128, dtype)
    output = attention_by_row_blocks(q, k, v, causal, block_size=block_size)
    assert output.dtype == dtype
    expected = attention_by_formula(q, k, v, causal)
    assert expected.dtype == dtype
    np.testing.assert_allclose(output, expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize(("n", "n_rows"), [(127, 127), (128, 128), (16383, 128), (16384, 256)])
def test_a_block_has_more_rows_where_there_are_many_tokens(n, n_rows, monkeypatch):
    taken = []
    monkeypatch.setattr(row_blocks, "attend_rows", lambda *args, **_: taken.append(args[3]))
    attention_by_row_blocks(*qkv(n, 1))
    assert taken[0] == slice(0, n_rows)
    assert taken[-1].stop == n
    assert {rows.stop - rows.start for rows in taken[:-1]} <= {n_rows}


@pytest.mark.parametrize("n", [1024, 1500])
def test_a_long_sequence_in_float32_agrees_too(n):
    q, k, v = qkv(n, 128, np.float32)
    np.testing.assert_allclose(
        attention_by_row_blocks(q, k, v), attention_by_formula(q, k, v), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("causal", [True, False])
def test_both_agree_with_a_plain_loop(causal):
    q, k, v = qkv(9, 3, d_v=2)
    expected = by_loop(q, k, v, causal)
    np.testing.assert_allclose(attention_by_formula(q, k, v, causal), expected, atol=1e-12)
    np.testing.assert_allclose(
        attention_by_row_blocks(q, k, v, causal, block_size=4), expected, atol=1e-12
    )


def test_it_is_the_head_of_core_attention():
    x, w_q, w_k = qkv(10, 10)
    output, _ = attention(x, w_q, w_k, w_q)
    blocks = attention_by_row_blocks(x @ w_q, x @ w_k, x @ w_q, block_size=4)
    np.testing.assert_allclose(blocks, output, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 70),
    d_k=st.integers(1, 20),
    d_v=st.integers(1, 20),
    block_size=st.integers(1, 80),
    n_threads=st.integers(1, 4),
    causal=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_sizes_agree_with_the_formula(n, d_k, d_v, block_size, n_threads, causal, seed):
    q, k, v = qkv(n, d_k, seed=seed, d_v=d_v)
    output = attention_by_row_blocks(q, k, v, causal, block_size=block_size, n_threads=n_threads)
    np.testing.assert_allclose(output, attention_by_formula(q, k, v, causal), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "block_size"), [(512, 64), (300, 128), (64, 64), (5, 1)])
def test_the_output_is_bit_identical_for_any_number_of_threads(n, block_size, dtype):
    q, k, v = qkv(n, 128, dtype)
    one = attention_by_row_blocks(q, k, v, block_size=block_size)
    for n_threads in (2, 3, 50):
        more = attention_by_row_blocks(q, k, v, block_size=block_size, n_threads=n_threads)
        assert np.array_equal(one, more)


def test_the_blocks_really_run_on_several_threads(monkeypatch):
    seen = set()
    attend = row_blocks.attend_rows

    def recorded(*args, **kwargs):
        seen.add(threading.get_ident())
        barrier.wait(timeout=30)  # no thread can take another's block while that one waits
        attend(*args, **kwargs)

    barrier = threading.Barrier(2)
    monkeypatch.setattr(row_blocks, "attend_rows", recorded)
    q, k, v = qkv(8, 4)
    attention_by_row_blocks(q, k, v, block_size=4, n_threads=2)
    assert len(seen) == 2
    assert threading.get_ident() not in seen


def test_changing_the_future_leaves_the_past_bit_identical():
    q, k, v = qkv(100, 16)
    before = attention_by_row_blocks(q, k, v, block_size=32)
    for changed in (q, k, v):
        changed[70] += 1
    after = attention_by_row_blocks(q, k, v, block_size=32)
    assert np.array_equal(before[:70], after[:70])
    assert not np.array_equal(before[70], after[70])


def test_nothing_n_by_n_is_ever_held(monkeypatch):
    sizes = []
    empty = np.empty

    def recorded(shape, *args, **kwargs):
        array = empty(shape, *args, **kwargs)
        sizes.append(array.size)
        return array

    monkeypatch.setattr(np, "empty", recorded)
    q, k, v = qkv(256, 8)
    attention_by_row_blocks(q, k, v, block_size=16)
    assert max(sizes) == 16 * 256


def test_scores_of_a_thousand_stay_finite():
    q = np.array([[1000.0], [-1000.0], [1000.0]])
    k = np.array([[1.0], [-1.0], [1.0]])
    v = np.array([[1.0], [2.0], [3.0]])
    output = attention_by_row_blocks(q, k, v, block_size=2)
    np.testing.assert_array_equal(output, [[1.0], [2.0], [2.0]])


def test_the_inputs_are_left_as_they_were():
    q, k, v = qkv(20, 4)
    copies = q.copy(), k.copy(), v.copy()
    attention_by_row_blocks(q, k, v, block_size=8)
    for array, copy in zip((q, k, v), copies, strict=True):
        assert np.array_equal(array, copy)


def test_integers_become_floats_and_mixed_floats_the_wider():
    ones = np.ones((3, 2), dtype=int)
    assert attention_by_row_blocks(ones, ones, ones).dtype == np.float64
    q, k, v = qkv(3, 2, np.float32)
    assert attention_by_row_blocks(q, k, v.astype(np.float64)).dtype == np.float64
    assert attention_by_row_blocks(*(a.astype(np.float16) for a in (q, k, v))).dtype == np.float16


def test_columns_of_a_transposed_array_are_read_right():
    q, k, v = (np.asfortranarray(array) for array in qkv(50, 6))
    np.testing.assert_allclose(
        attention_by_row_blocks(q, k, v, block_size=16), attention_by_formula(q, k, v), atol=1e-12
    )


@pytest.mark.parametrize("function", [attention_by_formula, attention_by_row_blocks])
@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        (((0, 4), (0, 4), (0, 4)), r"q must be \(n, d_k\) with .* got shape \(0, 4\)"),
        (((3, 0), (3, 0), (3, 4)), r"q must be \(n, d_k\) with .* got shape \(3, 0\)"),
        (((3,), (3,), (3,)), r"q must be \(n, d_k\) .* got shape \(3,\)"),
        (((3, 4), (2, 4), (2, 4)), r"k must have the shape of q, \(3, 4\), got shape \(2, 4\)"),
        (((3, 4), (3, 5), (3, 4)), r"k must have the shape of q, \(3, 4\), got shape \(3, 5\)"),
        (((3, 4), (3, 4), (4, 4)), r"v must have 3 rows, one for each .* got shape \(4, 4\)"),
    ],
)
def test_a_shape_that_does_not_fit_is_named(function, shapes, sentence):
    with pytest.raises(ValueError, match=sentence):
        function(*(np.ones(shape) for shape in shapes))


@pytest.mark.parametrize("name", ["block_size", "n_threads"])
def test_counts_below_one_are_named(name):
    q, k, v = qkv(3, 2)
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        attention_by_row_blocks(q, k, v, **{name: 0})


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_score_that_is_not_finite_is_refused_with_its_rows(n_threads):
    q, k, v = qkv(8, 2)
    q[5] = np.nan
    with pytest.raises(ValueError, match="got one in rows 4 to 7 that is not"):
        attention_by_row_blocks(q, k, v, block_size=4, n_threads=n_threads)
    with pytest.raises(ValueError, match="largest entry that is finite, got nan"):
        attention_by_formula(q, k, v)


@pytest.mark.parametrize(
    "changes",
    [
        {"~causal_mask(n_rows)]": "~np.tri(n_rows, k=1, dtype=bool)]"},  # each sees one too many
        {  # the columns end one too early: the last row of a block misses its own key
            "n_columns = rows.stop if causal": "n_columns = rows.stop - 1 if causal",
            "~causal_mask(n_rows)]": "~causal_mask(n_rows)[:, :-1]]",
        },
        {  # each block ends one row too early
            "min(start + block_size, n)": "min(start + block_size, n) - 1",
            "np.empty((n, v.shape[1])": "np.zeros((n, v.shape[1])",
        },
    ],
    ids=["mask", "columns", "rows"],
)
def test_a_bound_off_by_one_is_caught(changes):
    """Negative control: the comparisons above would see a bound that is one off."""
    source = inspect.getsource(row_blocks)
    for right, wrong in changes.items():
        assert source.count(right) == 1
        source = source.replace(right, wrong)
    broken = {}
    exec(source, broken)
    q, k, v = qkv(64, 8)
    output = broken["attention_by_row_blocks"](q, k, v, block_size=32)
    assert np.abs(output - attention_by_formula(q, k, v)).max() > 1e-3
