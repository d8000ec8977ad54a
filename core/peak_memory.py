"""The most memory a calculation holds at once, measured in a process that does nothing else.

tracemalloc hooks every allocation of a process. Starting or stopping it while another thread
allocates crashes CPython: the other thread goes on into tables that are being freed, and a server
with a visitor in each thread dies of it. So what is measured for a page is measured elsewhere:
`measure_peaks` starts this module as a program, `python -m core.peak_memory '{"n_largest": 512}'`,
which traces from its start to its end and prints one result a line.
"""

import json
import math
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

import numpy as np

from core.attention import Floats
from core.context_plan import ContextSettings, calculation, draw_qkv

ROOT = Path(__file__).resolve().parents[1]
COMMAND = (sys.executable, "-m", "core.peak_memory")
PATIENCE = 120.0  # seconds without a result until the process is given up
TURN_SECONDS = 0.2  # seconds after which the caller hears that there is nothing yet
MOST_LETTERS = 1000  # of a line; a result has about 100

Process: TypeAlias = "subprocess.Popen[bytes]"
Lines: TypeAlias = "SimpleQueue[bytes]"


@dataclass(frozen=True, kw_only=True)
class Peak:
    """What one traced run of one method found."""

    n: int  # tokens
    method: str  # one of core.context_plan.METHODS
    peak_bytes: int  # most memory held at once beyond q, k and v
    difference: float | None  # largest between both methods' outputs, with the second of the two


def measure_peaks(
    settings: ContextSettings, *, command: Sequence[str] = COMMAND, patience: float = PATIENCE
) -> Generator[Peak | None, None, None]:
    """Measure the memory of each method at each size, in a process of its own.

    The process ends with the generator, however that ends. If this process is killed, the other
    one ends at its next result, which nobody reads.

    Args:
        settings: what to measure; each of its cases is run once, in their order.
        command: the program to start; the settings are added as one more argument.
        patience: seconds without a result after which the process is given up.

    Yields:
        Each result as it comes, and None whenever there has been none for a moment.

    Raises:
        MemoryError: if the process ends because it gets no more memory.
        RuntimeError: in one sentence, if the process does not start, dies otherwise, hangs, or
            prints anything but the results expected of it.
    """
    with _started([*command, json.dumps(asdict(settings))]) as (process, lines):
        for n, method in settings.cases:
            until = time.monotonic() + patience
            while (line := _next(lines)) is None:
                if time.monotonic() > until:
                    raise RuntimeError(
                        f"the process that measures memory gave no result for {patience:g} seconds"
                    )
                yield None
            if not line:
                raise _failure(process)
            yield _parsed(line, n, method)


def measure_peak_bytes(calculate: Callable[[], Floats]) -> tuple[Floats, int]:
    """Run a calculation and return its output and the most memory it held at once, in bytes.

    NumPy reports every array it allocates to tracemalloc. So does Python for its own objects. The
    working memory of the BLAS library is not counted.

    Only for a process without other threads, in which it starts and stops tracing: see the top of
    this module for what happens otherwise. The calculation may have threads if it waits for their
    end. Where tracing is on already it stays on, and nothing is started or stopped.

    Raises:
        RuntimeError: if tracing would have to be started beside other threads.
    """
    already_tracing = tracemalloc.is_tracing()
    if not already_tracing:
        if threading.active_count() > 1:
            raise RuntimeError(
                "memory must be traced in a process with one thread, as others crash when tracing "
                f"starts or stops, got {threading.active_count()}; use measure_peaks"
            )
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


def main() -> None:
    """Run every case of the settings on the command line, and print what each of them held."""
    settings = ContextSettings(**json.loads(sys.argv[1]))
    tracemalloc.start()  # until the process ends: no thread has been started yet
    for peak in _peaks_here(settings):
        sys.stdout.write(json.dumps(asdict(peak)) + "\n")
        sys.stdout.flush()


def _peaks_here(settings: ContextSettings) -> Iterator[Peak]:
    qkv = draw_qkv(settings)
    kept: dict[int, Floats] = {}  # the formula's output, until its size's row blocks are done
    for n, method in settings.cases:
        output, peak_bytes = measure_peak_bytes(calculation(n, method, settings, qkv))
        difference = None
        if n in kept:
            apart = kept.pop(n)
            apart -= output
            difference = float(np.abs(apart, out=apart).max())
        elif method == "formula":
            kept[n] = output
        yield Peak(n=n, method=method, peak_bytes=peak_bytes, difference=difference)


@contextmanager
def _started(arguments: Sequence[str]) -> Iterator[tuple[Process, Lines]]:
    """Start a program in the project's root, and end it on the way out, whatever happened.

    Its lines are read on a thread, as not every system can wait for a pipe with a time limit.
    """
    one_thread = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
    )
    # The root comes first, also where the environment keeps Python from looking there by itself.
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        process = subprocess.Popen(  # noqa: S603 - this program itself, with numbers
            arguments,
            cwd=ROOT,
            env={**os.environ, **one_thread, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as failure:
        raise RuntimeError(f"the process that measures memory did not start: {failure}") from None
    lines: Lines = SimpleQueue()
    with process:  # closes its pipes and waits for its end
        try:
            reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
            reader.start()
            try:
                yield process, lines
            finally:
                process.kill()
                reader.join()  # the pipe has ended with the process
        finally:
            process.kill()


def _read(process: Process, lines: Lines) -> None:
    assert process.stdout is not None
    while line := process.stdout.readline(MOST_LETTERS):
        lines.put(line)
    lines.put(b"")  # nothing more will come


def _next(lines: Lines) -> bytes | None:
    try:
        return lines.get(timeout=TURN_SECONDS)
    except Empty:
        return None


def _parsed(line: bytes, n: int, method: str) -> Peak:
    with suppress(ValueError, TypeError):
        peak = Peak(**json.loads(line))
        known = peak.difference is None or 0 <= peak.difference < math.inf
        if (peak.n, peak.method) == (n, method) and peak.peak_bytes > 0 and known:
            return peak
    raise RuntimeError(
        f"the process that measures memory must print its result for {method} at {n} tokens, "
        f"got {line.decode(errors='replace').strip()[:100]!r}"
    )


def _failure(process: Process) -> Exception:
    """Return what to raise for a process that ended too early, with how it ended in words."""
    assert process.stderr is not None
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)  # its output has ended, so it is about to
    code = process.poll()
    process.kill()
    words = process.stderr.read().decode(errors="replace").strip().splitlines()
    if code is None:
        how = "closed its output"
    else:
        how = f"ended with code {code}" if code >= 0 else f"died of signal {-code}"
    last = words[-1] if words else ""
    sentence = f"the process that measures memory {how}" + (f": {last}" if last else "")
    # NumPy's own kind is called _ArrayMemoryError, with its module before it.
    no_memory = last.partition(":")[0].endswith("MemoryError")
    return MemoryError(sentence) if no_memory else RuntimeError(sentence)


if __name__ == "__main__":
    main()
