"""Tables of the ceiling for even attention: its cases, its sum, and its map."""

from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from core.ablation import CeilingCase, ceiling_cases, ceiling_map, uniform_ceiling
from core.ablation_scores import (
    AblationRun,
    Score,
    add_up,
    add_up_cases,
    distance_in_errors,
    standard_error,
)
from core.tables.counts import count_of
from core.tables.numbers import as_fraction, significant
from core.tables.sampling import in_errors, signed

MAP_MAX_PAIRS = 16
MAP_MAX_VALUES = 32
_WRITTEN_OUT = 10**6  # up to this many sequences, a sum is written in whole numbers
_SHORT = 24  # up to this many characters, a fraction is written out


def case_table(n_pairs: int, n_values: int, runs: Sequence[AblationRun]) -> pd.DataFrame:
    """Return each case: its share and accuracy as predicted, and as the uniform runs scored it.

    The measured columns are NaN where no run has finished or no sequence of the case was drawn.
    """
    cases = ceiling_cases(n_pairs, n_values)
    uniform = [run for run in runs if run.settings.variant == "uniform"]
    none = (Score(right=0, total=0),) * n_pairs
    measured = add_up_cases(run.cases for run in uniform) if uniform else none
    best = add_up_cases(run.best_cases for run in uniform) if uniform else none
    return pd.DataFrame(
        [_case_row(case, measured[case.largest - 1], best[case.largest - 1]) for case in cases]
    )


