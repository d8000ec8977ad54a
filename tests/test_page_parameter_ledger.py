"""The ledger's page shows core's numbers for whatever sizes its controls hold."""

from dataclasses import replace

import pytest

from core.gpt3_article import gpt3
from core.ledger import count_parameters
from core.published import published_models
from core.tables import ledger as tables
from pages.parts.ledger import CONTROLS, PREDICTION, cases
from tests.page_helpers import SKIP, opened, words

PAGE = "parameter_ledger"


def key(elements, name):
    return next(element for element in elements if element.key == name)


def test_it_opens_on_gpt3_as_the_article_counts_it():
    app = opened(PAGE)
    assert not app.exception
    assert key(app.selectbox, "start").value == "GPT-3 175B"
    assert "174,604,259,328 parameters (174.6 billion)" in words(app)
    assert "57,982,058,496 (58.0 billion): 33.2 %" in words(app)
    assert {control.key: control.default for control in CONTROLS} == {
        control.key: getattr(gpt3(), control.key) for control in CONTROLS
    }


@pytest.mark.parametrize("model", published_models()[::5], ids=lambda m: m.config.model)
def test_any_model_starts_the_sliders(model):
    app = opened(PAGE)
    key(app.selectbox, "start").select(model.config.model).run()
    assert not app.exception
    assert f"Counted: {model.total_parameters:,}. Difference: 0." in words(app)
    for control in CONTROLS:
        assert app.session_state[control.key] == getattr(model.config, control.key)


def test_the_controls_can_hold_every_published_model():
    for model in published_models():
        for control in CONTROLS:
            value = getattr(model.config, control.key)
            if hasattr(control, "low"):
                assert control.low <= value <= control.high
                assert control.low == 1 or value % control.step == 0
            elif hasattr(control, "options"):
                assert value in control.options


def test_a_moved_slider_shows_cores_number_and_leaves_the_model():
    app = opened(PAGE)
    key(app.slider, "n_layers").set_value(48).run()
    half = count_parameters(gpt3().__class__(**{**vars(gpt3()), "n_layers": 48}))
    assert f"{half.total:,} parameters" in words(app)
    assert f"Attention has {half.attention:,}" in words(app)
    assert key(app.selectbox, "start").value is None


def test_heads_that_do_not_fit_take_the_nearest_number_with_a_sentence():
    app = opened(PAGE)
    key(app.slider, "n_kv_heads").set_value(7).run()
    assert not app.exception
    said = words(app)
    assert "“Key-value heads” must divide “Heads” (96)" in said
    assert "You chose 7; 8 is used." in said
    shared = count_parameters(gpt3().__class__(**{**vars(gpt3()), "n_kv_heads": 8}))
    assert f"{shared.total:,} parameters" in said


def test_the_button_returns_to_gpt3():
    app = opened(PAGE)
    key(app.selectbox, "start").select("Gemma-2-9B").run()
    key(app.button, "reset_n_layers").click().run()
    assert key(app.selectbox, "start").value == "GPT-3 175B"
    assert "174,604,259,328 parameters" in words(app)


def test_the_page_asks_first_and_shows_nothing_of_the_answer():
    app = opened(PAGE, skip=False)
    assert [button.label for button in app.button if button.key.startswith("predict_")] == [
        *PREDICTION.answers,
        SKIP,
    ]
    assert "33.2 %" not in words(app)
    key(app.button, "predict_Parameter ledger_1").click().run()
    said = words(app)
    assert "You predicted\nAbout a third\nWhat came out" in said
    assert tables.shares_sentence(count_parameters(gpt3())) in said


@pytest.mark.parametrize("number", range(len(cases())))
def test_a_case_sets_the_sizes(number):
    question, sizes = cases()[number]
    assert len(question) <= 40
    app = opened(PAGE)
    key(app.button, f"try_n_layers_{number}").click().run()
    assert not app.exception
    expected = replace(gpt3(), **sizes)
    assert f"{count_parameters(expected).total:,} parameters" in words(app)
    assert expected != gpt3()


def test_a_link_carries_the_sizes():
    config = published_models()[-1].config
    link = {control.key: str(getattr(config, control.key)) for control in CONTROLS}
    app = opened(PAGE, **link)
    assert not app.exception
    assert key(app.selectbox, "start").value == "Qwen2.5-7B"
    assert "7,615,616,512 parameters" in words(app)
