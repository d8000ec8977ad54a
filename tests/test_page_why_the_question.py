"""The page on the question's weight shows what core computes, and lets the student find it."""

import time

import pyarrow as pa
import pytest

from core.question_model import QuestionSettings
from core.question_runs import INTERVENTIONS, all_interventions, run_steps, seeds_of, unchanged
from core.series import finished
from core.tables import interventions, question_scores
from core.tables import why_the_question as tables
from pages.parts.server import training_service
from tests.page_helpers import SKIP, opened, press, settled, word_tables, words

SHORT = {"n_steps": "100", "n_seeds": "2"}
PAGE = "why_the_question"


@pytest.fixture(autouse=True)
def no_service_left_over():
    training_service.clear()
    yield
    training_service.clear()


def both(app):
    return settled(app, "question_changed", "question_unchanged")


def alone(app):
    return settled(app, "question_unchanged")


def shown_tables(app):
    return [table.to_csv() for table in word_tables(app)]


def runs_of(settings):
    return finished(run_steps(settings))


def test_tables_and_sentences_are_those_of_core():
    app = both(opened(PAGE, **SHORT, init_scale="0.3"))
    assert not app.exception
    settings = QuestionSettings(n_steps=100, init_scale=0.3)
    changed, plain = runs_of(seeds_of(settings, 2)), runs_of(seeds_of(unchanged(settings), 2))
    groups = ((tables.CHANGED, changed), (tables.UNCHANGED, plain))
    for frame in (
        tables.weight_summary_in_words(tables.weight_summary(changed, plain, settings)),
        interventions.intervention_summary_in_words(interventions.intervention_summary([])),
        interventions.sink_tests_in_words(interventions.sink_tests(plain, [])),
    ):
        assert frame.to_csv() in shown_tables(app)
    text = words(app)
    for sentence in (
        tables.weights_sentence(changed, plain),
        question_scores.qk_sentence(changed[0]),
        question_scores.gap_sentence(groups),
        tables.history_sentence(changed, plain),
    ):
        assert sentence in text


def test_with_nothing_changed_there_is_one_series():
    app = alone(opened(PAGE, **SHORT))
    assert "question_changed" not in app.session_state
    assert words(app).count("Unchanged: ") == 3
    assert "Your changes: " not in words(app)
    app.toggle(key="values_hidden").set_value(True).run()
    both(app)
    assert "Your changes: exactly 0 in all 10,000 sequences" in words(app)
    app.toggle(key="values_hidden").set_value(False).run()
    assert "question_changed" not in app.session_state
    assert not app.exception


@pytest.mark.parametrize(
    ("link", "changes"),
    [
        ({"question_table": "own to be looked at"}, {"question_table": "own to be looked at"}),
        ({"looks_at_itself": "false"}, {"looks_at_itself": False}),
        (
            {"centred_start": "true", "init_scale": "0.3"},
            {"centred_start": True, "init_scale": 0.3},
        ),
        ({"sum_to_one": "false"}, {"sum_to_one": False}),
    ],
)
def test_every_switch_reaches_the_runs(link, changes):
    app = both(opened(PAGE, **SHORT, **link))
    assert not app.exception
    expected = seeds_of(QuestionSettings(n_steps=100, **changes), 2)
    assert app.session_state["question_changed"].settings == expected
    run = runs_of(expected)[0]
    assert question_scores.qk_sentence(run) in words(app)


def test_a_moved_slider_abandons_the_runs_and_keeps_those_with_nothing_changed():
    app = opened(PAGE, n_steps="10000", n_seeds="20", init_scale="0.3")
    first, plain = (app.session_state[f"question_{which}"] for which in ("changed", "unchanged"))
    app.select_slider(key="init_scale").set_value(0.5).run()
    assert not first.live
    second = app.session_state["question_changed"]
    assert second.settings[0].init_scale == 0.5
    assert app.session_state["question_unchanged"] is plain
    assert plain.live
    second.stop()
    plain.stop()


def test_a_run_under_way_is_on_the_first_chart():
    app = opened(PAGE, n_steps="10000", n_seeds="20", init_scale="0.3")
    found = set()
    for _ in range(600):
        data = app.get("vega_lite_chart")[0].proto.data.data
        frame = pa.ipc.open_stream(data).read_pandas()
        found |= set(frame["Who"][frame["Trained"].str.endswith(" of 10,000")])
        if found == {tables.CHANGED, tables.UNCHANGED}:
            break
        time.sleep(0.05)
        app.run()
    assert found == {tables.CHANGED, tables.UNCHANGED}
    for which in ("changed", "unchanged"):
        app.session_state[f"question_{which}"].stop()


def test_all_changes_are_run_on_demand_and_only_then_compared_with_the_prediction():
    app = opened(PAGE, skip=False)
    assert not word_tables(app)
    app = press(app, "The question looks just like the pair it is looking for")
    app.slider(key="n_steps").set_value(100)
    app = alone(app.slider(key="n_seeds").set_value(2).run())
    assert "What came out" not in words(app)
    assert "Your prediction meets its result" in words(app)
    assert "question_all" not in app.session_state
    app = settled(press(app, "Run all 9 changes: 18 runs"), "question_all")
    assert not app.exception
    every = runs_of(all_interventions(QuestionSettings(n_steps=100), 2))
    assert len(every) == 2 * len(INTERVENTIONS)
    summary = interventions.intervention_summary(every)
    plain = [run for run in every if run.settings == unchanged(run.settings)]
    for frame in (
        interventions.intervention_summary_in_words(summary),
        interventions.sink_tests_in_words(interventions.sink_tests(plain, every)),
    ):
        assert frame.to_csv() in shown_tables(app)
    text = words(app)
    assert "Your prediction meets its result" not in text
    assert "You predicted" in text
    assert "The question looks just like the pair it is looking for" in text
    assert interventions.interventions_sentence(every) in text
    assert interventions.why(every) in text
    assert interventions.expected_sentence(every) in text
    # Another task: these runs no longer fit.
    app.slider(key="n_pairs").set_value(2).run()
    assert "question_all" not in app.session_state


def test_runs_can_be_stopped_and_run_again():
    app = opened(PAGE, n_steps="10000", n_seeds="20")
    press(app, "Stop")
    assert not app.session_state["question_unchanged"].live
    press(app, "Run again")
    assert app.session_state["question_unchanged"].live
    press(app, "Stop")
    assert not app.exception


def test_more_pairs_than_keys_are_lowered_with_a_note():
    app = opened(PAGE, **SHORT, n_pairs="16")
    assert "“Pairs in a sequence” can be at most 8 here. You chose 16; 8 is used." in words(app)
    assert not app.exception


def test_a_question_that_may_not_look_at_itself_among_as_many_pairs_as_keys():
    link = {"n_keys": "2", "n_pairs": "2", "n_values": "2", "looks_at_itself": "false"}
    app = both(opened(PAGE, **SHORT, **link))
    assert not app.exception
    assert "it has no score, as it may not look there." in words(app)
    assert "not run yet" in "".join(shown_tables(app))


def test_the_page_asks_before_it_shows():
    app = opened(PAGE, skip=False)
    assert not app.exception
    assert not word_tables(app)
    assert any(button.label == SKIP for button in app.button)
    app.session_state["question_unchanged"].stop()
