"""The context cost in a real browser: it measures while you watch, stops, and draws its blocks."""

import pytest
from playwright.sync_api import expect

from pages import PAGES
from tests.e2e.conftest import WAIT

pytestmark = pytest.mark.browser

QUESTION = next(page.question for page in PAGES if page.path == "pages/context_cost.py")
DONE = 120_000  # milliseconds; a bound for a busy machine, not a measurement


def test_a_measurement_runs_to_its_end_and_says_when_it_was_made(screen):
    screen.open("context_cost?n_largest=512&n_repeats=2", QUESTION)
    screen.page.get_by_role("button", name="Measure again").wait_for(timeout=DONE)
    screen.settle()
    text = screen.page.get_by_test_id("stMain").inner_text()
    assert "Measured on this server, " in text
    assert "2 repeats." in text
    assert "256 → 512" in text.replace("\u00a0", " ")
    assert screen.page.get_by_test_id("stException").count() == 0


def test_a_measurement_can_be_stopped_and_begun_again(screen):
    screen.open("context_cost?n_largest=4096&n_repeats=20&seed=5", QUESTION)
    screen.page.get_by_role("button", name="Stop").click(timeout=DONE)
    screen.page.get_by_text("Stopped").wait_for(timeout=DONE)
    screen.page.get_by_role("button", name="Measure again").click()
    stop = screen.page.get_by_role("button", name="Stop")
    stop.wait_for(timeout=DONE)
    bar = screen.page.get_by_test_id("stProgress")
    expect(bar).not_to_have_text(bar.inner_text(), timeout=DONE)  # it goes on
    stop.click()
    screen.page.get_by_text("Stopped").wait_for(timeout=DONE)
    assert screen.page.get_by_test_id("stException").count() == 0


def test_the_block_moves_down_its_picture_without_the_server(screen):
    screen.open("context_cost?n_largest=512&n_repeats=1", QUESTION)
    screen.page.get_by_role("button", name="Measure again").wait_for(timeout=DONE)
    row = screen.page.locator("input[type=range][name=row]")
    row.wait_for(timeout=WAIT)
    picture = screen.page.get_by_test_id("stVegaLiteChart").filter(has=row)
    before = picture.screenshot()
    sent = []
    screen.page.on("websocket", lambda socket: sent.append(socket))
    row.focus()
    for _ in range(8):  # a whole block further
        row.press("ArrowRight")
    screen.page.wait_for_timeout(300)
    assert picture.screenshot() != before
    assert screen.page.get_by_test_id("stException").count() == 0
    assert sent == []
