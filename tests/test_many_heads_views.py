"""The tables and charts of many heads: what core returned, in words that are true of it."""

from dataclasses import replace

import numpy as np
import pytest

from core.ablation_scores import Score
from core.charts import many_heads as charts
from core.charts.style import COLOURS
from core.many_heads import (
    CASES,
    Answered,
    Case,
    HeadsRun,
    Looks,
    ManyHeadsSettings,
    score,
)
from core.one_head_ceiling import enumerate_ceiling
from core.tables import heads_off
from core.tables import many_heads as tables
from core.tables import one_head_ceiling as ceilings
from core.two_facts_settings import TwoFactsSettings
from core.two_facts_training import train

TASK = TwoFactsSettings(n_keys=4, n_values=3)
CHOSEN = ManyHeadsSettings(train=TASK, n_seeds=2)
TOTAL = 648


def answered(both, first=None, second=None):
    three = (both, both if first is None else first, both if second is None else second)
    return Answered(
        **{
            name: Score(right=right, total=TOTAL)
            for name, right in zip(("both", "first", "second"), three, strict=True)
        }
    )


def made_up(case, seed, both, without=None, **changes):
    """A run with these scores."""
    H = case.n_heads
    fields = {
        "settings": replace(TASK, n_heads=H, order=case.order, seed=seed),
        "exact": True,
        "whole": answered(both),
        "without": without or (answered(72, 216, 216),) * H,
        "looks": (Looks(first=0.5, second=0.25, other=0.25),) * H,
        "qk": np.zeros((H, 8, 7)),
        "ov": np.zeros((H, 7, 6)),
        "solved_at": None,
        "diverged": None,
    }
    return HeadsRun(**(fields | changes))


SORTED, ONE, TWO = CASES[:3]
RUNS = [
    made_up(SORTED, 0, TOTAL, solved_at=70),
    made_up(ONE, 0, 432),
    made_up(ONE, 1, 430),
    made_up(TWO, 0, TOTAL, solved_at=40),
    made_up(TWO, 1, TOTAL, solved_at=50),
]


def test_the_points_are_the_runs_beside_chance_and_the_ceiling():
    frame = tables.run_points(RUNS, CHOSEN).set_index("Mark")
    assert frame.loc["ceiling", "Accuracy"] == pytest.approx(200 / 3)
    assert frame.loc["ceiling", "Words"] == "ceiling 66.6667 %"
    assert frame.loc["chance", "Accuracy"] == pytest.approx(100 / 9)
    runs = frame.loc["run"]
    assert list(runs["Accuracy"]) == [100 * run.whole.both.share for run in RUNS]
    assert [round(row) for row in runs["Row"]] == [0, 1, 1, 2, 2]
    assert runs["Row"].is_unique
    assert list(runs["Words"])[1] == "432 of 648"
    assert list(runs["Solved"]) == ["step 70", "never", "never", "step 40", "step 50"]


def test_the_rows_of_the_chart_are_the_cases():
    assert tuple(tables.label(case) for case in CASES) == charts.ROWS


def test_the_summary_counts_runs_at_the_ceiling():
    table = tables.case_summary(RUNS, CHOSEN)
    assert list(table["Runs"]) == [1, 2, 2, 0, 0]
    assert list(table["One-head ceiling (exact)"]) == ["", "2/3", "", "", ""]
    assert table["Runs exactly at the ceiling"][1] == 1
    assert table["Lowest accuracy (%)"][1] == pytest.approx(100 * 430 / 648)
    assert list(table["Earliest at 99 % (step)"])[2] == 40
    shown = tables.case_summary_in_words(table)
    assert list(shown["Both right"]) == ["100 %", "66.36 to 66.67 %", "100 %", "—", "—"]
    assert list(shown["99 % reached"]) == ["step 70", "never", "step 40 to 50", "—", "—"]
    assert list(shown["Ceiling"]) == ["100 %", "2/3", "100 %", "100 %", "100 %"]


def test_almost_all_is_not_called_all():
    nearly = [made_up(TWO, 0, 647), made_up(TWO, 1, TOTAL)]
    shown = tables.case_summary_in_words(tables.case_summary(nearly, CHOSEN))
    assert shown["Both right"][2] == "99.85 to 100 %"
    tiny = Answered(
        **dict.fromkeys(("both", "first", "second"), Score(right=199_999, total=200_000))
    )
    run = made_up(TWO, 0, TOTAL, whole=tiny)
    shown = tables.case_summary_in_words(tables.case_summary([run], CHOSEN))
    assert (shown["Both right"][2], shown["First right"][2]) == ("99.99 %", "99.99 %")