def case_table_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cases as text: prediction, measurement and how far apart they are."""
    rows = []
    for row in table.to_dict("records"):
        tested = row["Sequences tested"]
        rows.append(
            {
                "Case": row["Case"],
                "Share of sequences": _share(row["Share (exact)"], row["Share (%)"]),
                "Predicted right": f"{row['Predicted accuracy (exact)']} = "
                f"{significant(row['Predicted accuracy (%)'], 4)} %",
                "Measured right": f"{row['Measured accuracy (%)']:.2f} % of {tested:,}"
                if tested
                else "—",
                "Standard error": f"{row['Standard error (percentage points)']:.2f} points"
                if tested
                else "—",
                "From prediction, in standard errors": signed(row["Difference (standard errors)"]),
                "Best strategy, same sequences": f"{row['Best strategy (%)']:.2f} %"
                if tested
                else "—",
            }
        )
    return pd.DataFrame(rows)


def ceiling_sum(n_pairs: int, n_values: int) -> str:
    """Write the ceiling as the sum over its cases, of share times accuracy.

    >>> ceiling_sum(3, 8)
    '336/512 × 1/3 + 168/512 × 2/3 + 8/512 × 3/3 = 29/64 = 45.3125 %'
    """
    cases = ceiling_cases(n_pairs, n_values)
    ceiling = uniform_ceiling(n_pairs, n_values)
    all_sequences = n_values**n_pairs
    terms = [
        f"{case.sequences:,}/{all_sequences:,} × {case.largest}/{n_pairs}"
        if all_sequences <= _WRITTEN_OUT
        else f"{significant(float(case.probability))} × {case.largest}/{n_pairs}"
        for case in cases
    ]
    equals = "=" if all_sequences <= _WRITTEN_OUT else "≈"
    return f"{' + '.join(terms)} {equals} {as_fraction(ceiling)} = {percent(ceiling)}"


def counting_sentence(n_pairs: int, n_values: int) -> str:
    """Say how the sequences of values are counted."""
    cases = ceiling_cases(n_pairs, n_values)
    counts = ", ".join(f"in {case.sequences:,} {case.name}" for case in cases[:4])
    more = ", and so on" if len(cases) > 4 else ""
    return (
        f"There are {n_values}{superscript(n_pairs)} = {n_values**n_pairs:,} equally likely "
        f"sequences of values: {counts}{more}."
    )


def superscript(number: int) -> str:
    """Write a whole number as an exponent.

    >>> f"2{superscript(16)}"
    '2¹⁶'
    """
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def percent(share: Fraction) -> str:
    """Write a share in percent, with as many of four decimals as it needs.

    >>> percent(Fraction(29, 64)), percent(Fraction(1, 3)), percent(Fraction(1))
    ('45.3125 %', '33.3333 %', '100 %')
    """
    return f"{100 * float(share):.4f}".rstrip("0").rstrip(".") + " %"


def ceiling_cells() -> pd.DataFrame:
    """Return every cell of the map: its ceiling, as a number and as the fraction it is."""
    cells = ceiling_map(MAP_MAX_PAIRS, MAP_MAX_VALUES)
    exact = [str(cell.ceiling) for cell in cells]
    return pd.DataFrame(
        {
            "Pairs": [cell.n_pairs for cell in cells],
            "Values": [cell.n_values for cell in cells],
            "Ceiling": [100 * float(cell.ceiling) for cell in cells],
            "Exact": [
                as_fraction(cell.ceiling)
                if len(text) <= _SHORT
                else f"a fraction of {len(text)} characters"
                for cell, text in zip(cells, exact, strict=True)
            ],
        }
    )


def map_cells(
    cells: pd.DataFrame, runs: Sequence[AblationRun], selected: tuple[int, int]
) -> pd.DataFrame:
    """Return the map with the uniform runs measured in each cell added up.

    Args:
        cells: the map, as `ceiling_cells` returns it.
        runs: of any variant and task; only the uniform ones count.
        selected: pairs and values of the cell to mark.
    """
    scores = cell_scores(runs)
    places = list(zip(cells["Pairs"], cells["Values"], strict=True))
    none = Score(right=0, total=0)
    words = {
        place: f"{100 * score.share:.2f} %, "
        f"{in_errors(distance_in_errors(score, uniform_ceiling(*place)))} the ceiling"
        for place, score in scores.items()
    }
    table = cells.copy()
    table["Measured"] = [100 * scores.get(place, none).share for place in places]
    table["Sequences"] = [scores.get(place, none).total for place in places]
    table["Words"] = [words.get(place, "not measured") for place in places]
    table["Selected"] = [place == selected for place in places]
    return table


def measured_cells(runs: Sequence[AblationRun]) -> pd.DataFrame:
    """Return the cells that were measured, with their sampling error."""
    rows = []
    for (n_pairs, n_values), score in sorted(cell_scores(runs).items()):
        ceiling = uniform_ceiling(n_pairs, n_values)
        rows.append(
            {
                "Pairs": n_pairs,
                "Values": n_values,
                "Ceiling (exact)": str(ceiling),
                "Ceiling (%)": 100 * float(ceiling),
                "Measured accuracy (%)": 100 * score.share,
                "Fresh sequences": score.total,
                "Standard error (percentage points)": 100 * standard_error(ceiling, score.total),
                "Difference (standard errors)": distance_in_errors(score, ceiling),
            }
        )
    return pd.DataFrame(rows)


def map_sentence(runs: Sequence[AblationRun]) -> str:
    """Count the measured cells, and those that lie far from the ceiling."""
    scores = cell_scores(runs)
    if not scores:
        return "No cell has been measured with these training settings yet."
    distances = {
        place: distance_in_errors(score, uniform_ceiling(*place)) for place, score in scores.items()
    }
    inside = sum(abs(d) <= 1.96 for d in distances.values())
    highest = max(distances, key=lambda place: distances[place])
    return (
        f"Cells measured: {len(scores)}, of them {inside} within 1.96 standard errors of the "
        f"ceiling, where chance alone puts 95 %. The highest is {in_errors(distances[highest])} "
        f"the ceiling ({count_of(highest[0], 'pair')}, {count_of(highest[1], 'value')})."
    )


def cell_scores(runs: Sequence[AblationRun]) -> dict[tuple[int, int], Score]:
    """Return the uniform runs' scores added up by pairs and values."""
    scores: dict[tuple[int, int], Score] = {}
    for run in runs:
        if run.settings.variant == "uniform":
            place = (run.settings.n_pairs, run.settings.n_values)
            scores[place] = add_up([run.score, scores.get(place, Score(right=0, total=0))])
    return scores


def _case_row(case: CeilingCase, measured: Score, best: Score) -> dict[str, object]:
    return {
        "Case": case.name,
        "Most repeated value (times)": case.largest,
        "Sequences of values like this": case.sequences,
        "Share (exact)": str(case.probability),
        "Share (%)": 100 * float(case.probability),
        "Predicted accuracy (exact)": str(case.accuracy),
        "Predicted accuracy (%)": 100 * float(case.accuracy),
        "Adds to the ceiling (exact)": str(case.contribution),
        "Sequences tested": measured.total,
        "Right answers": measured.right,
        "Measured accuracy (%)": 100 * measured.share,
        "Standard error (percentage points)": 100 * standard_error(case.accuracy, measured.total),
        "Difference (standard errors)": distance_in_errors(measured, case.accuracy),
        "Best strategy (%)": 100 * best.share,
    }


def _share(exact: str, percent: float) -> str:
    if len(exact) > _SHORT:
        return f"{significant(percent)} %"
    return f"{as_fraction(Fraction(exact))} = {significant(percent, 4)} %"
