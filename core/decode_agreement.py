"""Whether every way to get a token's output gives the same."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core.attention import Floats, attention
from core.broken_cache import BROKEN
from core.generation import (
    AT_ONCE,
    CACHE,
    LAST_ROW,
    N_VOCAB,
    WHOLE,
    CachedHead,
    NextOutput,
    Writer,
    all_at_once,
    draw_writer,
    generate_steps,
    last_row,
    whole_head,
)

ROUNDING = 2e-5
"""The most that rounding may make of two ways to add up the same float32 numbers, as a share of
the largest number. Float32 rounds at 6e-8, and up to 2,048 numbers are added up in turn."""


@dataclass(frozen=True, kw_only=True)
class DecodeSettings:
    """The head, how many tokens it writes, and how often that is timed."""

    d_model: int = 512  # numbers in a token's vector
    d_k: int = 128  # numbers in a query, a key and a value
    n_tokens: int = 2048  # tokens written
    n_repeats: int = 5  # timed runs of each method at each position
    seed: int = 0  # of the random head and of the tokens drawn

    def __post_init__(self) -> None:
        for name in ("d_model", "d_k", "n_tokens", "n_repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")

    @property
    def positions(self) -> tuple[int, ...]:
        """Return after how many tokens every method is run: 1, 2, 4, … and the last."""
        doubled = tuple(2**i for i in range(self.n_tokens.bit_length()))
        return doubled if doubled[-1] == self.n_tokens else (*doubled, self.n_tokens)


@dataclass(frozen=True, kw_only=True, eq=False)
class Written:
    """What the head wrote with its cache, and what it wrote it with."""

    writer: Writer
    x: Floats  # (n_tokens, d_model) vectors of the tokens read
    outputs: Floats  # (n_tokens, d_k)
    tokens: tuple[int, ...]  # the token written after each
    noise: Floats  # (n_tokens, n_vocab) the random numbers that drew them
    cache_bytes: int  # of the arrays that hold the keys and values of all tokens


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far one way's outputs are from those of the full head."""

    way: str  # one of core.generation.METHODS, or of core.broken_cache.BROKEN
    n_outputs: int  # outputs compared, each of d_k numbers
    largest: float  # difference between two numbers, no unit
    size: float  # the largest number in the full head's outputs, no unit
    n_same_token: int  # outputs after which the same token is written

    @property
    def is_rounding(self) -> bool:
        """Whether the outputs are the same but for rounding, and write the same tokens."""
        return self.largest <= ROUNDING * self.size and self.n_same_token == self.n_outputs


def write(settings: DecodeSettings) -> Written:
    """Write all tokens with a key–value cache."""
    draws, noise_draws = np.random.default_rng(settings.seed).spawn(2)
    writer = draw_writer(settings.d_model, settings.d_k, draws)
    cache = CachedHead(writer, settings.n_tokens)
    noise = noise_draws.gumbel(size=(settings.n_tokens, N_VOCAB))
    steps = list(generate_steps(writer, cache, noise))
    return Written(
        writer=writer,
        x=writer.embeddings[[step.token for step in steps]],
        outputs=np.stack([step.output for step in steps]),
        tokens=tuple(step.written for step in steps),
        noise=noise,
        cache_bytes=cache.nbytes,
    )


def compare_outputs(written: Written, settings: DecodeSettings) -> Iterator[Agreement]:
    """Hold every way's outputs against the full head's, `core.attention.attention`.

    The full head runs once on all tokens: row i of it is what it gives at token i, as the mask
    lets nothing later in. Ways that make everything again are run at ``settings.positions``, the
    others at every token, the broken caches too.
    """
    writer, x = written.writer, written.x
    full, _ = attention(x, writer.w_q, writer.w_k, writer.w_v)  # (n, d_k)
    everywhere = range(1, len(x) + 1)

    def outputs_of(next_output: NextOutput, ns: tuple[int, ...] | range) -> Floats:
        return np.stack([next_output(x[:n]) for n in ns])

    some: tuple[tuple[str, Callable[[Writer], NextOutput]], ...]
    some = ((WHOLE, whole_head), (LAST_ROW, last_row))
    for way, make in some:
        outputs = outputs_of(make(writer), settings.positions)
        yield _agreement(way, outputs, full, written, settings.positions)
    yield _agreement(CACHE, written.outputs, full, written, everywhere)
    yield _agreement(AT_ONCE, all_at_once(writer, x), full, written, everywhere)
    for way, broken in BROKEN.items():
        outputs = outputs_of(broken(writer, len(x)), everywhere)
        yield _agreement(way, outputs, full, written, everywhere)


def _agreement(
    way: str, outputs: Floats, full: Floats, written: Written, ns: tuple[int, ...] | range
) -> Agreement:
    rows = np.array(ns) - 1
    drawn = np.argmax(outputs @ written.writer.w_u + written.noise[rows], axis=1)
    of_full = np.argmax(full[rows] @ written.writer.w_u + written.noise[rows], axis=1)
    return Agreement(
        way=way,
        n_outputs=len(rows),
        largest=float(np.abs(outputs - full[rows]).max()),
        size=float(np.abs(full).max()),
        n_same_token=int((drawn == of_full).sum()),
    )
