"""What follows a slider is drawn in turn, and its answer before its controls."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.parts import moving, scaling, server
from pages.parts.moving import _in_turn, give_way, paint_first, turn_given
from pages.parts.server import training_service

ROOT = Path(__file__).parents[1]
LONG = 20  # seconds; a bound, not a measurement


def page():
    import streamlit as st

    from pages.parts.controls import Slider, draw
    from pages.parts.moving import draw_moving, paint_first

    def part(name):
        values = draw((Slider(key="n", label="n", low=0, high=9, default=3),))
        st.markdown(f"{name} {values['n']}")
        paint_first()
        st.caption("the rest")

    draw_moving(part, "answer")


@pytest.fixture
def sent(monkeypatch):
    """What is put on the page, in that order."""
    sent = []
    for name in ("slider", "markdown", "caption"):
        real = getattr(st, name)

        def spy(*args, real=real, name=name, **options):
            sent.append(name)
            return real(*args, **options)

        monkeypatch.setattr(st, name, spy)
    monkeypatch.setattr(moving, "PAINTING", 0)
    return sent


def test_the_answer_comes_before_the_controls_once_their_values_are_known(sent):
    app = AppTest.from_function(page).run()
    assert sent == ["slider", "markdown", "caption"]
    sent.clear()
    app.slider(key="n").set_value(7).run()
    assert sent == ["markdown", "slider", "caption"]
    assert [element.value for element in app.markdown] == ["answer 7"]
    # Above the answer on the page all the same.
    kinds = [type(element).__name__ for element in app.main]
    assert [kind for kind in kinds if kind in ("Slider", "Markdown")] == ["Slider", "Markdown"]


def test_controls_are_drawn_where_no_answer_comes(sent):
    def early():
        import streamlit as st

        from pages.parts.controls import Slider, draw
        from pages.parts.moving import draw_moving

        def part():
            draw((Slider(key="n", label="n", low=0, high=9, default=3),))
            st.markdown("that cannot be")

        draw_moving(part)

    app = AppTest.from_function(early).run()
    app.slider(key="n").set_value(5).run()
    assert sent == ["slider", "markdown", "markdown", "slider"]
    assert app.slider(key="n").value == 5


def test_one_is_drawn_at_a_time():
    at_work, most = 0, 0
    counting = threading.Lock()

    def draw(_):
        nonlocal at_work, most
        with _in_turn():
            with counting:
                at_work += 1
                most = max(most, at_work)
            time.sleep(0.005)
            with counting:
                at_work -= 1

    with ThreadPoolExecutor(8) as class_:
        list(class_.map(draw, range(24)))
    assert most == 1


def test_while_one_is_painted_another_is_drawn(monkeypatch):
    other_drew = threading.Event()

    def other():
        with _in_turn():
            other_drew.set()

    def wait(_):
        threading.Thread(target=other).start()
        assert other_drew.wait(LONG)

    monkeypatch.setattr(moving.time, "sleep", wait)
    with _in_turn():
        paint_first()
        assert moving._turn.locked()
    assert not moving._turn.locked()


@pytest.mark.parametrize(("waited", "pause"), [(0.0, 0.06), (0.02, 0.04), (0.5, 0.01)])
def test_the_wait_for_its_turn_is_part_of_the_pause(waited, pause, monkeypatch):
    slept, clock = [], iter((7.0, 7.0 + waited))
    monkeypatch.setattr(
        moving, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=slept.append)
    )
    with _in_turn():
        paint_first()
    assert slept == [pytest.approx(pause)]


def test_who_was_let_through_out_of_turn_pauses_in_full(monkeypatch):
    slept = []
    monkeypatch.setattr(moving, "PATIENCE", 0.05)
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=slept.append)
    monkeypatch.setattr(moving, "time", clock)  # other threads sleep too
    with moving._turn, _in_turn():
        assert moving._run.waited > 0
        paint_first()
    assert slept == [moving.PAINTING]


def test_while_one_computes_without_its_turn_another_is_drawn():
    other_drew = threading.Event()

    def other():
        with _in_turn():
            other_drew.set()

    with _in_turn():
        with turn_given():
            threading.Thread(target=other).start()
            assert other_drew.wait(LONG)
        assert moving._turn.locked()
    assert not moving._turn.locked()


def test_the_turn_is_taken_back_from_a_computation_that_fails():
    with _in_turn():
        with pytest.raises(ZeroDivisionError), turn_given():
            raise ZeroDivisionError
        assert moving._turn.locked()
    assert not moving._turn.locked()


def charted():
    import pandas as pd
    import streamlit as st

    from core.charts.mask_leak import influence, output_changes
    from core.charts.mechanism import moves
    from pages.parts.moving import draw_moving, paint_first
    from pages.parts.show import show_chart

    def part():
        high, rows, other = (st.slider(name, 0, 9, 3) for name in ("high", "rows", "other"))
        frame = pd.DataFrame({"Position": [0, 1], "Largest change": [0.0, float(high)]})
        show_chart(output_changes, frame, key="first", says="", alt_text="first")
        show_chart(moves, frame, rows, key="second", says="", alt_text="second")
        paint_first()
        # What comes later does not count.
        show_chart(influence, frame * other, key="third", says="", alt_text="third")

    draw_moving(part)


@pytest.mark.parametrize(("slider", "pauses"), [("high", 1), ("rows", 1), ("other", 0)])
def test_it_pauses_for_a_chart_that_changed_and_only_then(slider, pauses, monkeypatch):
    paused = []
    monkeypatch.setattr(moving, "_pause", lambda: paused.append(None))
    app = AppTest.from_function(charted).run()
    assert len(paused) == 1  # everything is new
    for value in (5, 6):
        paused.clear()
        moved = next(found for found in app.slider if found.label == slider)
        moved.set_value(value).run()
        assert not app.exception
        assert len(paused) == pauses


def test_it_pauses_on_a_page_that_is_opened_again_as_it_was(monkeypatch):
    paused = []
    monkeypatch.setattr(moving, "_pause", lambda: paused.append(None))
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=LONG).run()
    app.switch_page("pages/mask_leak.py").run()
    next(found for found in app.button if found.key.endswith("_skip")).click().run()
    assert len(paused) == 1
    app.run()
    assert len(paused) == 1
    app.switch_page("streamlit_app.py").run()
    app.switch_page("pages/mask_leak.py").run()
    assert len(paused) == 2


def test_the_draws_for_the_scores_are_made_without_the_turn(monkeypatch):
    turns = []
    real = scaling.scaling_of

    def spy(settings):
        turns.append((moving._run.has_turn, moving._turn.locked()))
        return real(settings)

    monkeypatch.setattr(scaling, "scaling_of", spy)
    AppTest.from_function(scores, default_timeout=LONG).run()
    assert turns == [(True, False)]


def scores():
    from pages.parts.moving import draw_moving
    from pages.parts.scaling import show_scaling

    draw_moving(show_scaling)


def test_it_pauses_where_there_is_no_chart_to_compare(monkeypatch, sent):
    paused = []
    monkeypatch.setattr(moving, "_pause", lambda: paused.append(None))
    app = AppTest.from_function(page).run()
    app.slider(key="n").set_value(7).run()
    assert len(paused) == 2


def test_a_part_that_fails_gives_its_turn_back():
    with pytest.raises(ZeroDivisionError), _in_turn():
        raise ZeroDivisionError
    assert not moving._turn.locked()


def test_one_that_hangs_does_not_hold_up_the_others_for_long(monkeypatch):
    monkeypatch.setattr(moving, "PATIENCE", 0.05)
    with moving._turn:
        with _in_turn():
            assert not moving._run.has_turn
        assert moving._turn.locked(), "who had no turn must not give it back"


def test_training_gives_way_to_an_answer_that_is_being_drawn(monkeypatch):
    monkeypatch.setattr(moving, "COURTESY", LONG)
    gave_way = threading.Event()

    def work():
        give_way()
        gave_way.set()

    with _in_turn():
        threading.Thread(target=work).start()
        assert not gave_way.wait(0.05)
    assert gave_way.wait(LONG)
    with moving._turn:
        pass  # and has not kept the turn


def test_training_goes_on_beside_answers_that_never_cease(monkeypatch):
    monkeypatch.setattr(moving, "COURTESY", 0.01)
    with moving._turn:
        give_way()
        assert moving._turn.locked(), "whose turn it is must still have it"


def test_every_step_of_training_gives_way(monkeypatch):
    steps = []
    monkeypatch.setattr(server, "give_way", lambda: steps.append("gave way"))
    training_service.clear()
    try:
        service = training_service()
        job = service.submit("key", lambda: iter((1, 2)), "ann")
        end = time.monotonic() + LONG
        while service.poll(job, "ann").state != "done" and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        training_service.clear()
    assert len(steps) >= 2
