"""The mechanism page in a real browser: markup stays text, and every cell can be read."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from core.mechanism import PRESETS, mechanism

pytestmark = pytest.mark.browser

HEADING = "How does a word take meaning from its neighbours?"


def test_markup_in_a_sentence_is_shown_and_never_rendered(screen):
    sentence = "<img src=x> $x$ [a](javascript:b) **b**"
    screen.open(f"mechanism?{urlencode({'sentence': sentence, 'token': 16})}", HEADING)
    main = screen.page.get_by_test_id("stMain")
    main.get_by_text("The word you follow is “16 b *”").wait_for()
    assert main.locator('img[src="x"], .katex, a[href^="javascript"]').count() == 0
    # The controls come after the answer.
    expect(screen.page.get_by_role("textbox", name="Sentence")).to_have_value(sentence)
    assert screen.page.get_by_test_id("stException").count() == 0


def test_every_cell_of_the_pattern_can_be_read(screen):
    preset = PRESETS["Bank beside river"]
    screen.open("mechanism?seed=1", HEADING)
    screen.page.get_by_role("button", name="Bank beside river").click()
    screen.page.get_by_text("The word you follow is “5 bank”").wait_for()
    pattern = screen.page.locator('[aria-label^="Heat-map of Pattern"]')
    tooltip = screen.page.locator("#vg-tooltip-element")
    cells = pattern.locator("g.mark-rect.role-mark > path")
    screen.page.wait_for_timeout(1500)
    read = {}
    pattern.evaluate("chart => chart.scrollIntoView({block: 'center'})")
    for box in [cell.bounding_box() for cell in cells.all()]:
        screen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tooltip.get_by_text("Weight (no unit)").wait_for()
        asking, seen, weight = tooltip.locator("td.value").all_inner_texts()
        read[asking, seen] = weight
    result = mechanism(preset)
    expected = {
        (asking.label, seen.label): f"{result.steps.pattern[row, column]:.6f}"
        for row, asking in enumerate(result.tokens)
        for column, seen in enumerate(result.tokens)
    }
    assert read == expected
