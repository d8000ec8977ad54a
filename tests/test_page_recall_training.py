"""The recall training page: a live run, its numbers, and the student's own question."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.asking import ask
from core.evaluation import evaluate
from core.recall_run import recall_parts, run_so_far
from core.tables import asking
from core.tables import recall as tables
from core.training import TrainSettings, train
from core.turns import TurnService
from pages.parts import training
from pages.parts.training import VISIT, Visit
from pages.parts.training_ask import read_pairs, read_question
from tests.page_helpers import opened, settled, word_tables, words

SHORT = TrainSettings(n_steps=200)


def trained(app: AppTest) -> AppTest:
    """Wait for the run as a browser does: by drawing the page again and again."""
    return settled(app, VISIT)


@pytest.fixture
def app() -> AppTest:
    return trained(opened("recall_training", n_steps="200"))


# --- the numbers on the page are core's ----------------------------------------------------------


def test_the_measured_table_is_what_core_computes():
    app = trained(opened("recall_training", unfold=["checkpoints"], n_steps="200"))
    run = run_so_far([part for part in recall_parts(SHORT) if part is not None])
    expected = tables.measured_in_words(
        tables.measured(run.learned, run.uniform, run.asked.learned, run.asked.uniform, SHORT)
    )
    shown = word_tables(app)[0].reset_index(drop=True)
    assert shown.astype(str).equals(expected.astype(str))
    assert tables.curve_sentence(run.learned, run.uniform, SHORT, run.asked.learned) in words(app)
    assert tables.ceiling_sentence(SHORT) in words(app)
    assert tables.loss_sentence(run.learned, run.uniform, SHORT) in words(app)
    assert tables.weights_sentence(run.asked.learned) in words(app)


def test_another_setting_gives_another_run(app):
    before = words(app)
    app.slider(key="n_values").set_value(4).run()
    settings = TrainSettings(n_steps=200, n_values=4)
    trained(app)
    run = run_so_far([part for part in recall_parts(settings) if part is not None])
    assert tables.weights_sentence(run.asked.learned) in words(app)
    assert tables.weights_sentence(run.asked.learned) not in before


def test_the_answer_is_the_trained_heads(app):
    result = app.session_state[VISIT].run.learned_result
    app.text_input(key="pairs").set_value("7:2, 1:5").run()
    app.text_input(key="question").set_value("1").run()
    reply = ask(result.parameters, [7, 1], [2, 5], 1)
    assert asking.reply_sentence(reply) in words(app)
    assert reply.predicted == 5


def test_evaluation_of_the_page_is_on_sequences_no_checkpoint_used(app):
    run = app.session_state[VISIT].run
    rng = np.random.default_rng(SHORT.seed).spawn(4)[3]
    again = evaluate(run.learned_result.parameters, run.learned_result.settings, rng=rng)
    assert run.asked.learned.weight_on_match == again.weight_on_match


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({}, "training takes the weight off the other pairs"),
        ({"init_scale": 0.3}, "training takes the weight off the other pairs"),
        ({"init_scale": 0.0}, "% right answers this head has not learned the task"),
    ],
)
def test_the_reason_given_is_that_of_this_run(setting, why):
    result = train(replace(SHORT, n_steps=1000, **setting))
    rng = np.random.default_rng(1)
    seen = evaluate(result.parameters, result.settings, rng=rng)
    assert why in tables.why_there(seen)
    assert "same key" not in tables.why_there(seen), "that is another page's question"


# --- what goes wrong is said ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "question", "sentence"),
    [
        ("0:6 0:1", "0", "The keys of “Your pairs” must differ from each other, got 0"),
        ("9:1 4:1", "4", "The keys of “Your pairs” must be from 0 to 7, got 9"),
        ("0:6 3:8", "3", "The values of “Your pairs” must be from 0 to 7, got 8"),
        ("banana", "0", "“Your pairs” must each be a key, a colon and a value"),
        ("", "0", "got nothing"),
        ("<b>1:2</b>", "0", "got <b>1:2</b>"),
        ("1:2 " * 3000 + "x" * 9000, "1", "got xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"),
        ("0:6 3:0", "4", "No pair has key 4, so no answer is right."),
        ("0:6 3:0", "8", "must be from 0 to 7, got 8"),
        ("0:6 3:0", "four", "must be one key, a whole number, got four"),
        ("0:6 3:0", "9" * 5000, "must be one key, a whole number, got 9999"),
    ],
)
def test_a_bad_question_gets_a_sentence_and_the_page_goes_on(app, pairs, question, sentence):
    app.text_input(key="pairs").set_value(pairs)
    app.text_input(key="question").set_value(question).run()
    assert not app.exception
    assert sentence in words(app)
    assert "What this does not show" in words(app)


def test_more_pairs_than_keys_are_lowered_with_a_note():
    app = opened("recall_training", n_steps="100", n_pairs="16", n_keys="4")
    assert "can be at most 4 here. You chose 16; 4 is used." in words(app)
    assert app.session_state[VISIT].settings.n_pairs == 4


def test_a_diverging_run_says_so_and_keeps_its_last_good_checkpoint():
    app = trained(opened("recall_training", optimiser="SGD", learning_rate="10.0"))
    assert "Learned: The loss stopped being a finite number at step" in words(app)
    last = app.session_state[VISIT].run.learned[-1]
    assert f"Step {last.step:,} of 3,000" in words(app)
    assert "The answer is value" in words(app)


# --- one visitor's run ---------------------------------------------------------------------------


def long_run(n_values: int = 8) -> TrainSettings:
    return TrainSettings(n_steps=10_000, batch_size=1024, n_values=n_values)


@pytest.fixture
def service(monkeypatch):
    """A service of the test's own, stepped by the test."""
    service = TurnService(max_live=1, max_waiting=1, turn_seconds=0.0, threaded=False)
    monkeypatch.setattr(training, "training_service", lambda: service)
    monkeypatch.setattr(training, "FIRST_LOOK_SECONDS", 0.0)
    return service


