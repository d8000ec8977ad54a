"""The ablation page shows what core computes, stops when told, and survives every setting."""

import pytest

from core.ablation import uniform_ceiling
from core.ablation_runs import AblationSettings, ablation_steps, finished
from core.tables import ablation as tables
from core.tables import ceiling as ceilings
from core.tables import sampling
from core.training import VARIANTS, TrainSettings
from pages.parts.server import training_service
from tests.page_helpers import SKIP, opened, press, settled, word_tables, words

SERIES = "ablation_series"
SHORT = {"n_steps": "100", "n_seeds": "2"}


@pytest.fixture(autouse=True)
def no_service_left_over():
    training_service.clear()
    yield
    training_service.clear()


def shown_tables(app):
    return [table.to_csv() for table in word_tables(app)]


def sums(app):
    return [code.value for code in app.main.code if code.value.startswith("ceiling = ")]


def bars(app):
    return [element.proto.text for element in app.get("progress")]


def test_the_tables_are_those_of_core():
    app = settled(opened("ablation", **SHORT), SERIES)
    assert not app.exception
    settings = AblationSettings(train=TrainSettings(n_steps=100), n_seeds=2)
    runs = finished(ablation_steps(settings))
    summary = tables.variant_summary_in_words(tables.variant_summary(runs, settings))
    cases = ceilings.case_table_in_words(ceilings.case_table(3, 8, runs))
    scores = sampling.sampling_summary_in_words(sampling.sampling_summary(runs, settings.train))
    for table in (summary, cases, scores):
        assert table.to_csv() in shown_tables(app)
    text = words(app)
    assert tables.progress_sentence(runs, settings) in text
    assert sampling.sampling_sentence(runs, settings.train) in text
    assert all(line in text for line in tables.findings(runs, settings))
    assert "10 of 10 runs done" in bars(app)[0]
    assert sums(app) == [f"ceiling = {ceilings.ceiling_sum(3, 8)}"]


def test_the_ceiling_follows_the_sliders():
    app = opened("ablation", **SHORT, n_pairs="5", n_values="4")
    assert f" {uniform_ceiling(5, 4)} = " in sums(app)[0]
    app.slider(key="n_pairs").set_value(2).run()
    assert f" {uniform_ceiling(2, 4)} = " in sums(app)[0]


def test_only_the_chosen_variants_are_run():
    app = opened("ablation", **SHORT)
    for variant in VARIANTS:
        if variant != "uniform":
            app.toggle(key=variant).set_value(False).run()
    settled(app, SERIES)
    series = app.session_state["ablation_series"]
    assert [run.settings.variant for run in series.runs] == ["uniform", "uniform"]
    app.toggle(key="uniform").set_value(False).run()
    assert not app.exception
    assert "at least one of the variants must be on" in words(app)


def test_more_pairs_than_keys_are_lowered_with_a_note():
    app = opened("ablation", **SHORT, n_pairs="16")
    assert "“Pairs in a sequence” can be at most 8 here. You chose 16; 8 is used." in words(app)
    assert not app.exception


def test_a_series_can_be_stopped_and_run_again():
    app = opened("ablation", n_seeds="20", n_steps="10000")
    press(app, "Stop")
    assert bars(app)[0].startswith("stopped: ")
    assert not app.session_state["ablation_series"].live
    press(app, "Run again")
    assert app.session_state["ablation_series"].live
    press(app, "Stop")
    assert not app.exception


def test_a_series_dropped_while_the_page_was_not_heard_of_starts_anew():
    app = opened("ablation", n_seeds="20", n_steps="10000")
    series = app.session_state["ablation_series"]
    dropped = series.job
    training_service().leave(dropped, series.watcher)
    app.run()
    assert series.live
    assert series.job is not dropped
    series.stop()


def test_a_moved_slider_abandons_the_series():
    app = opened("ablation", n_seeds="20", n_steps="10000")
    first = app.session_state["ablation_series"]
    app.slider(key="seed").set_value(5).run()
    assert not first.live
    second = app.session_state["ablation_series"]
    assert second.settings[0].seed == 5
    second.stop()


def test_the_chosen_cell_can_be_measured():
    app = settled(opened("ablation", **SHORT, uniform="false"), SERIES)
    assert "No cell has been measured" in words(app)
    press(app, "Measure this cell: 3 pairs, 8 values")
    settled(app, "ablation_map")
    assert not app.exception
    [run] = app.session_state["ablation_map"].runs
    assert (run.settings.variant, run.settings.n_steps) == ("uniform", 100)
    assert ceilings.map_sentence([run]) in words(app)
    app.slider(key="n_steps").set_value(200).run()
    assert "No cell has been measured" in words(app)


def test_a_finished_series_is_not_called_new():
    settled(opened("ablation", **SHORT), SERIES)
    app = opened("ablation", **SHORT)
    assert "earlier, with the same settings and seeds" in bars(app)[0]


def test_a_run_that_cannot_be_finished_is_said_in_a_sentence():
    link = {"optimiser": "sgd", "learning_rate": "10.0", "init_scale": "10.0"}
    app = settled(opened("ablation", **SHORT, **link), SERIES)
    assert not app.exception
    assert "Stopped early, as the loss was no longer a finite number: 10 runs." in words(app)


def test_the_page_asks_before_it_shows():
    app = opened("ablation", skip=False)
    assert not app.exception
    assert not word_tables(app)
    assert any(button.label == SKIP for button in app.button)
    app.session_state["ablation_series"].stop()


def test_the_prediction_meets_the_runs_it_was_made_for():
    app = settled(opened("ablation", **SHORT), SERIES)
    (card,) = (e.proto.body for e in app.get("html") if "You predicted" in e.proto.body)
    sentence = tables.frozen_sentence(app.session_state[SERIES].runs)
    assert sentence in card.replace("&nbsp;", " ")
