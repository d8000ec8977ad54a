"""What one more token costs a model, as frames: multiply-adds, and the memory of its cache."""

import math

import pandas as pd

from core.architectures.tensors import Model
from core.binary_units import GIB, in_binary_units
from core.tables.counts import count_of
from core.tables.ledger import in_words, share_in_words
from core.tables.numbers import significant
from core.tables.text import text_table
from core.token_cost import (
    BITS,
    cache_bytes,
    crossing,
    kept_numbers,
    token_work,
    unshared_numbers,
    weight_bytes,
)

CONTEXTS = tuple(2**power for power in range(6, 21))  # tokens; the slider's positions
MOST_SEQUENCES = 64
_STEPS = 4  # points of a curve between two contexts

ATTENTION, FEED_FORWARD = "attention", "feed-forward"
MATRICES, LOOKING = "its matrices", "looking back"
LINES = (ATTENTION, FEED_FORWARD, MATRICES, LOOKING)
"""The curves of the work on one token."""


def work_points(model: Model, n: int, *, compressed: bool) -> pd.DataFrame:
    """Return the curves of the work on one token, and the marks on them.

    ``Kind`` is "line", or "context" for the chosen one, "made for" and "crossing" for one point
    each.
    """
    # As floats, which have no largest size: a file may ask for more than 64 bits hold.
    rows: list[tuple[str, str, int, float]] = []
    for at in _curve_contexts():
        work = token_work(model, at, compressed=compressed)
        sizes = (work.attention, work.feed_forward, work.matrices, work.looking)
        rows += [("line", line, at, float(size)) for line, size in zip(LINES, sizes, strict=True)]
    marks = {
        "context": n,
        "made for": model.n_context,
        "crossing": crossing(model, compressed=compressed),
    }
    for kind, place in marks.items():
        if place is not None and CONTEXTS[0] <= place <= CONTEXTS[-1]:
            work = token_work(model, place, compressed=compressed)
            rows.append((kind, ATTENTION, place, float(work.attention)))
    return pd.DataFrame(rows, columns=["Kind", "Line", "Tokens", "Multiply-adds"])


def work_decades(model: Model, *, compressed: bool) -> tuple[int, int]:
    """Return the powers of ten between which all curves lie, whatever the chosen context."""
    least = token_work(model, CONTEXTS[0], compressed=compressed)
    most = token_work(model, CONTEXTS[-1], compressed=compressed)
    low = min(least.matrices, least.looking, least.feed_forward)
    return _decades(low, max(most.attention, most.feed_forward))


def work_table(model: Model, n: int, *, compressed: bool) -> pd.DataFrame:
    """Return the multiply-adds of one token, part by part."""
    work = token_work(model, n, compressed=compressed)
    rows = {
        "attention: its matrices": work.matrices,
        "attention: looking back": work.looking,
        "attention, both": work.attention,
        FEED_FORWARD: work.feed_forward,
        "scores of the vocabulary": work.output,
        "total": work.total,
    }
    return pd.DataFrame(
        {
            "Part": list(rows),
            "Multiply-adds of one token": list(rows.values()),
            "Share (%)": [100 * value / work.total for value in rows.values()],
        }
    )


