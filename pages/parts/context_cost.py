"""One visitor's measurement: asked for when the settings change, followed, stopped, asked again."""

import os
import time
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.context_cost import CostSnapshot, measure_steps
from core.context_plan import ContextSettings
from core.turns import Job, Progress, QueueFullError
from pages.parts.server import measuring_service

POLL_SECONDS = 0.5  # how often a live measurement is drawn anew; each drawing disturbs it a little
SIZES = (512, 1024, 2048, 4096, 8192, 16384)  # tokens; what the largest size can be
CAP_VARIABLE = "ATTENTION_LAB_MEMORY_CAP_MIB"
VISIT = "context_cost_visit"  # the key of the visit in the session's state


@dataclass(kw_only=True, eq=False)
class Visit:
    """What this visitor is following."""

    settings: ContextSettings
    asked: float = 0.0  # seconds since 1970
    job: Job[CostSnapshot] | None = None  # None once the visitor has left it, or was refused
    progress: Progress[CostSnapshot] | None = None  # as last heard
    refused: str | None = None  # the sentence, if the queue was full
    watcher: object = field(default_factory=object)

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.job is not None and (self.progress is None or not self.progress.ended)

    @property
    def snapshot(self) -> CostSnapshot | None:
        """As much as has been measured."""
        return self.progress.items[-1] if self.progress and self.progress.items else None

    @property
    def result(self) -> CostSnapshot | None:
        """Return the whole measurement, once its last run is made."""
        return self.snapshot if self.snapshot and self.snapshot.share_done == 1 else None

    def start(self, *, again: bool = False) -> None:
        """Ask for the measurement, or take the one this server has or is making."""
        settings = self.settings
        self.refused, self.progress, self.asked = None, None, time.time()
        try:
            self.job = measuring_service().submit(
                settings, lambda: measure_steps(settings), self.watcher, again=again
            )
        except QueueFullError as full:
            self.job, self.refused = None, str(full)
            return
        self.poll()

    def poll(self) -> None:
        """Hear what has been measured since."""
        if self.job is not None:
            self.progress = measuring_service().poll(self.job, self.watcher)

    def stop(self) -> None:
        """Leave the measurement, and keep what it has shown."""
        if self.job is not None:
            self.progress = measuring_service().leave(self.job, self.watcher)
            self.job = None


def follow(settings: ContextSettings) -> Visit:
    """Return the visit that follows these settings; a measurement of others is left."""
    visit: Visit | None = st.session_state.get(VISIT)
    if visit is None or visit.settings != settings:
        if visit is not None:
            visit.stop()
        visit = Visit(settings=settings)
        st.session_state[VISIT] = visit
        visit.start()
    else:
        visit.poll()
        if visit.progress and visit.progress.state == "stopped" and visit.job is not None:
            visit.start()  # dropped, since this page had not asked for a while
    return visit


def memory_cap() -> tuple[int, str | None]:
    """Return the memory cap in MiB, and a sentence if the environment's could not be read.

    Whoever runs the server sets it with the environment variable ATTENTION_LAB_MEMORY_CAP_MIB.
    """
    default = ContextSettings.memory_cap_mib
    text = os.environ.get(CAP_VARIABLE, str(default))
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text), None
    return default, (
        f"{CAP_VARIABLE} must be a whole number of MiB above 0, got {text!r}; {default} is used."
    )


def largest_that_fits(values: dict[str, Any]) -> int:
    """Return the largest size that these settings can be measured at, at least the smallest."""
    fitting = [SIZES[0]]
    for n in SIZES:
        try:
            ContextSettings(**{**values, "n_largest": n})
        except ValueError:
            break
        fitting.append(n)
    return fitting[-1]
