"""The tables and charts of recall at scale show what was shipped and what was run, and no more."""

from dataclasses import replace

import pytest

from core.ablation import uniform_ceiling
from core.ablation_scores import Score
from core.charts import scale as charts
from core.charts.style import spec
from core.recall_at_scale import PAIRS, WIDTHS, ScaleRun, ScaleSettings, cell_runs
from core.recall_map import TOLERANCE, shipped_cell, shipped_runs
from core.tables import scale as tables
from core.tables import scale_cell as one_cell
from core.tables import scale_findings as findings

RUNS = cell_runs(ScaleSettings(), 16, 2, 2, 3)


def fresh_like(settings, *, off=0):
    """A run that gave what was shipped for these settings, but for so many answers."""
    shipped = one_cell.shipped_like(settings)
    score = Score(right=shipped.score.right - off, total=shipped.score.total)
    return ScaleRun(
        settings=settings,
        score=score,
        match_on_top=shipped.match_on_top,
        weight_on_match=shipped.weight_on_match,
        curve=((0, 0.1), (3000, score.share)),
        diverged=None,
    )


def test_steps_are_whole_in_the_download_and_empty_where_none_was_reached():
    table = tables.run_list()
    written = table[["99 % at step"]].to_csv(index=False).split()[1:]
    reached = [run.solved_at for run in shipped_runs()]
    assert None in reached
    assert [cell for cell in written if "." in cell] == []
    assert table["99 % at step"].dropna().tolist() == [step for step in reached if step is not None]


def test_the_map_has_every_cell_with_the_means_of_the_file():
    cells = tables.map_cells(2, "accuracy", (16, 4))
    assert list(zip(cells["Pairs"], cells["d_k"], strict=True)) == [
        (n_pairs, d_k) for n_pairs in PAIRS for d_k in WIDTHS
    ]
    for cell in cells.to_dict("records"):
        shares = [100 * run.score.share for run in shipped_cell(cell["Pairs"], cell["d_k"], 2)]
        assert cell["Accuracy (%)"] == pytest.approx(sum(shares) / 3)
        assert cell["Shown"] == cell["Accuracy (%)"]
        assert (cell["Lowest seed (%)"], cell["Highest seed (%)"]) == (min(shares), max(shares))
        assert cell["Keys"] == 2 * cell["Pairs"]
        assert cell["Fresh sequences"] == 6000
        expected = 100 * float(uniform_ceiling(cell["Pairs"], 8))
        assert cell["Ceiling, equal weights (%)"] == expected
    assert cells[cells["Chosen"]][["Pairs", "d_k"]].to_numpy().tolist() == [[16, 4]]


def test_the_sentence_answers_for_one_number_and_for_longer_runs():
    narrow, longer, plain = (tables.map_sentence(2, cell) for cell in ((4, 1), (32, 4), (16, 8)))
    bound = "so no head passes 1/4 = 25 % on average."
    assert narrow.endswith(bound)
    shares = [f"{100 * r.score.share:.1f}" for r in shipped_cell(32, 4, 2, n_steps=10_000)]
    assert len(shares) == 3
    assert f" % right (after 10,000 steps: {', '.join(shares)})." in longer
    assert "10,000" not in plain
    assert bound not in plain


def test_the_sentence_beside_it_compares_with_the_cell_s_own_levels():
    [row] = (
        tables.map_cells(2, "match on top", (32, 4))
        .query("Pairs == 32 and d_k == 4")
        .to_dict("records")
    )
    assert tables.beside_sentence(2, (32, 4)) == (
        f"The match has the highest weight of all pairs in {row['Shown']:.1f} % of sequences. "
        f"Equal weights reach {100 * float(uniform_ceiling(32, 8)):.1f} %, blind guessing 12.5 %."
    )


def test_the_map_can_show_the_weights_instead():
    cells = tables.map_cells(4, "match on top", (4, 1))
    assert (cells["Shown"] == cells["Match on top (%)"]).all()
    assert not (cells["Shown"] == cells["Accuracy (%)"]).all()


def test_the_grid_is_the_map():
    grid = tables.map_grid().set_index(["Pairs", "Keys"])
    assert list(grid.index) == [(n, per_pair * n) for n in PAIRS for per_pair in (2, 4)]
    for per_pair in (2, 4):
        cells = tables.map_cells(per_pair, "accuracy", (0, 0)).set_index(["Pairs", "d_k"])
        assert (
            grid.loc[(16, per_pair * 16), "d_k = 3: accuracy (%)"]
            == cells.loc[(16, 3), "Accuracy (%)"]
        )
    assert len(grid.columns) == len(WIDTHS)


