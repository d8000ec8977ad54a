"""Refuse settings beyond their limits, in a sentence that names the field, the rule and the value.

For the ``__post_init__`` of a dataclass of settings.
"""

from collections.abc import Collection, Mapping
from numbers import Integral
from typing import Protocol

FLOAT_TYPES = ("float32", "float64")


def is_whole(value: object) -> bool:
    """Whether this is a whole number, Python's or NumPy's. True and False are not.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_whole(settings: object, limits: Mapping[str, tuple[int, int]]) -> None:
    """Check that these fields are whole numbers between their limits, both of them allowed.

    Args:
        settings: what has the fields.
        limits: for each field's name its lowest and its highest value.

    Raises:
        ValueError: for the first field that is not.
    """
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if not is_whole(value) or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number from {low:,} to {high:,}, got {value}")


def check_choices(settings: object, choices: Mapping[str, Collection[object]]) -> None:
    """Check that each of these fields has one of the values listed for it.

    Raises:
        ValueError: for the first field that has not.
    """
    for name, allowed in choices.items():
        value = getattr(settings, name)
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value}")


class TrainingFields(Protocol):
    """What the settings of every training run have."""

    @property
    def learning_rate(self) -> float:
        """No unit."""

    @property
    def init_scale(self) -> float:
        """Standard deviation of the random start."""

    @property
    def seed(self) -> int:
        """Of all that the run draws."""

    @property
    def float_type(self) -> str:
        """One of FLOAT_TYPES; float64 is for checks."""


def check_training(settings: TrainingFields, *, highest_rate: float) -> None:
    """Check the fields that the settings of every training run have.

    Raises:
        ValueError: for the first field beyond its limits.
    """
    if not 0 < settings.learning_rate <= highest_rate:
        raise ValueError(
            f"learning_rate must be above 0 and at most {highest_rate}, "
            f"got {settings.learning_rate}"
        )
    if not 0 <= settings.init_scale <= 10:
        raise ValueError(f"init_scale must be from 0 to 10, got {settings.init_scale}")
    if not is_whole(settings.seed) or settings.seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {settings.seed}")
    check_choices(settings, {"float_type": FLOAT_TYPES})
