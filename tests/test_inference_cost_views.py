"""What the inference-cost page says and draws is computed from the measurement it is given."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.charts import inference_cost as charts
from core.charts.style import spec
from core.decode_agreement import Agreement, DecodeSettings
from core.decode_cost import DecodeSnapshot, Run, Timing, measure_steps
from core.generation import AT_ONCE, CACHE, LAST_ROW, METHODS, WHOLE
from core.generation_work import per_token
from core.tables import inference_cost as tables
from core.tables.measured import queue_sentence, when_sentence, whose_sentence
from core.tables.numbers import significant

SETTINGS = DecodeSettings(d_model=16, d_k=8, n_tokens=8, n_repeats=2)
SLOWER = {WHOLE: 40.0, LAST_ROW: 10.0, CACHE: 1.0, AT_ONCE: 0.25}  # µs per token squared, or token


def agreement(way, largest=1e-7, n_same_token=8):
    return Agreement(way=way, n_outputs=8, largest=largest, size=2.0, n_same_token=n_same_token)


def made(agreements=(), methods=METHODS, processor_time=True):
    """A snapshot whose times are chosen: the whole head's grow as n², the others' as n."""
    times = {
        (method, n): SLOWER[method] * 1e-6 * n ** (2 if method == WHOLE else 1)
        for method in methods
        for n in SETTINGS.positions
    }
    return DecodeSnapshot(
        settings=SETTINGS,
        started=0.0,
        processor_time=processor_time,
        run=Run(method=AT_ONCE, n=8, repeat=2),
        share_done=1.0,
        agreements=agreements,
        cache_bytes=2 * 8 * 8 * 4,
        timings=tuple(
            Timing(method=method, n=n, seconds=(3 * taken, taken))
            for (method, n), taken in times.items()
        ),
        cached_steps=(np.full(8, 2e-6), np.full(8, 1e-6)),
    )


def test_the_points_hold_every_run_and_the_fastest():
    points = tables.time_points(SETTINGS, made())
    assert points.groupby("Kind").size().to_dict() == {"run": 32, "fastest": 16, "counted": 12}
    chosen = points[(points["Method"] == CACHE) & (points["Tokens"] == 8)]
    assert chosen.loc[chosen["Kind"] == "run", "Time (ms)"].tolist() == pytest.approx(
        [0.024, 0.008]
    )
    assert chosen.loc[chosen["Kind"] == "fastest", "Time (ms)"].tolist() == pytest.approx([0.008])


def test_counted_lines_are_the_formulas_at_one_speed():
    points = tables.time_points(SETTINGS, made())
    counted = points[points["Kind"] == "counted"]
    per_work = [
        row["Time (ms)"] / per_token(row["Method"], row["Tokens"], 16, 8)
        for _, row in counted.iterrows()
    ]
    assert per_work == pytest.approx([1000 / 50e9] * 12)


def test_nothing_measured_is_drawn_and_said_as_nothing():
    assert tables.time_points(SETTINGS, None)["Kind"].unique().tolist() == ["counted"]
    assert tables.work_points(None)["Kind"].unique().tolist() == ["speed"]
    assert tables.times(None).empty
    assert tables.time_sentence(None) == "Nothing is timed yet."
    assert tables.speed_sentence(None).startswith("Nothing is timed yet")
    assert tables.agreement_sentence(None) == tables.agreement_sentence(made())
    assert tables.agreement_sentence(None).startswith("Nothing is compared yet")
    assert tables.progress_sentence(None).startswith("Measuring now: the head writes")
    assert tables.progress_sentence(replace(made(), run=None)).startswith("All is timed.")
    assert "has not written anything" in tables.cache_bytes_sentence(None)


def test_a_measurement_half_made_is_shown_as_far_as_it_goes():
    half = made(methods=(CACHE,))
    assert tables.time_sentence(half) == "Nothing is timed yet."
    assert tables.totals_sentence(half) == "Not all positions are timed yet."
    assert tables.totals(half)["Method"].tolist() == [CACHE]
    assert tables.work_table_in_words(tables.work_table(half))["Time (ms)"].tolist() == [
        "–",
        "–",
        "0.008",
        "–",
    ]
    growth = tables.growth_in_words(tables.growth_table(half))
    assert growth["Time"].tolist() == ["–", "–", "× 2.00", "–"]


def test_the_sentences_say_the_ratios():
    snapshot = made()
    row, whole = (
        significant(per_token(way, 8, 16, 8) / per_token(CACHE, 8, 16, 8), 2)
        for way in (LAST_ROW, WHOLE)
    )
    assert row != whole
    assert tables.time_sentence(snapshot) == (
        "After 8 tokens the next output took 0.008 ms with the cache. Making keys and values again "
        "took 10 times as long, the whole head again 320 times; by their multiply-adds it would be "
        f"{row} and {whole} times. (Fastest of each.)"
    )
    saved = 1 - per_token(CACHE, 8, 16, 8) / per_token(LAST_ROW, 8, 16, 8)
    assert f"{int(1000 * saved) / 10:.1f} % of the multiply-adds, and 90.0 % of the time" in (
        tables.result_sentence(snapshot)
    )
    assert "where one at a time takes 4.0 times as long" in tables.speed_sentence(snapshot)
    assert "256 bytes" not in tables.cache_bytes_sentence(snapshot)
    assert "512 bytes" in tables.cache_bytes_sentence(snapshot)


def test_a_share_is_never_rounded_up_to_all():
    assert tables._percent(99.97) == "99.9 %"


def test_totals_are_measured_for_what_ran_and_exact_for_powers():
    """Between positions a time is taken to be a power of n; these are, so sums must be exact."""
    table = tables.totals(made()).set_index("Method")
    assert table["How"].to_dict() == {
        WHOLE: "reckoned",
        LAST_ROW: "reckoned",
        CACHE: "measured",
        AT_ONCE: "measured",
    }
    numbers = np.arange(1, 9)
    assert table.loc[WHOLE, "Time (s)"] == pytest.approx(40e-6 * (numbers**2).sum())
    assert table.loc[LAST_ROW, "Time (s)"] == pytest.approx(10e-6 * numbers.sum())
    assert table.loc[CACHE, "Time (s)"] == pytest.approx(8e-6)  # the faster run of all steps
    assert table.loc[AT_ONCE, "Time (s)"] == pytest.approx(8 * 2e-6)
    assert table.loc[CACHE, "Multiply-adds"] == sum(per_token(CACHE, n, 16, 8) for n in numbers)


def test_the_growth_is_the_last_doublings():
    growth = tables.growth_table(made()).set_index("Method")
    assert growth["Time (×)"].to_dict() == pytest.approx(
        {WHOLE: 4.0, LAST_ROW: 2.0, CACHE: 2.0, AT_ONCE: 2.0}
    )
    expected = per_token(WHOLE, 8, 16, 8) / per_token(WHOLE, 4, 16, 8)
    assert growth.loc[WHOLE, "Multiply-adds (×)"] == expected


def test_sound_and_broken_are_told_apart_in_words():
    ways = [agreement(method) for method in METHODS]
    broken = [agreement("one entry never written", 1e-2), agreement("values one entry late", 1.0)]
    sentence = tables.agreement_sentence(made((*ways, *broken)))
    assert sentence.startswith("The same outputs: no number differs by more than 1.0 × 10⁻⁷, ")
    assert "2 of 2 broken caches are noticed; the least of them differs by 0.01." in sentence
    words = tables.agreement_in_words((*ways, *broken))
    assert words["Equal to rounding"].tolist() == ["yes"] * 4 + ["no"] * 2
    assert words["Way"].tolist()[-1] == "broken cache: values one entry late"


def test_a_sound_way_that_differs_is_said():
    """Negative control: no sentence of sameness if the cache is wrong."""
    ways = [agreement(method, 0.5 if method == CACHE else 1e-7) for method in METHODS]
    sentence = tables.agreement_sentence(made((*ways, agreement("one entry never written", 1.0))))
    assert sentence == (
        "Not the same: key–value cache differs from the full head by more than rounding."
    )


def test_a_broken_cache_that_passes_is_not_said_to_be_noticed():
    ways = [agreement(method) for method in METHODS]
    sentence = tables.agreement_sentence(made((*ways, agreement("one entry never written"))))
    assert "0 of 1 broken caches are noticed" in sentence


def test_the_clock_is_named():
    assert tables.clock_sentence(made()).startswith("Processor time")
    assert tables.clock_sentence(made(processor_time=False)).startswith("Time by the clock")


def test_the_loops_count_what_the_formulas_say():
    table = tables.counted_table()
    assert table["By formula"].tolist() == table["Counted"].tolist()
    n, d_model, d_k = tables.COUNTED
    for _, row in table.iterrows():
        if row["Method"] != AT_ONCE:
            python = row["Multiply-adds of a run"].replace("·", "*")
            assert eval(python, {"n": n, "d_model": d_model, "d_k": d_k}) == row["Counted"]


@pytest.mark.parametrize(
    ("chart", "frame"),
    [
        (charts.time, tables.time_points(SETTINGS, made())),
        (charts.work, tables.work_points(made())),
    ],
)
def test_charts_draw_columns_that_exist_on_fixed_axes(chart, frame):
    specification = spec(chart())
    for layer in specification["layer"]:
        for axis in ("x", "y"):
            encoding = layer["encoding"][axis]
            if encoding["field"] not in ("at", "high"):  # worked out inside the chart
                assert encoding["field"] in frame.columns
                assert encoding["title"]
                assert len(encoding["scale"]["domain"]) == 2
    assert "datasets" not in specification


@pytest.mark.parametrize("kwargs", [{"d_model": 64, "d_k": 16}, {"d_model": 16, "d_k": 8}])
def test_what_is_measured_lies_on_the_axes(kwargs):
    *_, last = (s for s in measure_steps(DecodeSettings(n_tokens=64, n_repeats=1, **kwargs)) if s)
    points = tables.work_points(last)
    measured = points[points["Kind"] == "measured"]
    low, high = tables.WORK_DOMAIN
    assert measured["Multiply-adds"].between(min(low, 300), high).all()
    assert pd.notna(measured["Tokens"]).all()


def test_when_and_for_whom():
    assert when_sentence(0.0, 5, None, whole=True) == (
        "Measured on this server, 1970-01-01, 00:00:00 UTC, 5 repeats."
    )
    assert when_sentence(0.0, 1, "Asia/Tokyo", whole=True) == (
        "Measured on this server, 1970-01-01, 09:00:00, 1 repeat."
    )
    assert when_sentence(0.0, 1, "Nowhere/At all", whole=False) == (
        "Stopped early. Measured on this server, 1970-01-01, 00:00:00 UTC."
    )
    assert whose_sentence(2.0, 1.0) == "These are your own runs."
    assert "before you asked" in whose_sentence(1.0, 2.0)
    assert "number 3 in the queue" in queue_sentence(3)
