"""A table of words: every cell as text, whatever is in it."""

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.parts.html_table import table_of
from tests.page_helpers import read_table, word_tables, words


def drawn(frame: pd.DataFrame, label: str = "a label") -> AppTest:
    def page(frame, label):
        from pages.parts.html_table import show_words

        show_words(frame, label=label)

    return AppTest.from_function(page, args=(frame, label)).run()


def test_whole_numbers_have_their_thousands_apart():
    [table] = word_tables(drawn(pd.DataFrame({"Model": ["GPT-3"], "Tokens": [50_257]})))
    assert table.to_dict("list") == {"Model": ["GPT-3"], "Tokens": ["50,257"]}


def test_it_is_named_can_be_scrolled_by_key_and_has_its_headings_marked():
    body = drawn(pd.DataFrame({"Mask": ["none"], "Sees": ["all"]}), 'a "label"').get("html")[0]
    html = body.proto.body
    assert 'role="region" tabindex="0" aria-label="a &quot;label&quot;"' in html
    assert html.count('<th scope="col" role="columnheader">') == 2
    assert html.count('<th scope="row" role="rowheader">none</th>') == 1
    # On a phone the heading is out of sight, and each cell says what it is.
    assert html.count('<td role="cell" data-column="Sees">all</td>') == 1


MARKUP = '<b>x</b> </td> &amp; "y"'


@example(MARKUP)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1))
def test_any_text_is_shown_as_it_is(text):
    frame = pd.DataFrame({text: [text], "another": [text]})
    assert read_table(table_of(frame, label=text)).to_dict("list") == frame.to_dict("list")


def test_a_pair_shows_names_and_texts_as_they_are():
    def page(text):
        from pages.parts.html_table import show_pair

        show_pair((text, text), below=text)

    app = AppTest.from_function(page, args=(MARKUP,)).run()
    assert words(app).split("\n")[1:] == [MARKUP] * 3


def test_a_line_shows_name_and_text_as_they_are_and_keeps_its_room():
    def page(text):
        from pages.parts.html_table import steady

        steady(text, name=text, lines=3)

    app = AppTest.from_function(page, args=(MARKUP,)).run()
    assert "".join(words(app).split("\n")) == f"{MARKUP}: {MARKUP}"
    assert 'style="--lines: 3"' in app.get("html")[0].proto.body


def test_a_percent_sign_stays_with_its_number():
    def page():
        import pandas as pd

        from pages.parts.html_table import show_pair, show_words, steady

        steady("Half is 50 %.")
        show_pair(("A", "60 %"), ("B", "70 %"), below="80 %")
        show_words(pd.DataFrame({"Right": ["85 %"], "Both": ["90 %"]}), label="right")

    line, pair, table = (
        element.proto.body for element in AppTest.from_function(page).run().get("html")
    )
    assert ">Half is 50&nbsp;%.</p>" in line
    assert all(f">{number}&nbsp;%</p>" in pair for number in (60, 70, 80))
    assert all(f">{number}&nbsp;%</t" in table for number in (85, 90))
