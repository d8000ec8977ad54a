"""Memory is measured in a process of its own: what it held, as predicted, and nothing left of it.

Nothing in these tests traces in this process, in which other threads may be at work.
"""

import os
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

from core import peak_memory
from core.context_plan import (
    METHODS,
    PROCESS_MIB,
    ContextSettings,
    calculation,
    draw_qkv,
    needed_mib,
    predicted_peak_bytes,
)
from core.peak_memory import measure_peak_bytes, measure_peaks
from tests.apart import ROOT, apart

SMALL = ContextSettings(n_smallest=8, n_largest=32, d_k=4)
LONG = ContextSettings(n_largest=16384)  # takes seconds
LEAKY = """
from core import context_plan, peak_memory
from core.row_blocks import attention_by_row_blocks

def leaky(q, k, v, **options):
    return attention_by_row_blocks(q, k, v, causal=False, **options)

context_plan.attention_by_row_blocks = leaky
peak_memory.main()
"""


def results(settings, **options):
    """What the other process finds, but for the moments in which there is nothing new."""
    return [peak for peak in measure_peaks(settings, **options) if peak is not None]


def script(text):
    """A program in place of the one that measures."""
    return {"command": (sys.executable, "-c", text)}


@pytest.fixture
def processes(monkeypatch):
    """Every process that is started meanwhile."""
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(peak_memory.subprocess, "Popen", Recorded)
    return started


def is_gone(process):
    """Whether a process has ended and nothing of it is left in the system's table."""
    if process.returncode is None:
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


# What it finds


def test_each_case_is_measured_once_in_order():
    peaks = results(SMALL)
    assert [(peak.n, peak.method) for peak in peaks] == list(SMALL.cases)
    assert [peak.difference is None for peak in peaks] == [True, False] * 3


@pytest.mark.parametrize(
    ("n", "block_size", "d_k"),
    [
        (512, 128, 128),
        (1024, 128, 128),
        (2048, 128, 128),
        (1024, 8, 128),
        (768, 500, 128),
        (16384, 8, 2),  # where the ones that add up a row count
    ],
)
def test_the_predicted_peak_is_the_measured_one(n, block_size, d_k):
    """Within 2 %: the prediction leaves out row vectors and Python's own small objects."""
    settings = ContextSettings(n_smallest=n, n_largest=n, block_size=block_size, d_k=d_k)
    for peak in results(settings):
        predicted = predicted_peak_bytes(n, peak.method, settings)
        assert peak.peak_bytes == pytest.approx(predicted, rel=0.02), peak


def test_two_threads_hold_at_most_two_blocks():
    settings = ContextSettings(n_smallest=1024, n_largest=1024, n_threads=2)
    peak = results(settings)[-1].peak_bytes
    # Plus the threads themselves; less if the second began after the first was done.
    assert peak < 1.05 * predicted_peak_bytes(1024, "row blocks", settings)
    assert peak > 0.6 * predicted_peak_bytes(1024, "row blocks", settings)


def test_both_methods_give_the_same_output_at_every_size():
    found = {p.n: p.difference for p in results(ContextSettings(n_largest=512)) if p.difference}
    assert set(found) == {256, 512}
    assert all(difference < 1e-5 for difference in found.values())


def test_a_wrong_method_would_show_in_the_differences():
    """Row blocks without the mask, in the other process."""
    found = [peak.difference for peak in results(SMALL, **script(LEAKY))]
    assert min(found[1::2]) > 1e-2
    assert found[::2] == [None] * 3


def the_other_process_has_the_numbers_of_the_seed():
    for seed in (0, 3):
        settings = ContextSettings(n_largest=512, seed=seed)
        qkv, other = draw_qkv(settings), draw_qkv(ContextSettings(n_largest=512, seed=9))
        for n, found in ((p.n, p.difference) for p in results(settings) if p.method == METHODS[1]):
            ours, others = (
                [calculation(n, method, settings, drawn)() for method in METHODS]
                for drawn in (qkv, other)
            )
            assert found == np.abs(ours[0] - ours[1]).max()
            assert found != np.abs(others[0] - others[1]).max()


