"""Schemes of positions, against their papers' formulas written out slowly, and their properties."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.positions import (
    SCHEMES,
    alibi_bias,
    make_positions,
    rotary_angles,
    rotate,
    sinusoids,
)

widths = st.sampled_from([2, 4, 8, 32])
seeds = st.integers(0, 1000)


def test_sinusoids_are_those_of_the_paper():
    """Vaswani et al. 2017, section 3.5, entry by entry; 2i is the even place of pair i."""
    d = 8
    table = sinusoids(20, d)
    for position in range(20):
        for i in range(d // 2):
            angle = position / 10000 ** (2 * i / d)
            assert table[position, 2 * i] == pytest.approx(np.sin(angle), abs=1e-12)
            assert table[position, 2 * i + 1] == pytest.approx(np.cos(angle), abs=1e-12)


def test_rotating_is_the_papers_block_matrix():
    """Su et al. 2021, equation 15: a 2 × 2 rotation on the diagonal for each pair of numbers."""
    d, position = 6, 5
    matrix = np.zeros((d, d))
    for i in range(d // 2):
        angle = position * 10000 ** (-2 * i / d)
        block = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    vector = np.random.default_rng(0).standard_normal(d)
    turned = rotate(vector, rotary_angles(position + 1, d)[position])
    np.testing.assert_allclose(turned, matrix @ vector, atol=1e-12)


def test_rotating_is_multiplying_by_a_complex_number():
    rng = np.random.default_rng(1)
    vectors, angles = rng.standard_normal((3, 4, 8)), rng.standard_normal((4, 4))
    turned = rotate(vectors, angles)
    as_complex = (vectors[..., 0::2] + 1j * vectors[..., 1::2]) * np.exp(1j * angles)
    np.testing.assert_allclose(turned[..., 0::2], as_complex.real, atol=1e-12)
    np.testing.assert_allclose(turned[..., 1::2], as_complex.imag, atol=1e-12)


@given(widths, seeds, st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_rotary_scores_depend_on_distance_alone(d, seed, m, n, shift):
    q, k = np.random.default_rng(seed).standard_normal((2, d))
    angles = rotary_angles(61, d)
    here = rotate(q, angles[m]) @ rotate(k, angles[n])
    there = rotate(q, angles[m + shift]) @ rotate(k, angles[n + shift])
    assert there == pytest.approx(here, abs=1e-10)


def test_rotary_scores_do_depend_on_distance():
    q, k = np.random.default_rng(0).standard_normal((2, 8))
    angles = rotary_angles(10, 8)
    scores = [rotate(q, angles[9]) @ rotate(k, angles[n]) for n in range(10)]
    assert np.ptp(scores) > 0.1  # the tolerance above is 1e-10


@given(widths, seeds)
@settings(max_examples=20, deadline=None)
def test_turning_keeps_lengths_and_can_be_turned_back(d, seed):
    vectors = np.random.default_rng(seed).standard_normal((7, d))
    angles = rotary_angles(7, d)
    turned = rotate(vectors, angles)
    np.testing.assert_allclose(
        np.linalg.norm(turned, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-12
    )
    np.testing.assert_allclose(rotate(turned, -angles), vectors, atol=1e-12)
    np.testing.assert_array_equal(turned[0], vectors[0])


def test_a_turned_float32_stays_float32():
    angles = rotary_angles(3, 4).astype(np.float32)
    assert rotate(np.ones((3, 4), dtype=np.float32), angles).dtype == np.float32


@given(widths, st.integers(2, 20))
@settings(max_examples=20, deadline=None)
def test_dot_products_of_sinusoids_depend_on_distance_alone(d, n):
    """The sum over pairs of cos((m − n) speed): true before W_Q and W_K, and not after them."""
    products = sinusoids(n, d) @ sinusoids(n, d).T
    for offset in range(n):
        np.testing.assert_allclose(np.ptp(np.diagonal(products, offset)), 0, atol=1e-12)
    assert np.diagonal(products) == pytest.approx(d / 2)


@given(st.integers(1, 30), st.floats(0, 16))
@settings(max_examples=20, deadline=None)
def test_alibi_is_a_straight_line_of_the_distance(n, slope):
    bias = alibi_bias(n, slope)
    for asking in range(n):
        for looked_at in range(asking + 1):
            assert bias[asking, looked_at] == pytest.approx(-slope * (asking - looked_at))
    assert (np.diagonal(bias) == 0).all()
    np.testing.assert_array_equal(bias, bias.T)


def test_each_scheme_enters_in_one_place():
    parts = {
        scheme: [
            name
            for name in ("added", "angles", "bias")
            if getattr(make_positions(scheme, 5, 8, 4, 0.5), name) is not None
        ]
        for scheme in SCHEMES
    }
    assert parts == {
        "none": [],
        "learned": [],
        "sinusoidal": ["added"],
        "rotary": ["angles"],
        "alibi": ["bias"],
    }
    assert make_positions("sinusoidal", 5, 8, 4, 0.5).added.shape == (5, 8)
    assert make_positions("rotary", 5, 8, 4, 0.5).angles.shape == (5, 2)
    assert make_positions("alibi", 5, 8, 4, 0.5, "float32").bias.dtype == np.float32


def test_what_cannot_be_is_said_in_a_sentence():
    sentence = "scheme must be one of none, learned, sinusoidal, rotary, alibi, got sine"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        make_positions("sine", 5, 8, 4, 0.5)
    with pytest.raises(ValueError, match=r"^d_model must be an even number of at least 2, got 7$"):
        sinusoids(4, 7)
    with pytest.raises(ValueError, match=r"^d_k must be an even number of at least 2, got 0$"):
        rotary_angles(4, 0)