def test_the_smallest_width_is_where_all_wider_ones_are_solved_too():
    for row in findings.smallest_widths().to_dict("records"):
        n_pairs, keys_per_pair = row["Pairs"], row["Keys"] // row["Pairs"]
        width = row["Smallest d_k that every seed solves"]
        solved = {
            d_k: all(run.score.share >= 0.99 for run in shipped_cell(n_pairs, d_k, keys_per_pair))
            for d_k in WIDTHS
        }
        assert all(solved[d_k] for d_k in WIDTHS if d_k >= width)
        narrower = [d_k for d_k in WIDTHS if d_k < width]
        assert not narrower or not solved[narrower[-1]]
        assert row["Pairs ÷ d_k"] == n_pairs / width


def test_a_width_below_one_that_fails_is_not_the_smallest(monkeypatch):
    def holed(n_pairs, d_k, keys_per_pair):
        return shipped_cell(n_pairs, 1 if d_k == 16 else d_k, keys_per_pair)

    monkeypatch.setattr(findings, "shipped_cell", holed)
    assert findings.smallest_width(16, 2) == 32
    monkeypatch.setattr(findings, "shipped_cell", lambda n, _, keys: shipped_cell(n, 1, keys))
    assert findings.smallest_width(16, 2) is None
    assert "No d_k of the map" in findings.result_sentence()
    words = findings.smallest_widths_in_words(findings.smallest_widths())
    assert set(words["Pairs ÷ d_k"]) == {"none"}


def test_the_result_says_which_head_each_width_is_about():
    trained, by_hand = findings.result_sentence().split(" Written down by hand instead, ")
    assert trained.startswith(f"Trained: d_k = {findings.smallest_width(64, 2)} is the smallest ")
    row = findings.written_down(8).iloc[-2]
    assert (row["Pairs"], row["Keys"]) == (64, 128)
    share = f"{row['Written down, d_k = 2: accuracy (%)']:.1f}"
    assert by_hand == f"a head with d_k = 2 answers {share} %: see further down."


def test_the_findings_count_what_the_file_holds():
    growth, crowded, narrow, control = findings.findings()
    assert f"from {findings.smallest_width(4, 2)} to {findings.smallest_width(64, 2)}." in growth
    cells = [(p, d, k) for p in PAIRS for d in WIDTHS for k in (2, 4) if p > d > 1]
    solved = [cell for cell in cells if min(run.score.share for run in shipped_cell(*cell)) >= 0.99]
    assert f"of {len(cells)} cells" in crowded
    assert f" {len(solved)} are solved" in crowded
    assert 0 < len(solved) < len(cells)
    assert "1/4 = 25 %" in narrow
    assert "in 30 runs" in control


def test_the_longer_runs_stand_beside_the_map_s():
    table = findings.longer_runs()
    assert len(table) == 24
    row = table[(table["Pairs"] == 32) & (table["Keys"] == 64) & (table["d_k"] == 4)].iloc[0]
    for name, n_steps in (("After 3,000", 3000), ("After 10,000", 10_000)):
        runs = shipped_cell(32, 4, 2, n_steps=n_steps)
        mean = 100 * sum(run.score.share for run in runs) / 3
        assert row[f"{name} steps: accuracy (%)"] == pytest.approx(mean)
    grid = findings.longer_grid(table)
    assert grid[["Pairs", "Keys"]].to_numpy().tolist() == [
        [n_pairs, keys * n_pairs] for n_pairs in (16, 32, 64) for keys in (2, 4)
    ]
    few, many = row.iloc[3], row.iloc[4]
    assert grid.loc[grid["Keys"] == 64, "d_k = 4: accuracy (%)"].tolist()[1] == (
        f"{few:.1f} → {many:.1f}"
    )
    failed = table[table.iloc[:, 3] < 99]
    assert f"Of {len(failed)} cells" in findings.longer_sentence(table)
    assert f"and {(failed.iloc[:, 4] >= 99).sum()} reach 99 %" in findings.longer_sentence(table)


def test_a_longer_run_is_compared_with_the_longer_shipped_one():
    longer = replace(cell_runs(ScaleSettings(), 32, 4, 2, 1)[0], n_steps=10_000)
    assert one_cell.shipped_like(longer).settings == longer
    assert "10,000 steps" in one_cell.shipped_sentence(longer)
    other = replace(longer, n_steps=500)
    assert one_cell.shipped_like(other).settings.n_steps == 3000


def test_the_cell_s_table_puts_both_numbers_of_a_seed_beside_each_other():
    fresh = [fresh_like(RUNS[0], off=4)]
    table = one_cell.cell_table((*RUNS, replace(RUNS[0], seed=9)), fresh)
    assert table["Seed"].tolist() == [0, 1, 2, 9]
    shipped = 100 * shipped_cell(16, 2, 2)[0].score.share
    assert table.loc[0, "Beforehand: accuracy (%)"] == shipped
    assert table.loc[0, "On this server: accuracy (%)"] == pytest.approx(shipped - 0.2)
    assert table["On this server: accuracy (%)"].isna().tolist() == [False, True, True, True]
    assert table["Beforehand: accuracy (%)"].isna().tolist() == [False, False, False, True]
    words = one_cell.cell_table_in_words(table)
    assert words.loc[3, "Beforehand: accuracy (%)"] == "–"
    assert words.loc[0, "Beforehand: accuracy (%)"] == f"{shipped:.2f}"


