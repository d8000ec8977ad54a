"""A measurement that one visitor follows: asked for, watched, stopped, made again."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from core.tables.measured import queue_sentence, when_sentence
from core.turns import Job, Progress, QueueFullError
from pages.parts.controls import plain
from pages.parts.server import measuring_service

POLL_SECONDS = 0.5  # how often a live measurement is drawn anew; each drawing disturbs it a little


class Repeated(Protocol):
    """Settings of a measurement."""

    @property
    def n_repeats(self) -> int:
        """Timed runs of each kind."""


class Snapshot(Protocol):
    """As much of a measurement as has been made."""

    @property
    def settings(self) -> Repeated:
        """What is measured."""

    @property
    def started(self) -> float:
        """When it began, in seconds since 1970."""

    @property
    def share_done(self) -> float:
        """How much of it is made, 0 to 1."""


S = TypeVar("S")
T = TypeVar("T", bound=Snapshot)


@dataclass(kw_only=True, eq=False)
class Visit(Generic[S, T]):
    """What this visitor is following. ``watcher`` is the token of who asks."""

    name: str  # of the experiment; its buttons' keys begin with it
    settings: S
    measure: Callable[[S], Iterator[T | None]]
    asked: float = 0.0  # seconds since 1970
    job: Job[T] | None = None  # None once the visitor has left it, or was refused
    progress: Progress[T] | None = None  # as last heard
    refused: str | None = None  # the sentence, if the queue was full
    watcher: object = field(default_factory=object)

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.job is not None and (self.progress is None or not self.progress.ended)

    @property
    def snapshot(self) -> T | None:
        """As much as has been measured."""
        return self.progress.items[-1] if self.progress and self.progress.items else None

    @property
    def result(self) -> T | None:
        """Return the whole measurement, once its last run is made."""
        return self.snapshot if self.snapshot and self.snapshot.share_done == 1 else None

    def start(self, *, again: bool = False) -> None:
        """Ask for the measurement, or take the one this server has or is making."""
        settings, measure = self.settings, self.measure
        self.refused, self.progress, self.asked = None, None, time.time()
        try:
            self.job = measuring_service().submit(
                (self.name, settings), lambda: measure(settings), self.watcher, again=again
            )
        except QueueFullError as full:
            self.job, self.refused = None, str(full)
            return
        self.poll()

    def poll(self) -> None:
        """Hear what has been measured since; ask anew if it was dropped for want of a listener."""
        if self.job is None:
            return
        self.progress = measuring_service().poll(self.job, self.watcher)
        if self.progress.state == "stopped":
            self.start()

    def stop(self) -> None:
        """Leave the measurement, and keep what it has shown."""
        if self.job is not None:
            self.progress = measuring_service().leave(self.job, self.watcher)
            self.job = None

    def show_status(self, doing: Callable[[T | None], str]) -> None:
        """Say how far the measurement is, or when it was made, beside the one button that fits.

        Args:
            doing: says which run was the last one finished.
        """
        words, button = st.columns([3, 1], vertical_alignment="center")
        with words:
            self._say(doing)
        if self.live:
            button.button("Stop", key=f"{self.name}_stop", on_click=self.stop, width="stretch")
        else:
            button.button(
                "Measure again",
                key=f"{self.name}_again",
                on_click=self.start,
                kwargs={"again": True},
                width="stretch",
            )

    def _say(self, doing: Callable[[T | None], str]) -> None:
        snapshot = self.snapshot
        if self.refused:
            st.warning(plain(self.refused))
        elif self.progress and self.progress.error:
            st.warning(plain(self.progress.error))
        elif self.progress and self.progress.place:
            st.progress(0.0, queue_sentence(self.progress.place))
        elif self.live:
            st.progress(snapshot.share_done if snapshot else 0.0, doing(snapshot))
        elif snapshot:
            when = when_sentence(
                snapshot.started,
                snapshot.settings.n_repeats,
                st.context.timezone,
                whole=self.result is not None,
            )
            st.progress(snapshot.share_done, when)
        else:
            st.progress(0.0, "Stopped before the first run.")


def follow(name: str, settings: S, measure: Callable[[S], Iterator[T | None]]) -> Visit[S, T]:
    """Return the visit that follows these settings; a measurement of others is left."""
    key = f"{name}_visit"
    visit: Visit[Any, Any] | None = st.session_state.get(key)
    if visit is None or visit.settings != settings:
        if visit is not None:
            visit.stop()
        visit = Visit(name=name, settings=settings, measure=measure)
        st.session_state[key] = visit
        visit.start()
    else:
        visit.poll()
    return visit
