"""Tables of the mask-leak experiment."""

import math

import numpy as np
import pandas as pd

from core.attention import Floats
from core.mask_leak import Leak, MaskCheck
from core.reported import LEAK_BEFORE_MASKED, LEAK_N_TOKENS, LEAK_POSITION
from core.tables.counts import count_of
from core.tables.numbers import significant
from core.tables.text import text_table

MASKED = "Largest change with the mask"
UNMASKED = "Largest change without a mask"
ARTICLE = "Article, with the mask"

WHY = {
    "correct": "The score of every later token is −∞ before the softmax, so its weight is 0.",
    "off by one": "The comparison is off by one: each token may also look at the next one.",
    "after softmax": (
        "The weights are set to 0 too late: the softmax has already divided each row by a sum "
        "that includes the future. The rows no longer sum to 1."
    ),
    "−10 for −∞": "e⁻¹⁰ is about 0.00005: small, and not 0.",
    "none": "Every token looks at every token.",
}


def leak_summary(result: Leak) -> pd.DataFrame:
    """Return the largest change before, at and after the changed token, beside the article's.

    A part that holds no token (before the first, after the last) has no number: NaN. So has the
    article at any other sequence length or position than its own.
    """
    p, n = result.settings.position, result.settings.n_tokens
    articles = LEAK_BEFORE_MASKED.value if (n, p) == (LEAK_N_TOKENS, LEAK_POSITION) else np.nan
    parts = {"before": slice(0, p), "at": slice(p, p + 1), "after": slice(p + 1, n)}
    rows = []
    for part, where in parts.items():
        rows.append(
            {
                "Outputs": f"{part} position {p}",
                "How many": len(result.masked[where]),
                MASKED: _largest(result.masked[where]),
                UNMASKED: _largest(result.unmasked[where]),
                ARTICLE: articles if part == "before" else np.nan,
            }
        )
    return pd.DataFrame(rows)


def leak_summary_in_words(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text, with an exact zero said as such."""
    reported = summary[ARTICLE].notna().any()
    return text_table(
        {
            "Outputs": summary["Outputs"],
            "How many": map(str, summary["How many"]),
            MASKED: map(exactly, summary[MASKED]),
            UNMASKED: map(exactly, summary[UNMASKED]),
            "Article": ["exactly 0 with the mask", "not reported", "not reported"]
            if reported
            else ["another setting"] * len(summary),
        }
    )


def output_changes(result: Leak) -> pd.DataFrame:
    """Return the change of every output, one row for each position and mask."""
    n = result.settings.n_tokens
    changes = np.concatenate([result.masked, result.unmasked])
    return pd.DataFrame(
        {
            "Position": np.tile(np.arange(n), 2),
            "Mask": np.repeat(["with mask", "without mask"], n),
            "Largest change": changes,
            "In words": [exactly(value) for value in changes.tolist()],
            "Changed position": result.settings.position,
        }
    )


def influence_cells(table: Floats) -> pd.DataFrame:
    """Return the n × n influence map, one row for each cell, exact zeros marked."""
    n = len(table)
    changed, output = np.meshgrid(np.arange(n), np.arange(n))
    values = table.ravel()
    return pd.DataFrame(
        {
            "Changed token": changed.ravel(),
            "Output": output.ravel(),
            "Largest change": values.astype(np.float32),
            "In words": [exactly(value) for value in values.tolist()],
        }
    )


def mask_checks(checks: list[MaskCheck]) -> pd.DataFrame:
    """Return what the test sees of each mask, and why."""
    return pd.DataFrame(
        {
            "Mask": [check.mask for check in checks],
            "Largest change before the changed token": [check.largest_before for check in checks],
            "Outputs before it that moved": [check.n_moved_before for check in checks],
            "Smallest row sum": [check.row_sums[0] for check in checks],
            "Why": [WHY[check.mask] for check in checks],
        }
    )


def mask_checks_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the checks as text, with an exact zero said as such."""
    change, moved = "Largest change before the changed token", "Outputs before it that moved"
    return text_table(
        {
            "Mask": table["Mask"],
            change: map(exactly, table[change]),
            moved: map(str, table[moved]),
            "Smallest row sum": map("{:.3f}".format, table["Smallest row sum"]),
            "Why": table["Why"],
        }
    )


def exactly(value: float) -> str:
    """Write a change in a few digits, and a zero as exact: the two are different findings.

    >>> exactly(0.0), exactly(0.00002), exactly(1.5), exactly(float("nan"))
    ('exactly 0', '2.0 × 10⁻⁵', '1.500', 'no token there')
    """
    if math.isnan(value):
        return "no token there"
    if value == 0:
        return "exactly 0"
    return f"{value:.3f}" if value >= 0.001 else significant(value, 2)


def leak_sentence(result: Leak) -> str:
    """Say what the run shows, as it is."""
    p = result.settings.position
    itself_and_after = result.masked[p:]
    reached = int(np.count_nonzero(itself_and_after))
    if p == 0:
        return (
            "Position 0 was changed: no output comes before it, so nothing could leak and none "
            f"was safe. With the mask, {reached or 'none'} of the {len(itself_and_after)} outputs "
            "moved."
        )
    moved = int(np.count_nonzero(result.unmasked[:p]))
    with_mask = int(np.count_nonzero(result.masked[:p]))
    return (
        f"With the mask, {with_mask or 'none'} of the {count_of(p, 'output')} before position {p} "
        f"moved, and {reached or 'none'} of the {len(itself_and_after)} from there on. Without it, "
        f"{moved or 'none'} of the {p} before moved."
    )


def chosen_sentence(result: Leak) -> str:
    """Say what the mask chosen for the map lets through; nothing where it cannot or it is right."""
    p, mask = result.settings.position, result.settings.mask
    if p == 0 or mask == "correct":
        return ""
    before = result.chosen[:p]
    moved = np.flatnonzero(before)
    words = (
        f"With the mask chosen for the map, {mask}, {len(moved) or 'none'} of the "
        f"{count_of(p, 'output')} before position {p} moved"
    )
    if not len(moved):
        return f"{words}."
    which = f", output {moved[0]}, by" if len(moved) == 1 else ", by up to"
    return f"{words}{which} {exactly(float(before.max()))}."


def influence_sentence(cells: pd.DataFrame, mask: str) -> str:
    """Say how many cells above the diagonal moved, or that all are exactly zero."""
    above = cells[cells["Changed token"] > cells["Output"]]
    moved = int((above["Largest change"] > 0).sum())
    if moved == 0:
        all_of_them = "the one cell is" if len(above) == 1 else f"all {len(above):,} cells are"
        return f"Mask: {mask}. Above the diagonal, {all_of_them} exactly 0: nothing moved."
    of_all = count_of(len(above), "cell")
    return f"Mask: {mask}. Above the diagonal, {moved:,} of {of_all} moved: the future leaks in."


def _largest(changes: Floats) -> float:
    return float(changes.max()) if len(changes) else float("nan")
