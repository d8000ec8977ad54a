"""One visitor's training run: started when the settings change, followed, stopped, run again."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from core.recall_run import Part, RecallRun, recall_parts, run_so_far
from core.training import TrainSettings
from core.turns import TurnService
from pages.parts.followed import Followed
from pages.parts.followed import follow as follow_under
from pages.parts.server import training_service

VISIT = "recall_visit"  # the key of the visit in the session's state
POLL_SECONDS = 0.08  # how often a live run is drawn anew, while it is the only one
LONGEST_POLL_SECONDS = 0.5
FIRST_LOOK_SECONDS = 0.04  # how long a new run is waited for, so that charts are not drawn empty


@dataclass(kw_only=True, eq=False)
class Visit(Followed[TrainSettings, Part]):
    """What one visitor follows, and the last they heard of it."""

    name: str = "recall"

    def service(self) -> TurnService[Part]:
        """Return the service that trains."""
        return training_service()

    def work(self) -> Callable[[], Iterator[Part | None]]:
        """Return what trains both heads."""
        return partial(recall_parts, self.settings)

    @property
    def poll_seconds(self) -> float | None:
        """How often to draw the run anew, None for never.

        Drawing takes about 7 ms of the server each time, so that all live runs together are drawn
        about as often as one alone.
        """
        if not self.live:
            return None
        return min(LONGEST_POLL_SECONDS, POLL_SECONDS * max(1, self.service().n_live))

    @property
    def run(self) -> RecallRun:
        """As much of the run as this visitor has heard of."""
        return run_so_far(self.progress.items if self.progress else ())

    def start(self, *, again: bool = False) -> None:
        """Ask for the run, or join the one somebody else asked for, and wait a moment for it."""
        super().start(again=again)
        end = time.monotonic() + FIRST_LOOK_SECONDS
        while self.live and not self.run.uniform and time.monotonic() < end:
            time.sleep(0.005)
            self.poll()

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
                return "Shown from a run made before."
            return "Training has ended."
        if self.job is None:
            return f"Stopped at {steps}."
        if self.progress.state == "waiting":
            return f"Waiting: number {self.progress.place} in the queue."
        return f"Training: {steps}."


def follow(settings: TrainSettings) -> Visit:
    """Return the visit that follows these settings' run; a run of other settings is abandoned."""
    return follow_under(VISIT, Visit(settings=settings))
