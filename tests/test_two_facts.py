"""core.two_facts: sequences with a question about two keys, drawn or listed one by one."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.two_facts import ORDERS, all_two_facts, count_all, sample_two_facts, two_facts
from core.two_facts_settings import GOALS, TwoFactsSettings

KEYS, VALUES = np.array([[5, 2, 7]]), np.array([[3, 1, 1]])


def test_the_answers_follow_the_question_or_the_size_of_the_values():
    asked = np.array([[0, 2]])
    assert two_facts(KEYS, VALUES, asked, "as asked").answers.tolist() == [[3, 1]]
    assert two_facts(KEYS, VALUES, asked, "smallest first").answers.tolist() == [[1, 3]]
    assert two_facts(KEYS, VALUES, asked, "as asked").named.tolist() == [[5, 7]]
    turned = two_facts(KEYS, VALUES, asked[:, ::-1], "as asked")
    assert (turned.named.tolist(), turned.answers.tolist()) == ([[7, 5]], [[1, 3]])


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(2, 5), st.sampled_from(ORDERS), st.integers(0, 99))
def test_a_drawn_sequence_is_what_it_says(n_pairs, n_values, order, seed):
    drawn = sample_two_facts(50, n_pairs, 6, n_values, order, np.random.default_rng(seed))
    assert len(drawn) == 50
    for keys, values, (one, other), named, answers in zip(
        drawn.keys, drawn.values, drawn.asked, drawn.named, drawn.answers, strict=True
    ):
        assert len(set(keys)) == n_pairs
        assert one != other
        assert [keys[one], keys[other]] == list(named)
        right = [values[one], values[other]]
        assert list(answers) == (right if order == "as asked" else sorted(right))


def test_both_orders_ask_for_the_same_values_of_the_same_sequences():
    one, other = (
        sample_two_facts(200, 3, 8, 8, order, np.random.default_rng(3)) for order in ORDERS
    )
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.asked, other.asked)
    np.testing.assert_array_equal(np.sort(one.answers, axis=1), other.answers)
    assert (one.answers != other.answers).any()


def test_every_two_pairs_are_asked_about_alike_often():
    """60,000 draws over 6 ordered questions: each 10,000 ± 5 standard errors of 91."""
    drawn = sample_two_facts(60_000, 3, 8, 8, "as asked", np.random.default_rng(0))
    for one, other in permutations(range(3), 2):
        count = (drawn.asked == [one, other]).all(axis=1).sum()
        assert abs(count - 10_000) < 5 * 91


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 4, 3), (3, 4, 2), (3, 3, 3)])
def test_every_sequence_is_listed_once(sizes):
    n_pairs, n_keys, n_values = sizes
    listed = set()
    total = 0
    for some in all_two_facts(n_pairs, n_keys, n_values, "as asked"):
        for keys, values, named, answers in zip(
            some.keys, some.values, some.named, some.answers, strict=True
        ):
            pairs = dict(zip(keys.tolist(), values.tolist(), strict=True))
            assert [pairs[key] for key in named.tolist()] == answers.tolist()
            listed.add((frozenset(pairs.items()), tuple(named.tolist())))
            total += 1
    by_hand = {
        (frozenset(zip(keys, values, strict=True)), named)
        for keys in permutations(range(n_keys), n_pairs)
        for values in product(range(n_values), repeat=n_pairs)
        for named in permutations(keys, 2)
    }
    assert listed == by_hand
    assert total == len(by_hand) == count_all(n_pairs, n_keys, n_values)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("n_heads", 5, "n_heads must be a whole number from 1 to 4, got 5"),
        ("n_heads", True, "n_heads must be a whole number from 1 to 4, got True"),
        ("n_pairs", 1, "n_pairs must be a whole number from 2 to 8, got 1"),
        ("n_keys", 2, "n_pairs must be at most n_keys (2), got 3"),
        ("learning_rate", 0.0, "learning_rate must be above 0 and at most 1, got 0.0"),
        ("init_scale", -1.0, "init_scale must be from 0 to 10, got -1.0"),
        ("seed", -1, "seed must be a whole number of at least 0, got -1"),
        ("order", "any", "order must be one of as asked, smallest first, got any"),
        ("goal", "fun", "goal must be one of fewest errors, cross-entropy, got fun"),
    ],
)
def test_bad_settings_are_said_in_a_sentence(field, value, sentence):
    with pytest.raises(ValueError, match="must") as error:
        TwoFactsSettings(**{field: value})
    assert str(error.value) == sentence


def test_the_loss_turns_within_the_first_third():
    errors, entropy = (TwoFactsSettings(goal=goal, n_steps=900) for goal in GOALS)
    assert [errors.q_at(step) for step in (0, 150, 300, 900)] == [0.0, 0.5, 1.0, 1.0]
    assert {entropy.q_at(step) for step in (0, 150, 300, 900)} == {0.0}
    assert TwoFactsSettings(n_steps=0).q_at(0) == 0.0
