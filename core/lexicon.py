"""Turn a sentence into tokens and word vectors, with a small lexicon made by hand.

The lexicon is made by hand: a person chose its 16 dimensions, their names and every number. A real
model learns its embedding table, and its dimensions have no names. A word the lexicon does not
have gets a random vector and is marked.
"""

import hashlib
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_TOKENS = 24
MAX_CHARACTERS = 400

DIMENSIONS = (
    # What kind of word it is.
    *("noun", "adjective", "verb", "little word", "ambiguous"),
    # What it is about.
    *("creature", "person", "place", "water", "money"),
    # What it is like.
    *("fluffy", "blue", "big", "old", "fast", "warm"),
)
MEANINGS = DIMENSIONS[5:]
QUALITIES = DIMENSIONS[10:]
D_MODEL = len(DIMENSIONS)

RANDOM_ENTRY = 0.5  # standard deviation of an entry of a random vector: length about 2
UNKNOWN_ENTRY = 0.25  # of an unknown word: length about 1, so as not to drown out known words

# One line for each set of words that share a vector; dimensions not named are 0.
_ENTRIES: tuple[tuple[str, dict[str, float]], ...] = (
    ("a an the this that of at by to in on into from and or but with for as", {"little word": 1}),
    ("beside near under over past behind across", {"little word": 1, "place": 0.3}),
    ("is was are were be has had its his her my your our their it . , ! ? ; :", {"little word": 1}),
    ("i you he she we they who", {"little word": 1, "person": 0.5}),
    ("creature animal beast creatures animals", {"noun": 1, "creature": 1}),
    ("cat kitten rabbit sheep", {"noun": 1, "creature": 1, "fluffy": 0.4}),
    ("dog horse bird mouse", {"noun": 1, "creature": 1, "fast": 0.3}),
    ("fish duck frog whale", {"noun": 1, "creature": 1, "water": 0.5}),
    ("person man woman child teacher student friend", {"noun": 1, "person": 1}),
    ("forest house garden field town city", {"noun": 1, "place": 1}),
    ("sky", {"noun": 1, "place": 0.7, "blue": 0.5}),
    ("sun fire", {"noun": 1, "warm": 1}),
    ("river lake stream shore water", {"noun": 1, "water": 1}),
    ("sea ocean", {"noun": 1, "water": 1, "blue": 0.3, "big": 0.3}),
    ("boat ship bridge", {"noun": 1, "water": 0.6}),
    ("money interest loan cash coins account", {"noun": 1, "money": 1}),
    ("rate price debt market", {"noun": 1, "money": 0.8}),
    # Both meanings at once: only the context can tell which one is meant.
    ("bank banks current", {"noun": 1, "ambiguous": 1, "water": 0.7, "money": 0.7}),
    ("fluffy furry", {"adjective": 1, "fluffy": 1}),
    ("soft woolly", {"adjective": 1, "fluffy": 0.7}),
    ("blue", {"adjective": 1, "blue": 1}),
    ("big large huge tall", {"adjective": 1, "big": 1}),
    ("small little tiny", {"adjective": 1, "big": -1}),
    ("old ancient", {"adjective": 1, "old": 1}),
    ("young new", {"adjective": 1, "old": -1}),
    ("fast quick", {"adjective": 1, "fast": 1}),
    ("slow lazy", {"adjective": 1, "fast": -1}),
    ("warm hot", {"adjective": 1, "warm": 1}),
    ("cold cool", {"adjective": 1, "warm": -1}),
    ("sat sits slept sleeps saw sees met likes loves went goes came walked", {"verb": 1}),
    ("ran runs jumps jumped chased", {"verb": 1, "fast": 0.4}),
    ("flows flowed swims swam floats", {"verb": 1, "water": 0.5}),
    ("pays paid saves saved lends lent rose fell raised", {"verb": 1, "money": 0.4}),
)

# Words, with an apostrophe or a hyphen inside them, or one other character that is not a space.
_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Token:
    """One word of a sentence and where it stands."""

    text: str  # as typed; plain text, never markup
    position: int  # counted from 1
    known: bool  # False if the word was looked up and the lexicon does not have it

    @property
    def label(self) -> str:
        """Position and word, so that repeated words stay apart; * marks an unknown word."""
        return f"{self.position} {self.text}" + ("" if self.known else " *")


def tokenise(sentence: str) -> tuple[Token, ...]:
    """Split a sentence into words and punctuation marks.

    Markup is text like any other: its brackets become tokens.

    Raises:
        ValueError: if the sentence is empty, too long, or has too many tokens.

    >>> [token.label for token in tokenise("Blue on blue <zorp")]
    ['1 Blue', '2 on', '3 blue', '4 < *', '5 zorp *']
    """
    if len(sentence) > MAX_CHARACTERS:
        raise ValueError(
            f"sentence must have at most {MAX_CHARACTERS} characters, got {len(sentence):,}"
        )
    # Characters that cannot be seen would make tokens that cannot be seen.
    visible = "".join(c for c in sentence if c.isprintable() or c.isspace())
    words = _TOKEN.findall(visible)
    if not words:
        raise ValueError("sentence must have at least 1 word, got none")
    if len(words) > MAX_TOKENS:
        raise ValueError(f"sentence must have at most {MAX_TOKENS} tokens, got {len(words)}")
    return tuple(
        Token(text=word, position=position, known=word.casefold() in LEXICON)
        for position, word in enumerate(words, start=1)
    )


def word_vector(word: str, seed: int) -> NDArray[np.float64]:
    """Return the word's vector (D_MODEL,): from the lexicon, or random if it is unknown.

    The random vector depends on the word and the seed alone, so that a word keeps it in every
    sentence and on every machine.
    """
    word = word.casefold()
    if word in LEXICON:
        return LEXICON[word].copy()
    # Not hash(): Python salts it anew in every process. Lone surrogates are legal in a str.
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:16], "big")])
    return rng.normal(0, UNKNOWN_ENTRY, D_MODEL)


def random_vectors(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n random vectors (n, D_MODEL)."""
    return rng.normal(0, RANDOM_ENTRY, (n, D_MODEL))


def axis(dimension: str) -> int:
    """Return where the named dimension stands in a vector.

    >>> axis("noun"), axis("blue")
    (0, 11)
    """
    return DIMENSIONS.index(dimension)


def _read_entries() -> dict[str, NDArray[np.float64]]:
    lexicon: dict[str, NDArray[np.float64]] = {}
    for words, features in _ENTRIES:
        vector = np.zeros(D_MODEL)
        for dimension, value in features.items():
            vector[axis(dimension)] = value
        vector.flags.writeable = False
        lexicon.update(dict.fromkeys(words.split(), vector))
    return lexicon


LEXICON = _read_entries()
"""Word, in lower case, to its hand-made vector (D_MODEL,)."""
