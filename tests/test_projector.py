"""The projector's view: the picked controls, the same run, and no card for a prediction."""

import pytest

from core.gpt3_article import gpt3
from core.ledger import count_parameters
from core.mechanism import PRESETS
from core.tables import ledger
from pages.parts.mechanism_lesson import WHY
from tests.page_helpers import opened, press, words


def controls(app):
    """Return the keys of the controls on the page."""
    kinds = ("slider", "select_slider", "selectbox", "radio", "toggle", "text_input")
    return sorted(element.key for kind in kinds for element in app.get(kind))


# Training and measuring pages are looked at in a browser: their runs take a while.
@pytest.mark.parametrize(
    ("name", "picked"),
    [
        ("mechanism", ["head", "token"]),
        ("mask_leak", ["position"]),
        ("parameter_ledger", ["n_layers", "tied_embedding"]),
        ("parameter_ledger", ["n_layers", "start"]),
        ("your_model", ["model"]),
        ("scale", ["d_k", "n_steps"]),
        ("scale", []),
    ],
)
def test_only_picked_controls_are_there(name, picked):
    app = opened(name, present="1", show=",".join(picked))
    assert not app.exception
    assert controls(app) == picked


def test_the_ledger_counts_the_model_by_its_name_without_the_choice_of_it():
    app = opened("parameter_ledger", present="1", show="n_layers")
    assert ledger.shares_sentence(count_parameters(gpt3())) not in words(app)  # the card's
    assert ledger.total_sentence(count_parameters(gpt3())) in words(app)
    assert "Every matrix of GPT-3 175B." in words(app)


def test_the_reason_is_written_without_a_card():
    app = opened("mechanism", present="1", show="token")
    assert WHY in words(app)
    assert "You predicted" not in words(app)


def test_what_introduces_the_page_is_in_a_button():
    usual, large = opened("mechanism"), opened("mechanism", present="1")
    assert "experiment 1 of 12" in words(usual)
    assert "experiment 1 of 12" not in words(large)
    texts = [element.value for element in large.markdown]
    text = "A word starts with one fixed vector"
    (about,) = (entry for entry in texts if entry.startswith(text))
    assert "- **softmax**" in about
    assert text in words(usual)


def test_a_preset_is_kept_by_the_link_where_its_controls_are_hidden():
    app = opened("mechanism", present="1", show="sentence")
    name = "Bank beside river"
    press(app, name)
    assert app.query_params["head"] == "Context picks a meaning"
    assert app.query_params["token"] == "5"
    assert "vectors" in app.query_params
    again = opened("mechanism", **{key: str(app.query_params[key]) for key in app.query_params})
    assert again.session_state["sentence"] == PRESETS[name].sentence
    assert "5 bank" in words(again)
