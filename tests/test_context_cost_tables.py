"""Tables, sentences and charts of the context cost, made from results that are written down."""

import math

import pandas as pd
import pytest

from core.binary_units import MIB
from core.charts import context_cost as charts
from core.charts.style import spec
from core.context_cost import CostSnapshot, Measurement, Run, measure_steps
from core.context_plan import ContextSettings
from core.pattern_memory import PatternSettings, pattern_memory
from core.reported import COST_RATIOS
from core.tables import context_cost as tables
from core.tables import pattern_memory as pattern_tables


def measured(seconds, *, share_done=1.0, started=0.0, n_repeats=2, **fields):
    """A snapshot with these times: (n, method) -> repeats in seconds."""
    settings = ContextSettings(n_largest=1024, n_repeats=n_repeats, **fields)
    return CostSnapshot(
        settings=settings,
        started=started,
        run=Run(n=1024, method="row blocks", repeat=2, traced=False),
        share_done=share_done,
        measurements=tuple(
            Measurement(n=n, method=method, predicted_bytes=MIB, peak_bytes=2 * MIB, seconds=times)
            for (n, method), times in seconds.items()
        ),
        differences={256: 1e-7, 512: 2e-7, 1024: 3e-7},
    )


SQUARE_TIMES = {
    (256, "formula"): (0.002, 0.001),
    (256, "row blocks"): (0.001, 0.001),
    (512, "formula"): (0.004, 0.005),
    (512, "row blocks"): (0.002, 0.002),
    (1024, "formula"): (0.016, 0.016),
    (1024, "row blocks"): (0.004, 0.004),
}
SQUARE = measured(SQUARE_TIMES)


def test_the_error_is_named_only_where_one_is_given():
    two_sizes = measured({case: times for case, times in SQUARE_TIMES.items() if case[0] < 1024})
    assert tables.time_sentence(two_sizes) == (
        "At 512 tokens the formula took 2.00 times as long as row blocks. (Fastest of each size.)"
    )
    one = measured({case: times[:1] for case, times in SQUARE_TIMES.items()}, n_repeats=1)
    assert tables.time_sentence(one).endswith(" (One run of each size; ± one standard error.)")
    assert "±" in tables.time_sentence(one).split("(")[0]


def test_every_repeat_is_in_the_table():
    table = tables.times(SQUARE)
    assert list(table.columns) == [
        "Tokens",
        "Method",
        "Fastest (ms)",
        "Median (ms)",
        "Run 1 (ms)",
        "Run 2 (ms)",
    ]
    assert table.iloc[0].tolist() == pytest.approx([256, "formula", 1.0, 1.5, 2.0, 1.0])
    assert len(table) == 6


def test_runs_not_made_yet_are_left_empty():
    table = tables.times(measured({(256, "formula"): (0.003,), (256, "row blocks"): ()}))
    assert table["Run 1 (ms)"].isna().tolist() == [False, True]
    assert table["Run 2 (ms)"].isna().all()
    assert tables.times(None).empty


def test_ratios_stand_beside_the_articles():
    table = tables.ratios(SQUARE)
    assert table["Article (×)"].tolist() == [4.25, 3.34, 4.11, 4.12, 3.69]
    assert table["From (tokens)"].tolist() == [256, 512, 1024, 2048, 4096]
    assert table["Formula, here (×)"].tolist()[:2] == pytest.approx([4.0, 4.0])
    assert table["Row blocks, here (×)"].tolist()[:2] == pytest.approx([2.0, 2.0])
    assert table["Formula, here (×)"].isna().tolist() == [False, False, True, True, True]
    words = tables.ratios_in_words(table)
    assert words.iloc[0].tolist() == ["256\u00a0→\u00a0512", "4.25", "4.00", "2.00", "4.00"]
    assert words.iloc[4].tolist()[2:4] == ["–", "–"]


