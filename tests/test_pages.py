"""Every page, through Streamlit's own test runner: it opens, and no control can break it."""

import ast
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from pages import HOME, PAGES
from pages.parts import moving
from pages.parts.training import VISIT
from tests.page_helpers import (
    ROOT,
    SKIP,
    opened,
    press,
    settled,
    word_tables,
    words,
    written_by_programs,
)

NAMES = [Path(page.path).stem for page in PAGES]


def test_the_menu_lists_exactly_the_pages_on_disk():
    on_disk = {f"pages/{path.name}" for path in (ROOT / "pages").glob("[!_]*.py")}
    assert {page.path for page in PAGES} == on_disk


def test_the_readme_lists_every_page_with_its_question():
    readme = (ROOT / "README.md").read_text()
    for page in PAGES:
        assert f"| {page.title} | {page.question} |" in readme


def test_core_never_imports_streamlit():
    for path in (ROOT / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in getattr(node, "names", [])]
            names.append(getattr(node, "module", None) or "")
            assert not any(name.split(".")[0] in ("streamlit", "pages") for name in names), path


def test_the_first_page_asks_every_question_in_order():
    app = opened("mask_leak").switch_page(HOME.path).run()
    assert not app.exception
    asked = [text.value for text in app.main.markdown if text.value.startswith("**")]
    assert asked == [f"**{number}. {page.question}**" for number, page in enumerate(PAGES, start=1)]
    named = words(app)
    for part in ("Learned From Scratch*, part 6 of the series *How an LLM Works*", "no author"):
        assert part in named
    links = [link.proto.label for link in app.main.get("page_link")]
    assert links == [f"{page.title} →" for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_page_opens_on_its_question(page):
    app = opened(Path(page.path).stem)
    assert not app.exception
    assert [title.value for title in app.title] == [page.question]


@pytest.mark.parametrize("name", NAMES)
def test_every_slider_can_stand_at_both_ends(name):
    app = opened(name)
    for key in [slider.key for slider in app.slider]:
        start = app.slider(key=key).value
        for end in (app.slider(key=key).min, app.slider(key=key).max):
            app.slider(key=key).set_value(end).run()
            assert not app.exception, (key, end)
            assert not written_by_programs(app), (key, end)
            assert app.slider(key=key).value == end
        app.slider(key=key).set_value(start).run()


@pytest.mark.parametrize("name", NAMES)
def test_every_choice_can_be_made(name):
    app = opened(name)
    for kind in ("selectbox", "select_slider", "radio", "toggle"):
        for key in [element.key for element in getattr(app, kind)]:
            element = getattr(app, kind)(key=key)
            start = element.value
            options = (True, False) if kind == "toggle" else list(element.options)
            if kind == "select_slider":
                options = [options[0], options[-1]]
            for option in options:
                getattr(app, kind)(key=key).set_value(option).run()
                assert not app.exception, (key, option)
                assert not written_by_programs(app), (key, option)
            getattr(app, kind)(key=key).set_value(start).run()


@pytest.mark.parametrize(
    "bad", ["99999999999999", "-1e9", "abc", "", "nan", "inf", "-1e400", "<b>x</b>"]
)
@pytest.mark.parametrize("name", NAMES)
def test_a_bad_link_opens_the_page_and_says_what_was_wrong(name, bad):
    keys = [slider.key for slider in opened(name).slider]
    app = opened(name, skip=False, **{keys[0]: bad})
    assert not app.exception
    slider = app.slider(key=keys[0])
    assert slider.min <= slider.value <= slider.max
    assert f"“{slider.label}” must be " in words(app)


@pytest.mark.parametrize("name", NAMES)
def test_one_button_goes_back_to_the_defaults(name):
    app = opened(name)
    defaults = {slider.key: slider.value for slider in app.slider}
    for key in defaults:
        app.slider(key=key).set_value(app.slider(key=key).min)
    app.run()
    back = [button for button in app.button if button.label == "Back to the defaults"]
    for button in back:
        button.click()
    app.run()
    assert {slider.key: slider.value for slider in app.slider} == defaults


@pytest.mark.parametrize("name", NAMES)
def test_every_table_can_be_downloaded_and_the_code_is_shown(name):
    app = opened(name)
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels.count("Download as CSV") >= len(word_tables(app))
    assert any(expander.label.startswith("The code that ran") for expander in app.expander)
    assert "What this does not show" in [heading.value for heading in app.header]


def test_what_is_folded_away_is_drawn_when_it_is_unfolded():
    folded, unfolded = opened("mask_leak"), opened("mask_leak", unfold=["influence"])
    assert len(folded.dataframe) == 0
    assert unfolded.dataframe[0].value.columns[0] == "Changed token"
    assert [box.label for box in folded.expander] == [box.label for box in unfolded.expander]


def test_the_code_is_read_when_it_is_unfolded():
    assert not any("def leak(" in code.value for code in opened("mask_leak").code)
    assert any("def leak(" in code.value for code in opened("mask_leak", unfold=["source"]).code)


@pytest.mark.parametrize(
    ("name", "key"), [("recall_training", "gradients"), ("many_heads", "heads_gradients")]
)
def test_what_is_unfolded_is_written_for_people(name, key):
    app = opened(name, unfold=[key], n_steps="100", n_seeds="1")
    if name == "recall_training":
        settled(app, VISIT)
    assert any("Backward pass (nats per unit)" in table for table in word_tables(app))
    assert not written_by_programs(app)


def test_grids_have_their_thousands_apart_and_a_dash_for_what_is_missing():
    app = opened("parameter_ledger")
    grid = next(frame.proto for frame in app.dataframe if "Notes" in frame.value.columns)
    assert json.loads(grid.columns)["Published (parameters)"]["type_config"]["format"] == "%,d"
    assert grid.placeholder == "—"


@pytest.mark.parametrize(
    "name", ["mechanism", "mask_leak", "parameter_ledger", "your_model", "scale"]
)
def test_the_first_chart_is_sent_before_the_pause_and_the_tables_after_it(name, monkeypatch):
    app, sent = opened(name, skip=False), []
    for element in ("vega_lite_chart", "html"):
        real = getattr(st, element)

        def spy(*args, real=real, element=element, **options):
            sent.append(element)
            return real(*args, **options)

        monkeypatch.setattr(st, element, spy)
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: sent.append("sleep"))
    monkeypatch.setattr(moving, "time", clock)
    press(app, SKIP)
    assert sent.count("sleep") == 1
    pause = sent.index("sleep")
    assert sent[:pause].count("vega_lite_chart") == 1
    assert "html" in sent[pause:]
