"""Time several ways of doing one thing, in turns, so that their ratios can be trusted.

What else the machine does, and how fast it lets its processor run, changes over minutes. So every
repeat times all of them, one right after the other, each time beginning with another one, and a
ratio is always between two times of the same repeat.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

REST_SECONDS = 0.05  # before each timing: until a library's idle threads no longer spin
MIN_SECONDS = 0.02  # of one timing: what is shorter than this is called several times


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What most of several numbers agree on."""

    median: float
    lower: float  # quartile: three in four are above
    upper: float  # quartile: three in four are below

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Spread":
        """Summarise the numbers.

        >>> Spread.of([1, 2, 3, 4, 50])
        Spread(median=3.0, lower=2.0, upper=4.0)
        """
        lower, median, upper = np.percentile(numbers, (25, 50, 75)).tolist()
        return cls(median=median, lower=lower, upper=upper)

    def columns(self, name: str, unit: str, factor: float = 1) -> dict[str, float]:
        """Return three cells of a table, in a unit ``factor`` times as fine.

        >>> Spread.of([1, 2, 3, 4, 50]).columns("Time", "ms")
        {'Time (ms)': 3.0, 'from (ms)': 2.0, 'to (ms)': 4.0}
        """
        return {
            f"{name} ({unit})": self.median * factor,
            f"from ({unit})": self.lower * factor,
            f"to ({unit})": self.upper * factor,
        }


def measure_in_turns(
    methods: Mapping[str, Callable[[], object]],
    n_repeats: int,
    *,
    min_seconds: float = MIN_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> dict[str, list[float]]:
    """Time each method once in every repeat, after calling each once untimed.

    Args:
        methods: what to call, by name.
        n_repeats: how often each is timed.
        min_seconds: a method is called as often within one timing as it takes to last this long.
        clock: seconds from some fixed moment.
        sleep: waits for some seconds.

    Returns:
        The seconds a call took, in the order of the repeats, by name.
    """
    calls = {}
    for name, method in methods.items():
        method()  # what happens only once, such as allocating and starting threads
        start = clock()
        method()
        calls[name] = max(1, round(min_seconds / max(clock() - start, 1e-9)))
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    names = list(methods)
    for repeat in range(n_repeats):
        first = repeat % len(names)
        for name in names[first:] + names[:first]:
            method, n_calls = methods[name], calls[name]
            sleep(REST_SECONDS)
            start = clock()
            for _ in range(n_calls):
                method()
            seconds[name].append((clock() - start) / n_calls)
    return seconds


def ratio(numerator: Sequence[float], denominator: Sequence[float]) -> Spread:
    """Return how many times as long the one took as the other, repeat by repeat.

    >>> ratio([2.0, 40.0, 6.0], [1.0, 20.0, 2.0]).median
    2.0
    """
    return Spread.of([a / b for a, b in zip(numerator, denominator, strict=True)])


def keep_to_one_core() -> str:
    """Keep this process on one core, all its threads to come included, and say in words so.

    Call it before a library starts its threads: each then starts one. Only Linux can do this.
    """
    if not hasattr(os, "sched_setaffinity"):
        return "Each library used as many threads as it wanted."
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return "The process was kept on one core, so every library used one thread."


def blas() -> str:
    """Say which matrix product NumPy has here: its time depends on it."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").info()
    words = (f"{b['internal_api']} {b['version']} for {b.get('architecture')}" for b in found)
    return f"NumPy's BLAS: {', '.join(words) or 'unknown'}."


def load() -> str:
    """Say how much else the machine is doing: what was measured on a busy one is worth less."""
    if not hasattr(os, "getloadavg"):
        return ""
    return f"Programs running or waiting in the minute before: {os.getloadavg()[0]:.1f}."
