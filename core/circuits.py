"""The recall model as two small tables, with the backward pass written by hand.

Every token is a sum of rows of E, one per part (its key, its value), so all that the head can do
is in two tables over the parts:

* the QK circuit, (E_key W_Q)(E W_K)ᵀ / √d_k: how strongly a question about key i attends to a part;
* the OV circuit, E W_V W_O: the logits a part writes when it is attended to.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", named these circuits and
showed that a head is their product. The score of a token is the sum of its parts' QK entries, and
the logits are the sum of the parts' OV rows, each times its token's weight. That is the same
function as `core.recall.answer` and costs far less, as the matrices meet only the parts and not
every token of every sequence. The gradients follow from the chain rule.

With matrices this small, what a step costs is mostly NumPy's overhead for each call. So the
products are written ``a.dot(b)``, which has half the overhead of ``a @ b``, and go straight to
where they belong.
"""

import math
from dataclasses import dataclass

import numpy as np

from core.attention import Bools, Floats
from core.recall import Integers, Parameters, Sequences


@dataclass(frozen=True, kw_only=True, eq=False)
class Circuits:
    """Both tables, and the products they are made of. P parts: every key, then every value."""

    Q: Floats  # (n_keys, d_k) the query of each key
    K: Floats  # (P, d_k) the key vector of each part
    V: Floats  # (P, d_k) the value vector of each part
    qk: Floats  # (n_keys, P) a row asks, a column is looked at
    ov: Floats  # (P, n_values) a row is looked at, a column is answered


@dataclass(frozen=True, kw_only=True, eq=False)
class PartIndex:
    """The parts of B sequences, as places in flattened tables.

    A sequence's parts lie along the axis before the last: the keys of its pairs, the question,
    the values of its pairs. The sequences lie along the last axis, where NumPy is fastest at
    summing over the tokens.
    """

    n_pairs: int
    in_qk: Integers  # (2 n_pairs + 1, B) into the flattened (n_keys, P)
    in_bag: Integers  # (2 n_pairs + 1, B) into the flattened (P, B)
    in_logits: Integers  # (B,) the right answer, into the flattened (n_values, B)
    answers: Integers  # (B,) the right answer itself
    right: Bools  # (n_values, B) True at the right answer


@dataclass(frozen=True, kw_only=True, eq=False)
class Forward:
    """The model's answers to B sequences, kept for the backward pass."""

    weights: Floats  # (n_pairs + 1, B) each column sums to 1
    bag: Floats  # (P, B) each part's weight
    logits: Floats  # (n_values, B)
    probabilities: Floats  # (n_values, B)
    losses: Floats  # (B,) nats

    @property
    def predicted(self) -> Integers:
        """The most probable value of each sequence, (B,)."""
        predicted: Integers = self.logits.argmax(axis=0)
        return predicted


def circuits(parameters: Parameters, *, values_in_keys: bool = True) -> Circuits:
    """Multiply the six matrices out into the two tables."""
    p = parameters
    Q, K, V = p.E_key.dot(p.W_Q), p.E.dot(p.W_K), p.E.dot(p.W_V)
    qk = Q.dot(K.T)
    qk *= 1 / math.sqrt(p.shape.d_k)
    if not values_in_keys:
        qk[:, p.shape.n_keys :] = 0
    return Circuits(Q=Q, K=K, V=V, qk=qk, ov=V.dot(p.W_O))


def index_parts(
    sequences: Sequences,
    n_keys: int,
    n_values: int,
    batch_size: int | None = None,
    *,
    own_questions: bool = False,
) -> list[PartIndex]:
    """Index the parts of sequences, cut into batches; one batch of all of them when None.

    Args:
        sequences: what to index.
        n_keys: different keys.
        n_values: different values.
        batch_size: sequences in a batch, a divisor of their number.
        own_questions: whether a question is a part of its own, after every key and value, and not
            its key's part.
    """
    n_parts, n_pairs = n_keys + n_values, sequences.keys.shape[1]
    B = batch_size or len(sequences)
    questions = sequences.questions[np.newaxis] + (n_parts if own_questions else 0)
    parts = np.concatenate([sequences.keys.T, questions, n_keys + sequences.values.T])
    n_parts += n_keys if own_questions else 0
    parts = parts.reshape(2 * n_pairs + 1, -1, B).swapaxes(0, 1)  # (batches, 2 n_pairs + 1, B)
    in_qk = np.add(parts, sequences.questions.reshape(-1, 1, B) * n_parts, order="C")
    in_bag = np.multiply(parts, B, order="C")
    in_bag += np.arange(B)
    answers = sequences.answers.reshape(-1, B)
    in_logits = answers * B + np.arange(B)
    right = answers[:, np.newaxis] == np.arange(n_values)[:, np.newaxis]  # (batches, n_values, B)
    return [
        PartIndex(n_pairs=n_pairs, in_qk=a, in_bag=b, in_logits=c, answers=d, right=e)
        for a, b, c, d, e in zip(in_qk, in_bag, in_logits, answers, right, strict=True)
    ]


