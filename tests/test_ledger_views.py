"""The ledger's tables and picture say what core computed, with fixed domains."""

from dataclasses import replace

import pytest

from core.charts import ledger as charts
from core.charts.style import COLOURS, spec
from core.gpt3_article import article_steps, gpt3, named_totals
from core.ledger import count_parameters
from core.ledger_formulas import part_formulas
from core.published import gpt3_row_of, gpt3_table, published_models, reconciliations
from core.tables import ledger as tables
from core.tables import published

BARE = replace(gpt3(), biases="none", norms_per_layer=0, final_norm=False)
CONFIGS = [gpt3(), BARE, *(model.config for model in published_models())]


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "0"),
        (999_949, "999,949"),
        (1_000_000, "1.0 million"),
        (999_949_999, "999.9 million"),
        (999_950_000, "1.0 billion"),
        (57_982_058_496, "58.0 billion"),
        (1_234_567_890_123, "1.2 trillion"),
    ],
)
def test_counts_in_words(n, words):
    assert tables.in_words(n) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0.0 %"),
        (0.0004, "under 0.001 %"),
        (0.37, "0.37 %"),
        (33.13, "33.1 %"),
        (100, "100.0 %"),
    ],
)
def test_shares_in_words(share, words):
    assert tables.share_in_words(share) == words


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.model}-{config.biases}")
def test_line_table_adds_up(config):
    ledger = count_parameters(config)
    frame = tables.line_table(ledger)
    lines, total = frame.iloc[:-1], frame.iloc[-1]
    assert lines["Whole model (parameters)"].sum() == total["Whole model (parameters)"]
    assert total["Whole model (parameters)"] == ledger.total
    assert lines[tables.OWN_SHARE].sum() == pytest.approx(100, abs=1e-9)
    assert total[tables.PRINTED_SHARE] == pytest.approx(ledger.total / 1.75e9)
    words = tables.line_table_in_words(frame)
    assert words.map(type).eq(str).all(axis=None)
    assert words["Whole model"].iloc[-1].startswith(f"{ledger.total:,} (")


def test_line_table_says_gpt3s_numbers():
    words = tables.line_table_in_words(tables.line_table(count_parameters(gpt3())))
    query = words[words["Matrix"].str.startswith("W_Q")].iloc[0]
    assert query.tolist() == [
        "attention",
        "W_Q, query",
        "d_model × d_head = 12,288 × 128",
        "1,572,864",
        "150,994,944",
        "14,495,514,624 (14.5 billion)",
        "8.3 %",
        "8.3 %",
    ]


def test_copies_name_the_heads_that_share():
    llama = count_parameters(next(c for c in CONFIGS if c.model == "Llama-3-8B"))
    copies = {line.matrix[:3]: tables.copies(line) for line in llama.lines}
    assert copies["W_Q"] == "32 heads × 32 layers"
    assert copies["W_K"] == "8 key-value heads × 32 layers"
    assert copies["W_E"] == "1"
    one = replace(gpt3(), n_layers=1, n_heads=1, n_kv_heads=1)
    assert [tables.copies(line) for line in count_parameters(one).lines[2:4]] == [
        "1 head × 1 layer",
        "1 key-value head × 1 layer",
    ]


def test_formula_table_has_no_difference():
    for config in CONFIGS:
        frame = tables.formula_table(part_formulas(config), count_parameters(config))
        assert (frame["Difference (parameters)"] == 0).all()
        assert frame["Lines add up to (parameters)"].iloc[-1] == count_parameters(config).total
        assert tables.formula_table_in_words(frame)["Difference"].tolist() == ["0"] * 6


def test_a_wrong_formula_would_show_as_a_difference():
    formulas = part_formulas(gpt3())
    wrong = (replace(formulas[0], value=formulas[0].value + 1), *formulas[1:])
    frame = tables.formula_table(wrong, count_parameters(gpt3()))
    assert frame["Difference (parameters)"].tolist() == [-1, 0, 0, 0, 0, -1]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.model}-{config.biases}")
def test_the_picture_covers_the_whole_once_in_each_view(config):
    ledger = count_parameters(config)
    frame = tables.picture_table(ledger)
    names = [words.split(":")[0].lower() for words in frame["Row"].drop_duplicates()]
    assert tuple(names) == tables.PICTURE_ROWS
    is_top = frame["Row"].str.startswith("Whole model")
    for bars in (frame[is_top], frame[~is_top]):
        assert bars["Parameters"].sum() == ledger.total
        assert bars["Start (%)"].iloc[0] == 0
        assert bars["End (%)"].iloc[-1] == 100
        assert bars["Start (%)"].tolist()[1:] == bars["End (%)"].tolist()[:-1]
    by_part = frame[~is_top].groupby("Part")["Parameters"].sum()
    assert by_part["attention"] == ledger.attention
    assert by_part["biases and norms"] == ledger.biases + ledger.norms


