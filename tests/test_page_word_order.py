"""The word-order page shows what core computes, asks first, and survives every setting."""

from dataclasses import replace

import pytest

from core.order_pictures import position_scores, shuffle_pairs
from core.order_training import OrderSeries, order_steps
from core.positions import SCHEMES
from core.series import finished
from core.tables import order_findings as findings
from core.tables import positions as pictures
from core.tables import word_order as tables
from core.word_order import OrderSettings
from pages.parts.server import training_service
from tests.page_helpers import SKIP, opened, press, settled, word_tables, words

SERIES = "order_series"
SHORT = {"n_steps": "100", "n_seeds": "1"}


@pytest.fixture(autouse=True)
def no_service_left_over():
    training_service.clear()
    yield
    training_service.clear()


def shown_tables(app):
    return [table.to_csv() for table in word_tables(app)]


def test_the_page_asks_before_it_shows():
    app = opened("word_order", skip=False)
    assert not app.exception
    assert not word_tables(app)
    assert any(button.label == SKIP for button in app.button)
    app.session_state["order_series"].stop()


def test_the_numbers_are_those_of_core():
    app = settled(opened("word_order", **SHORT), SERIES)
    assert not app.exception
    task = OrderSettings(n_steps=100)
    runs = finished(order_steps(OrderSeries(train=task, n_seeds=1).runs))
    text = words(app)
    assert tables.progress_sentence(runs, task) in text
    assert tables.ceiling_sentence(task) in text
    assert findings.distances_sentence(findings.distances(runs)) in text
    assert findings.lengths_sentence(findings.lengths(runs), task) in text
    assert pictures.shuffle_sentence(shuffle_pairs(task, 0)) in text
    scores = {scheme: position_scores(replace(task, scheme=scheme), 16) for scheme in SCHEMES}
    assert pictures.score_sentence(scores["rotary"], "rotary") in text
    for table in (
        tables.scheme_summary_in_words(tables.scheme_summary(runs)),
        pictures.spreads_in_words(pictures.spreads(scores)),
        pictures.shuffle_summary_in_words(
            pictures.shuffle_summary(
                [shuffle_pairs(replace(task, scheme=scheme), 0) for scheme in SCHEMES]
            )
        ),
    ):
        assert table.to_csv() in shown_tables(app)


def test_the_ceiling_follows_the_slider():
    app = opened("word_order", **SHORT, n_times="3")
    assert "So no answer is right in more than 1/3 of them." in words(app)
    app.slider(key="n_times").set_value(1).run()
    assert "no order has to be known" in words(app)
    app.session_state["order_series"].stop()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_its_picture(scheme):
    app = settled(opened("word_order", **SHORT, drawn_scheme=tables.LABELS[scheme]), SERIES)
    assert not app.exception
    pictured = position_scores(OrderSettings(scheme=scheme, n_steps=100), 16)
    assert pictures.score_sentence(pictured, scheme) in words(app)
    drawn = {
        "none": "There is nothing to draw",
        "learned": "The trained vectors, seed 0",
        "sinusoidal": "Fast waves left",
        "rotary": "The cosine of the angle",
        "alibi": "Thick: your slope, 0.5",
    }
    assert [name for name in SCHEMES if drawn[name] in words(app)] == [scheme]


def test_another_order_is_followed():
    app = opened("word_order", **SHORT, shuffled_scheme="ALiBi", order="7")
    chosen = OrderSettings(scheme="alibi", n_steps=100)
    assert pictures.shuffle_sentence(shuffle_pairs(chosen, 7)) in words(app)
    app.session_state["order_series"].stop()


def test_a_moved_slider_abandons_the_series_and_stop_stops():
    app = opened("word_order", n_seeds="10", n_steps="3000")
    first = app.session_state["order_series"]
    app.slider(key="seed").set_value(5).run()
    assert not first.live
    second = app.session_state["order_series"]
    assert second.settings[0].seed == 5
    press(app, "Stop")
    assert not app.session_state["order_series"].live
    assert not app.exception


def test_slopes_are_measured_when_asked_for_and_dropped_with_other_settings():
    app = settled(opened("word_order", **SHORT), SERIES)
    assert "No slope has been measured with these settings yet." in words(app)
    press(app, "Train 9 ALiBi heads, 9 slopes")
    app = settled(app, "order_slopes")
    assert not app.exception
    runs = app.session_state["order_slopes"].runs
    assert len(runs) == 9
    assert findings.slopes_sentence(runs) in words(app)
    app.slider(key="n_steps").set_value(200).run()
    assert "No slope has been measured with these settings yet." in words(app)
    app.session_state["order_series"].stop()


def test_a_wild_learning_rate_is_survived():
    app = settled(opened("word_order", **SHORT, learning_rate="10.0", init_scale="10.0"), SERIES)
    assert not app.exception


def test_a_finished_series_is_not_called_new():
    settled(opened("word_order", **SHORT), SERIES)
    app = opened("word_order", **SHORT)
    [bar] = [element.proto.text for element in app.get("progress")]
    assert "earlier, with the same settings and seeds" in bar