def test_a_size_the_article_did_not_measure_has_no_article_ratio():
    large = CostSnapshot(
        settings=ContextSettings(n_largest=16384),
        started=0.0,
        run=SQUARE.run,
        share_done=1.0,
        measurements=(),
        differences={},
    )
    table = tables.ratios(large)
    assert table["To (tokens)"].tolist()[-1] == 16384
    assert math.isnan(table["Article (×)"].tolist()[-1])
    assert len(tables.ratios(None)) == len(COST_RATIOS) == 5


def test_the_n_squared_line_passes_through_the_last_fastest_time_of_the_formula():
    points = tables.time_points(SQUARE)
    guide = points[points["Method"] == "n²"].set_index("Tokens")["Time (ms)"]
    assert guide[1024] == pytest.approx(16.0)
    assert guide[2048] == pytest.approx(64.0)
    assert guide[256] == pytest.approx(1.0)
    assert (points["Kind"] == "run").sum() == 12
    assert (points["Kind"] == "fastest").sum() == 6
    assert tables.time_points(None).empty


def test_memory_is_measured_beside_predicted():
    table = tables.memory(SQUARE)
    assert table["Measured peak (MiB)"].tolist() == [2.0] * 6
    assert table["Measured ÷ predicted (no unit)"].tolist() == [2.0] * 6
    points = tables.memory_points(SQUARE.settings, SQUARE)
    assert (points["Kind"] == "measured").sum() == 6
    assert (points["Kind"] == "predicted").sum() == 2 * len(tables.ALL_SIZES)
    assert set(points[points["Kind"] == "cap"]["Peak memory (MiB)"]) == {512.0}


def test_the_sentences_say_what_the_numbers_are():
    assert tables.time_sentence(SQUARE) == (
        "Formula: time grew as n to the power 2.00 ± 0.00; row blocks: time grew as n to the "
        "power 1.00 ± 0.00; at 1,024 tokens the formula took 4.00 times as long as row "
        "blocks. (Fastest of each size; ± one standard error.)"
    )
    swapped = {"formula": "row blocks", "row blocks": "formula"}
    slow = measured({(n, swapped[method]): t for (n, method), t in SQUARE_TIMES.items()})
    said = "at 1,024 tokens row blocks took 4.00 times as long as the formula."
    assert said in tables.time_sentence(slow)
    assert tables.memory_sentence(SQUARE) == (
        "At 1,024 tokens, beyond the queries, keys and values: 2 MiB by the formula, 2 MiB by row "
        "blocks. The two outputs differ by at most 3.0 × 10⁻⁷."
    )
    assert tables.doubling_sentence(SQUARE) == (
        "From 512 to 1,024 tokens: 4.00 times as long by formula, 2.00 times as long by row blocks."
    )


def test_a_measurement_that_has_just_begun_claims_nothing():
    assert "Nothing is measured" in tables.time_sentence(None)
    assert "Nothing is measured" in tables.memory_sentence(None)
    begun = measured({(256, "formula"): ()}, share_done=0.1)
    assert "No run is timed yet" in tables.time_sentence(begun)
    assert "Nothing is measured yet" in tables.memory_sentence(begun)
    some = measured({(256, "formula"): (1.0,), (512, "formula"): (4.0,)}, share_done=0.5)
    assert "power" not in tables.time_sentence(some)
    assert "preparing" in tables.progress_sentence(None)
    assert tables.progress_sentence(SQUARE) == (
        "Measuring now: row blocks at 1,024 tokens, time, repeat 2 of 2."
    )


def test_repeats_that_lie_far_apart_are_said_to():
    assert tables.scatter_sentence(SQUARE) is None  # at most 1.5
    busy = measured({(256, "formula"): (0.001, 0.009)})
    assert "median took 5.0 times as long" in tables.scatter_sentence(busy)


