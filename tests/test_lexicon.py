"""core.lexicon: splitting a sentence, and where each word's vector comes from."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.lexicon import (
    D_MODEL,
    DIMENSIONS,
    LEXICON,
    MAX_CHARACTERS,
    MAX_TOKENS,
    MEANINGS,
    QUALITIES,
    RANDOM_ENTRY,
    UNKNOWN_ENTRY,
    axis,
    random_vectors,
    tokenise,
    word_vector,
)


def texts(sentence):
    return [token.text for token in tokenise(sentence)]


def test_worked_example():
    tokens = tokenise("The blue zorp, the blue!")
    assert [token.label for token in tokens] == [
        *("1 The", "2 blue", "3 zorp *", "4 ,", "5 the", "6 blue", "7 !")
    ]
    assert [token.known for token in tokens] == [True, True, False, True, True, True, True]


def test_words_keep_apostrophes_and_hyphens_inside():
    assert texts("it's the dog’s well-known 'bone'") == [
        *("it's", "the", "dog’s", "well-known", "'", "bone", "'")
    ]


def test_letters_of_any_script_are_words():
    assert texts("größe 猫 кот") == ["größe", "猫", "кот"]


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("<b>blue</b>", ["<", "b", ">", "blue", "<", "/", "b", ">"]),
        ("$x$", ["$", "x", "$"]),
        ("[a](javascript:)", ["[", "a", "]", "(", "javascript", ":", ")"]),
    ],
)
def test_markup_is_text_like_any_other(sentence, tokens):
    assert texts(sentence) == tokens


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_gives_visible_tokens_or_one_sentence(sentence):
    try:
        tokens = tokenise(sentence)
    except ValueError as error:
        assert str(error).startswith("sentence must have at ")  # noqa: PT017
        return
    assert 1 <= len(tokens) <= MAX_TOKENS
    assert [token.position for token in tokens] == list(range(1, len(tokens) + 1))
    assert len({token.label for token in tokens}) == len(tokens)
    for token in tokens:
        assert token.text.isprintable()
        assert token.text.strip() == token.text != ""
        assert word_vector(token.text, 0).shape == (D_MODEL,)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("", "sentence must have at least 1 word, got none"),
        (" \n\t ", "sentence must have at least 1 word, got none"),
        ("\u200b\u202e", "sentence must have at least 1 word, got none"),
        ("x" * 10_000, "sentence must have at most 400 characters, got 10,000"),
        ("x " * 25, "sentence must have at most 24 tokens, got 25"),
    ],
)
def test_bad_sentences_are_refused(sentence, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        tokenise(sentence)


def test_the_limits_themselves_are_allowed():
    assert len(tokenise("x " * MAX_TOKENS)) == MAX_TOKENS
    assert len(tokenise("x" * MAX_CHARACTERS)) == 1


def test_known_words_are_the_hand_made_vectors_in_any_case():
    blue = np.zeros(D_MODEL)
    blue[[axis("adjective"), axis("blue")]] = 1
    for word in ("blue", "Blue", "BLUE"):
        np.testing.assert_array_equal(word_vector(word, seed=7), blue)


def test_bank_holds_both_meanings_equally():
    bank = word_vector("bank", 0)
    assert bank[axis("water")] == bank[axis("money")] == 0.7


def test_an_unknown_word_depends_on_its_text_and_the_seed_alone():
    zorp = word_vector("zorp", 3)
    np.testing.assert_array_equal(zorp, word_vector("ZORP", 3))
    assert not np.array_equal(zorp, word_vector("zorq", 3))
    assert not np.array_equal(zorp, word_vector("zorp", 4))


def test_an_unknown_word_is_the_same_in_every_process():
    code = "from core.lexicon import word_vector; print(word_vector('zorp', 3).tolist())"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).resolve().parents[1],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for salt in ("1", "2")
    }
    assert printed == {str(word_vector("zorp", 3).tolist())}


def test_a_word_that_is_not_valid_unicode_still_has_a_vector():
    assert np.isfinite(word_vector("\ud800", 0)).all()


def test_lexicon_cannot_be_changed_through_a_vector():
    word_vector("blue", 0)[:] = 9
    assert LEXICON["blue"].max() == 1
    with pytest.raises(ValueError, match="read-only"):
        LEXICON["blue"][0] = 9


def test_lexicon_is_small_readable_numbers():
    assert len(set(DIMENSIONS)) == D_MODEL == 16
    assert set(QUALITIES) < set(MEANINGS) < set(DIMENSIONS)
    for word, vector in LEXICON.items():
        assert word == word.casefold()
        assert 0 < np.abs(vector).max() <= 1, word
        assert np.count_nonzero(vector[:4]) == 1, f"{word} must be of one kind"


def test_every_lexicon_word_is_one_token():
    for word in LEXICON:
        (token,) = tokenise(word)
        assert token.known


def test_random_vectors_have_the_stated_spread():
    # 1,600,000 entries: the standard error of their standard deviation is 0.0003.
    vectors = random_vectors(100_000, np.random.default_rng(0))
    assert vectors.shape == (100_000, D_MODEL)
    assert abs(vectors.std() - RANDOM_ENTRY) < 0.001
    # 4,000 words, 64,000 entries, seed 0: standard error 0.0007.
    words = np.array([word_vector(f"zorp{i}", 0) for i in range(4000)])
    assert abs(words.std() - UNKNOWN_ENTRY) < 0.003
