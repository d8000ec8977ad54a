"""The benchmarks of compute measure what they say, with clocks that are not real."""

import numpy as np
import pytest

from benchmarks.compute_training import count_calls, draw, our_trainer, verdicts
from benchmarks.counting import Counted
from benchmarks.timing import REST_SECONDS, Spread, measure_in_turns, ratio
from core.circuits import index_parts
from core.recall import Sequences, recall_loss
from core.train_settings import TrainSettings


def test_methods_are_timed_in_turns_and_each_repeat_begins_with_another_one():
    now = [0.0]
    order = []

    def taking(name, seconds):
        def method():
            order.append(name)
            now[0] += seconds

        return method

    seconds = measure_in_turns(
        {"a": taking("a", 1), "b": taking("b", 2), "c": taking("c", 3)},
        4,
        clock=lambda: now[0],
        sleep=lambda _: None,
    )
    assert seconds == {"a": [1] * 4, "b": [2] * 4, "c": [3] * 4}
    assert "".join(order[6:]) == "abc" + "bca" + "cab" + "abc"


def test_a_short_method_is_called_until_a_timing_lasts_long_enough():
    now = [0.0]
    calls = []

    def method():
        calls.append(None)
        now[0] += 0.25

    seconds = measure_in_turns(
        {"short": method}, 3, min_seconds=1, clock=lambda: now[0], sleep=lambda _: None
    )
    assert seconds == {"short": [0.25] * 3}
    assert len(calls) == 2 + 3 * 4


def test_a_rest_comes_before_every_timing_and_is_not_part_of_it():
    now = [0.0]

    def spend(seconds):
        now[0] += seconds

    seconds = measure_in_turns({"a": lambda: spend(1)}, 2, clock=lambda: now[0], sleep=spend)
    assert seconds == {"a": pytest.approx([1, 1])}
    assert now[0] == pytest.approx(2 + 2 * 1 + 2 * REST_SECONDS)  # two calls before, untimed


def test_a_ratio_is_taken_within_each_repeat():
    # Everything slows down tenfold in the middle: the ratio does not see it.
    assert ratio([3, 30, 3], [1, 10, 1]) == Spread(median=3, lower=3, upper=3)


def test_counting_changes_no_result_and_counts_what_touches_numbers():
    plain = np.arange(6.0).reshape(2, 3)
    counted = Counted.of(plain.copy())
    cases = (
        (lambda a: a + 1, 1),
        (lambda a: a.sum(axis=0), 1),
        (lambda a: np.exp(a - a.max(axis=1, keepdims=True)), 3),
        (lambda a: a @ a.T, 1),
        (lambda a: a.dot(a.T), 1),
        (lambda a: a.take([0, 3]), 1),
        (lambda a: a.ravel()[np.array([1, 1])], 1),
        (lambda a: np.concatenate([a, a]).astype(np.float32), 2),
        (lambda a: np.bincount([0, 1, 1], weights=a[0]) * 2, 2),
        (lambda a: a[:1].T.reshape(-1), 0),
    )
    for calculate, n_calls in cases:
        Counted.calls.clear()
        np.testing.assert_array_equal(np.asarray(calculate(counted)), calculate(plain))
        assert Counted.calls.total() == n_calls, Counted.calls


def test_what_is_timed_is_the_models_training():
    settings = TrainSettings(n_steps=150, batch_size=32)
    lesson = draw(settings)
    losses = our_trainer(lesson)()
    assert losses.shape == (150,)
    first = Sequences(**{name: array[:32] for name, array in vars(lesson.sequences).items()})
    assert losses[0] == pytest.approx(recall_loss(lesson.start, first), rel=1e-5)
    assert losses[-10:].mean() < 0.1 < losses[:10].mean()


def test_a_step_makes_the_same_calls_whatever_its_sizes():
    small = TrainSettings(n_pairs=1, n_keys=1, n_values=2, d_model=1, d_k=1, batch_size=1)
    counts = {count_calls(draw(s)) for s in (small, TrainSettings(n_steps=1))}
    assert len(counts) == 1
    assert counts.pop() > 30


def test_chunks_hold_the_batches_in_order():
    lesson = draw(TrainSettings(n_steps=6, batch_size=4))
    whole = index_parts(lesson.sequences, 8, 8, 4)
    parts = [
        batch
        for start in range(0, 24, 8)
        for batch in index_parts(lesson.part(start, start + 8), 8, 8, 4)
    ]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.in_qk, other.in_qk)
        np.testing.assert_array_equal(one.answers, other.answers)


def test_a_missed_aim_is_said():
    rows = [
        {"Method": "JAX, compiled", "Batch (sequences)": 256, "Against ours (×)": 0.5},
        {"Method": "JAX, compiled", "Batch (sequences)": 64, "Against ours (×)": 0.5},
        {"Method": "PyTorch, eager", "Batch (sequences)": 64, "Against ours (×)": 9.0},
    ]
    missed, met = verdicts(rows)
    assert missed.startswith("JAX, compiled, batch 256: 0.50 times as long as ours; the aim is")
    assert missed.endswith("missed.")
    assert met.endswith("met.")