def test_the_picture_keeps_its_axis_and_colours():
    chart = spec(charts.parts())
    encoding = chart["encoding"]
    assert encoding["x"]["scale"]["domain"] == [0, 100]
    assert encoding["x"]["title"] == "Share of this ledger's total (%)"
    assert encoding["color"]["scale"]["domain"] == list(tables.PICTURE_ROWS[1:])
    assert encoding["color"]["scale"]["range"] == [COLOURS[p] for p in tables.PICTURE_ROWS[1:]]
    fields = {encoding[name]["field"] for name in ("x", "x2", "y", "color")}
    fields |= {tip["field"] for tip in encoding["tooltip"]}
    assert fields <= set(tables.picture_table(count_parameters(gpt3())))
    assert "data" not in chart


def test_article_table_stands_beside_what_is_computed():
    raw, words = (
        published.article_table(article_steps()),
        published.article_in_words(article_steps()),
    )
    assert raw["Computed here"].iloc[3] == raw["Article"].iloc[3] == 57_982_058_496
    download = raw.to_csv(index=False)
    assert ",6291456,6291456,parameters," in download  # a count has no decimals
    assert not any(cell.endswith(".0") for cell in download.split(","))
    assert words["Computed here"].tolist()[3:] == ["57,982,058,496", "33.13 %", "0.71 %", "66.27 %"]
    assert words["Article"].tolist()[3:] == [
        "57,982,058,496",
        "33.1 %",
        "0.7 %",
        "“about two thirds”",
    ]
    assert words["Agree"].tolist() == ["yes"] * 7


def test_totals_are_named():
    words = published.total_table_in_words(published.total_table(named_totals()))
    assert words["Attention's share"].tolist() == ["33.13 %", "33.21 %", "33.10 %"]
    assert words["Parameters"].iloc[1] == "174,604,259,328 (174.6 billion)"


def test_reconciliation_shows_every_model():
    frame = published.reconciliation_table(reconciliations())
    assert (frame["Counted (parameters)"] == frame["Published (parameters)"]).all()
    assert (frame["Difference (parameters)"] == 0).all()
    said = published.reconciliation_sentence(reconciliations())
    assert said == "15 of 15 models come out to the parameter."
    wrong = replace(reconciliations()[0], counted=1)
    assert published.reconciliation_sentence((wrong,)).startswith("0 of 1")


def test_the_papers_table_is_shown_as_printed_and_flagged():
    words = published.gpt3_paper_table_in_words(published.gpt3_paper_table(gpt3_table()))
    flagged = words[words["Flag"] != ""]
    assert flagged["Model"].tolist() == ["GPT-3 XL", "GPT-3 13B"]
    assert flagged["Heads × head size"].tolist() == ["24 × 128 = 3,072", "40 × 128 = 5,120"]
    assert flagged["Model width"].tolist() == ["2,048", "5,140"]
    said = published.contradiction_sentence(gpt3_table())
    assert said.startswith("In 6 of 8 rows, heads × head size is the model width.")
    assert "counts to 1.5 billion beside a printed 1.3B" in said


def test_sentences():
    ledger = count_parameters(gpt3())
    assert tables.total_sentence(ledger) == (
        "174,604,259,328 parameters (174.6 billion). Attention has 57,982,058,496 (58.0 billion): "
        "33.2 % of this total."
    )
    assert tables.shares_sentence(ledger) == (
        "Of GPT-3 175B: attention 33.2 %, feed-forward 66.4 %, embeddings 0.37 %."
    )
    assert tables.layer_sentence(ledger) == (
        "The sizes of its matrices decide. In each layer attention has four of 12,288 × 12,288, "
        "all heads side by side, and feed-forward two of 12,288 × 49,152: 2.0 times as many "
        "numbers."
    )
    llama = count_parameters(next(c for c in CONFIGS if c.model == "Llama-3-70B"))
    assert "two of 8,192 × 8,192 and two of 8,192 × 1,024" in tables.layer_sentence(llama)
    assert "feed-forward three of 8,192 × 28,672" in tables.layer_sentence(llama)
    unshared = count_parameters(replace(llama.config, n_kv_heads=64))
    assert tables.sharing_sentence(llama.config) == (
        f"64 heads share 8 key–value heads: attention has {tables.in_words(llama.attention)} "
        f"parameters, and would have {tables.in_words(unshared.attention)} if each head had its "
        "own W_K and W_V."
    )
    assert llama.attention < unshared.attention
    assert "nothing is shared" in tables.sharing_sentence(gpt3())
    narrow = count_parameters(replace(gpt3(), d_ff=64))
    assert tables.layer_sentence(narrow).endswith(" × 64: 0.0026 times as many numbers.")
    assert "prints 175.0B" in published.match_sentence(ledger, None, gpt3_row_of(gpt3()))
    gemma = next(r for r in reconciliations() if r.published.config.model == "Gemma-7B")
    said = published.match_sentence(count_parameters(gemma.published.config), gemma, None)
    assert said.endswith("Counted: 8,537,680,896. Difference: 0.")
    assert published.match_sentence(ledger, None, None).startswith("No published model")
    assert "exactly the model width" in tables.width_sentence(gpt3())
    assert "16 × 256 = 4,096, wider than the model width of 3,072" in tables.width_sentence(
        gemma.published.config
    )
    assert "narrower" in tables.width_sentence(replace(gpt3(), d_head=64))
