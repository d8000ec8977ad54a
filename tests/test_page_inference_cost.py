"""The inference-cost page measures on this server, says when, waits, stops and goes on."""

import threading
import time

import pytest

from core.decode_agreement import DecodeSettings
from core.kv_cache import CacheSettings
from core.tables import inference_cost as tables
from core.tables import kv_cache
from core.turns import NO_MEMORY
from pages.parts import inference_cost as parts
from pages.parts.server import measuring_service
from tests.page_helpers import opened, press, until, words

SMALL = {"n_tokens": "128", "n_repeats": "1", "d_model": "64", "d_k": "16"}
VISIT = "inference_cost_visit"


@pytest.fixture(autouse=True)
def no_service_left_over():
    measuring_service.clear()
    yield
    measuring_service.clear()


def progress_text(app):
    return app.get("progress")[0].proto.text


def test_the_page_shows_the_numbers_that_were_measured():
    app = until(opened("inference_cost", **SMALL), "Measure again")
    assert not app.exception
    snapshot = app.session_state[VISIT].result
    assert snapshot.settings == DecodeSettings(n_tokens=128, n_repeats=1, d_model=64, d_k=16)
    text = words(app)
    for sentence in (
        tables.time_sentence(snapshot),
        tables.result_sentence(snapshot),
        tables.agreement_sentence(snapshot),
        tables.totals_sentence(snapshot),
        tables.speed_sentence(snapshot),
        tables.cache_bytes_sentence(snapshot),
        tables.clock_sentence(snapshot),
    ):
        assert sentence in text
    assert progress_text(app).startswith("Measured on this server, ")
    assert "These are your own runs." in text


def test_a_second_visitor_sees_the_first_ones_numbers_as_such():
    first = until(opened("inference_cost", **SMALL), "Measure again")
    second = until(opened("inference_cost", **SMALL), "Measure again")
    assert second.session_state[VISIT].snapshot is first.session_state[VISIT].snapshot
    assert "before you asked: another visitor" in words(second)
    press(second, "Measure again")
    until(second, "Measure again")
    assert second.session_state[VISIT].snapshot is not first.session_state[VISIT].snapshot
    assert "These are your own runs." in words(second)


def test_one_measures_at_a_time_on_this_page_and_the_other():
    gate = threading.Event()

    def blocked():
        gate.wait(30)
        yield None

    service = measuring_service()
    busy = service.submit("busy", blocked, "somebody")
    try:
        app = opened("inference_cost", **SMALL)
        assert "Yours is number 1 in the queue" in progress_text(app)
        other = opened("context_cost", n_largest="512", n_repeats="1")
        assert "Yours is number 2 in the queue" in progress_text(other)
    finally:
        gate.set()
        service.leave(busy, "somebody")
    until(app, "Measure again")
    assert progress_text(app).startswith("Measured on this server")


def test_a_full_queue_is_said_in_a_sentence_and_the_rest_of_the_page_stands():
    gate = threading.Event()

    def blocked():
        gate.wait(30)
        yield None

    service = measuring_service()
    jobs = [service.submit(i, blocked, "somebody") for i in range(65)]
    try:
        app = opened("inference_cost", **SMALL)
        assert "as many as this server takes" in words(app)
        assert not app.exception
        assert kv_cache.memory_sentence(CacheSettings()) in words(app)
    finally:
        gate.set()
        for job in jobs:
            service.leave(job, "somebody")


def test_a_measurement_can_be_stopped_and_keeps_what_it_has():
    gate = threading.Event()
    app = until(opened("inference_cost", **SMALL), "Measure again")
    visit = app.session_state[VISIT]

    def two_steps():
        yield visit.snapshot
        gate.wait(30)
        yield visit.snapshot

    # A measurement that stays live until it is stopped.
    visit.job = measuring_service().submit("held", two_steps, visit.watcher)
    try:
        app.run()
        press(app, "Stop")
        assert not app.exception
        assert any(button.label == "Measure again" for button in app.button)
        assert visit.job is None
    finally:
        gate.set()


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (RuntimeError("the clock has stopped"), "the clock has stopped"),
        (MemoryError("Unable to allocate 1 GiB"), NO_MEMORY),
    ],
)
def test_an_error_is_said_in_a_sentence(failure, said):
    visit = until(opened("inference_cost", **SMALL), "Measure again").session_state[VISIT]

    def failing():
        raise failure
        yield

    visit.measure = lambda _: failing()
    app = opened("inference_cost", **SMALL)
    app.session_state[VISIT] = visit
    visit.start(again=True)
    for _ in range(100):
        app.run()
        if not visit.live:
            break
        time.sleep(0.05)
    assert not app.exception
    assert said in words(app)
    assert "MemoryError" not in words(app)
    assert any(button.label == "Measure again" for button in app.button)


def test_moving_a_control_leaves_the_measurement_and_begins_another():
    app = until(opened("inference_cost", **SMALL), "Measure again")
    before = app.session_state[VISIT].result
    app.select_slider(key="d_model").set_value(128).run()
    until(app, "Measure again")
    after = app.session_state[VISIT].result
    assert after.settings.d_model == 128
    assert not tables.work_points(before).equals(tables.work_points(after))


def test_moving_a_control_stops_what_nobody_watches_any_more(monkeypatch):
    gate = threading.Event()

    def endless(settings, **_):
        while not gate.wait(0.01):
            yield None

    monkeypatch.setattr("core.decode_cost.measure_steps", endless)
    try:
        app = opened("inference_cost", **SMALL)
        first = app.session_state[VISIT].job
        app.slider(key="seed").set_value(5).run()
        assert app.session_state[VISIT].job is not first
        assert first.heard == {}
    finally:
        gate.set()


def test_the_first_chart_moves_at_once_with_the_first_control():
    """Before anything is timed, the counted lines stand there."""
    small, large = (
        tables.time_points(DecodeSettings(d_model=d_model), None) for d_model in (512, 1024)
    )
    assert (large["Time (ms)"] > small["Time (ms)"]).all()


def test_the_memory_follows_its_sliders():
    app = opened("inference_cost", **SMALL, n_layers="32", n_heads="32", context="8192")
    chosen = CacheSettings(n_layers=32, n_heads=32, n_kv_heads=8, context=8192)
    assert kv_cache.memory_sentence(chosen) in words(app)
    app.slider(key="n_kv_heads").set_value(1).run()
    assert "32 query heads share each: 32 times less." in words(app)


def test_heads_that_do_not_divide_become_the_nearest_that_do():
    app = opened("inference_cost", **SMALL, n_heads="64", n_kv_heads="7")
    assert not app.exception
    assert "must divide 64" in words(app)
    assert "You chose 7; 8 is used." in words(app)


@pytest.mark.parametrize(("label", "case"), parts.CACHE_CASES)
def test_the_published_cases_set_the_sliders(label, case):
    app = opened("inference_cost", **SMALL)
    press(app, label)
    assert not app.exception
    assert kv_cache.memory_sentence(CacheSettings(**case)) in words(app)


def test_the_prediction_waits_and_is_kept_beside_the_result():
    app = opened("inference_cost", skip=False)
    assert "Before you look." in words(app)
    assert VISIT not in app.session_state
    press(app, "More than 99 %")
    assert VISIT in app.session_state
