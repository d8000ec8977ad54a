"""What the article and the papers reported, to stand beside what is measured here.

Nothing in this file is computed. "Article" is "How an LLM Works, Part 6: Attention, With Q, K and
V Learned From Scratch".
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reported:
    """One published figure: what it is, its value and unit, and how it was obtained."""

    quantity: str
    value: float
    unit: str
    conditions: str
    source: str = "article"


# Mask leak: the article gives the outcome with the mask, and no numbers without it.
LEAK_BEFORE_MASKED = Reported(
    quantity="Largest change before the changed token, with the mask",
    value=0.0,
    unit="no unit",
    conditions="16 random tokens, position 10 changed",
)
LEAK_N_TOKENS = 16
LEAK_POSITION = 10
