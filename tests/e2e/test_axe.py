"""What axe-core finds on every page: nothing of ours, in light, in dark, and on a phone."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from pages import HOME, PAGES
from tests.e2e.conftest import ROOT, Screen, visit

pytestmark = pytest.mark.browser

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
LEAST = 4.5  # to 1, for text of any size

ON_A_PHONE = (HOME.path, "pages/mask_leak.py", "pages/mechanism.py")
VISITS = [(page, 1280) for page in (HOME, *PAGES)]
VISITS += [(page, 390) for page in (HOME, *PAGES) if page.path in ON_A_PHONE]


def name_of(page: Any) -> str:
    return "" if page is HOME else Path(page.path).stem


@pytest.fixture(
    params=[(page, width, theme) for theme in ("light", "dark") for page, width in VISITS],
    ids=lambda case: f"{name_of(case[0]) or 'home'}-{case[1]}-{case[2]}",
)
def drawn(request, browser, server) -> Iterator[Screen]:
    """A page past its question, with its charts drawn."""
    page, width, theme = request.param
    with visit(browser, server, width=width, theme=theme) as screen:
        open_page(screen, page)
        yield screen


def open_page(screen: Screen, page: Any) -> None:
    """Open a page past its question, or the first page, which asks none."""
    if page is HOME:
        screen.page.goto(screen.address)
        screen.page.get_by_role("heading", level=1, name=page.question).wait_for()
    else:
        screen.open(name_of(page), page.question)
    settle_charts(screen)


def settle_charts(screen: Screen) -> None:
    """Wait until every chart is drawn and none of the page is faded or still to come."""
    screen.settle()
    screen.page.wait_for_function(
        # A chart in a section that is folded away may wait until it is unfolded.
        "[...document.querySelectorAll('[data-testid=stVegaLiteChart]')]"
        ".filter(chart => chart.checkVisibility())"
        ".every(chart => chart.querySelector('svg, canvas'))"
        "&& !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')"
    )
    screen.page.wait_for_timeout(500)


def found_on(screen: Screen) -> list[str]:
    """What axe finds on the page, be it ours or Streamlit's."""
    return [
        f"{violation['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for violation in Axe().run(screen.page).response["violations"]
        for node in violation["nodes"]
    ]


def test_nothing_of_ours_is_in_a_readers_way(drawn):
    assert found_on(drawn) == []
    faint = [(text, round(c, 2)) for text, c in drawn.page.evaluate(CONTRAST) if c < LEAST]
    assert faint == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_a_question(browser, server, theme):
    """Before the answer: a page whose question has answers, and one that asks for a number."""
    with visit(browser, server, theme=theme) as screen:
        for name in ("mask_leak", "parameter_ledger"):
            screen.page.goto(f"{server}/{name}")
            screen.page.get_by_role("button", name="Skip: show me").wait_for()
            settle_charts(screen)
            assert found_on(screen) == []


def test_the_checks_see_what_is_wrong(screen):
    """Both would find a button without a name and a pale text, on any page."""
    open_page(screen, PAGES[1])
    screen.page.evaluate(
        """() => {
          const main = document.querySelector('[data-testid=stMain]');
          main.insertAdjacentHTML('beforeend', '<button></button>');
          const chart = '[data-testid=stVegaLiteChart] svg text';
          document.querySelector(chart).style.fill = 'rgb(200, 200, 200)';
        }"""
    )
    found = {violation["id"] for violation in Axe().run(screen.page).response["violations"]}
    assert "button-name" in found
    assert any(c < LEAST for _, c in screen.page.evaluate(CONTRAST))


@pytest.mark.skipif(
    not os.environ.get("ATTENTION_LAB_SCREENSHOTS"), reason="ATTENTION_LAB_SCREENSHOTS is not set"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_every_page_is_photographed(browser, server, width, theme):
    folder = ROOT / "artefacts"
    folder.mkdir(exist_ok=True)
    with visit(browser, server, width=width, theme=theme) as screen:
        for page in (HOME, *PAGES):
            open_page(screen, page)
            # Streamlit scrolls a part of the window, so the window is made as high as the page.
            height = screen.page.get_by_test_id("stMain").evaluate("main => main.scrollHeight")
            screen.page.set_viewport_size({"width": width, "height": height})
            settle_charts(screen)
            file = folder / f"{name_of(page) or 'home'}-{width}-{theme}.png"
            screen.page.screenshot(path=file)
            assert file.stat().st_size > 10_000
            screen.page.set_viewport_size({"width": width, "height": 900})
