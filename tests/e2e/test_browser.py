"""Every page in a real browser: deep links, sliders, small screens, nothing from elsewhere."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator

from pages import HOME, PAGES
from tests.e2e.conftest import Screen, serving, visit

pytestmark = pytest.mark.browser

NAMES = [Path(page.path).stem for page in PAGES]
QUESTIONS = dict(zip(NAMES, [page.question for page in PAGES], strict=True))


def complaints(screen: Screen) -> list[str]:
    """What the console said, less Streamlit's own search for its base path on a deep link."""
    return [text for text in screen.complaints if "404 (Not Found)" not in text]


@pytest.mark.parametrize("name", NAMES)
def test_a_deep_link_opens_on_a_server_nobody_has_visited(browser, tmp_path, name):
    with (
        serving(tmp_path / "log.txt") as address,
        visit(browser, address) as screen,
    ):
        elsewhere: list[str] = []
        missing: list[str] = []
        screen.page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((address, "ws://127.0.0.1", "data:", "blob:"))
                else elsewhere.append(request.url)
            ),
        )
        screen.page.on(
            "response",
            lambda response: (
                missing.append(response.url)
                if response.status >= 400 and f"/{name}/_stcore/" not in response.url
                else None
            ),
        )
        screen.open(name, QUESTIONS[name])
        title = next(page.title for page in PAGES if page.path == f"pages/{name}.py")
        assert screen.page.title() == f"{title} · {HOME.title}"
        assert complaints(screen) == []
        assert elsewhere == []
        assert missing == []
        assert screen.page.get_by_test_id("stException").count() == 0
        assert "Traceback" not in (tmp_path / "log.txt").read_text()


def at_rest(chart: Locator) -> bytes:
    """Wait until the chart looks the same twice, a second apart, and return how."""
    last = b""
    for _ in range(30):
        now = chart.screenshot()
        if now == last:
            return now
        last = now
        chart.page.wait_for_timeout(1000)
    return pytest.fail("the chart did not come to rest in half a minute")


@pytest.mark.parametrize("name", NAMES)
def test_a_slider_moves_a_chart_and_nothing_jumps(screen, name):
    screen.open(name, QUESTIONS[name])
    chart = screen.page.get_by_test_id("stVegaLiteChart").first
    chart.locator("canvas, svg").first.wait_for()
    before = at_rest(chart)
    box = chart.bounding_box()
    slider = screen.page.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    for _ in range(30):  # seconds at most: a busy machine paints late
        if chart.screenshot() != before:
            break
        screen.page.wait_for_timeout(1000)
    else:
        pytest.fail("the chart did not change")
    at_rest(chart)
    assert chart.bounding_box() == box
    assert complaints(screen) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_page_scrolls_sideways(browser, server, width, theme):
    with visit(browser, server, width=width, theme=theme) as screen:
        for name in NAMES:
            screen.open(name, QUESTIONS[name])
            room = screen.page.get_by_test_id("stMain")
            assert room.evaluate("main => main.scrollWidth - main.clientWidth") <= 0, name
        assert complaints(screen) == []


def test_the_link_carries_the_state_and_the_menu_leads_everywhere(screen):
    screen.open("mask_leak?n_tokens=24&mask=none", QUESTIONS["mask_leak"])
    assert screen.page.get_by_role("slider", name="Tokens").input_value() == "24"
    assert "Mask: none." in screen.page.get_by_test_id("stMain").inner_text()
    slider = screen.page.get_by_role("slider", name="Changed position")
    slider.focus()
    slider.press("ArrowRight")
    screen.page.wait_for_url("**/mask_leak?*position=11*")
    for page in PAGES:
        screen.page.get_by_test_id("stSidebar").get_by_role("link", name=page.title).click()
        screen.page.get_by_role("heading", level=1, name=page.question).wait_for()
        screen.settle()
    assert complaints(screen) == []


def test_values_stay_on_their_page(screen):
    """Several pages have a control of the same name, with limits of its own."""
    extreme = "n_seeds=1&n_steps=100&n_pairs=12&n_keys=32&n_values=30&d_k=100"
    screen.open(f"ablation?{extreme}", QUESTIONS["ablation"])
    for name in ("many_heads", "scale", "recall_training"):
        title = next(page.title for page in PAGES if page.path == f"pages/{name}.py")
        screen.page.get_by_test_id("stSidebar").get_by_role("link", name=title).click()
        screen.page.get_by_role("button", name="Skip: show me").wait_for()
        assert screen.page.get_by_test_id("stException").count() == 0
        screen.page.wait_for_url(f"**/{name}")
    assert complaints(screen) == []


def test_a_bad_link_is_mended_in_the_browser_too(screen):
    screen.open("mask_leak?n_tokens=900&seed=abc", QUESTIONS["mask_leak"])
    screen.page.wait_for_url("**/mask_leak?n_tokens=64")
    text = screen.page.get_by_test_id("stMain").inner_text()
    assert "“Tokens” must be a whole number from 2 to 64. The link said 900; 64 is used." in text
    assert "The link said abc; 0 is used." in text
    assert screen.page.get_by_role("slider", name="Tokens").input_value() == "64"
