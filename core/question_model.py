"""The recall model with its question taken apart: what makes it look at itself?

In `core.recall` the question is a key embedding, and it is used twice: it asks (it becomes the
query), and it is looked at (it becomes a key vector and a value vector, as every token does). Here
each use can have an embedding table of its own, the question can be kept from looking at itself,
values can be hidden from the keys, the start can be centred, and the weights can be freed from
summing to 1. With none of that it is the model of `core.recall`, number for number.

It is computed through the circuits of `core.circuits`, with the questions as parts of their own
after the keys and the values.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from core.attention import Floats
from core.circuits import Circuits, Forward, PartIndex, table_gradients
from core.limits import check_choices
from core.recall import ModelShape, Parameters, start_parameters
from core.train_settings import TrainSettings

QUESTION_TABLES = ("shared", "own to ask", "own to be looked at", "own for both")
"""Where a question's embedding comes from: the keys' table, or for some uses one of its own."""


@dataclass(frozen=True, kw_only=True)
class QuestionSettings(TrainSettings):
    """A training run, and what is done to the question. The defaults are the article's model."""

    question_table: str = "shared"  # one of QUESTION_TABLES
    looks_at_itself: bool = True  # whether the question is one of the tokens it looks at
    values_hidden: bool = False  # whether a pair's key vector sees its key embedding alone
    centred_start: bool = False  # whether each embedding table starts with the mean row 0
    sum_to_one: bool = True  # weights: softmax of the scores; otherwise each score's sigmoid

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, {"question_table": QUESTION_TABLES})
        if self.variant != "learned":
            raise ValueError(f"variant must be learned for this model, got {self.variant}")

    @property
    def values_in_keys(self) -> bool:
        """Whether a pair's key vector sees its value embedding."""
        return not self.values_hidden

    @property
    def asks_from_own(self) -> bool:
        """Whether the question's query comes from the question's own table."""
        return self.question_table in ("own to ask", "own for both")

    @property
    def seen_from_own(self) -> bool:
        """Whether what is seen of the question comes from the question's own table."""
        return self.question_table in ("own to be looked at", "own for both")


class QuestionParameters:
    """The six matrices and the question's own table, as views of one flat array.

    A table that is not used has the gradient 0 and keeps its start.
    """

    def __init__(self, flat: Floats, shape: ModelShape) -> None:
        n = n_parameters(shape)
        if flat.shape != (n,):
            raise ValueError(f"flat must be ({n},), got {flat.shape}")
        self.flat = flat
        self.six = Parameters(flat[: shape.n_parameters], shape)
        self.E_question = flat[shape.n_parameters :].reshape(shape.n_keys, shape.d_model)

    def asking(self, settings: QuestionSettings) -> Floats:
        """Return the table a question asks with, (n_keys, d_model)."""
        return self.E_question if settings.asks_from_own else self.six.E_key

    def looked_at(self, settings: QuestionSettings) -> Floats:
        """Return the table a question is looked at with, (n_keys, d_model)."""
        return self.E_question if settings.seen_from_own else self.six.E_key

    def copy(self, dtype: DTypeLike | None = None) -> "QuestionParameters":
        """Return a copy that shares no memory, in another float type if one is given."""
        return QuestionParameters(
            np.array(self.flat, dtype=dtype or self.flat.dtype), self.six.shape
        )


def n_parameters(shape: ModelShape) -> int:
    """Return how many numbers the six matrices and the question's own table have together."""
    return shape.n_parameters + shape.n_keys * shape.d_model


def start(settings: QuestionSettings, rng: np.random.Generator) -> QuestionParameters:
    """Draw what a run starts from: the six matrices as `core.training` does, then the table."""
    shape = settings.shape
    six = start_parameters(shape, settings.init_scale, rng, settings.float_type)
    table = rng.standard_normal(shape.n_keys * shape.d_model) * settings.init_scale
    parameters = QuestionParameters(
        np.concatenate([six.flat, table.astype(settings.float_type)]), shape
    )
    if settings.centred_start:
        for embeddings in (parameters.six.E_key, parameters.six.E_value, parameters.E_question):
            embeddings[:] -= embeddings.mean(axis=0)
    return parameters


def circuits(parameters: QuestionParameters, settings: QuestionSettings) -> Circuits:
    """Multiply the matrices out into the two tables, with a part for each question at the end.

    Of the QK circuit's entries for the questions, the question about key i meets that in its row
    and its column alone. It is −∞ where the question may not look at itself.
    """
    p, shape = parameters.six, parameters.six.shape
    n_keys, scale = shape.n_keys, float(1 / np.sqrt(shape.d_k))
    seen = parameters.looked_at(settings)
    Q, K, V = parameters.asking(settings) @ p.W_Q, p.E @ p.W_K, p.E @ p.W_V
    own = settings.seen_from_own
    # A shared row is copied, not multiplied again: equal scores are then equal to the last bit.
    K_question = seen @ p.W_K if own else K[:n_keys]
    V_question = seen @ p.W_V if own else V[:n_keys]
    qk = Q @ K.T * scale
    to_questions = Q @ K_question.T * scale if own else qk[:, :n_keys]  # (n_keys, n_keys)
    if not settings.looks_at_itself:
        to_questions = np.full_like(to_questions, -np.inf)
    qk = np.hstack([qk, to_questions])
    if settings.values_hidden:
        qk[:, n_keys : shape.n_parts] = 0
    V = np.concatenate([V, V_question])
    return Circuits(Q=Q, K=np.concatenate([K, K_question]), V=V, qk=qk, ov=V @ p.W_O)


def backward(
    parameters: QuestionParameters,
    settings: QuestionSettings,
    tables: Circuits,
    index: PartIndex,
    answers: Forward,
    gradient: QuestionParameters,
) -> None:
    """Write the gradient of the mean loss with respect to every matrix into ``gradient``."""
    p, g, shape = parameters.six, gradient.six, parameters.six.shape
    d_qk, d_ov = table_gradients(tables, index, answers, normalised=settings.sum_to_one)
    if settings.values_hidden:
        d_qk[:, shape.n_keys : shape.n_parts] = 0
    d_qk *= float(1 / np.sqrt(shape.d_k))

    d_Q, d_K, d_V = d_qk @ tables.K, d_qk.T @ tables.Q, d_ov @ p.W_O.T
    asks = parameters.asking(settings)
    parts = np.concatenate([p.E, parameters.looked_at(settings)])
    g.W_Q[:] = asks.T @ d_Q
    g.W_K[:] = parts.T @ d_K
    g.W_V[:] = parts.T @ d_V
    g.W_O[:] = tables.V.T @ d_ov
    d_parts = d_K @ p.W_K.T
    d_parts += d_V @ p.W_V.T
    g.E[:] = d_parts[: shape.n_parts]
    gradient.E_question[:] = 0
    # Both are views: a table with several uses adds up what each of them contributes.
    seen, asking = gradient.looked_at(settings), gradient.asking(settings)
    seen += d_parts[shape.n_parts :]
    asking += d_Q @ p.W_Q.T
