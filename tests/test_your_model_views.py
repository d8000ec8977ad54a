"""The tables, sentences and charts of a model of one's own say what core counted."""

import json

import pytest

from core.architectures import read_model
from core.binary_units import GIB
from core.charts import ledger as ledger_charts
from core.charts import your_model as charts
from core.charts.style import COLOURS, spec
from core.config_reader import read_config
from core.ledger import PARTS, count_parameters
from core.model_presets import preset, presets
from core.published import published_models
from core.tables import ledger as ledger_tables
from core.tables import token_cost as costs
from core.tables import your_model as tables
from core.token_cost import BITS, cache_bytes, token_work
from tests.test_architectures import as_file

MODELS = {preset.name: preset.model for preset in presets()}
LLAMA, DEEPSEEK = MODELS["Llama-3.1-8B"], MODELS["DeepSeek-V3"]
TINY = read_model(
    read_config(
        '{"model_type": "gpt2", "n_embd": 2, "n_layer": 1, "n_head": 1, "n_positions": 3,'
        ' "vocab_size": 5}'
    )
)


def fields(layer):
    """Every field a chart's layers read, by name."""
    found = set()
    for part in layer.get("layer", [layer]):
        for encoding in part["encoding"].values():
            for entry in encoding if isinstance(encoding, list) else [encoding]:
                found |= {entry["field"]} if "field" in entry else set()
    return found


# Parameters.


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_add_up(name):
    frame = tables.part_table(MODELS[name])
    parts, total = frame.iloc[:-1], frame.iloc[-1]
    assert list(parts["Part"]) == list(PARTS)
    for column in frame.columns[1:]:
        assert parts[column].sum() == pytest.approx(total[column], rel=1e-12)
    assert total["Parameters"] == MODELS[name].total
    assert tables.part_table_in_words(frame).map(type).eq(str).all(axis=None)


@pytest.mark.parametrize("name", MODELS)
def test_the_picture_covers_the_whole_once_in_each_view(name):
    frame = tables.picture_table(MODELS[name])
    is_top = frame["Row"].str.startswith("Whole model")
    for bars in (frame[is_top], frame[~is_top]):
        assert bars["Parameters"].sum() == MODELS[name].total
        assert bars["Start (%)"].iloc[0] == 0
        assert bars["End (%)"].iloc[-1] == 100
        assert bars["Start (%)"].tolist()[1:] == bars["End (%)"].tolist()[:-1]
        idle = bars.loc[bars["Kind"] == tables.IDLE, "Parameters"].sum()
        assert idle == MODELS[name].total - MODELS[name].active
    assert frame["Row"].nunique() == len(ledger_tables.PICTURE_ROWS)


def test_the_picture_is_the_ledgers_where_both_can_draw_a_model():
    published = next(p for p in published_models() if p.config.model == "Llama-3-8B")
    ours = tables.picture_table(read_model(read_config(json.dumps(as_file(published.config)))))
    theirs = ledger_tables.picture_table(count_parameters(published.config))
    same = ["Row", "Part", "Parameters", "Start (%)", "End (%)"]
    tops = [frame[frame["Row"].str.startswith("Whole")] for frame in (ours, theirs)]
    assert tops[0][same].values.tolist() == tops[1][same].values.tolist()
    assert set(ours["Row"]) == set(theirs["Row"])


def test_every_tensor_is_a_row():
    frame = tables.tensor_table(DEEPSEEK)
    assert len(frame) == len(DEEPSEEK.tensors)
    assert frame["Parameters"].sum() == DEEPSEEK.total
    assert frame["At work on a token (parameters)"].sum() == DEEPSEEK.active
    down = frame[frame["Name in the weights"] == "model.layers.*.mlp.experts.*.down_proj.weight"]
    assert down.iloc[0].tolist()[3:9] == [
        "7,168 × 2,048",
        58,
        256,
        8,
        7168 * 2048 * 58 * 256,
        7168 * 2048 * 58 * 8,
    ]
    assert set(tables.TENSOR_FORMATS) <= set(frame)


def test_published_table_shows_every_preset():
    frame = tables.published_table(presets())
    assert (
        frame["Counted (parameters)"] - frame["Published (parameters)"]
        == frame["Difference (parameters)"]
    ).all()
    assert frame.loc[frame["Difference (parameters)"] != 0, "Model"].tolist() == ["Falcon-7B"]
    assert set(tables.PUBLISHED_FORMATS) <= set(frame)
    assert tables.reconciliation_sentence(presets()) == (
        "11 of 12 come out to the parameter. Falcon-7B differs by −295,469,056: the published file "
        "holds the one table of tokens twice."
    )


def test_fields_say_where_they_are_from():
    frame = tables.field_table(MODELS["Gemma-2-9B"]).set_index("Field")
    assert frame.loc["head_dim"].tolist() == ["256", "the file"]
    assert frame.loc["tie_word_embeddings"].tolist() == ["true", "left out: transformers' default"]
    assert tables.field_table(LLAMA).set_index("Field").loc["head_dim"].tolist() == [
        "null",
        "left out: the family's rule",
    ]
    assert frame.loc["model_type"].tolist() == ["“gemma2”", "the file"]
    assert frame.loc["architectures"].tolist() == ["a list of 1", "the file"]


