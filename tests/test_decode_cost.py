"""The measurement makes every run it plans, returns every repeat, and compares the outputs."""

import time
from dataclasses import replace

import numpy as np
import pytest

from core import decode_agreement, decode_cost
from core.broken_cache import BROKEN
from core.decode_agreement import DecodeSettings, compare_outputs, write
from core.decode_cost import can_time_the_thread, measure_steps, planned_runs
from core.generation import AT_ONCE, CACHE, METHODS, CachedHead

SMALL = {"d_model": 8, "d_k": 4, "n_tokens": 10, "n_repeats": 2}


class FakeClock:
    """Returns 0, 1, 3, 6, 10 …: its i-th call is i − 1 after the one before."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return float(self.calls * (self.calls - 1) // 2)


def snapshots(**changes):
    given = {key: changes.pop(key) for key in ("clock", "calendar") if key in changes}
    steps = measure_steps(DecodeSettings(**{**SMALL, **changes}), **given)
    return [snapshot for snapshot in steps if snapshot is not None]


def test_the_positions_double_up_to_the_last_token():
    assert DecodeSettings(n_tokens=1).positions == (1,)
    assert DecodeSettings(n_tokens=8).positions == (1, 2, 4, 8)
    assert DecodeSettings(n_tokens=10).positions == (1, 2, 4, 8, 10)


def test_every_planned_run_is_made_once_and_every_repeat_returned():
    clock = FakeClock()
    found = snapshots(clock=clock, calendar=lambda: 1234.5)
    plan = planned_runs(DecodeSettings(**SMALL))
    assert [snapshot.run for snapshot in found] == [*plan, None, None]
    assert len(plan) == 2 * (1 + 3 * 5)  # repeats × (the cache, and three ways at five positions)
    assert clock.calls == 2 * 2 * (10 + 3 * 5)  # a start and an end of every step and run
    assert {snapshot.started for snapshot in found} == {1234.5}
    assert {snapshot.processor_time for snapshot in found} == {False}  # the clock was given
    last = found[-1]
    assert [(timing.method, timing.n) for timing in last.timings] == [
        (method, n) for method in METHODS for n in (1, 2, 4, 8, 10)
    ]
    assert {len(timing.seconds) for timing in last.timings} == {2}
    assert [steps.shape for steps in last.cached_steps] == [(10,), (10,)]


def test_each_time_is_the_one_its_own_run_took():
    """A clock whose steps grow tells which call a time came from."""
    last = snapshots(clock=FakeClock(), n_repeats=1)[-1]
    # The i-th pair of calls, from 0, is 2 i + 1 apart. First the ten cached steps.
    assert last.cached_steps[0].tolist() == [2.0 * i + 1 for i in range(10)]
    seconds = {(timing.method, timing.n): timing.seconds for timing in last.timings}
    for n in (1, 2, 4, 8, 10):
        assert seconds[CACHE, n] == (2.0 * (n - 1) + 1,)
    pairs = iter(range(10, 25))
    for run in planned_runs(DecodeSettings(**{**SMALL, "n_repeats": 1}))[1:]:
        outputs = run.n if run.method == AT_ONCE else 1
        assert seconds[run.method, run.n] == ((2.0 * next(pairs) + 1) / outputs,)


def test_results_grow_run_by_run():
    found = snapshots()
    counts = [sum(len(t.seconds) for t in snapshot.timings) for snapshot in found]
    assert counts == sorted(counts)
    assert counts[0] == 5  # the cache's positions
    assert counts[-1] == 2 * 4 * 5
    shares = [snapshot.share_done for snapshot in found]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(0.0 < share < 1.0 for share in shares[:-1])
    assert [bool(snapshot.agreements) for snapshot in found] == [False] * (len(found) - 1) + [True]


def test_a_long_run_with_the_cache_lets_others_take_turns():
    steps = list(measure_steps(DecodeSettings(**{**SMALL, "n_tokens": 300, "n_repeats": 1})))
    first = next(i for i, step in enumerate(steps) if step is not None)
    assert first == 1 + 5  # once when the tokens are written, then in pieces of 64


def test_the_writing_is_timed_in_the_same_tokens_for_all(monkeypatch):
    seen = []

    def recorded(writer, x):
        seen.append(x.copy())
        return x

    monkeypatch.setattr(decode_cost, "all_at_once", recorded)
    snapshots(n_repeats=1)
    written = write(DecodeSettings(**{**SMALL, "n_repeats": 1}))
    assert all(np.array_equal(x, written.x[: len(x)]) for x in seen)
    assert [len(x) for x in seen[1:]] == [1, 2, 4, 8, 10]  # after the run that warms up


def test_the_caches_bytes_are_those_of_two_arrays():
    assert snapshots()[0].cache_bytes == 2 * 10 * 4 * 4  # key and value, tokens, d_k, float32


@pytest.mark.parametrize("seed", range(3))
def test_sound_ways_agree_and_broken_caches_do_not(seed):
    settings = DecodeSettings(d_model=64, d_k=32, n_tokens=256, seed=seed)
    found = {one.way: one for one in compare_outputs(write(settings), settings)}
    assert list(found) == [*METHODS, *BROKEN]
    for method in METHODS:
        assert found[method].is_rounding, found[method]
        expected = 256 if method in (CACHE, AT_ONCE) else len(settings.positions)
        assert found[method].n_outputs == found[method].n_same_token == expected
    for way in BROKEN:
        assert not found[way].is_rounding, found[way]
        assert found[way].largest > 100 * found[CACHE].largest


def test_the_least_of_the_faults_is_noticed_at_full_length():
    """One entry of 2,048 is left out: the smallest fault, at the page's default size."""
    settings = DecodeSettings()
    written = write(settings)
    found = {one.way: one for one in compare_outputs(written, settings)}
    assert not found["one entry never written"].is_rounding
    assert found[CACHE].is_rounding
    assert found["one entry never written"].largest > 100 * found[CACHE].largest


