"""The settings say which sizes and methods fit, and by arithmetic what each of them holds."""

import numpy as np
import pytest

from core import context_plan
from core.context_plan import (
    METHODS,
    PROCESS_MIB,
    ContextSettings,
    calculation,
    draw_qkv,
    needed_mib,
)
from core.row_blocks import attention_by_row_blocks

SMALL = {"n_smallest": 8, "n_largest": 32, "d_k": 4}


def test_block_size_and_threads_reach_the_row_blocks(monkeypatch):
    seen = []

    def recorded(q, k, v, **options):
        seen.append((len(q), len(k), len(v), options))
        return attention_by_row_blocks(q, k, v, **options)

    monkeypatch.setattr(context_plan, "attention_by_row_blocks", recorded)
    settings = ContextSettings(**SMALL, block_size=5, n_threads=2)
    calculation(16, "row blocks", settings, draw_qkv(settings))()
    assert seen == [(16, 16, 16, {"block_size": 5, "n_threads": 2})]


def test_both_methods_compute_the_same_thing():
    settings = ContextSettings(**SMALL)
    qkv = draw_qkv(settings)
    formula, blocks = (calculation(32, method, settings, qkv)() for method in METHODS)
    np.testing.assert_allclose(formula, blocks, atol=1e-6)
    assert formula.std() > 0.1


def test_equal_seeds_draw_the_same_numbers():
    first, again = draw_qkv(ContextSettings(**SMALL)), draw_qkv(ContextSettings(**SMALL))
    other = draw_qkv(ContextSettings(**SMALL, seed=1))
    assert all(array.dtype == np.float32 and array.shape == (32, 4) for array in first)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert not np.array_equal(first[0], first[1])


def test_the_cases_are_the_sizes_in_order_and_at_each_the_methods_that_fit():
    assert ContextSettings(**SMALL).cases == tuple(
        (n, method) for n in (8, 16, 32) for method in METHODS
    )


def test_the_formula_is_left_out_where_only_the_blocks_fit():
    settings = ContextSettings(n_largest=2048, memory_cap_mib=100)
    assert settings.methods_at(1024) == METHODS
    assert settings.methods_at(2048) == ("row blocks",)
    assert needed_mib(2048, "formula", settings) > 100 >= needed_mib(2048, "row blocks", settings)
    assert settings.cases[-2:] == ((1024, "row blocks"), (2048, "row blocks"))


def test_the_default_cap_fits_a_host_of_one_gigabyte():
    settings = ContextSettings(n_largest=16384)
    # The app itself takes about 200 MiB; the cap counts the process beside it that measures.
    assert settings.memory_cap_mib <= 600
    assert needed_mib(256, "row blocks", ContextSettings()) > PROCESS_MIB
    assert settings.methods_at(4096) == METHODS
    assert settings.methods_at(8192) == ("row blocks",)
    assert settings.methods_at(16384) == ("row blocks",)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n_smallest": 0}, "n_smallest must be at least 1, got 0"),
        ({"d_k": 0}, "d_k must be at least 1, got 0"),
        ({"n_repeats": 0}, "n_repeats must be at least 1, got 0"),
        ({"block_size": -1}, "block_size must be at least 1, got -1"),
        ({"n_threads": 0}, "n_threads must be at least 1, got 0"),
        ({"memory_cap_mib": 0}, "memory_cap_mib must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        (
            {"n_largest": 1000},
            r"n_largest must be n_smallest \(256\) doubled a whole number of times, got 1000",
        ),
        ({"n_largest": 128}, r"n_largest must be n_smallest \(256\) doubled .* got 128"),
        (
            {"n_largest": 16384, "memory_cap_mib": 120},
            r"n_largest must fit the memory cap \(memory_cap_mib, 120 MiB\), got 16384, for which "
            r"even row blocks need 137 MiB",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_sentence(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        ContextSettings(**fields)


def test_the_sizes_are_doublings():
    assert ContextSettings(n_largest=256).sizes == (256,)
    assert ContextSettings(n_largest=2048).sizes == (256, 512, 1024, 2048)
    assert ContextSettings(n_smallest=3, n_largest=12).sizes == (3, 6, 12)
