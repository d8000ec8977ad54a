"""The keyboard alone does everything."""

import pytest

from pages import PAGES
from tests.e2e.conftest import Screen

pytestmark = pytest.mark.browser

MASK_LEAK = next(page for page in PAGES if page.path == "pages/mask_leak.py")
MOST = 120  # presses of Tab: past the menu, the controls and the charts' own buttons
FOCUSED = """() => {
  const node = document.activeElement;
  const name = node.getAttribute('aria-label') || node.innerText || '';
  const kind = node.type === 'range' ? 'slider' : node.tagName.toLowerCase();
  return [node.getAttribute('role') || kind, name.trim().slice(0, 60)];
}"""


def tab_to(screen: Screen, kind: str, name: str) -> None:
    """Press Tab until an element of this kind and name has the focus."""
    met = []
    for _ in range(MOST):
        screen.page.keyboard.press("Tab")
        met.append(screen.page.evaluate(FOCUSED))
        if met[-1][0] == kind and name in met[-1][1]:
            return
    raise AssertionError(f"Tab never reached {name!r} ({kind}); it met {met}")


def test_a_prediction_is_made_and_its_result_taken_home_without_a_mouse(screen):
    page = screen.page
    page.goto(f"{screen.address}/mask_leak")
    page.get_by_role("button", name="Skip: show me").wait_for()
    screen.settle()
    assert page.get_by_test_id("stVegaLiteChart").count() == 0
    tab_to(screen, "button", "Outputs 10 to 15")
    page.keyboard.press("Enter")
    page.get_by_text("What came out").wait_for()
    page.get_by_test_id("stVegaLiteChart").first.wait_for()
    screen.settle()
    compared = page.get_by_test_id("stMain").inner_text()
    assert "You predicted\n\nOutputs 10 to 15" in compared.replace("\r", "")
    tab_to(screen, "button", "Download as CSV")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    # The first download after the answer, or the second: where Tab goes on from a button that is
    # no longer there is up to the browser.
    assert download.value.suggested_filename in ("mask_leak.csv", "masks.csv")


def test_tab_reaches_a_slider_and_an_arrow_moves_it(screen):
    screen.open("mask_leak", MASK_LEAK.question)
    screen.page.evaluate("document.activeElement.blur()")
    tab_to(screen, "slider", "Tokens")
    screen.page.keyboard.press("ArrowRight")
    screen.page.wait_for_url("**/mask_leak?*n_tokens=17*")