def test_the_other_process_has_the_numbers_of_the_seed():
    apart(the_other_process_has_the_numbers_of_the_seed)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads how Linux counts memory")
@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_run_stays_under_the_cap(n_threads):
    """What the system had given the whole process at its peak, Python and NumPy included."""
    settings = ContextSettings(n_largest=4096, memory_cap_mib=300, n_threads=n_threads)
    assert settings.methods_at(4096) == METHODS
    # In a small process, since the one that is started counts its parent's memory as its own.
    code = (
        "import json, resource, sys\n"
        "from core.peak_memory import *\n"
        "list(measure_peaks(ContextSettings(**json.loads(sys.argv[1]))))\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, peak_memory.json.dumps(peak_memory.asdict(settings))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    held = int(ran.stdout) / 1024  # it is in kB
    assert held <= needed_mib(4096, "formula", settings) <= settings.memory_cap_mib
    assert held > 0.8 * settings.memory_cap_mib  # so the rule is not idle
    assert held > needed_mib(4096, "formula", settings) - PROCESS_MIB


@pytest.mark.parametrize("name", ["PYTHONSAFEPATH", "PYTHONTRACEMALLOC", "PYTHONPATH"])
def test_the_environment_does_not_keep_it_from_starting(monkeypatch, tmp_path, name):
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("raise ImportError('another core')")
    monkeypatch.setenv(name, str(tmp_path) if name == "PYTHONPATH" else "1")
    monkeypatch.chdir(tmp_path)
    assert len(results(SMALL)) == 6


def test_its_matrix_products_have_one_thread(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with pytest.raises(RuntimeError, match=r"got '1'$"):
        results(SMALL, **script("import os; print(os.environ['OPENBLAS_NUM_THREADS'])"))


# How it ends


def test_nothing_is_left_of_it_when_it_is_done(processes):
    before = set(threading.enumerate())
    results(SMALL)
    assert [is_gone(process) for process in processes] == [True]
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("n_steps", [1, 4])
def test_nothing_is_left_of_it_when_it_is_abandoned(processes, n_steps):
    before = set(threading.enumerate())
    peaks = measure_peaks(LONG)
    for _ in range(n_steps):
        next(peaks)
    assert [process.poll() for process in processes] == [None]  # at work
    peaks.close()
    assert [is_gone(process) for process in processes] == [True]
    assert processes[0].returncode < 0  # killed, and not waited for
    assert set(threading.enumerate()) <= before


def test_it_is_not_started_before_it_is_asked(processes):
    measure_peaks(SMALL).close()
    assert processes == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("raise SystemExit(3)", "ended with code 3$"),
        ("pass", "ended with code 0$"),
        ("import os; os.kill(os.getpid(), 11)", "died of signal 11$"),
        ("print('hello')", "its result for formula at 8 tokens, got 'hello'$"),
        ("print('[1]')", r"got '\[1\]'$"),
        ("print('x' * 10**7)", "got 'x{100}'$"),
        ("import os; os.write(1, bytes([255, 10]))", "got '\N{REPLACEMENT CHARACTER}'$"),
        (
            'print(\'{"n": 8, "method": "formula", "peak_bytes": 0, "difference": null}\')',
            'got \'{"n": 8, ',
        ),
        (
            'print(\'{"n": 16, "method": "formula", "peak_bytes": 9, "difference": null}\')',
            'got \'{"n": 16, ',
        ),
        (
            'print(\'{"n": 8, "method": "formula", "peak_bytes": "9", "difference": null}\')',
            'got \'{"n": 8, ',
        ),
        (
            'print(\'{"n": 8, "method": "formula", "peak_bytes": 9, "difference": NaN}\')',
            'got \'{"n": 8, ',
        ),
    ],
)
def test_what_went_wrong_is_one_sentence(processes, text, sentence):
    with pytest.raises(RuntimeError, match=f"^the process that measures memory .*{sentence}") as e:
        results(SMALL, **script(text))
    assert "\n" not in str(e.value)
    assert [is_gone(process) for process in processes] == [True]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("raise MemoryError('no room')", "MemoryError: no room$"),
        ("raise MemoryError", "MemoryError$"),
        ("import numpy; numpy.ones(2**56)", r"[\w.]*\._ArrayMemoryError: Unable to allocate .*$"),
    ],
)
def test_a_process_without_memory_is_told_from_one_that_fails(processes, text, sentence):
    said = f"^the process that measures memory ended with code 1: {sentence}"
    with pytest.raises(MemoryError, match=said) as e:
        results(SMALL, **script(text))
    assert "\n" not in str(e.value)
    assert [is_gone(process) for process in processes] == [True]