def forward(tables: Circuits, index: PartIndex, *, normalised: bool = True) -> Forward:
    """Answer the sequences of one batch from the tables.

    Args:
        tables: both circuits.
        index: the batch.
        normalised: whether the weights are the softmax of the scores, as in attention; otherwise
            each is the sigmoid of its own score, and they need not sum to 1.
    """
    n, n_parts = index.n_pairs, len(tables.ov)
    batch_size = index.in_logits.shape[-1]
    part_scores = tables.qk.take(index.in_qk)  # (2n + 1, B)
    scores = part_scores[: n + 1]
    scores[:n] += part_scores[n + 1 :]
    if normalised:
        scores -= scores.max(axis=0)
        weights = np.exp(scores)
        weights /= weights.sum(axis=0)  # (n + 1, B)
    else:
        weights = (1 + np.tanh(scores / 2)) / 2  # the sigmoid, without an exp that overflows
    bag = (
        np.bincount(
            index.in_bag.ravel(),
            weights=np.concatenate([weights, weights[:n]], dtype=np.float64).ravel(),
            minlength=n_parts * batch_size,
        )
        .astype(weights.dtype)
        .reshape(n_parts, batch_size)
    )
    logits = tables.ov.T.dot(bag)  # (n_values, B)
    shifted = logits - logits.max(axis=0)
    exponentials = np.exp(shifted)
    totals = exponentials.sum(axis=0)
    return Forward(
        weights=weights,
        bag=bag,
        logits=logits,
        probabilities=exponentials / totals,
        # Not −log(probability): that is infinite once the probability rounds to 0.
        losses=np.log(totals) - shifted.take(index.in_logits),
    )


def table_gradients(
    tables: Circuits, index: PartIndex, answers: Forward, *, normalised: bool = True
) -> tuple[Floats, Floats]:
    """Return the gradient of the mean loss with respect to the QK and the OV circuit."""
    n = index.n_pairs
    batch_size = index.in_logits.shape[-1]
    # Softmax and cross-entropy together: the probability, less 1 at the right answer.
    d_logits = answers.probabilities - index.right
    d_logits /= batch_size
    d_ov = answers.bag.dot(d_logits.T)  # (P, n_values)
    d_parts = tables.ov.dot(d_logits).take(index.in_bag)  # (2n + 1, B)
    d_weights = d_parts[: n + 1]
    d_weights[:n] += d_parts[n + 1 :]
    if normalised:
        d_scores = answers.weights * (d_weights - (answers.weights * d_weights).sum(axis=0))
    else:
        d_scores = answers.weights * (1 - answers.weights) * d_weights
    d_qk = (
        np.bincount(
            index.in_qk.ravel(),
            weights=np.concatenate([d_scores, d_scores[:n]], dtype=np.float64).ravel(),
            minlength=tables.qk.size,
        )
        .astype(d_scores.dtype)
        .reshape(tables.qk.shape)
    )
    return d_qk, d_ov


def backward(
    parameters: Parameters,
    tables: Circuits,
    index: PartIndex,
    answers: Forward,
    gradient: Parameters,
    *,
    values_in_keys: bool = True,
) -> None:
    """Write the gradient of the mean loss with respect to all six matrices into ``gradient``."""
    p = parameters
    d_qk, d_ov = table_gradients(tables, index, answers)
    if not values_in_keys:
        d_qk[:, p.shape.n_keys :] = 0
    d_qk *= 1 / math.sqrt(p.shape.d_k)

    d_Q, d_K, d_V = d_qk.dot(tables.K), d_qk.T.dot(tables.Q), d_ov.dot(p.W_O.T)
    p.E_key.T.dot(d_Q, out=gradient.W_Q)
    p.E.T.dot(d_K, out=gradient.W_K)
    p.E.T.dot(d_V, out=gradient.W_V)
    tables.V.T.dot(d_ov, out=gradient.W_O)
    d_K.dot(p.W_K.T, out=gradient.E)
    gradient.E += d_V.dot(p.W_V.T)
    gradient.E_key += d_Q.dot(p.W_Q.T)
