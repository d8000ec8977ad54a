"""Ratios of doublings and the fitted power, against NumPy's own fit and a known answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.context_cost import CostSnapshot, Measurement, Run
from core.context_plan import ContextSettings
from core.growth import doublings, fastest_by_size, fitted_exponent


def snapshot(seconds):
    """A finished measurement by the formula with these times, n -> repeats."""
    return CostSnapshot(
        settings=ContextSettings(),
        started=0.0,
        run=Run(n=256, method="formula", repeat=1, traced=False),
        share_done=1.0,
        measurements=tuple(
            Measurement(n=n, method="formula", predicted_bytes=1, peak_bytes=1, seconds=times)
            for n, times in seconds.items()
        ),
        differences={},
    )


def test_ratios_are_of_the_fastest_runs():
    measured = snapshot({256: (2.0, 1.0, 9.0), 512: (5.0, 4.0), 1024: (16.0,), 2048: ()})
    assert fastest_by_size(measured, "formula") == {256: 1.0, 512: 4.0, 1024: 16.0}
    assert doublings(measured, "formula") == {(256, 512): 4.0, (512, 1024): 4.0}
    assert doublings(measured, "row blocks") == {}


@hypothesis_settings(max_examples=40)
@given(
    seconds=st.lists(st.floats(1e-5, 1e3), min_size=3, max_size=8),
    first=st.sampled_from([1, 7, 256]),
)
def test_the_fit_is_numpys(seconds, first):
    sizes = [first * 2**i for i in range(len(seconds))]
    exponent, error = fitted_exponent(sizes, seconds)
    coefficients, covariance = np.polyfit(np.log(sizes), np.log(seconds), 1, cov=True)
    assert exponent == pytest.approx(coefficients[0], rel=1e-7, abs=1e-7)
    assert error == pytest.approx(covariance[0, 0] ** 0.5, rel=1e-4, abs=1e-7)


def test_the_fit_finds_an_exponent_put_into_noise():
    """400 draws of noise with sd 0.1 around n²: the error bars are as wide as the scatter.

    With 400 draws the share of |error| < 2 standard errors has sd 2 % at most; a t distribution
    with 4 degrees of freedom puts 88 % there.
    """
    rng = np.random.default_rng(0)
    sizes = [256 * 2**i for i in range(6)]
    fits = [
        fitted_exponent(sizes, [n**2 * np.exp(0.1 * rng.standard_normal()) for n in sizes])
        for _ in range(400)
    ]
    within = np.mean([abs(exponent - 2) < 2 * error for exponent, error in fits])
    assert 0.82 < within < 0.94
    assert not any(abs(exponent - 1.5) < 2 * error for exponent, error in fits)


def test_a_fit_needs_three_sizes():
    with pytest.raises(ValueError, match=r"at least 3 different numbers, .* 2 times, got \[1, 2\]"):
        fitted_exponent([1, 2], [1.0, 4.0])
    with pytest.raises(ValueError, match="at least 3 different numbers"):
        fitted_exponent([1, 2, 2], [1.0, 4.0, 4.0])
