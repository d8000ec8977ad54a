"""The part of a page that follows its sliders: drawn in turn, its answer before its controls."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import pandas as pd
import streamlit as st

P = ParamSpec("P")

PAINTING = 0.06  # seconds a browser needs to draw the page's first chart
LEAST_PAUSE = 0.01  # seconds paused at least, however long the wait for a turn
PATIENCE = 2.0  # seconds after which a part is drawn out of turn, should another hang

COURTESY = 0.02  # seconds for which a step of a training run waits for a visitor's answer

_FIRST = "first_charts"  # those drawn before the last pause, in the session's state

_turn = threading.Lock()


class _Run(threading.local):
    """What the run in this thread has to remember; a run draws one page for one visitor."""

    has_turn = False
    waited = 0.0  # seconds for its turn, when it began
    later: list[Callable[[], object]] | None = None  # what its answer need not wait for
    first: dict[object, pd.DataFrame] | None = None  # the charts drawn so far, until it pauses


_run = _Run()


def draw_moving(part: Callable[P, None], *args: P.args, **options: P.kwargs) -> None:
    """Draw a part of the page that is drawn alone when one of its controls moves.

    Python draws for one visitor at a time. Left to themselves, the runs of a class share it in
    slices, and all end late; here one ends before the next begins.
    """

    @wraps(part)
    def drawn(*args: P.args, **options: P.kwargs) -> None:
        with _in_turn():
            _run.later, _run.first = [], {}
            try:
                part(*args, **options)
                _draw_rest()
            finally:
                _run.later = _run.first = None

    # A fragment: the still parts of the page are left alone while a slider moves.
    st.fragment(drawn)(*args, **options)


def draw_later(draw: Callable[[], object]) -> bool:
    """Put off what the answer need not wait for; return whether that is possible here."""
    if _run.later is None:
        return False
    _run.later.append(draw)
    return True


def note_chart(chart: object, frame: pd.DataFrame) -> None:
    """Take note of a chart that is drawn, for `paint_first`.

    Args:
        chart: which it is, and all it shows but its data; hashable.
        frame: its data.
    """
    if _run.first is not None:
        _run.first[chart] = frame


def forget_charts() -> None:
    """Let every chart count as new, as it is on a page that has just been opened."""
    st.session_state.pop(_FIRST, None)


def paint_first() -> None:
    """Let the browser paint what it has been sent, before the rest of the page comes.

    What arrives together is drawn together, so that the chart a student waits for would wait for
    every control above it and every table below. Nothing is computed meanwhile for this visitor,
    and the turn is another's. If no chart so far has changed, the student waits for what is still
    to come, and there is no pause.
    """
    if _is_new(_run.first):
        _pause()
    _run.first = None
    _draw_rest()


def _is_new(charts: dict[object, pd.DataFrame] | None) -> bool:
    """Return whether these charts show anything that the last ones before a pause did not."""
    if not charts:
        return True
    last = st.session_state.get(_FIRST, {})
    st.session_state[_FIRST] = charts
    same = charts.keys() == last.keys() and all(charts[key].equals(last[key]) for key in charts)
    return not same


def _pause() -> None:
    # The turn comes back only after a wait, about as long as the one before: part of the pause.
    # Who was let through out of turn will not wait again.
    waited = _run.waited if _run.has_turn else 0.0
    with turn_given():
        time.sleep(max(LEAST_PAUSE, PAINTING - waited))


@contextmanager
def turn_given() -> Iterator[None]:
    """Give the turn to another for as long as nothing is drawn and the interpreter is free.

    For a wait, or for a computation that takes long and takes its time inside NumPy.
    """
    if _run.has_turn:
        _turn.release()
    try:
        yield
    finally:
        if _run.has_turn:
            _run.has_turn = _turn.acquire(timeout=PATIENCE)


def give_way() -> None:
    """Wait a little for a visitor whose answer is being drawn, if there is one.

    Work that goes on for seconds would take every second slice of the interpreter's time. Bounded,
    so that a full class slows it and does not stop it.
    """
    if _turn.acquire(timeout=COURTESY):
        _turn.release()


@contextmanager
def _in_turn() -> Iterator[None]:
    asked = time.monotonic()
    _run.has_turn = _turn.acquire(timeout=PATIENCE)
    _run.waited = time.monotonic() - asked
    try:
        yield
    finally:
        if _run.has_turn:
            _run.has_turn = False
            _turn.release()


def _draw_rest() -> None:
    while _run.later:
        _run.later.pop(0)()
