"""Tables and charts of the mechanism and scaling experiments."""

import json

import numpy as np
import pandas as pd
import pytest

from core.charts import mechanism as charts
from core.charts import scaling as scaling_charts
from core.charts.style import COLOURS, spec
from core.lexicon import D_MODEL, LEXICON
from core.mechanism import MechanismSettings, explain_row, mechanism, moves, preset_moves
from core.scaling import D_KS, ScalingSettings, scaling
from core.tables import mechanism as tables
from core.tables import scaling as scaling_tables

REPEATED = MechanismSettings(sentence="blue zorp blue", head="random")

CHARTS = {
    "vectors": lambda: charts.vectors(4, 2.0),
    "scores": lambda: charts.scores(4, 6.0),
    "pattern": lambda: charts.pattern(4),
    "moves": lambda: charts.moves(15),
    "score_spread": scaling_charts.score_spread,
    "largest_weight": scaling_charts.largest_weight,
}


@pytest.fixture(scope="module")
def frames():
    result = mechanism(REPEATED)
    points = scaling_tables.scaling_points(scaling(ScalingSettings(n_draws=3)))
    return {
        "vectors": tables.vector_cells(
            tables.token_labels(result), tables.dimension_names(result), result.X
        ),
        "scores": tables.score_cells(result, result.steps.masked_scores),
        "pattern": tables.pattern_cells(result),
        "moves": tables.move_points(moves(result, 2)),
        "score_spread": points,
        "largest_weight": points,
    }


def fields(part):
    """Return every field named anywhere in a specification."""
    if isinstance(part, dict):
        own = {part["field"]} if isinstance(part.get("field"), str) else set()
        return own.union(*(fields(inner) for inner in part.values()))
    if isinstance(part, list):
        return set().union(*(fields(inner) for inner in part))
    return set()


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_constant_has_no_data_and_names_columns_that_exist(name, frames):
    specification = spec(CHARTS[name]())
    assert specification == spec(CHARTS[name]())
    text = json.dumps(specification)
    assert '"data"' not in text
    assert '"datasets"' not in text
    assert specification["width"] == "container"
    assert specification["height"] > 200
    assert fields(specification) <= set(frames[name].columns)
    assert '"tooltip"' in text


@pytest.mark.parametrize("name", ["vectors", "scores"])
def test_values_around_0_have_a_domain_that_stays(name):
    text = json.dumps(spec(CHARTS[name]()))
    limit = {"vectors": 2.0, "scores": 6.0}[name]
    assert f'"domain": [{-limit}, {limit}], "domainMid": 0' in text


def test_the_pattern_goes_from_0_to_1():
    encoding = spec(charts.pattern(4))["encoding"]
    assert encoding["color"]["scale"] == {"domain": [0, 1]}
    assert encoding["x"]["title"] == "Looked at"
    assert encoding["y"]["title"] == "Asking"


def test_axes_carry_units():
    for name, title in (
        ("moves", "Cosine with the direction (no unit)"),
        ("score_spread", "Standard deviation (no unit)"),
        ("score_spread", "d_k (numbers in each query and key)"),
        ("largest_weight", "Mean largest weight (no unit)"),
    ):
        assert title in json.dumps(spec(CHARTS[name]()), ensure_ascii=False)


def test_every_series_has_its_colour():
    assert {tables.BEFORE, tables.AFTER, scaling_tables.DIVIDED, scaling_tables.UNDIVIDED} <= set(
        COLOURS
    )


def test_repeated_words_stay_apart(frames):
    assert frames["pattern"]["Asking"].unique().tolist() == ["1 blue", "2 zorp *", "3 blue"]
    assert len(frames["pattern"].drop_duplicates(["Asking", "Looked at"])) == 9


