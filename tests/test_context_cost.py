"""The measurement makes every run it plans, and returns every repeat of it."""

import tracemalloc
from functools import partial

import pytest

from core import context_cost, context_plan
from core.binary_units import MIB
from core.context_cost import measure_steps, planned_runs
from core.context_plan import (
    METHODS,
    PROCESS_MIB,
    ContextSettings,
    needed_mib,
    predicted_peak_bytes,
)
from core.formula import attention_by_formula
from core.peak_memory import Peak, measure_peaks
from tests.apart import apart

SMALL = {"n_smallest": 8, "n_largest": 32, "d_k": 4, "n_repeats": 2}


class FakeClock:
    """Returns 0, 1, 3, 6, 10 …: its i-th call is i − 1 after the one before."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return float(self.calls * (self.calls - 1) // 2)


def snapshots(settings, **clocks):
    """What a measurement yields, but for the moments in which there is nothing new."""
    return [step for step in measure_steps(settings, **clocks) if step is not None]


def test_every_planned_run_is_made_once_and_every_repeat_returned():
    settings = ContextSettings(**SMALL)
    clock = FakeClock()
    steps = snapshots(settings, clock=clock, calendar=lambda: 1234.5)
    assert [step.run for step in steps] == list(planned_runs(settings))
    assert len(steps) == 3 * 2 * (1 + 2)  # sizes × methods × (traced once and timed twice)
    assert clock.calls == 2 * 3 * 2 * 2  # a start and an end for each timed run
    assert {step.started for step in steps} == {1234.5}
    last = steps[-1]
    assert [(m.n, m.method) for m in last.measurements] == [
        (n, method) for n in (8, 16, 32) for method in METHODS
    ]
    # Calls 1 and 2 are 1 apart, 3 and 4 are 3 apart, and so on, in the order of the plan.
    timed = [run for run in planned_runs(settings) if not run.traced]
    for measured in last.measurements:
        mine = [
            i for i, run in enumerate(timed) if (run.n, run.method) == (measured.n, measured.method)
        ]
        assert measured.seconds == tuple(2.0 * i + 1 for i in mine)


def test_memory_is_measured_once_and_first_and_time_in_every_repeat():
    settings = ContextSettings(**{**SMALL, "n_repeats": 5})
    plan = planned_runs(settings)
    assert [run.traced for run in plan] == [True] * 6 + [False] * 30
    assert [run.repeat for run in plan if not run.traced] == [
        r for r in range(1, 6) for _ in "123456"
    ]
    last = snapshots(settings)[-1]
    assert {len(m.seconds) for m in last.measurements} == {5}


def test_results_grow_run_by_run():
    steps = snapshots(ContextSettings(**SMALL))
    counts = [sum(1 + len(m.seconds) for m in step.measurements) for step in steps]
    assert counts == list(range(1, 19))
    shares = [step.share_done for step in steps]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1
    # A snapshot that was shown once does not change afterwards.
    assert [len(step.differences) for step in steps] == [0, 1, 1, 2, 2, *[3] * 13]


def test_the_time_is_that_of_the_fastest_run():
    steps = snapshots(ContextSettings(**SMALL), clock=FakeClock())
    assert [m.fastest for m in steps[-1].measurements] == [
        m.seconds[0] for m in steps[-1].measurements
    ]
    assert all(m.seconds[0] < m.seconds[1] for m in steps[-1].measurements)


def test_nothing_traced_is_timed(monkeypatch):
    """Tracing slows a run, and crashes whoever else allocates when it starts: never here."""
    seen = []

    def recorded(q, k, v):
        seen.append((len(q), tracemalloc.is_tracing()))
        return attention_by_formula(q, k, v)

    def refused(*_):
        raise AssertionError("traced in the process that times")

    monkeypatch.setattr(context_plan, "attention_by_formula", recorded)
    for name in ("start", "stop", "reset_peak"):
        monkeypatch.setattr(tracemalloc, name, refused)
    last = snapshots(ContextSettings(**SMALL))[-1]
    # Each timed run, and one before them that warms the caches; the traced ones ran elsewhere.
    assert seen == [(8, False)] + [(n, False) for n in (8, 16, 32)] * 2
    assert all(m.peak_bytes > 0 for m in last.measurements)


def test_peaks_and_differences_are_those_of_the_other_process(monkeypatch):
    settings = ContextSettings(**SMALL)

    def invented(_):
        for i, (n, method) in enumerate(settings.cases):
            yield None
            yield Peak(
                n=n,
                method=method,
                peak_bytes=1000 + i,
                difference=n / 7 if method == "row blocks" else None,
            )

    monkeypatch.setattr(context_cost, "measure_peaks", invented)
    assert list(measure_steps(settings))[:2:2] == [None]
    last = snapshots(settings)[-1]
    assert [m.peak_bytes for m in last.measurements] == [1000 + i for i in range(6)]
    assert [m.predicted_bytes for m in last.measurements] == [
        predicted_peak_bytes(n, method, settings) for n, method in settings.cases
    ]
    assert last.differences == {8: 8 / 7, 16: 16 / 7, 32: 32 / 7}


def test_inputs_are_drawn_when_the_other_process_has_ended(monkeypatch):
    """Both at once would hold q, k and v twice."""
    events = []

    def recorded(settings):
        yield from measure_peaks(settings)
        events.append("ended")

    def drawn(settings):
        events.append("drawn")
        return context_plan.draw_qkv(settings)

    monkeypatch.setattr(context_cost, "measure_peaks", recorded)
    monkeypatch.setattr(context_cost, "draw_qkv", drawn)
    snapshots(ContextSettings(**SMALL))
    assert events == ["ended", "drawn"]


def timed_runs_stay_under_the_cap():
    """What is held in this process while it times, its inputs included."""
    settings = ContextSettings(n_largest=1024, n_repeats=1)
    peaks = [Peak(n=n, method=m, peak_bytes=1, difference=None) for n, m in settings.cases]
    context_cost.measure_peaks = lambda _: (peak for peak in peaks)
    tracemalloc.start()
    snapshots(settings)
    held = tracemalloc.get_traced_memory()[1] / MIB
    # The process that has ended by then is not counted.
    most = max(needed_mib(n, method, settings) for n, method in settings.cases) - PROCESS_MIB
    assert 0.8 * most < held <= most


def test_timed_runs_stay_under_the_cap():
    apart(timed_runs_stay_under_the_cap)


def test_a_measurement_that_is_closed_closes_the_other_process(monkeypatch):
    events = []

    def recorded(settings):
        try:
            yield from measure_peaks(settings)
        finally:
            events.append("ended")

    monkeypatch.setattr(context_cost, "measure_peaks", recorded)
    steps = measure_steps(ContextSettings(**SMALL))
    while next(steps) is None:
        pass
    assert events == []
    steps.close()
    assert events == ["ended"]


def test_memory_that_cannot_be_measured_ends_the_measurement_in_a_sentence(monkeypatch):
    broken = partial(measure_peaks, command=("no-such-program",))
    monkeypatch.setattr(context_cost, "measure_peaks", broken)
    with pytest.raises(RuntimeError, match="did not start"):
        snapshots(ContextSettings(**SMALL))


def test_the_formula_is_left_out_where_only_the_blocks_fit():
    settings = ContextSettings(n_largest=2048, memory_cap_mib=100, n_repeats=1)
    last = snapshots(settings)[-1]
    assert [(m.n, m.method) for m in last.measurements if m.n == 2048] == [(2048, "row blocks")]
    assert set(last.differences) == {256, 512, 1024}
    assert last.share_done == 1
