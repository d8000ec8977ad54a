"""Tables and sentences of recall at scale: the shipped map."""

from collections.abc import Sequence
from functools import cache

import pandas as pd

from core.ablation import uniform_ceiling
from core.ablation_scores import add_up
from core.recall_at_scale import (
    KEYS_PER_PAIR,
    PAIRS,
    WIDTHS,
    ScaleSettings,
    one_number_ceiling,
)
from core.recall_map import LONG_STEPS, ShippedRun, shipped_cell, shipped_runs
from core.tables.counts import keep_whole

ACCURACY = "Accuracy (%)"
ON_TOP = "Match on top (%)"
SHOWN = {"accuracy": ACCURACY, "match on top": ON_TOP}
"""What the map can show: the name of the choice, and its column."""


def map_cells(
    keys_per_pair: int, shows: str, chosen: tuple[int, int], n_clicks: int = 0
) -> pd.DataFrame:
    """Return a row for each cell of the shipped map.

    Args:
        keys_per_pair: different keys for each pair of a sequence.
        shows: one of `SHOWN`; ``Shown`` is the column that it names.
        chosen: pairs and d_k of the cell that is marked.
        n_clicks: clicks on the map so far. It is part of what a click selects, as a second click
            on the same cell would otherwise select nothing new and go unheard.
    """
    rows = []
    for n_pairs in PAIRS:
        for d_k in WIDTHS:
            runs = shipped_cell(n_pairs, d_k, keys_per_pair)
            shares = [100 * run.score.share for run in runs]
            row: dict[str, object] = {
                "Pairs": n_pairs,
                "d_k": d_k,
                "Keys": keys_per_pair * n_pairs,
                ACCURACY: mean(shares),
                "Lowest seed (%)": min(shares),
                "Highest seed (%)": max(shares),
                ON_TOP: 100 * mean([run.match_on_top for run in runs]),
                "Ceiling, equal weights (%)": 100 * ceiling(runs[0].settings),
                "Seeds": len(runs),
                "Fresh sequences": add_up(run.score for run in runs).total,
                "Chosen": (n_pairs, d_k) == chosen,
                "Clicks": n_clicks,
            }
            rows.append({**row, "Shown": row[SHOWN[shows]]})
    return pd.DataFrame(rows)


def map_sentence(keys_per_pair: int, chosen: tuple[int, int]) -> str:
    """Say what the chosen cell of the shipped map is."""
    n_pairs, d_k = chosen
    runs = shipped_cell(n_pairs, d_k, keys_per_pair)
    settings = runs[0].settings
    longer = shipped_cell(n_pairs, d_k, keys_per_pair, n_steps=LONG_STEPS)
    after = bound_words = ""
    if longer:
        after = f" (after {LONG_STEPS:,} steps: {_shares(longer)})"
    if d_k == 1:
        bound = one_number_ceiling(settings.n_values)
        bound_words = (
            f" With one number at most two values are ever answered, so no head passes {bound} = "
            f"{100 * float(bound):.0f} % on average."
        )
    return (
        f"Outlined: {n_pairs} pairs, {settings.n_keys} keys, d_k = {d_k}. Measured beforehand, "
        f"{settings.n_steps:,} steps with seeds 0 to {len(runs) - 1}: {_shares(runs)} % right"
        f"{after}.{bound_words}"
    )


def beside_sentence(keys_per_pair: int, chosen: tuple[int, int]) -> str:
    """Say what the accuracy of the chosen cell is to be compared with."""
    n_pairs, d_k = chosen
    runs = shipped_cell(n_pairs, d_k, keys_per_pair)
    on_top = 100 * mean([run.match_on_top for run in runs])
    settings = runs[0].settings
    return (
        f"The match has the highest weight of all pairs in {on_top:.1f} % of sequences. Equal "
        f"weights reach {100 * ceiling(settings):.1f} %, blind guessing "
        f"{100 / settings.n_values:.1f} %."
    )


def map_grid() -> pd.DataFrame:
    """Return the map as it is drawn: a row for pairs and keys, a column for each d_k."""
    cells = pd.concat([map_cells(per_pair, "accuracy", (0, 0)) for per_pair in KEYS_PER_PAIR])
    grid = cells.pivot_table(index=["Pairs", "Keys"], columns="d_k", values=ACCURACY)
    grid.columns = [f"d_k = {d_k}: accuracy (%)" for d_k in grid.columns]
    return grid.reset_index()


def run_list() -> pd.DataFrame:
    """Return every shipped run, the control and the longer runs among them."""
    return keep_whole(
        pd.DataFrame(
            {
                "Scores": "all equal" if run.settings.variant == "uniform" else "learned",
                "Pairs": run.settings.n_pairs,
                "Keys": run.settings.n_keys,
                "Values": run.settings.n_values,
                "d_k": run.settings.d_k,
                "d_model": run.settings.d_model,
                "Steps": run.settings.n_steps,
                "Learning rate (no unit)": run.settings.learning_rate,
                "Seed": run.settings.seed,
                ACCURACY: 100 * run.score.share,
                "Fresh sequences": run.score.total,
                ON_TOP: 100 * run.match_on_top,
                "Mean weight on the match (%)": 100 * run.weight_on_match,
                "99 % at step": run.solved_at,
                "CPU time (s)": run.cpu_seconds,
                "Measured": run.measured,
                "Machine": run.machine,
            }
            for run in shipped_runs()
        ),
        "99 % at step",
    )


def by_width(keys_per_pair: int, chosen_pairs: int) -> pd.DataFrame:
    """Return the cells of the map for the lines over d_k, and the two levels beside them."""
    cells = map_cells(keys_per_pair, "accuracy", (chosen_pairs, 0))
    cells["Chosen"] = cells["Pairs"] == chosen_pairs
    cells["Mark"] = "cell"
    settings = shipped_cell(chosen_pairs, WIDTHS[0], keys_per_pair)[0].settings
    levels = [("chance", 100 / settings.n_values), ("ceiling", 100 * ceiling(settings))]
    words = {"chance": "chance", "ceiling": "ceiling for equal weights"}
    return pd.concat(
        [
            cells,
            pd.DataFrame(
                {"Mark": mark, ACCURACY: level, "Words": f"{words[mark]} {level:.1f} %"}
                for mark, level in levels
            ),
        ],
        ignore_index=True,
    )


def mean(numbers: Sequence[float]) -> float:
    """Return the mean of at least one number."""
    return sum(numbers) / len(numbers)


def ceiling(settings: ScaleSettings) -> float:
    """Return the ceiling for equal weights, 0 … 1."""
    return _ceiling(settings.n_pairs, settings.n_values)


def _shares(runs: Sequence[ShippedRun]) -> str:
    return ", ".join(f"{100 * run.score.share:.1f}" for run in runs)


@cache
def _ceiling(n_pairs: int, n_values: int) -> float:
    return float(uniform_ceiling(n_pairs, n_values))
