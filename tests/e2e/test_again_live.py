"""Work that is asked for again, in a real browser: each page follows it to its end once more."""

import re
from dataclasses import dataclass

import pytest

from pages import PAGES

pytestmark = pytest.mark.browser

QUESTIONS = {page.path: page.question for page in PAGES}
LONG = 60_000  # milliseconds; a bound for a busy machine, not a measurement


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one page does, of a size that takes a second or a few."""

    page: str
    link: str
    done: str | re.Pattern[str]  # what the page says at the end
    first: str | None = None  # the button that starts it; None where the page does
    again: str = "Run again"


MEASURED = "Measured on this server, "
WORK = (
    Work(page="ablation", link="n_steps=300&n_seeds=2", done="10 of 10 runs done"),
    Work(page="why_the_question", link="n_steps=300&n_seeds=2", done="2 of 2 runs done"),
    Work(page="many_heads", link="n_steps=400&n_seeds=1", done="5 of 5 runs done"),
    Work(page="word_order", link="n_steps=400&n_seeds=1", done="5 of 5 runs done"),
    Work(
        page="word_order",
        link="n_steps=300&n_seeds=1",
        done="9 of 9 runs done",
        first="Train 9 ALiBi heads, 9 slopes",
    ),
    Work(
        page="scale",
        link="n_pairs=4&d_k=4&n_steps=3000&n_seeds=2",
        done="2 of 2 runs done",
        first="Run this cell on this server",
    ),
    # Exactly: another line says what comes when the training has ended.
    Work(page="recall_training", link="n_steps=3000", done=re.compile(r"^Training has ended\.$")),
    Work(
        page="inference_cost",
        link="n_tokens=512&n_repeats=3",
        done=MEASURED,
        again="Measure again",
    ),
    Work(
        page="context_cost",
        link="n_largest=1024&n_repeats=3",
        done=MEASURED,
        again="Measure again",
    ),
)


@pytest.mark.parametrize("work", WORK, ids=lambda work: f"{work.page}: {work.first or 'itself'}")
def test_work_asked_for_again_is_followed_to_its_end(screen, work):
    screen.open(f"{work.page}?{work.link}", QUESTIONS[f"pages/{work.page}.py"])
    main = screen.page.get_by_test_id("stMain")
    stop = main.get_by_role("button", name="Stop", exact=True)
    again = main.get_by_role("button", name=work.again)
    # The last on a page is that of the button pressed first, where there is one.
    if work.first:
        main.get_by_role("button", name=work.first).click()
        stop.last.wait_for(timeout=LONG)
    for _ in range(2):
        main.get_by_text(work.done).last.wait_for(timeout=LONG)
        stop.last.wait_for(state="detached", timeout=LONG)
        again.last.click()
        stop.last.wait_for(timeout=LONG)
    again.last.wait_for(timeout=LONG)
    stop.last.wait_for(state="detached", timeout=LONG)
    main.get_by_text(work.done).last.wait_for(timeout=LONG)
    assert screen.page.get_by_test_id("stException").count() == 0
