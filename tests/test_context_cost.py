"""The measurement makes every run it plans, returns every repeat, and predicts its memory."""

import tracemalloc

import numpy as np
import pytest

from core import context_cost
from core.context_cost import (
    METHODS,
    MIB,
    ContextSettings,
    Measurement,
    measure_peak_bytes,
    measure_steps,
    needed_mib,
    planned_runs,
    predicted_peak_bytes,
)
from core.formula import attention_by_formula
from core.row_blocks import attention_by_row_blocks

SMALL = {"n_smallest": 8, "n_largest": 32, "d_k": 4, "n_repeats": 2}


class FakeClock:
    """Returns 0, 1, 3, 6, 10 …: its i-th call is i − 1 after the one before."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return float(self.calls * (self.calls - 1) // 2)


def test_every_planned_run_is_made_once_and_every_repeat_returned():
    settings = ContextSettings(**SMALL)
    clock = FakeClock()
    steps = list(measure_steps(settings, clock=clock, calendar=lambda: 1234.5))
    assert [step.run for step in steps] == list(planned_runs(settings))
    assert len(steps) == 3 * 2 * 2 * 2  # sizes × methods × repeats × (traced and timed)
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
        assert len(measured.peaks) == 2


def test_memory_is_measured_in_the_first_repeats_and_time_in_all():
    last = list(measure_steps(ContextSettings(**{**SMALL, "n_repeats": 5})))[-1]
    assert {(len(m.peaks), len(m.seconds)) for m in last.measurements} == {(3, 5)}
    once = list(measure_steps(ContextSettings(**{**SMALL, "n_repeats": 1})))[-1]
    assert {(len(m.peaks), len(m.seconds)) for m in once.measurements} == {(1, 1)}


def test_results_grow_run_by_run():
    steps = list(measure_steps(ContextSettings(**SMALL)))
    counts = [sum(len(m.seconds) + len(m.peaks) for m in step.measurements) for step in steps]
    assert counts == list(range(1, 25))
    shares = [step.share_done for step in steps]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1


def test_the_peak_is_the_least_measured_and_the_time_the_shortest():
    measured = Measurement(
        n=8, method="formula", predicted_bytes=1, peaks=(5, 3, 4), seconds=(2.0, 1.0)
    )
    assert measured.peak_bytes == 3
    assert measured.fastest == 1.0


def test_nothing_traced_is_timed(monkeypatch):
    """Tracing slows a run, so no timed run may be traced."""
    traced = []

    def recorded(q, k, v):
        traced.append(tracemalloc.is_tracing())
        return attention_by_formula(q, k, v)

    monkeypatch.setattr(context_cost, "attention_by_formula", recorded)
    settings = ContextSettings(**SMALL)
    list(measure_steps(settings))
    assert traced == [run.traced for run in planned_runs(settings) if run.method == "formula"]


def test_both_methods_give_the_same_output_at_every_size():
    last = list(measure_steps(ContextSettings(n_largest=512, n_repeats=1)))[-1]
    assert set(last.differences) == {256, 512}
    assert all(0 <= difference < 1e-5 for difference in last.differences.values())


def test_a_wrong_method_would_show_in_the_differences(monkeypatch):
    def leaky(q, k, v, **options):
        return attention_by_row_blocks(q, k, v, causal=False, **options)

    monkeypatch.setattr(context_cost, "attention_by_row_blocks", leaky)
    last = list(measure_steps(ContextSettings(**SMALL)))[-1]
    assert min(last.differences.values()) > 1e-2


def test_equal_settings_measure_the_same_numbers(monkeypatch):
    def inputs(seed):
        seen = []

        def recorded(q, k, v):
            seen.append((q.copy(), k.copy(), v.copy()))
            return attention_by_formula(q, k, v)

        monkeypatch.setattr(context_cost, "attention_by_formula", recorded)
        list(measure_steps(ContextSettings(**SMALL, seed=seed)))
        return seen

    first, again, other = inputs(0), inputs(0), inputs(1)
    assert all(a.dtype == np.float32 for run in first for a in run)
    for one, two in zip(first, again, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(first[0][0], other[0][0])


def test_block_size_and_threads_reach_the_row_blocks(monkeypatch):
    seen = []

    def recorded(q, k, v, **options):
        seen.append(options)
        return attention_by_row_blocks(q, k, v, **options)

    monkeypatch.setattr(context_cost, "attention_by_row_blocks", recorded)
    list(measure_steps(ContextSettings(**SMALL, block_size=5, n_threads=2)))
    assert seen == [{"block_size": 5, "n_threads": 2}] * 12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "block_size"), [(512, 128), (1024, 128), (1024, 8), (768, 500)])
def test_the_predicted_peak_is_the_measured_one(method, n, block_size):
    """Within 2 %: the prediction leaves out row vectors and Python's own small objects."""
    settings = ContextSettings(block_size=block_size)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, 128), dtype=np.float32) for _ in range(3))
    if method == "formula":
        _, peak = measure_peak_bytes(lambda: attention_by_formula(q, k, v))
    else:
        _, peak = measure_peak_bytes(
            lambda: attention_by_row_blocks(q, k, v, block_size=block_size)
        )
    assert peak == pytest.approx(predicted_peak_bytes(n, method, settings), rel=0.02)


