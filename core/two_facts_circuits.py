"""The heads of `core.two_facts_model` as two small tables each, and their backward pass by hand.

As in `core.circuits`, every token is a sum of rows of embedding tables, one per part, so that all
that a head can do is in two tables (Elhage et al. 2021, "A Mathematical Framework for Transformer
Circuits"):

* the QK circuit, (E_question W_Q)(E W_K)ᵀ / √d_k: how strongly a question that names key i first
  (rows 0 … n_keys − 1) or second (the rows after them) looks at a part of a pair;
* the OV circuit, E W_V W_O: what a part adds to the logits of the first and second answer.

The heads' outputs add up, so their OV circuits are read with one matrix multiplication.
"""

from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.recall import Integers
from core.two_facts import TwoFacts
from core.two_facts_model import HeadsParameters, HeadsShape


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadTables:
    """Both tables of all H heads, and the products they are made of. P parts: keys, then values."""

    Q: Floats  # (H, 2 n_keys, d_k) the query of each key named first, then named second
    K: Floats  # (H, P, d_k) the key vector of each part
    V: Floats  # (H, P, d_k) the value vector of each part
    qk: Floats  # (H, 2 n_keys, P) a row asks, a column is looked at
    ov: Floats  # (H, P, 2 n_values) a row is looked at, a column is answered


@dataclass(frozen=True, kw_only=True, eq=False)
class FactIndex:
    """The parts of B sequences, as places in flattened tables of all heads.

    The sequences lie along the last axis, where NumPy is fastest at summing over the tokens. A
    score adds up ``blocks`` entries of the QK circuit: the key named first and the one named
    second, each with the pair's key and, if the scores see them, with its value.
    """

    n_pairs: int
    in_qk: Integers  # (H, blocks, n_pairs, B) into the flattened (H, 2 n_keys, P)
    in_bag: Integers  # (H, 2, n_pairs, B) into the flattened (H, P, B)
    in_logits: Integers  # (2, B) the right answers, into the flattened (2, n_values, B)
    answers: Integers  # (2, B) the right answers themselves


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadsForward:
    """The model's answers to B sequences, kept for the backward pass."""

    weights: Floats  # (H, n_pairs, B) each head's column sums to 1
    bag: Floats  # (H, P, B) each part's weight
    logits: Floats  # (2, n_values, B)
    probabilities: Floats  # (2, n_values, B)
    log_p: Floats  # (B,) ln of the probability given to both right answers together

    @property
    def predicted(self) -> Integers:
        """The most probable value for each answer, (2, B)."""
        predicted: Integers = self.logits.argmax(axis=1)
        return predicted


def head_tables(parameters: HeadsParameters, *, values_in_keys: bool = False) -> HeadTables:
    """Multiply the matrices out into the tables."""
    p = parameters
    Q, K, V = p.E_question @ p.W_Q, p.E @ p.W_K, p.E @ p.W_V
    qk = Q @ K.swapaxes(1, 2) * float(1 / np.sqrt(p.shape.d_k))
    if not values_in_keys:
        qk[:, :, p.shape.n_keys :] = 0
    return HeadTables(Q=Q, K=K, V=V, qk=qk, ov=V @ p.W_O)


def index_facts(
    sequences: TwoFacts,
    shape: HeadsShape,
    batch_size: int | None = None,
    *,
    values_in_keys: bool = False,
) -> list[FactIndex]:
    """Index the parts of sequences, cut into batches; one batch of all of them when None."""
    H, P, n = shape.n_heads, shape.n_parts, sequences.keys.shape[1]
    B = batch_size or len(sequences)
    keys = sequences.keys.reshape(-1, 1, B, n).swapaxes(2, 3)  # (batches, 1, n, B)
    values = shape.n_keys + sequences.values.reshape(-1, 1, B, n).swapaxes(2, 3)
    rows = sequences.named + np.array([0, shape.n_keys])  # (batches × B, 2)
    rows = rows.reshape(-1, B, 2).swapaxes(1, 2)[:, :, np.newaxis] * P  # (batches, 2, 1, B)
    in_qk = np.concatenate([rows + keys, rows + values], axis=1) if values_in_keys else rows + keys
    in_bag = np.concatenate([keys, values], axis=1) * B + np.arange(B)
    heads = np.arange(H).reshape(H, 1, 1, 1)
    answers = sequences.answers.reshape(-1, B, 2).swapaxes(1, 2)  # (batches, 2, B)
    in_logits = (answers + np.array([[0], [shape.n_values]])) * B + np.arange(B)
    return [
        FactIndex(
            n_pairs=n,
            in_qk=qk + heads * (2 * shape.n_keys * P),
            in_bag=bag + heads * (P * B),
            in_logits=logits,
            answers=right,
        )
        for qk, bag, logits, right in zip(in_qk, in_bag, in_logits, answers, strict=True)
    ]


