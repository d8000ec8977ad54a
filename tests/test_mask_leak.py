"""The leak test itself, its influence map, and the broken masks it must catch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.attention import attention
from core.mask_leak import MASKS, LeakSettings, check_masks, influence, leak, pattern_under
from core.tables import mask_leak as tables

runs = st.builds(
    lambda n, where, size, seed: LeakSettings(
        n_tokens=n, position=min(int(where * n), n - 1), size=size, seed=seed
    ),
    st.integers(2, 64),
    st.floats(0, 1),
    st.floats(0.1, 10),
    st.integers(0, 99),
)


def test_the_article_run_moves_nothing_before_the_change_and_much_without_the_mask():
    result = leak(LeakSettings())
    assert result.masked.shape == result.unmasked.shape == (16,)
    assert np.array_equal(result.masked[:10], np.zeros(10))
    assert result.masked[10:].min() > 0
    assert result.unmasked.min() > 0.01


@settings(max_examples=40, deadline=None)
@given(runs)
def test_nothing_before_the_change_moves_by_a_single_bit(run):
    result = leak(run)
    assert np.array_equal(result.masked[: run.position], np.zeros(run.position))
    assert result.masked[run.position] > 0
    assert (result.unmasked > 0).all()


@settings(max_examples=15, deadline=None)
@given(runs)
def test_the_influence_map_is_exactly_zero_above_the_diagonal(run):
    table = influence(run)
    above = np.triu_indices(run.n_tokens, 1)
    assert np.count_nonzero(table[above]) == 0
    assert (np.diag(table) > 0).all()


def test_a_column_of_the_map_is_the_leak_test_at_that_position():
    run = LeakSettings(n_tokens=12, position=7, mask="none")
    np.testing.assert_array_equal(influence(run)[:, 7], leak(run).unmasked)


def test_the_outputs_are_those_of_the_head():
    # The same draws, put through core.attention by hand.
    for_x, for_head, for_change = np.random.default_rng(3).spawn(3)
    x = for_x.standard_normal((16, 32))
    w_q, w_k, w_v = for_head.standard_normal((3, 32, 32)) / np.sqrt(32)
    changed = x.copy()
    changed[10] += 2 * for_change.standard_normal(32)
    for causal, name in ((True, "masked"), (False, "unmasked")):
        difference = (
            attention(changed, w_q, w_k, w_v, causal)[0] - attention(x, w_q, w_k, w_v, causal)[0]
        )
        expected = np.abs(difference).max(axis=1)
        got = getattr(leak(LeakSettings(size=2.0, seed=3)), name)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_a_change_of_size_0_moves_nothing_at_all():
    result = leak(LeakSettings(size=0))
    assert not result.masked.any()
    assert not result.unmasked.any()


def test_every_broken_mask_is_caught():
    checks = {check.mask: check for check in check_masks(LeakSettings())}
    assert tuple(checks) == MASKS
    assert checks["correct"].largest_before == 0
    assert checks["correct"].n_moved_before == 0
    assert checks["off by one"].n_moved_before == 1
    for mask in ("after softmax", "−10 for −∞", "none"):
        assert checks[mask].n_moved_before == 10
        assert checks[mask].largest_before > 0
    # Only the mask applied too late breaks the rows' sum, which is how to tell it apart.
    for mask in MASKS:
        assert (checks[mask].row_sums[0] < 0.99) == (mask == "after softmax")
    assert checks["−10 for −∞"].largest_before < 0.01 < checks["none"].largest_before


def test_equal_settings_give_equal_results_and_another_seed_does_not():
    assert np.array_equal(leak(LeakSettings()).unmasked, leak(LeakSettings()).unmasked)
    assert not np.array_equal(leak(LeakSettings()).unmasked, leak(LeakSettings(seed=1)).unmasked)


def test_lengthening_the_sequence_does_not_redraw_what_came_before():
    short = leak(LeakSettings(n_tokens=12, position=5)).masked
    long = leak(LeakSettings(n_tokens=40, position=5)).masked
    np.testing.assert_allclose(long[:12], short, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n_tokens": 1}, "n_tokens must be between 2 and 64, got 1"),
        ({"n_tokens": 65}, "n_tokens must be between 2 and 64, got 65"),
        ({"position": 16}, r"position must be between 0 and n_tokens − 1 \(15\), got 16"),
        ({"position": -1}, "position must be between 0"),
        ({"size": 10.5}, "size must be between 0 and 10, got 10.5"),
        ({"size": float("nan")}, "size must be between 0 and 10, got nan"),
        ({"mask": "upper"}, "mask must be one of correct, .* got upper"),
        ({"d_k": 0}, "d_model and d_k must be at least 1, got 32 and 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_bad_settings_are_refused_with_a_sentence(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        LeakSettings(**fields)


def test_an_unknown_mask_is_refused():
    with pytest.raises(ValueError, match="got upper"):
        pattern_under("upper", np.zeros((2, 2)))


def test_the_summary_says_an_exact_zero_and_where_there_is_no_token():
    summary = tables.leak_summary(leak(LeakSettings(position=0)))
    shown = tables.leak_summary_in_words(summary)
    assert shown[tables.MASKED].iloc[0] == "no token there"
    shown = tables.leak_summary_in_words(tables.leak_summary(leak(LeakSettings())))
    assert shown[tables.MASKED].iloc[0] == "exactly 0"
    assert list(shown["How many"]) == ["10", "1", "5"]


def test_the_article_stands_beside_its_own_setting_only():
    own = tables.leak_summary(leak(LeakSettings(seed=5)))
    assert own[tables.ARTICLE].iloc[0] == 0
    assert tables.leak_summary_in_words(own)["Article"].iloc[0].startswith("exactly 0")
    for other in (LeakSettings(n_tokens=17), LeakSettings(position=9)):
        summary = tables.leak_summary(leak(other))
        assert summary[tables.ARTICLE].isna().all()
        assert set(tables.leak_summary_in_words(summary)["Article"]) == {"another setting"}


@pytest.mark.parametrize(
    ("mask", "n_tokens", "said"),
    [
        ("correct", 16, "all 120 cells are exactly 0: nothing moved."),
        ("correct", 2, "the one cell is exactly 0: nothing moved."),
        ("none", 16, "120 of 120 cells moved: the future leaks in."),
        ("off by one", 16, "15 of 120 cells moved: the future leaks in."),
        ("off by one", 2, "1 of 1 cell moved: the future leaks in."),
    ],
)
def test_the_map_sentence_counts_what_it_shows(mask, n_tokens, said):
    settings = LeakSettings(mask=mask, n_tokens=n_tokens, position=1)
    cells = tables.influence_cells(influence(settings))
    assert tables.influence_sentence(cells, mask) == f"Mask: {mask}. Above the diagonal, {said}"


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("off by one", "off by one, 1 of the 10 outputs before position 10 moved, output 9, by "),
        ("−10 for −∞", "−10 for −∞, 10 of the 10 outputs before position 10 moved, by up to "),
    ],
)
def test_the_chosen_mask_has_its_own_sentence(mask, said):
    result = leak(LeakSettings(mask=mask))
    (check,) = (check for check in check_masks(result.settings) if check.mask == mask)
    words = tables.chosen_sentence(result)
    assert words.startswith(f"With the mask chosen for the map, {said}")
    assert words.endswith(f" {tables.exactly(check.largest_before)}.")


def test_the_correct_mask_needs_no_second_sentence_and_a_change_of_0_moves_none():
    assert tables.chosen_sentence(leak(LeakSettings())) == ""
    assert tables.chosen_sentence(leak(LeakSettings(mask="none", position=0))) == ""
    still = tables.chosen_sentence(leak(LeakSettings(mask="off by one", size=0.0)))
    assert still.endswith("off by one, none of the 10 outputs before position 10 moved.")


def test_the_first_token_is_said_to_have_none_before_it():
    assert tables.leak_sentence(leak(LeakSettings(position=0))) == (
        "Position 0 was changed: no output comes before it, so nothing could leak and none was "
        "safe. With the mask, 16 of the 16 outputs moved."
    )
