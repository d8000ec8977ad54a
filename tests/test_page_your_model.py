"""The page on a model of one's own shows core's numbers, and any file leaves it standing."""

import json

import pytest

from core.config_reader import MOST_BYTES
from core.model_presets import preset, presets
from core.tables import token_cost as costs
from core.token_cost import crossing, token_work
from pages.parts.your_model import CACHE_CASES, CASES, CONTROLS, DEFAULT, OWN
from tests.page_helpers import ROOT, opened, word_tables, words

PAGE = "your_model"
TINY = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}
TINY_TOTAL = 2 * 100 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 64
TINY_SAID = f"Your model: {TINY_TOTAL:,} parameters"


def key(elements, name):
    return next(element for element in elements if element.key == name)


def pasted(text, app=None):
    app = app or opened(PAGE)
    key(app.text_area, "own_config").set_value(text).run()
    assert not app.exception
    return app


def uploaded(content, app=None):
    app = app or opened(PAGE)
    key(app.file_uploader, "own_file").set_value(("config.json", content, "application/json")).run()
    assert not app.exception
    return app


def test_it_asks_first_and_then_shows_the_crossing():
    app = opened(PAGE, skip=False)
    assert "Before you look." in words(app)
    assert "16,384" not in words(app)
    answer = next(button for button in app.button if button.label.startswith("From about 16"))
    answer.click().run()
    said = words(app)
    assert "From about 16,000 tokens on" in said
    assert "Llama-3.1-8B: from 16,384 tokens on" in said
    assert "8,030,261,248 parameters" in said


@pytest.mark.parametrize("name", [preset.name for preset in presets()])
def test_every_preset_shows_its_numbers(name):
    app = opened(PAGE, model=name)
    assert not app.exception
    said, model = words(app), preset(name).model
    assert f"{name}: {model.total:,} parameters" in said
    found = crossing(model)
    assert (f"{name}: from {found:,} tokens on" if found else "never takes as much") in said
    work = token_work(model, 8192)
    assert f"{work.total:,}" in word_tables(app)[0].to_string()


def test_the_controls_move_what_they_name():
    app = opened(PAGE, model="DeepSeek-V3")
    before = words(app)
    key(app.select_slider, "model_context").set_value(65_536).run()
    assert "At 65,536 tokens, the next one takes" in words(app)
    key(app.slider, "sequences").set_value(3).run()
    assert "in each of 3 sequences" in words(app)
    key(app.toggle, "short_vectors").set_value(False).run()
    assert "from 5,152 tokens on" in words(app)
    assert "from 1,516 tokens on" in before


def test_cases_fit_the_controls():
    options = {control.key: getattr(control, "options", None) for control in CONTROLS}
    for label, case in (*CASES, *CACHE_CASES):
        assert len(label) <= 40
        for name, value in case.items():
            assert name in options
            assert options[name] is None or value in options[name]


def test_cases_of_the_cache_stand_under_its_chart_and_say_so():
    app = opened(PAGE)
    assert "**Try this**, and look at the chart of the cache again" in words(app)
    model = preset("Falcon-7B").model
    key(app.button, "try_cache_0").click().run()
    assert costs.cache_sentence(model, 8192, 1, compressed=True) in words(app)


# A file of one's own.


def test_a_pasted_file_takes_the_place_of_the_preset():
    app = pasted(json.dumps(TINY))
    assert key(app.selectbox, "model").value == OWN
    assert TINY_SAID in words(app)
    assert not app.warning
    assert "hidden_size" not in str(app.query_params)
    key(app.text_area, "own_config").set_value("").run()
    assert key(app.selectbox, "model").value == DEFAULT


def test_an_uploaded_file_goes_into_the_box():
    app = uploaded(json.dumps(TINY).encode())
    assert json.loads(key(app.text_area, "own_config").value) == TINY
    assert TINY_SAID in words(app)


def test_a_preset_fills_the_box_and_can_be_changed_there():
    app = opened(PAGE, model="Phi-2")
    key(app.button, "fill_in").click().run()
    assert key(app.selectbox, "model").value == OWN
    text = key(app.text_area, "own_config").value
    assert text == preset("Phi-2").text
    pasted(text.replace('"num_hidden_layers": 32', '"num_hidden_layers": 16'), app)
    assert "phi: 16 layers" in words(app)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "This is no JSON: line 1, column 1"),
        ("[1, 2]", "must be one object in braces, got a list."),
        ('{"model_type": "bert"}', "got the text “bert”: this page does not know"),
        ('{"model_type": "llama"}', "hidden_size is missing: the file must have it."),
        (json.dumps(TINY | {"hidden_size": "64"}), "hidden_size must be a whole number"),
        (json.dumps(TINY | {"vocab_size": -5}), "from 1 to 1,000,000,000, got -5."),
        (json.dumps(TINY | {"hidden_size": 10**30}), "hidden_size must be a whole number"),
        (json.dumps(TINY | {"intermediate_size": "<b>*x*</b>"}), "got the text “<b>*x*</b>”."),
        ('{"model_type": "\\ud800"}', "got the text “?”: this page does not know"),
        (" " * 10_000_000 + "{}", "may have at most 1,048,576 bytes here, got 10,000,002."),
        ("[" * 50_000, "nested too deeply"),
    ],
)
def test_a_bad_file_gets_a_sentence_and_the_page_goes_on(text, said):
    app = pasted(text)
    (warning,) = app.warning
    assert said in warning.value.replace("\\", "")
    assert warning.value.replace("\\", "").endswith("Until that is mended, Llama-3.1-8B is shown.")
    assert "Llama-3.1-8B: from 16,384 tokens on" in words(app)
    pasted(json.dumps(TINY), app)
    assert not app.warning
    assert TINY_SAID in words(app)


def test_a_text_too_long_to_read_is_not_kept():
    app = pasted("x" * 2_000_000)
    assert key(app.text_area, "own_config").value == ""
    assert app.warning


def test_an_upload_that_is_no_text_gets_a_sentence():
    app = uploaded(b'{"a": "\xff"}')
    (warning,) = app.warning
    assert "must be UTF-8 text, and byte 8 is not." in warning.value.replace("\\", "")
    uploaded(json.dumps(TINY).encode(), app)
    assert not app.warning


def test_a_link_to_somebodys_own_file_says_that_none_can_carry_it():
    app = opened(PAGE, model=OWN)
    assert not app.exception
    assert "Your own file goes into the box above." in words(app)
    assert "Llama-3.1-8B: from 16,384 tokens on" in words(app)


def test_a_projector_shows_no_box():
    app = opened(PAGE, present="1", show="model_context")
    assert not app.exception
    assert not app.text_area
    assert not app.file_uploader


def test_the_server_takes_no_larger_file():
    settings = (ROOT / ".streamlit" / "config.toml").read_text()
    assert f"maxUploadSize = {MOST_BYTES // 2**20}" in settings


def test_contexts_go_beyond_the_longest_preset():
    assert max(p.model.n_context or 0 for p in presets()) <= costs.CONTEXTS[-1]