def test_cells_hold_the_numbers_of_the_arrays(frames):
    result = mechanism(REPEATED)
    pivot = frames["pattern"].pivot(
        index="Asking order", columns="Looked at order", values="Weight (no unit)"
    )
    np.testing.assert_array_equal(pivot.to_numpy(), result.steps.pattern)
    pivot = frames["vectors"].pivot(
        index="Token order", columns="Dimension order", values="Value (no unit)"
    )
    np.testing.assert_array_equal(pivot.to_numpy(), result.X)


def test_move_points_hold_both_cosines_of_every_direction(frames):
    points = frames["moves"]
    for when, name in ((tables.BEFORE, "before"), (tables.AFTER, "after")):
        expected = [getattr(move, name) for move in moves(mechanism(REPEATED), 2)]
        assert points[points["When"] == when]["Cosine (no unit)"].tolist() == expected


def test_forbidden_scores_are_said_in_words(frames):
    cells = frames["scores"]
    forbidden = cells["Looked at order"] > cells["Asking order"]
    assert (cells.loc[forbidden, "Score in words"] == "−∞, may not look").all()
    assert (cells["May look"] == np.where(forbidden, "no", "yes")).all()


def test_the_stage_table_holds_every_stage():
    result = mechanism(REPEATED)
    table = tables.stage_table(result)
    n, d_k = 3, REPEATED.d_k
    assert table.groupby("Stage", sort=False).size().to_dict() == {
        "X": n * D_MODEL,
        "Q": n * d_k,
        "K": n * d_k,
        "V": n * D_MODEL,
        "scores": n * n,
        "masked scores": n * n,
        "pattern": n * n,
        "output": n * D_MODEL,
        "X + output": n * D_MODEL,
    }
    stages = {"K": result.steps.K, "masked scores": result.steps.masked_scores}
    for stage, values in stages.items():
        rows = table[table["Stage"] == stage]
        np.testing.assert_array_equal(rows["Value (no unit)"], values.ravel())
        assert (
            rows["Token"].tolist()
            == np.repeat(tables.token_labels(result), d_k if stage == "K" else n).tolist()
        )
    assert table[table["Stage"] == "Q"]["Column"].tolist() == ["1", "2", "3", "4"] * n


def test_the_row_table_follows_from_left_to_right():
    result = mechanism(MechanismSettings(score_scale=2.0))
    row = explain_row(result, 1)
    table = tables.row_table(row, tables.token_labels(result))
    assert table["May look"].tolist() == ["yes", "yes", "no: −∞", "no: −∞"]
    np.testing.assert_allclose(table["Divided (no unit)"], table["q·k (no unit)"] / 2)
    np.testing.assert_allclose(table["Score (no unit)"], table["Divided (no unit)"] * 2)
    exponentials = table["exp(score − largest) (no unit)"]
    np.testing.assert_allclose(table["Weight (no unit)"], exponentials / exponentials.sum())


def test_the_weighted_values_end_in_their_sum():
    result = mechanism(MechanismSettings())
    row = explain_row(result, 3)
    table = tables.weighted_value_table(
        row, tables.token_labels(result), tables.dimension_names(result)
    )
    assert table.iloc[-1, 0] == "sum = output"
    values = table.drop(columns="Weight × value of").to_numpy(dtype=float)
    np.testing.assert_allclose(values[-1], values[:-1].sum(axis=0))
    np.testing.assert_allclose(values[-1], result.steps.output[3])


def test_the_move_table_carries_raw_numbers_and_says_that_the_article_has_none():
    found = preset_moves(MechanismSettings())
    table = tables.move_table(found)
    assert len(table) == 6
    assert set(table["Article"]) == {"none"}
    np.testing.assert_allclose(
        table["Change (no unit)"],
        table["Cosine after (no unit)"] - table["Cosine before (no unit)"],
    )
    assert tables.move_table_in_words(table)["Change"].tolist() == [
        *("+0.312", "+0.312", "+0.285", "−0.381", "−0.367", "+0.278")
    ]


