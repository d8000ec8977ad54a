"""The FlashAttention paper's memory table, reproduced by two formulas."""

import pytest

from core.binary_units import MIB
from core.flash_table import (
    BATCH,
    BYTES,
    D_HEAD,
    FLASH_MIB_PER_1024,
    N_HEADS,
    flash_bytes,
    flash_table,
    standard_bytes,
)

PRINTED = {128: 36, 256: 104, 512: 336, 1024: 1184, 2048: 4416, 4096: 17024}


def test_the_formula_gives_every_printed_number_exactly():
    rows = flash_table()
    assert {row.n: row.standard_paper for row in rows} == PRINTED
    for row in rows:
        assert row.standard_formula == row.standard_paper


def test_the_formula_is_the_one_written_down():
    for n in PRINTED:
        assert standard_bytes(n) == 16 * 8 * (4 * n**2 * 2 + 10 * n * 64 * 2)
    assert (BATCH, N_HEADS, D_HEAD, BYTES) == (16, 8, 64, 2)


def test_flash_attention_takes_209_mib_for_each_1024_tokens():
    assert FLASH_MIB_PER_1024 == 209
    assert {row.n: row.flash_paper for row in flash_table() if row.n >= 1024} == {
        1024: 209,
        2048: 418,
        4096: 836,
    }
    for row in flash_table():
        if row.flash_paper is None:
            assert row.n < 1024
        else:
            assert row.flash_formula == row.flash_paper


def test_one_grows_with_the_square_and_the_other_in_a_straight_line():
    assert flash_bytes(8192) == 2 * flash_bytes(4096)
    assert standard_bytes(2**20) / standard_bytes(2**19) == pytest.approx(4, rel=1e-3)


def test_the_share_of_the_tables_grows():
    rows = flash_table()
    shares = [row.tables_share for row in rows]
    assert shares == sorted(shares)
    last = rows[-1]
    tables = BATCH * N_HEADS * 4 * last.n**2 * BYTES / MIB
    assert last.tables_share == pytest.approx(tables / last.standard_paper)


def test_a_formula_with_one_table_fewer_would_not_fit():
    """Negative control: the numbers tell four tables from three, and ten arrays from nine."""
    for n, printed in PRINTED.items():
        three = BATCH * N_HEADS * (3 * n * n * BYTES + 10 * n * D_HEAD * BYTES) / MIB
        nine = BATCH * N_HEADS * (4 * n * n * BYTES + 9 * n * D_HEAD * BYTES) / MIB
        assert three != printed
        assert nine != printed
