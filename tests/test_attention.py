"""core.attention against a slow loop, the ONNX Attention operator, and its own properties."""

import math

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.backend.test.case.node import attention as published
from onnx.reference import ReferenceEvaluator

import core.attention
from core.attention import attention, causal_mask, head_steps, softmax_rows

sizes = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


def random_head(n, d_model, d_k, d_v, seed, dtype=np.float64, spread=1.0):
    rng = np.random.default_rng(seed)
    shapes = ((n, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v))
    return [(spread * rng.standard_normal(shape)).astype(dtype) for shape in shapes]


def slow_attention(x, w_q, w_k, w_v, causal):
    """One head with nothing but loops over plain floats."""

    def project(row, weights):
        return [
            sum(row[i] * weights[i][j] for i in range(len(row))) for j in range(len(weights[0]))
        ]

    x, w_q, w_k, w_v = (array.tolist() for array in (x, w_q, w_k, w_v))
    queries, keys, values = ([project(row, w) for row in x] for w in (w_q, w_k, w_v))
    output, pattern = [], []
    for asking, q in enumerate(queries):
        seen = range(asking + 1) if causal else range(len(x))
        scores = [
            sum(a * b for a, b in zip(q, keys[at], strict=True)) / math.sqrt(len(q)) for at in seen
        ]
        top = max(scores)
        exponentials = [math.exp(score - top) for score in scores]
        weights = [e / math.fsum(exponentials) for e in exponentials]
        weights += [0.0] * (len(x) - len(weights))
        pattern.append(weights)
        output.append(
            [
                sum(w * v[j] for w, v in zip(weights, values, strict=True))
                for j in range(len(w_v[0]))
            ]
        )
    return np.array(output), np.array(pattern)


def head_from_qkv(Q, K, V, **options):
    """Run head_steps on ready-made Q, K, V: x holds them side by side, each weight picks one.

    With fewer queries than keys, queries of zeros fill up; their rows are cut off again.
    """
    n_queries, d_k = Q.shape
    Q = np.vstack([Q, np.zeros((len(K) - n_queries, d_k), Q.dtype)])
    x = np.hstack([Q, K, V])
    pick = np.eye(x.shape[1], dtype=x.dtype)
    steps = head_steps(x, pick[:, :d_k], pick[:, d_k : 2 * d_k], pick[:, 2 * d_k :], **options)
    return (getattr(steps, name)[:n_queries] for name in ("output", "scores", "pattern"))


def test_worked_example():
    # One token asks along the first axis, both advertise along it: scores 0 and 2, d_k = 4.
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    w_q = np.array([[0.0, 0, 0, 0], [2.0, 0, 0, 0]])
    w_k = np.array([[0.0, 0, 0, 0], [2.0, 0, 0, 0]])
    output, pattern = attention(x, w_q, w_k, np.array([[10.0], [20.0]]))
    e2 = math.exp(2)
    np.testing.assert_allclose(pattern, [[1, 0], [1 / (1 + e2), e2 / (1 + e2)]])
    np.testing.assert_allclose(output, [[10], [(10 + 20 * e2) / (1 + e2)]])


@few
@given(sizes, sizes, sizes, sizes, seeds, st.booleans())
def test_equals_slow_loops(n, d_model, d_k, d_v, seed, causal):
    head = random_head(n, d_model, d_k, d_v, seed)
    output, pattern = attention(*head, causal=causal)
    slow_output, slow_pattern = slow_attention(*head, causal=causal)
    np.testing.assert_allclose(pattern, slow_pattern, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(output, slow_output, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5)], ids=["float64", "float32"]
)
def test_equals_onnx_reference(opset, causal, dtype, tolerance):
    node = onnx.helper.make_node(
        "Attention",
        ["Q", "K", "V"],
        ["Y", "", "", "P"],
        is_causal=int(causal),
        qk_matmul_output_mode=3,  # P is the pattern, after the softmax
    )
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "one head",
            [onnx.helper.make_tensor_value_info(name, kind, None) for name in "QKV"],
            [onnx.helper.make_tensor_value_info(name, kind, None) for name in "YP"],
        ),
        opset_imports=[onnx.helper.make_opsetid("", opset)],
    )
    evaluator = ReferenceEvaluator(model)
    for seed in range(10):
        x, w_q, w_k, w_v = random_head(9, 6, 5, 4, seed, dtype)
        Q, K, V = ((x @ w)[np.newaxis, np.newaxis] for w in (w_q, w_k, w_v))
        their_output, their_pattern = evaluator.run(None, {"Q": Q, "K": K, "V": V})
        output, pattern = attention(x, w_q, w_k, w_v, causal=causal)
        np.testing.assert_allclose(output, their_output[0, 0], atol=tolerance)
        np.testing.assert_allclose(pattern, their_pattern[0, 0], atol=tolerance)


