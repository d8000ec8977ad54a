"""What one more token costs one head, measured: with a key–value cache, without, and all at once.

A head writes tokens with its cache, and every step is timed. Without a cache a step depends on no
other, so those are timed at some positions only, on the very tokens that were written: a whole run
of them would last minutes, and can be reckoned. What is measured is this machine at this moment,
so nothing here is pure, and the names say measure.

Times are processor time of the measuring thread where that can be had, since a run of 30 ms is
otherwise interrupted several times on a busy machine and one of 30 µs hardly ever: measured with
load 12 on two cores, runs of 20 ms seemed to take 68, and those of 0.05 ms took 0.05.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.attention import Floats
from core.decode_agreement import Agreement, DecodeSettings, Written, compare_outputs, write
from core.generation import (
    AT_ONCE,
    CACHE,
    METHODS,
    WHOLE,
    CachedHead,
    all_at_once,
    last_row,
    whole_head,
)
from core.generation_work import multiply_adds, outputs_of

STEPS_A_PIECE = 64  # cached steps between two signs of life
WARM_UP_TOKENS = 32


@dataclass(frozen=True, kw_only=True)
class Run:
    """One timed run: a method at n tokens, or the cache from the first token to the n-th."""

    method: str  # one of core.generation.METHODS
    n: int  # tokens
    repeat: int  # 1, 2, …


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One method when n tokens have been read."""

    method: str  # one of core.generation.METHODS
    n: int  # tokens
    seconds: tuple[float, ...]  # for one output, of every run so far, in order

    @property
    def fastest(self) -> float:
        """Return the seconds of the fastest run: the one least disturbed by others."""
        return min(self.seconds)


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodeSnapshot:
    """Everything measured so far, after one more run."""

    settings: DecodeSettings
    started: float  # seconds since 1970, when the measurement began
    processor_time: bool  # whether times leave out what other programs took in between
    run: Run | None  # the run just finished; None when all are, and outputs are compared
    share_done: float  # of the expected work, 0 to 1; exactly 1 when the outputs are compared too
    cache_bytes: int  # of the arrays that hold the keys and values of all tokens
    timings: tuple[Timing, ...] = ()  # the methods in order, for each the positions
    agreements: tuple[Agreement, ...] = ()  # each way beside the full head, once all is timed
    cached_steps: tuple[Floats, ...] = ()  # (n_tokens,) seconds of every step, for each repeat

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, about: an array for each repeat, and a number for each timed run."""
        n_seconds = sum(len(timing.seconds) for timing in self.timings)
        return sum(steps.nbytes for steps in self.cached_steps) + 32 * n_seconds + 10_000

    def fastest_of(self, method: str) -> dict[int, float]:
        """Return the seconds for one output in a method's fastest runs: tokens -> seconds."""
        return {timing.n: timing.fastest for timing in self.timings if timing.method == method}


def planned_runs(settings: DecodeSettings) -> tuple[Run, ...]:
    """Return all timed runs in the order in which they are made.

    All of them once, and again for each repeat: so a moment in which the machine is busy with
    something else falls on one repeat of a few and not on all repeats of one.
    """
    return tuple(
        Run(method=method, n=n, repeat=repeat)
        for repeat in range(1, settings.n_repeats + 1)
        for method, n in (
            (CACHE, settings.n_tokens),
            *((method, n) for n in settings.positions for method in METHODS if method != CACHE),
        )
    )