def test_words_about_memory_are_no_lack_of_it():
    with pytest.raises(RuntimeError, match=r"ended with code 1: ValueError: a MemoryError: no$"):
        results(SMALL, **script("raise ValueError('a MemoryError: no')"))


def test_results_before_the_end_are_kept():
    dying = LEAKY.replace(
        "peak_memory.main()",
        "import os\n"
        "context_plan.attention_by_row_blocks = lambda *_, **__: os._exit(9)\n"
        "peak_memory.main()",
    )
    peaks = measure_peaks(SMALL, **script(dying))
    found = []
    with pytest.raises(RuntimeError, match="ended with code 9"):
        found += (peak for peak in peaks if peak is not None)
    assert [(peak.n, peak.method) for peak in found] == [(8, "formula")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pass;", r"gave no result for 0\.5 seconds$"),
        ("import os; os.close(1); os.close(2);", "closed its output$"),
    ],
)
def test_a_process_that_hangs_is_given_up(processes, text, sentence):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=sentence):
        results(SMALL, **script(text + "import time; time.sleep(60)"), patience=0.5)
    assert time.monotonic() - start < 30  # a bound, not a measurement
    assert [is_gone(process) for process in processes] == [True]


def test_the_caller_is_not_kept_waiting():
    """Whoever takes turns hears in the middle of a long run that there is nothing yet."""
    peaks = measure_peaks(SMALL, **script("import time; time.sleep(60)"))
    assert [next(peaks) for _ in range(3)] == [None] * 3
    peaks.close()


# Tracing in a process of one thread


def the_peak_is_what_is_held_at_once_and_not_the_sum():
    def calculate():
        first = np.ones(10**6)
        del first
        second, third = np.ones(2 * 10**6), np.ones(10**6)
        return second[:1] + third[:1]

    output, peak = measure_peak_bytes(calculate)
    assert output.tolist() == [2.0]
    assert peak == pytest.approx(3 * 8 * 10**6, rel=0.001)
    assert not tracemalloc.is_tracing()


def tracing_that_was_already_on_stays_on_and_is_not_counted():
    tracemalloc.start()
    held = np.ones(10**6)
    np.ones(10**7)  # an earlier peak, gone again
    _, peak = measure_peak_bytes(lambda: np.ones(10**5))
    assert tracemalloc.is_tracing()
    assert len(held) == 10**6
    assert peak == pytest.approx(8 * 10**5, rel=0.01)


def tracing_ends_when_the_calculation_fails():
    with pytest.raises(ZeroDivisionError):
        measure_peak_bytes(lambda: 1 / 0)
    assert not tracemalloc.is_tracing()


@pytest.mark.parametrize(
    "check",
    [
        the_peak_is_what_is_held_at_once_and_not_the_sum,
        tracing_that_was_already_on_stays_on_and_is_not_counted,
        tracing_ends_when_the_calculation_fails,
    ],
    ids=lambda check: check.__name__,
)
def test_in_one_thread(check):
    apart(check)


def test_tracing_is_refused_beside_other_threads():
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()  # beside whatever threads other tests have left
    try:
        with pytest.raises(RuntimeError, match=r"in a process with one thread, .* got [1-9]"):
            measure_peak_bytes(lambda: np.ones(1))
        assert not tracemalloc.is_tracing()
    finally:
        done.set()
        other.join()
