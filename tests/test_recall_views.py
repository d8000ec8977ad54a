"""Tables and charts of the recall training: the same numbers as core, and charts that stay put."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from core.asking import ask
from core.charts import circuits as circuit_charts
from core.charts import recall as charts
from core.charts.style import spec
from core.evaluation import evaluate, evaluate_on
from core.gradcheck import check_gradients
from core.tables import asking, circuits, gradcheck
from core.tables import recall as tables
from core.tables.numbers import scientific
from core.training import TrainSettings, train

SETTINGS = TrainSettings(n_steps=200)


@pytest.fixture(scope="module")
def runs():
    return [train(replace(SETTINGS, variant=variant)) for variant in ("learned", "uniform")]


@pytest.fixture(scope="module")
def evaluations(runs):
    learned = evaluate(runs[0].parameters, runs[0].settings, 500, rng=np.random.default_rng(0))
    return learned, evaluate_on(learned.sequences, runs[1].parameters, runs[1].settings)


@pytest.fixture(scope="module")
def reply(runs):
    return ask(runs[0].parameters, [0, 3, 4], [6, 0, 1], 4)


# Curves


def test_the_curves_are_the_checkpoints(runs):
    learned, uniform = (run.checkpoints for run in runs)
    frame = tables.curve(learned, uniform[:5], SETTINGS)
    for series, checkpoints in (("learned", learned), ("uniform", uniform[:5])):
        mine = frame[frame["Series"] == series]
        assert mine[tables.STEP].tolist() == [point.step for point in checkpoints]
        assert mine[tables.ACCURACY].tolist() == [100 * point.accuracy for point in checkpoints]
        assert mine[tables.LOSS].tolist() == [point.loss for point in checkpoints]


def test_chance_ceiling_and_article_stand_before_the_run_starts():
    frame = tables.curve((), (), TrainSettings())
    found = {
        series: rows[[tables.STEP, tables.ACCURACY]].to_numpy().tolist()
        for series, rows in frame.groupby("Series")
    }
    assert found == {
        "chance": [[0, 12.5], [3000, 12.5]],
        "ceiling": [[0, 45.3125], [3000, 45.3125]],
        "article": [[100, 100.0], [3000, 45.7]],
    }
    assert "article" not in set(tables.curve((), (), TrainSettings(n_pairs=2))["Series"])
    assert tables.curve_sentence((), (), SETTINGS) == "No checkpoint yet."


def test_the_list_of_checkpoints_has_both_runs_side_by_side(runs):
    learned, uniform = (run.checkpoints for run in runs)
    table = tables.checkpoint_list(learned, uniform[:3])
    assert table[tables.STEP].tolist() == [point.step for point in learned]
    column = table["Uniform: Accuracy (%)"]
    assert column[:3].tolist() == [100 * point.accuracy for point in uniform[:3]]
    assert column[3:].isna().all()


def test_the_sentence_says_where_both_runs_are(runs):
    learned, uniform = (run.checkpoints for run in runs)
    solved = next(point.step for point in learned if point.accuracy == 1)
    assert tables.curve_sentence(learned, uniform, SETTINGS) == (
        f"Step 200 of 200: learned 100.0 % right and uniform {100 * uniform[-1].accuracy:.1f} %. "
        f"The learned head had every test sequence right at step {solved}."
    )
    assert "every test" not in tables.curve_sentence(learned[:3], (), SETTINGS)
    never = tables.curve_sentence(uniform, uniform, SETTINGS)
    assert never.endswith(" The learned head never had every test sequence right.")


def test_at_the_end_the_sentence_says_where_the_weight_went(runs, evaluations):
    learned, uniform = (run.checkpoints for run in runs)
    match, question = (
        f"{100 * weight:.0f} %"
        for weight in (evaluations[0].weight_on_match, evaluations[0].weight_on_question)
    )
    said = tables.curve_sentence(learned, uniform, SETTINGS, evaluations[0])
    assert said.endswith(f" Weight: {match} on the matching pair, {question} on the question.")


def test_the_ceiling_s_sentence_counts_what_a_sample_may_stray():
    said = tables.ceiling_sentence(SETTINGS)
    assert said.startswith("The ceiling, 45.3 %, is the best that even attention can do on average")
    stray = 100 * (29 / 64 * 35 / 64 / 2000) ** 0.5
    assert f"2,000 test sequences are a sample, whose share moves by about ±{stray:.1f} " in said
    assert tables.ceiling_sentence(TrainSettings(n_pairs=1)).endswith(": with one pair, always.")


def test_the_loss_is_said_beside_that_of_blind_guessing(runs):
    learned, uniform = (run.checkpoints for run in runs)
    said = tables.loss_sentence(learned, uniform, SETTINGS)
    assert f"learned {learned[-1].loss:.3g} at step {learned[-1].step:,}" in said
    assert f"uniform {uniform[-1].loss:.3g} at step" in said
    assert tables.loss_sentence((), (), SETTINGS) == ("Loss in nats: guessing blindly ln 8 = 2.08.")


# Measured beside the article


def test_measured_values_stand_beside_the_articles(runs, evaluations):
    learned, uniform = evaluations
    table = tables.measured(*(run.checkpoints for run in runs), learned, uniform, SETTINGS)
    table = table.set_index(tables.QUANTITY)
    assert table["Learned"].tolist()[1:] == [
        100 * value
        for value in (
            learned.accuracy,
            learned.weight_on_match,
            learned.weight_on_other,
            learned.weight_on_question,
            learned.match_on_top,
        )
    ]
    assert table.loc["Right answers (%)", "Uniform"] == 100 * uniform.accuracy
    assert np.isnan(table.loc[tables.SOLVED, "Uniform"])
    assert table["Article, learned"].tolist() == [100, 100, 51, 1, 47, 100]
    assert table["Article, uniform"].dropna().tolist() == [45.7]


def test_what_is_unknown_is_a_dash_and_other_tasks_have_no_article():
    other = replace(SETTINGS, n_values=9)
    words = tables.measured_in_words(tables.measured((), (), None, None, other))
    assert set(words.drop(columns=tables.QUANTITY).to_numpy().ravel()) == {"—"}


def test_the_articles_figures_are_said_as_it_said_them():
    words = tables.measured_in_words(tables.measured((), (), None, None, SETTINGS))
    assert words["Article, learned"].tolist() == [
        "100 at most",
        "100",
        "about 51",
        "about 1",
        "about 47",
        "100",
    ]


def test_what_was_measured_is_said_in_steps_and_in_tenths(runs, evaluations):
    table = tables.measured(*(run.checkpoints for run in runs), *evaluations, SETTINGS)
    words = tables.measured_in_words(table).set_index(tables.QUANTITY)
    solved = table.set_index(tables.QUANTITY).loc[tables.SOLVED, "Learned"]
    assert words.loc[tables.SOLVED, "Learned"] == str(int(solved))
    uniform = evaluations[1].accuracy
    assert words.loc["Right answers (%)", "Uniform"] == f"{100 * uniform:.1f}"
    assert words.loc["Right answers (%)", "Article, uniform"] == "45.7"


def test_the_weights_of_a_single_pair_leave_no_others(evaluations):
    alone = TrainSettings(n_pairs=1, n_steps=0)
    seen = evaluate(train(alone).parameters, alone, 50, rng=np.random.default_rng(0))
    frame = tables.weights(seen, None, alone)
    assert frame["Who"].tolist() == ["learned"] * 3
    assert frame[tables.WEIGHT].isna().tolist() == [False, True, False]
    assert len(tables.weights(*evaluations, SETTINGS)) == 9
    assert tables.weights(None, None, alone).empty
    assert "500 fresh sequences" in tables.weights_sentence(evaluations[0])


# Circuits


def test_every_entry_of_both_circuits_is_in_the_frame(runs):
    checkpoints = runs[0].checkpoints
    frame = circuits.circuit_frames(checkpoints, SETTINGS)
    steps = frame[frame["Circuit"] == "step"].iloc[0]
    shown = [f"f{i}" for i in range(circuits.n_frames(SETTINGS))]
    by_step = {point.step: point for point in checkpoints}
    assert [steps[shown[0]], steps[shown[-1]]] == [0, 200]
    for column in (shown[0], shown[7], shown[-1]):
        point = by_step[int(steps[column])]
        for name, table in (("QK", point.qk), ("OV", point.ov.T)):
            block = frame[frame["Circuit"] == name]
            np.testing.assert_array_equal(block[column], table.ravel())
            assert block["Part"].tolist() == (
                [f"key {i}" for i in range(8)] + [f"value {i}" for i in range(8)]
            ) * len(table)
            said = "asks key" if name == "QK" else "says value"
            assert block["Row"].tolist() == [f"{said} {i // 16}" for i in range(128)]
            assert (block["Limit"] >= block[shown].abs().max().max()).all()
    accuracy = frame[frame["Circuit"] == "accuracy"].iloc[0]
    assert accuracy[shown[-1]] == 1


def test_a_run_that_has_hardly_begun_fills_the_frame_with_its_last(runs):
    frame = circuits.circuit_frames(runs[0].checkpoints[:2], SETTINGS)
    steps = frame[frame["Circuit"] == "step"].iloc[0]
    assert [steps[f"f{i}"] for i in range(40)] == [0, *[1] * 39]


@pytest.mark.parametrize(("n_keys", "n_values"), [(1, 2), (8, 8), (32, 32), (32, 2)])
def test_the_frame_stays_small(n_keys, n_values):
    chosen = TrainSettings(n_pairs=1, n_keys=n_keys, n_values=n_values, n_steps=60)
    frame = circuits.circuit_frames(train(chosen).checkpoints, chosen)
    assert frame.filter(regex=r"^f\d+$").memory_usage(index=False).sum() <= 140_000
    assert set(frame.dtypes.astype(str)) == {"category", "float32"}
    assert "is" in circuits.circuits_sentence(train(chosen).checkpoints)


def test_untrained_circuits_have_no_diagonal_and_trained_ones_do(runs):
    first = circuits.circuits_sentence(runs[0].checkpoints[:1])
    assert first.startswith("After step 0:")
    assert "0.00, against" in first
    qk = runs[0].checkpoints[-1].qk[:, :8]
    rest = (qk.sum() - np.trace(qk)) / 56
    assert f"{np.trace(qk) / 8:.2f}, against −{-rest:.2f}" in circuits.circuits_sentence(
        runs[0].checkpoints
    )


# Gradient check and one question


def test_the_gradient_table_has_every_parameter_unrounded():
    check = check_gradients(SETTINGS)
    table = gradcheck.gradient_check(check)
    assert table[gradcheck.BACKWARD].tolist() == [one.analytic for one in check.checked]
    assert table[gradcheck.NUDGED].tolist() == [one.numeric for one in check.checked]
    assert scientific(check.worst.relative_difference) in gradcheck.gradient_sentence(check)
    words = gradcheck.gradient_check_in_words(table)
    assert words.shape == table.shape
    worst = table[gradcheck.DIFFERENCE].idxmax()
    assert words[gradcheck.DIFFERENCE][worst] == scientific(check.worst.relative_difference)
    assert words[gradcheck.NUDGED][worst] == scientific(check.worst.numeric, 9)
    first = scientific(check.checked[0].analytic, 9)
    assert words[gradcheck.BACKWARD][0] == first
    assert re.fullmatch(r"−?\d\.\d{8} × 10⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", first)
    exact = check_gradients(TrainSettings(init_scale=0))  # every gradient but W_O's bias-free zero
    points = gradcheck.gradient_points(exact)
    assert (points["Shown difference"] >= gradcheck.LEAST_SHOWN).all()


def test_a_check_still_to_come_has_the_columns_of_one_that_is_there():
    points = gradcheck.gradient_points(check_gradients(SETTINGS))
    to_come = gradcheck.gradient_points(None)
    assert to_come.empty
    assert list(to_come) == list(points)
    numbers = points.select_dtypes("number").dtypes
    assert to_come.dtypes[numbers.index].equals(numbers)


def test_a_reply_is_told_token_by_token(reply):
    tokens = asking.reply_tokens(reply)
    assert tokens["Token"].tolist() == [
        "key 0, value 6",
        "key 3, value 0",
        "key 4, value 1",
        "question: key 4",
    ]
    assert tokens["Meaning"].tolist() == [*["other pairs"] * 2, "matching pair", "question"]
    assert tokens["Weight (%)"].sum() == pytest.approx(100, abs=1e-4)
    values = asking.reply_values(reply)
    assert values.loc[values["Meaning"] == "right answer", "Value"].tolist() == ["value 1"]
    assert asking.reply_sentence(reply).endswith("That is right.")


def test_a_wrong_reply_and_one_without_a_right_answer_say_so(reply):
    wrong = asking.reply_sentence(replace(reply, right=5))
    assert wrong.endswith("The right answer is value 5.")
    assert wrong.startswith("The answer is value 1, with probability")
    values = asking.reply_values(replace(reply, right=5)).set_index("Value")
    assert values.index[values["Meaning"] == "right answer"].tolist() == ["value 5"]
    absent = asking.reply_sentence(replace(reply, question=7, right=None))
    assert absent.endswith("No pair has key 7, so no answer is right.")


# Charts


@pytest.fixture(scope="module")
def drawn(runs, evaluations, reply):
    """Every chart beside its frame."""
    curve = tables.curve(*(run.checkpoints for run in runs), SETTINGS)
    points = gradcheck.gradient_points(check_gradients(SETTINGS))
    frames = circuits.circuit_frames(runs[0].checkpoints, SETTINGS)
    return {
        "accuracy": (charts.accuracy_curve(), curve),
        "accuracy, linear": (charts.accuracy_curve("linear"), curve),
        "loss": (charts.loss_curve(), curve),
        "weights": (charts.weights(), tables.weights(*evaluations, SETTINGS)),
        "reply weights": (charts.reply_weights(4), asking.reply_tokens(reply)),
        "reply values": (charts.reply_values(8), asking.reply_values(reply)),
        "gradient": (charts.gradient_agreement(), points),
        "differences": (charts.gradient_differences(), points),
        "circuits": (circuit_charts.circuits(40, 16), frames),
    }


CHARTS = (
    "accuracy",
    "accuracy, linear",
    "loss",
    "weights",
    "reply weights",
    "reply values",
    "gradient",
    "differences",
    "circuits",
)


def every(part, name):
    """All values under this name, anywhere in a specification."""
    if isinstance(part, dict):
        for key, inner in part.items():
            if key == name:
                yield inner
            yield from every(inner, name)
    elif isinstance(part, list):
        for inner in part:
            yield from every(inner, name)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_names_only_columns_its_frame_has(name, drawn):
    chart, frame = drawn[name]
    specification = spec(chart)
    computed = {made for made in every(specification, "as") if isinstance(made, str)}
    written = json.dumps(specification)
    for label in every(specification, "labelExpr"):  # its datum is a label of an axis, not a row
        written = written.replace(json.dumps(label), "")
    in_expressions = set(re.findall(r"datum\.(\w+)", written))
    named = set(every(specification, "field")) | in_expressions
    assert named <= set(frame.columns) | computed


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_holds_no_data_and_its_quantities_have_fixed_domains(name, drawn):
    specification = spec(drawn[name][0])
    assert "datasets" not in json.dumps(specification)
    assert specification["width"] == "container"
    assert isinstance(specification["height"], int)
    for encoding in every(specification, "encoding"):
        for channel in ("x", "y", "color"):
            described = encoding.get(channel, {})
            if described.get("type") == "quantitative" and described.get("field") != tables.STEP:
                assert "field" not in described or "domain" in described["scale"], (name, channel)


@pytest.mark.parametrize("n_heard", [0, 1, 5])
@pytest.mark.parametrize("n_steps", [30, 200, 3000])
def test_the_axis_of_steps_has_its_length_before_the_run_has(n_heard, n_steps, runs, drawn):
    heard = (run.checkpoints[:n_heard] for run in runs)
    frame = tables.curve(*heard, replace(SETTINGS, n_steps=n_steps))
    assert (frame[tables.STEP].min(), frame[tables.STEP].max()) == (0, n_steps)
    for name in ("accuracy", "accuracy, linear", "loss"):
        scales = [x["scale"] for x in every(spec(drawn[name][0]), "x") if "scale" in x]
        assert scales
        assert all(scale["nice"] is False for scale in scales)


def test_the_slider_of_the_circuits_reaches_every_step_in_the_frame():
    for chosen in (SETTINGS, TrainSettings(n_keys=32, n_values=32)):
        count = circuits.n_frames(chosen)
        specification = spec(circuit_charts.circuits(count, chosen.n_keys + chosen.n_values))
        [bind] = every(specification, "bind")
        assert (bind["min"], bind["max"], bind["step"]) == (0, count - 1, 1)
