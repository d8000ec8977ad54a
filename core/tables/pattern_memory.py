"""Tables and sentences of what all patterns would take, and of the FlashAttention paper's table."""

import pandas as pd

from core.binary_units import GIB, MIB, in_binary_units
from core.flash_table import flash_table
from core.pattern_memory import PatternMemory, PatternSettings, pattern_memory
from core.reported import (
    COST_GPT3_ENTRIES,
    COST_GPT3_PATTERN_ENTRIES,
    COST_GPT3_PATTERNS_GIB,
    COST_PATTERN_MIB,
)
from core.tables.counts import count_of


def patterns() -> pd.DataFrame:
    """Return the memory of one float32 pattern beside the article's, in MiB."""
    counted = {
        n: pattern_memory(PatternSettings(context=n, n_heads=1, n_layers=1, bytes_per_entry=4))
        for n in COST_PATTERN_MIB
    }
    return pd.DataFrame(
        {
            "Tokens": list(counted),
            "Entries": [memory.entries for memory in counted.values()],
            "One pattern (MiB)": [memory.total_bytes / MIB for memory in counted.values()],
            "Article (MiB)": [reported.value for reported in COST_PATTERN_MIB.values()],
        }
    )


def all_patterns(counted: PatternMemory) -> pd.DataFrame:
    """Return the patterns of the chosen model line by line, beside the article's for GPT-3."""
    chosen = counted.settings
    lines = [
        (
            f"Entries in one pattern: {chosen.context:,} × {chosen.context:,}",
            counted.entries_per_pattern,
            COST_GPT3_PATTERN_ENTRIES.value,
        ),
        (
            f"Patterns: {count_of(chosen.n_heads, 'head')} × {count_of(chosen.n_layers, 'layer')}",
            counted.n_patterns,
            None,
        ),
        ("Entries in all patterns", counted.entries, COST_GPT3_ENTRIES.value),
        (
            f"Bytes in all patterns, at {chosen.bytes_per_entry} each",
            counted.total_bytes,
            COST_GPT3_PATTERNS_GIB.value * GIB,
        ),
    ]
    return pd.DataFrame(lines, columns=["Quantity", "Computed", "Article, GPT-3"])


def all_patterns_in_words(counted: PatternMemory) -> pd.DataFrame:
    """Return the same lines as text, the bytes in binary units."""
    table = all_patterns(counted)
    words = table.astype(object)
    words["Computed"] = [f"{value:,}" for value in table["Computed"]]
    words["Article, GPT-3"] = [
        f"{COST_GPT3_PATTERN_ENTRIES.value:,.0f}",
        "96 heads, 96 layers",
        f"{COST_GPT3_ENTRIES.value / 1e9:.1f} billion",
        f"{COST_GPT3_PATTERNS_GIB.value:.0f} GiB at 2 bytes",
    ]
    words.loc[3, "Computed"] = in_binary_units(counted.total_bytes)
    return words


def flash() -> pd.DataFrame:
    """Return the FlashAttention paper's memory beside the formulas'."""
    return pd.DataFrame(
        [
            (
                row.n,
                row.standard_paper,
                row.standard_formula,
                100 * row.tables_share,
                row.flash_paper,
                row.flash_formula,
            )
            for row in flash_table()
        ],
        columns=[
            "Tokens",
            "Standard, paper (MiB)",
            "Standard, formula (MiB)",
            "Of which n × n tables (%)",
            "FlashAttention, paper (MiB)",
            "FlashAttention, formula (MiB)",
        ],
    )


def flash_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the same numbers as text."""
    words = table.astype(object)
    words["Tokens"] = [f"{n:,}" for n in table["Tokens"]]
    for column in ("Standard, paper (MiB)", "Standard, formula (MiB)"):
        words[column] = [f"{value:,.0f}" for value in table[column]]
    share = "Of which n × n tables (%)"
    words[share] = [f"{value:.1f}" for value in table[share]]
    paper = "FlashAttention, paper (MiB)"
    words[paper] = ["–" if pd.isna(value) else f"{value:,.0f}" for value in table[paper]]
    formula = "FlashAttention, formula (MiB)"
    words[formula] = [f"{value:,.1f}" for value in table[formula]]
    return words


def all_patterns_sentence(counted: PatternMemory) -> str:
    """Say what all patterns together would take."""
    chosen = counted.settings
    patterns = count_of(counted.n_patterns, "pattern")
    return (
        f"{chosen.context:,} tokens: {counted.entries:,} entries in {patterns}, "
        f"{in_binary_units(counted.total_bytes)} if all were stored at once."
    )
