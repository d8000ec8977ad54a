"""What determines a training run on two facts at once: task, heads, goal, optimiser and seed.

Cross-entropy rewards a model that hedges: where a head cannot know which of two answers is right,
it learns to give both the same probability, and which of them is the larger is then a matter of
noise. To see how often a head *can* be right, it has to be trained for that. With the goal "fewest
errors" the loss begins as cross-entropy, which finds a way from a random start, and turns within
the first third of the steps into the chance that an answer drawn with the model's own
probabilities is wrong; see `core.two_facts_model.power_loss`.
"""

from dataclasses import dataclass

from core.limits import check_choices, check_training, check_whole
from core.two_facts import ORDERS
from core.two_facts_model import HeadsShape

MAX_HEADS = 4
GOALS = ("fewest errors", "cross-entropy")
WARM_UP = 3  # one step in so many moves from cross-entropy to the chance of an error

_LIMITS = {
    "n_heads": (1, MAX_HEADS),
    "n_pairs": (2, 8),
    "n_keys": (2, 16),
    "n_values": (2, 16),
    "d_model": (1, 64),
    "d_k": (1, 64),
    "batch_size": (1, 256),
    "n_steps": (0, 5000),
}


@dataclass(frozen=True, kw_only=True)
class TwoFactsSettings:
    """Everything that determines a training run."""

    n_heads: int = 1  # heads whose outputs are added up, 1 … 4
    order: str = "as asked"  # of the two answers, one of ORDERS
    n_pairs: int = 3  # key–value pairs in a sequence, 2 … 8 and at most n_keys
    n_keys: int = 8  # different keys, 2 … 16
    n_values: int = 8  # different values, 2 … 16
    d_model: int = 32  # numbers in an embedding, 1 … 64
    d_k: int = 16  # numbers in a query, key vector and value vector of each head, 1 … 64
    values_in_keys: bool = False  # whether a pair's key vector sees its value embedding
    goal: str = "fewest errors"  # what the training minimises, one of GOALS
    batch_size: int = 64  # sequences a step, 1 … 256
    learning_rate: float = 0.01  # no unit, above 0 and at most 1; for Adam
    init_scale: float = 0.3  # standard deviation of the random start, 0 … 10
    n_steps: int = 1000  # optimiser steps, 0 … 5,000
    seed: int = 0  # of the start, the batches and the test sequences
    float_type: str = "float32"  # "float32" or "float64"; float64 is for checks

    def __post_init__(self) -> None:
        check_whole(self, _LIMITS)
        if self.n_pairs > self.n_keys:
            raise ValueError(f"n_pairs must be at most n_keys ({self.n_keys}), got {self.n_pairs}")
        check_training(self, highest_rate=1)
        check_choices(self, {"order": ORDERS, "goal": GOALS})

    def q_at(self, step: int) -> float:
        """Return the q of the loss at a step: 0 is cross-entropy, 1 the chance of an error.

        >>> [TwoFactsSettings(n_steps=300).q_at(step) for step in (0, 50, 100, 300)]
        [0.0, 0.5, 1.0, 1.0]
        >>> TwoFactsSettings(goal="cross-entropy").q_at(1000)
        0.0
        """
        if self.goal == "cross-entropy":
            return 0.0
        return min(1.0, WARM_UP * step / max(1, self.n_steps))

    @property
    def shape(self) -> HeadsShape:
        """The sizes of the model."""
        return HeadsShape(
            n_heads=self.n_heads,
            n_keys=self.n_keys,
            n_values=self.n_values,
            d_model=self.d_model,
            d_k=self.d_k,
        )
