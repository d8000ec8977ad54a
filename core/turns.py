"""Long computations taken in turns: one thread steps every job's generator a little at a time.

A computation is a generator that yields after each short piece of work: an item, which is kept for
whoever asks, or None when there is nothing to show yet. A `TurnService` steps the generators of
all its jobs in turn, so that a long one delays each of the others by a turn at most, and the rest
of the process by no more than one of them would. Requests with the same key share one job. A job
lives as long as somebody asks for its progress: a reader who closed the page costs nothing after
a few seconds.

It cannot interrupt a piece of work: a generator whose steps are long has long turns.
"""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Item = TypeVar("Item")

State = Literal["waiting", "live", "done", "failed", "stopped"]


NO_MEMORY = (
    "this run needs more memory than the server has left: choose fewer tokens or smaller sizes, or "
    "run it again later"
)


class QueueFullError(RuntimeError):
    """Raised, with a sentence, when a new job does not fit into the queue."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Progress(Generic[Item]):
    """What a job had done at one moment."""

    state: State  # "stopped" when its last watcher left or was not heard of for too long
    items: tuple[Item, ...]  # what was yielded so far, first to last, without None; or the last
    place: int  # 1 for the next job to be started, 2 for the one after; 0 when not waiting
    error: str | None  # one sentence, when the state is "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state not in ("waiting", "live")


@dataclass(kw_only=True, eq=False)
class Job(Generic[Item]):
    """One computation; a handle for `TurnService.poll` and `leave`, opaque to everyone else."""

    key: Hashable
    make: Callable[[], Iterator[Item | None]]
    state: State = "waiting"
    steps: Iterator[Item | None] | None = None  # made at the first turn; touched by `turn` alone
    items: list[Item] = field(default_factory=list)
    size: int = 0  # bytes, the sum over items
    error: str | None = None
    heard: dict[Hashable, float] = field(default_factory=dict)  # watcher -> time of last poll, s


class TurnService(Generic[Item]):
    """Runs jobs on one thread, in turns, oldest request first.

    Never more than ``max_live`` jobs are being stepped; up to ``max_waiting`` more wait, and are
    started in the order in which they came. Every method may be called from any thread.
    """

    def __init__(
        self,
        *,
        max_live: int = 8,
        max_waiting: int = 64,
        turn_seconds: float = 0.02,
        abandon_seconds: float = 10.0,
        keep_jobs: int = 32,
        keep_bytes: int = 64 * 2**20,
        size_of: Callable[[Item], int] = lambda _: 0,
        only_last: bool = False,
        give_way: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        threaded: bool = True,
    ) -> None:
        """Prepare the service; its thread starts with the first job.

        Args:
            max_live: how many jobs are stepped in turn, at least 1.
            max_waiting: how many more may wait, at least 0.
            turn_seconds: how long one job is stepped before the next one's turn.
            abandon_seconds: a watcher not heard of for longer no longer counts.
            keep_jobs: how many finished jobs are kept for the next request with their key.
            keep_bytes: how large the kept jobs may be together, by ``size_of``.
            size_of: the bytes one item takes.
            only_last: whether an item replaces the one before it, as one that holds all of it does.
            give_way: called before every step; returns once the step may be taken.
            clock: seconds, from any start; never goes back.
            threaded: False leaves it to the caller to call `turn`, as tests do.
        """
        if max_live < 1 or max_waiting < 0:
            raise ValueError(
                "max_live must be at least 1 and max_waiting at least 0, "
                f"got {max_live} and {max_waiting}"
            )
        self._max_live, self._max_waiting = max_live, max_waiting
        self._turn_seconds, self._abandon_seconds = turn_seconds, abandon_seconds
        self._keep_jobs, self._keep_bytes = keep_jobs, keep_bytes
        self._size_of, self._only_last = size_of, only_last
        self._give_way, self._clock, self._threaded = give_way, clock, threaded

        # Everything below is guarded by this lock, which is never held while a generator runs.
        self._changed = threading.Condition()
        self._live: deque[Job[Item]] = deque()  # the next to have a turn first
        self._waiting: deque[Job[Item]] = deque()  # the next to be started first
        self._kept: OrderedDict[Hashable, Job[Item]] = OrderedDict()  # the longest unused first
        self._to_close: list[Job[Item]] = []  # stopped, their generators not closed yet
        self._thread: threading.Thread | None = None

    def submit(
        self,
        key: Hashable,
        make: Callable[[], Iterator[Item | None]],
        watcher: Hashable,
        *,
        again: bool = False,
    ) -> Job[Item]:
        """Start the job, or join the one with the same key that is running, waiting or done.

        Args:
            key: what the computation depends on; equal keys must give equal items.
            make: called without arguments on the service's thread; returns the generator. Items
                are shared between watchers, so nobody may change them.
            watcher: who asks, such as a token of a session.
            again: compute anew even if a finished job with this key is kept.

        Raises:
            QueueFullError: if the job is new and as many as may wait are waiting.
        """
        with self._changed:
            self._settle()
            job = self._find(key, kept=not again)
            if job is None:
                if len(self._live) == self._max_live and len(self._waiting) == self._max_waiting:
                    raise QueueFullError(
                        f"{_are(len(self._live))} in progress and {len(self._waiting)} "
                        f"{'is' if len(self._waiting) == 1 else 'are'} waiting, as many as this "
                        "server takes; try again in a few seconds"
                    )
                self._kept.pop(key, None)
                job = Job(key=key, make=make)
                self._waiting.append(job)
                self._start_waiting()
            if job.state != "done":
                job.heard[watcher] = self._clock()
                self._wake()
            return job

    def poll(self, job: Job[Item], watcher: Hashable) -> Progress[Item]:
        """Return what the job has done so far, and count the watcher as present."""
        with self._changed:
            if job.state in ("waiting", "live"):
                job.heard[watcher] = self._clock()
                self._wake()
            return self._progress(job)

    def leave(self, job: Job[Item], watcher: Hashable) -> Progress[Item]:
        """Take the watcher off the job, which stops unless somebody else watches it.

        Returns:
            What the job had done when the watcher left.
        """
        with self._changed:
            job.heard.pop(watcher, None)
            self._settle()
            self._wake()
            return self._progress(job)

    @property
    def n_live(self) -> int:
        """How many jobs are being stepped in turn."""
        with self._changed:
            return len(self._live)

    def turn(self) -> bool:
        """Step the next job's generator until its turn is over; the thread's one activity.

        A turn ends with the first step that ends after ``turn_seconds``.

        Returns:
            Whether there is anything left to do.
        """
        with self._changed:
            self._settle()
            to_close, self._to_close = self._to_close, []
            job = self._live[0] if self._live else None
            self._live.rotate(-1)
        for stopped in to_close:
            _close(stopped)
        end = self._clock() + self._turn_seconds
        while job is not None:
            self._give_way()
            if not self._step(job) or self._clock() >= end:
                break
        with self._changed:
            return self._busy()

    def _step(self, job: Job[Item]) -> bool:
        """Take one step of the job; return whether it can take another."""
        state: State = "live"
        error = None
        items: list[Item] = []
        size = 0
        try:
            if job.steps is None:
                job.steps = iter(job.make())
            item = next(job.steps)
            if item is not None:
                items.append(item)
                size = self._size_of(item)
        except StopIteration:
            state = "done"
        except BaseException as failure:  # noqa: BLE001 - one job must not take the others along
            state, error = "failed", _sentence(failure)
        with self._changed:
            if job.state != "live":  # stopped while it was being stepped; the next turn closes it
                return False
            if items and self._only_last:
                job.items, job.size = [], 0
            job.items += items
            job.size += size
            if state != "live":
                self._end(job, state, error)
            return state == "live"

    def _settle(self) -> None:
        """Stop the jobs that nobody watches, then start as many of the waiting as fit."""
        oldest = self._clock() - self._abandon_seconds
        for job in [*self._live, *self._waiting]:
            job.heard = {who: when for who, when in job.heard.items() if when >= oldest}
            if not job.heard:
                self._end(job, "stopped")
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self._waiting and len(self._live) < self._max_live:
            job = self._waiting.popleft()
            job.state = "live"
            self._live.append(job)

    def _end(self, job: Job[Item], state: State, error: str | None = None) -> None:
        (self._live if job.state == "live" else self._waiting).remove(job)
        job.state, job.error = state, error
        job.heard.clear()
        if state == "done":
            self._keep(job)
        else:
            self._to_close.append(job)
        self._start_waiting()

    def _keep(self, job: Job[Item]) -> None:
        if job.size > self._keep_bytes:
            return
        self._kept[job.key] = job
        while len(self._kept) > self._keep_jobs or (
            sum(kept.size for kept in self._kept.values()) > self._keep_bytes
        ):
            self._kept.popitem(last=False)

    def _find(self, key: Hashable, *, kept: bool) -> Job[Item] | None:
        for job in [*self._live, *self._waiting]:
            if job.key == key:
                return job
        if kept and key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        return None

    def _progress(self, job: Job[Item]) -> Progress[Item]:
        place = self._waiting.index(job) + 1 if job.state == "waiting" else 0
        return Progress(state=job.state, items=tuple(job.items), place=place, error=job.error)

    def _busy(self) -> bool:
        return bool(self._live or self._waiting or self._to_close)

    def _wake(self) -> None:
        if not self._threaded:
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="turns", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._busy)
            self.turn()
            time.sleep(0)  # lets go of the interpreter, so that whoever waits for it goes on


def _are(n_runs: int) -> str:
    return "1 run is" if n_runs == 1 else f"{n_runs} runs are"


def _close(job: Job[Any]) -> None:
    steps, job.steps = job.steps, None
    try:
        getattr(steps, "close", lambda: None)()  # an iterator that is no generator has no close()
    except BaseException:
        logging.getLogger(__name__).exception("a stopped run failed while closing")


def _sentence(failure: BaseException) -> str:
    """Say what went wrong in one line: a ValueError's own words, or what stopped the run."""
    lines = str(failure).strip().splitlines()
    if isinstance(failure, ValueError) and lines:
        return lines[0]
    logging.getLogger(__name__).error("a run failed", exc_info=failure)
    if isinstance(failure, MemoryError):
        return NO_MEMORY
    return f"the run stopped with {type(failure).__name__}" + (f": {lines[0]}" if lines else "")
