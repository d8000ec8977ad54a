"""A series of training runs that one visitor follows: started, watched, stopped, run again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from core.series import RunSettings, SeriesStep, done_words, finished, share_done
from core.turns import TurnService
from pages.parts.controls import plain
from pages.parts.followed import Followed
from pages.parts.followed import follow as follow_under
from pages.parts.server import training_service

POLL_SECONDS = 0.4  # how often a live series is drawn anew
REDRAW_SECONDS = 2.0  # the same for what stands further down the page

S = TypeVar("S", bound=RunSettings)
R = TypeVar("R")

RunSteps = Callable[[tuple[S, ...]], Iterator[SeriesStep[S, R] | None]]
"""Trains and scores runs one after another, as `core.series.series_steps` does."""


@dataclass(kw_only=True, eq=False)
class Series(Followed[tuple[S, ...], SeriesStep[S, R]]):
    """What this visitor is following; its buttons' keys begin with its name."""

    run_steps: RunSteps[S, R]
    stopped: bool = False  # by the visitor

    def service(self) -> TurnService[SeriesStep[S, R]]:
        """Return the service that trains."""
        return training_service()

    def work(self) -> Callable[[], Iterator[SeriesStep[S, R] | None]]:
        """Return what trains all runs, one after another."""
        return partial(self.run_steps, self.settings)

    @property
    def steps(self) -> tuple[SeriesStep[S, R], ...]:
        """The reports heard of so far."""
        return self.progress.items if self.progress else ()

    @property
    def runs(self) -> tuple[R, ...]:
        """The runs that have finished."""
        return finished(self.steps)

    def start(self, *, again: bool = False) -> None:
        """Ask for the series, or join the one somebody else asked for."""
        self.stopped = False
        super().start(again=again)

    def stop(self) -> None:
        """Leave the series, and keep the runs that have finished."""
        if self.job is not None:
            super().stop()
            self.stopped = self.progress is not None and self.progress.state != "done"

    def show_progress(self, what: str | None = None) -> None:
        """Draw how far the series is, what ended it early, and the button that stops or repeats.

        Args:
            what: the runs are, where a page has several series.
        """
        bar, button = st.columns([3, 1], vertical_alignment="bottom")
        words = done_words(len(self.runs), len(self.settings))
        if self.progress and self.progress.place:
            words = f"waiting, place {self.progress.place} in the queue"
        elif self.stopped:
            words = f"stopped: {words}"
        elif self.kept:
            words = f"{words} earlier, with the same settings and seeds"
        words = f"{what}: {words}" if what else words
        bar.progress(share_done(self.steps), text=words)
        if self.live:
            button.button("Stop", key=f"{self.name}_stop", on_click=self.stop, width="stretch")
        else:
            button.button(
                "Run again",
                key=f"{self.name}_again",
                on_click=self.start,
                kwargs={"again": True},
                width="stretch",
            )
        if self.refused:
            st.warning(plain(self.refused))
        if self.progress and self.progress.error:
            st.warning(plain(self.progress.error))


def follow(name: str, settings: tuple[S, ...], run_steps: RunSteps[S, R]) -> Series[S, R]:
    """Return the series of these runs under this name; a series of other runs is abandoned."""
    return follow_under(name, Series(name=name, settings=settings, run_steps=run_steps))


def start(name: str, settings: tuple[S, ...], run_steps: RunSteps[S, R]) -> None:
    """Start the series of these runs under this name, or run it again."""
    series: Series[S, R] | None = st.session_state.get(name)
    if series is not None and series.settings == settings and not series.live:
        series.start(again=True)
    else:
        follow(name, settings, run_steps)


def followed(name: str, fits: Callable[[Series[Any, Any]], bool]) -> Series[Any, Any] | None:
    """Return the series under this name if one was started; stop it if it no longer fits."""
    series: Series[Any, Any] | None = st.session_state.get(name)
    if series is None:
        return None
    if not fits(series):
        series.stop()
        del st.session_state[name]
        return None
    series.poll()
    return series


def leave(name: str) -> None:
    """Stop and forget the series under this name, if there is one."""
    followed(name, lambda _: False)
