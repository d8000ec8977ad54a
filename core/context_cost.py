"""What one head costs as the number of tokens doubles: time and memory, measured.

Memory comes first, each size and method once, in a process of its own (`core.peak_memory`). Then
time, in this process, in which nothing is ever traced: tracing slows a run. What is measured is
this machine at this moment, so nothing here is pure, and the names say measure.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from core.context_plan import (
    ContextSettings,
    calculation,
    draw_qkv,
    predicted_peak_bytes,
)
from core.peak_memory import Peak, measure_peaks


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one method."""

    n: int  # tokens
    method: str  # one of METHODS
    repeat: int  # 1, 2, …
    traced: bool  # whether it measures memory, untimed


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One method at one number of tokens."""

    n: int  # tokens
    method: str  # one of METHODS
    predicted_bytes: int  # most memory held at once beyond q, k and v, by arithmetic
    peak_bytes: int  # the same, measured
    seconds: tuple[float, ...] = ()  # every timed run so far, in order

    @property
    def fastest(self) -> float:
        """Return the time of the fastest run in seconds: the one least disturbed by others."""
        return min(self.seconds)


@dataclass(frozen=True, kw_only=True)
class CostSnapshot:
    """Everything measured so far, after one more run."""

    settings: ContextSettings
    started: float  # seconds since 1970, when the first run began
    run: Run  # the run just finished
    share_done: float  # of the expected work, 0 to 1; exactly 1 after the last run
    measurements: tuple[Measurement, ...]  # the sizes in order, at each the methods in order
    differences: dict[int, float]  # n -> largest difference between the two methods' outputs

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, about: a number for each timed run, and the rest."""
        return 32 * sum(len(result.seconds) for result in self.measurements) + 10_000


def planned_runs(settings: ContextSettings) -> tuple[Run, ...]:
    """Return all runs in the order in which they are made.

    First every size and method once for its memory. Then all of them for their time, and again
    for each repeat: so a moment in which the machine is busy with something else falls on one
    repeat of a few sizes and not on all repeats of one.
    """
    traced = tuple(Run(n=n, method=method, repeat=1, traced=True) for n, method in settings.cases)
    return traced + tuple(
        Run(n=n, method=method, repeat=repeat, traced=False)
        for repeat in range(1, settings.n_repeats + 1)
        for n, method in settings.cases
    )


def measure_steps(
    settings: ContextSettings,
    *,
    clock: Callable[[], float] = time.perf_counter,
    calendar: Callable[[], float] = time.time,
) -> Iterator[CostSnapshot | None]:
    """Measure both methods at every size, yielding after each run.

    Args:
        settings: what to measure.
        clock: seconds from some fixed moment, for the time of a run.
        calendar: seconds since 1970, for when the measurement began.

    Yields:
        Everything so far, or None while the memory of a run is still being measured elsewhere.
        The last one is the whole result, with every repeat of every run.

    Raises:
        MemoryError: if a run needs more memory than there is.
        RuntimeError: if the memory cannot be measured.
    """
    plan = planned_runs(settings)
    started = calendar()
    results: dict[tuple[int, str], Measurement] = {}
    differences: dict[int, float] = {}

    def so_far(run: Run) -> CostSnapshot:
        return CostSnapshot(
            settings=settings,
            started=started,
            run=run,
            share_done=_work(plan[: plan.index(run) + 1]) / _work(plan),
            measurements=tuple(results.values()),
            differences=dict(differences),
        )

    with closing(measure_peaks(settings)) as peaks:
        for peak in peaks:
            if peak is None:
                yield None
                continue
            results[peak.n, peak.method] = _untimed(peak, settings)
            if peak.difference is not None:
                differences[peak.n] = peak.difference
            yield so_far(Run(n=peak.n, method=peak.method, repeat=1, traced=True))
    for run, seconds in _timed_runs(settings, plan, clock):
        result = results[run.n, run.method]
        results[run.n, run.method] = replace(result, seconds=(*result.seconds, seconds))
        yield so_far(run)


def _untimed(peak: Peak, settings: ContextSettings) -> Measurement:
    return Measurement(
        n=peak.n,
        method=peak.method,
        predicted_bytes=predicted_peak_bytes(peak.n, peak.method, settings),
        peak_bytes=peak.peak_bytes,
    )


def _timed_runs(
    settings: ContextSettings, plan: tuple[Run, ...], clock: Callable[[], float]
) -> Iterator[tuple[Run, float]]:
    """Make the timed runs, each with its seconds, after one of each method that warms the caches.

    q, k and v are drawn only now: while memory was measured, the other process held its own.
    """
    qkv = draw_qkv(settings)
    for method in settings.methods_at(settings.n_smallest):
        calculation(settings.n_smallest, method, settings, qkv)()
    for run in plan:
        if run.traced:
            continue
        calculate = calculation(run.n, run.method, settings, qkv)
        start = clock()
        calculate()
        yield run, clock() - start


def _work(runs: tuple[Run, ...]) -> int:
    """Return the expected work of these runs, in table entries."""
    return sum(run.n * run.n for run in runs)