def test_the_result_says_how_one_head_lies_against_its_ceiling():
    sentence = tables.result_sentence(RUNS, TASK)
    assert sentence == (
        "One head answered 66.36 to 66.67 % of all 648 possible sequences right; its ceiling is "
        "2/3 = 66.6667 %, met exactly by 1 of 2 runs. Two heads: 100 %."
    )
    assert tables.result_sentence([], TASK) == ""
    seen = tables.result_sentence(RUNS, replace(TASK, values_in_keys=True))
    assert seen.endswith("The scores see the values here, so the ceiling does not bind.")
    beyond = [*RUNS, made_up(ONE, 2, TOTAL)]
    assert "met exactly by 1 of 3 runs, passed by 1. Two" in tables.result_sentence(beyond, TASK)


def test_a_sampled_result_says_how_far_off_in_standard_errors():
    large = replace(TASK, n_keys=16, n_values=16)
    right = Score(right=2656, total=5000)  # expected 17/32
    runs = [
        made_up(
            ONE,
            0,
            0,
            settings=replace(large, n_heads=1),
            exact=False,
            whole=Answered(both=right, first=right, second=right),
        )
    ]
    sentence = tables.result_sentence(runs, large)
    assert "of 5,000 fresh sequences right" in sentence
    assert "all runs together lie 0.01 standard errors below it" in sentence
    assert "met exactly" not in sentence
    summary = tables.case_summary(runs, ManyHeadsSettings(train=large))
    assert summary["Runs exactly at the ceiling"][1] == 0


def test_a_sample_is_never_exactly_at_the_ceiling():
    """2,750 of 5,000 is the ceiling of ten values, 11/20, and a coincidence."""
    ten = replace(TASK, n_keys=16, n_values=10)
    right = Score(right=2750, total=5000)
    three = Answered(both=right, first=right, second=right)
    changes = {"settings": replace(ten, n_heads=1), "whole": three}
    for exact in (True, False):
        run = made_up(ONE, 0, 0, exact=exact, **changes)
        summary = tables.case_summary([run], ManyHeadsSettings(train=ten))
        assert summary["Runs exactly at the ceiling"][1] == int(exact)


def test_progress_names_what_reached_99_per_cent_and_what_stopped():
    sentence = tables.progress_sentence(RUNS, CHOSEN)
    assert sentence.endswith("At least 99 % in every run: 1 head, smallest first; 2 heads.")
    assert tables.progress_sentence([], CHOSEN) == "No run has finished yet."
    broken = [*RUNS, made_up(TWO, 2, 10, diverged="The loss …")]
    sentence = tables.progress_sentence(broken, CHOSEN)
    assert "At least 99 % in every run: 1 head, smallest first. Stopped early" in sentence
    assert sentence.endswith("no longer a finite number: 1 run.")


def test_the_control_sentence_is_about_the_sorted_runs():
    assert tables.control_sentence(RUNS, TASK) == (
        "Asked for them smallest first, one head answered 100 % of all 648 possible sequences "
        "right, in 1 run."
    )
    assert tables.control_sentence(RUNS[1:], TASK) == "No run has finished yet."


def test_what_was_scored_is_said():
    assert "every possible sequence, 648 of them" in tables.scored_sentence(CHOSEN)
    large = ManyHeadsSettings(train=replace(TASK, n_keys=16, n_values=16))
    assert "5,000 fresh sequences a run" in tables.scored_sentence(large)


def test_the_ceiling_is_written_as_a_count():
    assert ceilings.ceiling_sentence(8) == (
        "Two values out of 8 make 8 × 8 = 64 cases. At best 8 × 9 ÷ 2 = 36 of them are answered "
        "right: 36/64 = 9/16 = 56.25 %."
    )
    one, two, three = ceilings.proof_steps(8)
    assert "8 × 8 = 64 cases: in 8 both values are the same; the rest make 28 couples" in one
    assert two.endswith("8 + 28 = 36.")
    assert three.endswith("36 of 64 = 9/16 is the most.")
    one, _, three = ceilings.proof_steps(2)
    assert "make 1 couple of" in one
    assert three.endswith("3 of 4 = 3/4 is the most.")
    checks = ceilings.ceiling_checks()
    assert list(checks["Largest share (exact)"]) == list(checks["(V + 1) / 2V (exact)"])
    assert list(checks["Free of contradictions"]) == [
        enumerate_ceiling(V).possible for V in (2, 3, 4)
    ]
    assert ceilings.ceiling_checks_in_words(checks).iloc[2, 1] == "65,536"


def test_the_run_list_has_a_row_for_each_head_off():
    table = tables.run_list(RUNS)
    assert len(table) == 3 * 2 + 2 * 3
    assert list(table["Head switched off"])[-3:] == ["none", "1", "2"]
    assert list(table["Both right"])[-3:] == [TOTAL, 72, 72]
    assert tables.chosen_settings(TASK, 3, 7) == replace(TASK, n_heads=3, seed=7)


FIRST_GONE, SECOND_GONE = answered(81, 81, TOTAL), answered(81, TOTAL, 81)


