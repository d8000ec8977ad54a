"""What a page's words mean can be opened on that page."""

import re
from pathlib import Path

import pytest

from pages import PAGES
from pages.parts.glossary import SYMBOLS
from tests.page_helpers import opened

NAMES = [Path(page.path).stem for page in PAGES]
# Words a newcomer cannot guess, and how they stand in a page's text.
WORDS = {
    "embedding": r"\bembeddings?\b",
    "backward pass": r"\bbackward pass\b",
    "learned positions": r"\blearned positions\b",
    "prefill": r"\bprefill\b",
    "decode": r"\bdecode\b",
    "RoPE": r"\bRoPE\b",
    "ALiBi": r"\bALiBi\b",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_hard_words_of_a_page_are_in_its_list(name):
    texts = [element.value for element in opened(name).markdown]
    defined = "\n".join(text for text in texts if text.startswith("- **"))
    used = "\n".join(text for text in texts if not text.startswith("- **"))
    missing = [
        word
        for word, pattern in WORDS.items()
        if re.search(pattern, used) and f"- **{word}** {SYMBOLS[word]}" not in defined
    ]
    assert not missing


@pytest.mark.parametrize(
    "name",
    ["recall_training", "ablation", "why_the_question", "many_heads", "word_order", "scale"],
)
def test_where_pairs_have_keys_those_of_the_head_are_called_vectors(name):
    app = opened(name)
    assert any(
        f"- **pair, key, value** {SYMBOLS['pair, key, value']}" in m.value for m in app.markdown
    )
    controls = [*app.slider, *app.select_slider, *app.toggle, *app.selectbox, *app.radio]
    said = [text for c in controls for text in (c.label, c.help) if text and "query" in text]
    assert [text for text in said if re.search(r"\b(key|value)\b(?! vector)", text)] == []


def test_chance_is_right_for_one_answer_and_for_two():
    assert SYMBOLS["chance"].endswith("1 ÷ the number of possible answers.")