def test_sentences_on_parameters():
    assert tables.total_sentence("Llama-3.1-8B", LLAMA) == (
        "Llama-3.1-8B: 8,030,261,248 parameters (8.0 billion). Attention's matrices have "
        "1,342,177,280 of them, 16.7 %."
    )
    assert "every parameter works on every token" in tables.active_sentence(LLAMA)
    assert tables.active_sentence(DEEPSEEK).startswith(
        "A token is sent to 8 of 256 experts in a layer, so 37,552,297,472 (37.6 billion, 5.6 %)"
    )
    assert tables.published_sentence(preset("DeepSeek-V3"), DEEPSEEK) == (
        "Published: 671,026,419,200. Difference of the count: 0. Active, as its makers print it: "
        "37B."
    )
    falcon = tables.published_sentence(preset("Falcon-7B"), MODELS["Falcon-7B"])
    assert "count: −295,469,056: the published file" in falcon
    assert "no published total" in tables.published_sentence(None, LLAMA)
    assert "8 key–value heads" in tables.size_sentence(LLAMA)
    assert tables.size_sentence(LLAMA).endswith("made for 131,072 tokens.")
    assert "made for" not in tables.size_sentence(MODELS["Falcon-7B"])


# Work.


@pytest.mark.parametrize("name", MODELS)
def test_work_adds_up_and_fits_its_axis(name):
    model = MODELS[name]
    for compressed in (True, False):
        low, high = costs.work_decades(model, compressed=compressed)
        frame = costs.work_points(model, 8192, compressed=compressed)
        assert frame["Multiply-adds"].between(10.0**low, 10.0**high).all()
        assert frame["Tokens"].between(costs.CONTEXTS[0], costs.CONTEXTS[-1]).all()
        assert high - low <= 7
        assert set(frame.loc[frame["Kind"] == "line", "Line"]) == set(costs.LINES)
        table = costs.work_table(model, 8192, compressed=compressed).set_index("Part")
        column = table["Multiply-adds of one token"]
        assert column["total"] == token_work(model, 8192, compressed=compressed).total
        assert (
            column["attention: its matrices"] + column["attention: looking back"]
            == column["attention, both"]
        )
        assert (
            column["attention, both"] + column["feed-forward"] + column["scores of the vocabulary"]
            == column["total"]
        )


def test_the_marks_stand_on_attentions_line():
    frame = costs.work_points(LLAMA, 1024, compressed=True)
    marks = frame[frame["Kind"] != "line"].set_index("Kind")
    assert marks["Tokens"].to_dict() == {"context": 1024, "made for": 131_072, "crossing": 16_384}
    for _, mark in marks.iterrows():
        assert mark["Multiply-adds"] == token_work(LLAMA, mark["Tokens"]).attention
    kinds = set(costs.work_points(MODELS["Mistral-7B-v0.1"], 1024, compressed=True)["Kind"])
    assert "crossing" not in kinds


def test_work_of_a_file_beyond_64_bits_is_drawn():
    config = {
        "model_type": "llama",
        "hidden_size": 1,
        "head_dim": 10**6,
        "num_attention_heads": 10**6,
        "num_hidden_layers": 100,
        "intermediate_size": 1,
        "vocab_size": 10,
    }
    model = read_model(read_config(json.dumps(config)))
    frame = costs.work_points(model, 2**20, compressed=True)
    assert frame["Multiply-adds"].dtype == float
    assert frame["Multiply-adds"].max() > 2**63
    assert costs.cache_points(model, 2**20, 64, compressed=True)["Memory (GiB)"].dtype == float
    assert costs.work_table_in_words(costs.work_table(model, 2**20, compressed=True)) is not None