def test_two_threads_hold_at_most_two_blocks():
    settings = ContextSettings(n_threads=2)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1024, 128), dtype=np.float32) for _ in range(3))
    _, peak = measure_peak_bytes(lambda: attention_by_row_blocks(q, k, v, n_threads=2))
    # Plus the threads themselves; less if the second began after the first was done.
    assert peak < 1.05 * predicted_peak_bytes(1024, "row blocks", settings)
    assert peak > 0.6 * predicted_peak_bytes(1024, "row blocks", settings)


def test_the_peak_is_what_is_held_at_once_and_not_the_sum():
    def calculate():
        first = np.ones(10**6)
        del first
        second, third = np.ones(2 * 10**6), np.ones(10**6)
        return second[:1] + third[:1]

    output, peak = measure_peak_bytes(calculate)
    assert output.tolist() == [2.0]
    assert peak == pytest.approx(3 * 8 * 10**6, rel=0.001)
    assert not tracemalloc.is_tracing()


def test_tracing_that_was_already_on_stays_on_and_is_not_counted():
    tracemalloc.start()
    try:
        held = np.ones(10**6)
        np.ones(10**7)  # an earlier peak, gone again
        _, peak = measure_peak_bytes(lambda: np.ones(10**5))
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    assert len(held) == 10**6
    assert peak == pytest.approx(8 * 10**5, rel=0.01)


def test_tracing_ends_when_the_calculation_fails():
    with pytest.raises(ZeroDivisionError):
        measure_peak_bytes(lambda: 1 / 0)
    assert not tracemalloc.is_tracing()


def test_the_formula_is_left_out_where_only_the_blocks_fit():
    settings = ContextSettings(n_largest=2048, memory_cap_mib=20, n_repeats=1)
    assert settings.methods_at(1024) == METHODS
    assert settings.methods_at(2048) == ("row blocks",)
    assert needed_mib(2048, "formula", settings) > 20 >= needed_mib(2048, "row blocks", settings)
    last = list(measure_steps(settings))[-1]
    assert [(m.n, m.method) for m in last.measurements if m.n == 2048] == [(2048, "row blocks")]
    assert set(last.differences) == {256, 512, 1024}
    assert last.share_done == 1


def test_a_run_stays_under_the_cap():
    """What is really held during a whole measurement, inputs and kept output included."""
    settings = ContextSettings(n_largest=1024, memory_cap_mib=15, n_repeats=1)
    assert settings.methods_at(1024) == METHODS
    tracemalloc.start()
    try:
        # Asked after every run, since the next traced one forgets the peak of those before it.
        peak = max(tracemalloc.get_traced_memory()[1] for _ in measure_steps(settings))
    finally:
        tracemalloc.stop()
    assert peak <= settings.memory_cap_mib * MIB
    assert peak > 0.8 * settings.memory_cap_mib * MIB  # so the rule is not idle


def test_the_default_cap_fits_a_host_of_one_gigabyte():
    settings = ContextSettings(n_largest=16384)
    assert settings.memory_cap_mib <= 600  # the app itself takes about 200 MiB
    assert settings.methods_at(4096) == METHODS
    assert settings.methods_at(8192) == ("row blocks",)
    assert settings.methods_at(16384) == ("row blocks",)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n_smallest": 0}, "n_smallest must be at least 1, got 0"),
        ({"d_k": 0}, "d_k must be at least 1, got 0"),
        ({"n_repeats": 0}, "n_repeats must be at least 1, got 0"),
        ({"block_size": -1}, "block_size must be at least 1, got -1"),
        ({"n_threads": 0}, "n_threads must be at least 1, got 0"),
        ({"memory_cap_mib": 0}, "memory_cap_mib must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        (
            {"n_largest": 1000},
            r"n_largest must be n_smallest \(256\) doubled a whole number of times, got 1000",
        ),
        ({"n_largest": 128}, r"n_largest must be n_smallest \(256\) doubled .* got 128"),
        (
            {"n_largest": 16384, "memory_cap_mib": 40},
            r"n_largest must fit the memory cap \(memory_cap_mib, 40 MiB\), got 16384, for which "
            r"even row blocks need 49 MiB",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_sentence(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        ContextSettings(**fields)


def test_the_sizes_are_doublings():
    assert ContextSettings(n_largest=256).sizes == (256,)
    assert ContextSettings(n_largest=2048).sizes == (256, 512, 1024, 2048)
    assert ContextSettings(n_smallest=3, n_largest=12).sizes == (3, 6, 12)
