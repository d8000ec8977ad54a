"""On a projector of 1280 × 720, a page's main chart and its sentence need no scrolling."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from pages import PAGES
from tests.e2e.conftest import Screen, visit

pytestmark = pytest.mark.browser

WIDTH, HEIGHT = 1280, 720  # pixels
LONG = 60_000  # milliseconds; a bound, not a measurement
LOOKS = 240  # at least 60 seconds; a bound as well
QUESTIONS = {Path(page.path).stem: page.question for page in PAGES}


@dataclass(frozen=True, kw_only=True)
class Link:
    """What a teacher would send: controls to keep, by their labels, and what else is set."""

    picked: dict[str, str]
    settings: str = ""  # of a short run, where there is one
    ends: str | None = None  # the button that stands there once the run has ended

    def to(self, name: str) -> str:
        """Return the link to the page of this name."""
        return f"{name}?present=1&show={','.join(self.picked)}&{self.settings}"


LINKS = {
    "mechanism": Link(picked={"d_k": "d_k (numbers in each query and key)"}),
    "mask_leak": Link(picked={"position": "Changed position", "mask": "Mask for the map"}),
    "recall_training": Link(
        picked={"n_pairs": "Pairs in a sequence", "learning_rate": "Learning rate (no unit)"},
        settings="n_steps=100",
        ends="Run again",
    ),
    "ablation": Link(
        picked={"n_values": "Different values"}, settings="n_steps=100&n_seeds=1", ends="Run again"
    ),
    "parameter_ledger": Link(picked={"n_layers": "Layers", "n_vocab": "Vocabulary (tokens)"}),
    "context_cost": Link(
        picked={"n_largest": "Largest size (tokens)"},
        settings="n_largest=512&n_repeats=1",
        ends="Measure again",
    ),
    "why_the_question": Link(
        picked={"init_scale": "Initial scale", "sum_to_one": "Weights sum to 1"},
        settings="n_steps=100&n_seeds=1&sum_to_one=false",
        ends="Run again",
    ),
    "many_heads": Link(
        picked={"n_values": "Different values"}, settings="n_steps=100&n_seeds=1", ends="Run again"
    ),
    "word_order": Link(
        picked={"n_times": "Times the asked key occurs"},
        settings="n_steps=100&n_seeds=1",
        ends="Run again",
    ),
    "your_model": Link(picked={"model": "Model", "model_context": "Context (tokens)"}),
    "inference_cost": Link(
        picked={"n_tokens": "Tokens written"},
        settings="n_tokens=128&n_repeats=1",
        ends="Measure again",
    ),
    "scale": Link(picked={"n_pairs": "Pairs in a sequence", "d_k": "d_k (numbers in a query)"}),
}
# What is drawn at once, with a slider that changes what its sentence says.
AT_ONCE = {
    "mechanism": "d_k",
    "mask_leak": "position",
    "parameter_ledger": "n_layers",
    "your_model": "model_context",
    "scale": "n_pairs",
}

# Where the main chart and its sentence are, once they are, and the size of the sentence's letters.
SEEN = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  const chart = main.querySelector('[data-testid=stVegaLiteChart]');
  const says = main.querySelector('.lab-line');
  if (!chart || !chart.querySelector('svg text') || !says) return null;
  const sides = node => {
    const box = node.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
  };
  return {chart: sides(chart), says: sides(says), letters: parseFloat(
    getComputedStyle(says).fontSize), scrolled: main.scrollTop};
}"""


def looks(page: Page, ends: str | None) -> list[dict]:
    """Look at the chart until the run has ended, and once more; return all that was seen."""
    page.wait_for_function(SEEN, timeout=LONG)
    seen = []
    for _ in range(LOOKS):
        seen.append(page.evaluate(SEEN))
        if ends is None or page.get_by_role("button", name=ends).count():
            page.wait_for_timeout(500)
            return [look for look in (*seen, page.evaluate(SEEN)) if look]
        page.wait_for_timeout(250)
    return pytest.fail("the run did not end")


