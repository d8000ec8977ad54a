"""Series of runs in a real browser: followed to their end, and followed when run again."""

import pytest

from pages import PAGES

pytestmark = pytest.mark.browser

QUESTIONS = {page.path: page.question for page in PAGES}
LONG = 60_000  # milliseconds; a bound, not a measurement


@pytest.mark.parametrize(
    ("name", "done"), [("ablation", "10 of 10 runs done"), ("why_the_question", "2 of 2 runs done")]
)
def test_runs_are_followed_to_their_end_and_again(screen, name, done):
    screen.open(f"{name}?n_steps=300&n_seeds=2", QUESTIONS[f"pages/{name}.py"])
    main = screen.page.get_by_test_id("stMain")
    again = main.get_by_role("button", name="Run again")
    for _ in range(2):
        again.first.wait_for(timeout=LONG)
        main.get_by_text(done).first.wait_for(timeout=LONG)
        again.first.click()
        main.get_by_role("button", name="Stop").first.wait_for(timeout=LONG)
    again.first.wait_for(timeout=LONG)
    assert main.get_by_role("button", name="Stop").count() == 0


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
