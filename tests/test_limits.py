"""Every limit holds at both of its ends, and what is beyond is refused in a sentence."""

from dataclasses import dataclass

import numpy as np
import pytest

from core.limits import check_choices, check_training, check_whole, is_whole


@dataclass
class Fields:
    n: object = 1
    kind: object = "a"
    learning_rate: float = 1.0
    init_scale: float = 1.0
    seed: int = 0
    float_type: str = "float32"


def test_whole_numbers_are_python_s_and_numpy_s_alone():
    assert all(is_whole(value) for value in (-1, 0, 10**30, np.int64(3)))
    assert not any(is_whole(value) for value in (True, np.True_, 3.0, float("nan"), "3", None))


@pytest.mark.parametrize("n", [2, 1_500, np.int32(2)])
def test_whole_numbers_within_the_limits_pass(n):
    check_whole(Fields(n=n), {"n": (2, 1_500)})


@pytest.mark.parametrize("n", [1, 1_501, 2.0, True, "2"])
def test_anything_else_is_refused(n):
    with pytest.raises(ValueError, match=f"^n must be a whole number from 2 to 1,500, got {n}$"):
        check_whole(Fields(n=n), {"n": (2, 1_500)})


def test_a_choice_is_one_of_those_listed():
    check_choices(Fields(n=4), {"n": (2, 4), "kind": ("a", "b")})
    with pytest.raises(ValueError, match=r"^n must be one of 2, 4, got 3$"):
        check_choices(Fields(n=3), {"kind": ("a", "b"), "n": (2, 4)})


@pytest.mark.parametrize(
    "ends",
    [
        {"learning_rate": 5.0, "init_scale": 0.0, "seed": 0},
        {"learning_rate": 1e-9, "init_scale": 10.0, "float_type": "float64"},
    ],
)
def test_a_training_within_its_limits_passes(ends):
    check_training(Fields(**ends), highest_rate=5)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and at most 5, got 0.0"),
        ({"learning_rate": 5.1}, "learning_rate must be above 0 and at most 5, got 5.1"),
        ({"init_scale": float("nan")}, "init_scale must be from 0 to 10, got nan"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.0}, "seed must be a whole number of at least 0, got 0.0"),
        ({"float_type": "int8"}, "float_type must be one of float32, float64, got int8"),
    ],
)
def test_a_training_beyond_its_limits_is_refused(bad, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        check_training(Fields(**bad), highest_rate=5)