def measure_steps(
    settings: DecodeSettings,
    *,
    clock: Callable[[], float] | None = None,
    calendar: Callable[[], float] = time.time,
) -> Iterator[DecodeSnapshot | None]:
    """Time every method at every position, then compare the outputs.

    Args:
        settings: what to measure.
        clock: seconds from some fixed moment, for the time of a run. None takes processor time
            where it can be had, and the time of day otherwise.
        calendar: seconds since 1970, for when the measurement began.

    Yields:
        Everything so far, after each run, or None where there is nothing new to show. The last one
        holds every repeat of every run, and how far the outputs are from the full head's.
    """
    plan = planned_runs(settings)
    started = calendar()
    processor_time = clock is None and can_time_the_thread()
    clock = clock or (time.thread_time if processor_time else time.perf_counter)
    written = write(settings)
    yield None
    snapshot = DecodeSnapshot(
        settings=settings,
        started=started,
        processor_time=processor_time,
        run=None,
        share_done=0.0,
        cache_bytes=written.cache_bytes,
    )
    _warm_up(written)
    works = np.cumsum([_work(run, settings) for run in plan])
    whole = float(works[-1]) * (1 + 1 / settings.n_repeats)  # comparing is about one more repeat
    for run, work in zip(plan, works, strict=True):
        snapshot = replace(snapshot, run=run, share_done=float(work) / whole)
        if run.method == CACHE:
            seconds = np.zeros(settings.n_tokens)
            for _ in _timed_cache(written, seconds, clock):
                yield None
            snapshot = replace(snapshot, cached_steps=(*snapshot.cached_steps, seconds))
            taken = {n: float(seconds[n - 1]) for n in settings.positions}
        else:
            taken = {run.n: _timed(run, written, clock)}
        snapshot = replace(snapshot, timings=_with(snapshot.timings, run.method, taken))
        yield snapshot
    snapshot = replace(snapshot, run=None)
    yield snapshot
    agreements = []
    for agreement in compare_outputs(written, settings):
        agreements.append(agreement)
        yield None
    yield replace(snapshot, agreements=tuple(agreements), share_done=1.0)


def can_time_the_thread() -> bool:
    """Return whether the processor time of one thread is fine enough and counts all the work.

    Windows counts it in steps of 16 ms. Where matrix products may use more threads than the one
    that asks for them (see `core`), those are not counted.
    """
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    return os.name == "posix" and all(os.environ.get(name) == "1" for name in names)


def _timed_cache(written: Written, seconds: Floats, clock: Callable[[], float]) -> Iterator[None]:
    """Time every step of a run with a new cache, filling in ``seconds`` (n_tokens,)."""
    step = CachedHead(written.writer, len(seconds))
    for i in range(len(seconds)):
        x = written.x[: i + 1]
        start = clock()
        step(x)
        seconds[i] = clock() - start
        if i % STEPS_A_PIECE == 0:
            yield


def _timed(run: Run, written: Written, clock: Callable[[], float]) -> float:
    """Return the seconds one output takes in this run."""
    writer, x = written.writer, written.x[: run.n]
    if run.method == AT_ONCE:
        start = clock()
        all_at_once(writer, x)
        return (clock() - start) / outputs_of(AT_ONCE, run.n)
    step = whole_head(writer) if run.method == WHOLE else last_row(writer)
    start = clock()
    step(x)
    return clock() - start


def _with(timings: tuple[Timing, ...], method: str, taken: dict[int, float]) -> tuple[Timing, ...]:
    """Return the timings with one more run of a method at each of these numbers of tokens."""
    seconds = {(timing.method, timing.n): timing.seconds for timing in timings}
    for n, one_more in taken.items():
        seconds[method, n] = (*seconds.get((method, n), ()), one_more)
    return tuple(
        Timing(method=method, n=n, seconds=seconds[method, n])
        for method, n in sorted(seconds, key=lambda case: (METHODS.index(case[0]), case[1]))
    )


def _warm_up(written: Written) -> None:
    """Run each method once: the first run of anything is slower."""
    x = written.x[:WARM_UP_TOKENS]
    for next_output in (whole_head, last_row):
        next_output(written.writer)(x)
    all_at_once(written.writer, x)


def _work(run: Run, settings: DecodeSettings) -> int:
    """Return the multiply-adds expected in this run."""
    sizes = (settings.d_model, settings.d_k)
    if run.method == CACHE:
        return sum(multiply_adds(CACHE, n, *sizes) for n in range(1, run.n + 1))
    return multiply_adds(run.method, run.n, *sizes)
