"""The page of recall at scale: shipped beside run here, and every way to run a cell again."""

from dataclasses import replace

import pytest

from core.recall_at_scale import ScaleSettings, cell_runs, run_steps
from core.recall_map import TOLERANCE, shipped_cell
from core.series import finished
from core.tables import scale as tables
from core.tables import scale_cell as one_cell
from core.tables import scale_findings as findings
from pages.parts.scale import CELL
from pages.parts.server import training_service
from tests.page_helpers import SKIP, opened, settled, word_tables, words

EASY = {"n_pairs": "4", "d_k": "8"}


@pytest.fixture(autouse=True)
def no_service_left_over():
    training_service.clear()
    yield
    training_service.clear()


def press(app, beginning):
    return next(b for b in app.button if b.label.startswith(beginning)).click().run()


def cell_table(app):
    return next(t for t in word_tables(app) if "Beforehand: accuracy (%)" in t.columns)


def test_the_shipped_numbers_are_there_before_anything_is_run():
    app = opened("scale")
    assert not app.exception
    assert CELL not in app.session_state
    assert tables.map_sentence(2, (16, 4)) in words(app)
    assert tables.beside_sentence(2, (16, 4)) in words(app)
    table = one_cell.cell_table(cell_runs(ScaleSettings(), 16, 4, 2, 3), ())
    assert cell_table(app).to_csv() == one_cell.cell_table_in_words(table).to_csv()
    for line in findings.findings():
        assert line in words(app)
    assert one_cell.shipped_sentence(ScaleSettings(n_pairs=16, n_keys=32, d_k=4)) in words(app)


def test_a_cell_run_again_stands_beside_its_shipped_numbers():
    app = settled(press(opened("scale", **EASY), "Run this cell"), CELL)
    runs = finished(run_steps(cell_runs(ScaleSettings(), 4, 8, 2, 3)))
    shown = cell_table(app)
    assert shown["On this server: accuracy (%)"].tolist() == [
        f"{100 * run.score.share:.2f}" for run in runs
    ]
    for run, shipped in zip(runs, shipped_cell(4, 8, 2), strict=True):
        assert abs(run.score.share - shipped.score.share) <= TOLERANCE
    assert one_cell.again_sentence(runs) in words(app)
    assert [bar.proto.text for bar in app.get("progress")] == ["3 of 3 runs done"]


def test_a_click_on_the_map_runs_the_cell():
    app = opened("scale", **EASY, n_seeds="1")
    app.session_state["scale_cell_wanted"] = True
    app = settled(app.run(), CELL)
    assert len(app.session_state[CELL].runs) == 1
    assert "scale_cell_wanted" not in app.session_state


def test_another_cell_leaves_the_runs_behind():
    app = settled(press(opened("scale", **EASY, n_seeds="1"), "Run this cell"), CELL)
    app.select_slider(key="d_k").set_value(16).run()
    assert CELL not in app.session_state
    assert "not been run" in words(app)


def test_other_settings_are_not_compared_with_the_shipped_ones():
    app = settled(press(opened("scale", **EASY, n_steps="200", n_seeds="1"), "Run this cell"), CELL)
    assert "not measured with these settings" in words(app)
    [run] = finished(run_steps([replace(ScaleSettings(), n_pairs=4, n_keys=8, d_k=8, n_steps=200)]))
    assert cell_table(app)["On this server: accuracy (%)"].tolist() == [
        f"{100 * run.score.share:.2f}"
    ]


def test_an_impossible_link_is_mended():
    app = opened("scale", n_pairs="5", n_seeds="99")
    assert not app.exception
    assert "“Pairs in a sequence” must be one of 4, 8, 16, 32, 64" in words(app)
    assert app.slider(key="n_seeds").value == 5


def test_the_page_asks_first_and_shows_nothing_of_the_answer():
    app = opened("scale", skip=False)
    assert any(button.label == SKIP for button in app.button)
    assert findings.result_sentence() not in words(app)
    assert findings.findings()[0] not in words(app)
    app = next(b for b in app.button if b.label.startswith("64\\: one")).click().run()
    assert findings.result_sentence() in words(app)
    assert "64: one for each pair" in words(app)
