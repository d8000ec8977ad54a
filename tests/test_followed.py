"""What a visitor follows: drawn anew when it begins and when it ends, shared by experiment."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from core.turns import TurnService
from pages.parts import followed
from pages.parts.followed import Followed, redraw_if_changed

PARTS = Path(followed.__file__).parent
SERVICE: TurnService[int] = TurnService(threaded=False, max_live=1, max_waiting=1)


@dataclass(kw_only=True, eq=False)
class Counting(Followed[int, int]):
    """Counts up to its settings."""

    def service(self) -> TurnService[int]:
        return SERVICE

    def work(self) -> Callable[[], Iterator[int]]:
        return partial(lambda n: iter(range(n)), self.settings)


@pytest.fixture(autouse=True)
def service(monkeypatch):
    service: TurnService[int] = TurnService(threaded=False, max_live=1, max_waiting=1)
    monkeypatch.setitem(globals(), "SERVICE", service)
    return service


def started(name: str, n: int) -> Counting:
    counting = Counting(name=name, settings=n)
    counting.start()
    return counting


@pytest.mark.parametrize(
    ("live", "polling", "redraws"),
    [(True, False, 1), (False, True, 1), (True, True, 0), (False, False, 0)],
)
def test_a_page_is_drawn_anew_when_work_begins_and_when_it_ends(
    monkeypatch, live, polling, redraws
):
    calls = []
    monkeypatch.setattr(followed.st, "rerun", lambda: calls.append(1))
    redraw_if_changed(live=live, polling=polling)
    assert len(calls) == redraws


def test_what_shows_work_leaves_drawing_anew_to_the_one_function():
    # The controls draw anew what they have reset, the lesson what had waited for a prediction.
    others = {"followed.py", "controls.py", "lesson.py"}
    rerunning = {path.name for path in PARTS.glob("*.py") if "st.rerun(" in path.read_text()}
    assert rerunning <= others


def test_visitors_share_the_work_of_one_experiment_and_not_of_two(service):
    ann, bob, cat = started("one", 3), started("one", 3), started("two", 3)
    assert ann.job is bob.job
    assert ann.job is not cat.job
    while service.turn():
        pass
    for counting in (ann, bob, cat):
        counting.poll()
        assert not counting.live
        assert not counting.kept
        assert counting.progress.items == (0, 1, 2)
    assert started("one", 3).kept


def test_work_that_is_refused_says_so_and_keeps_no_job(service):
    started("one", 3), started("two", 3)
    refused = started("three", 3)
    assert refused.refused.startswith("1 run is in progress and 1 is waiting")
    assert not refused.live


def test_a_kept_job_holds_nobody_who_asked(service):
    ann = started("one", 3)
    assert ann not in (ann.job.make, *ann.job.make.args)
    assert getattr(ann.job.make, "__self__", None) is None
