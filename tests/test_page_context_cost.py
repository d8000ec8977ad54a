"""The context-cost page measures on this server, says when, waits its turn, stops and goes on."""

import subprocess
import threading
import time

import pytest

from core import peak_memory
from core.context_plan import ContextSettings
from core.growth import doublings
from core.pattern_memory import PatternSettings, pattern_memory
from core.tables import context_cost as tables
from core.turns import NO_MEMORY
from pages.parts import context_cost as parts
from pages.parts.server import measuring_service
from tests.page_helpers import opened, press, until, word_tables, words

SMALL = {"n_largest": "512", "n_repeats": "1"}


@pytest.fixture(autouse=True)
def no_service_left_over():
    measuring_service.clear()
    yield
    measuring_service.clear()


def progress_texts(app):
    return [element.proto.text for element in app.get("progress")]


def test_the_page_shows_the_numbers_that_were_measured():
    app = until(opened("context_cost", **SMALL), "Measure again")
    assert not app.exception
    snapshot = app.session_state[parts.VISIT].snapshot
    assert snapshot.settings == ContextSettings(n_largest=512, n_repeats=1)
    table = next(t for t in word_tables(app) if "Article (×)" in t)
    for method, column in (
        ("formula", "Formula, here (×)"),
        ("row blocks", "Row blocks, here (×)"),
    ):
        assert table[column].tolist()[0] == f"{doublings(snapshot, method)[256, 512]:.2f}"
    assert tables.time_sentence(snapshot) in words(app)
    assert tables.memory_sentence(snapshot) in words(app)
    assert tables.doubling_sentence(snapshot) in words(app)
    assert progress_texts(app)[0].startswith("Measured on this server, ")
    assert "These are your own runs." in words(app)


def test_a_second_visitor_sees_the_first_ones_numbers_as_such():
    first = until(opened("context_cost", **SMALL), "Measure again")
    second = until(opened("context_cost", **SMALL), "Measure again")
    assert second.session_state[parts.VISIT].snapshot == first.session_state[parts.VISIT].snapshot
    assert "before you asked: another visitor" in words(second)
    press(second, "Measure again")
    until(second, "Measure again")
    assert second.session_state[parts.VISIT].snapshot != first.session_state[parts.VISIT].snapshot
    assert "These are your own runs." in words(second)


def test_one_measures_at_a_time_and_the_others_see_their_place():
    gate = threading.Event()

    def blocked():
        gate.wait(30)
        yield None

    service = measuring_service()
    busy = service.submit("busy", blocked, "somebody")
    try:
        app = opened("context_cost", **SMALL)
        assert "Yours is number 1 in the queue" in progress_texts(app)[0]
        later = opened("context_cost", n_largest="1024", n_repeats="1")
        assert "Yours is number 2 in the queue" in progress_texts(later)[0]
    finally:
        gate.set()
        service.leave(busy, "somebody")
    until(app, "Measure again")
    assert progress_texts(app)[0].startswith("Measured on this server")


def test_a_full_queue_is_said_in_a_sentence_and_the_rest_of_the_page_stands():
    gate = threading.Event()

    def blocked():
        gate.wait(30)
        yield None

    service = measuring_service()
    jobs = [service.submit(i, blocked, "somebody") for i in range(65)]
    try:
        app = opened("context_cost", **SMALL)
        assert "as many as this server takes" in words(app)
        assert not app.exception
        assert "72 GiB" in words(app)
    finally:
        gate.set()
        for job in jobs:
            service.leave(job, "somebody")


@pytest.mark.parametrize("place", ["core.context_cost.measure_peaks", "core.context_cost.draw_qkv"])
def test_a_lack_of_memory_is_said_in_plain_words_and_smaller_sizes_are_measured(monkeypatch, place):
    def no_room(_):
        raise MemoryError("Unable to allocate 256. MiB for an array")

    with monkeypatch.context() as broken:
        broken.setattr(place, no_room)
        app = until(opened("context_cost", n_largest="1024", n_repeats="1"), "Measure again")
    assert not app.exception
    assert NO_MEMORY in words(app)
    assert "MemoryError" not in words(app)
    app.select_slider(key="n_largest").set_value(512).run()
    until(app, "Measure again")
    assert NO_MEMORY not in words(app)
    assert "From 256 to 512 tokens" in words(app)


