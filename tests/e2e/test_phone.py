"""On a phone, every word of every chart can be read."""

from pathlib import Path

import pytest

from pages import PAGES
from tests.e2e.conftest import Screen, visit

pytestmark = pytest.mark.browser

PHONE = 390  # pixels in width
QUESTIONS = {Path(page.path).stem: page.question for page in PAGES}
# Every page as it opens, and what takes the most room: two names cut to the longest label there is,
# and a run that ends soon after the step that the article names.
LINKS = (
    *QUESTIONS,
    "mechanism?sentence=extraordinarily%20ambiguousness%20creature",
    "recall_training?n_steps=500",
)
# Chance and the ceiling so close that the name of one reaches the line of the other.
CLOSE = ("ablation?n_pairs=8&n_values=16", "word_order?n_times=3", "many_heads?n_values=2")

# The box of a word holds room for accents across its reading direction, which may be off the edge;
# along it, no more may be than the half pixel by which Vega moves every chart.
BEYOND = """charts => charts.flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].flatMap(text => {
    const at = text.getBoundingClientRect();
    const shown = box.width && at.width && text.getAttribute('opacity') !== '0';
    if (!shown || !text.textContent.trim()) return [];
    const turned = at.height > 1.5 * parseFloat(getComputedStyle(text).fontSize)
      && at.height > at.width;
    const [across, down] = turned ? [4, 0.75] : [0.75, 4];
    const out = box.left - at.left > across || at.right - box.right > across
      || box.top - at.top > down || at.bottom - box.bottom > down
      || at.right > document.documentElement.clientWidth + across;
    return out ? [text.textContent] : [];
  });
})"""

# A word whose middle half a straight line goes through.
STRUCK = """charts => charts.flatMap(svg => {
  const lines = [...svg.querySelectorAll('.mark-rule.role-mark line')];
  return [...svg.querySelectorAll('.mark-text.role-mark text')].flatMap(text => {
    const at = text.getBoundingClientRect();
    return lines.map(line => line.getBoundingClientRect()).some(line =>
      line.left < at.right - 1 && line.right > at.left + 1
      && line.top < at.bottom - at.height / 4 && line.bottom > at.top + at.height / 4
    ) ? [text.textContent] : [];
  });
})"""


def measured(screen: Screen, script: str) -> list[str]:
    """Return what the script finds in all charts, once they have words and have come to rest."""
    screen.settle()
    charts = screen.page.locator("[data-testid=stVegaLiteChart] svg.marks")
    screen.page.wait_for_function(
        "[...document.querySelectorAll('[data-testid=stVegaLiteChart]')]"
        ".filter(chart => chart.checkVisibility()).every(chart => chart.querySelector('svg text'))"
    )
    last = None
    for _ in range(30):  # seconds at most
        now = charts.evaluate_all("charts => charts.map(svg => svg.outerHTML).join()")
        if now == last:
            break
        last = now
        screen.page.wait_for_timeout(1000)
    return charts.evaluate_all(script)


@pytest.mark.parametrize("link", LINKS)
def test_no_word_of_a_chart_is_cut(browser, server, link):
    with visit(browser, server, width=PHONE, height=844, theme="dark") as screen:
        screen.open(link, QUESTIONS[link.partition("?")[0]])
        assert measured(screen, BEYOND) == []


@pytest.mark.parametrize("link", CLOSE)
def test_no_line_strikes_a_name_through(browser, server, link):
    with visit(browser, server, width=PHONE, height=844) as screen:
        screen.open(link, QUESTIONS[link.partition("?")[0]])
        screen.page.locator("svg .mark-rule.role-mark line").first.wait_for(state="attached")
        assert measured(screen, STRUCK) == []