def test_the_sentence_says_whether_the_shipped_numbers_came_out_again():
    same = [fresh_like(settings) for settings in RUNS]
    assert one_cell.again_sentence(same) == (
        "3 of 3 runs with the settings of the series gave its accuracy exactly."
    )
    off = one_cell.again_sentence([same[0], fresh_like(RUNS[1], off=30)])
    assert "1 of 2 runs" in off
    assert "the largest difference is 1.50 points" in off
    longer = replace(same[0], settings=replace(RUNS[0], n_steps=6000))
    assert "not measured with these settings" in one_cell.again_sentence([longer])
    assert "not been run" in one_cell.again_sentence([])


def test_the_shipped_numbers_carry_their_day_and_machine():
    sentence = one_cell.shipped_sentence(RUNS[0])
    run = shipped_cell(16, 2, 2)[0]
    assert run.measured in sentence
    assert run.machine in sentence
    assert "3,000 steps" in sentence


def test_the_tolerance_is_said_in_points():
    assert f"by up to {100 * TOLERANCE:.0f} points" in findings.machine_sentence()


def test_a_run_that_diverged_says_so():
    broken = replace(fresh_like(RUNS[0]), diverged="The loss stopped being a finite number.")
    assert "finite" in one_cell.curve_sentence([broken], RUNS[0])


def test_the_curve_has_every_checkpoint_and_both_levels():
    frame = one_cell.curve([fresh_like(RUNS[0])], RUNS[0])
    levels = frame[frame["Mark"] != "end of axis"]
    assert levels["Mark"].tolist() == ["run", "run", "chance", "ceiling"]
    assert levels["Accuracy (%)"].tolist()[2:] == [12.5, 100 * float(uniform_ceiling(16, 8))]


@pytest.mark.parametrize("n_steps", [100, 3000])
def test_the_axis_of_the_curve_has_its_length_before_there_is_a_run(n_steps):
    frame = one_cell.curve([], replace(RUNS[0], n_steps=n_steps))
    assert frame["Step"].dropna().tolist() == [0, n_steps]
    written = str(spec(charts.curves()))
    assert "datum.Mark == 'end of axis'" in written
    assert "'scale': {'nice': False}" in written


def test_the_lines_mark_the_chosen_pairs_alone():
    frame = tables.by_width(2, 32)
    cells = frame[frame["Mark"] == "cell"]
    assert set(cells[cells["Chosen"].astype(bool)]["Pairs"]) == {32}
    assert len(cells) == len(PAIRS) * len(WIDTHS)
    levels = frame[frame["Mark"] != "cell"].set_index("Mark")["Accuracy (%)"]
    assert levels["ceiling"] == 100 * float(uniform_ceiling(32, 8))


def test_the_written_down_table_and_its_sentence_agree():
    table = findings.written_down(8)
    assert list(zip(table["Pairs"], table["Keys"], strict=True)) == [
        (n_pairs, n_keys) for n_pairs in PAIRS for n_keys in (2 * n_pairs, 4 * n_pairs)
    ]
    assert (table["Written down, d_k = 2: accuracy (%)"] == 100).all()
    trained = table["Trained, d_k = 2: accuracy (%)"]
    assert f"from {trained.iloc[0]:.1f} % to {trained.iloc[-1]:.1f} %" in (
        findings.written_down_sentence(table)
    )
    assert trained.iloc[-1] < 50


def test_the_result_names_the_smallest_width():
    assert f"d_k = {findings.smallest_width(64, 2)} is the smallest" in findings.result_sentence()


@pytest.mark.parametrize("name", ["recall_map", "by_width", "curves"])
def test_charts_build_and_name_their_axes(name):
    specification = spec(getattr(charts, name)())
    assert "data" not in specification["layer"][0]
    text = str(specification)
    assert "Pairs in a sequence" in text or "Accuracy (%)" in text
    assert "scheme" not in text


def test_a_click_selects_pairs_and_d_k():
    specification = spec(charts.recall_map())
    layers = [specification, *specification["layer"]]
    [param] = [p for layer in layers for p in layer.get("params", [])]
    assert param["name"] == charts.CELL
    assert param["select"]["fields"] == ["Pairs", "d_k", "Clicks"]
    one, other = (tables.map_cells(2, "accuracy", (4, 1), clicks) for clicks in (0, 1))
    assert set(one["Clicks"]) == {0}
    assert set(other["Clicks"]) == {1}