def test_a_cache_that_went_wrong_would_show_as_such(monkeypatch):
    """Negative control: the cache of the measurement itself is replaced by a broken one."""
    monkeypatch.setattr(decode_agreement, "CachedHead", BROKEN["values one entry late"])
    settings = DecodeSettings(d_model=64, d_k=32, n_tokens=64)
    found = {one.way: one for one in compare_outputs(write(settings), settings)}
    assert not found[CACHE].is_rounding


def test_equal_differences_but_another_token_are_no_rounding():
    settings = DecodeSettings(**SMALL)
    one = next(compare_outputs(write(settings), settings))
    assert one.is_rounding
    assert not replace(one, n_same_token=one.n_outputs - 1).is_rounding
    assert not replace(one, largest=1e-3).is_rounding


def test_equal_settings_write_the_same_and_another_seed_does_not():
    first, again = write(DecodeSettings(**SMALL)), write(DecodeSettings(**SMALL))
    other = write(DecodeSettings(**SMALL, seed=1))
    assert first.tokens == again.tokens != other.tokens
    assert np.array_equal(first.outputs, again.outputs)
    assert first.x.dtype == first.outputs.dtype == np.float32


def test_processor_time_is_taken_where_matrix_products_stay_in_the_thread(monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(decode_cost.os, "name", "posix")
    assert can_time_the_thread()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert not can_time_the_thread()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(decode_cost.os, "name", "nt")
    assert not can_time_the_thread()


def test_the_clock_that_was_taken_is_the_one_that_is_named(monkeypatch):
    calls = []
    for name in ("thread_time", "perf_counter"):
        monkeypatch.setattr(
            decode_cost.time, name, lambda name=name: calls.append(name) or float(len(calls))
        )
    for processor_time, name in ((True, "thread_time"), (False, "perf_counter")):
        calls.clear()
        monkeypatch.setattr(decode_cost, "can_time_the_thread", lambda now=processor_time: now)
        assert snapshots()[-1].processor_time is processor_time
        assert set(calls) == {name}


def test_waiting_is_no_processor_time():
    before = time.thread_time()
    time.sleep(0.05)
    assert time.thread_time() - before < 0.04


@pytest.mark.parametrize("name", ["d_model", "d_k", "n_tokens", "n_repeats"])
def test_settings_below_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"^{name} must be at least 1, got 0$"):
        DecodeSettings(**{name: 0})


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"^seed must be at least 0, got -1$"):
        DecodeSettings(seed=-1)


def test_each_repeat_begins_with_an_empty_cache(monkeypatch):
    made = []

    class Recorded(CachedHead):
        def __init__(self, writer, n_most):
            super().__init__(writer, n_most)
            made.append(self)

    monkeypatch.setattr(decode_cost, "CachedHead", Recorded)
    snapshots(n_repeats=3)
    assert [cache.n for cache in made] == [10, 10, 10]