def test_the_checkpoints_are_drawn_when_they_are_unfolded(app):
    assert "Loss in nats" not in words(app)
    assert "Loss in nats" in words(opened("recall_training", unfold=["checkpoints"]))


def test_the_gradient_is_checked_when_the_training_has_ended(service):
    app = opened("recall_training", unfold=["gradients"], n_steps="20")
    # Beside the empty chart, and in place of the list.
    assert words(app).count("Checked when the training has ended") == 2
    assert "each moved by" not in words(app)
    while service.turn():
        pass
    app.run()
    assert "Checked when the training has ended" not in words(app)
    assert "24 parameters, each moved by" in words(app)


def visit_of(settings: TrainSettings) -> Visit:
    visit = Visit(settings=settings)
    visit.start()
    return visit


def test_a_stopped_visit_keeps_what_it_saw(service):
    visit = visit_of(long_run())
    for _ in range(20):
        service.turn()
    visit.poll()
    seen = len(visit.run.learned)
    assert seen > 0
    visit.stop()
    assert not visit.live
    assert visit.sentence().startswith("Stopped at step")
    assert service.turn() is False
    visit.poll()
    assert len(visit.run.learned) == seen


def test_one_of_two_visitors_stops_only_for_themselves(service):
    ann, bob = visit_of(long_run()), visit_of(long_run())
    ann.stop()
    for _ in range(20):
        service.turn()
    bob.poll()
    assert bob.live
    assert bob.run.learned
    assert not ann.run.learned


def test_moving_a_slider_ends_the_old_run_at_once():
    app = opened("recall_training", n_steps="10000", batch_size="1024", d_model="128")
    old = app.session_state[VISIT].job
    assert old.state in ("live", "waiting")
    app.slider(key="n_values").set_value(5).run()
    assert old.state == "stopped"
    app.session_state[VISIT].stop()


def test_the_place_in_the_queue_and_a_full_queue_are_said(service):
    visit_of(long_run(8))
    assert visit_of(long_run(7)).sentence() == "Waiting: number 1 in the queue."
    refused = visit_of(long_run(6))
    assert refused.sentence().startswith("Not started: 1 run is in progress and 1 is waiting")
    assert not refused.live


def test_many_live_runs_are_drawn_no_more_often_than_one(monkeypatch):
    service = TurnService(max_live=8, threaded=False)
    monkeypatch.setattr(training, "training_service", lambda: service)
    monkeypatch.setattr(training, "FIRST_LOOK_SECONDS", 0.0)
    visits = [visit_of(long_run(n_values)) for n_values in range(2, 10)]
    assert visits[0].poll_seconds == training.LONGEST_POLL_SECONDS
    for visit in visits[3:]:
        visit.stop()
    assert visits[0].poll_seconds == pytest.approx(3 * training.POLL_SECONDS)
    assert visits[-1].poll_seconds is None


def test_a_visit_that_was_dropped_starts_again_when_it_comes_back(service, monkeypatch):
    visit = visit_of(long_run())
    service.turn()
    now = service._clock()
    monkeypatch.setattr(service, "_clock", lambda: now + 1000)
    service.turn()
    assert visit.progress.state == "live"  # as last heard
    visit.poll()
    assert visit.live
    assert service.turn()


def test_a_finished_run_is_shown_as_trained_before_and_run_again_trains_anew(service):
    def finish() -> None:
        while service.turn():
            pass

    first = visit_of(SHORT)
    finish()
    first.poll()
    assert first.sentence() == "Training has ended."
    second = visit_of(SHORT)
    assert second.sentence() == "Shown from a run made before."
    second.start(again=True)
    assert second.live
    finish()
    second.poll()
    assert second.sentence() == "Training has ended."
    losses = [[point.loss for point in visit.run.learned] for visit in (first, second)]
    assert losses[0] == losses[1]
    assert second.job is not first.job


# --- the student's text --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0:6 3:0 4:1", "0:6,3:0;4:1", " 0 : 6\n3=0\t4→1 "])
def test_pairs_may_be_written_in_several_ways(text):
    assert read_pairs(text) == ([0, 3, 4], [6, 0, 1])


@pytest.mark.parametrize(
    "text", ["0", "0:", ":1", "0:1:2", "-1:2", "0.5:1", "٣:1", "12345:1", "a:b"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=r"^pairs must each be a key, a colon and a value"):
        read_pairs(text)


def test_the_question_is_one_whole_number():
    assert read_question(" 4 ") == 4
    with pytest.raises(ValueError, match=r"^question must be one key, a whole number, got 4\.5"):
        read_question("4.5")


def test_a_note_on_the_link_outlives_the_run_and_goes_when_a_control_moves():
    app = trained(opened("recall_training", n_keys="abc", n_steps="200"))
    note = "“Different keys” must be a whole number from 2 to 32. The link said abc; 8 is used."
    assert note in words(app)
    app.slider(key="n_steps").set_value(300).run()
    assert note not in words(app)
