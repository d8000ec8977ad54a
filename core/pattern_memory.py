"""How much memory the patterns of a whole model would take, if all were stored at once.

Arithmetic only: no model is run. Over n tokens a pattern is a table of n × n, and every head of
every layer has its own. FlashAttention and its like never store them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PatternSettings:
    """The sizes that decide it, with GPT-3's as defaults (Brown et al. 2020, table 2.1)."""

    context: int = 2048  # tokens
    n_heads: int = 96  # heads in a layer
    n_layers: int = 96  # layers
    bytes_per_entry: int = 2  # bytes; 2 for half precision, 4 for float32

    def __post_init__(self) -> None:
        for name in ("context", "n_heads", "n_layers", "bytes_per_entry"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class PatternMemory:
    """The patterns of one sequence, counted."""

    settings: PatternSettings
    entries_per_pattern: int  # context × context
    n_patterns: int  # heads × layers
    entries: int  # in all patterns together
    pattern_bytes: int  # of one pattern
    total_bytes: int  # of all patterns together


def pattern_memory(settings: PatternSettings) -> PatternMemory:
    """Count the entries and the bytes of all patterns of one sequence.

    >>> counted = pattern_memory(PatternSettings())
    >>> counted.entries, counted.total_bytes / 2**30
    (38654705664, 72.0)
    """
    entries_per_pattern = settings.context**2
    n_patterns = settings.n_heads * settings.n_layers
    entries = entries_per_pattern * n_patterns
    return PatternMemory(
        settings=settings,
        entries_per_pattern=entries_per_pattern,
        n_patterns=n_patterns,
        entries=entries,
        pattern_bytes=entries_per_pattern * settings.bytes_per_entry,
        total_bytes=entries * settings.bytes_per_entry,
    )