@pytest.mark.parametrize(
    ("off", "says"),
    [
        (FIRST_GONE, "the first answer"),
        (SECOND_GONE, "the second answer"),
        (answered(9, 81, 81), "both answers"),
        (answered(TOTAL), "neither answer needs it"),
        (answered(642), "neither answer needs it"),  # 0.93 points
        (answered(641), "both answers"),  # 1.08 points
    ],
)
def test_a_head_is_for_what_is_lost_without_it(off, says):
    assert heads_off.purpose(answered(TOTAL), off) == says


def test_the_heads_of_one_run_are_listed():
    run = made_up(TWO, 0, TOTAL, without=(FIRST_GONE, SECOND_GONE))
    frame = heads_off.heads_off(run)
    assert list(frame["Heads"].unique()) == ["all heads on", "head 1 off", "head 2 off"]
    one_off = frame[frame["Heads"] == "head 1 off"].set_index("Answer")["Accuracy (%)"]
    assert dict(one_off) == {"both": 12.5, "first": 12.5, "second": 100.0}
    table = heads_off.head_table(run)
    assert list(table["What it is for"]) == ["the first answer", "the second answer"]
    shown = heads_off.head_table_in_words(table)
    assert list(shown["First right without it"]) == ["12.50 %", "100.00 %"]
    alone = made_up(TWO, 0, TOTAL, looks=(Looks(first=0.5, second=0.5, other=None),) * 2)
    assert list(heads_off.head_table_in_words(heads_off.head_table(alone))["On each other"]) == [
        "—",
        "—",
    ]


def test_over_all_runs_the_needed_heads_are_counted():
    split = made_up(TWO, 0, TOTAL, without=(SECOND_GONE, FIRST_GONE))
    shared = made_up(TWO, 1, TOTAL, without=(answered(9, 81, 81), answered(TOTAL)))
    sentence = heads_off.off_sentence([split, shared], TWO)
    assert sentence == (
        "Heads that cost at least one percentage point when switched off, in 2 runs: 1 to 2 of 2. "
        "In 1 of 2 runs each head carries one of the two answers."
    )
    three = Case(n_heads=3, order="as asked")
    run = made_up(three, 0, TOTAL, without=(FIRST_GONE, SECOND_GONE, answered(TOTAL)))
    sentence = heads_off.off_sentence([run], three)
    assert "2 of 3" in sentence
    assert sentence.endswith("In 1 of 1 run some head can go and 99 % stay right.")
    assert "has finished yet" in heads_off.off_sentence([], three)


def test_the_circuits_are_those_of_the_head():
    run = score(train(replace(TASK, n_heads=2, n_steps=150)))
    for head in range(2):
        frame = heads_off.head_circuits(run, head)
        qk, ov = (frame[frame["Circuit"] == name] for name in ("QK", "OV"))
        np.testing.assert_array_equal(qk["Entry"].to_numpy().reshape(8, 7), run.qk[head])
        np.testing.assert_array_equal(ov["Entry"].to_numpy().reshape(6, 7), run.ov[head].T)
        assert list(qk["Row"].unique())[3:5] == ["first key 3", "second key 0"]
        assert set(qk["Row"][:7]) == {"first key 0"}  # a row of the table after the other
        assert list(qk["Part"][:7]) == [
            *(f"key {i}" for i in range(4)),
            *map("value {}".format, range(3)),
        ]
        assert list(ov["Row"].unique())[2:4] == ["first says 2", "second says 0"]
        assert frame["Share"].abs().max() <= 1
        assert set(qk["Limit"]) == {float(np.abs(run.qk).max())}


def test_the_sentence_of_the_circuits_reads_the_diagonals():
    qk, ov = np.zeros((2, 8, 7)), np.zeros((2, 7, 6))
    qk[0, :4, :4] = 3 * np.eye(4)
    qk[0, 4:, :4] = -np.eye(4)
    ov[0, 4:, 3:] = 2 * np.eye(3)
    run = made_up(TWO, 0, TOTAL, qk=qk, ov=ov)
    assert heads_off.circuits_sentence(run, 0) == (
        "Head 1: a key's score with itself is 3.0 above the others if it is named first, 1.0 below "
        "them if named second; a value's logit for itself is 0.0 above the others in the first "
        "answer, 2.0 above them in the second."
    )


@pytest.mark.parametrize(
    "chart", [charts.run_points(), charts.heads_off(3), charts.head_circuits(32)]
)
def test_the_charts_build_and_name_their_axes(chart):
    text = str(chart.to_dict())
    assert "frame" in text
    assert "(%)" in text or "(no unit)" in text
    assert "'width': 'container'" in text


def test_the_answers_have_colours():
    for answer in charts.ANSWERS:
        assert COLOURS[f"{answer} right"]
    assert charts.ANSWERS == heads_off.ANSWERS
