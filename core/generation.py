"""One head that writes token by token: three ways to get the next output, which are the same.

A head that has read n tokens needs one more row: the last token's. What differs is what is made
again for it. ``whole_head`` runs the head on everything, n × n pattern and all, and keeps the last
row. ``last_row`` makes every key and value again, and one row of the pattern. `CachedHead` keeps
keys and values, makes those of the last token, and one row. With a causal mask a key or a value
depends on its own token alone, and so never changes once it is made: that is why it can be kept.

The head is random and so are the tokens it writes: only their cost and their equality mean
anything. One head has no output projection, no feed-forward and no positions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from core.attention import Floats, attention, softmax_rows
from core.row_blocks import attention_by_row_blocks

WHOLE, LAST_ROW, CACHE = "whole head again", "K and V again", "key–value cache"
AT_ONCE = "all at once"
METHODS = (WHOLE, LAST_ROW, CACHE, AT_ONCE)
"""Three ways to get one more output, and the way all n are got when their tokens are known."""

N_VOCAB = 64  # tokens that can be written

NextOutput = Callable[[Floats], Floats]
"""Takes the vectors of all tokens so far (n, d_model), returns the last one's output (d_k,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Writer:
    """One head between a table that turns tokens into vectors and one that scores the next."""

    embeddings: Floats  # (n_vocab, d_model), a row for each token
    w_q: Floats  # (d_model, d_k)
    w_k: Floats  # (d_model, d_k)
    w_v: Floats  # (d_model, d_k)
    w_u: Floats  # (d_k, n_vocab) scores of the next token from the head's output

    @property
    def d_model(self) -> int:
        """Numbers in a token's vector."""
        return len(self.w_q)

    @property
    def d_k(self) -> int:
        """Numbers in a query, a key and a value."""
        return len(self.w_q.T)


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One token read, and the one written after it."""

    token: int  # the one read
    output: Floats  # (d_k,) of the head, at that token
    written: int  # the one drawn after it


def draw_writer(
    d_model: int, d_k: int, rng: np.random.Generator, dtype: DTypeLike = np.float32
) -> Writer:
    """Draw a head whose queries, keys and values have entries of about unit size.

    Raises:
        ValueError: if a size is below 1.
    """
    for name, size in (("d_model", d_model), ("d_k", d_k)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")

    def draw(rows: int, columns: int, size: float) -> Floats:
        return (size * rng.standard_normal((rows, columns))).astype(dtype)

    w_q, w_k, w_v = (draw(d_model, d_k, d_model**-0.5) for _ in range(3))
    return Writer(
        embeddings=draw(N_VOCAB, d_model, 1.0),
        w_q=w_q,
        w_k=w_k,
        w_v=w_v,
        w_u=draw(d_k, N_VOCAB, 1.0),
    )


def whole_head(writer: Writer) -> NextOutput:
    """Return the way that runs the whole head again on every token so far."""
    return lambda x: attention(x, writer.w_q, writer.w_k, writer.w_v)[0][-1]


def last_row(writer: Writer) -> NextOutput:
    """Return the way that makes every key and value again, and the last row of the pattern."""
    return lambda x: attend(x[-1] @ writer.w_q, x @ writer.w_k, x @ writer.w_v)


class CachedHead:
    """The way that keeps keys and values, and makes only those of the last token.

    The arrays have room for every token from the start, so that a step writes two rows and copies
    nothing.
    """

    def __init__(self, writer: Writer, n_most: int) -> None:
        """Make room for the keys and values of ``n_most`` tokens."""
        self.writer = writer
        self.keys = np.zeros((n_most, writer.d_k), dtype=writer.w_k.dtype)
        self.values = np.zeros((n_most, writer.d_k), dtype=writer.w_v.dtype)
        self.n = 0  # tokens whose keys and values are kept

    @property
    def nbytes(self) -> int:
        """Bytes of the two arrays."""
        return self.keys.nbytes + self.values.nbytes

    def __call__(self, x: Floats) -> Floats:
        """Take in the last of these tokens, and return its output.

        Raises:
            ValueError: if there is not one token more than the cache holds, or no room for it.
        """
        if len(x) != self.n + 1 or len(x) > len(self.keys):
            raise ValueError(
                f"x must hold one token more than the cache ({self.n} of at most "
                f"{len(self.keys)}), got {len(x)}"
            )
        last = x[-1]
        self._keep(last @ self.writer.w_k, last @ self.writer.w_v)
        self.n += 1
        return attend(last @ self.writer.w_q, self.keys[: self.n], self.values[: self.n])

    def _keep(self, key: Floats, value: Floats) -> None:
        self.keys[self.n] = key
        self.values[self.n] = value


def attend(q: Floats, keys: Floats, values: Floats) -> Floats:
    """Return the output of one query (d_k,) over n keys and values, each (n, d_k).

    No mask: what is kept is what came before.

    >>> attend(np.zeros(1), np.zeros((2, 1)), np.array([[1.0], [3.0]]))
    array([2.])
    """
    # A Python float: a NumPy float64 here would promote float32 scores.
    weights = softmax_rows(keys @ q * float(1 / np.sqrt(len(q))))  # (n,)
    output: Floats = weights @ values
    return output


def all_at_once(writer: Writer, x: Floats) -> Floats:
    """Return every token's output (n, d_k) in one go, in row blocks, for tokens already known."""
    return attention_by_row_blocks(x @ writer.w_q, x @ writer.w_k, x @ writer.w_v)


def generate_steps(writer: Writer, next_output: NextOutput, noise: Floats) -> Iterator[Step]:
    """Write as many tokens as there are rows of noise, each from the output at the one before.

    The first token read is token 0. What is written is the token whose score and random number
    have the largest sum, which draws it with the softmax's probability if those numbers follow
    Gumbel's distribution (Gumbel 1954). Equal outputs write equal tokens.

    Args:
        writer: the head and its two tables.
        next_output: `whole_head`, `last_row` or a new `CachedHead` of this writer.
        noise: (n_tokens, n_vocab), random numbers.
    """
    x = np.empty((len(noise), writer.d_model), dtype=writer.embeddings.dtype)
    token = 0
    for i, random in enumerate(noise):
        x[i] = writer.embeddings[token]
        output = next_output(x[: i + 1])
        written = int(np.argmax(output @ writer.w_u + random))
        yield Step(token=token, output=output, written=written)
        token = written
