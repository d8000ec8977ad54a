"""Ask the recall model about one sequence of the reader's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.recall import Parameters, answer


@dataclass(frozen=True, kw_only=True, eq=False)
class Reply:
    """What the model makes of one sequence of n_pairs pairs and a question."""

    keys: tuple[int, ...]  # of the pairs, in their order
    values: tuple[int, ...]  # of the pairs
    question: int  # the key asked about
    scores: Floats  # (n_pairs + 1,) the pairs, then the question itself
    weights: Floats  # (n_pairs + 1,) softmax of the scores, sums to 1
    logits: Floats  # (n_values,)
    probabilities: Floats  # (n_values,) softmax of the logits, sums to 1
    predicted: int  # the most probable value
    right: int | None  # the value that goes with the key; None if no pair has the key


def ask(
    parameters: Parameters,
    keys: Sequence[int],
    values: Sequence[int],
    question: int,
    *,
    values_in_keys: bool = True,
) -> Reply:
    """Ask which value goes with a key, token by token.

    The key may be missing from the pairs: the model then still answers, and no answer is right.

    Raises:
        ValueError: if the pairs do not fit each other or the model, naming the field and the value.
    """
    _check_pairs(parameters, keys, values, question)
    answers = answer(
        parameters,
        np.array([keys]),
        np.array([values]),
        np.array([question]),
        values_in_keys=values_in_keys,
    )
    return Reply(
        keys=tuple(keys),
        values=tuple(values),
        question=question,
        scores=answers.scores[0],
        weights=answers.weights[0],
        logits=answers.logits[0],
        probabilities=answers.probabilities[0],
        predicted=int(answers.predicted[0]),
        right=dict(zip(keys, values, strict=True)).get(question),
    )


def _check_pairs(
    parameters: Parameters, keys: Sequence[int], values: Sequence[int], question: int
) -> None:
    n_keys, n_values = parameters.shape.n_keys, parameters.shape.n_values
    if not 1 <= len(keys) == len(values):
        raise ValueError(
            "keys and values must be equally many, at least one each, "
            f"got {len(keys)} and {len(values)}"
        )
    for name, numbers, count in (
        ("keys", keys, n_keys),
        ("values", values, n_values),
        ("question", [question], n_keys),
    ):
        for number in numbers:
            if not 0 <= number < count:
                raise ValueError(f"{name} must be from 0 to {count - 1}, got {number}")
    for place, key in enumerate(keys):
        if key in keys[:place]:
            raise ValueError(f"keys must differ from each other, got {key} more than once")
