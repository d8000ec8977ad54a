"""Tables of the mechanism experiment: cells of its heat-maps, a row's arithmetic, and the moves.

Words of a student's sentence are in these frames as typed. Whoever shows them must show them as
plain text.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.lexicon import DIMENSIONS, LEXICON
from core.mechanism import Mechanism, MechanismSettings, Move, RowSteps
from core.tables.counts import count_of
from core.tables.numbers import fixed, signed
from core.tables.text import text_table

BEFORE = "before the head"
AFTER = "after the head"

ARTICLE_SAYS = "none"  # the article tells these stories in words alone

MOVE_NUMBERS = ("Cosine before (no unit)", "Cosine after (no unit)", "Change (no unit)")

ROW_NUMBERS = (
    "q·k (no unit)",
    "Divided (no unit)",
    "Score (no unit)",
    "exp(score − largest) (no unit)",
    "Weight (no unit)",
)
SUM = "sum = output"

_MARKUP = set("<>[]()$*_#`|\\~{}")


def token_labels(result: Mechanism) -> list[str]:
    """Return the label of every token, in order."""
    return [token.label for token in result.tokens]


def dimension_names(result: Mechanism) -> list[str]:
    """Return the names of the dimensions of X; random vectors have numbers instead."""
    if result.settings.vectors == "random":
        return numbers(len(DIMENSIONS))
    return list(DIMENSIONS)


def numbers(n: int) -> list[str]:
    """Return "1" to "n", the names of dimensions that mean nothing in particular."""
    return [str(number) for number in range(1, n + 1)]


def vector_cells(
    rows: Sequence[str], dimensions: Sequence[str], values: NDArray[np.floating]
) -> pd.DataFrame:
    """Return one row for each cell of a table of vectors (rows × dimensions)."""
    return _cells("Token", rows, "Dimension", dimensions, "Value (no unit)", values)


def score_cells(result: Mechanism, values: NDArray[np.floating]) -> pd.DataFrame:
    """Return one row for each pair of tokens; a score of −∞ is said in words."""
    labels = token_labels(result)
    cells = _cells("Asking", labels, "Looked at", labels, "Score (no unit)", values)
    allowed = np.isfinite(values).ravel()
    cells["May look"] = np.where(allowed, "yes", "no")
    cells["Score in words"] = [
        fixed(score, 6) if may else "−∞, may not look"
        for score, may in zip(cells["Score (no unit)"], allowed, strict=True)
    ]
    return cells


def pattern_cells(result: Mechanism) -> pd.DataFrame:
    """Return one row for each pair of tokens, with its weight."""
    labels = token_labels(result)
    return _cells("Asking", labels, "Looked at", labels, "Weight (no unit)", result.steps.pattern)


def stage_table(result: Mechanism) -> pd.DataFrame:
    """Return every stage in one long table: a row for each cell, −∞ kept."""
    labels, dimensions = token_labels(result), dimension_names(result)
    steps, of_key = result.steps, numbers(result.settings.d_k)
    stages = (
        ("X", dimensions, result.X),
        ("Q", of_key, steps.Q),
        ("K", of_key, steps.K),
        ("V", dimensions, steps.V),
        ("scores", labels, steps.scores),
        ("masked scores", labels, steps.masked_scores),
        ("pattern", labels, steps.pattern),
        ("output", dimensions, steps.output),
        ("X + output", dimensions, result.updated),
    )
    sizes = [values.size for _, _, values in stages]
    # Built from whole columns: joining nine frames takes ten times as long.
    return pd.DataFrame(
        {
            "Stage": np.repeat([stage for stage, _, _ in stages], sizes),
            "Token": np.concatenate([np.repeat(labels, len(c)) for _, c, _ in stages]),
            "Column": np.concatenate([np.tile(c, len(labels)) for _, c, _ in stages]),
            "Value (no unit)": np.concatenate([values.ravel() for _, _, values in stages]),
        }
    )


def row_table(row: RowSteps, labels: Sequence[str]) -> pd.DataFrame:
    """Return how a token's row of scores becomes weights, key by key."""
    steps = (row.dots, row.divided, row.scores, row.exponentials, row.weights)
    table = pd.DataFrame(dict(zip(ROW_NUMBERS, steps, strict=True)))
    table.insert(0, "Key of", labels)
    table.insert(4, "May look", np.where(row.allowed, "yes", "no: −∞"))
    return table


