"""The page on many heads shows what core computes, and survives every setting."""

import pytest

from core.many_heads import Case, ManyHeadsSettings, run_pieces
from core.series import finished, series_steps
from core.tables import gradcheck, heads_off
from core.tables import many_heads as tables
from core.tables import one_head_ceiling as ceilings
from core.two_facts_gradcheck import check_heads
from core.two_facts_settings import TwoFactsSettings
from pages.parts.server import training_service
from tests.page_helpers import opened, press, settled, word_tables, words

SHORT = {"n_steps": "100", "n_seeds": "2", "n_keys": "4", "n_values": "3"}
TASK = TwoFactsSettings(n_steps=100, n_keys=4, n_values=3)


@pytest.fixture(autouse=True)
def no_service_left_over():
    training_service.clear()
    yield
    training_service.clear()


def test_the_tables_and_sentences_are_those_of_core():
    app = settled(opened("many_heads", **SHORT), "heads_series")
    assert not app.exception
    settings = ManyHeadsSettings(train=TASK, n_seeds=2)
    runs = finished(series_steps(settings.runs, run_pieces, lambda result: result.run))
    shown = [table.to_csv() for table in word_tables(app)]
    summary = tables.case_summary_in_words(tables.case_summary(runs, settings))
    first = next(run for run in runs if run.case == Case(n_heads=2, order="as asked"))
    each = heads_off.head_table_in_words(heads_off.head_table(first))
    checks = ceilings.ceiling_checks_in_words(ceilings.ceiling_checks())
    for table in (summary, each, checks):
        assert table.to_csv() in shown
    text = words(app)
    for sentence in (
        tables.progress_sentence(runs, settings),
        tables.control_sentence(runs, TASK),
        ceilings.ceiling_sentence(3),
        *ceilings.proof_steps(3),
        tables.scored_sentence(settings),
        heads_off.off_sentence(runs, first.case),
        heads_off.circuits_sentence(first, 0),
        heads_off.circuits_sentence(first, 1),
        gradcheck.gradient_sentence(check_heads(tables.chosen_settings(TASK, 2, 0))),
    ):
        assert sentence.replace("\\", "") in text


def test_another_run_can_be_looked_into():
    app = settled(opened("many_heads", **SHORT), "heads_series")
    app.slider(key="heads").set_value(3)
    app.slider(key="run").set_value(2).run()
    assert not app.exception
    runs = app.session_state["heads_series"].runs
    chosen = next(r for r in runs if (r.case.n_heads, r.settings.seed) == (3, 1))
    text = words(app)
    assert all(heads_off.circuits_sentence(chosen, head) in text for head in range(3))
    app.slider(key="run").set_value(9).run()
    assert "“Run” can be at most 2 here. You chose 9; 2 is used." in words(app)
    assert not app.exception


def test_more_pairs_than_keys_are_lowered_with_a_note():
    app = opened("many_heads", **SHORT, n_pairs="8")
    assert "“Pairs in a sequence” can be at most 4 here. You chose 8; 4 is used." in words(app)
    assert not app.exception


def test_the_first_slider_moves_the_ceiling():
    app = opened("many_heads", **SHORT)
    assert ceilings.ceiling_sentence(3) in words(app)
    app.slider(key="n_values").set_value(5).run()
    assert ceilings.ceiling_sentence(5) in words(app)


def test_a_series_can_be_stopped_and_run_again():
    app = opened("many_heads", n_seeds="10", n_steps="5000")
    press(app, "Stop")
    assert not app.session_state["heads_series"].live
    assert "This run has not finished yet." in words(app)
    press(app, "Run again")
    assert app.session_state["heads_series"].live
    press(app, "Stop")
    assert not app.exception


def test_the_prediction_comes_before_the_result():
    app = opened("many_heads", skip=False)
    assert "Before you look." in words(app)
    assert not app.get("vega_lite_chart")
    press(app, "A little over half the time")
    assert app.get("vega_lite_chart")
    app.session_state["heads_series"].stop()


def test_the_proof_is_shown():
    app = opened("many_heads", **SHORT)
    assert any("λ − 1 times the left two plus the right two" in code.value for code in app.code)
