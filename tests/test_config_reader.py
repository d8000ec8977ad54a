"""A config.json from a stranger: read, or refused in one sentence that names what is wrong."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.config_reader import MOST, MOST_BYTES, ConfigError, as_text, read_config, short, shown


def refusal(text):
    with pytest.raises(ConfigError) as caught:
        read_config(text)
    return str(caught.value)


def size_refusal(value, **options):
    with pytest.raises(ConfigError) as caught:
        read_config(json.dumps({"hidden_size": value})).size("hidden_size", **options)
    return str(caught.value)


# Worked examples.


def test_fields_are_read_with_where_they_are_from():
    fields = read_config('{"hidden_size": 64, "tie_word_embeddings": true, "head_dim": null}')
    assert fields.size("hidden_size") == 64
    assert fields.flag("tie_word_embeddings", default=False) is True
    assert fields.flag("attention_bias", default=False) is False
    assert fields.optional_size("head_dim", default=128) is None
    assert fields.optional_size("q_lora_rank", default=1536) == 1536
    assert fields.items("layer_types") is None
    assert fields.read == [
        ("hidden_size", 64, True),
        ("tie_word_embeddings", True, True),
        ("attention_bias", False, False),
        ("head_dim", None, True),
        ("q_lora_rank", 1536, False),
        ("layer_types", None, False),
    ]


def test_a_field_is_listed_once_however_often_it_is_read():
    fields = read_config('{"hidden_size": 64}')
    assert fields.size("hidden_size") == fields.size("hidden_size")
    assert fields.read == [("hidden_size", 64, True)]


def test_null_takes_the_default_of_a_size():
    fields = read_config('{"n_shared_experts": null}')
    assert fields.size("n_shared_experts", "experts", default=0, at_least=0) == 0
    assert fields.read == [("n_shared_experts", 0, False)]


def test_the_first_name_that_the_file_has():
    fields = read_config('{"num_local_experts": 8}')
    assert fields.name_of("num_experts", "num_local_experts") == "num_local_experts"
    assert fields.name_of("n_embd", "hidden_size") == "n_embd"


def test_bytes_with_a_byte_order_mark_are_the_same_text():
    assert read_config(b"\xef\xbb\xbf" + b'{"a": 1}').size("a") == 1
    assert read_config("\ufeff" + '{"a": 1}').size("a") == 1


@given(st.dictionaries(st.text(max_size=5), st.integers(1, 1000), max_size=6))
@settings(max_examples=40, deadline=None)
def test_what_json_writes_is_read_back(values):
    fields = read_config(json.dumps(values))
    assert {name: fields.size(name) for name in values} == values


# Refusals.


def test_a_file_of_ten_megabytes():
    assert refusal(b" " * 10_000_000) == (
        "A config.json may have at most 1,048,576 bytes here, got 10,000,000."
    )
    assert len(as_text(b" " * MOST_BYTES)) == MOST_BYTES
    with pytest.raises(ConfigError):
        as_text(b" " * (MOST_BYTES + 1))


def test_the_limit_counts_bytes_and_not_characters():
    assert "got 1,200,000." in refusal("é" * 600_000)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "nothing"),
        (" \n ", "nothing"),
        ("[1, 2]", "a list"),
        ('"llama"', "the text “llama”"),
        ("7", "7"),
        ("null", "null"),
        ("true", "true"),
    ],
)
def test_what_is_no_object(text, got):
    assert refusal(text) == f"A config.json must be one object in braces, got {got}."


def test_what_is_no_json():
    assert refusal('{"a": 1,\n "b" 2}').startswith("This is no JSON: line 2, column 6: ")
    assert refusal("hello").startswith("This is no JSON: line 1, column 1: ")


def test_what_is_no_text():
    assert refusal(b'{"a": "\xff"}') == "A config.json must be UTF-8 text, and byte 8 is not."
    assert "UTF-8" in refusal('{"a": "\ud800"}')


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_without_end(opening):
    assert refusal(opening * 100_000) == "This JSON is nested too deeply to be read."


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_json_does_not_have(name):
    assert refusal(f'{{"a": {name}}}') == f"JSON has no {name}: every number must be finite."


def test_a_number_of_a_million_digits():
    said = refusal('{"a": ' + "9" * 1_000_000 + "}")
    assert said == (
        "A number may have at most 100 digits, got one of 1,000,000 that begins with 999999999999."
    )


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("4096", "the text “4096”"),
        (-3, "-3"),
        (0, "0"),
        (10**7, "10,000,000"),
        (4096.0, "4096.0"),
        (1e400, None),
        (True, "true"),
        ([4096], "a list"),
        ({}, "an object"),
        (None, "null"),
    ],
)
def test_what_is_no_size(value, got):
    if got is None:  # JSON writes 1e400, which Python reads as infinite
        with pytest.raises(ConfigError, match=r"^a must be a whole number .* got inf\.$"):
            read_config('{"a": 1e400}').size("a")
        return
    assert (
        size_refusal(value) == f"hidden_size must be a whole number from 1 to 1,000,000, got {got}."
    )


@pytest.mark.parametrize("most", MOST)
def test_the_largest_size_of_each_kind(most):
    text = json.dumps({"a": MOST[most], "b": MOST[most] + 1})
    assert read_config(text).size("a", most) == MOST[most]
    with pytest.raises(ConfigError, match=f"from 1 to {MOST[most]:,}"):
        read_config(text).size("b", most)


def test_a_missing_size_without_a_default_is_named():
    with pytest.raises(ConfigError, match=r"^hidden_size is missing: the file must have it\.$"):
        read_config("{}").size("hidden_size")


@pytest.mark.parametrize("value", ["true", 1, None, []])
def test_what_is_no_flag(value):
    with pytest.raises(ConfigError, match="attention_bias must be true or false, got"):
        read_config(json.dumps({"attention_bias": value})).flag("attention_bias", default=False)


def test_what_is_no_text_or_list_of_the_file():
    with pytest.raises(ConfigError, match=r"model_type must be a text, got 7\."):
        read_config('{"model_type": 7}').text("model_type")
    with pytest.raises(ConfigError, match=r"layer_types must be a list, got an object\."):
        read_config('{"layer_types": {}}').items("layer_types")


def test_what_is_shown_is_short_on_one_line_and_can_be_sent():
    assert shown("x" * 1000) == f"the text “{'x' * 40}…”"
    assert short("a\n\n b") == "a b"
    assert short("\ud800").encode() == b"?"
    said = size_refusal("\ud800" * 100)
    assert said.encode()
    assert len(said) < 200


@given(st.binary(max_size=60) | st.text(max_size=60))
@settings(max_examples=80, deadline=None)
def test_anything_is_read_or_refused(data):
    said = "read."
    try:
        read_config(data)
    except ConfigError as error:
        said = str(error)
    assert said.endswith(".")
    assert "\n" not in said
