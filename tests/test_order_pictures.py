"""Pictures of positions and of other orders, and the tables, sentences and charts made of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.charts import positions as picture_charts
from core.charts import word_order as charts
from core.charts.style import spec
from core.order_model import forward, positions_of, start_order
from core.order_pictures import (
    RANDOM_SCALE,
    position_scores,
    scheme_vectors,
    shuffle_pairs,
    spread_along_distance,
)
from core.order_training import OrderSeries, order_steps
from core.positions import SCHEMES
from core.series import finished
from core.tables import order_findings as findings
from core.tables import positions as pictures
from core.tables import word_order as tables
from core.word_order import OrderSettings, arrange, one_hot

TASK = OrderSettings()


def test_without_positions_every_order_gives_the_same_to_rounding():
    shuffle = shuffle_pairs(TASK, 0)
    assert shuffle.n_orders == 120
    assert shuffle.order.tolist() == [4, 3, 2, 1, 0]
    assert 0 < shuffle.weight_change < 1e-15
    assert 0 < shuffle.answer_change < 1e-14
    np.testing.assert_allclose(shuffle.after, shuffle.before, atol=1e-15)


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_with_positions_another_order_gives_something_else(scheme):
    shuffle = shuffle_pairs(replace(TASK, scheme=scheme), 0)
    assert shuffle.weight_change > 0.05
    assert shuffle.answer_change > 0.05


@given(st.sampled_from(SCHEMES), st.integers(0, 50), st.integers(0, 20))
@settings(max_examples=20, deadline=None)
def test_a_pairs_weight_is_followed_to_where_it_stands(scheme, order, seed):
    shuffle = shuffle_pairs(replace(TASK, scheme=scheme, seed=seed), order)
    chosen = replace(TASK, scheme=scheme, seed=seed, float_type="float64", init_scale=RANDOM_SCALE)
    p = start_order(chosen, np.random.default_rng(seed).spawn(2)[0])
    moved = arrange(
        shuffle.keys[shuffle.order][np.newaxis],
        shuffle.values[shuffle.order][np.newaxis],
        np.array([shuffle.question]),
    )
    weights = forward(p, positions_of(chosen), one_hot(chosen, moved)).weights[0]
    for place, pair in enumerate(shuffle.order):
        assert shuffle.after[pair] == pytest.approx(weights[place], abs=1e-12)
    assert shuffle.after[-1] == pytest.approx(weights[-1], abs=1e-12)
    assert shuffle.before.sum() == pytest.approx(1)


def test_long_sequences_try_a_bounded_number_of_orders():
    assert shuffle_pairs(OrderSettings(n_times=4, n_others=7), 1).n_orders == 720


def test_what_decides_a_score_differs_between_the_schemes():
    scores = {s: position_scores(replace(TASK, scheme=s), 16) for s in SCHEMES}
    table = pictures.spreads(scores)
    words = pictures.spreads_in_words(table)["So a score depends on"].tolist()
    assert words == [
        "no position",
        "both positions",
        "both positions",
        "the distance alone",
        "the distance alone",
    ]
    assert np.ptp(scores["none"]) == 0
    assert spread_along_distance(scores["rotary"]) < 1e-12 < 0.1 < np.ptp(scores["rotary"])
    assert spread_along_distance(scores["alibi"]) < 1e-12


@given(st.integers(0, 50), st.sampled_from([2, 4, 32]), st.integers(4, 48))
@settings(max_examples=20, deadline=None)
def test_rotary_and_alibi_scores_lie_on_diagonals_for_any_head(seed, d_k, n):
    for scheme in ("rotary", "alibi"):
        scores = position_scores(OrderSettings(scheme=scheme, seed=seed, d_k=d_k), n)
        assert scores.shape == (n, n)
        assert spread_along_distance(scores) < 1e-11


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_picture_is_the_trained_models_own_score(scheme):
    """The question's row, where the question's key also stands in every pair, without values."""
    chosen = replace(TASK, scheme=scheme, float_type="float64", init_scale=RANDOM_SCALE)
    p = start_order(chosen, np.random.default_rng(chosen.seed))
    tokens = np.zeros((1, chosen.n_tokens, chosen.n_parts))
    tokens[:, :, 0] = 1
    row = forward(p, positions_of(chosen), tokens).scores[0]
    np.testing.assert_allclose(position_scores(chosen, chosen.n_tokens)[-1], row, atol=1e-12)


def test_bias_lines_are_straight_and_name_the_slope():
    frame = pictures.bias_lines(0.5, 10)
    mine = frame[frame["Whose"] == "yours"]["Added to the score (no unit)"].tolist()
    assert mine == [-0.5 * i for i in range(10)]
    slopes = sorted(set(frame[frame["Whose"] == "paper"]["Slope"]))
    assert slopes == [1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2]


@pytest.fixture(scope="module")
def series():
    return OrderSeries(train=OrderSettings(n_steps=40), n_seeds=2)


@pytest.fixture(scope="module")
def runs(series):
    return finished(order_steps(series.runs))


def test_every_run_is_a_point_on_its_scheme_s_row(runs, series):
    frame = tables.run_points(runs, series)
    points = frame[frame["Mark"] == "run"]
    assert len(points) == 2 * len(SCHEMES)
    for row, run in zip(points.to_dict("records"), runs, strict=True):
        assert row["Accuracy"] == 100 * run.score.share
        assert round(row["Row"]) == SCHEMES.index(run.settings.scheme)
        assert row["Wrong"] == run.score.total - run.score.right
    ceiling = frame[frame["Mark"] == "ceiling"].to_dict("records")[0]
    assert ceiling["Accuracy"] == 50
    assert ceiling["Words"] == "ceiling 1/2 = 50.0 %"
    assert ceiling["Low"] == pytest.approx(50 - 1.386, abs=0.001)


def test_the_summary_holds_the_runs_numbers(runs):
    summary = tables.scheme_summary(runs)
    for scheme, row in zip(SCHEMES, summary.to_dict("records"), strict=True):
        mine = [run for run in runs if run.settings.scheme == scheme]
        assert row["Positions"] == tables.LABELS[scheme]
        assert row["Lowest accuracy (%)"] == 100 * min(run.score.share for run in mine)
        assert row["Highest accuracy (%)"] == 100 * max(run.score.share for run in mine)
        assert row["Wrong answers"] == sum(run.score.total - run.score.right for run in mine)
        assert row["Weight on the last pair (%)"] == pytest.approx(
            50 * sum(run.weight_on_last for run in mine)
        )
        assert row["Largest change when shuffled (no unit)"] == max(
            run.shuffle_change for run in mine
        )
    assert len(tables.scheme_summary_in_words(summary)) == len(SCHEMES)
    assert len(tables.run_list(runs)) == len(runs)


def test_nothing_finished_is_said_as_such(series):
    assert tables.progress_sentence((), series.train) == "No run has finished yet."
    assert tables.result_sentence((), series.train) is None
    words = tables.scheme_summary_in_words(tables.scheme_summary(()))
    assert set(words["Accuracy"]) == {"—"}
    assert findings.distances_sentence(findings.distances(())) == "No run has finished yet."
    assert (
        findings.lengths_sentence(findings.lengths(()), series.train) == "No run has finished yet."
    )


def test_the_sentences_tell_perfect_runs_from_others(runs, series):
    text = tables.progress_sentence(runs, series.train)
    none = [run for run in runs if run.settings.scheme == "none"]
    share = sum(run.score.right for run in none) / 100
    assert text.startswith(f"Without positions, {share:.1f} % of 10,000 answers were right; ")
    assert "the ceiling is 1/2 = 50.0 %." in text
    assert "Not every answer right: " in text
    assert "Every answer of every run right" not in text
    perfect = replace(runs[1], score=replace(runs[1].score, right=runs[1].score.total))
    text = tables.progress_sentence((perfect,), series.train)
    assert text == "No run has finished yet. Every answer of every run right: learned."


def test_the_ceiling_is_counted_in_the_sentence():
    assert tables.ceiling_sentence(TASK) == (
        "The 5 pairs have 120 orders. Each of the asked key's 2 values comes last in 60 of them, "
        "and without positions all 120 look the same. So no answer is right in more than 1/2 of "
        "them."
    )
    assert "The ceiling is 1." in tables.ceiling_sentence(replace(TASK, n_times=1))


def test_scores_by_distance_start_at_the_farthest(runs):
    frame = findings.distances(runs)
    assert len(frame) == 5 * len(SCHEMES)
    for scheme in SCHEMES:
        mine = frame[frame["Scheme"] == tables.LABELS[scheme]]
        assert mine[findings.RELATIVE].iloc[-1] == 0
        both = [run.by_distance for run in runs if run.settings.scheme == scheme]
        expected = np.mean([scores[0] - scores[-1] for scores in both])
        assert mine[findings.RELATIVE].iloc[0] == pytest.approx(expected)
    assert "−0.00" not in findings.distances_sentence(frame)


def test_slopes_are_sorted_into_perfect_and_others(runs):
    [alibi] = [run for run in runs if run.settings.scheme == "alibi"][:1]
    perfect = replace(alibi, score=replace(alibi.score, right=5000))
    flat = replace(
        alibi,
        settings=replace(alibi.settings, alibi_slope=1 / 256),
        score=replace(alibi.score, right=2750),
    )
    assert findings.slopes_sentence(()) == "No slope has been measured with these settings yet."
    assert findings.slopes_sentence((perfect, flat)) == (
        "Every answer right with slopes 1/2. Others, lowest to highest run: 1/256: 55.0 %."
    )
    assert findings.slopes_sentence((perfect,)) == "Every answer right with slopes 1/2."
    frame = findings.slope_points((perfect, flat), TASK)
    assert frame["Mark"].tolist() == ["run", "run", "ceiling"]
    assert frame[findings.SLOPE].tolist() == ["1/2", "1/256", "16"]
    assert frame[findings.ACCURACY].tolist() == pytest.approx([100, 55, 50])


def test_lengths_leave_out_what_cannot_be_asked(runs):
    frame = findings.lengths(runs)
    learned = frame[frame["Scheme"] == "learned"]
    assert learned[findings.OTHERS].tolist() == [0, 1, 2, 3]
    assert len(frame[frame["Scheme"] == "ALiBi"]) == 8
    assert set(frame["Fresh sequences"]) == {2000}
    assert "there is no vector further on" in findings.lengths_sentence(frame, TASK)


def test_vectors_of_a_scheme_are_those_it_begins_with():
    still = replace(TASK, scheme="learned", seed=3, n_steps=1, learning_rate=1e-9)
    [run] = finished(order_steps((still,)))
    np.testing.assert_allclose(scheme_vectors(still, 99), run.positions, atol=1e-7)
    waves = scheme_vectors(replace(TASK, scheme="sinusoidal"), 7)
    assert waves.shape == (7, TASK.d_model)
    assert waves[3, :2] == pytest.approx([np.sin(3), np.cos(3)])
    turns = scheme_vectors(replace(TASK, scheme="rotary"), 7)
    assert turns.shape == (7, TASK.d_k // 2)
    assert turns[3, 0] == pytest.approx(np.cos(3))


@pytest.mark.parametrize("scheme", ["none", "alibi"])
def test_a_scheme_without_vectors_says_so(scheme):
    with pytest.raises(ValueError, match=f"^scheme must be learned, .* got {scheme}$"):
        scheme_vectors(replace(TASK, scheme=scheme), 7)


@pytest.mark.parametrize(
    ("chart", "frame"),
    [
        (charts.run_points(), lambda runs, series: tables.run_points(runs, series)),
        (charts.distances(5), lambda runs, _: findings.distances(runs)),
        (charts.lengths(3), lambda runs, _: findings.lengths(runs)),
        (charts.slopes(), lambda runs, _: findings.slope_points(runs, TASK)),
        (
            picture_charts.shuffled_weights(),
            lambda *_: pictures.shuffled_weights(shuffle_pairs(TASK, 3)),
        ),
        (picture_charts.scores(), lambda *_: pictures.score_cells(position_scores(TASK, 8))),
        (picture_charts.vectors("Number"), lambda *_: pictures.vector_cells(np.eye(4))),
        (picture_charts.bias_lines(16), lambda *_: pictures.bias_lines(0.5, 16)),
    ],
)
def test_a_chart_draws_columns_that_its_frame_has(chart, frame, runs, series):
    columns = set(frame(runs, series).columns)
    specification = spec(chart)
    fields = set(_fields(specification))
    assert fields
    assert fields <= columns | {"rows"}


def _fields(part):
    if isinstance(part, dict):
        if isinstance(part.get("field"), str):
            yield part["field"]
        for inner in part.values():
            yield from _fields(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _fields(inner)
