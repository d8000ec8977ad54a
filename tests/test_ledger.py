"""The ledger against published totals, an enumeration of tensors, closed formulas and itself."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gpt3_article import gpt3
from core.ledger import BIASES, NORMS, PARTS, ModelConfig, count_parameters, nearest_kv_heads
from core.ledger_formulas import part_formulas
from core.published import published_models

TINY = ModelConfig(
    n_layers=2,
    d_model=6,
    n_heads=4,
    n_kv_heads=2,
    d_head=3,
    d_ff=10,
    n_vocab=7,
    n_context_learned=5,
)


@st.composite
def configs(draw):
    n_kv_heads = draw(st.integers(1, 5))
    return ModelConfig(
        n_layers=draw(st.integers(1, 5)),
        d_model=draw(st.integers(1, 40)),
        n_heads=n_kv_heads * draw(st.integers(1, 5)),
        n_kv_heads=n_kv_heads,
        d_head=draw(st.integers(1, 20)),
        d_ff=draw(st.integers(1, 90)),
        n_vocab=draw(st.integers(1, 200)),
        tied_embedding=draw(st.booleans()),
        n_context_learned=draw(st.none() | st.integers(0, 50)),
        norm=draw(st.sampled_from(NORMS)),
        norms_per_layer=draw(st.integers(0, 4)),
        final_norm=draw(st.booleans()),
        gated_feed_forward=draw(st.booleans()),
        biases=draw(st.sampled_from(BIASES)),
    )


def tensors(c):
    """Every tensor of the model by name, as a checkpoint holds them: heads side by side."""
    found = {"embed_tokens.weight": (c.n_vocab, c.d_model)}
    if c.n_context_learned:
        found["embed_positions.weight"] = (c.n_context_learned, c.d_model)
    with_shift = c.norm == "layer norm with bias"

    def linear(name, n_in, n_out, biased):
        found[f"{name}.weight"] = (n_out, n_in)
        if biased:
            found[f"{name}.bias"] = (n_out,)

    def norm(name):
        found[f"{name}.weight"] = (c.d_model,)
        if with_shift:
            found[f"{name}.bias"] = (c.d_model,)

    for layer in range(c.n_layers):
        at = f"layers.{layer}"
        for name, heads in (("q", c.n_heads), ("k", c.n_kv_heads), ("v", c.n_kv_heads)):
            linear(f"{at}.{name}_proj", c.d_model, heads * c.d_head, c.biases != "none")
        linear(f"{at}.o_proj", c.n_heads * c.d_head, c.d_model, c.biases == "everywhere")
        for name in ("gate", "up") if c.gated_feed_forward else ("up",):
            linear(f"{at}.{name}_proj", c.d_model, c.d_ff, c.biases == "everywhere")
        linear(f"{at}.down_proj", c.d_ff, c.d_model, c.biases == "everywhere")
        for number in range(c.norms_per_layer):
            norm(f"{at}.norm_{number}")
    if c.final_norm:
        norm("norm")
    if not c.tied_embedding:
        found["lm_head.weight"] = (c.n_vocab, c.d_model)
    return found


def enumerated(config):
    return sum(int(np.prod(shape, dtype=np.int64)) for shape in tensors(config).values())


# Worked examples.


def test_gpt3_as_the_article_counts_it():
    ledger = count_parameters(gpt3())
    attention = [line for line in ledger.lines if line.part == "attention"]
    assert [line.shape for line in attention] == [(12288, 128)] * 3 + [(128, 12288)]
    assert sum(line.per_head for line in attention) == 6_291_456
    assert sum(line.per_layer for line in attention) == 603_979_776 == 4 * 12_288**2
    assert ledger.attention == 57_982_058_496
    assert ledger.total == 174_604_259_328


def test_a_model_small_enough_to_count_by_hand():
    ledger = count_parameters(TINY)
    assert ledger.embedding == 7 * 6 + 5 * 6
    assert ledger.attention == 2 * (4 * 18 + 2 * 18 + 2 * 18 + 4 * 18)
    assert ledger.feed_forward == 2 * (60 + 60)
    assert ledger.biases == 2 * (12 + 6 + 6 + 6 + 10 + 6)
    assert ledger.norms == 2 * 2 * (6 + 6) + (6 + 6)


def test_a_key_line_counts_key_value_heads():
    line = next(line for line in count_parameters(TINY).lines if line.matrix.startswith("W_K"))
    assert (line.per_head, line.per_layer, line.whole_model) == (18, 36, 72)


def test_lines_outside_the_layers_have_no_share_of_a_layer_or_head():
    for line in count_parameters(TINY).lines:
        outside = line.part == "embeddings" or line.matrix.startswith("final")
        assert (line.per_layer is None) == outside
        assert line.part in PARTS


# Invariants.


@given(configs())
@settings(max_examples=60, deadline=None)
def test_formula_is_count_in_every_part(config):
    ledger = count_parameters(config)
    formulas = part_formulas(config)
    assert tuple(formula.part for formula in formulas) == PARTS
    assert [formula.value for formula in formulas] == [ledger.part(part) for part in PARTS]
    assert sum(formula.value for formula in formulas) == ledger.total


@given(configs())
@settings(max_examples=60, deadline=None)
def test_the_written_formula_means_its_value(config):
    sizes = {name: getattr(config, name) for name in ModelConfig.__dataclass_fields__}
    for formula in part_formulas(config):
        assert eval(formula.formula.replace("×", "*"), {}, sizes) == formula.value
        numbers = formula.in_numbers.replace("×", "*").replace(",", "")
        assert eval(numbers, {}) == formula.value


@given(configs())
@settings(max_examples=30, deadline=None)
def test_as_many_key_value_heads_as_heads_is_multi_head(config):
    multi = count_parameters(replace(config, n_kv_heads=config.n_heads))
    width = config.n_heads * config.d_head
    assert multi.attention == config.n_layers * 4 * config.d_model * width
    saved = multi.attention - count_parameters(config).attention
    shared = (config.n_heads - config.n_kv_heads) * config.d_head
    assert saved == config.n_layers * 2 * config.d_model * shared


@given(configs())
@settings(max_examples=30, deadline=None)
def test_untying_adds_one_token_table_and_nothing_else(config):
    tied = count_parameters(replace(config, tied_embedding=True))
    untied = count_parameters(replace(config, tied_embedding=False))
    assert untied.total - tied.total == config.n_vocab * config.d_model
    assert untied.embedding - tied.embedding == config.n_vocab * config.d_model


@given(configs())
@settings(max_examples=30, deadline=None)
def test_parts_add_up_and_each_line_is_its_shape_times_its_copies(config):
    ledger = count_parameters(config)
    parts = (ledger.embedding, ledger.attention, ledger.feed_forward, ledger.biases, ledger.norms)
    assert sum(parts) == ledger.total
    for line in ledger.lines:
        copies = line.in_layer * (line.n_layers or 1)
        assert line.whole_model == math.prod(line.shape) * copies > 0


def test_the_name_changes_no_count():
    assert count_parameters(replace(TINY, model="another")).total == count_parameters(TINY).total


def test_no_learned_positions_is_none_or_0():
    none, zero = (count_parameters(replace(TINY, n_context_learned=n)) for n in (None, 0))
    assert none.lines == zero.lines
    assert count_parameters(TINY).total - none.total == 5 * 6


def test_numpy_sizes_do_not_overflow():
    sizes = {name: np.int32(getattr(gpt3(), name)) for name in ("n_layers", "d_model", "d_ff")}
    assert count_parameters(replace(gpt3(), **sizes)).total == 174_604_259_328


# Oracle: the tensors of a checkpoint, one by one.


@given(configs())
@settings(max_examples=60, deadline=None)
def test_the_count_is_that_of_the_tensors(config):
    assert count_parameters(config).total == enumerated(config)


@pytest.mark.parametrize("model", published_models(), ids=lambda model: model.config.model)
def test_the_tensors_are_those_of_the_published_model(model):
    assert enumerated(model.config) == model.total_parameters


# Errors.


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_layers": 0}, "n_layers must be a whole number of at least 1, got 0"),
        ({"d_model": -6}, "d_model must be a whole number of at least 1, got -6"),
        ({"n_heads": 0}, "n_heads must be a whole number of at least 1, got 0"),
        ({"n_kv_heads": 0}, "n_kv_heads must be a whole number of at least 1, got 0"),
        ({"d_head": 2.5}, "d_head must be a whole number of at least 1, got 2.5"),
        ({"d_ff": "10"}, "d_ff must be a whole number of at least 1, got '10'"),
        ({"n_vocab": True}, "n_vocab must be a whole number of at least 1, got True"),
        ({"n_context_learned": -1}, "n_context_learned must be a whole number of at least 0, got"),
        ({"n_context_learned": math.nan}, "n_context_learned must be a whole number of at least 0"),
        ({"norms_per_layer": -1}, "norms_per_layer must be a whole number of at least 0, got -1"),
        ({"tied_embedding": "no"}, "tied_embedding must be True or False, got 'no'"),
        ({"final_norm": 1}, "final_norm must be True or False, got 1"),
        ({"gated_feed_forward": None}, "gated_feed_forward must be True or False, got None"),
        ({"norm": "batch"}, "norm must be one of .*, got 'batch'"),
        ({"biases": "some"}, "biases must be one of .*, got 'some'"),
        ({"n_kv_heads": 3}, r"n_kv_heads must divide n_heads \(4\).*got 3"),
        ({"n_kv_heads": 8}, r"n_kv_heads must divide n_heads \(4\).*got 8"),
    ],
)
def test_an_impossible_size_is_named_with_its_rule_and_value(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(TINY, **change)


@given(st.integers(1, 128), st.integers(1, 128))
@settings(max_examples=60, deadline=None)
def test_the_nearest_key_value_heads_divide_the_heads(n_heads, wanted):
    nearest = nearest_kv_heads(n_heads, wanted)
    divisors = [n for n in range(1, n_heads + 1) if n_heads % n == 0]
    assert nearest in divisors
    assert abs(nearest - wanted) == min(abs(n - wanted) for n in divisors)
    assert (nearest == wanted) == (wanted in divisors)


# Negative control: each habit, miscounted, misses the published total.


@pytest.mark.parametrize(
    ("habit", "miscount"),
    [
        ("shared keys", lambda c: replace(c, n_kv_heads=c.n_heads)),
        ("gate", lambda c: replace(c, gated_feed_forward=not c.gated_feed_forward)),
        ("tied", lambda c: replace(c, tied_embedding=not c.tied_embedding)),
        ("norm", lambda c: replace(c, norm=NORMS[1 - NORMS.index(c.norm)])),
        ("norms", lambda c: replace(c, norms_per_layer=6 - c.norms_per_layer)),
        ("final", lambda c: replace(c, final_norm=not c.final_norm)),
        ("biases", lambda c: replace(c, biases=BIASES[BIASES.index(c.biases) - 1])),
        ("positions", lambda c: replace(c, n_context_learned=1024 - c.n_context_learned)),
        ("head size", lambda c: replace(c, d_head=2 * c.d_head)),
    ],
)
def test_a_miscount_misses_the_published_total(habit, miscount):
    changed = 0
    for model in published_models():
        wrong = miscount(model.config)
        if wrong == model.config:  # a model without shared keys has none to miscount
            assert habit == "shared keys"
            continue
        changed += 1
        assert count_parameters(wrong).total != model.total_parameters
    assert changed >= 9