@pytest.fixture(scope="module")
def usual_letters(browser, server):
    """The size of the text on a page that is not presented, in pixels."""
    with visit(browser, server, width=WIDTH, height=HEIGHT) as screen:
        screen.open("mask_leak", QUESTIONS["mask_leak"])
        screen.page.wait_for_function(SEEN)
        return screen.page.evaluate(SEEN)["letters"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_main_chart_and_its_sentence_are_seen_whole(browser, server, usual_letters, name):
    link = LINKS[name]
    with visit(browser, server, width=WIDTH, height=HEIGHT) as screen:
        screen.open(link.to(name), QUESTIONS[name])
        for look in looks(screen.page, link.ends):
            assert look["scrolled"] == 0
            assert look["letters"] > 1.2 * usual_letters
            for left, top, right, bottom in (look["chart"], look["says"]):
                assert left >= 0
                assert top >= 0
                assert right <= WIDTH
                assert bottom <= HEIGHT
            assert look["chart"][3] - look["chart"][1] > HEIGHT / 2, "the chart takes the room"
        title = screen.page.get_by_role("heading", level=1)
        lines = title.evaluate("h => h.clientHeight / parseFloat(getComputedStyle(h).lineHeight)")
        assert lines < 1.5
        assert controls(screen) == sorted(link.picked.values())


def test_a_run_that_breaks_off_leaves_its_curve_in_view(browser, server):
    with visit(browser, server, width=WIDTH, height=HEIGHT) as screen:
        link = "recall_training?present=1&show=learning_rate&optimiser=SGD&learning_rate=10.0"
        screen.open(link, QUESTIONS["recall_training"])
        seen = looks(screen.page, "Run again")
        screen.page.get_by_text("Learned: The loss stopped being a finite number").wait_for()
        assert {look["chart"][1] for look in seen} == {seen[0]["chart"][1]}
        assert seen[-1]["says"][3] <= HEIGHT


def test_the_page_is_introduced_and_left_by_the_buttons_beside_the_title(browser, server):
    with visit(browser, server, width=WIDTH, height=HEIGHT) as screen:
        screen.open(LINKS["mask_leak"].to("mask_leak"), QUESTIONS["mask_leak"])
        screen.page.wait_for_function(SEEN)
        about = screen.page.get_by_role("button", name="What this page is about")
        about.focus()
        screen.page.keyboard.press("Enter")
        screen.page.get_by_text("A language model is trained to guess").wait_for()
        screen.page.get_by_text("Turns a row of scores into weights").wait_for()
        screen.page.keyboard.press("Escape")
        screen.page.get_by_text("A language model is trained to guess").wait_for(state="hidden")
        about.click()
        screen.page.get_by_text("A language model is trained to guess").wait_for()
        about.click()
        screen.page.get_by_test_id("stExpandSidebarButton").click()
        screen.page.get_by_test_id("stSidebar").get_by_role("link", name="Ablation").wait_for()


def controls(screen: Screen) -> list[str]:
    """Return the labels of all controls on the page, those of the charts' own apart."""
    labels = screen.page.get_by_test_id("stMain").get_by_test_id("stWidgetLabel")
    return sorted(text.strip() for text in labels.all_inner_texts())


def value(slider: Locator) -> str:
    """Return where a slider stands."""
    return slider.get_attribute("aria-valuenow") or slider.input_value()


@pytest.mark.parametrize(("name", "key"), AT_ONCE.items())
def test_a_picked_slider_moves_the_chart_in_place_and_the_link_keeps_it(browser, server, name, key):
    link = LINKS[name]
    with visit(browser, server, width=WIDTH, height=HEIGHT) as screen:
        screen.open(link.to(name), QUESTIONS[name])
        (before,) = looks(screen.page, None)[-1:]
        says = screen.page.locator(".lab-line").first
        said = says.inner_text()
        slider = screen.page.get_by_role("slider", name=link.picked[key])
        start = value(slider)
        slider.focus()
        for _ in range(2):
            slider.press("ArrowLeft")
        screen.page.wait_for_url(re.compile(rf"[?&]{key}="))
        screen.page.wait_for_function(
            "said => document.querySelector('.lab-line').innerText !== said", arg=said
        )
        screen.settle()
        after = looks(screen.page, None)[-1]
        assert after["chart"] == before["chart"]
        assert after["says"] == before["says"]
        said, stood = says.inner_text(), value(slider)
        assert stood != start
        screen.page.reload()
        screen.page.wait_for_function(SEEN)
        screen.settle()
        assert says.inner_text() == said
        assert value(slider) == stood
        assert screen.page.get_by_test_id("stException").count() == 0


def test_a_click_on_the_map_is_kept_by_the_link_though_its_controls_are_hidden(browser, server):
    with visit(browser, server, width=WIDTH, height=HEIGHT) as screen:
        screen.open("scale?present=1&show=shows&n_steps=100&n_seeds=1", QUESTIONS["scale"])
        chart = screen.page.get_by_test_id("stVegaLiteChart").first
        screen.page.wait_for_function(SEEN)
        screen.page.wait_for_timeout(1000)
        chart.click(position={"x": chart.bounding_box()["width"] / 2, "y": 20})
        screen.page.wait_for_url(re.compile(r"[?&]n_pairs=64"))
        screen.page.get_by_text("1 of 1 run done").wait_for(timeout=LONG)
        said = screen.page.locator(".lab-line").first.inner_text()
        assert said.startswith("Outlined: 64 pairs")
        screen.page.reload()
        screen.page.get_by_text(said).wait_for()
