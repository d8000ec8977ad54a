"""The head with positions, against slow loops, central differences, autograd and its symmetry."""

from dataclasses import replace
from itertools import permutations

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gradcheck import central_difference, relative_difference
from core.order_model import (
    OrderParameters,
    backward,
    forward,
    losses,
    positions_of,
    start_order,
)
from core.positions import SCHEMES
from core.word_order import N_KEYS, OrderSettings, arrange, one_hot, sample_order

CHECKED = OrderSettings(
    n_times=2, n_others=2, n_values=5, d_model=4, d_k=4, init_scale=0.7, float_type="float64"
)
PASSES = 1e-6  # float64 and a nudge of 1e-5: rounding leaves about 1e-9


def a_case(scheme, seed=0, n=6, **changes):
    """A random head and n sequences for it."""
    settings = replace(CHECKED, scheme=scheme, seed=seed, **changes)
    weights_rng, task_rng = np.random.default_rng(seed).spawn(2)
    sequences = sample_order(settings, n, task_rng)
    return settings, start_order(settings, weights_rng), sequences


def slowly(settings, p, keys, values, question):
    """One sequence, token by token, from the papers' formulas; independent of the module."""
    T, d, d_k = len(keys) + 1, settings.d_model, settings.d_k
    tokens = [p.E[key] + p.E[N_KEYS + value] for key, value in zip(keys, values, strict=True)]
    tokens.append(p.E[question])
    for t in range(T):
        if settings.scheme == "learned":
            tokens[t] = tokens[t] + p.positions[t]
        if settings.scheme == "sinusoidal":
            wave = [t / 10000 ** (2 * (i // 2) / d) for i in range(d)]
            tokens[t] = tokens[t] + [np.cos(a) if i % 2 else np.sin(a) for i, a in enumerate(wave)]

    def turned(vector, t):
        if settings.scheme != "rotary":
            return vector
        z = (vector[0::2] + 1j * vector[1::2]) * np.exp(
            1j * t * 10000.0 ** (-np.arange(0, d_k, 2) / d_k)
        )
        return np.stack([z.real, z.imag], axis=-1).ravel()

    q = turned(tokens[-1] @ p.W_Q, T - 1)
    scores = []
    for t in range(T):
        score = q @ turned(tokens[t] @ p.W_K, t) / np.sqrt(d_k)
        if settings.scheme == "alibi":
            score -= settings.alibi_slope * (T - 1 - t)
        scores.append(score)
    weights = np.exp(scores) / np.exp(scores).sum()
    mixed = sum(w * (token @ p.W_V) for w, token in zip(weights, tokens, strict=True))
    return weights, mixed @ p.W_O


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_head_equals_one_written_token_by_token(scheme):
    settings, p, sequences = a_case(scheme)
    answers = forward(p, positions_of(settings), one_hot(settings, sequences))
    for i in range(len(sequences)):
        weights, logits = slowly(
            settings, p, sequences.keys[i], sequences.values[i], sequences.questions[i]
        )
        np.testing.assert_allclose(answers.weights[i], weights, atol=1e-12)
        np.testing.assert_allclose(answers.logits[i], logits, atol=1e-12)
    np.testing.assert_allclose(answers.weights.sum(axis=1), 1)
    np.testing.assert_allclose(answers.probabilities.sum(axis=1), 1)


def gradient_of(settings, p, sequences):
    tokens, positions = one_hot(settings, sequences), positions_of(settings)
    gradient = p.copy()
    gradient.flat[:] = np.nan  # every entry must be written
    backward(p, positions, tokens, sequences.answers, forward(p, positions, tokens), gradient)
    return gradient


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_gradient_equals_nudging(scheme):
    settings, p, sequences = a_case(scheme)
    tokens, positions = one_hot(settings, sequences), positions_of(settings)
    gradient = gradient_of(settings, p, sequences)

    def loss():
        return float(losses(forward(p, positions, tokens), sequences.answers).mean())

    for place in range(p.flat.size):
        numeric = central_difference(loss, p.flat, place, 1e-5)
        assert abs(numeric - gradient.flat[place]) < 1e-9 or (
            relative_difference(numeric, gradient.flat[place]) < PASSES
        ), place


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_gradient_equals_autograds(scheme):
    settings, p, sequences = a_case(scheme, seed=3)
    tokens, positions = one_hot(settings, sequences), positions_of(settings)
    sizes = {
        name: getattr(p, name).shape for name in ("W_Q", "W_K", "W_V", "E", "W_O", "positions")
    }

    def loss(flat):
        views, start = {}, 0
        for name, (rows, columns) in sizes.items():
            views[name] = anp.reshape(flat[start : start + rows * columns], (rows, columns))
            start += rows * columns
        x = tokens @ views["E"]
        if settings.scheme == "learned":
            x = x + views["positions"]
        if positions.added is not None:
            x = x + positions.added
        q, k, v = x[:, -1:] @ views["W_Q"], x @ views["W_K"], x @ views["W_V"]
        if positions.angles is not None:
            q, k = turn(q, positions.angles[-1:]), turn(k, positions.angles)
        scores = anp.sum(q * k, axis=2) / anp.sqrt(settings.d_k)
        if positions.bias is not None:
            scores = scores + positions.bias[-1]
        weights = anp.exp(scores) / anp.sum(anp.exp(scores), axis=1, keepdims=True)
        logits = anp.sum(weights[:, :, None] * v, axis=1) @ views["W_O"]
        chosen = logits[np.arange(len(tokens)), sequences.answers]
        return anp.mean(anp.log(anp.sum(anp.exp(logits), axis=1)) - chosen)

    def turn(vectors, angles):
        even, odd = vectors[..., 0::2], vectors[..., 1::2]
        cos, sin = np.cos(angles), np.sin(angles)
        pairs = anp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
        return anp.reshape(pairs, vectors.shape)

    np.testing.assert_allclose(
        gradient_of(settings, p, sequences).flat, grad(loss)(p.flat), atol=1e-12
    )


def test_the_check_can_fail():
    """Negative control: a gradient that forgets to turn back does not agree with nudging."""
    settings, p, sequences = a_case("rotary")
    wrong = gradient_of(replace(settings, scheme="none"), p, sequences)
    right = gradient_of(settings, p, sequences)
    assert np.abs(wrong.W_Q - right.W_Q).max() > 1e-3


@given(st.integers(0, 50), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_without_positions_weights_move_with_their_pairs(seed, shuffle):
    settings_, p, sequences = a_case("none", seed)
    order = np.random.default_rng(shuffle).permutation(settings_.n_pairs)
    moved = arrange(sequences.keys[:, order], sequences.values[:, order], sequences.questions)
    one, other = (
        forward(p, positions_of(settings_), one_hot(settings_, which))
        for which in (sequences, moved)
    )
    np.testing.assert_allclose(other.weights[:, :-1], one.weights[:, :-1][:, order], atol=1e-14)
    np.testing.assert_allclose(other.weights[:, -1], one.weights[:, -1], atol=1e-14)
    np.testing.assert_allclose(other.probabilities, one.probabilities, atol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_with_positions_the_order_changes_the_answer(scheme):
    """Negative control of the symmetry, for every scheme."""
    settings_, p, sequences = a_case(scheme)
    order = np.arange(settings_.n_pairs)[::-1]
    moved = arrange(sequences.keys[:, order], sequences.values[:, order], sequences.questions)
    one, other = (
        forward(p, positions_of(settings_), one_hot(settings_, which))
        for which in (sequences, moved)
    )
    assert np.abs(one.probabilities - other.probabilities).max() > 0.01


def test_a_slope_of_zero_is_no_positions():
    settings_, p, sequences = a_case("alibi", alibi_slope=0.0)
    tokens = one_hot(settings_, sequences)
    none = forward(p, positions_of(replace(settings_, scheme="none")), tokens)
    np.testing.assert_array_equal(forward(p, positions_of(settings_), tokens).logits, none.logits)


def test_all_schemes_of_a_seed_start_from_the_same_numbers():
    starts = {scheme: a_case(scheme, seed=7)[1] for scheme in SCHEMES}
    for p in starts.values():
        for name in ("W_Q", "W_K", "W_V", "E", "W_O"):
            np.testing.assert_array_equal(getattr(p, name), getattr(starts["none"], name))
    assert [len(p.positions) for p in starts.values()] == [0, CHECKED.n_tokens, 0, 0, 0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_float32_stays_float32_and_large_scores_stay_finite(scheme):
    settings_, p, sequences = a_case(scheme, float_type="float32", init_scale=10.0)
    p.W_Q *= 1000
    tokens = one_hot(settings_, sequences)
    answers = forward(p, positions_of(settings_), tokens)
    for array in (answers.scores, answers.weights, answers.logits):
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
    gradient = p.copy()
    backward(p, positions_of(settings_), tokens, sequences.answers, answers, gradient)
    assert np.isfinite(gradient.flat).all()


def test_a_shorter_sequence_has_the_first_positions():
    settings_, p, _ = a_case("learned")
    shorter = replace(settings_, n_others=0)
    sequences = sample_order(shorter, 1, np.random.default_rng(0))
    answers = forward(p, positions_of(shorter), one_hot(shorter, sequences))
    weights, _ = slowly(
        settings_, p, sequences.keys[0], sequences.values[0], sequences.questions[0]
    )
    np.testing.assert_allclose(answers.weights[0], weights, atol=1e-12)


def test_the_flat_array_is_the_matrices():
    settings_, p, _ = a_case("learned")
    p.flat[:] = np.arange(p.flat.size)
    assert p.W_Q[0, 0] == 0
    assert p.positions[-1, -1] == p.flat.size - 1
    assert p.copy().flat is not p.flat
    with pytest.raises(ValueError, match=r"^flat must be \(\d+,\), got \(3,\)$"):
        OrderParameters(np.zeros(3), settings_)


def test_every_order_of_three_pairs_gives_one_answer():
    settings_, p, _ = a_case("none", n_others=1)
    orders = np.array(list(permutations(range(3))))
    keys, values = np.array([4, 0, 4]), np.array([2, 1, 3])
    batch = arrange(keys[orders], values[orders], np.full(6, 4))
    answers = forward(p, positions_of(settings_), one_hot(settings_, batch))
    assert np.ptp(answers.logits, axis=0).max() < 1e-13
    assert set(batch.answers.tolist()) == {2, 3}  # the right answer does change
