"""A measurement that one visitor follows: asked for, watched, stopped, made again."""

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import streamlit as st

from core.tables.measured import queue_sentence, when_sentence
from core.turns import TurnService
from pages.parts.controls import plain
from pages.parts.followed import Followed
from pages.parts.followed import follow as follow_under
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


S = TypeVar("S", bound=Hashable)
T = TypeVar("T", bound=Snapshot)


@dataclass(kw_only=True, eq=False)
class Visit(Followed[S, T]):
    """What this visitor is following; its buttons' keys begin with its name."""

    measure: Callable[[S], Iterator[T | None]]
    asked: float = 0.0  # seconds since 1970

    def service(self) -> TurnService[T]:
        """Return the service that measures."""
        return measuring_service()

    def work(self) -> Callable[[], Iterator[T | None]]:
        """Return what measures."""
        return partial(self.measure, self.settings)

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
        self.progress, self.asked = None, time.time()
        super().start(again=again)

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
    return follow_under(f"{name}_visit", Visit(name=name, settings=settings, measure=measure))
