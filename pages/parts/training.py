"""One visitor's training run: started when the settings change, followed, stopped, run again."""

import time
from dataclasses import dataclass, field

import streamlit as st

from core.recall_run import Part, RecallRun, recall_parts, run_so_far
from core.training import TrainSettings
from core.turns import Job, Progress, QueueFullError
from pages.parts.server import training_service

VISIT = "recall_visit"  # the key of the visit in the session's state
POLL_SECONDS = 0.1  # how often a live run is drawn anew, while it is the only one
LONGEST_POLL_SECONDS = 0.5
FIRST_LOOK_SECONDS = 0.04  # how long a new run is waited for, so that charts are not drawn empty


@dataclass(kw_only=True, eq=False)
class Visit:
    """What one visitor follows, and the last they heard of it."""

    settings: TrainSettings
    job: Job[Part] | None = None  # None once the visitor has stopped it, or was refused
    progress: Progress[Part] | None = None
    refused: str | None = None  # the sentence, if the queue was full
    kept: bool = False  # whether the run had been trained before, and was there at once
    watcher: object = field(default_factory=object)

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.job is not None and (self.progress is None or not self.progress.ended)

    @property
    def poll_seconds(self) -> float | None:
        """How often to draw the run anew, None for never.

        Drawing takes about 7 ms of the server each time, so that all live runs together are drawn
        about as often as one alone.
        """
        if not self.live:
            return None
        return min(LONGEST_POLL_SECONDS, POLL_SECONDS * max(1, training_service().n_live))

    @property
    def run(self) -> RecallRun:
        """As much of the run as this visitor has heard of."""
        return run_so_far(self.progress.items if self.progress else ())

    def start(self, *, again: bool = False) -> None:
        """Ask for the run, or join the one somebody else asked for."""
        settings = self.settings
        self.refused, self.kept = None, False
        try:
            self.job = training_service().submit(
                ("recall", settings), lambda: recall_parts(settings), self.watcher, again=again
            )
        except QueueFullError as full:
            self.job, self.refused = None, str(full)
            return
        self.poll()
        self.kept = not self.live
        end = time.monotonic() + FIRST_LOOK_SECONDS
        while self.live and not self.run.uniform and time.monotonic() < end:
            time.sleep(0.005)
            self.poll()

    def poll(self) -> None:
        """Hear what the run has done since."""
        if self.job is None:
            return
        self.progress = training_service().poll(self.job, self.watcher)
        if self.progress.state == "stopped":  # dropped: this page had not asked for a while
            self.start()

    def stop(self) -> None:
        """Leave the run, and keep what it has shown."""
        if self.job is not None:
            self.progress = training_service().leave(self.job, self.watcher)
            self.job = None

    def sentence(self) -> str:
        """Say where the run is."""
        steps = f"step {self.run.step:,} of {self.settings.n_steps:,}"
        if self.refused is not None:
            return f"Not started: {self.refused}."
        if self.progress is None:
            return "Starting."
        if self.progress.error is not None:
            return f"Not finished: {self.progress.error}."
        if self.progress.state == "done":
            if self.kept:
                return "Trained before with these very settings: that run is shown."
            return "Training has ended."
        if self.job is None:
            return f"Stopped at {steps}."
        if self.progress.state == "waiting":
            return f"Waiting: number {self.progress.place} in the queue."
        return f"Training: {steps}."


def follow(settings: TrainSettings) -> Visit:
    """Return the visit that follows these settings' run; a run of other settings is abandoned."""
    visit: Visit | None = st.session_state.get(VISIT)
    if visit is None or visit.settings != settings:
        if visit is not None:
            visit.stop()
        visit = Visit(settings=settings)
        st.session_state[VISIT] = visit
        visit.start()
    else:
        visit.poll()
    return visit