def test_sentences_on_work():
    def said(name, *, compressed=True):
        return costs.crossing_sentence(name, MODELS[name], compressed=compressed)

    assert said("Llama-3.1-8B") == (
        "Llama-3.1-8B: from 16,384 tokens on, attention takes at least as much as feed-forward. "
        "That is within the 131,072 tokens it was made for."
    )
    assert "That is beyond the 8,192 tokens" in said("Gemma-2-9B")
    assert said("Mistral-7B-v0.1") == (
        "Mistral-7B-v0.1: attention never takes as much as feed-forward, however long the context. "
        "No layer looks back further than 4,096 tokens."
    )
    assert said("Falcon-7B").endswith("takes at least as much as feed-forward.")
    assert "from 5,152 tokens on" in said("DeepSeek-V3", compressed=False)
    slim = {"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 1, "n_inner": 1}
    thin = read_model(read_config(json.dumps(slim | {"n_positions": 3, "vocab_size": 5})))
    assert costs.crossing_sentence("It", thin, compressed=True) == (
        "It: attention takes at least as much as feed-forward from the first token on."
    )
    assert costs.work_sentence(LLAMA, 8192, compressed=True) == (
        "At 8,192 tokens, the next one takes 9.7 billion multiply-adds: attention 36.2 %, "
        "feed-forward 58.4 %, scores of the vocabulary 5.4 %."
    )


# The cache.


@pytest.mark.parametrize("name", MODELS)
def test_the_cache_fits_its_axis_whatever_the_controls(name):
    model = MODELS[name]
    for compressed in (True, False):
        low, high = costs.cache_decades(model, compressed=compressed)
        for n, sequences in ((64, 1), (2**20, costs.MOST_SEQUENCES)):
            frame = costs.cache_points(model, n, sequences, compressed=compressed)
            assert frame["Memory (GiB)"].between(10.0**low, 10.0**high).all()


def test_the_cache_table():
    frame = costs.cache_table(LLAMA, 131_072, 2, compressed=True)
    assert frame["Bits of a number"].tolist() == list(BITS)
    assert frame["This context (bytes)"].tolist() == [16 * GIB, 8 * GIB, 4 * GIB]
    assert frame["All sequences (bytes)"].tolist() == [32 * GIB, 16 * GIB, 8 * GIB]
    words = costs.cache_table_in_words(frame)
    assert words["First token"].tolist() == ["128 KiB", "64 KiB", "32 KiB"]
    assert words["All sequences ÷ weights"].tolist() == ["2.14"] * 3


def test_the_curve_is_the_cache():
    frame = costs.cache_points(MODELS["Gemma-2-9B"], 64, 3, compressed=True)
    for bits in BITS:
        line = frame[(frame["What"] == f"cache at {bits} bits") & (frame["Kind"] == "line")]
        for _, point in line.iterrows():
            size = cache_bytes(MODELS["Gemma-2-9B"], point["Tokens"], bits, sequences=3)
            assert point["Memory (GiB)"] == size / GIB


def test_sentences_on_the_cache():
    assert costs.cache_sentence(LLAMA, 131_072, 1, compressed=True) == (
        "Of a token, 65,536 numbers are kept. At 16 bits and 131,072 tokens, the cache takes 16 "
        "GiB, beside 15.0 GiB for the weights."
    )
    assert "in each of 2 sequences" in costs.cache_sentence(LLAMA, 64, 2, compressed=True)

    def said(name, *, compressed=True):
        return costs.sharing_sentence(MODELS[name], compressed=compressed)

    assert said("Llama-3.1-8B") == (
        "32 heads share 8 key–value heads, so 4.0 times less is kept than if each had its own."
    )
    assert said("Falcon-7B").startswith("71 heads share 1 key–value head, so 71.0 times less")
    assert said("GPT-2 small").startswith("Every head keeps keys and values of its own")
    assert "512 numbers and 64 for the position" in said("DeepSeek-V3")
    assert "That is 71.1 times less" in said("DeepSeek-V3")
    assert "costs 3.4 times as much" in said("DeepSeek-V3")
    assert said("DeepSeek-V3", compressed=False).startswith("Every head keeps")
    assert "21 of 42 layers look back no further than 4,096 tokens" in said("Gemma-2-9B")


# Charts.


@pytest.mark.parametrize("make", [charts.work, charts.cache])
def test_axes_are_fixed_and_named(make):
    chart = spec(make(-2, 5))
    assert "data" not in chart
    for layer in chart["layer"]:
        assert layer["encoding"]["x"]["scale"]["domain"] == [64, 1_048_576]
        assert layer["encoding"]["x"]["title"] == "Context (tokens)"
        if "y" in layer["encoding"]:
            assert layer["encoding"]["y"]["scale"]["domain"] == [0.01, 100_000]
            assert "(" in layer["encoding"]["y"]["title"]


def test_charts_read_fields_that_the_frames_have():
    assert fields(spec(charts.work(6, 12))) <= set(costs.work_points(LLAMA, 64, compressed=True))
    assert fields(spec(charts.cache(-3, 3))) <= set(
        costs.cache_points(LLAMA, 64, 1, compressed=True)
    )
    assert fields(spec(charts.parameters())) <= set(tables.picture_table(LLAMA))


def test_lines_have_their_colours():
    chart = spec(charts.work(6, 12))
    line = next(layer for layer in chart["layer"] if "strokeDash" in layer["encoding"])
    scale = line["encoding"]["color"]["scale"]
    assert scale["domain"] == list(costs.LINES)
    assert scale["range"] == [COLOURS[name] for name in costs.LINES]
    assert scale["range"][0] != scale["range"][1]


def test_the_picture_is_the_ledgers_with_experts_faint():
    chart, plain = spec(charts.parameters()), spec(ledger_charts.parts())
    assert chart["height"] == plain["height"]
    assert chart["encoding"]["x"] == plain["encoding"]["x"]
    assert chart["encoding"]["opacity"]["scale"]["domain"] == [tables.AT_WORK, tables.IDLE]


def test_a_model_small_enough_to_count_by_hand():
    assert TINY.total == 5 * 2 + 3 * 2 + (2 * 6 + 6 + 4 + 2) + (16 + 8 + 16 + 2) + 3 * 4
    low, high = costs.work_decades(TINY, compressed=True)
    assert low == 1
    assert high >= 6
