"""What one head costs as the number of tokens doubles: time and memory, measured.

Two methods that give the same output: the formula with its n × n table (`core.formula`) and exact
row blocks (`core.row_blocks`). Both start from queries, keys and values in float32, which are
random: the cost does not depend on their content.

Time and memory are measured in separate runs, since tracing memory slows the run. What is measured
is this machine at this moment, so nothing here is pure, and the names say measure.
"""

import math
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.attention import Floats
from core.formula import N_TABLES, attention_by_formula
from core.row_blocks import BLOCK_SIZE, attention_by_row_blocks

METHODS = ("formula", "row blocks")
MIB = 2**20  # bytes in a MiB
FLOAT_BYTES = 4  # bytes in a float32
MOST_TRACED = 3  # repeats that measure memory as well; memory scatters less than time


@dataclass(frozen=True, kw_only=True)
class ContextSettings:
    """Which sizes are measured, how often, and what a run may hold in memory."""

    n_smallest: int = 256  # tokens
    n_largest: int = 4096  # tokens; n_smallest doubled a whole number of times
    d_k: int = 128  # numbers in a query, a key and a value
    n_repeats: int = 5  # timed runs of each method at each size
    block_size: int = BLOCK_SIZE  # query rows in a block
    n_threads: int = 1  # blocks computed at the same time
    memory_cap_mib: int = 512  # MiB that a run may hold; with the app this fits a host of 1 GB
    seed: int = 0  # of the random queries, keys and values

    def __post_init__(self) -> None:
        for name in ("n_smallest", "d_k", "n_repeats", "block_size", "n_threads", "memory_cap_mib"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")
        if self.n_largest not in self.sizes:
            raise ValueError(
                f"n_largest must be n_smallest ({self.n_smallest}) doubled a whole number of "
                f"times, got {self.n_largest}"
            )
        if "row blocks" not in self.methods_at(self.n_largest):
            raise ValueError(
                f"n_largest must fit the memory cap (memory_cap_mib, {self.memory_cap_mib} MiB), "
                f"got {self.n_largest}, for which even row blocks need "
                f"{needed_mib(self.n_largest, 'row blocks', self)} MiB"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the numbers of tokens measured, each twice the one before."""
        n_sizes = max(1, (self.n_largest // self.n_smallest).bit_length())
        return tuple(self.n_smallest * 2**i for i in range(n_sizes))

    def methods_at(self, n: int) -> tuple[str, ...]:
        """Return the methods that fit the memory cap at n tokens."""
        return tuple(
            method for method in METHODS if needed_mib(n, method, self) <= self.memory_cap_mib
        )


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
    peaks: tuple[int, ...]  # the same in bytes, measured in every traced run so far
    seconds: tuple[float, ...] = ()  # every timed run so far, in order

    @property
    def peak_bytes(self) -> int:
        """Return the least of the measured peaks: whatever else the process did only adds."""
        return min(self.peaks)

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


def planned_runs(settings: ContextSettings) -> tuple[Run, ...]:
    """Return all runs in the order in which they are made.

    Every size and method once, then all of them again for each repeat. So a moment in which the
    machine is busy with something else falls on one repeat of a few sizes and not on all repeats
    of one. In the first repeats a traced run comes just before each timed one; the very first of
    them also warms the caches.
    """
    return tuple(
        Run(n=n, method=method, repeat=repeat, traced=traced)
        for repeat in range(1, settings.n_repeats + 1)
        for n in settings.sizes
        for method in settings.methods_at(n)
        for traced in ((True, False) if repeat <= MOST_TRACED else (False,))
    )


def predicted_peak_bytes(n: int, method: str, settings: ContextSettings) -> int:
    """Return the most memory a method holds at once for n tokens, beyond q, k and v, in bytes.

    The formula holds three n × n tables inside its softmax, and each row's largest score. Row
    blocks hold the output, and for each thread one block of scores and the largest of: the block's
    scaled queries, its two squares of mask, NumPy's buffer while the largest score is subtracted.

    >>> predicted_peak_bytes(1024, "formula", ContextSettings()) / MIB
    12.00390625
    >>> predicted_peak_bytes(1024, "row blocks", ContextSettings()) / MIB
    1.0625
    """
    if method == "formula":
        return FLOAT_BYTES * (N_TABLES * n * n + n)
    rows = min(settings.block_size, n)
    n_threads = min(settings.n_threads, math.ceil(n / rows))
    table = FLOAT_BYTES * rows * n
    smaller = max(
        FLOAT_BYTES * rows * settings.d_k,
        2 * rows * rows,  # an entry of a mask is one byte
        FLOAT_BYTES * min(np.getbufsize(), rows * n),
    )
    return FLOAT_BYTES * n * settings.d_k + n_threads * (table + smaller)


def needed_mib(n: int, method: str, settings: ContextSettings) -> int:
    """Return what is in memory when a method at n tokens is at its peak, in MiB, rounded up.

    That is its own peak, q, k and v of the largest size, and the other method's output, which is
    kept to compare the two.
    """
    around = FLOAT_BYTES * settings.d_k * (3 * settings.n_largest + n)
    return math.ceil((predicted_peak_bytes(n, method, settings) + around) / MIB)


def measure_steps(
    settings: ContextSettings,
    *,
    clock: Callable[[], float] = time.perf_counter,
    calendar: Callable[[], float] = time.time,
) -> Iterator[CostSnapshot]:
    """Measure both methods at every size, yielding after each run.

    Args:
        settings: what to measure.
        clock: seconds from some fixed moment, for the time of a run.
        calendar: seconds since 1970, for when the measurement began.

    Yields:
        Everything so far. The last one is the whole result, with every repeat of every run.
    """
    rng = np.random.default_rng(settings.seed)
    shape = (settings.n_largest, settings.d_k)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    plan = planned_runs(settings)
    started = calendar()
    results: dict[tuple[int, str], Measurement] = {}
    differences: dict[int, float] = {}
    by_formula: Floats | None = None  # its output at the size whose row blocks come next
    for i, run in enumerate(plan):
        calculate = _calculation(run, settings, q[: run.n], k[: run.n], v[: run.n])
        result = results.get((run.n, run.method)) or _nothing_yet(run, settings)
        if run.traced:
            output, peak_bytes = measure_peak_bytes(calculate)
            if run.method == "formula":
                by_formula = output
            elif by_formula is not None:
                differences = {**differences, run.n: float(np.abs(by_formula - output).max())}
                by_formula = None
            result = replace(result, peaks=(*result.peaks, peak_bytes))
        else:
            start = clock()
            calculate()
            result = replace(result, seconds=(*result.seconds, clock() - start))
        results[run.n, run.method] = result
        yield CostSnapshot(
            settings=settings,
            started=started,
            run=run,
            share_done=_work(plan[: i + 1]) / _work(plan),
            measurements=tuple(results.values()),
            differences=differences,
        )


def measure_peak_bytes(calculate: Callable[[], Floats]) -> tuple[Floats, int]:
    """Run a calculation and return its output and the most memory it held at once, in bytes.

    NumPy reports every array it allocates to tracemalloc. So does Python for its own objects, in
    every thread: whatever else the process allocates meanwhile is counted as well. The working
    memory of the BLAS library is not. Not to be run twice at the same time.
    """
    already_tracing = tracemalloc.is_tracing()
    if not already_tracing:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        output = calculate()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not already_tracing:
            tracemalloc.stop()
    return output, peak - before


def _nothing_yet(run: Run, settings: ContextSettings) -> Measurement:
    return Measurement(
        n=run.n,
        method=run.method,
        predicted_bytes=predicted_peak_bytes(run.n, run.method, settings),
        peaks=(),
    )


def _calculation(
    run: Run, settings: ContextSettings, q: Floats, k: Floats, v: Floats
) -> Callable[[], Floats]:
    if run.method == "formula":
        return lambda: attention_by_formula(q, k, v)
    return lambda: attention_by_row_blocks(
        q, k, v, block_size=settings.block_size, n_threads=settings.n_threads
    )


def _work(runs: tuple[Run, ...]) -> int:
    """Return the expected work of these runs, in table entries."""
    return sum(run.n * run.n for run in runs)
