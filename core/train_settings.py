"""What determines a training run: the task, the model, the optimiser, the seed, and the variant.

A variant is the model with something taken away:

* learned: all six matrices are trained;
* uniform: W_Q and W_K are zero and stay zero, so that every score is 0 and all weights are equal;
* frozen_scores: W_Q and W_K keep their random start;
* frozen_query: W_Q keeps its random start;
* keys_without_values: everything is trained, but a pair's key vector sees only its key embedding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from core.limits import check_choices, check_training, check_whole
from core.optimisers import OPTIMISERS
from core.recall import ModelShape

VARIANTS = ("learned", "uniform", "frozen_scores", "frozen_query", "keys_without_values")

_FROZEN = {
    "uniform": ("W_Q", "W_K"),
    "frozen_scores": ("W_Q", "W_K"),
    "frozen_query": ("W_Q",),
}

LIMITS = MappingProxyType(
    {
        "n_pairs": (1, 16),
        "n_keys": (1, 32),
        "n_values": (2, 32),
        "d_model": (1, 128),
        "d_k": (1, 128),
        "batch_size": (1, 1024),
        "n_steps": (0, 10_000),
    }
)
"""The lowest and the highest value of each whole number."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Everything that determines a training run. The defaults are the article's task."""

    limits: ClassVar[Mapping[str, tuple[int, int]]] = LIMITS  # a subclass may have others

    n_pairs: int = 3  # key–value pairs in a sequence, 1 … 16 and at most n_keys
    n_keys: int = 8  # different keys, 1 … 32
    n_values: int = 8  # different values, 2 … 32
    d_model: int = 32  # numbers in an embedding, 1 … 128
    d_k: int = 32  # numbers in a query, key vector and value vector, 1 … 128
    batch_size: int = 64  # sequences a step, 1 … 1,024
    learning_rate: float = 0.01  # no unit, above 0 and at most 10
    optimiser: str = "adam"  # one of OPTIMISERS
    init_scale: float = 0.1  # standard deviation of the random start, 0 … 10
    n_steps: int = 3000  # optimiser steps, 0 … 10,000
    seed: int = 0  # of the start, the batches and the test sequences
    variant: str = "learned"  # one of VARIANTS
    float_type: str = "float32"  # "float32" or "float64"; float64 is for checks

    def __post_init__(self) -> None:
        check_whole(self, self.limits)
        if self.n_pairs > self.n_keys:
            raise ValueError(f"n_pairs must be at most n_keys ({self.n_keys}), got {self.n_pairs}")
        check_training(self, highest_rate=10)
        check_choices(self, {"optimiser": OPTIMISERS, "variant": VARIANTS})

    @property
    def shape(self) -> ModelShape:
        """The sizes of the model."""
        return ModelShape(
            n_keys=self.n_keys, n_values=self.n_values, d_model=self.d_model, d_k=self.d_k
        )

    @property
    def frozen(self) -> tuple[str, ...]:
        """The matrices that keep their start."""
        return _FROZEN.get(self.variant, ())

    @property
    def values_in_keys(self) -> bool:
        """Whether a pair's key vector sees its value embedding."""
        return self.variant != "keys_without_values"
