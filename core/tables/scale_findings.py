"""What the shipped map of recall at scale shows: how small d_k may be, and what sets the edge."""

from functools import cache
from itertools import product
from math import nan

import pandas as pd

from core.ablation_scores import SOLVED
from core.circle_head import circle_head, score_scale
from core.recall_at_scale import KEYS_PER_PAIR, PAIRS, WIDTHS, one_number_ceiling
from core.recall_map import (
    LONG_PAIRS,
    LONG_STEPS,
    LONG_WIDTHS,
    N_STEPS,
    TOLERANCE,
    answered_by,
    shipped_cell,
    shipped_runs,
)
from core.tables.counts import count_runs
from core.tables.numbers import signed
from core.tables.scale import ceiling, mean

AT_MAP = f"After {N_STEPS:,} steps: accuracy (%)"
AT_LONG = f"After {LONG_STEPS:,} steps: accuracy (%)"


def smallest_widths() -> pd.DataFrame:
    """Return the smallest d_k on the map from which on every seed reaches 99 %."""
    rows = []
    for keys_per_pair in KEYS_PER_PAIR:
        for n_pairs in PAIRS:
            width = smallest_width(n_pairs, keys_per_pair)
            rows.append(
                {
                    "Pairs": n_pairs,
                    "Keys": keys_per_pair * n_pairs,
                    "Smallest d_k that every seed solves": nan if width is None else width,
                    "Pairs ÷ d_k": nan if width is None else n_pairs / width,
                    "Keys ÷ d_k": nan if width is None else keys_per_pair * n_pairs / width,
                    "Seeds": len(shipped_cell(n_pairs, WIDTHS[0], keys_per_pair)),
                }
            )
    return pd.DataFrame(rows)


def smallest_width(n_pairs: int, keys_per_pair: int) -> int | None:
    """Return the smallest d_k on the map from which on every seed reaches 99 %, or None."""
    smallest = None
    for d_k in reversed(WIDTHS):
        if not all(run.score.share >= SOLVED for run in shipped_cell(n_pairs, d_k, keys_per_pair)):
            break
        smallest = d_k
    return smallest


def smallest_widths_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its numbers as words."""
    words = table.copy()
    for name, form in (
        ("Smallest d_k that every seed solves", "{:.0f}"),
        ("Pairs ÷ d_k", "{:.1f}"),
        ("Keys ÷ d_k", "{:.1f}"),
    ):
        words[name] = [form.format(x) if x == x else "none" for x in table[name]]
    return words


def result_sentence() -> str:
    """Say how small d_k may be for the most pairs of the map, for the visitor's prediction."""
    n_pairs, fewest = PAIRS[-1], KEYS_PER_PAIR[0]
    width = smallest_width(n_pairs, fewest)
    if width is None:
        return f"No d_k of the map solved {n_pairs} pairs of {fewest * n_pairs} keys."
    return (
        f"Trained: d_k = {width} is the smallest on the map with which every seed answers at least "
        f"99 % of {n_pairs} pairs of {fewest * n_pairs} keys. {_by_hand(n_pairs, fewest)}"
    )


@cache
def _by_hand(n_pairs: int, keys_per_pair: int) -> str:
    settings = shipped_cell(n_pairs, WIDTHS[0], keys_per_pair)[0].settings
    head = circle_head(settings.n_keys, settings.n_values)
    share = 100 * answered_by(head, settings).share
    return (
        f"Written down by hand instead, a head with d_k = {head.shape.d_k} answers {share:.1f} %: "
        "see further down."
    )


def findings() -> tuple[str, ...]:
    """Say what the whole shipped map shows, with the control."""
    cells = [
        (n_pairs, d_k, shipped_cell(n_pairs, d_k, keys_per_pair))
        for keys_per_pair in KEYS_PER_PAIR
        for n_pairs in PAIRS
        for d_k in WIDTHS
    ]
    crowded = [runs for n_pairs, d_k, runs in cells if n_pairs > d_k > 1]
    solved = [runs for runs in crowded if all(run.score.share >= SOLVED for run in runs)]
    narrow = [run for _, d_k, runs in cells if d_k == 1 for run in runs]
    bound = one_number_ceiling(narrow[0].settings.n_values)
    best = max(run.score.share for run in narrow)
    control = [run for run in shipped_runs() if run.settings.variant == "uniform"]
    off = [100 * (run.score.share - ceiling(run.settings)) for run in control]
    few, many = (smallest_width(n_pairs, KEYS_PER_PAIR[0]) for n_pairs in (PAIRS[0], PAIRS[-1]))
    return (
        f"From {PAIRS[0]} to {PAIRS[-1]} pairs, with {KEYS_PER_PAIR[0]} keys for each, the "
        f"smallest d_k grows from {few} to {many}.",
        f"More pairs than d_k is no obstacle by itself: of {len(crowded)} cells with more pairs "
        f"than d_k, and d_k above 1, {len(solved)} are solved by every seed.",
        f"d_k = 1 fails everywhere. Two values at most can be answered with one number, so no "
        f"head passes {bound} = {100 * float(bound):.0f} % on average; the best of {len(narrow)} "
        f"runs has {100 * best:.1f} %.",
        f"The control, with all scores equal and d_k = {control[0].settings.d_k}, ends "
        f"{signed(min(off), 1)} to {signed(max(off), 1)} points from the ceiling for equal "
        f"weights, in {count_runs(len(control))}. Width does not help it.",
    )