def published_cases():
    """Return the operator's own node tests that are made of single heads, as they ship with onnx.

    Such a case has queries, keys and values alone, no grouping of heads, and no option but
    is_causal and scale. Each batch entry and head of it is one head.
    """
    found = {}

    def collect(node, inputs, outputs, name, **_):
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        heads = attributes.pop("q_num_heads", None)
        same_heads = attributes.pop("kv_num_heads", heads) == heads
        if (
            [name for name in node.input if name] == ["Q", "K", "V"]
            and set(attributes) <= {"is_causal", "scale"}
            and inputs[0].dtype in (np.float16, np.float32, np.float64)
            and same_heads
            and (inputs[0].ndim == 3 or inputs[0].shape[1] == inputs[1].shape[1])
        ):
            found[name] = attributes, heads, inputs, outputs

    generator = np.random.get_state()  # noqa: NPY002 - onnx draws from the global generator
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "expect", collect)
        np.random.seed(0)  # noqa: NPY002
        for name in sorted(vars(published.Attention)):
            if name.startswith("export"):
                getattr(published.Attention, name)()
    np.random.set_state(generator)  # noqa: NPY002
    return found


PUBLISHED = published_cases()


def test_published_cases_were_found():
    assert {
        "test_attention_4d",
        "test_attention_4d_causal",
        "test_attention_4d_scaled",
        "test_attention_4d_fp16",
        "test_attention_4d_diff_heads_sizes_causal",
        "test_attention_4d_with_qk_matmul",
        "test_attention_3d",
        "test_attention_3d_causal",
    } <= set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_onnx_case(name):
    attributes, heads, inputs, outputs = PUBLISHED[name]
    if heads:  # (batch, token, head × size) to (batch, head, token, size)
        inputs, outputs = (
            [a.reshape(*a.shape[:2], heads, -1).swapaxes(1, 2) for a in arrays]
            for arrays in (inputs, outputs)
        )
    dtype = inputs[0].dtype
    tolerance = 2e-3 if dtype == np.float16 else 1e-5  # about twice the type's rounding, at 1
    for one in np.ndindex(inputs[0].shape[:2]):
        output, scores, _ = head_from_qkv(
            *(array[one] for array in inputs),
            causal=bool(attributes.get("is_causal", 0)),
            scale=attributes.get("scale"),
        )
        assert output.dtype == dtype
        np.testing.assert_allclose(output, outputs[0][one], atol=tolerance)
        if len(outputs) == 2:
            np.testing.assert_allclose(scores, outputs[1][one], atol=tolerance)


@few
@given(sizes, sizes, seeds, st.booleans())
def test_rows_sum_to_1_and_are_not_negative(n, d, seed, causal):
    _, pattern = attention(*random_head(n, d, d, d, seed), causal=causal)
    assert (pattern >= 0).all()
    np.testing.assert_allclose(pattern.sum(axis=1), 1, atol=1e-14)


@few
@given(sizes, sizes, seeds)
def test_nothing_above_the_diagonal(n, d, seed):
    steps = head_steps(*random_head(n, d, d, d, seed))
    assert (steps.pattern[np.triu_indices(n, 1)] == 0).all()
    assert (steps.masked_scores[np.triu_indices(n, 1)] == -np.inf).all()
    assert (steps.pattern[np.tril_indices(n)] > 0).all()


@few
@given(st.integers(2, 9), sizes, seeds)
def test_changing_the_future_leaves_the_past_bit_identical(n, d, seed):
    x, *weights = random_head(n, d, d, d, seed)
    position = 1 + seed % (n - 1)
    changed = x.copy()
    changed[position:] += np.random.default_rng(seed + 1).standard_normal((n - position, d))
    before, after = (attention(tokens, *weights) for tokens in (x, changed))
    for ours, theirs in zip(before, after, strict=True):
        np.testing.assert_array_equal(ours[:position], theirs[:position])


def test_without_the_mask_the_past_moves():
    x, *weights = random_head(6, 4, 4, 4, seed=0)
    changed = x.copy()
    changed[5] += 1
    before, after = (attention(tokens, *weights, causal=False)[0] for tokens in (x, changed))
    assert (np.abs(before - after)[:5].max(axis=1) > 1e-6).all()


