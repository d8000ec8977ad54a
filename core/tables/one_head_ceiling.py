"""The ceiling of one head as a count, and what looking through all sets of pairs found."""

import pandas as pd

from core.one_head_ceiling import MOST_ENUMERATED, enumerate_ceiling, one_head_ceiling
from core.tables.ceiling import percent


def ceiling_sentence(n_values: int) -> str:
    """Write the ceiling as a count of pairs of values."""
    V = n_values
    ceiling = one_head_ceiling(V)
    right, pairs = f"{V * (V + 1) // 2:,}", f"{V * V:,}"
    return (
        f"Two values out of {V} make {V} × {V} = {pairs} pairs. At best {V} × {V + 1} ÷ 2 = "
        f"{right} of them are answered right: {right}/{pairs} = {ceiling} = {percent(ceiling)}."
    )


def ceiling_checks() -> pd.DataFrame:
    """Return what looking through all sets of right pairs found, a row for each small task."""
    rows = []
    for n_values in range(2, MOST_ENUMERATED + 1):
        check = enumerate_ceiling(n_values)
        rows.append(
            {
                "Values": n_values,
                "Sets of pairs looked through": check.sets,
                "Free of contradictions": check.possible,
                "Pairs in the largest of them": check.largest,
                "Pairs in all": check.pairs,
                "Largest share (exact)": str(check.share),
                "(V + 1) / 2V (exact)": str(one_head_ceiling(n_values)),
                "Pairs right by sorting": check.by_sorting,
            }
        )
    return pd.DataFrame(rows)


def ceiling_checks_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the checks as text, with thousands apart."""
    return table.map(lambda cell: f"{cell:,}" if isinstance(cell, int) else cell)