def test_the_lexicon_table_is_the_lexicon():
    table = tables.lexicon_table().set_index("Word")
    assert set(table.index) == set(LEXICON)
    for word, vector in LEXICON.items():
        np.testing.assert_array_equal(table.loc[word], vector)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "All 4 tokens are in the hand-made lexicon."),
        (
            {"sentence": "a zorp", "seed": 3},
            "1 of 2 tokens are not in the lexicon: marked *, with a random vector (seed 3).",
        ),
        (
            {"vectors": "random"},
            "All 4 vectors are random (seed 0); their dimensions have no names.",
        ),
        ({"sentence": "<b>"}, "The sentence is read as plain text"),
    ],
)
def test_words_sentence(changes, sentence):
    assert sentence in tables.words_sentence(mechanism(MechanismSettings(**changes)))


def test_moves_sentence_names_the_largest_moves():
    def said(index, **changes):
        return tables.moves_sentence(moves(mechanism(MechanismSettings(**changes)), index))

    assert said(3) == (
        "“4 creature” turned most towards “fluffy” and “blue” (each cosine 0.000 before, 0.312 "
        "after) and most away from what it was (cosine 1.000 before, 0.898 after)."
    )
    assert said(0) == "“1 a” did not turn: this head adds nothing to it."


def test_looking_sentence():
    result = mechanism(MechanismSettings())
    assert tables.looking_sentence(result, 0) == (
        "“1 a” may look at itself alone, with weight 1. The mask hides the 3 tokens after it."
    )
    third = tables.looking_sentence(result, 2)
    assert "spreads its weight evenly over the 3 tokens" in third
    assert third.endswith(" The mask hides the 1 token after it.")
    assert tables.looking_sentence(result, 3) == (
        "“4 creature” looks most at “2 fluffy” and “3 blue”, with weight 0.491 each; shared out "
        "evenly it would be 0.250."
    )
    free = mechanism(MechanismSettings(causal=False, sentence="blue creature on a rock"))
    assert tables.looking_sentence(free, 1).startswith("“2 creature” looks most at “1 blue”, with ")
    assert "hides" not in tables.looking_sentence(free, 1)


def test_scaling_points_hold_every_draw():
    result = scaling(ScalingSettings(n_draws=3))
    points = scaling_tables.scaling_points(result)
    assert len(points) == 2 * 3 * len(D_KS)
    for name, spread in (("with ÷ √d_k", result.divided), ("without ÷ √d_k", result.undivided)):
        part = points[points["Scores"] == name]
        for column, values in (
            ("Standard deviation of the draw (no unit)", spread.draw_std),
            ("Largest weight of the draw (no unit)", spread.draw_largest),
        ):
            pivot = part.pivot(index="Draw", columns="d_k", values=column)
            np.testing.assert_array_equal(pivot.to_numpy(), values)
        for column, values in (
            ("Standard deviation (no unit)", spread.std),
            ("Predicted (no unit)", spread.predicted_std),
            ("Largest weight (no unit)", spread.largest),
        ):
            np.testing.assert_array_equal(part[part["Draw"] == 2][column], values)


def test_scaling_table_and_sentences():
    result = scaling(ScalingSettings())
    table = scaling_tables.scaling_table(result)
    pd.testing.assert_series_equal(
        table["Predicted spread, √d_k (no unit)"], pd.Series(np.sqrt(D_KS)), check_names=False
    )
    assert table["d_k"].tolist() == list(D_KS)
    for column, values in (
        ("Spread without division (no unit)", result.undivided.std),
        ("Spread with division (no unit)", result.divided.std),
        ("Largest weight without (no unit)", result.undivided.largest),
        ("Largest weight with (no unit)", result.divided.largest),
    ):
        np.testing.assert_array_equal(table[column], values)
    assert set(table["Scores (count)"]) == {5120}
    assert "by 31.6 (predicted 32) without" in scaling_tables.scaling_sentence(result)
    assert "0.96 of the weight without" in scaling_tables.weight_sentence(result)
    assert "seed 0: 5,120 scores and 320 softmax rows" in scaling_tables.sample_sentence(result)