def weighted_value_table(
    row: RowSteps, labels: Sequence[str], dimensions: Sequence[str]
) -> pd.DataFrame:
    """Return weight × v for each key, and their sum, the output, in a last line."""
    values = np.vstack([row.weighted_values, row.total])
    table = pd.DataFrame(values, columns=list(dimensions))
    table.insert(0, "Weight × value of", [*labels, SUM])
    return table


def weighted_value_cells(
    row: RowSteps, labels: Sequence[str], dimensions: Sequence[str]
) -> pd.DataFrame:
    """Return the cells of weight × v for each key, and of their sum, the output."""
    values = np.vstack([row.weighted_values, row.total])
    return vector_cells([*labels, SUM], dimensions, values)


def move_points(moves: Iterable[Move]) -> pd.DataFrame:
    """Return two rows for each direction: the cosine before the head and after it."""
    return pd.DataFrame(
        [
            {
                "Direction order": order,
                "Direction": move.direction,
                "When": when,
                "Cosine (no unit)": cosine,
                "Change (no unit)": move.change,
            }
            for order, move in enumerate(moves)
            for when, cosine in ((BEFORE, move.before), (AFTER, move.after))
        ]
    )


def move_table(found: dict[str, tuple[Move, ...]]) -> pd.DataFrame:
    """Return the moves of every preset, beside what the article says of them."""
    return pd.DataFrame(
        [
            {
                "Preset": preset,
                "Word": move.word,
                "Towards": move.direction,
                **dict(zip(MOVE_NUMBERS, (move.before, move.after, move.change), strict=True)),
                "Article": ARTICLE_SAYS,
            }
            for preset, moves in found.items()
            for move in moves
        ]
    )


