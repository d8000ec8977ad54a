"""A recall head with two numbers in a query, written down instead of trained.

Keys lie evenly on a circle, and a key's query points to where the key lies. The dot product of two
points of a circle is the cosine of the angle between them, so no key fits a query better than the
key itself. Values lie on a circle of their own, and W_O reads off the nearest. The head therefore
answers any number of keys, once its scores are large enough for softmax to tell neighbours apart.
An embedding has four numbers: two for the key, two for the value.
"""

import math

import numpy as np

from core.attention import Floats
from core.recall import ModelShape, Parameters

GAP = 20.0  # by which the match's score beats its neighbours': e^20, about 5 × 10⁸ to 1


def circle_head(n_keys: int, n_values: int, gap: float = GAP) -> Parameters:
    """Write down the six matrices of a head with d_k = 2 and d_model = 4.

    Args:
        n_keys: different keys.
        n_values: different values.
        gap: how far the match's score lies above that of the key's neighbours.
    """
    shape = ModelShape(n_keys=n_keys, n_values=n_values, d_model=4, d_k=2)
    head = Parameters(np.zeros(shape.n_parameters), shape)
    head.E_key[:, :2] = _circle(n_keys)
    head.E_value[:, 2:] = _circle(n_values)
    # Scores are divided by √d_k, and W_Q and W_K each bring one root of the scale.
    head.W_Q[:2] = head.W_K[:2] = math.sqrt(score_scale(n_keys, gap) * math.sqrt(2)) * np.eye(2)
    head.W_V[2:] = np.eye(2)
    head.W_O[:] = _circle(n_values).T
    return head


def score_scale(n_keys: int, gap: float = GAP) -> float:
    """Return the score of a key with itself that leaves its neighbours this far below.

    The neighbours' score is the cosine of 2π / n_keys times as large. With many keys that is
    about 1 − 2π² / n_keys², so the scale grows as n_keys².

    >>> [round(score_scale(n)) for n in (8, 32, 128)]
    [68, 1041, 16604]
    """
    return gap / (1 - math.cos(2 * math.pi / max(2, n_keys)))


def _circle(n: int) -> Floats:
    angles = 2 * math.pi * np.arange(n) / n
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (n, 2)
