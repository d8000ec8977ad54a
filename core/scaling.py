"""Why the scores are divided by √d_k.

If the entries of q and k are independent, with mean 0 and variance 1, then q·k is a sum of d_k
products, each of mean 0 and variance 1: its standard deviation is √d_k (Vaswani et al. 2017,
footnote 4). Left to grow, such scores drive softmax to put nearly all weight on one token. This
measures both.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.attention import softmax_rows

D_KS = tuple(2**power for power in range(11))
"""1, 2, 4, …, 1,024."""


@dataclass(frozen=True, kw_only=True)
class ScalingSettings:
    """How many random queries and keys to draw at each d_k."""

    n_tokens: int = 16  # queries, and keys, in one draw; 2 to 64
    n_draws: int = 20  # independent draws at each d_k; 1 to 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (("n_tokens", 2, 64), ("n_draws", 1, 100)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """What the scores do at each d_k, with or without the division."""

    draw_std: NDArray[np.float64]  # (n_draws, len(D_KS)) standard deviation of one draw's scores
    std: NDArray[np.float64]  # (len(D_KS),) standard deviation of the scores of all draws
    predicted_std: NDArray[np.float64]  # (len(D_KS),) √d_k, or 1 with the division
    draw_largest: NDArray[np.float64]  # (n_draws, len(D_KS)) mean of each row's largest weight
    largest: NDArray[np.float64]  # (len(D_KS),) the same over all draws


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaling:
    """The same queries and keys with and without the division."""

    settings: ScalingSettings
    n_scores: int  # scores at each d_k, over all draws
    n_rows: int  # softmax rows at each d_k, over all draws
    d_k: NDArray[np.int64]  # (len(D_KS),)
    undivided: Spread
    divided: Spread


def scaling(settings: ScalingSettings) -> Scaling:
    """Draw standard normal queries and keys at each d_k and measure their scores.

    >>> result = scaling(ScalingSettings())
    >>> result.undivided.std[[0, 4, 10]].round(1)
    array([ 1. ,  3.9, 31.6])
    >>> result.divided.std[[0, 4, 10]].round(1)
    array([1., 1., 1.])
    """
    rng = np.random.default_rng(settings.seed)
    n_draws, n_tokens = settings.n_draws, settings.n_tokens
    scores = np.empty((len(D_KS), n_draws, n_tokens, n_tokens))
    for of_d_k, d_k in zip(scores, D_KS, strict=True):
        Q, K = rng.standard_normal((2, n_draws, n_tokens, d_k))
        np.matmul(Q, K.transpose(0, 2, 1), out=of_d_k)
    roots = np.sqrt(D_KS)
    return Scaling(
        settings=settings,
        n_scores=n_draws * n_tokens**2,
        n_rows=n_draws * n_tokens,
        d_k=np.array(D_KS),
        undivided=_spread(scores, roots),
        divided=_spread(scores / roots[:, None, None, None], np.ones_like(roots)),
    )


def _spread(scores: NDArray[np.float64], predicted_std: NDArray[np.float64]) -> Spread:
    of_rows = softmax_rows(scores).max(axis=-1)  # (len(D_KS), n_draws, n_tokens)
    draw_largest = of_rows.mean(axis=-1).T
    return Spread(
        draw_std=scores.std(axis=(2, 3)).T,
        std=scores.std(axis=(1, 2, 3)),
        predicted_std=predicted_std,
        draw_largest=draw_largest,
        largest=draw_largest.mean(axis=0),
    )
