"""The patterns of a whole model, counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.attention import attention
from core.binary_units import GIB, MIB
from core.pattern_memory import PatternSettings, pattern_memory

counts = st.integers(1, 10**6)


def test_gpt3_has_the_articles_numbers():
    counted = pattern_memory(PatternSettings())
    assert counted.entries_per_pattern == 4_194_304
    assert counted.n_patterns == 9_216
    assert round(counted.entries / 1e9, 2) == 38.65
    assert counted.total_bytes == 72 * GIB


@pytest.mark.parametrize(("context", "mib"), [(2048, 16), (4096, 64), (8192, 256)])
def test_one_float32_pattern_has_the_articles_size(context, mib):
    settings = PatternSettings(context=context, n_heads=1, n_layers=1, bytes_per_entry=4)
    assert pattern_memory(settings).pattern_bytes == mib * MIB
    assert pattern_memory(settings).total_bytes == mib * MIB


def test_the_count_is_what_numpy_allocates():
    x = np.ones((32, 4), dtype=np.float32)
    w = np.eye(4, dtype=np.float32)
    _, pattern = attention(x, w, w, w)
    settings = PatternSettings(context=32, n_heads=3, n_layers=5, bytes_per_entry=4)
    assert pattern_memory(settings).total_bytes == 3 * 5 * pattern.nbytes


@hypothesis_settings(max_examples=40)
@given(counts, counts, counts, st.integers(1, 8))
def test_each_size_counts_as_it_should(context, n_heads, n_layers, bytes_per_entry):
    def total(**changed):
        fields = {
            "context": context,
            "n_heads": n_heads,
            "n_layers": n_layers,
            "bytes_per_entry": bytes_per_entry,
        }
        return pattern_memory(PatternSettings(**{**fields, **changed})).total_bytes

    once = total()
    assert total(context=2 * context) == 4 * once
    assert total(n_heads=2 * n_heads) == 2 * once
    assert total(n_layers=2 * n_layers) == 2 * once
    assert total(bytes_per_entry=2 * bytes_per_entry) == 2 * once


@pytest.mark.parametrize("name", ["context", "n_heads", "n_layers", "bytes_per_entry"])
def test_a_count_below_one_is_named(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        PatternSettings(**{name: 0})