def longer_runs() -> pd.DataFrame:
    """Return the cells that were trained a second time, longer, beside the map's accuracy."""
    rows = []
    for keys_per_pair in KEYS_PER_PAIR:
        for n_pairs in LONG_PAIRS:
            for d_k in LONG_WIDTHS:
                cell = n_pairs, d_k, keys_per_pair
                map_s = shipped_cell(*cell)
                longer = shipped_cell(*cell, n_steps=LONG_STEPS)
                rows.append(
                    {
                        "Pairs": n_pairs,
                        "Keys": keys_per_pair * n_pairs,
                        "d_k": d_k,
                        AT_MAP: 100 * mean([run.score.share for run in map_s]),
                        AT_LONG: 100 * mean([run.score.share for run in longer]),
                        "Seeds": len(longer),
                    }
                )
    return pd.DataFrame(rows)


def longer_grid(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a column for each d_k: accuracy after few steps → after many."""
    words = table.assign(
        Words=[
            f"{few:.1f} → {many:.1f}"
            for few, many in zip(table[AT_MAP], table[AT_LONG], strict=True)
        ]
    )
    grid = words.pivot_table(
        index=["Keys", "Pairs"], columns="d_k", values="Words", aggfunc="first"
    )
    grid.columns = [f"d_k = {d_k}: accuracy (%)" for d_k in grid.columns]
    grid = grid.reset_index().sort_values(["Pairs", "Keys"])
    return grid[["Pairs", "Keys", *grid.columns[2:]]]


def longer_sentence(table: pd.DataFrame) -> str:
    """Say how many of the cells that failed on the map are solved by longer training."""
    failed = table[table[AT_MAP] < 100 * SOLVED]
    better = int((failed[AT_LONG] > failed[AT_MAP]).sum())
    solved = int((failed[AT_LONG] >= 100 * SOLVED).sum())
    return (
        f"Of {len(failed)} cells with a mean below 99 % after {N_STEPS:,} steps, {better} are "
        f"better after {LONG_STEPS:,}, and {solved} reach 99 %. So d_k alone does not draw the "
        "edge of the map; the length of the training does, too. Where it would end with yet more "
        "steps, this does not show."
    )


def written_down(n_values: int) -> pd.DataFrame:
    """Return what the written-down head with d_k = 2 scores beside the trained ones."""
    rows = []
    for n_pairs, keys_per_pair in product(PAIRS, KEYS_PER_PAIR):
        n_keys = keys_per_pair * n_pairs
        trained = shipped_cell(n_pairs, 2, keys_per_pair)
        score = answered_by(circle_head(n_keys, n_values), trained[0].settings)
        rows.append(
            {
                "Pairs": n_pairs,
                "Keys": n_keys,
                "Written down, d_k = 2: accuracy (%)": 100 * score.share,
                "Fresh sequences": score.total,
                "Trained, d_k = 2: accuracy (%)": 100 * mean([r.score.share for r in trained]),
                "Seeds": len(trained),
                "Score it needs (no unit)": score_scale(n_keys),
            }
        )
    return pd.DataFrame(rows)


def written_down_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its numbers as words."""
    words = table.copy()
    for name in table.columns:
        form = "{:.1f}" if "(%)" in name else "{:,.0f}"
        words[name] = [form.format(x) for x in table[name]]
    return words


def written_down_sentence(table: pd.DataFrame) -> str:
    """Say what two numbers can do, and what training made of them."""
    written, trained = table.iloc[:, 2], table.iloc[:, 4]
    return (
        f"Written down by hand, the head answers at least {written.min():.1f} % in every row. "
        "Trained from a random start, with as many numbers, it falls from "
        f"{trained.iloc[0]:.1f} % to {trained.iloc[-1]:.1f} %. So at "
        "d_k = 2 it is not room that runs out: this training does not find such a circle."
    )


def machine_sentence() -> str:
    """Say how far another machine may move the shipped numbers."""
    return (
        "The same settings give the same numbers on the same machine. On another, a solved cell "
        f"may move by up to {100 * TOLERANCE:g} points, and a cell on the edge by more."
    )
