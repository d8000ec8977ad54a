"""core.optimisers against the published algorithm, one number at a time."""

import math

import numpy as np
import pytest

from core.optimisers import OPTIMISERS, Adam, make_optimiser


def adam_by_the_book(theta, gradients, alpha):
    """Kingma & Ba 2015, algorithm 1, for one parameter in plain floats."""
    m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = 0.9 * m + (1 - 0.9) * g
        v = 0.999 * v + (1 - 0.999) * g**2
        m_hat = m / (1 - 0.9**t)
        v_hat = v / (1 - 0.999**t)
        theta -= alpha * m_hat / (math.sqrt(v_hat) + 1e-8)
    return theta


def test_adam_is_the_published_algorithm():
    rng = np.random.default_rng(0)
    # From gradients far above ε to far below it.
    gradients = rng.standard_normal((50, 6)) * 10.0 ** -np.arange(0, 12, 2)
    theta = rng.standard_normal(6)
    expected = [adam_by_the_book(theta[i], gradients[:, i].tolist(), 0.05) for i in range(6)]
    optimiser = Adam(0.05, theta)
    for gradient in gradients:
        optimiser.step(theta, gradient.copy())
    np.testing.assert_allclose(theta, expected, rtol=1e-12)


def test_the_first_step_of_adam_is_the_learning_rate():
    """Whatever the size of the gradient, as long as ε is far below it."""
    theta = np.zeros(3)
    Adam(0.01, theta).step(theta, np.array([1e3, -1.0, 1e-3]))
    assert theta == pytest.approx([-0.01, 0.01, -0.01], rel=1e-4)


def test_sgd_subtracts_the_gradient_times_the_learning_rate():
    theta = np.array([1.0, 2.0])
    make_optimiser("sgd", 0.5, theta).step(theta, np.array([1.0, -4.0]))
    assert theta.tolist() == [0.5, 4.0]


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_are_in_place_and_keep_the_float_type(name):
    whole = np.ones(5, dtype=np.float32)
    part = whole[2:]
    gradient = np.full(3, 0.5, dtype=np.float32)
    make_optimiser(name, 0.1, part).step(part, gradient)
    assert whole.dtype == np.float32
    assert (whole[:2] == 1).all()
    assert (whole[2:] < 1).all()
    assert (gradient == 0.5).all()