@few
@given(sizes, sizes, seeds)
def test_permuting_tokens_permutes_the_pattern_without_a_mask(n, d, seed):
    x, *weights = random_head(n, d, d, d, seed)
    order = np.random.default_rng(seed).permutation(n)
    output, pattern = attention(x, *weights, causal=False)
    moved_output, moved_pattern = attention(x[order], *weights, causal=False)
    np.testing.assert_allclose(moved_pattern, pattern[np.ix_(order, order)], atol=1e-13)
    np.testing.assert_allclose(moved_output, output[order], atol=1e-12)


@few
@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=6))
def test_scores_of_1000_stay_finite(scores):
    weights = softmax_rows(np.array([scores, scores[::-1]]))
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_head_with_scores_of_1000_stays_finite(dtype):
    x = np.array([[1.0, 0], [0, 1]], dtype)
    strong = np.array([[1000.0], [-1000.0]], dtype)
    output, pattern = attention(x, strong, np.array([[1.0], [-1.0]], dtype), x, causal=False)
    np.testing.assert_array_equal(pattern, np.eye(2))
    np.testing.assert_array_equal(output, x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("scale", [None, 0.5, np.float64(0.5)])
def test_float_type_is_kept(dtype, causal, scale):
    steps = head_steps(*random_head(4, 3, 3, 2, 0, dtype), causal=causal, scale=scale)
    for name in ("Q", "K", "V", "scores", "masked_scores", "pattern", "output"):
        assert getattr(steps, name).dtype == dtype, name


def test_whole_numbers_become_float64():
    whole = np.eye(3, dtype=int)
    output, pattern = attention(whole, whole, whole, whole)
    assert output.dtype == pattern.dtype == np.float64


def test_input_is_left_alone():
    head = random_head(4, 3, 3, 3, seed=0)
    copies = [array.copy() for array in head]
    attention(*head)
    softmax_rows(head[0])
    for array, copy in zip(head, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_scale_replaces_the_division():
    head = random_head(4, 3, 9, 3, seed=0)
    plain = head_steps(*head)
    np.testing.assert_allclose(plain.scores, plain.Q @ plain.K.T / 3)
    np.testing.assert_allclose(head_steps(*head, scale=1.0).scores, plain.Q @ plain.K.T)
    np.testing.assert_array_equal(head_steps(*head, scale=0.0, causal=False).pattern, 0.25)


def test_softmax_ignores_a_shift_and_takes_any_leading_shape():
    scores = np.random.default_rng(0).standard_normal((2, 3, 4))
    np.testing.assert_allclose(softmax_rows(scores + 100), softmax_rows(scores))
    np.testing.assert_array_equal(softmax_rows(scores)[1, 2], softmax_rows(scores[1, 2:])[0])


@pytest.mark.parametrize(
    ("row", "largest"),
    [([-np.inf, -np.inf], "-inf"), ([np.nan, 0.0], "nan"), ([np.inf, 0.0], "inf")],
)
def test_softmax_refuses_rows_without_weights(row, largest):
    with pytest.raises(ValueError, match=f"largest entry that is finite, got {largest}$"):
        softmax_rows(np.array([[0.0, 0.0], row]))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({0: np.ones(3)}, r"x must be \(n, d_model\) with at least one token, got shape \(3,\)"),
        ({0: np.ones((0, 3))}, r"x must be .* got shape \(0, 3\)"),
        ({1: np.ones((4, 2))}, r"w_q must have d_model = 3 rows, .* got shape \(4, 2\)"),
        ({2: np.ones((4, 2))}, r"w_k must have d_model = 3 rows, .* got shape \(4, 2\)"),
        ({3: np.ones(3)}, r"w_v must have d_model = 3 rows, .* got shape \(3,\)"),
        ({2: np.ones((3, 5))}, r"w_q and w_k must have the same d_k, got 2 and 5"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(changes, sentence):
    head = random_head(4, 3, 2, 2, seed=0)
    for position, array in changes.items():
        head[position] = array
    with pytest.raises(ValueError, match=sentence):
        attention(*head)


def test_a_mask_off_by_one_is_caught(monkeypatch):
    """Negative control: the properties above must fail for a mask that leaks one step."""
    assert causal_mask(3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    monkeypatch.setattr(core.attention, "causal_mask", lambda n: np.tri(n, k=1, dtype=bool))
    for check, arguments in (
        (test_nothing_above_the_diagonal, (5, 3, 0)),
        (test_changing_the_future_leaves_the_past_bit_identical, (5, 3, 0)),
        (test_equals_slow_loops, (5, 3, 3, 3, 0, True)),
    ):
        with pytest.raises(AssertionError):
            check.hypothesis.inner_test(*arguments)
