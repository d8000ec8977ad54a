"""What a trained recall model answers, and what it looks at, on fresh sequences."""

from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.circuits import Forward, circuits, forward, index_parts
from core.recall import Integers, Parameters, Sequences, sample_sequences
from core.training import TrainSettings


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Accuracy and attention, from the question's position, over ``n_sequences`` sequences."""

    n_sequences: int
    accuracy: float  # share answered right, 0 … 1
    loss: float  # nats, mean cross-entropy
    weight_on_match: float  # mean weight on the pair that holds the answer
    weight_on_other: float | None  # mean weight on each of the other pairs; None if there are none
    weight_on_question: float  # mean weight on the question's own position
    match_on_top: float  # share where the match's weight is above that of every other pair
    sequences: Sequences  # the sequences themselves, for another model or strategy
    predicted: Integers  # (n_sequences,) the answer given
    weights: Floats  # (n_sequences, n_pairs + 1) the pairs, then the question


def evaluate(
    parameters: Parameters,
    settings: TrainSettings,
    n_sequences: int = 5000,
    *,
    rng: np.random.Generator,
) -> Evaluation:
    """Draw fresh sequences of the settings' task and let the model answer them."""
    sequences = sample_sequences(
        n_sequences, settings.n_pairs, settings.n_keys, settings.n_values, rng
    )
    return evaluate_on(sequences, parameters, settings)


def evaluate_on(
    sequences: Sequences, parameters: Parameters, settings: TrainSettings
) -> Evaluation:
    """Let the model answer sequences that were drawn before."""
    [batch] = index_parts(sequences, settings.n_keys, settings.n_values)
    answers = forward(circuits(parameters, values_in_keys=settings.values_in_keys), batch)
    return evaluation_of(sequences, answers)


def evaluation_of(sequences: Sequences, answers: Forward) -> Evaluation:
    """Compare a model's answers to these sequences, and its weights, with what was asked."""
    n_sequences, n_pairs = sequences.keys.shape
    weights = answers.weights.T  # (n_sequences, n_pairs + 1)
    is_match = np.arange(n_pairs) == sequences.asked[:, np.newaxis]  # (n_sequences, n_pairs)
    pairs = weights[:, :-1]
    match, others = pairs[is_match], pairs[~is_match].reshape(n_sequences, n_pairs - 1)
    return Evaluation(
        n_sequences=n_sequences,
        accuracy=float((answers.predicted == sequences.answers).mean()),
        loss=float(answers.losses.mean(dtype=np.float64)),
        weight_on_match=float(match.mean(dtype=np.float64)),
        weight_on_other=float(others.mean(dtype=np.float64)) if n_pairs > 1 else None,
        weight_on_question=float(weights[:, -1].mean(dtype=np.float64)),
        match_on_top=float((match > others.max(axis=1, initial=-1)).mean()),
        sequences=sequences,
        predicted=answers.predicted,
        weights=weights,
    )
