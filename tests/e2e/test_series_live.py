"""A long series of runs in a real browser, followed to its end."""

import pytest

from pages import PAGES

pytestmark = pytest.mark.browser

QUESTIONS = {page.path: page.question for page in PAGES}
LONG = 60_000  # milliseconds; a bound, not a measurement


def test_all_changes_to_the_question_are_run_to_their_end(screen):
    question = QUESTIONS["pages/why_the_question.py"]
    screen.open("why_the_question?n_steps=100&n_seeds=1", question)
    main = screen.page.get_by_test_id("stMain")
    assert "What came out" not in main.inner_text()
    main.get_by_role("button", name="Run all 9 changes: 9 runs").click()
    main.get_by_text("What came out").wait_for(timeout=LONG)
    main.get_by_text("9 of 9 runs done").wait_for(timeout=LONG)
    assert "8 of 8 runs came out as expected of a copy" in main.inner_text()
    assert screen.page.get_by_test_id("stException").count() == 0
