"""Tables and sentences of recall at scale: the shipped map, and one cell of it run again."""

from collections.abc import Sequence
from math import nan

import pandas as pd

from core.ablation import uniform_ceiling
from core.ablation_scores import SOLVED, add_up
from core.circle_head import circle_head, score_scale
from core.recall_at_scale import (
    KEYS_PER_PAIR,
    N_FRESH,
    PAIRS,
    WIDTHS,
    ScaleRun,
    ScaleSettings,
    one_number_ceiling,
)
from core.recall_map import ShippedRun, answered_by, shipped_cell, shipped_runs

ACCURACY = "Accuracy (%)"
ON_TOP = "Match on top (%)"
SHOWN = {"accuracy": ACCURACY, "match on top": ON_TOP}
"""What the map can show: the name of the choice, and its column."""

SHIPPED, SERVER = "Shipped: ", "On this server: "
NUMBERS = ("accuracy (%)", "match on top (%)", "99 % at step")


def map_cells(keys_per_pair: int, shows: str, chosen: tuple[int, int]) -> pd.DataFrame:
    """Return a row for each cell of the shipped map, the chosen one (pairs, d_k) marked.

    ``Shown`` is the column that ``shows`` names.
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
                ACCURACY: _mean(shares),
                "Lowest seed (%)": min(shares),
                "Highest seed (%)": max(shares),
                ON_TOP: 100 * _mean([run.match_on_top for run in runs]),
                "Ceiling, equal weights (%)": 100 * _uniform(runs[0].settings),
                "Seeds": len(runs),
                "Fresh sequences": add_up(run.score for run in runs).total,
                "Chosen": (n_pairs, d_k) == chosen,
            }
            rows.append({**row, "Shown": row[SHOWN[shows]]})
    return pd.DataFrame(rows)


def map_sentence(keys_per_pair: int, chosen: tuple[int, int]) -> str:
    """Say what the chosen cell of the shipped map is."""
    n_pairs, d_k = chosen
    runs = shipped_cell(n_pairs, d_k, keys_per_pair)
    shares = ", ".join(f"{100 * run.score.share:.1f}" for run in runs)
    on_top = 100 * _mean([run.match_on_top for run in runs])
    settings = runs[0].settings
    return (
        f"Outlined: {n_pairs} pairs, {settings.n_keys} keys, d_k = {d_k}. Shipped accuracy with "
        f"seeds 0 to {len(runs) - 1}: {shares} %. The match has the highest weight of all pairs in "
        f"{on_top:.1f} % of sequences. Equal weights could reach "
        f"{100 * _uniform(settings):.1f} %, blind guessing {100 / settings.n_values:.1f} %."
    )


def map_grid(keys_per_pair: int) -> pd.DataFrame:
    """Return the map as it is drawn: a row for the number of pairs, a column for each d_k."""
    cells = map_cells(keys_per_pair, "accuracy", (0, 0))
    grid = cells.pivot_table(index=["Pairs", "Keys"], columns="d_k", values=ACCURACY)
    grid.columns = [f"d_k = {d_k}: accuracy (%)" for d_k in grid.columns]
    return grid.reset_index()


def run_list() -> pd.DataFrame:
    """Return every shipped run, the control among them."""
    return pd.DataFrame(
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
            "99 % at step": nan if run.solved_at is None else run.solved_at,
            "CPU time (s)": run.cpu_seconds,
            "Measured": run.measured,
            "Machine": run.machine,
        }
        for run in shipped_runs()
    )


def by_width(keys_per_pair: int, chosen_pairs: int) -> pd.DataFrame:
    """Return the cells of the map for the lines over d_k, and the two levels beside them."""
    cells = map_cells(keys_per_pair, "accuracy", (chosen_pairs, 0))
    cells["Chosen"] = cells["Pairs"] == chosen_pairs
    cells["Mark"] = "cell"
    settings = shipped_cell(chosen_pairs, WIDTHS[0], keys_per_pair)[0].settings
    levels = [("chance", 100 / settings.n_values), ("ceiling", 100 * _uniform(settings))]
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
        f"d_k = {width} is the smallest on the shipped map with which every seed answers at least "
        f"99 % of {n_pairs} pairs of {fewest * n_pairs} keys."
    )


def findings() -> tuple[str, ...]:
    """Say what the whole shipped map shows, with the control."""
    learned = [run for run in shipped_runs() if run.settings.variant == "learned"]
    cells = [
        (n_pairs, d_k, shipped_cell(n_pairs, d_k, keys_per_pair))
        for keys_per_pair in KEYS_PER_PAIR
        for n_pairs in PAIRS
        for d_k in WIDTHS
    ]
    crowded = [runs for n_pairs, d_k, runs in cells if n_pairs > d_k > 1]
    solved = [runs for runs in crowded if all(run.score.share >= SOLVED for run in runs)]
    narrow = [run for run in learned if run.settings.d_k == 1]
    bound = one_number_ceiling(narrow[0].settings.n_values)
    best = max(run.score.share for run in narrow)
    control = [run for run in shipped_runs() if run.settings.variant == "uniform"]
    off = [100 * (run.score.share - _uniform(run.settings)) for run in control]
    return (
        f"More pairs than d_k is no obstacle by itself: of {len(crowded)} cells with more pairs "
        f"than d_k, and d_k above 1, {len(solved)} are solved by every seed.",
        f"d_k = 1 fails everywhere. Two values at most can be answered with one number, so no "
        f"head passes {bound} = {100 * float(bound):.0f} % on average; the best of {len(narrow)} "
        f"runs has {100 * best:.1f} %.",
        f"The control, with all scores equal and d_k = {control[0].settings.d_k}, ends "
        f"{_signed(min(off))} to {_signed(max(off))} points from the ceiling for equal weights, in "
        f"{len(control)} runs. Width does not help it.",
    )


def cell_table(runs: Sequence[ScaleSettings], fresh: Sequence[ScaleRun]) -> pd.DataFrame:
    """Return a row for each seed: what was shipped for this cell, and what came out here.

    Args:
        runs: the settings of the runs asked for.
        fresh: those that have finished.
    """
    here = {run.settings: run for run in fresh}
    rows = []
    for settings in runs:
        shipped = shipped_like(settings)
        row: dict[str, object] = {"Seed": settings.seed}
        for who, run in ((SHIPPED, shipped), (SERVER, here.get(settings))):
            for name, number in zip(NUMBERS, _numbers(run), strict=True):
                row[who + name] = number
        rows.append(row)
    return pd.DataFrame(rows)


def cell_table_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its numbers as words; an empty place is a dash."""
    words = table.copy()
    for name in table.columns.drop("Seed"):
        form = "{:,.0f}" if "step" in name else "{:.2f}"
        words[name] = [form.format(x) if x == x else "–" for x in table[name]]
    return words


