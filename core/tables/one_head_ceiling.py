"""The ceiling of one head as a count, and what looking through all sets of pairs found."""

import pandas as pd

from core.one_head_ceiling import MOST_ENUMERATED, enumerate_ceiling, one_head_ceiling
from core.tables.ceiling import percent
from core.tables.counts import count_of


def ceiling_sentence(n_values: int) -> str:
    """Write the ceiling as a count of pairs of values."""
    V = n_values
    ceiling = one_head_ceiling(V)
    right, pairs = f"{V * (V + 1) // 2:,}", f"{V * V:,}"
    return (
        f"Two values out of {V} make {V} × {V} = {pairs} cases. At best {V} × {V + 1} ÷ 2 = "
        f"{right} of them are answered right: {right}/{pairs} = {ceiling} = {percent(ceiling)}."
    )


def proof_steps(n_values: int) -> tuple[str, ...]:
    """Say in three steps why no more can be right, with the sizes of this task.

    The whole proof is in `core.one_head_ceiling`.
    """
    V = n_values
    twos = V * (V - 1) // 2
    most = V + twos
    return (
        "**One pattern.** One of the two named pairs gets at least as much weight as the other. "
        "Call its value loud and the other's soft: the loud one is at least as strong in both "
        f"answers. For the soft value there are {V} × {V} = {V * V:,} cases: in {V:,} both values "
        f"are the same; the rest make {count_of(twos, 'couple')} of different values, each in two "
        "orders.",
        "**What one head can do.** It weighs both pairs alike and names the smaller value first. "
        "The soft value is then right where both are the same, and in one order of each couple: "
        f"{V:,} + {twos:,} = {most:,}.",
        "**Why no more.** To be right in both orders of a couple, the read-out must take each of "
        "its values, when that one is loud, for a vote for the other. Where both are the same, "
        "nothing outvotes it, and the answer is wrong. All second orders together cost at least "
        f"as many cases as they bring: {most:,} of {V * V:,} = {one_head_ceiling(V)} is the most.",
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
