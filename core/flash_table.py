"""The memory of attention as the FlashAttention paper prints it, beside a formula that gives it.

Dao, Fu, Ermon, Rudra and Ré 2022, "FlashAttention: Fast and Memory-Efficient Exact Attention with
IO-Awareness", arXiv 2205.14135, table 21.

The two formulas are a reading of the printed numbers, not the paper's: they give every one of them
to the MiB.
"""

from dataclasses import dataclass

from core.binary_units import MIB

BATCH = 16  # sequences at once
N_HEADS = 8
D_HEAD = 64  # numbers in a query, a key and a value
BYTES = 2  # bytes a number, half precision

STANDARD_MIB = {128: 36, 256: 104, 512: 336, 1024: 1184, 2048: 4416, 4096: 17024}
"""Tokens -> MiB printed for standard attention."""

FLASH_MIB_PER_1024 = 209
"""MiB printed for FlashAttention for each 1,024 tokens, from 1,024 tokens upward."""


@dataclass(frozen=True, kw_only=True)
class FlashRow:
    """One sequence length of the table."""

    n: int  # tokens
    standard_paper: int  # MiB, as printed
    standard_formula: float  # MiB
    tables_share: float  # of standard_formula, how much is n × n tables, 0 to 1
    flash_paper: int | None  # MiB, as printed; None below 1,024 tokens, where the rule fails
    flash_formula: float  # MiB


def standard_bytes(n: int) -> int:
    """Return the bytes of standard attention: four n × n tables and ten (n, d) arrays a head.

    >>> standard_bytes(4096) / MIB
    17024.0
    """
    return BATCH * N_HEADS * (4 * n * n * BYTES + 10 * n * D_HEAD * BYTES)


def flash_bytes(n: int) -> int:
    """Return the bytes of FlashAttention: thirteen (n, d) arrays and two float32 a row and head.

    No term has n²: that is the whole point.

    >>> flash_bytes(1024) / MIB
    209.0
    """
    return BATCH * N_HEADS * (13 * n * D_HEAD * BYTES + 2 * n * 4)


def flash_table() -> tuple[FlashRow, ...]:
    """Return the paper's numbers beside the formulas', from 128 to 4,096 tokens."""
    return tuple(
        FlashRow(
            n=n,
            standard_paper=printed,
            standard_formula=standard_bytes(n) / MIB,
            tables_share=BATCH * N_HEADS * 4 * n * n * BYTES / standard_bytes(n),
            flash_paper=FLASH_MIB_PER_1024 * n // 1024 if n >= 1024 else None,
            flash_formula=flash_bytes(n) / MIB,
        )
        for n, printed in STANDARD_MIB.items()
    )
