"""The ablation's tables and charts show what was computed, and nothing else."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from core.ablation import uniform_ceiling
from core.ablation_runs import AblationSettings, ablation_steps, alike, finished, share_done
from core.ablation_scores import Score, add_up
from core.charts import ablation as charts
from core.charts.style import spec
from core.tables import ablation as tables
from core.tables import ceiling as ceilings
from core.tables import sampling
from core.training import TrainSettings

SETTINGS = AblationSettings(
    train=TrainSettings(n_steps=100), variants=("learned", "uniform"), n_seeds=2
)


@pytest.fixture(scope="module")
def runs():
    return finished(ablation_steps(SETTINGS))


def of(runs, variant):
    return [run for run in runs if run.settings.variant == variant]


def test_every_run_is_a_point_in_the_row_of_its_variant(runs):
    points = tables.run_points(runs, SETTINGS)
    shown = points[points["Mark"] == "run"]
    assert shown["Accuracy"].tolist() == [100 * run.score.share for run in runs]
    assert shown["Row"].round().tolist() == [
        charts.VARIANTS.index(tables.LABELS[run.settings.variant]) for run in runs
    ]
    assert shown["Row"].is_unique
    assert ((shown["Low"] <= shown["Accuracy"]) & (shown["Accuracy"] <= shown["High"])).all()


def test_the_lines_stand_at_chance_and_at_the_ceiling(runs):
    points = tables.run_points(runs, SETTINGS).set_index("Mark")
    assert points.loc["chance", "Accuracy"] == 12.5
    assert points.loc["ceiling", "Accuracy"] == 45.3125
    assert points.loc["ceiling", "Low"] == pytest.approx(45.3125 - 1.96 * 0.70398, abs=1e-3)
    assert points.loc["article", "Accuracy"] == 45.7


def test_the_lines_stand_before_any_run_has_finished():
    assert set(tables.run_points((), SETTINGS)["Mark"]) == {"chance", "ceiling", "article"}


def test_the_articles_score_stands_beside_its_own_task_only():
    other = replace(SETTINGS, train=replace(SETTINGS.train, n_values=7))
    assert "article" not in set(tables.run_points((), other)["Mark"])
    assert set(tables.variant_summary((), other)["Article"]) == {"another task"}
    assert "article" not in set(sampling.sampling_points((), other.train)["Who"])
    assert "article" not in sampling.sampling_sentence((), other.train)


def test_with_other_keys_only_the_uniform_score_is_the_articles():
    other = replace(SETTINGS, train=replace(SETTINGS.train, n_keys=32))
    summary = tables.variant_summary((), other).set_index("Variant")["Article"]
    assert summary.to_dict() == {"learned": "another task", "uniform": "45.7 %"}
    assert "article" in set(tables.run_points((), other)["Mark"])
    assert "45.7 %" in sampling.sampling_sentence((), other.train)


def test_the_charts_rows_are_the_tables_labels():
    assert list(tables.LABELS.values()) == charts.VARIANTS
    assert tables.LABELS.keys() == tables.TAKEN_AWAY.keys() == tables.ASKS.keys()


def test_the_summary_adds_up_all_seeds(runs):
    summary = tables.variant_summary(runs, SETTINGS).set_index("Variant")
    uniform = of(runs, "uniform")
    assert summary.loc["uniform", "Runs"] == 2
    assert summary.loc["uniform", "Mean accuracy (%)"] == pytest.approx(
        100 * sum(run.score.right for run in uniform) / 10_000
    )
    assert summary.loc["uniform", "Runs that solved it"] == 0
    assert np.isnan(summary.loc["uniform", "Earliest at 99 % (step)"])
    assert summary.loc["learned", "Latest at 99 % (step)"] == max(
        run.solved_at for run in of(runs, "learned")
    )
    words = tables.variant_summary_in_words(tables.variant_summary(runs, SETTINGS))
    assert words["99 % at step"].tolist()[1] == "never"
    assert words["Article"].tolist() == ["solved within 100 steps", "45.7 %"]


def test_a_variant_without_runs_has_dashes_and_no_verdict():
    words = tables.variant_summary_in_words(tables.variant_summary((), SETTINGS))
    assert set(words["Accuracy"]) == set(words["99 % at step"]) == {"—"}
    assert all("No run has finished yet" in line for line in tables.findings((), SETTINGS))
    assert tables.progress_sentence((), SETTINGS) == "No run has finished yet."
    assert tables.uniform_sentence((), SETTINGS.train) is None
    assert tables.frozen_sentence(()) is None


def test_frozen_scores_are_put_beside_equal_ones(runs):
    uniform = of(runs, "uniform")
    assert tables.frozen_sentence(uniform) is None
    learned = of(runs, "learned")[0]
    frozen = replace(learned, settings=replace(learned.settings, variant="frozen_scores"))
    share = f"{100 * learned.score.share:.1f}"
    alone = f"W_Q and W_K kept at their random start: {share} % of 5,000 answers right."
    assert tables.frozen_sentence([frozen]) == alone
    equal = 100 * add_up(run.score for run in uniform).share
    assert tables.frozen_sentence([*uniform, frozen]) == (
        f"{alone} Both at zero, so that all scores are equal: {equal:.1f} %."
    )


def test_the_sentences_say_who_solved_the_task(runs):
    sentence = tables.progress_sentence(runs, SETTINGS)
    assert "99 % reached in every run: learned. 99 % reached in no run: uniform." in sentence
    assert "its ceiling is 45.3 %" in sentence
    learned, uniform = tables.findings(runs, SETTINGS)
    assert learned.startswith("**learned.** Taken away: nothing. ")
    assert uniform.startswith("**uniform.** Taken away: all scores: ")
    assert "2 of 2 runs reached 99 %" in learned
    assert "None of 2 runs reached 99 %" in uniform


def test_a_variant_that_solves_it_in_some_runs_is_not_said_to_in_every_one(runs):
    late = replace(of(runs, "learned")[1], solved_at=None)
    sentence = tables.progress_sentence((of(runs, "learned")[0], late), SETTINGS)
    assert "99 % reached in some runs: learned." in sentence
    assert "in every run" not in sentence


def test_a_run_that_stopped_early_is_said_to_have(runs):
    broken = replace(runs[0], diverged="The loss stopped being a finite number at step 5.")
    assert "a finite number: 1 run." in tables.progress_sentence((broken,), SETTINGS)
    assert "a finite number: 2 runs." in tables.progress_sentence((broken, broken), SETTINGS)
    assert tables.run_list((broken,))["Stopped early"].tolist() == [broken.diverged]


def test_the_list_of_runs_holds_the_counted_answers(runs):
    table = tables.run_list(runs)
    assert table["Right answers"].tolist() == [run.score.right for run in runs]
    assert np.allclose(table["Accuracy (%)"], 100 * table["Right answers"] / 5000)
    steps = tables.run_list((replace(runs[0], solved_at=1500), replace(runs[0], solved_at=None)))
    assert [line.count("1500,") for line in steps.to_csv(index=False).splitlines()[1:]] == [1, 0]


def test_the_cases_add_up_to_the_uniform_runs(runs):
    table = ceilings.case_table(3, 8, runs)
    uniform = add_up(run.score for run in of(runs, "uniform"))
    assert table["Right answers"].sum() == uniform.right
    assert table["Sequences tested"].sum() == uniform.total == 10_000
    assert sum(Fraction(text) for text in table["Adds to the ceiling (exact)"]) == Fraction(29, 64)
    assert table["Predicted accuracy (exact)"].tolist() == ["1/3", "2/3", "1"]
    best = [run.best_cases[0] for run in of(runs, "uniform")]
    assert table["Best strategy (%)"][0] == pytest.approx(100 * add_up(best).share)
    assert table["Best strategy (%)"][0] != table["Measured accuracy (%)"][0]


def test_the_cases_without_runs_show_the_prediction_alone():
    words = ceilings.case_table_in_words(ceilings.case_table(3, 8, ()))
    assert words["Predicted right"].tolist() == ["1/3 = 33.33 %", "2/3 = 66.67 %", "1 = 100 %"]
    assert set(words["Measured right"]) == {"—"}
    shares = ceilings.case_table_in_words(ceilings.case_table(8, 8, ()))["Share of sequences"]
    assert shares.tolist()[-1] == "1/2,097,152 = 4.768 × 10⁻⁵ %"


def test_a_case_that_was_not_drawn_is_a_dash():
    run = finished(
        ablation_steps(
            AblationSettings(
                train=TrainSettings(n_steps=0, n_pairs=12, n_keys=12, n_values=32),
                variants=("uniform",),
                n_seeds=1,
            )
        )
    )
    words = ceilings.case_table_in_words(ceilings.case_table(12, 32, run))
    assert words["Measured right"].tolist()[-1] == "—"
    assert words["From prediction, in standard errors"].tolist()[-1] == "—"


@pytest.mark.parametrize(("n_pairs", "n_values"), [(1, 2), (3, 8), (2, 3), (16, 32)])
def test_the_written_sum_ends_in_the_exact_ceiling(n_pairs, n_values):
    ceiling = uniform_ceiling(n_pairs, n_values)
    exact = f" {ceiling.numerator:,}/{ceiling.denominator:,} = "
    assert exact in ceilings.ceiling_sum(n_pairs, n_values)


def test_the_written_sum_is_true():
    terms = ceilings.ceiling_sum(4, 5).split(" = ")[0].split(" + ")
    products = [[Fraction(factor) for factor in term.split(" × ")] for term in terms]
    assert sum(share * right for share, right in products) == uniform_ceiling(4, 5)


def test_distances_are_those_of_each_sample(runs):
    points = sampling.sampling_points(runs, SETTINGS.train)
    assert points["Who"].tolist() == ["uniform head", "best strategy"] * 2 + ["article"]
    first = of(runs, "uniform")[0].score
    p = 29 / 64
    assert points["Distance"][0] == pytest.approx(
        (first.right / 5000 - p) / (p * (1 - p) / 5000) ** 0.5
    )
    of_best = points[points["Who"] == "best strategy"]["Right answers"].tolist()
    assert of_best == [run.best.right for run in of(runs, "uniform")]
    assert of_best != [run.score.right for run in of(runs, "uniform")]
    assert points["Distance"].iloc[-1] == pytest.approx(0.551, abs=1e-3)


def test_the_summary_of_scores_keeps_the_article_apart(runs):
    table = sampling.sampling_summary(runs, SETTINGS.train)
    assert table["Accuracy (%)"][0] == 45.3125
    assert table["Sequences"].tolist() == [0, 10_000, 10_000, 0, 5000]
    words = sampling.sampling_summary_in_words(table)
    assert words["Accuracy"].tolist()[0] == "45.3125 %"
    assert words["Accuracy"].tolist()[-1] == "45.7 %"
    assert words["From the ceiling, in standard errors"].tolist()[-1] == "+0.55"


def test_only_measured_cells_of_the_map_have_a_score(runs):
    cells = ceilings.map_cells(ceilings.ceiling_cells(), runs, (3, 8))
    assert len(cells) == 16 * 31
    measured = cells[cells["Sequences"] > 0]
    assert measured[["Pairs", "Values"]].to_numpy().tolist() == [[3, 8]]
    assert measured["Selected"].all()
    assert cells["Selected"].sum() == 1
    uniform = add_up(run.score for run in of(runs, "uniform"))
    assert measured["Measured"].item() == pytest.approx(100 * uniform.share)
    assert measured["Exact"].item() == "29/64"
    assert "Cells measured: 1" in ceilings.map_sentence(runs)
    assert ceilings.measured_cells(runs)["Ceiling (exact)"].tolist() == ["29/64"]


def test_an_unmeasured_map_says_so():
    assert "No cell has been measured" in ceilings.map_sentence(())
    assert len(ceilings.measured_cells(())) == 0


def test_runs_lie_on_one_map_if_only_their_task_differs():
    one = TrainSettings(n_pairs=5, n_keys=9, n_values=4, seed=3, variant="uniform")
    assert alike(one, TrainSettings())
    assert not alike(replace(one, n_steps=100), TrainSettings())
    assert not alike(replace(one, learning_rate=0.1), TrainSettings())


def test_progress_counts_runs_and_the_steps_of_the_one_under_way():
    steps = [step for step in ablation_steps(SETTINGS) if step is not None]
    assert share_done([]) == 0
    shares = [share_done(steps[: i + 1]) for i in range(len(steps))]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    first_done = next(i for i, step in enumerate(steps) if step.run)
    assert shares[first_done] == 0.25


@pytest.mark.parametrize(
    ("make", "titles"),
    [
        (charts.run_points, {"Accuracy on 5,000 fresh sequences (%)"}),
        (charts.sampling_points, {"From the ceiling (standard errors)"}),
        (charts.ceiling_map, {"Different values", "Pairs in a sequence", "Accuracy (%)"}),
    ],
)
def test_charts_carry_no_data_and_name_their_axes(make, titles):
    text = str(spec(make()))
    assert "values': [{" not in text
    for title in titles:
        assert title in text


def test_an_impossible_distance_is_written_not_shown_as_a_number():
    assert sampling.in_errors(float("-inf")) == "below, where chance leaves no room"
    assert sampling.signed(float("-inf")) == "−∞"
    assert sampling.in_errors(float("nan")) == "no sequences"
    assert sampling.articles_score() == Score(right=2285, total=5000)
