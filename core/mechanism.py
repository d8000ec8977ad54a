"""Run one head over a sentence and say, in numbers, where each word's vector moved.

The head is `core.attention.head_steps`; its output is added to the token's vector, as a transformer
does (Vaswani et al. 2017, section 3.1, without the layer norm). How far a vector points along a
direction is their cosine: 1 the same way, 0 at a right angle, −1 the opposite way.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.attention import HeadSteps, head_steps
from core.heads import HEADS, HeadWeights, make_head
from core.lexicon import D_MODEL, MEANINGS, Token, axis, random_vectors, tokenise, word_vector

VECTORS = ("lexicon", "random")
MAX_D_K = 1024
MAX_SCORE_SCALE = 100.0


@dataclass(frozen=True, kw_only=True)
class MechanismSettings:
    """One sentence, one head, and how its scores are made."""

    sentence: str = "a fluffy blue creature"  # plain text, 1 to 24 tokens
    vectors: str = "lexicon"  # one of VECTORS: hand-made, or a random one for each position
    head: str = "adjectives"  # one of HEADS
    d_k: int = 4  # numbers in each query and key, 1 to 1,024
    causal: bool = True  # whether a token is kept from looking at later ones
    divide: bool = True  # whether q·k is divided by √d_k
    score_scale: float = 1.0  # a further factor on every score, 0 to 100
    seed: int = 0  # of unknown words, random vectors and the random head

    def __post_init__(self) -> None:
        tokenise(self.sentence)
        if self.vectors not in VECTORS:
            raise ValueError(f"vectors must be one of {', '.join(VECTORS)}, got {self.vectors!r}")
        if self.head not in HEADS:
            raise ValueError(f"head must be one of {', '.join(HEADS)}, got {self.head!r}")
        if not 1 <= self.d_k <= MAX_D_K:
            raise ValueError(f"d_k must be from 1 to {MAX_D_K:,}, got {self.d_k}")
        if not 0 <= self.score_scale <= MAX_SCORE_SCALE:
            raise ValueError(
                f"score_scale must be from 0 to {MAX_SCORE_SCALE:g}, got {self.score_scale}"
            )
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")


PRESETS = {
    "A fluffy blue creature": MechanismSettings(),
    "Bank beside river": MechanismSettings(sentence="the river beside the bank", head="context"),
    "Bank beside interest rate": MechanismSettings(
        sentence="the interest rate at the bank", head="context"
    ),
    "Random vectors": MechanismSettings(
        sentence=" ".join(["random"] * 8), vectors="random", head="random"
    ),
}
"""In each preset the word to watch comes last, where the causal mask lets it see all others."""

# What each hand-set head is meant to move the last word of its preset towards.
_PRESET_DIRECTIONS = {
    "A fluffy blue creature": ("fluffy", "blue"),
    "Bank beside river": ("water", "money"),
    "Bank beside interest rate": ("water", "money"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Mechanism:
    """Every stage from words to changed vectors."""

    settings: MechanismSettings
    tokens: tuple[Token, ...]  # n of them
    X: NDArray[np.float64]  # (n, d_model), one row per token
    weights: HeadWeights
    steps: HeadSteps  # with d_v = d_model
    updated: NDArray[np.float64]  # (n, d_model), X + output


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSteps:
    """The arithmetic of one token's row, key by key. Weights sum to 1."""

    token: Token
    q: NDArray[np.float64]  # (d_k,) the token's query
    dots: NDArray[np.float64]  # (n,) q·k
    divided: NDArray[np.float64]  # (n,) q·k ÷ √d_k, or q·k where the division is off
    scores: NDArray[np.float64]  # (n,) divided times the score scale
    allowed: NDArray[np.bool_]  # (n,) whether the mask lets the token look
    exponentials: NDArray[np.float64]  # (n,) exp(score − largest allowed score), 0 where forbidden
    weights: NDArray[np.float64]  # (n,) each exponential over their sum
    weighted_values: NDArray[np.float64]  # (n, d_model) weight × v
    total: NDArray[np.float64]  # (d_model,) their sum, the output of this token


@dataclass(frozen=True, kw_only=True)
class Move:
    """How far one word's vector turned towards one direction."""

    word: str  # the token's label
    direction: str  # a meaning of the lexicon, or the label of a token
    before: float  # cosine of x and the direction
    after: float  # cosine of x + output and the direction

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before


