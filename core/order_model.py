"""One head that may know where its tokens stand, with the backward pass written by hand.

The model is that of `core.recall`: a pair is key embedding + value embedding, the question its key
embedding alone, one head looks from the question's position, and W_O reads the answer off. A
scheme of `core.positions` enters in one of three places: in the embeddings, in the queries and
keys, or in the scores.
"""

from dataclasses import dataclass

import numpy as np

from core.attention import Floats, softmax_rows
from core.positions import Positions, make_positions, rotate
from core.recall import Integers
from core.word_order import OrderSettings


class OrderParameters:
    """All trained numbers, as views of one flat array; a gradient has the same form."""

    def __init__(self, flat: Floats, settings: OrderSettings) -> None:
        shapes = matrix_shapes(settings)
        size = sum(rows * columns for rows, columns in shapes.values())
        if flat.shape != (size,):
            raise ValueError(f"flat must be ({size},), got {flat.shape}")
        self.flat = flat
        self.settings = settings
        views: dict[str, Floats] = {}
        start = 0
        for name, (rows, columns) in shapes.items():
            views[name] = flat[start : start + rows * columns].reshape(rows, columns)
            start += rows * columns
        self.W_Q, self.W_K, self.W_V = views["W_Q"], views["W_K"], views["W_V"]  # (d_model, d_k)
        self.E = views["E"]  # (n_parts, d_model) every key, then every value
        self.W_O = views["W_O"]  # (d_k, n_values)
        self.positions = views["positions"]  # (n_tokens, d_model) if learned, else no rows

    def copy(self, dtype: str | None = None) -> "OrderParameters":
        """Return a copy that shares no memory, in another float type if one is given."""
        return OrderParameters(np.array(self.flat, dtype=dtype or self.flat.dtype), self.settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderAnswers:
    """What the model does with B sequences of T tokens, kept for the backward pass."""

    x: Floats  # (B, d_model) the question's embedding, with its position if that is added
    q: Floats  # (B, d_k) the question's query, turned if rotary
    k: Floats  # (B, T, d_k) the key vectors, turned if rotary
    v: Floats  # (B, T, d_k) the value vectors
    scores: Floats  # (B, T) no unit
    weights: Floats  # (B, T) each row sums to 1
    mixed: Floats  # (B, d_k) the head's output
    logits: Floats  # (B, n_values)

    @property
    def predicted(self) -> Integers:
        """The most probable value of each sequence, (B,)."""
        predicted: Integers = self.logits.argmax(axis=1)
        return predicted

    @property
    def probabilities(self) -> Floats:
        """Softmax of the logits, (B, n_values)."""
        return softmax_rows(self.logits)


def matrix_shapes(settings: OrderSettings) -> dict[str, tuple[int, int]]:
    """Return the shape of each matrix in the order in which they lie in the flat array.

    The positions come last, so that all schemes of one seed start from the same other numbers.
    """
    d, d_k = settings.d_model, settings.d_k
    return {
        "W_Q": (d, d_k),
        "W_K": (d, d_k),
        "W_V": (d, d_k),
        "E": (settings.n_parts, d),
        "W_O": (d_k, settings.n_values),
        "positions": (settings.n_tokens if settings.scheme == "learned" else 0, d),
    }


def start_order(settings: OrderSettings, rng: np.random.Generator) -> OrderParameters:
    """Draw all matrices from a normal distribution with standard deviation ``init_scale``."""
    size = sum(rows * columns for rows, columns in matrix_shapes(settings).values())
    flat = rng.standard_normal(size) * settings.init_scale
    return OrderParameters(flat.astype(settings.float_type), settings)


def positions_of(settings: OrderSettings, n_tokens: int | None = None) -> Positions:
    """Return what the settings' scheme fixes for their sequences, or for others of ``n_tokens``."""
    return make_positions(
        settings.scheme,
        n_tokens or settings.n_tokens,
        settings.d_model,
        settings.d_k,
        settings.alibi_slope,
        settings.float_type,
    )


def forward(p: OrderParameters, positions: Positions, tokens: Floats) -> OrderAnswers:
    """Answer sequences.

    Args:
        p: the trained numbers.
        positions: what the scheme fixes.
        tokens: (B, T, n_parts), what each token is made of; the last token is the question.
    """
    B, T, n_parts = tokens.shape
    rows = tokens.reshape(B * T, n_parts)  # one large product is faster than B small ones
    x: Floats = tokens[:, -1] @ p.E  # (B, d_model)
    # A token is a sum of rows of E, so the matrices need to meet each row only once.
    k: Floats = (rows @ (p.E @ p.W_K)).reshape(B, T, -1)
    v: Floats = (rows @ (p.E @ p.W_V)).reshape(B, T, -1)
    added = _added(p, positions, T)
    if added is not None:
        x += added[-1]
        k += added @ p.W_K
        v += added @ p.W_V
    q: Floats = x @ p.W_Q  # (B, d_k)
    if positions.angles is not None:
        q = rotate(q, positions.angles[-1])
        k = rotate(k, positions.angles)
    scores = np.matmul(k, q[:, :, np.newaxis])[:, :, 0] * _scale(p)  # (B, T)
    if positions.bias is not None:
        scores += positions.bias[-1]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mixed = np.matmul(weights[:, np.newaxis], v)[:, 0]  # (B, d_k)
    return OrderAnswers(
        x=x, q=q, k=k, v=v, scores=scores, weights=weights, mixed=mixed, logits=mixed @ p.W_O
    )


def losses(answers: OrderAnswers, right: Integers) -> Floats:
    """Return each sequence's cross-entropy, (B,), in nats."""
    shifted = answers.logits - answers.logits.max(axis=1, keepdims=True)
    chosen = shifted[np.arange(len(right)), right]
    # Not −log(probability): that is infinite once the probability rounds to 0.
    nats: Floats = np.log(np.exp(shifted).sum(axis=1)) - chosen
    return nats


def backward(
    p: OrderParameters,
    positions: Positions,
    tokens: Floats,
    right: Integers,
    answers: OrderAnswers,
    gradient: OrderParameters,
) -> None:
    """Write the gradient of the mean loss with respect to every trained number."""
    B, T, n_parts = tokens.shape
    a = answers
    # softmax and cross-entropy together: p − 1 at the answer
    d_logits = np.exp(a.logits - a.logits.max(axis=1, keepdims=True))
    d_logits /= d_logits.sum(axis=1, keepdims=True)
    d_logits[np.arange(B), right] -= 1
    d_logits /= B
    d_mixed = d_logits @ p.W_O.T  # (B, d_k)
    d_weights = np.matmul(a.v, d_mixed[:, :, np.newaxis])[:, :, 0]  # (B, T)
    d_v = a.weights[:, :, np.newaxis] * d_mixed[:, np.newaxis]  # (B, T, d_k)
    d_scores = a.weights * (d_weights - (a.weights * d_weights).sum(axis=1, keepdims=True))
    d_scores *= _scale(p)
    d_q = np.matmul(d_scores[:, np.newaxis], a.k)[:, 0]  # (B, d_k)
    d_k = d_scores[:, :, np.newaxis] * a.q[:, np.newaxis]  # (B, T, d_k)
    if positions.angles is not None:  # a turn's gradient is turned back
        d_q, d_k = rotate(d_q, -positions.angles[-1]), rotate(d_k, -positions.angles)

    rows = tokens.reshape(B * T, n_parts).T
    d_K = rows @ d_k.reshape(B * T, -1)  # (n_parts, d_k) of E W_K
    d_V = rows @ d_v.reshape(B * T, -1)  # (n_parts, d_k) of E W_V
    d_x = d_q @ p.W_Q.T  # (B, d_model)
    gradient.W_Q[:] = a.x.T @ d_q
    gradient.W_K[:] = p.E.T @ d_K
    gradient.W_V[:] = p.E.T @ d_V
    gradient.W_O[:] = a.mixed.T @ d_logits
    gradient.E[:] = d_K @ p.W_K.T + d_V @ p.W_V.T + tokens[:, -1].T @ d_x
    added = _added(p, positions, T)
    if added is not None:
        sum_k, sum_v = d_k.sum(axis=0), d_v.sum(axis=0)  # (T, d_k)
        gradient.W_K += added.T @ sum_k
        gradient.W_V += added.T @ sum_v
        if len(p.positions):
            gradient.positions[:] = sum_k @ p.W_K.T + sum_v @ p.W_V.T
            gradient.positions[-1] += d_x.sum(axis=0)


def _added(p: OrderParameters, positions: Positions, n_tokens: int) -> Floats | None:
    """Return the vectors added to the embeddings; a shorter sequence has the first ones."""
    return p.positions[:n_tokens] if len(p.positions) else positions.added


def _scale(p: OrderParameters) -> float:
    # A Python float: a NumPy float64 would promote float32 arrays.
    return float(1 / np.sqrt(p.settings.d_k))