def move_table_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the moves as text in fewer, narrower columns."""
    written = dict(zip(MOVE_NUMBERS, (fixed, fixed, signed), strict=True))
    numbers = {
        name.removesuffix(" (no unit)"): [write(value, 3) for value in table[name]]
        for name, write in written.items()
    }
    return text_table(
        {
            "Preset": table["Preset"],
            "Towards": table["Towards"],
            **numbers,
            "Article": table["Article"],
        }
    )


def lexicon_table() -> pd.DataFrame:
    """Return the whole lexicon: a row for each word, a column for each dimension."""
    words = sorted(LEXICON, key=lambda word: (*(-LEXICON[word]).tolist(), word))
    values = pd.DataFrame([LEXICON[word] for word in words], columns=list(DIMENSIONS))
    values.insert(0, "Word", words)
    return values


def words_sentence(result: Mechanism) -> str:
    """Say where the vectors came from, and how text that looks like markup was read."""
    n, seed = len(result.tokens), result.settings.seed
    if result.settings.vectors == "random":
        said = f"All {n} vectors are random (seed {seed}); their dimensions have no names."
    elif unknown := sum(not token.known for token in result.tokens):
        said = (
            f"{unknown} of {n} tokens are not in the lexicon: marked *, with a random vector "
            f"(seed {seed})."
        )
    else:
        said = f"All {n} tokens are in the hand-made lexicon."
    if _MARKUP & set(result.settings.sentence):
        said += " The sentence is read as plain text: signs such as < or $ are tokens, not markup."
    return said


def moves_sentence(moves: Sequence[Move]) -> str:
    """Say which direction the word turned towards most, with its equals, and away from most."""
    word = moves[0].word
    most = max(moves, key=lambda move: move.change)
    equals = [move.direction for move in moves if abs(move.change - most.change) < 1e-9]
    least = min(moves, key=lambda move: move.change)
    if most.change < 1e-9 and least.change > -1e-9:
        return f"“{word}” did not turn: this head adds nothing to it."
    parts = []
    if most.change >= 1e-9:
        towards = " and ".join(f"“{direction}”" for direction in equals[:3])
        each = "each " if len(equals) > 1 else ""
        parts.append(f"most towards {towards} ({each}{_from_to(most)})")
    if least.change <= -1e-9:
        away = "what it was" if least.direction == word else f"“{least.direction}”"
        parts.append(f"most away from {away} ({_from_to(least)})")
    return f"“{word}” turned {' and '.join(parts)}."


def looking_sentence(result: Mechanism, index: int) -> str:
    """Say where the token at ``index`` (from 0) looks, how sharply, and what the mask hides."""
    weights = result.steps.pattern[index]
    labels = token_labels(result)
    at = int(weights.argmax())
    allowed = np.isfinite(result.steps.masked_scores[index])
    later = len(labels) - 1 - index
    masked = ""
    if later and not allowed.all():
        masked = f" The mask hides the {count_of(later, 'token')} after it."
    if allowed.sum() == 1:
        return f"“{labels[index]}” may look at itself alone, with weight 1.{masked}"
    if np.ptp(weights[allowed]) < 1e-9:
        return (
            f"“{labels[index]}” spreads its weight evenly over the {allowed.sum()} tokens it may "
            f"look at, {weights[at]:.3f} each: a softmax cannot look at nothing.{masked}"
        )
    equals = np.flatnonzero(weights > weights[at] - 1e-9)[:3]
    looked = " and ".join(f"“{labels[i]}”" for i in equals)
    return (
        f"“{labels[index]}” looks most at {looked}, with weight {weights[at]:.3f}"
        f"{' each' if len(equals) > 1 else ''}; shared out evenly it would be "
        f"{1 / allowed.sum():.3f}.{masked}"
    )


def range_sentence(values: NDArray[np.floating]) -> str:
    """Say the shape of an array and the range of what it holds.

    >>> range_sentence(np.array([[0.5, -np.inf]]))
    '1 × 2. From 0.500 to 0.500; 1 entry is −∞.'
    """
    finite = values[np.isfinite(values)]
    rows, columns = values.shape
    forbidden = values.size - finite.size
    entries = "entry is" if forbidden == 1 else "entries are"
    span = f"From {fixed(finite.min(), 3)} to {fixed(finite.max(), 3)}"
    tail = f"; {forbidden:,} {entries} −∞" if forbidden else ""
    return f"{rows} × {columns}. {span}{tail}."


def row_sentence(row: RowSteps, settings: MechanismSettings) -> str:
    """Say how the numbers of this row follow from one another."""
    root = f"÷ √{settings.d_k}" if settings.divide else "not divided"
    return (
        f"Each q·k is {root}, then × {settings.score_scale:g}. The exponentials sum to "
        f"{row.exponentials.sum():.4f}; each weight is its exponential over that sum. Taking the "
        "largest score off first changes no weight and keeps exp from overflowing."
    )


def _from_to(move: Move) -> str:
    return f"cosine {fixed(move.before, 3)} before, {fixed(move.after, 3)} after"


def _cells(
    row_name: str,
    rows: Sequence[str],
    column_name: str,
    columns: Sequence[str],
    value_name: str,
    values: NDArray[np.floating],
) -> pd.DataFrame:
    n_rows, n_columns = values.shape
    return pd.DataFrame(
        {
            f"{row_name} order": np.repeat(np.arange(n_rows), n_columns),
            row_name: np.repeat(np.array(rows, dtype=object), n_columns),
            f"{column_name} order": np.tile(np.arange(n_columns), n_rows),
            column_name: np.tile(np.array(columns, dtype=object), n_rows),
            value_name: values.ravel(),
        }
    )
