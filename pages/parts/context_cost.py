"""What the context-cost page measures for a visitor, and within which memory."""

import os
from typing import Any, TypeAlias

from core.context_cost import CostSnapshot, measure_steps
from core.context_plan import ContextSettings
from pages.parts import measuring
from pages.parts.measuring import POLL_SECONDS as POLL_SECONDS

Visit: TypeAlias = measuring.Visit[ContextSettings, CostSnapshot]

SIZES = (512, 1024, 2048, 4096, 8192, 16384)  # tokens; what the largest size can be
CAP_VARIABLE = "ATTENTION_LAB_MEMORY_CAP_MIB"
LEAST_CAP = 88  # MiB; below about 82 nothing can be measured, not even the smallest size
VISIT = "context_cost_visit"  # the key of the visit in the session's state


def follow(settings: ContextSettings) -> Visit:
    """Return the visit that follows these settings; a measurement of others is left."""
    return measuring.follow("context_cost", settings, measure_steps)


def memory_cap() -> tuple[int, str | None]:
    """Return the memory cap in MiB, and a sentence if the environment's could not be read.

    Whoever runs the server sets it with the environment variable ATTENTION_LAB_MEMORY_CAP_MIB.
    """
    default = ContextSettings.memory_cap_mib
    text = os.environ.get(CAP_VARIABLE, str(default))
    # The digits are counted first: Python refuses to read a number of more than 4,300.
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= LEAST_CAP:
        return int(text), None
    got = text if len(text) <= 20 else f"{text[:20]}…"
    return default, (
        f"{CAP_VARIABLE} must be a whole number of MiB, at least {LEAST_CAP}, got {got!r}; "
        f"{default} is used."
    )


def largest_that_fits(values: dict[str, Any]) -> int:
    """Return the largest size that these settings can be measured at, at least the smallest."""
    fitting = [SIZES[0]]
    for n in SIZES:
        try:
            ContextSettings(**{**values, "n_largest": n})
        except ValueError:
            break
        fitting.append(n)
    return fitting[-1]
