"""A cell of the map of recall at scale, clicked in a real browser, twice."""

import re

import pytest

from core.tables import scale as tables
from pages import PAGES

pytestmark = pytest.mark.browser

QUESTION = next(page.question for page in PAGES if page.path == "pages/scale.py")


def test_a_click_chooses_the_cell_and_runs_it(screen):
    screen.open("scale?n_pairs=64&d_k=8&n_seeds=1", QUESTION)
    page = screen.page
    chart = page.get_by_test_id("stVegaLiteChart").first
    chart.locator("canvas, svg").first.wait_for()
    page.wait_for_timeout(1000)
    box = chart.bounding_box()
    # The row of 16 pairs is the middle of five, and d_k = 6 the fifth of nine columns.
    middle = {"x": box["width"] * 0.56, "y": 95}
    chart.click(position=middle)
    page.get_by_text(tables.map_sentence(2, (16, 6))).wait_for()
    page.get_by_text("1 of 1 run done").wait_for()
    page.get_by_text(re.compile("1 of 1 runs? with the settings of the series")).wait_for()
    assert "d_k=6" in page.url
    assert chart.bounding_box() == box
    page.get_by_role("slider").first.press("ArrowLeft")
    page.get_by_text(tables.map_sentence(2, (8, 6))).wait_for()
    page.get_by_text("This cell has not been run").wait_for()
    screen.settle()
    chart.click(position=middle)  # the same cell again, after it was left
    page.get_by_text(tables.map_sentence(2, (16, 6))).wait_for()
    page.get_by_text("1 of 1 run done").wait_for()
