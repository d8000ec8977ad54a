"""While a slider moves, nothing else on the page does."""

from pathlib import Path

import pytest

from pages import PAGES
from tests.e2e.conftest import Screen

pytestmark = pytest.mark.browser

MOST = 1  # pixels
STEPS = 10
# Page, slider and the key that moves it.
SLIDERS = (
    ("mask_leak", "Tokens", "ArrowRight"),
    ("mask_leak", "Changed position", "ArrowLeft"),
    ("mechanism", "d_k", "ArrowLeft"),
    ("parameter_ledger", "Layers", "ArrowRight"),
    ("your_model", "Context (tokens)", "ArrowRight"),
    ("scale", "d_k (numbers in a query)", "ArrowRight"),
)
# Every chart, heading and control: where it is in the page, whatever was scrolled.
BOXES = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  const found = {height: main.scrollHeight};
  const kinds = {
    chart: '[data-testid=stVegaLiteChart]',
    heading: 'h1, h2, h3',
    control: '[data-testid=stSlider], [data-testid=stSelectbox], [data-testid=stRadio], '
      + '[data-testid=stCheckbox], [data-testid=stTextInput], [data-testid=stButton], '
      + '[data-testid=stDownloadButton], [data-testid=stPopover], [data-testid=stExpander]',
  };
  for (const [kind, selector] of Object.entries(kinds)) {
    [...main.querySelectorAll(selector)].forEach((node, number) => {
      const box = node.getBoundingClientRect();
      const name = node.innerText.trim().split('\\n')[0].slice(0, 40);
      const at = {left: box.x, top: box.y + main.scrollTop, width: box.width, height: box.height};
      for (const [side, value] of Object.entries(at)) {
        found[`${kind} ${number} (${kind === 'chart' ? '' : name}) ${side}`] = value;
      }
    });
  }
  return found;
}"""


def boxes(screen: Screen) -> dict[str, float]:
    screen.settle()
    screen.page.wait_for_timeout(300)
    return screen.page.evaluate(BOXES)


@pytest.mark.parametrize(("name", "slider", "key"), SLIDERS)
def test_nothing_moves_while_a_slider_does(screen, name, slider, key):
    question = next(page.question for page in PAGES if Path(page.path).stem == name)
    screen.open(name, question)
    screen.page.locator("[data-testid=stVegaLiteChart] svg").first.wait_for()
    screen.page.wait_for_timeout(1000)
    handle = screen.page.get_by_role("slider", name=slider).first
    handle.focus()  # before the boxes are taken: it may scroll the page
    before, start = boxes(screen), handle.get_attribute("aria-valuenow") or handle.input_value()
    moved = {}
    for step in range(1, STEPS + 1):
        handle.press(key)
        after = boxes(screen)
        moved |= {
            f"{what} at step {step}": (was, after.get(what))
            for what, was in before.items()
            if what not in after or abs(after[what] - was) > MOST
        }
    end = handle.get_attribute("aria-valuenow") or handle.input_value()
    assert end != start, "the slider itself did not move"
    assert moved == {}