def work_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the work as text."""
    return text_table(
        {
            "Part": frame["Part"],
            "Multiply-adds of one token": map("{:,}".format, frame["Multiply-adds of one token"]),
            "Share": map(share_in_words, frame["Share (%)"]),
        }
    )


def crossing_sentence(name: str, model: Model, *, compressed: bool) -> str:
    """Say from which context on attention takes at least as much as feed-forward."""
    n = crossing(model, compressed=compressed)
    if n is None:
        return (
            f"{name}: attention never takes as much as feed-forward, however long the context. No "
            f"layer looks back further than {max(filter(None, model.windows)):,} tokens."
        )
    if n == 1:
        return f"{name}: attention takes at least as much as feed-forward from the first token on."
    words = f"{name}: from {n:,} tokens on, attention takes at least as much as feed-forward"
    if model.n_context is None:
        return f"{words}."
    beyond = "beyond" if n > model.n_context else "within"
    return f"{words}. That is {beyond} the {model.n_context:,} tokens it was made for."


def work_sentence(model: Model, n: int, *, compressed: bool) -> str:
    """Say what one token takes at the chosen context."""
    work = token_work(model, n, compressed=compressed)
    return (
        f"At {n:,} tokens, the next one takes {in_words(work.total)} multiply-adds: attention "
        f"{share_in_words(100 * work.attention / work.total)}, feed-forward "
        f"{share_in_words(100 * work.feed_forward / work.total)}, scores of the vocabulary "
        f"{share_in_words(100 * work.output / work.total)}."
    )


def cache_points(model: Model, n: int, sequences: int, *, compressed: bool) -> pd.DataFrame:
    """Return the memory of the cache at every context, of the weights, and the marks."""
    rows: list[tuple[str, str, int, float]] = []
    for at in _curve_contexts():
        for bits in BITS:
            size = cache_bytes(model, at, bits, sequences=sequences, compressed=compressed)
            rows.append(("line", f"cache at {bits} bits", at, size / GIB))
        rows.append(("line", "weights at 16 bits", at, weight_bytes(model, 16) / GIB))
    size = cache_bytes(model, n, 16, sequences=sequences, compressed=compressed)
    rows.append(("context", "cache at 16 bits", n, size / GIB))
    return pd.DataFrame(rows, columns=["Kind", "What", "Tokens", "Memory (GiB)"])


def cache_decades(model: Model, *, compressed: bool) -> tuple[int, int]:
    """Return the powers of ten of GiB between which all lines lie, whatever the controls."""
    weights = weight_bytes(model, 16)
    least = cache_bytes(model, CONTEXTS[0], BITS[-1], compressed=compressed)
    most = cache_bytes(
        model, CONTEXTS[-1], BITS[0], sequences=MOST_SEQUENCES, compressed=compressed
    )
    return _decades(min(least, weights) / GIB, max(most, weights) / GIB)


def cache_table(model: Model, n: int, sequences: int, *, compressed: bool) -> pd.DataFrame:
    """Return the memory of the cache at 16, 8 and 4 bits: a token, a context, all sequences."""
    return pd.DataFrame(
        [
            {
                "Bits of a number": bits,
                "First token (bytes)": cache_bytes(model, 1, bits, compressed=compressed),
                "This context (bytes)": cache_bytes(model, n, bits, compressed=compressed),
                "All sequences (bytes)": (
                    total := cache_bytes(model, n, bits, sequences=sequences, compressed=compressed)
                ),
                "Weights at as many bits (bytes)": (weights := weight_bytes(model, bits)),
                "All sequences ÷ weights (no unit)": total / weights,
            }
            for bits in BITS
        ]
    )


def cache_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cache as text, in binary units."""
    bits, *sizes, share = frame.columns
    return text_table(
        {
            bits: frame[bits],
            **{name.removesuffix(" (bytes)"): map(in_binary_units, frame[name]) for name in sizes},
            "All sequences ÷ weights": map(significant, frame[share]),
        }
    )


def cache_sentence(model: Model, n: int, sequences: int, *, compressed: bool) -> str:
    """Say what is kept of a token and of the chosen contexts, at 16 bits."""
    numbers = kept_numbers(model, 1, compressed=compressed)
    context = cache_bytes(model, n, 16, sequences=sequences, compressed=compressed)
    weights = weight_bytes(model, 16)
    many = "" if sequences == 1 else f" in each of {sequences:,} sequences"
    return (
        f"Of a token, {numbers:,} numbers are kept. At 16 bits and {n:,} tokens{many}, the cache "
        f"takes {in_binary_units(context)}, beside {in_binary_units(weights)} for the weights."
    )


def sharing_sentence(model: Model, *, compressed: bool) -> str:
    """Say what the model does to keep less, and how much less it keeps."""
    looking = model.looking
    less = unshared_numbers(model, 1) / kept_numbers(model, 1, compressed=compressed)
    if model.can_compress and compressed:
        words = (
            "This model keeps one short vector of each token in a layer, "
            f"{looking.d_short:,} numbers and {looking.d_position:,} for the position, from which "
            f"keys and values of all {looking.n_heads:,} heads can be made. That is {less:,.1f} "
            "times less than keeping them, and each token looked at costs "
            f"{looking.cost(compressed=True) / looking.cost(compressed=False):,.1f} times as much."
        )
    elif looking.n_kv_heads < looking.n_heads:
        words = (
            f"{looking.n_heads:,} heads share {count_of(looking.n_kv_heads, 'key–value head')}, so "
            f"{less:,.1f} times less is kept than if each had its own."
        )
    else:
        words = "Every head keeps keys and values of its own: nothing is shared."
    sliding = [window for window in model.windows if window is not None]
    if not sliding:
        return words
    return (
        f"{words} {len(sliding):,} of {count_of(model.n_layers, 'layer')} look back no further "
        f"than {max(sliding):,} tokens, and keep no more."
    )


def _curve_contexts() -> list[int]:
    steps = (len(CONTEXTS) - 1) * _STEPS
    return [round(CONTEXTS[0] * 2 ** (step / _STEPS)) for step in range(steps + 1)]


def _decades(low: float, high: float) -> tuple[int, int]:
    # A hair is added so that a curve that ends on a power of ten is not cut in half.
    return math.floor(math.log10(low) - 0.01), math.ceil(math.log10(high) + 0.01)
