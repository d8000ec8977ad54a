"""What waits outside a fragment for a prediction is drawn once it need not wait."""

import pytest

from pages import PAGES

pytestmark = pytest.mark.browser

PAGE = next(page for page in PAGES if page.path == "pages/parameter_ledger.py")
OUTSIDE = "A share of which total?"


@pytest.fixture
def asked(screen):
    screen.page.goto(f"{screen.address}/parameter_ledger")
    screen.page.get_by_role("button", name="Skip: show me").wait_for()
    screen.settle()
    assert screen.page.get_by_role("heading", name=OUTSIDE).count() == 0
    return screen.page


def test_an_answer_brings_the_whole_page(asked):
    asked.get_by_role("button", name="About a third").click()
    asked.get_by_role("heading", name=OUTSIDE).wait_for()


def test_a_moved_slider_brings_the_whole_page(asked):
    asked.get_by_role("slider", name="Layers").press("ArrowLeft")
    asked.get_by_role("heading", name=OUTSIDE).wait_for()
