"""What one visitor follows of a service: asked for, watched, stopped, asked for again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import streamlit as st

from core.turns import Job, Progress, QueueFullError, TurnService

S = TypeVar("S", bound=Hashable)
Item = TypeVar("Item")


@dataclass(kw_only=True, eq=False)
class Followed(ABC, Generic[S, Item]):
    """A job of a `TurnService`, and the last this visitor heard of it.

    Visitors with the same experiment and the same settings share one job.
    """

    name: str  # of the experiment
    settings: S
    job: Job[Item] | None = None  # None once the visitor has stopped it, or was refused
    progress: Progress[Item] | None = None  # as last heard
    refused: str | None = None  # the sentence, if the queue was full
    kept: bool = False  # whether it had been done before and was there at once
    watcher: object = field(default_factory=object)  # the token of who asks

    @abstractmethod
    def service(self) -> TurnService[Item]:
        """Return the service that does this kind of work."""

    @abstractmethod
    def work(self) -> Callable[[], Iterator[Item | None]]:
        """Return what makes the generator; a kept job keeps it, so it must not hold this object."""

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.job is not None and (self.progress is None or not self.progress.ended)

    def start(self, *, again: bool = False) -> None:
        """Ask for the work, or join the one somebody else asked for."""
        self.refused, self.kept = None, False
        try:
            self.job = self.service().submit(
                (self.name, self.settings), self.work(), self.watcher, again=again
            )
        except QueueFullError as full:
            self.job, self.refused = None, str(full)
            return
        self.poll()
        self.kept = not self.live

    def poll(self) -> None:
        """Hear what has been done since; ask anew if it was dropped for want of a listener."""
        if self.job is None:
            return
        self.progress = self.service().poll(self.job, self.watcher)
        if self.progress.state == "stopped":
            self.start()

    def stop(self) -> None:
        """Leave the work, and keep what it has shown."""
        if self.job is not None:
            self.progress = self.service().leave(self.job, self.watcher)
            self.job = None


F = TypeVar("F", bound=Followed[Any, Any])


def follow(key: str, wanted: F) -> F:
    """Return what the visitor follows under this key; work with other settings is left.

    Args:
        key: of the session's state.
        wanted: what to follow, not started yet; dropped if the same is followed already.
    """
    followed: F | None = st.session_state.get(key)
    if followed is not None and followed.settings == wanted.settings:
        followed.poll()
        return followed
    if followed is not None:
        followed.stop()
    st.session_state[key] = wanted
    wanted.start()
    return wanted


def redraw_if_changed(*, live: bool, polling: bool) -> None:
    """Draw the whole page anew if it is to be drawn again and again from now on, or no longer.

    How often a part of a page is drawn again is settled when the whole page is drawn. So a part
    that shows work calls this last: work may have ended since, or begun by one of its buttons.

    Args:
        live: whether more is to come now.
        polling: whether it was when the whole page was drawn.
    """
    if live != polling:
        st.rerun()
