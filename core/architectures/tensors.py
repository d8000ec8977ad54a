"""What a model is to the ledger: its tensors, and how its layers look at the tokens before."""

import math
from dataclasses import dataclass

from core.config_reader import ConfigError
from core.ledger import PARTS

MOST_PARAMETERS = 10**15


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One kind of matrix or vector, and how often the model holds it."""

    part: str  # one of core.ledger.PARTS
    meaning: str  # its symbol, then what it does
    name: str  # as in published checkpoints; * stands for the number of a layer or an expert
    shape: tuple[int, ...]  # as in published checkpoints
    n_layers: int | None = None  # layers that hold it; None when it is outside the layers
    n_experts: int = 1  # copies in a layer, one for each expert; 1 when it is no expert's
    n_used: int = 1  # of these copies, those that work on any one token

    @property
    def total(self) -> int:
        """Parameters in the whole model."""
        return math.prod(self.shape) * self.n_experts * self._layers

    @property
    def active(self) -> int:
        """Parameters that work on any one token, in the whole model."""
        return math.prod(self.shape) * self.n_used * self._layers

    @property
    def _layers(self) -> int:
        return 1 if self.n_layers is None else self.n_layers


@dataclass(frozen=True, kw_only=True)
class Looking:
    """How one layer looks at tokens: what it keeps of each, and what looking at one costs.

    A compressed layer (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1) makes keys and values of all
    heads out of one short vector for each token. It can keep keys and values, as every other layer
    does, or that short vector.
    """

    n_heads: int  # heads that ask
    n_kv_heads: int  # heads that have keys and values
    d_key: int  # numbers in a query and in a key
    d_value: int  # numbers in a value
    d_short: int | None = None  # numbers in the short vector; None where there is none
    d_position: int = 0  # numbers kept beside it, for the position

    def kept(self, *, compressed: bool) -> int:
        """Return how many numbers a layer keeps of each token."""
        if compressed and self.d_short is not None:
            return self.d_short + self.d_position
        return self.n_kv_heads * (self.d_key + self.d_value)

    def cost(self, *, compressed: bool) -> int:
        """Return the multiply-adds of a layer for each token it looks at.

        A query times a key gives the score; the weight times a value goes to the output. Against
        the short vector, a query is first brought to its length, at no more cost than making a
        key, and the output is made of short vectors.
        """
        if compressed and self.d_short is not None:
            return self.n_heads * (self.d_short + self.d_position + self.d_short)
        return self.n_heads * (self.d_key + self.d_value)


@dataclass(frozen=True, kw_only=True)
class Model:
    """Every tensor of a model, and how its layers look."""

    tensors: tuple[Tensor, ...]
    looking: Looking  # alike in all layers
    windows: tuple[int | None, ...]  # (n_layers,) tokens a layer looks back at most; None: all
    d_model: int
    n_vocab: int
    n_context: int | None  # tokens it was made for, as its config.json says
    model_type: str = ""  # as in the config.json
    fields: tuple[tuple[str, object, bool], ...] = ()  # name, value, whether the file had it
    notes: tuple[str, ...] = ()  # sentences on what the count leaves out or decides

    @property
    def n_layers(self) -> int:
        """Layers, each one attention step and one feed-forward block."""
        return len(self.windows)

    @property
    def total(self) -> int:
        """All parameters."""
        return sum(tensor.total for tensor in self.tensors)

    @property
    def active(self) -> int:
        """Parameters that work on any one token: all but those of experts it is not sent to."""
        return sum(tensor.active for tensor in self.tensors)

    @property
    def has_experts(self) -> bool:
        """Whether some parameters do not work on every token."""
        return self.active < self.total

    @property
    def can_compress(self) -> bool:
        """Whether a layer can keep one short vector of each token."""
        return self.looking.d_short is not None

    def part(self, part: str) -> int:
        """Return the parameters of one of `core.ledger.PARTS`."""
        return sum(tensor.total for tensor in self.tensors if tensor.part == part)

    def active_part(self, part: str) -> int:
        """Return those of them that work on any one token."""
        return sum(tensor.active for tensor in self.tensors if tensor.part == part)


def checked(model: Model) -> Model:
    """Return the model if its sizes make sense together.

    Raises:
        ConfigError: if there are more parameters than any model has.
    """
    assert all(tensor.part in PARTS for tensor in model.tensors)
    if model.total > MOST_PARAMETERS:
        largest = max(model.tensors, key=lambda tensor: tensor.total)
        raise ConfigError(
            f"These sizes make {model.total:,} parameters, and at most {MOST_PARAMETERS:,} are "
            f"counted here. Most are in {largest.name}."
        )
    return model
