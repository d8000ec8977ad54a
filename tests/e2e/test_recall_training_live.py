"""A training run in a real browser: it grows, is abandoned, stopped, shared, and ends."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import WAIT, Screen, visit

pytestmark = pytest.mark.browser

LONG = "recall_training?n_steps=10000&batch_size=1024&n_keys=24&d_model=128&d_k=128"
TRAINING = re.compile(r"^Training: step ([\d,]+) of ")


def step(screen: Screen) -> int:
    """Return the step the page says the run is at."""
    line = screen.page.get_by_text(TRAINING)
    line.wait_for(timeout=WAIT)
    found = TRAINING.search(line.inner_text())
    assert found
    return int(found[1].replace(",", ""))


def go_on(screen: Screen, after: int) -> int:
    """Wait until the page shows a later step than this, and return it."""
    for _ in range(300):
        now = step(screen)
        if now > after:
            return now
        screen.page.wait_for_timeout(50)
    raise AssertionError(f"the run stayed at step {after}")


def complaints(screen: Screen) -> list[str]:
    """What the console said, without Streamlit's own search for its addresses."""
    return [text for text in screen.complaints if "404 (Not Found)" not in text]


def test_a_run_grows_and_moving_a_slider_starts_another(screen):
    screen.page.goto(f"{screen.address}/{LONG}")
    seen = go_on(screen, go_on(screen, 200))
    slider = screen.page.get_by_role("slider", name="Different keys")
    slider.focus()
    slider.press("ArrowRight")
    expect(screen.page).to_have_url(re.compile("n_keys=25"))
    for _ in range(300):
        if step(screen) < seen:
            break
        screen.page.wait_for_timeout(20)
    else:
        raise AssertionError("the old run went on")
    assert complaints(screen) == []


def test_stop_keeps_the_step_and_run_again_starts_anew(screen):
    screen.page.goto(f"{screen.address}/{LONG}&seed=1")
    go_on(screen, 100)
    screen.page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    stopped = screen.page.get_by_text("Stopped at step")
    stopped.wait_for()
    words = stopped.inner_text()
    screen.page.wait_for_timeout(500)
    assert stopped.inner_text() == words
    screen.page.get_by_role("button", name="Run again").click()
    go_on(screen, 10)
    screen.page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    stopped.wait_for()
    assert complaints(screen) == []


def test_a_run_ends_by_itself_and_the_head_can_be_asked(screen):
    screen.page.goto(f"{screen.address}/recall_training?n_steps=1000")
    screen.page.get_by_text("The answer is value 1").wait_for(timeout=WAIT)
    assert screen.page.get_by_role("button", name="Run again").is_visible()
    assert complaints(screen) == []


def test_two_students_share_a_run_until_both_have_left_it(screen, browser: Browser):
    with visit(browser, screen.address) as other:
        for one in (screen, other):
            one.page.goto(f"{one.address}/{LONG}&seed=2")
        go_on(screen, 100)
        joined_at = step(other)
        assert joined_at >= 100
        screen.page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
        screen.page.get_by_text("Stopped at step").wait_for()
        go_on(other, step(other))
        other.page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
        assert complaints(other) == []
