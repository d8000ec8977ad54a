"""The published models reconcile to the parameter; the GPT-3 paper's table is kept as printed."""

import csv

import pytest

from core.ledger import count_parameters
from core.published import (
    DATA,
    Gpt3Row,
    config_from_row,
    gpt3_row_of,
    gpt3_table,
    published_models,
    reconciliation_of,
    reconciliations,
)


def rows_of(name):
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Worked examples: every row of the file.


@pytest.mark.parametrize("reconciled", reconciliations(), ids=lambda r: r.published.config.model)
def test_every_published_model_to_the_parameter(reconciled):
    assert reconciled.counted == reconciled.published.total_parameters
    assert reconciled.difference == 0


def test_the_configuration_holds_the_columns_of_the_file():
    rows = rows_of("models.csv")
    assert len(rows) == len(published_models()) == 15
    for row, model in zip(rows, published_models(), strict=True):
        for column in set(row) - {"notes", "total_parameters", "tied_embedding"}:
            value = getattr(model.config, column)
            assert str(value) == row[column] or (column, value, row[column]) == (
                "n_context_learned",
                0,
                "",
            )
        assert model.config.tied_embedding == (row["tied_embedding"] == "yes")
        assert model.total_parameters == int(row["total_parameters"])
        assert model.notes == row["notes"]


def test_notes_become_fields():
    models = {model.config.model: model.config for model in published_models()}
    gpt2, gemma, qwen = models["GPT-2 XL"], models["Gemma-2-2B"], models["Qwen2.5-7B"]
    assert (gpt2.norm, gpt2.biases) == ("layer norm with bias", "everywhere")
    assert (gpt2.gated_feed_forward, gpt2.norms_per_layer) == (False, 2)
    assert (gemma.norm, gemma.biases) == ("rms norm", "none")
    assert (gemma.gated_feed_forward, gemma.norms_per_layer) == (True, 4)
    assert (qwen.biases, qwen.norms_per_layer) == ("q, k, v only", 2)


def test_some_published_heads_are_wider_than_the_model_and_some_narrower():
    wider = {m.config.model: m.config.n_heads * m.config.d_head - m.config.d_model
             for m in published_models()}  # fmt: skip
    assert wider["Gemma-7B"] == 16 * 256 - 3072 > 0
    assert wider["Gemma-2-2B"] == 8 * 256 - 2304 < 0


# The GPT-3 paper's table.


def test_the_gpt3_table_is_kept_as_printed():
    rows = rows_of("gpt3_table_2_1.csv")
    assert len(rows) == len(gpt3_table()) == 8
    for row, read in zip(rows, gpt3_table(), strict=True):
        assert {column: str(getattr(read, column)) for column in row} == row


def test_the_two_contradictory_rows_are_flagged_and_no_other():
    flags = {row.model: row.flag for row in gpt3_table() if row.contradicts_itself}
    assert flags == {
        "GPT-3 XL": "⚠ contradicts itself: 3,072 is not 2,048",
        "GPT-3 13B": "⚠ contradicts itself: 5,120 is not 5,140",
    }
    assert all((row.flag == "") == (row.heads_width == row.d_model) for row in gpt3_table())


def test_a_flagged_row_is_counted_as_printed():
    xl = next(row for row in gpt3_table() if row.model == "GPT-3 XL")
    assert (xl.config.n_heads, xl.config.d_head, xl.config.d_model) == (24, 128, 2048)
    per_layer = 4 * 2048 * 24 * 128 + 8 * 2048**2
    vectors = 24 * (3 * 24 * 128 + 2048 + 5 * 2048 + 4 * 2048) + 2 * 2048
    assert xl.counted == 24 * per_layer + (50257 + 2048) * 2048 + vectors == 1_517_123_584


# Looking a configuration up.


def test_a_configuration_is_found_by_its_sizes_whatever_its_name():
    for reconciled in reconciliations():
        found = reconciliation_of(config_from_row({**as_row(reconciled), "model": "mine"}))
        assert found is reconciled
        assert gpt3_row_of(reconciled.published.config) is None
    for row in gpt3_table():
        assert gpt3_row_of(row.config) is row
        assert reconciliation_of(row.config) is None


def as_row(reconciled):
    name = reconciled.published.config.model
    return next(row for row in rows_of("models.csv") if row["model"] == name)


# Errors: what the reader does not know, it refuses.


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"notes": "RMSNorm, mixture of experts"}, "notes must be made of .*mixture of experts"),
        ({"notes": "RMSNorm, gated feed-forward, 6 norms a layer"}, "notes must be .*6 norms"),
        ({"tied_embedding": "maybe"}, "tied_embedding must be yes or no, got 'maybe'"),
        ({"n_kv_heads": "5"}, "n_kv_heads must divide n_heads"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        config_from_row({**rows_of("models.csv")[5], **change})


# Negative control: a wrong cell shows as a difference.


@pytest.mark.parametrize("column", ["n_layers", "d_model", "d_ff", "n_vocab", "d_head"])
def test_a_size_wrong_by_one_shows_as_a_difference(column):
    for row in rows_of("models.csv"):
        wrong = config_from_row({**row, column: str(int(row[column]) + 1)})
        assert count_parameters(wrong).total != int(row["total_parameters"])


def test_a_row_that_fits_would_not_be_flagged():
    row = Gpt3Row(
        model="x", n_params_printed="1.3B", n_layers=24, d_model=3072, n_heads=24, d_head=128
    )
    assert not row.contradicts_itself
    assert row.flag == ""