def test_a_measurement_says_when_it_was_made_and_by_whom():
    moment = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC
    done = measured({}, started=moment)
    assert tables.when_sentence(done, None) == (
        "Measured on this server, 2023-11-14, 22:13:20 UTC, 2 repeats."
    )
    assert tables.when_sentence(done, "Europe/Paris") == (
        "Measured on this server, 2023-11-14, 23:13:20, 2 repeats."
    )
    assert tables.when_sentence(done, "../nonsense") == tables.when_sentence(done, None)
    stopped = measured({}, started=moment, share_done=0.4)
    assert tables.when_sentence(stopped, None) == (
        "Stopped early. Measured on this server, 2023-11-14, 22:13:20 UTC."
    )
    assert tables.whose_sentence(done, moment) == "These are your own runs."
    assert "another visitor, or an earlier visit" in tables.whose_sentence(done, moment + 0.1)


def test_what_is_left_out_is_said_with_the_rule_and_the_value():
    assert tables.left_out_sentences(ContextSettings()) == []
    assert tables.left_out_sentences(ContextSettings(n_largest=8192)) == [
        "At 8,192 tokens the formula is left out: it needs 865 MiB, and this server's memory cap "
        "is 512 MiB."
    ]


def test_patterns_have_the_articles_sizes():
    table = pattern_tables.patterns()
    assert table["One pattern (MiB)"].tolist() == table["Article (MiB)"].tolist()
    assert table["Article (MiB)"].tolist() == [16, 64, 256]


def test_all_patterns_are_counted_beside_the_article():
    counted = pattern_memory(PatternSettings())
    table = pattern_tables.all_patterns(counted)
    assert table["Computed"].tolist() == [4_194_304, 9_216, 38_654_705_664, 72 * 2**30]
    words = pattern_tables.all_patterns_in_words(counted)
    assert words["Computed"].tolist() == ["4,194,304", "9,216", "38,654,705,664", "72 GiB"]
    assert words["Article, GPT-3"].tolist()[2:] == ["38.7 billion", "72 GiB at 2 bytes"]
    assert "72 GiB if all were stored" in pattern_tables.all_patterns_sentence(counted)


def test_the_flash_table_prints_paper_and_formula():
    table = pattern_tables.flash()
    assert (table["Standard, paper (MiB)"] == table["Standard, formula (MiB)"]).all()
    words = pattern_tables.flash_in_words(table)
    assert words["FlashAttention, paper (MiB)"].tolist() == ["–", "–", "–", "209", "418", "836"]
    assert words["Standard, paper (MiB)"].tolist()[-1] == "17,024"


@pytest.mark.parametrize("make", [charts.time, charts.memory, charts.row_blocks])
def test_charts_have_fixed_domains_and_titles_with_units(make):
    specification = spec(make())
    text = str(specification)
    assert "domain" in text
    assert "'scheme'" not in text
    layers = specification.get("layer", [specification])
    for layer in layers:
        for axis in ("x", "y"):
            assert "domain" in layer["encoding"][axis]["scale"]
        assert layer["encoding"]["tooltip"]
    titles = [
        layer["encoding"]["y"].get("title", layer["encoding"]["y"]["field"]) for layer in layers
    ]
    assert all("(" in title for title in titles)


def test_the_charts_read_columns_that_the_frames_have():
    last = list(measure_steps(ContextSettings(n_largest=512, n_repeats=1)))[-1]
    frames = {
        charts.time: tables.time_points(last),
        charts.memory: tables.memory_points(last.settings, last),
        charts.row_blocks: tables.block_cells(),
    }
    for make, frame in frames.items():
        specification = spec(make())
        calculated = {"State", "x2", "y2"}
        for layer in specification.get("layer", [specification]):
            for channel in layer["encoding"].values():
                for part in channel if isinstance(channel, list) else [channel]:
                    if "field" in part:
                        assert part["field"] in {*frame.columns, *calculated}, make


def test_the_picture_holds_the_table_and_its_edges():
    cells = tables.block_cells()
    counts = cells["Part"].value_counts()
    n = tables.PICTURE_TOKENS
    assert counts.to_dict() == {"scores": n * n, "queries": n, "output": n, "keys and values": n}
    assert not cells.duplicated(["Column", "Row"]).any()
    assert isinstance(cells, pd.DataFrame)