def mechanism(settings: MechanismSettings) -> Mechanism:
    """Run the head of these settings over their sentence.

    >>> result = mechanism(MechanismSettings())
    >>> [token.label for token in result.tokens]
    ['1 a', '2 fluffy', '3 blue', '4 creature']
    >>> result.steps.pattern[3].round(2)
    array([0.01, 0.49, 0.49, 0.01])
    """
    tokens = tokenise(settings.sentence)
    vector_rng, head_rng = np.random.default_rng(settings.seed).spawn(2)
    if settings.vectors == "random":
        # No word is looked up, so none is marked as missing.
        tokens = tuple(replace(token, known=True) for token in tokens)
        X = random_vectors(len(tokens), vector_rng)
    else:
        X = np.array([word_vector(token.text, settings.seed) for token in tokens])
    weights = make_head(settings.head, settings.d_k, head_rng)
    steps = head_steps(
        X,
        weights.W_Q,
        weights.W_K,
        weights.W_V,
        causal=settings.causal,
        scale=score_factor(settings),
    )
    return Mechanism(
        settings=settings,
        tokens=tokens,
        X=X,
        weights=weights,
        steps=steps,
        updated=X + steps.output,
    )


def score_factor(settings: MechanismSettings) -> float:
    """Return what q·k is multiplied by.

    >>> score_factor(MechanismSettings(d_k=16, score_scale=2.0))
    0.5
    """
    division = np.sqrt(settings.d_k) if settings.divide else 1.0
    return float(settings.score_scale / division)


def explain_row(result: Mechanism, index: int) -> RowSteps:
    """Redo the row of the token at ``index`` (from 0), one key at a time."""
    q = result.steps.Q[index]
    dots = np.array([q @ k for k in result.steps.K])
    settings = result.settings
    divided = dots / np.sqrt(settings.d_k) if settings.divide else dots
    scores = divided * settings.score_scale
    allowed = np.isfinite(result.steps.masked_scores[index])
    exponentials = np.where(allowed, np.exp(np.minimum(scores - scores[allowed].max(), 0)), 0)
    weights = exponentials / exponentials.sum()
    weighted_values = weights[:, np.newaxis] * result.steps.V
    return RowSteps(
        token=result.tokens[index],
        q=q,
        dots=dots,
        divided=divided,
        scores=scores,
        allowed=allowed,
        exponentials=exponentials,
        weights=weights,
        weighted_values=weighted_values,
        total=weighted_values.sum(axis=0),
    )


def cosines(vectors: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of every row of ``vectors`` with every row of ``directions``.

    A vector of length 0 points nowhere; its cosine counts as 0.

    >>> cosines(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])).round(3)
    array([[1.   , 0.707],
           [0.   , 0.   ]])
    """
    lengths = np.linalg.norm(vectors, axis=1)[:, np.newaxis] * np.linalg.norm(directions, axis=1)
    along: NDArray[np.float64] = np.zeros_like(lengths)
    np.divide(vectors @ directions.T, lengths, out=along, where=lengths > 0)
    return along


def moves(result: Mechanism, index: int) -> tuple[Move, ...]:
    """Say how the token at ``index`` (from 0) turned towards the lexicon's meanings and the words.

    With random vectors no dimension has a name, and the words alone are left.
    """
    meanings = () if result.settings.vectors == "random" else MEANINGS
    names = [*meanings, *(token.label for token in result.tokens)]
    axes = np.eye(D_MODEL)[[axis(meaning) for meaning in meanings]]
    before, after = cosines(
        np.array([result.X[index], result.updated[index]]), np.vstack([axes, result.X])
    ).tolist()
    return tuple(
        Move(word=result.tokens[index].label, direction=name, before=x, after=y)
        for name, x, y in zip(names, before, after, strict=True)
    )


def preset_moves(settings: MechanismSettings) -> dict[str, tuple[Move, ...]]:
    """Measure each preset's last word with its own hand-set head, all else as in ``settings``.

    "bank" starts from one and the same vector in both of its presets.
    """
    found = {}
    for name, directions in _PRESET_DIRECTIONS.items():
        preset = PRESETS[name]
        result = mechanism(
            replace(settings, sentence=preset.sentence, vectors="lexicon", head=preset.head)
        )
        toward = {move.direction: move for move in moves(result, len(result.tokens) - 1)}
        found[name] = tuple(toward[direction] for direction in directions)
    return found
