"""Tables and sentences of one cell of recall at scale: shipped, and run again on this server."""

from collections.abc import Iterable, Sequence
from math import nan

import pandas as pd

from core.recall_at_scale import N_FRESH, ScaleRun, ScaleSettings
from core.recall_map import ShippedRun, shipped_cell
from core.tables.counts import count_runs
from core.tables.scale import ACCURACY, ceiling
from core.tables.text import text_table

SHIPPED, SERVER = "Beforehand: ", "On this server: "
NUMBERS = ("accuracy (%)", "match on top (%)", "99 % at step")


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
    words: dict[str, Iterable[object]] = {"Seed": table["Seed"]}
    for name in table.columns.drop("Seed"):
        form = "{:,.0f}" if "step" in name else "{:.2f}"
        words[name] = [form.format(x) if x == x else "–" for x in table[name]]
    return text_table(words)


def shipped_like(settings: ScaleSettings) -> ShippedRun | None:
    """Return the shipped run of this cell and seed, whatever its other settings were."""
    return next((run for run in shipped_for(settings) if run.settings.seed == settings.seed), None)


def shipped_for(settings: ScaleSettings) -> tuple[ShippedRun, ...]:
    """Return the shipped runs of this cell: those of as many steps if there are any."""
    cell = settings.n_pairs, settings.d_k, settings.n_keys // settings.n_pairs, settings.variant
    return shipped_cell(*cell, n_steps=settings.n_steps) or shipped_cell(*cell)


def shipped_sentence(settings: ScaleSettings) -> str:
    """Say where the shipped numbers of a cell come from, and with which settings."""
    run = shipped_for(settings)[0]
    then = run.settings
    return (
        f"Beforehand: the measured series that comes with the app, of {run.measured}, "
        f"{run.machine} {then.n_steps:,} steps, learning rate {then.learning_rate:g}, d_model = "
        f"{then.d_model}, {then.n_values} values, {N_FRESH:,} fresh sequences a run."
    )


def again_sentence(fresh: Sequence[ScaleRun]) -> str:
    """Say whether the runs on this server gave the shipped numbers."""
    if not fresh:
        return "This cell has not been run on this server in your visit."
    pairs = [(run, shipped_like(run.settings)) for run in fresh]
    same = [(a, b) for a, b in pairs if b is not None and a.settings == b.settings]
    if not same:
        return "The series was not measured with these settings, so the numbers may well differ."
    off = [100 * abs(a.score.share - b.score.share) for a, b in same]
    equal = sum(1 for difference in off if difference == 0)
    runs = count_runs(len(same))
    sentence = f"{equal} of {runs} with the settings of the series gave its accuracy"
    if equal == len(same):
        return f"{sentence} exactly."
    return (
        f"{sentence} exactly; the largest difference is {max(off):.2f} points. Another processor "
        "adds in another order, and training makes such differences larger."
    )


def curve(fresh: Sequence[ScaleRun], settings: ScaleSettings) -> pd.DataFrame:
    """Return the accuracy at each checkpoint of the finished runs, with chance and the ceiling.

    Two rows more are the ends of the axis, which has its length before there is a run.
    """
    rows: list[dict[str, object]] = [
        {"Mark": "run", "Seed": run.settings.seed, "Step": step, ACCURACY: 100 * accuracy}
        for run in fresh
        for step, accuracy in run.curve
    ]
    rows += [{"Mark": "end of axis", "Step": step} for step in (0, settings.n_steps)]
    for mark, level, words in (
        ("chance", 1 / settings.n_values, "chance"),
        ("ceiling", ceiling(settings), "ceiling for equal weights"),
    ):
        rows.append({"Mark": mark, ACCURACY: 100 * level, "Words": words})
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


def _numbers(run: ScaleRun | ShippedRun | None) -> tuple[float, float, float]:
    if run is None:
        return nan, nan, nan
    step = nan if run.solved_at is None else run.solved_at
    return 100 * run.score.share, 100 * run.match_on_top, step
