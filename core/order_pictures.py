"""What each scheme of positions does before any training, and what an order of tokens changes.

Both parts use a head with random weights: what they show holds for any weights.
"""

from dataclasses import dataclass, replace
from itertools import islice, permutations

import numpy as np

from core.attention import Floats
from core.order_model import OrderParameters, forward, positions_of, start_order
from core.positions import make_positions, rotary_angles, rotate, sinusoids
from core.recall import Integers
from core.word_order import OrderSettings, arrange, one_hot, sample_order

RANDOM_SCALE = 0.35  # standard deviation of the random weights; scores are then about 1
MAX_ORDERS = 720  # orders tried: all of them up to six pairs


@dataclass(frozen=True, kw_only=True, eq=False)
class Shuffle:
    """One sequence in two orders, and the largest change over many orders."""

    scheme: str
    keys: Integers  # (n_pairs,) in the first order
    values: Integers  # (n_pairs,)
    question: int  # the key asked about
    order: Integers  # (n_pairs,) [i] is the pair that stands at position i in the second order
    before: Floats  # (n_pairs + 1,) weight of each pair and of the question, first order
    after: Floats  # (n_pairs + 1,) weight of the same pairs in the second order
    n_orders: int  # orders tried
    weight_change: float  # largest change of a pair's weight over all of them
    answer_change: float  # largest change of a value's probability over all of them


def shuffle_pairs(settings: OrderSettings, order_seed: int) -> Shuffle:
    """Put one sequence's pairs in other orders, and follow each pair's weight.

    Args:
        settings: the task and the scheme; ``seed`` fixes the weights and the sequence.
        order_seed: fixes the second order; 0 is the reverse.
    """
    settings = replace(settings, float_type="float64", init_scale=RANDOM_SCALE)
    weights_rng, sequence_rng = np.random.default_rng(settings.seed).spawn(2)
    p = start_order(settings, weights_rng)
    sequence = sample_order(settings, 1, sequence_rng)
    n = settings.n_pairs
    if order_seed == 0:
        order = np.arange(n)[::-1]
    else:
        order = np.random.default_rng(order_seed).permutation(n)
    orders = np.array([np.arange(n), order, *islice(permutations(range(n)), MAX_ORDERS)])
    batch = arrange(
        sequence.keys[0][orders],
        sequence.values[0][orders],
        np.repeat(sequence.questions, len(orders)),
    )
    answers = forward(p, positions_of(settings), one_hot(settings, batch))
    back = np.concatenate([orders.argsort(axis=1), np.full((len(orders), 1), n)], axis=1)
    weights = np.take_along_axis(answers.weights, back, axis=1)  # [o, i]: pair i under order o
    return Shuffle(
        scheme=settings.scheme,
        keys=sequence.keys[0],
        values=sequence.values[0],
        question=int(sequence.questions[0]),
        order=order,
        before=weights[0],
        after=weights[1],
        n_orders=len(orders) - 2,
        weight_change=float(np.abs(weights - weights[0]).max()),
        answer_change=float(np.abs(answers.probabilities - answers.probabilities[0]).max()),
    )


def position_scores(
    settings: OrderSettings, n_positions: int, parameters: OrderParameters | None = None
) -> Floats:
    """Return the score of one word about itself, from each position to each position.

    The same key stands everywhere, so that whatever differs between two entries is the position.

    Args:
        settings: the scheme, the sizes, and the seed of the random weights.
        n_positions: how many positions.
        parameters: the head; one with random weights when None.

    Returns:
        (n_positions, n_positions), no unit: a row asks, a column is looked at.
    """
    p = parameters or _random_head(settings, n_positions)
    positions = make_positions(
        settings.scheme, n_positions, settings.d_model, settings.d_k, settings.alibi_slope
    )
    x = np.repeat(p.E[:1], n_positions, axis=0)  # (n_positions, d_model)
    if settings.scheme == "learned":
        x += p.positions[:n_positions]
    if positions.added is not None:
        x += positions.added
    Q: Floats = x @ p.W_Q
    K: Floats = x @ p.W_K
    if positions.angles is not None:
        Q, K = rotate(Q, positions.angles), rotate(K, positions.angles)
    scores: Floats = Q @ K.T / np.sqrt(settings.d_k)
    return scores if positions.bias is None else scores + positions.bias


def scheme_vectors(settings: OrderSettings, n_positions: int) -> Floats:
    """Return the numbers by which the scheme tells one position from another, before training.

    Args:
        settings: the scheme, the sizes, and the seed of learned vectors.
        n_positions: how many positions; learned vectors are as many as a sequence has tokens.

    Returns:
        A row for each position, no unit. Sinusoidal: what is added (n_positions, d_model). Learned:
        the start of the training with these settings (n_tokens, d_model). Rotary: the cosine of
        each pair's angle (n_positions, d_k / 2).

    Raises:
        ValueError: if the scheme has no such numbers.
    """
    if settings.scheme == "sinusoidal":
        return sinusoids(n_positions, settings.d_model)
    if settings.scheme == "rotary":
        cosines: Floats = np.cos(rotary_angles(n_positions, settings.d_k))
        return cosines
    if settings.scheme != "learned":
        raise ValueError(
            "scheme must be learned, sinusoidal or rotary to have numbers for each position, got "
            f"{settings.scheme}"
        )
    start_rng, *_ = np.random.default_rng(settings.seed).spawn(3)  # as the training spawns them
    return start_order(settings, start_rng).positions


def spread_along_distance(scores: Floats) -> float:
    """Return by how much scores of one distance differ at most: 0 if distance alone decides.

    A distance has a sign here: looking back is not looking ahead.

    >>> spread_along_distance(np.array([[1.0, 2.0], [3.0, 1.5]]))
    0.5
    """
    n = len(scores)
    return float(max(np.ptp(np.diagonal(scores, offset)) for offset in range(1 - n, n)))


def _random_head(settings: OrderSettings, n_positions: int) -> OrderParameters:
    # As many other pairs as give the sequence this many tokens would break the task's own limit,
    # so learned positions are drawn on their own.
    settings = replace(settings, float_type="float64", init_scale=RANDOM_SCALE)
    rng = np.random.default_rng(settings.seed)
    p = start_order(settings, rng)
    if settings.scheme == "learned" and n_positions > len(p.positions):
        more = rng.standard_normal((n_positions - len(p.positions), settings.d_model))
        p.positions = np.concatenate([p.positions, more * RANDOM_SCALE])
    return p
