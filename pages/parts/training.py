"""One visitor's training run: started when the settings change, followed, stopped, run again."""

from dataclasses import dataclass, field

import streamlit as st

from core.recall_run import Part, RecallRun, recall_parts, run_so_far
from core.training import TrainSettings
from core.turns import Job, Progress, QueueFullError
from pages.parts.server import training_service

POLL_SECONDS = 0.2  # how often a live run is drawn anew
VISIT = "recall_visit"  # the key of the visit in the session's state


@dataclass(kw_only=True, eq=False)
class Visit:
    """What this visitor is following. The visit itself is the token of who watches."""

    settings: TrainSettings
    job: Job[Part] | None = None  # None once the visitor has stopped it, or was refused
    progress: Progress[Part] | None = None  # as last heard
    stopped: bool = False  # by the visitor
    refused: str | None = None  # the sentence, if the queue was full
    kept: bool = False  # whether the run had been trained before and was shown at once
    watcher: object = field(default_factory=object)

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.job is not None and (self.progress is None or not self.progress.ended)

    @property
    def run(self) -> RecallRun:
        """As much of the run as this visitor has heard of."""
        return run_so_far(self.progress.items if self.progress else ())

    def start(self, *, again: bool = False) -> None:
        """Ask for the run, or join the one somebody else asked for."""
        self.stopped, self.refused, self.kept = False, None, False
        settings = self.settings
        try:
            self.job = training_service().submit(
                settings, lambda: recall_parts(settings), self.watcher, again=again
            )
        except QueueFullError as full:
            self.job, self.refused = None, str(full)
            return
        self.poll()
        self.kept = not self.live

    def poll(self) -> None:
        """Hear what the run has done since."""
        if self.job is None:
            return
        self.progress = training_service().poll(self.job, self.watcher)
        if self.progress.state == "stopped":  # dropped, as this page had not asked for a while
            self.start()

    def stop(self) -> None:
        """Leave the run, and keep what it has shown."""
        if self.job is not None:
            self.progress = training_service().leave(self.job, self.watcher)
            self.job, self.stopped = (
                None,
                not self.progress.ended or self.progress.state == "stopped",
            )


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
