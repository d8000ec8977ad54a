"""What one more token costs a model: multiply-adds, and the numbers kept for the tokens to come.

A matrix costs one multiply-add for each of its entries, whatever came before. Looking back costs
more with every token there is to look at: for each of them, in each head, d_key multiply-adds for
the score and d_value for the weighted value (Vaswani et al. 2017, section 3.2.1; Kaplan et al.
2020, table 1, counts the same). Left out, as they are small: norms, biases, softmax, rotary
positions and activation functions.
"""

from collections import Counter
from dataclasses import dataclass

from core.architectures.tensors import Model

BITS = (16, 8, 4)  # bits of a kept number


@dataclass(frozen=True, kw_only=True)
class Work:
    """The multiply-adds of one token, in the whole model."""

    n: int  # tokens it looks at, itself among them
    matrices: int  # W_Q, W_K, W_V, W_O and their like
    looking: int  # scores, and weighted values
    feed_forward: int  # matrices of the experts it is sent to, and of the router
    output: int  # scores of the vocabulary

    @property
    def attention(self) -> int:
        """What attention takes: its matrices, and looking."""
        return self.matrices + self.looking

    @property
    def total(self) -> int:
        """All of it."""
        return self.attention + self.feed_forward + self.output


def token_work(model: Model, n: int, *, compressed: bool = True) -> Work:
    """Return the multiply-adds of a token that looks at ``n`` tokens, itself among them.

    Args:
        model: its tensors, and how it looks.
        n: tokens, at least 1.
        compressed: whether a model that can keeps short vectors in place of keys and values.
    """
    return Work(
        n=n,
        matrices=model.active_part("attention"),
        looking=model.looking.cost(compressed=compressed) * tokens_seen(model, n),
        feed_forward=model.active_part("feed-forward"),
        output=model.n_vocab * model.d_model,
    )


def tokens_seen(model: Model, n: int) -> int:
    """Return how many tokens all layers look at together, of ``n``.

    >>> from core.architectures.tensors import Looking
    >>> looking = Looking(n_heads=1, n_kv_heads=1, d_key=2, d_value=2)
    >>> two = Model(tensors=(), looking=looking, windows=(None, 4), d_model=2, n_vocab=9,
    ...             n_context=None)
    >>> tokens_seen(two, 3), tokens_seen(two, 10)
    (6, 14)
    """
    return sum(
        layers * (n if window is None else min(n, window))
        for window, layers in Counter(model.windows).items()
    )


def crossing(model: Model, *, compressed: bool = True) -> int | None:
    """Return the least n at which attention takes at least what feed-forward takes, or None.

    None if that never happens, because every layer looks back no further than its window.
    """
    work = token_work(model, 1, compressed=compressed)
    cost = model.looking.cost(compressed=compressed)
    # Tokens that all layers together have to look at; rounded up.
    needed = -(-(work.feed_forward - work.matrices) // cost)
    if needed <= model.n_layers:  # each layer looks at one token from the start
        return 1
    seen, growing, last = 0, model.n_layers, 0
    for window, layers in sorted(
        (window, layers) for window, layers in Counter(model.windows).items() if window is not None
    ):
        if seen + growing * (window - last) >= needed:
            break
        seen, growing, last = seen + growing * (window - last), growing - layers, window
    if not growing:
        return None
    return last + -(-(needed - seen) // growing)


def kept_numbers(model: Model, n: int, *, compressed: bool = True) -> int:
    """Return how many numbers the model keeps of ``n`` tokens: its key–value cache."""
    return model.looking.kept(compressed=compressed) * tokens_seen(model, n)


def cache_bytes(
    model: Model, n: int, bits: int, *, sequences: int = 1, compressed: bool = True
) -> int:
    """Return the bytes of the cache for some sequences of ``n`` tokens, rounded up.

    Args:
        model: how it looks.
        n: tokens in each sequence.
        bits: bits of a number; scales that come with few bits are not counted.
        sequences: sequences at once, each with a cache of its own.
        compressed: whether a model that can keeps short vectors in place of keys and values.
    """
    return -(-kept_numbers(model, n, compressed=compressed) * sequences * bits // 8)


def unshared_numbers(model: Model, n: int) -> int:
    """Return what would be kept if every head had keys and values of its own."""
    looking = model.looking
    return looking.n_heads * (looking.d_key + looking.d_value) * tokens_seen(model, n)


def weight_bytes(model: Model, bits: int) -> int:
    """Return the bytes of all parameters, rounded up."""
    return -(-model.total * bits // 8)
