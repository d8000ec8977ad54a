"""The mechanism page shows what core computes, and takes any sentence."""

from dataclasses import replace
from html import escape

import pandas as pd
import pytest

from core.mechanism import PRESETS, MechanismSettings, explain_row, mechanism, moves, preset_moves
from core.scaling import ScalingSettings, scaling
from core.tables import mechanism as tables
from core.tables import scaling as scaling_tables
from tests.page_helpers import opened, word_tables, words

TABLES = ("stages", "weighted_values", "scaling")  # what the page folds away


def shows(app, settings, token):
    """Return whether the page's tables and sentences are those of these settings."""
    result = mechanism(settings)
    row = explain_row(result, token - 1)
    found = tables.move_table(preset_moves(settings))
    assert word_tables(app)[0].to_csv() == tables.move_table_in_words(found).to_csv()
    on_page = [frame.value for frame in app.dataframe]
    labels, dimensions = tables.token_labels(result), tables.dimension_names(result)
    for frame in (
        tables.stage_table(result),
        tables.row_table(row, labels),
        tables.weighted_value_table(row, labels, dimensions),
    ):
        assert any(same(frame, shown) for shown in on_page), list(frame.columns)
    for sentence in (
        tables.moves_sentence(moves(result, token - 1)),
        tables.looking_sentence(result, token - 1),
    ):
        # Escaped, so that a student's words are shown as typed.
        bodies = [element.proto.body for element in app.get("html")]
        assert any(f">{escape(sentence)}<" in body for body in bodies)
        if sentence != escape(sentence):
            assert not any(sentence in body for body in bodies)
    # Where the word looks stands beside where it turned, and again under the pattern.
    assert sum(f">{escape(sentence)}<" in body for body in bodies) == 2
    assert tables.row_sentence(row, settings) in words(app)
    assert tables.words_sentence(result) in words(app)
    return True


def same(frame, shown):
    if list(frame.columns) != list(shown.columns) or len(frame) != len(shown):
        return False
    try:
        pd.testing.assert_frame_equal(frame, shown, check_dtype=False)
    except AssertionError:
        return False
    return True


def test_the_page_opens_on_the_fluffy_blue_creature():
    app = opened("mechanism", unfold=TABLES)
    assert not app.exception
    assert shows(app, MechanismSettings(), token=4)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("slider", "score_scale", 2.5),
        ("slider", "seed", 7),
        ("toggle", "causal", False),
        ("toggle", "divide", False),
        ("select_slider", "d_k", 64),
        ("selectbox", "head", "random"),
        ("radio", "vectors", "random"),
    ],
)
def test_every_control_reaches_the_computation(kind, key, value):
    app = opened("mechanism", unfold=TABLES, sentence="the old zorp bank")
    getattr(app, kind)(key=key).set_value(value).run()
    assert not app.exception
    settings = replace(MechanismSettings(sentence="the old zorp bank"), **{key: value})
    assert shows(app, settings, token=4)


def test_the_word_to_follow_can_be_chosen():
    app = opened("mechanism", unfold=TABLES)
    app.slider(key="token").set_value(3).run()
    assert shows(app, MechanismSettings(), token=3)
    assert "The word you follow is “3 blue”" in words(app)


def test_a_word_past_the_end_is_lowered_with_a_note():
    app = opened("mechanism", unfold=TABLES, token="9")
    assert "“Word to follow (position)” can be at most 4 here. You chose 9; 4 is used." in words(
        app
    )
    assert shows(app, MechanismSettings(), token=4)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_sentence_vectors_head_and_word(name):
    app = opened("mechanism", unfold=TABLES, sentence="something else", head="Random", d_k="16")
    (button,) = (button for button in app.button if button.label == name)
    button.click().run()
    assert not app.exception
    n = len(mechanism(PRESETS[name]).tokens)
    assert app.slider(key="token").value == n
    assert shows(app, replace(PRESETS[name], d_k=16), token=n)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (" ", "“Sentence” must have at least 1 word, got none"),
        ("x" * 10_000, "“Sentence” must have at most 400 characters, got 10,000"),
        ("blue " * 25, "“Sentence” must have at most 24 tokens, got 25"),
    ],
)
def test_a_bad_sentence_gets_one_sentence_and_the_page_goes_on(sentence, message):
    app = opened("mechanism", unfold=TABLES)
    app.text_input(key="sentence").set_value(sentence).run()
    assert not app.exception
    (warning,) = app.warning
    assert warning.value.replace("\\", "") == message
    assert "Why divide by √d_k?" in words(app)
    app.text_input(key="sentence").set_value("a blue bird").run()
    assert not app.exception
    assert not app.warning
    assert shows(app, MechanismSettings(sentence="a blue bird"), token=3)


@pytest.mark.parametrize(
    "sentence", ["<b>x</b> bank", "$x$ bank", "[a](javascript:alert(1)) :red[b]"]
)
def test_markup_in_a_sentence_stays_text(sentence):
    app = opened("mechanism", unfold=TABLES, sentence=sentence)
    assert not app.exception
    n = len(mechanism(MechanismSettings(sentence=sentence)).tokens)
    for token in range(1, n + 1):
        app.slider(key="token").set_value(token).run()
        assert shows(app, MechanismSettings(sentence=sentence), token=token)
    assert "signs such as < or $ are tokens, not markup" in words(app)


def test_markup_stays_text_among_the_collected_results():
    app = opened("mechanism", unfold=TABLES, sentence="<b>blue</b> $ zorp", token="1")
    app.switch_page("streamlit_app.py").run()
    assert not app.exception
    (result,) = word_tables(app)[0]["Result"]
    assert "“1 <" in result
    (body,) = (e.proto.body for e in app.get("html") if "<table" in e.proto.body)
    assert "“1 &lt;" in body


def test_the_scaling_experiment_is_that_of_core():
    app = opened("mechanism", unfold=TABLES, draw_seed="3")
    app.slider(key="n_keys").set_value(40).run()
    result = scaling(ScalingSettings(n_tokens=40, seed=3))
    assert any(same(scaling_tables.scaling_table(result), f.value) for f in app.dataframe)
    for sentence in (
        scaling_tables.scaling_sentence(result),
        scaling_tables.weight_sentence(result),
        scaling_tables.sample_sentence(result),
    ):
        assert sentence in words(app)


def test_every_stage_has_its_heat_map_and_the_diagram_names_the_missing_matrix():
    app = opened("mechanism", unfold=TABLES)
    bodies = [element.proto.body for element in app.get("html")]
    for stage in (
        *("X", "Q", "K", "V", "Scores", "Masked scores", "Pattern", "Output", "X + output"),
        "Weight × value",
    ):
        assert any(f"<b>{stage}</b>: " in body for body in bodies)
    assert len(app.get("vega_lite_chart")) == 13
    assert "**Where W_O goes.**" in words(app)