def forward_heads(tables: HeadTables, index: FactIndex) -> HeadsForward:
    """Answer the sequences of one batch from the tables."""
    H, P, twice = tables.ov.shape
    B = index.in_logits.shape[-1]
    scores = tables.qk.take(index.in_qk).sum(axis=1)  # (H, n, B)
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=1, keepdims=True)
    both = np.broadcast_to(weights[:, np.newaxis], index.in_bag.shape)  # to the key and the value
    bag = _add_up(index.in_bag, both, H * P * B).reshape(H, P, B)
    logits = (tables.ov.reshape(H * P, twice).T @ bag.reshape(H * P, B)).reshape(2, -1, B)
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    totals = exponentials.sum(axis=1)  # (2, B)
    return HeadsForward(
        weights=weights,
        bag=bag,
        logits=logits,
        probabilities=exponentials / totals[:, np.newaxis],
        # Not ln(probability): that is infinite once the probability rounds to 0.
        log_p=(shifted.take(index.in_logits) - np.log(totals)).sum(axis=0),
    )


def backward_heads(
    parameters: HeadsParameters,
    tables: HeadTables,
    index: FactIndex,
    answers: HeadsForward,
    gradient: HeadsParameters,
    *,
    q: float,
) -> None:
    """Write every matrix's gradient of the mean `power_loss` with this q into ``gradient``.

    Entries of the QK circuit that the index does not read, as those of values the scores do not
    see, get no gradient.
    """
    p, (H, P, twice) = parameters, tables.ov.shape
    B = index.in_logits.shape[-1]
    # Softmax and −ln p together give probability − 1 at the right answer; (1 − p^q) / q has the
    # gradient of −ln p, times p^q.
    d_logits = answers.probabilities.copy()  # (2, n_values, B)
    d_logits.ravel()[index.in_logits] -= 1
    d_logits *= np.exp(q * answers.log_p) / B
    d_logits = d_logits.reshape(twice, B)
    d_ov = (answers.bag.reshape(H * P, B) @ d_logits.T).reshape(H, P, twice)
    d_bag = tables.ov.reshape(H * P, twice) @ d_logits
    d_weights = d_bag.take(index.in_bag).sum(axis=1)  # (H, n, B)
    weights = answers.weights
    d_scores = weights * (d_weights - (weights * d_weights).sum(axis=1, keepdims=True))
    d_parts = np.broadcast_to(d_scores[:, np.newaxis], index.in_qk.shape)
    d_qk = _add_up(index.in_qk, d_parts, tables.qk.size).reshape(tables.qk.shape)
    d_qk *= float(1 / np.sqrt(p.shape.d_k))

    d_Q, d_K = d_qk @ tables.K, d_qk.swapaxes(1, 2) @ tables.Q
    d_V = d_ov @ p.W_O.swapaxes(1, 2)
    gradient.W_Q[:] = p.E_question.T @ d_Q
    gradient.W_K[:] = p.E.T @ d_K
    gradient.W_V[:] = p.E.T @ d_V
    gradient.W_O[:] = tables.V.swapaxes(1, 2) @ d_ov
    gradient.E_question[:] = (d_Q @ p.W_Q.swapaxes(1, 2)).sum(axis=0)
    gradient.E[:] = (d_K @ p.W_K.swapaxes(1, 2) + d_V @ p.W_V.swapaxes(1, 2)).sum(axis=0)


def _add_up(places: Integers, amounts: Floats, size: int) -> Floats:
    """Return (size,), the amounts added up at their places, in the amounts' own float type."""
    totals = np.bincount(places.ravel(), weights=amounts.ravel(), minlength=size)
    return totals.astype(amounts.dtype)
