"""Two rules for stepping down a gradient, in place on one flat array.

`SGD` subtracts the gradient times the learning rate. `Adam` is Kingma & Ba 2015, "Adam: A Method
for Stochastic Optimization", algorithm 1, with their default β₁, β₂ and ε; weight decay and
learning-rate schedules are left out.
"""

import math
from typing import Protocol

import numpy as np

from core.attention import Floats

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8

OPTIMISERS = ("adam", "sgd")


class Optimiser(Protocol):
    """A rule that changes ``parameters`` in place, given their gradient."""

    def step(self, parameters: Floats, gradient: Floats) -> None:
        """Take one step."""


class SGD:
    """Plain gradient descent."""

    def __init__(self, learning_rate: float) -> None:
        self.learning_rate = float(learning_rate)

    def step(self, parameters: Floats, gradient: Floats) -> None:
        """Take one step."""
        parameters -= self.learning_rate * gradient


class Adam:
    """Gradient descent with a step size of its own for each parameter."""

    def __init__(self, learning_rate: float, like: Floats) -> None:
        self.learning_rate = float(learning_rate)
        self.steps_taken = 0
        self.mean = np.zeros_like(like)  # running sum of the gradient, the old weighted down
        self.square = np.zeros_like(like)  # the same of its square
        self.scratch = np.empty_like(like)

    def step(self, parameters: Floats, gradient: Floats) -> None:
        """Take one step."""
        self.steps_taken += 1
        scratch = self.scratch
        self.mean *= BETA_1
        self.mean += gradient
        self.square *= BETA_2
        self.square += np.multiply(gradient, gradient, out=scratch)
        # Both sums lack their factor 1 − β and their bias correction: four array operations
        # become three numbers (their section 2).
        mean_factor = (1 - BETA_1) / (1 - BETA_1**self.steps_taken)
        root_factor = math.sqrt((1 - BETA_2) / (1 - BETA_2**self.steps_taken))
        np.sqrt(self.square, out=scratch)
        scratch += EPSILON / root_factor
        np.divide(self.mean, scratch, out=scratch)
        scratch *= self.learning_rate * mean_factor / root_factor
        parameters -= scratch


def make_optimiser(name: str, learning_rate: float, like: Floats) -> Optimiser:
    """Return a new optimiser for an array like this one."""
    return Adam(learning_rate, like) if name == "adam" else SGD(learning_rate)
