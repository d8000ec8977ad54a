"""The task that needs word order: its sequences, and its ceiling against counting everything."""

import re
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.word_order import (
    N_KEYS,
    OrderSettings,
    arrange,
    one_hot,
    order_ceiling,
    sample_order,
)

tasks = st.builds(
    OrderSettings,
    n_times=st.integers(1, 4),
    n_others=st.integers(0, 7),
    n_values=st.integers(4, 12),
)


def every_sequence(n_times, n_others, n_keys, n_values):
    """Write out every sequence of the task with key 0 asked: its pairs in order, and the answer."""
    others = range(1, n_keys)
    for asked in permutations(range(n_values), n_times):
        for keys in permutations(others, n_others):
            for values in product(range(n_values), repeat=n_others):
                pairs = [*((0, value) for value in asked), *zip(keys, values, strict=True)]
                for order in permutations(pairs):
                    yield order, [value for key, value in order if key == 0][-1]


def best_rule(sequences, sees):
    """Count right answers of the best rule that tells apart only what ``sees`` returns.

    It does not assume how to guess: for everything the rule can see, every answer is tried.
    """
    seen: dict[object, dict[int, int]] = {}
    total = 0
    for order, answer in sequences:
        answers = seen.setdefault(sees(order), {})
        answers[answer] = answers.get(answer, 0) + 1
        total += 1
    return Fraction(sum(max(answers.values()) for answers in seen.values()), total)


SMALL = [
    (m, others, keys, values)
    for m, others, keys, values in product((1, 2, 3), (0, 1, 2), (2, 3), (3, 4))
    if others < keys and m + others <= 4
]


@pytest.mark.parametrize("task", SMALL)
def test_the_ceiling_equals_trying_every_rule_on_every_sequence(task):
    assert best_rule(every_sequence(*task), lambda order: tuple(sorted(order))) == order_ceiling(
        task[0]
    )


def test_a_rule_that_sees_the_order_is_always_right():
    """Negative control: the ceiling binds only those who cannot see the order."""
    assert best_rule(every_sequence(2, 1, 3, 3), lambda order: order) == 1


def test_a_rule_that_sees_only_what_stands_last_lies_between():
    rule = best_rule(every_sequence(2, 1, 3, 3), lambda order: (tuple(sorted(order)), order[-1]))
    assert order_ceiling(2) < rule < 1


def test_the_ceilings_are_exact_fractions():
    assert [order_ceiling(m) for m in (1, 2, 3)] == [Fraction(1), Fraction(1, 2), Fraction(1, 3)]
    assert order_ceiling(np.int64(2)) == Fraction(1, 2)
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match=f"n_times must be .* at least 1, got {bad}$"):
            order_ceiling(bad)


@given(tasks, st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_every_sequence_is_of_the_task(task, seed):
    drawn = sample_order(task, 20, np.random.default_rng(seed))
    assert len(drawn) == 20
    assert drawn.keys.shape == drawn.values.shape == (20, task.n_pairs)
    for keys, values, question, last, answer in zip(
        drawn.keys, drawn.values, drawn.questions, drawn.last, drawn.answers, strict=True
    ):
        places = [i for i, key in enumerate(keys) if key == question]
        assert len(places) == task.n_times
        assert len({values[i] for i in places}) == task.n_times
        assert last == places[-1]
        assert answer == values[last]
        others = [key for key in keys if key != question]
        assert len(set(others)) == len(others) == task.n_others
        assert max(values) < task.n_values
        assert max(keys) < N_KEYS


def test_each_place_is_the_last_fact_as_often_as_counting_says():
    """20,000 sequences: a share's standard error is below 0.0036; the tolerance is four."""
    task = OrderSettings(n_times=2, n_others=2)
    drawn = sample_order(task, 20_000, np.random.default_rng(0))
    # Two of four places at random: the later one is at place 1, 2, 3 in 1, 2, 3 of 6 cases.
    shares = np.bincount(drawn.last, minlength=4) / 20_000
    assert shares == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6], abs=0.0143)
    first = drawn.answers == drawn.values.min(axis=1)
    assert 0.1 < first.mean() < 0.9


def test_a_token_is_the_sum_of_its_parts():
    task = OrderSettings(n_times=2, n_others=1, n_values=4, float_type="float32")
    sequences = arrange(np.array([[4, 0, 4]]), np.array([[2, 1, 3]]), np.array([4]))
    [tokens] = one_hot(task, sequences)
    assert tokens.dtype == np.float32
    assert tokens.shape == (4, N_KEYS + 4)
    parts = [np.flatnonzero(token).tolist() for token in tokens]
    assert parts == [[4, N_KEYS + 2], [0, N_KEYS + 1], [4, N_KEYS + 3], [4]]
    assert tokens.max() == 1


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"n_times": 0}, "n_times must be a whole number from 1 to 4, got 0"),
        ({"n_others": 8}, "n_others must be a whole number from 0 to 7, got 8"),
        ({"n_values": 3}, "n_values must be a whole number from 4 to 32, got 3"),
        ({"n_steps": 1.5}, "n_steps must be a whole number from 0 to 3,000, got 1.5"),
        ({"batch_size": True}, "batch_size must be a whole number from 1 to 1,024, got True"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"alibi_slope": -0.5}, "alibi_slope must be from 0 to 16, got -0.5"),
        ({"alibi_slope": float("nan")}, "alibi_slope must be from 0 to 16, got nan"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and at most 10, got 0.0"),
        ({"init_scale": 11.0}, "init_scale must be from 0 to 10, got 11.0"),
        ({"d_k": 3}, "d_k must be one of 2, 4, 8, 16, 32, 64, got 3"),
        ({"d_model": 128}, "d_model must be one of 2, 4, 8, 16, 32, 64, got 128"),
        (
            {"scheme": "rope"},
            "scheme must be one of none, learned, sinusoidal, rotary, alibi, got rope",
        ),
        ({"float_type": "float16"}, "float_type must be one of float32, float64, got float16"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(bad, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        OrderSettings(**bad)