def test_a_measurement_can_be_stopped_and_keeps_what_it_has():
    gate = threading.Event()
    app = opened("context_cost", **SMALL)
    until(app, "Measure again")
    visit = app.session_state[parts.VISIT]

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


@pytest.fixture
def processes(monkeypatch):
    """Every process that is started meanwhile to measure memory."""
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(peak_memory.subprocess, "Popen", Recorded)
    return started


def test_stopping_ends_the_process_that_measures_memory(processes):
    app = opened("context_cost", n_largest="16384", block_size="1", n_repeats="1")
    for _ in range(200):
        if processes:
            break
        time.sleep(0.05)
    assert [process.returncode for process in processes] == [None]
    press(app, "Stop")
    for _ in range(200):
        if processes[0].returncode is not None:
            break
        time.sleep(0.05)
    assert processes[0].returncode < 0  # killed
    assert not app.exception


def test_a_process_that_cannot_measure_is_said_in_a_sentence(monkeypatch):
    def without_memory(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(peak_memory.subprocess, "Popen", without_memory)
    app = until(opened("context_cost", **SMALL), "Measure again")
    assert "the process that measures memory did not start" in words(app)
    assert "Cannot allocate memory" in words(app)
    assert not app.exception
    monkeypatch.undo()
    press(app, "Measure again")
    until(app, "Measure again")
    assert app.session_state[parts.VISIT].result is not None


def test_moving_a_slider_leaves_the_measurement_and_begins_another():
    app = until(opened("context_cost", **SMALL), "Measure again")
    app.slider(key="seed").set_value(7).run()
    until(app, "Measure again")
    assert app.session_state[parts.VISIT].settings.seed == 7
    assert app.session_state[parts.VISIT].result.settings.seed == 7


def test_the_cap_of_the_server_limits_the_formula(monkeypatch):
    monkeypatch.setenv(parts.CAP_VARIABLE, "88")
    app = until(opened("context_cost", n_largest="1024", n_repeats="1"), "Measure again")
    assert "At 1,024 tokens the formula is left out: it needs 95 MiB" in words(app)
    assert "memory cap is 88 MiB" in words(app)


def test_a_size_beyond_the_cap_becomes_the_largest_allowed_one(monkeypatch):
    monkeypatch.setenv(parts.CAP_VARIABLE, "88")
    app = opened("context_cost", n_largest="16384", n_repeats="1")
    assert not app.exception
    assert "“Largest size (tokens)” can be at most 2,048 here. You chose 16,384" in words(app)


def test_a_cap_too_small_for_anything_is_said_in_a_sentence(monkeypatch):
    monkeypatch.setenv(parts.CAP_VARIABLE, "1")
    app = opened("context_cost", **SMALL)
    assert not app.exception
    assert "must be a whole number of MiB, at least 88, got '1'; 512 is used" in words(app)
    assert "What this does not show" in words(app)  # the rest of the page is there


@pytest.mark.parametrize("text", ["much", "-3", "0", "1.5", "", "9" * 5000])
def test_a_cap_that_is_no_number_is_said_and_the_default_used(monkeypatch, text):
    monkeypatch.setenv(parts.CAP_VARIABLE, text)
    assert parts.memory_cap() == (
        512,
        f"{parts.CAP_VARIABLE} must be a whole number of MiB, at least 88, "
        f"got {text if len(text) < 21 else text[:20] + '…'!r}; 512 is used.",
    )


def test_the_patterns_follow_their_sliders():
    app = opened("context_cost", **SMALL, context="4096", n_heads="10", n_layers="3")
    counted = pattern_memory(PatternSettings(context=4096, n_heads=10, n_layers=3))
    assert f"{counted.entries:,} entries in 30 patterns" in words(app)
