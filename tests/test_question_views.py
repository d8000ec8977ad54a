"""Tables and charts of the page on the question's weight: the runs' own numbers, and fixed axes."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from core.ablation_scores import N_FRESH, fresh_sequences
from core.charts import why_the_question as charts
from core.charts.style import spec
from core.question_model import QuestionSettings, circuits
from core.question_runs import INTERVENTIONS, all_interventions, run_steps, score_run, seeds_of
from core.question_training import answer_all, train
from core.reported import RECALL_MATCH, RECALL_OTHER, RECALL_QUESTION
from core.series import finished
from core.tables import interventions, question_scores
from core.tables import why_the_question as tables
from core.tables.numbers import signed

SETTINGS = QuestionSettings(n_steps=100, init_scale=0.3)
GROUPS = (tables.CHANGED, tables.UNCHANGED)


def run_of(**changes):
    return score_run(train(replace(SETTINGS, **changes)))


@pytest.fixture(scope="module")
def changed():
    return finished(run_steps(seeds_of(SETTINGS, 2)))


@pytest.fixture(scope="module")
def unchanged():
    return finished(run_steps(seeds_of(replace(SETTINGS, init_scale=0.1), 2)))


@pytest.fixture(scope="module")
def every():
    return finished(run_steps(all_interventions(SETTINGS, 2)))


# Where the question looks


def test_every_run_has_a_point_at_each_position(changed, unchanged):
    points = tables.weight_points(changed, unchanged, SETTINGS, 2)
    for who, runs in zip(GROUPS, (changed, unchanged), strict=True):
        for run in runs:
            mine = points[(points["Who"] == who) & (points["Seed"] == str(run.settings.seed))]
            assert mine.set_index("Position")[tables.WEIGHT].to_dict() == {
                "matching pair": 100 * run.weight_on_match,
                "each other pair": 100 * run.weight_on_other,
                "question": 100 * run.weight_on_question,
            }
            assert (mine[tables.ACCURACY] == 100 * run.accuracy).all()
    article = points[points["Who"] == tables.ARTICLE]
    reported = [RECALL_MATCH.value, RECALL_OTHER.value, RECALL_QUESTION.value]
    assert article[tables.WEIGHT].tolist() == reported
    assert (
        points["Row"]
        .round()
        .astype(int)
        .map(dict(enumerate(tables.POSITIONS)))
        .equals(points["Position"])
    )
    assert len(points["Row"].unique()) == 3 * 5
    assert (points["Trained"] == tables.DONE).all()
    other = tables.weight_points((), (), replace(SETTINGS, n_pairs=2), 2)
    assert list(other.columns) == list(points.columns)
    assert other.empty


def test_a_run_under_way_stands_where_its_last_checkpoint_is(unchanged):
    point = unchanged[1].checkpoints[3]
    under_way = [(tables.UNCHANGED, unchanged[1].settings, point)]
    points = tables.weight_points((), unchanged[:1], SETTINGS, 2, under_way)
    mine = points[points["Trained"] == f"step {point.step} of 100"]
    assert mine.set_index("Position")[tables.WEIGHT].to_dict() == {
        "matching pair": 100 * point.weight_on_match,
        "question": 100 * point.weight_on_question,
    }
    assert set(mine["Seed"]) == {"1"}
    assert set(mine["Who"]) == {tables.UNCHANGED}
    done = tables.weight_points((), unchanged, SETTINGS, 2)
    places = done[(done["Seed"] == "1") & (done["Position"] != "each other pair")]["Row"]
    assert mine["Row"].tolist() == places.tolist()


def test_the_summary_is_over_the_runs(changed, unchanged):
    summary = tables.weight_summary(changed, unchanged, SETTINGS).set_index(tables.QUANTITY)
    row = summary.loc["Weight on the question (%)"]
    weights = [100 * run.weight_on_question for run in changed]
    assert row["your changes: lowest"] == min(weights)
    assert row["your changes: highest"] == max(weights)
    assert row["your changes: mean"] == pytest.approx(np.mean(weights))
    assert row["your changes: runs"] == 2
    assert row["unchanged: highest"] == max(100 * r.weight_on_question for r in unchanged)
    assert row["Article"] == 47
    gap = summary.loc["Score of the match − score of the question (no unit)"]
    assert gap["your changes: lowest"] == min(question_scores.mean_gap([run]) for run in changed)
    none = tables.weight_summary((), (), replace(SETTINGS, n_values=9))
    words = tables.weight_summary_in_words(none)
    assert (words.drop(columns=tables.QUANTITY) == "—").all(axis=None)


def test_the_summary_in_words_gives_the_mean_and_the_range(changed, unchanged):
    summary = tables.weight_summary(changed, unchanged, SETTINGS)
    words = tables.weight_summary_in_words(summary).set_index(tables.QUANTITY)
    low, high = sorted(100 * run.weight_on_question for run in changed)
    row = words.loc["Weight on the question (%)"]
    assert row["Your changes"] == f"{(low + high) / 2:.1f} ({low:.1f} to {high:.1f})"
    assert row["Article"] == "about 47"
    assert words.loc["Right answers (%)", "Article"] == "100"
    assert words.iloc[-1]["Article"] == "—"


def test_a_range_is_written_once_where_all_share_it():
    assert tables.in_range(-0.2, 0.1, 0.3, "+.1f") == "+0.1 (−0.2 to +0.3)"
    assert tables.in_range(-0.001, 0.01, 0.05, "+.2f") == "+0.01 (+0.00 to +0.05)"
    assert tables.in_range(np.inf, np.inf, np.inf, "+.2f") == "+∞"
    assert tables.in_range(np.nan, np.nan, np.nan, ".1f") == "—"


def test_the_sentence_says_where_both_look_and_what_broke(changed, unchanged):
    assert tables.weights_sentence((), ()) == "No run has finished yet."
    question = 100 * np.mean([run.weight_on_question for run in changed])
    match = 100 * np.mean([run.weight_on_match for run in changed])
    mine = (
        f"Your changes: {question:.1f} % of the weight on the question, {match:.1f} % on the "
        "matching pair (2 runs)."
    )
    assert tables.weights_sentence(changed, ()) == mine
    both = tables.weights_sentence(changed, unchanged[:1])
    plain = 100 * unchanged[0].weight_on_question
    on_match = 100 * unchanged[0].weight_on_match
    assert both.startswith(f"{mine} Unchanged: {plain:.1f} % and {on_match:.1f} % (1 run). ")
    alone = tables.weights_sentence((), unchanged[:1])
    assert alone.startswith(f"Unchanged: {plain:.1f} % of the weight on the question, ")
    moved = signed(question - plain, 1)
    assert both.endswith(
        f"(1 run). Your changes move the question's weight by {moved} percentage points."
    )
    broken = replace(changed[0], diverged="It did.")
    assert tables.weights_sentence([broken], ()).endswith(
        "Stopped early, as the loss was no longer a finite number: 1 run."
    )


def test_the_history_is_that_of_the_checkpoints(changed, unchanged):
    frame = tables.history(changed, unchanged)
    mine = frame[(frame["Who"] == tables.UNCHANGED) & (frame["Seed"] == 1)]
    points = unchanged[1].checkpoints
    assert mine[tables.STEP].tolist() == [point.step for point in points]
    assert mine[tables.WEIGHT].tolist() == [100 * point.weight_on_question for point in points]
    assert frame["Run"].nunique() == 4


def test_the_history_sentence_starts_where_the_task_is_solved(unchanged):
    moved = []
    for run in unchanged:
        solved = next(point for point in run.checkpoints if point.accuracy == 1)
        last = run.checkpoints[-1]
        moved.append(100 * (last.weight_on_question - solved.weight_on_question))
    said = tables.history_sentence((), unchanged)
    assert tables.in_range(min(moved), np.mean(moved), max(moved), "+.1f") in said
    assert "to step 100," in said
    never = tables.history_sentence([run_of(n_steps=5)], ())
    assert never == "Your changes: no run has every test sequence right."
    assert tables.history_sentence((), ()) == "No run has finished yet."


# Scores


def test_the_circuits_cells_are_the_entries_and_the_question_is_the_last_column(changed):
    run = changed[0]
    frame = question_scores.qk_cells(run)
    wide = frame.pivot(index="Asks", columns="Part", values=question_scores.ENTRY)
    for i in range(8):
        for j in range(8):
            assert wide.loc[f"asks key {i}", f"key {j}"] == run.qk[i, j]
            assert wide.loc[f"asks key {i}", f"value {j}"] == run.qk[i, 8 + j]
        assert wide.loc[f"asks key {i}", "itself"] == run.own_scores[i]
    assert frame["Part"].iloc[16] == "itself"
    outlined = frame[frame["Kind"] == question_scores.OWN_KEY]
    assert (outlined["Asks"].str[-1] == outlined["Part"].str[-1]).all()
    assert len(outlined) == len(frame[frame["Kind"] == question_scores.ITSELF]) == 8
    assert (frame["Limit"] == np.abs(run.qk).max()).all()


def test_a_question_that_may_not_look_has_no_entry_of_its_own():
    run = run_of(n_steps=5, looks_at_itself=False)
    frame = question_scores.qk_cells(run)
    own = frame[frame["Kind"] == question_scores.ITSELF]
    assert own[question_scores.ENTRY].isna().all()
    assert (own["Words"] == "may not be looked at").all()
    assert np.isfinite(frame["Limit"]).all()
    assert question_scores.qk_sentence(run).endswith("it has no score, as it may not look there.")
    assert question_scores.gap_sentence([("mine", [run])]) == (
        "Mine: the question has no score to compare with."
    )
    [bar] = question_scores.gap_bins([("mine", [run])]).to_dict("records")
    assert bar[question_scores.SHARE] == 100
    assert bar["Words"].startswith("3.0 or more")


def test_the_sentence_tells_a_copy_from_one_that_is_not(changed):
    said = question_scores.qk_sentence(changed[0])
    assert said.endswith("in all 8 rows the two are equal to the last digit.")
    own_scores = changed[0].own_scores.copy()
    own_scores[2] += 1e-12
    nearly = replace(changed[0], own_scores=own_scores)
    assert question_scores.qk_sentence(nearly).endswith("equal in 7 of 8 rows.")
    own = run_of(n_steps=60, question_table="own for both")
    assert question_scores.qk_sentence(own).endswith("equal in 0 of 8 rows.")
    key, itself = np.diagonal(own.qk).mean(), own.own_scores.mean()
    assert f"scores {key:.2f} on average" in question_scores.qk_sentence(own)
    assert f" −{-itself:.2f} with itself" in question_scores.qk_sentence(own)


def test_the_histogram_is_that_of_the_fresh_sequences(changed):
    """Against the gaps of the sequences themselves, one by one."""
    gaps = []
    for run in changed:
        parameters = train(run.settings).parameters.copy(np.float64)
        sequences = fresh_sequences(run.settings)
        weights = answer_all(parameters, run.settings, sequences).weights
        match = weights[sequences.asked, np.arange(N_FRESH)]
        gaps.append(np.log(match / weights[-1]))
        assert circuits(parameters, run.settings).qk.shape == (8, 24)
    gaps = np.concatenate(gaps)
    bins = question_scores.gap_bins([("mine", changed)])
    assert bins["Sequences"].sum() == 2 * N_FRESH
    assert bins[question_scores.SHARE].sum() == pytest.approx(100)
    for bar in bins.to_dict("records"):
        inside = (gaps >= bar["From"]) & (gaps < bar["To"])
        assert inside.sum() == bar["Sequences"]
    assert question_scores.mean_gap(changed) == pytest.approx(gaps.mean())
    assert question_scores.gap_sentence([("mine", changed)]) == (
        f"Mine: {signed(gaps.mean())} on average over 10,000 sequences, from "
        f"{signed(gaps.min())} to {signed(gaps.max())}."
    )


def test_gaps_beyond_the_ends_are_in_the_outer_bars_and_0_lies_above_0():
    run = run_of(n_steps=0)
    gaps = np.zeros((8, 8))
    gaps[0], gaps[1], gaps[2], gaps[3] = -2.5, 3.0, 40.0, -0.05
    run = replace(run, gaps=gaps, counts=np.full((8, 8), 5))
    bins = question_scores.gap_bins([("mine", [run])])
    assert bins[["From", "To", "Sequences"]].to_numpy().tolist() == [
        [-2.1, -2.0, 40],
        [-0.1, 0.0, 40],
        [0.0, 0.1, 160],
        [3.0, 3.1, 80],
    ]
    assert bins["Words"].tolist() == [
        "below −2.0",
        "−0.1 to 0.0",
        "0.0 to 0.1",
        "3.0 or more: the match has over 20 times the weight",
    ]


def test_sequences_that_do_not_occur_do_not_count():
    run = run_of(n_steps=0)
    gaps, counts = np.full((8, 8), np.inf), np.zeros((8, 8), dtype=int)
    gaps[0, 0], counts[0, 0] = 0.0, 7
    run = replace(run, gaps=gaps, counts=counts)
    assert question_scores.mean_gap([run]) == 0
    assert question_scores.gap_sentence([("mine", [run])]) == (
        "Mine: exactly 0 in all 7 sequences, so the two weights are equal."
    )
    assert np.isnan(question_scores.mean_gap([]))
    assert question_scores.gap_sentence([("mine", [])]) == "No run has finished yet."
    assert question_scores.gap_bins([("mine", [])]).empty


# Every change


def test_every_change_says_what_is_expected_of_it():
    assert set(interventions.EXPECTED) == {change.name for change in INTERVENTIONS}


def test_the_changes_are_summed_up_run_by_run(every):
    summary = interventions.intervention_summary(every).set_index("Change")
    assert summary.index.tolist() == [change.name for change in INTERVENTIONS]
    assert (summary["Runs"] == 2).all()
    for place, change in enumerate(INTERVENTIONS):
        mine = [every[place], every[place + len(INTERVENTIONS)]]
        weights = [100 * run.weight_on_question for run in mine]
        assert summary.loc[change.name, "Question (%): lowest"] == min(weights)
        assert summary.loc[change.name, "Question (%): highest"] == max(weights)
        assert summary.loc[change.name, "Match (%): mean"] == pytest.approx(
            100 * np.mean([run.weight_on_match for run in mine])
        )
        assert summary.loc[change.name, "Right (%): lowest"] == min(100 * r.accuracy for r in mine)
    words = interventions.intervention_summary_in_words(summary.reset_index()).set_index("Change")
    assert words.loc["nothing changed", "As expected"] == "2 of 2"
    assert words.loc["start three times larger", "As expected"] == "—"
    assert words.loc["may not look at itself", "Question (%)"] == "0.0"
    assert words.loc["may not look at itself", "Gap (no unit)"] == "+∞"
    empty = interventions.intervention_summary_in_words(interventions.intervention_summary([]))
    assert (empty["As expected"] == "—").all()


def test_every_run_of_every_change_has_its_two_points(every):
    points = interventions.intervention_points(every, SETTINGS, 2)
    assert len(points) == 2 * len(every)
    for run in every:
        name = interventions.NAMES[every.index(run) % len(INTERVENTIONS)]
        mine = points[(points["Change"] == name) & (points["Seed"] == run.settings.seed)]
        assert mine[tables.WEIGHT].tolist() == [
            100 * run.weight_on_match,
            100 * run.weight_on_question,
        ]
        assert (mine["Row"].round() == interventions.NAMES.index(name)).all()
    with pytest.raises(ValueError, match="the run must be one of the interventions, got "):
        interventions.intervention_points([run_of(n_steps=0, init_scale=0.2)], SETTINGS, 2)


@pytest.mark.parametrize(
    ("name", "match", "question", "expected"),
    [
        ("nothing changed", 0.5, 0.41, True),
        ("nothing changed", 0.5, 0.39, False),
        ("own table to ask with", 0.4, 0.49, True),
        ("weights need not sum to 1", 0.99, 0.5, False),
        ("own table for both", 0.9, 0.04, True),
        ("own table to be looked at", 0.9, 0.06, False),
        ("may not look at itself", 0.9, 0.0, True),
        ("may not look at itself", 0.9, 1e-9, False),
        ("start three times larger", 0.9, 0.1, None),
    ],
)
def test_what_counts_as_expected(every, name, match, question, expected):
    run = every[interventions.NAMES.index(name)]
    run = replace(run, weight_on_match=match, weight_on_question=question)
    assert interventions.is_expected(run) is expected


def test_hidden_values_are_expected_to_leave_exactly_nothing(every):
    hidden = every[interventions.NAMES.index("values hidden from the scores")]
    assert interventions.is_expected(hidden) is True
    assert interventions.is_expected(replace(hidden, gaps=hidden.gaps + 1e-9)) is False


def test_the_sentence_counts_the_runs_that_came_out_as_expected(every):
    outcomes = [interventions.is_expected(run) for run in every]
    assert outcomes.count(None) == 2
    said = interventions.expected_sentence(every)
    assert said.startswith(f"{outcomes.count(True)} of 16 runs came out as expected of a copy")
    assert interventions.expected_sentence([]) == "No run has finished yet."


def test_the_telling_runs_are_put_beside_each_other(every):
    assert interventions.interventions_sentence(every[:3]) is None
    said = interventions.interventions_sentence(every)
    numbers = [
        100 * np.mean([run.weight_on_question for run in every[place :: len(INTERVENTIONS)]])
        for place in (0, 3, 2)
    ]
    assert said == (
        f"Weight on the question: {numbers[0]:.0f} % with nothing changed; {numbers[1]:.0f} % with "
        f"a table of its own to ask with; {numbers[2]:.1f} % with one to be looked at."
    )
    assert interventions.why(every).startswith("The question is a copy of its match's key")
    # Negative control: where a table to be looked at leaves the weight, it is not said.
    blind = [replace(run, weight_on_question=0.49) for run in every]
    assert "do not tell the explanations apart" in interventions.why(blind)
    assert "do not tell the explanations apart" in interventions.why([])


def test_the_tests_of_a_sink_are_those_of_the_runs(unchanged, every):
    table = interventions.sink_tests(unchanged, every).set_index("Test")

    def mean(field, runs=unchanged, times=100):
        return pytest.approx(times * np.mean([getattr(run, field) for run in runs]))

    assert table.loc["What it hands over", "Before"] == mean("value_writes", times=1)
    assert table.loc["What it hands over", "After"] == mean("question_writes", times=1)
    assert table.loc["Nothing matches", "Before"] == mean("weight_on_question")
    assert table.loc["Nothing matches", "After"] == mean("unmatched_on_question")
    assert table.loc["Left out after training", "After"] == mean("accuracy_cut")
    free = [run for run in every if not run.settings.sum_to_one]
    assert table.loc["Weights need not sum to 1", "After"] == mean("weight_on_question", free)
    assert table["Alike"].tolist() == [True, True, False, False]
    assert "5.40 to 5,158" in table.loc["Left out after training", "Sinks in large models"]
    assert "18.2 to 0.4 %" in table.loc["Weights need not sum to 1", "Sinks in large models"]


def test_a_head_that_behaves_like_a_sink_is_called_one(unchanged, every):
    """Negative control for the two tests that this head does not pass."""
    broken = [replace(run, accuracy_cut=0.2) for run in unchanged]
    empty = [replace(run, weight_on_question=0.01) for run in every]
    alike = interventions.sink_tests(broken, empty)["Alike"].tolist()
    assert alike == [True, True, True, True]


def test_what_has_not_been_run_is_not_answered(unchanged):
    words = interventions.sink_tests_in_words(interventions.sink_tests(unchanged, ()))
    assert words["Measured"].iloc[-1] == "not run yet"
    assert words["Like a sink?"].tolist() == ["yes", "yes", "no", "—"]
    nothing = interventions.sink_tests_in_words(interventions.sink_tests((), ()))
    assert (nothing["Measured"] == "not run yet").all()
    every_key = [replace(run, unmatched_on_question=None) for run in unchanged]
    alone = interventions.sink_tests_in_words(interventions.sink_tests(every_key, ()))
    assert alone["Measured"].iloc[1] == "not run yet"


# Charts


@pytest.fixture(scope="module")
def drawn(changed, unchanged, every):
    """Every chart beside its frame."""
    groups = tuple(zip(GROUPS, (changed, unchanged), strict=True))
    return {
        "weights": (
            charts.weight_points(),
            tables.weight_points(changed, unchanged, SETTINGS, 2),
        ),
        "circuit": (charts.qk_circuit(8), question_scores.qk_cells(changed[0])),
        "gap": (charts.gap_histogram(), question_scores.gap_bins(groups)),
        "history": (charts.history(100), tables.history(changed, unchanged)),
        "changes": (
            charts.intervention_points(),
            interventions.intervention_points(every, SETTINGS, 2),
        ),
    }


CHARTS = ("weights", "circuit", "gap", "history", "changes")


def values_of(part, name):
    """All values under this name, anywhere in a specification."""
    if isinstance(part, dict):
        for key, inner in part.items():
            if key == name:
                yield inner
            yield from values_of(inner, name)
    elif isinstance(part, list):
        for inner in part:
            yield from values_of(inner, name)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_names_only_columns_its_frame_has(name, drawn):
    chart, frame = drawn[name]
    specification = spec(chart)
    computed = {made for made in values_of(specification, "as") if isinstance(made, str)}
    text = json.dumps(specification)
    in_expressions = set(re.findall(r"datum\.(\w+)", text.replace("datum.value", "")))
    in_expressions |= set(re.findall(r"datum\['([^']+)'\]", text))
    named = set(values_of(specification, "field")) | in_expressions
    assert named <= set(frame.columns) | computed


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_holds_no_data_and_its_quantities_have_fixed_domains(name, drawn):
    specification = spec(drawn[name][0])
    assert "datasets" not in json.dumps(specification)
    assert specification["width"] == "container"
    assert isinstance(specification["height"], int)
    for encoding in values_of(specification, "encoding"):
        for channel in ("x", "y", "color"):
            described = encoding.get(channel, {})
            if described.get("type") == "quantitative" and "field" in described:
                assert "domain" in described["scale"], (name, channel)


@pytest.mark.parametrize("name", ["weights", "circuit", "gap", "history"])
def test_the_meanings_of_a_chart_are_those_of_its_frame(name, drawn):
    chart, frame = drawn[name]
    text = json.dumps(spec(chart), ensure_ascii=False)
    for column in ("Who", "Position", "Kind"):
        for value in frame.get(column, []):
            if column == "Kind" and value == "another part":
                continue
            assert f'"{value}"' in text or f"'{value}'" in text


def test_the_words_of_a_row_stand_where_its_points_are(drawn):
    chart, frame = drawn["changes"]
    [label] = set(values_of(spec(chart), "labelExpr"))
    for place, name in enumerate(interventions.NAMES):
        assert f"datum.value == {place} ? '{name}'" in label
    assert sorted(frame["Row"].round().unique()) == list(range(len(interventions.NAMES)))
