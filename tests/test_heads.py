"""core.heads: what each hand-set head looks at, and the spread of the random one."""

import numpy as np
import pytest

from core.attention import head_steps
from core.heads import HEADS, adjective_head, context_head, make_head, random_head
from core.lexicon import D_MODEL, LEXICON, QUALITIES, axis, random_vectors, word_vector


def run(head, words, causal=True):
    x = np.array([word_vector(word, 0) for word in words.split()])
    return x, head_steps(x, head.W_Q, head.W_K, head.W_V, causal=causal)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("d_k", [1, 2, 3, 64])
def test_shapes(name, d_k):
    head = make_head(name, d_k, np.random.default_rng(0))
    assert head.W_Q.shape == head.W_K.shape == (D_MODEL, d_k)
    assert head.W_V.shape == (D_MODEL, D_MODEL)


def test_unknown_head_is_refused():
    with pytest.raises(ValueError, match=r"^head must be one of adjectives, .*, got 'verbs'$"):
        make_head("verbs", 4, np.random.default_rng(0))


def test_only_nouns_ask_and_only_adjectives_answer():
    head = adjective_head(1)
    for word, vector in LEXICON.items():
        assert ((vector @ head.W_Q)[0] > 0) == (vector[axis("noun")] > 0), word
        assert ((vector @ head.W_K)[0] > 0) == (vector[axis("adjective")] > 0), word


def test_creature_looks_at_its_adjectives_and_takes_their_qualities():
    _, steps = run(adjective_head(4), "a fluffy blue creature")
    # A question that is met scores 8 / √4 = 4, against 0 for "a" and for itself.
    e4 = np.exp(4)
    met, unmet = e4 / (2 * e4 + 2), 1 / (2 * e4 + 2)
    np.testing.assert_allclose(steps.pattern[3], [unmet, met, met, unmet])
    expected = np.zeros(D_MODEL)
    expected[[axis("fluffy"), axis("blue")]] = met
    np.testing.assert_allclose(steps.output[3], expected)


def test_the_adjective_head_hands_over_qualities_alone():
    head = adjective_head(4)
    others = [at for at in range(D_MODEL) if at not in [axis(q) for q in QUALITIES]]
    for vector in LEXICON.values():
        assert not (vector @ head.W_V)[others].any()


def test_d_k_leaves_the_dot_products_and_shrinks_the_scores():
    for make in (adjective_head, context_head):
        small, large = (run(make(d_k), "the blue river bank")[1] for d_k in (4, 64))
        # Where the exact number is 0, a processor's own order of adding may leave 1e-16.
        np.testing.assert_allclose(small.Q @ small.K.T, large.Q @ large.K.T, atol=1e-12)
        np.testing.assert_allclose(small.scores, 4 * large.scores, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "gains", "loses"),
    [
        ("the river beside the bank", "water", "money"),
        ("the interest rate at the bank", "money", "water"),
    ],
)
def test_context_chooses_the_meaning_of_bank(words, gains, loses):
    x, steps = run(context_head(4), words)
    after = (x + steps.output)[-1]
    assert x[-1, axis("water")] == x[-1, axis("money")] == 0.7
    assert after[axis(gains)] > 1.2
    assert abs(after[axis(loses)]) < 0.15


def test_bank_alone_and_bank_beside_both_stay_undecided():
    for words in ("the bank", "river money bank"):
        x, steps = run(context_head(4), words)
        np.testing.assert_allclose(steps.output[-1], 0, atol=1e-15)
        np.testing.assert_array_equal((x + steps.output)[-1], x[-1])


def test_bank_does_not_look_at_itself():
    _, steps = run(context_head(4), "bank")
    assert steps.scores[0, 0] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(steps.V, 0, atol=1e-12)


def test_at_d_k_1_the_context_head_can_only_ask_about_water():
    _, steps = run(context_head(1), "the interest rate at the bank")
    np.testing.assert_allclose(steps.scores[-1], 0, atol=1e-12)
    _, steps = run(context_head(1), "the river beside the bank")
    assert steps.pattern[-1, 1] > 0.99


def test_with_the_mask_bank_cannot_see_what_comes_later():
    _, steps = run(context_head(4), "the bank beside the river")
    np.testing.assert_allclose(steps.output[1], 0, atol=1e-15)
    _, steps = run(context_head(4), "the bank beside the river", causal=False)
    assert steps.output[1, axis("water")] > 0.5


def test_random_head_spread_is_as_stated():
    # 40 heads of 64 columns over 64 vectors each, seed 0; a head's own spread varies by some 3 %.
    rng = np.random.default_rng(0)
    queries, scores, lengths = [], [], []
    for _ in range(40):
        head = random_head(64, rng)
        x = random_vectors(64, rng)
        q, k = x @ head.W_Q, x @ head.W_K
        queries.append(q.var())
        scores.append((q @ k.T / 8).var())
        lengths.append((x @ head.W_V).var() / x.var())
    for variances in (queries, scores, lengths):
        assert abs(np.mean(variances) - 1) < 0.05


def test_a_larger_d_k_keeps_the_columns_before():
    small, large = (random_head(d_k, np.random.default_rng(5)) for d_k in (3, 9))
    np.testing.assert_array_equal(small.W_Q, large.W_Q[:, :3])
    np.testing.assert_array_equal(small.W_K, large.W_K[:, :3])
    np.testing.assert_array_equal(small.W_V, large.W_V)


def test_equal_seeds_give_equal_heads_and_others_do_not():
    first, again, other = (random_head(4, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.W_K, again.W_K)
    assert not np.array_equal(first.W_K, other.W_K)
    assert not np.array_equal(first.W_Q, first.W_K)
