"""core.mechanism: the stages fit together, and the words move where they should."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.attention import attention
from core.heads import HEADS
from core.lexicon import D_MODEL, LEXICON, MEANINGS, axis
from core.mechanism import (
    PRESETS,
    VECTORS,
    MechanismSettings,
    cosines,
    explain_row,
    mechanism,
    moves,
    preset_moves,
    score_factor,
)

words = st.sampled_from([*sorted(LEXICON), "zorp", "<b>", "$x$"])
any_settings = st.builds(
    MechanismSettings,
    sentence=st.lists(words, min_size=1, max_size=8).map(" ".join),
    vectors=st.sampled_from(VECTORS),
    head=st.sampled_from(HEADS),
    d_k=st.integers(1, 64),
    causal=st.booleans(),
    divide=st.booleans(),
    score_scale=st.floats(0, 10),
    seed=st.integers(0, 99),
)
few = settings(max_examples=40, deadline=None)


def move_of(result, direction):
    (found,) = (m for m in moves(result, len(result.tokens) - 1) if m.direction == direction)
    return found


def test_creature_turns_towards_fluffy_and_blue():
    result = mechanism(MechanismSettings())
    # Before: noun and creature, 1 each. After, each quality gains w of its adjective.
    w = np.exp(4) / (2 * np.exp(4) + 2)
    for quality in ("fluffy", "blue"):
        move = move_of(result, quality)
        assert move.word == "4 creature"
        assert move.before == 0
        assert move.after == pytest.approx(w / np.sqrt(2 + 2 * w**2))
        assert move.after > 0.3
        assert move.change == move.after
    own = move_of(result, "creature")
    assert own.after > 0.6  # refined, not replaced
    assert own.change == own.after - own.before < 0


def test_creature_turns_towards_the_words_themselves_too():
    result = mechanism(MechanismSettings())
    for label in ("2 fluffy", "3 blue"):
        move = move_of(result, label)
        assert move.before == 0
        assert move.after > 0.2
    assert move_of(result, "4 creature").before == pytest.approx(1)


@pytest.mark.parametrize(
    ("preset", "gains", "loses"),
    [
        ("Bank beside river", "water", "money"),
        ("Bank beside interest rate", "money", "water"),
    ],
)
def test_bank_turns_towards_the_meaning_of_its_neighbour(preset, gains, loses):
    result = mechanism(PRESETS[preset])
    start = 0.7 / np.sqrt(2 + 2 * 0.7**2)
    assert move_of(result, gains).before == pytest.approx(start)
    assert move_of(result, loses).before == pytest.approx(start)
    assert move_of(result, gains).after > 0.65
    assert abs(move_of(result, loses).after) < 0.1


def test_preset_moves_are_those_of_the_presets():
    found = preset_moves(MechanismSettings(head="random", sentence="zorp", vectors="random"))
    assert {name: [m.direction for m in found[name]] for name in found} == {
        "A fluffy blue creature": ["fluffy", "blue"],
        "Bank beside river": ["water", "money"],
        "Bank beside interest rate": ["water", "money"],
    }
    for name, pair in found.items():
        result = mechanism(PRESETS[name])
        assert pair == tuple(move_of(result, move.direction) for move in pair)


def test_preset_moves_follow_the_other_settings():
    none = preset_moves(MechanismSettings(score_scale=0.0))
    full = preset_moves(MechanismSettings())
    for name in full:
        assert abs(none[name][0].change) < abs(full[name][0].change)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_run(preset):
    result = mechanism(PRESETS[preset])
    assert np.isfinite(result.updated).all()


def test_random_vectors_differ_for_repeated_words_and_have_no_named_directions():
    result = mechanism(PRESETS["Random vectors"])
    assert len({tuple(row) for row in result.X.tolist()}) == len(result.tokens) == 8
    assert [m.direction for m in moves(result, 0)] == [f"{at} random" for at in range(1, 9)]


@few
@given(any_settings)
def test_stages_fit_together(run):
    result = mechanism(run)
    n = len(result.tokens)
    steps, weights = result.steps, result.weights
    assert result.X.shape == result.updated.shape == steps.output.shape == (n, D_MODEL)
    assert steps.Q.shape == steps.K.shape == (n, run.d_k)
    np.testing.assert_array_equal(result.updated, result.X + steps.output)
    np.testing.assert_allclose(steps.pattern.sum(axis=1), 1)
    np.testing.assert_allclose(steps.scores, steps.Q @ steps.K.T * score_factor(run), atol=1e-9)
    # The article's own signature always divides; a larger W_Q makes up for it.
    w_q = weights.W_Q * score_factor(run) * np.sqrt(run.d_k)
    output, pattern = attention(result.X, w_q, weights.W_K, weights.W_V, run.causal)
    np.testing.assert_allclose(steps.output, output, atol=1e-9)
    np.testing.assert_allclose(steps.pattern, pattern, atol=1e-9)


@few
@given(any_settings, st.integers(0, 7))
def test_a_row_step_by_step_is_the_row_of_the_table(run, index):
    result = mechanism(run)
    index %= len(result.tokens)
    row = explain_row(result, index)
    steps = result.steps
    np.testing.assert_allclose(row.dots, steps.K @ steps.Q[index], atol=1e-9)
    np.testing.assert_allclose(row.scores, steps.scores[index], atol=1e-9)
    np.testing.assert_array_equal(row.allowed, steps.masked_scores[index] > -np.inf)
    np.testing.assert_allclose(row.weights, steps.pattern[index], atol=1e-12)
    np.testing.assert_allclose(row.total, steps.output[index], atol=1e-12)
    assert row.exponentials.max() == pytest.approx(1)
    assert (row.weights[~row.allowed] == 0).all()
    assert (row.weighted_values[~row.allowed] == 0).all()
    assert row.token == result.tokens[index]


@few
@given(any_settings)
def test_equal_settings_give_equal_results(run):
    first, again = mechanism(run), mechanism(replace(run))
    for name in ("X", "updated"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    np.testing.assert_array_equal(first.steps.pattern, again.steps.pattern)


@few
@given(any_settings)
def test_a_causal_head_never_changes_the_past(run):
    """Adding a word at the end leaves every earlier row as it was."""
    run = replace(run, causal=True)
    shorter = mechanism(run)
    longer = mechanism(replace(run, sentence=f"{run.sentence} fluffy"))
    n = len(shorter.tokens)
    np.testing.assert_allclose(longer.updated[:n], shorter.updated, atol=1e-12)


def test_very_large_scores_stay_finite():
    run = MechanismSettings(
        sentence="zorp fluffy blue creature", head="random", d_k=1024, divide=False, score_scale=100
    )
    result = mechanism(run)
    assert np.abs(result.steps.scores).max() > 1000
    assert np.isfinite(result.updated).all()
    for index in range(4):
        assert np.isfinite(explain_row(result, index).total).all()


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({}, 0.5),
        ({"divide": False}, 1),
        ({"d_k": 64}, 0.125),
        ({"d_k": 64, "score_scale": 4.0}, 0.5),
        ({"divide": False, "score_scale": 3.0}, 3),
    ],
)
def test_score_factor(changes, factor):
    assert score_factor(MechanismSettings(**changes)) == factor


def test_cosines_against_the_definition():
    rng = np.random.default_rng(0)
    vectors, directions = rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
    expected = [
        [v @ d / (np.sqrt((v**2).sum()) * np.sqrt((d**2).sum())) for d in directions]
        for v in vectors
    ]
    np.testing.assert_allclose(cosines(vectors, directions), expected)
    assert not cosines(np.zeros((1, 5)), directions).any()
    assert not cosines(vectors, np.zeros((1, 5))).any()
    np.testing.assert_allclose(cosines(3 * vectors, 0.1 * directions), expected)


def test_meanings_are_measured_along_their_axes():
    result = mechanism(MechanismSettings(sentence="blue"))
    for move in moves(result, 0)[: len(MEANINGS)]:
        length = np.linalg.norm(result.X[0])
        assert move.before == pytest.approx(result.X[0, axis(move.direction)] / length)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence": ""}, "sentence must have at least 1 word, got none"),
        ({"sentence": "x" * 10_000}, "sentence must have at most 400 characters, got 10,000"),
        ({"vectors": "learned"}, "vectors must be one of lexicon, random, got 'learned'"),
        ({"head": "verbs"}, "head must be one of adjectives, context, random, got 'verbs'"),
        ({"d_k": 0}, "d_k must be from 1 to 1,024, got 0"),
        ({"d_k": 1025}, "d_k must be from 1 to 1,024, got 1025"),
        ({"score_scale": -0.1}, "score_scale must be from 0 to 100, got -0.1"),
        ({"score_scale": float("nan")}, "score_scale must be from 0 to 100, got nan"),
        ({"score_scale": float("inf")}, "score_scale must be from 0 to 100, got inf"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        MechanismSettings(**changes)


def test_negative_control_the_wrong_head_does_not_move_bank():
    """A head that asks for adjectives cannot tell the two banks apart."""
    for name in ("Bank beside river", "Bank beside interest rate"):
        result = mechanism(replace(PRESETS[name], head="adjectives"))
        for direction in ("water", "money"):
            assert move_of(result, direction).change == pytest.approx(0)
