"""Does information flow backwards? Change one token, and see which outputs move.

A causal mask (Vaswani et al. 2017, section 3.2.3) must keep every output before the changed token
exactly as it was. The same test is run without a mask, and with four masks that are broken in
ways real code has been.
"""

from dataclasses import dataclass

import numpy as np

from core.attention import Bools, Floats, causal_mask, softmax_rows

MASKS = ("correct", "off by one", "after softmax", "−10 for −∞", "none")
"""The causal mask, and four broken ones; `pattern_under` says what each does."""

N_TOKENS_RANGE = (2, 64)
MAX_SIZE = 10.0


@dataclass(frozen=True, kw_only=True)
class LeakSettings:
    """A random sequence, a random head, and one token of it to change.

    Raises:
        ValueError: if a field is out of its range, naming the field, the rule and the value.
    """

    n_tokens: int = 16  # tokens in the sequence, 2 to 64
    position: int = 10  # the changed token, counted from 0
    size: float = 1.0  # the change: this many times a standard normal vector; 0 changes nothing
    mask: str = "correct"  # one of MASKS, used for the influence map
    d_model: int = 32  # numbers in a token's vector
    d_k: int = 32  # numbers in a query, a key and a value
    seed: int = 0  # of the vectors, the head and the change

    def __post_init__(self) -> None:
        low, high = N_TOKENS_RANGE
        if not low <= self.n_tokens <= high:
            raise ValueError(f"n_tokens must be between {low} and {high}, got {self.n_tokens}")
        if not 0 <= self.position < self.n_tokens:
            raise ValueError(
                f"position must be between 0 and n_tokens − 1 ({self.n_tokens - 1}), "
                f"got {self.position}"
            )
        if not 0 <= self.size <= MAX_SIZE:
            raise ValueError(f"size must be between 0 and {MAX_SIZE:g}, got {self.size}")
        if self.mask not in MASKS:
            raise ValueError(f"mask must be one of {', '.join(MASKS)}, got {self.mask}")
        if self.d_model < 1 or self.d_k < 1:
            raise ValueError(
                f"d_model and d_k must be at least 1, got {self.d_model} and {self.d_k}"
            )
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Leak:
    """The largest change of each output, over its numbers, when one token is changed."""

    settings: LeakSettings
    masked: Floats  # (n,) with the correct causal mask; exactly 0 before the position
    unmasked: Floats  # (n,) without any mask
    chosen: Floats  # (n,) with the mask of the settings


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskCheck:
    """What the leak test sees of one mask."""

    mask: str
    changes: Floats  # (n,) largest change of each output
    largest_before: float  # over the outputs before the changed token; 0 if there are none
    n_moved_before: int  # how many of those outputs are not bit for bit what they were
    row_sums: tuple[float, float]  # smallest and largest sum of a row of the pattern


def leak(settings: LeakSettings) -> Leak:
    """Change one token and measure how far each output moves: masked, unmasked, as chosen.

    >>> leak(LeakSettings(n_tokens=3, position=1)).masked[0]
    np.float64(0.0)
    """
    draws = _draw(settings)
    masks = {"correct", "none", settings.mask}
    changes = {mask: _changes(settings, mask, draws) for mask in masks}
    return Leak(
        settings=settings,
        masked=changes["correct"],
        unmasked=changes["none"],
        chosen=changes[settings.mask],
    )


def check_masks(settings: LeakSettings) -> list[MaskCheck]:
    """Run the leak test on every mask of `MASKS`, over the same vectors and the same change."""
    draws = _draw(settings)
    checks = []
    for mask in MASKS:
        changes = _changes(settings, mask, draws)
        before = changes[: settings.position]
        sums = _outputs(draws.x, draws, mask)[1].sum(axis=1)
        checks.append(
            MaskCheck(
                mask=mask,
                changes=changes,
                largest_before=float(before.max(initial=0.0)),
                n_moved_before=int(np.count_nonzero(before)),
                row_sums=(float(sums.min()), float(sums.max())),
            )
        )
    return checks


def influence(settings: LeakSettings) -> Floats:
    """Change every token in turn, under ``settings.mask``.

    Each position gets the same added vector, so that columns can be compared.

    Returns:
        (n, n): row i, column j is the largest change of output i when token j is changed. With
        the correct mask every entry above the diagonal is exactly 0.
    """
    draws = _draw(settings)
    before = _outputs(draws.x, draws, settings.mask)[0]
    table = np.empty((settings.n_tokens, settings.n_tokens))
    for j in range(settings.n_tokens):
        changed = draws.x.copy()
        changed[j] += draws.change
        after = _outputs(changed, draws, settings.mask)[0]
        table[:, j] = np.abs(after - before).max(axis=1)
    return table


def pattern_under(mask: str, scores: Floats) -> Floats:
    """Return the (n, n) pattern of these (n, n) scores under one of `MASKS`.

    * "correct": −∞ above the diagonal, before the softmax.
    * "off by one": each token may also look at the next one.
    * "after softmax": the weights above the diagonal are set to 0 once the softmax is done. The
      softmax has by then divided each row by a sum that includes the future.
    * "−10 for −∞": e⁻¹⁰ is about 0.00005, which is small and is not 0.
    * "none": every token looks at every token.

    Raises:
        ValueError: if the mask is not one of `MASKS`.
    """
    allowed: Bools = causal_mask(len(scores))
    match mask:
        case "correct":
            return softmax_rows(np.where(allowed, scores, -np.inf))
        case "off by one":
            return softmax_rows(np.where(np.tri(len(scores), k=1, dtype=bool), scores, -np.inf))
        case "after softmax":
            return np.where(allowed, softmax_rows(scores), 0.0)
        case "−10 for −∞":
            return softmax_rows(np.where(allowed, scores, -10.0))
        case "none":
            return softmax_rows(scores)
    raise ValueError(f"mask must be one of {', '.join(MASKS)}, got {mask}")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Draws:
    """The random numbers of one experiment, drawn once and used for every mask."""

    x: Floats  # (n, d_model) the tokens' vectors
    head: Floats  # (3, d_model, d_k) W_Q, W_K and W_V
    change: Floats  # (d_model,) what is added to the changed token


def _changes(settings: LeakSettings, mask: str, draws: _Draws) -> Floats:
    changed = draws.x.copy()
    changed[settings.position] += draws.change
    difference = _outputs(changed, draws, mask)[0] - _outputs(draws.x, draws, mask)[0]
    changes: Floats = np.abs(difference).max(axis=1)
    return changes  # (n,)


def _outputs(x: Floats, draws: _Draws, mask: str) -> tuple[Floats, Floats]:
    w_q, w_k, w_v = draws.head
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])  # (n, n)
    pattern = pattern_under(mask, scores)
    return pattern @ (x @ w_v), pattern


def _draw(settings: LeakSettings) -> _Draws:
    # One generator each: lengthening the sequence must not redraw the head or the change.
    for_x, for_head, for_change = np.random.default_rng(settings.seed).spawn(3)
    x = for_x.standard_normal((settings.n_tokens, settings.d_model))
    head = for_head.standard_normal((3, settings.d_model, settings.d_k))
    change = settings.size * for_change.standard_normal(settings.d_model)
    return _Draws(x=x, head=head / np.sqrt(settings.d_model), change=change)