def shipped_like(settings: ScaleSettings) -> ShippedRun | None:
    """Return the shipped run of this cell and seed, whatever its other settings were."""
    cell = shipped_cell(
        settings.n_pairs, settings.d_k, settings.n_keys // settings.n_pairs, settings.variant
    )
    return next((run for run in cell if run.settings.seed == settings.seed), None)


def shipped_sentence(settings: ScaleSettings) -> str:
    """Say where the shipped numbers of a cell come from, and with which settings."""
    run = shipped_cell(settings.n_pairs, settings.d_k, settings.n_keys // settings.n_pairs)[0]
    then = run.settings
    return (
        f"Shipped: measured on {run.measured}, {run.machine} {then.n_steps:,} steps, learning rate "
        f"{then.learning_rate:g}, d_model = {then.d_model}, {then.n_values} values, {N_FRESH:,} "
        "fresh sequences a run."
    )


def again_sentence(fresh: Sequence[ScaleRun]) -> str:
    """Say whether the runs on this server gave the shipped numbers."""
    if not fresh:
        return "This cell has not been run on this server in your visit."
    pairs = [(run, shipped_like(run.settings)) for run in fresh]
    same = [(a, b) for a, b in pairs if b is not None and a.settings == b.settings]
    if not same:
        return "These settings are not the shipped ones, so the numbers may well differ."
    off = [100 * abs(a.score.share - b.score.share) for a, b in same]
    equal = sum(1 for difference in off if difference == 0)
    sentence = f"{equal} of {len(same)} runs with the shipped settings gave the shipped accuracy"
    if equal == len(same):
        return f"{sentence} exactly."
    return (
        f"{sentence} exactly; the largest difference is {max(off):.2f} points. Another processor "
        "adds in another order, and training makes such differences larger."
    )


def curve(fresh: Sequence[ScaleRun], settings: ScaleSettings) -> pd.DataFrame:
    """Return the accuracy at each checkpoint of the finished runs, with chance and the ceiling."""
    rows: list[dict[str, object]] = [
        {"Mark": "run", "Seed": run.settings.seed, "Step": step, ACCURACY: 100 * accuracy}
        for run in fresh
        for step, accuracy in run.curve
    ]
    rows.append({"Mark": "chance", ACCURACY: 100 / settings.n_values, "Words": "chance"})
    ceiling = 100 * _uniform(settings)
    rows.append({"Mark": "ceiling", ACCURACY: ceiling, "Words": "ceiling for equal weights"})
    return pd.DataFrame(rows, columns=["Mark", "Seed", "Step", ACCURACY, "Words"])


def curve_sentence(fresh: Sequence[ScaleRun], settings: ScaleSettings) -> str:
    """Say how the runs on this server ended."""
    if not fresh:
        return "No run of this cell yet. Click a cell of the map, or press the button."
    shares = ", ".join(f"{100 * run.score.share:.1f}" for run in fresh)
    stopped = " ".join(run.diverged for run in fresh if run.diverged)
    return (
        f"{settings.n_pairs} pairs, {settings.n_keys} keys, d_k = {settings.d_k}: {shares} % after "
        f"{settings.n_steps:,} steps, on {N_FRESH:,} fresh sequences a run. {stopped}".strip()
    )


def written_down(n_values: int, keys_per_pair: int) -> pd.DataFrame:
    """Return what the written-down head with d_k = 2 scores beside the trained ones."""
    rows = []
    for n_pairs in PAIRS:
        n_keys = keys_per_pair * n_pairs
        trained = shipped_cell(n_pairs, 2, keys_per_pair)
        settings = trained[0].settings
        score = answered_by(circle_head(n_keys, n_values), settings)
        rows.append(
            {
                "Pairs": n_pairs,
                "Keys": n_keys,
                "Written down, d_k = 2: accuracy (%)": 100 * score.share,
                "Fresh sequences": score.total,
                "Trained, d_k = 2: accuracy (%)": 100 * _mean([r.score.share for r in trained]),
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
        f"Written down, the head answers at least {written.min():.1f} % in every row. Trained from "
        f"a random start it falls from {trained.iloc[0]:.1f} % to {trained.iloc[-1]:.1f} %. So at "
        "d_k = 2 it is not room that runs out: the training does not find the circle."
    )


def _numbers(run: ScaleRun | ShippedRun | None) -> tuple[float, float, float]:
    if run is None:
        return nan, nan, nan
    step = nan if run.solved_at is None else run.solved_at
    return 100 * run.score.share, 100 * run.match_on_top, step


def _uniform(settings: ScaleSettings) -> float:
    return float(uniform_ceiling(settings.n_pairs, settings.n_values))


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _signed(points: float) -> str:
    return f"{points:+.1f}".replace("-", "−")
