"""The shipped map of recall at scale: every run, as `benchmarks.recall_at_scale` measured it.

``core/data/recall_at_scale.csv`` has a row for each run: its settings, its scores, and the day and
machine it was measured on. The same settings give the same numbers on the same machine. Another
processor or another build of NumPy adds in another order, and training makes such differences
larger; `TOLERANCE` says how far a solved cell may then move.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.ablation_scores import Score, fresh_sequences
from core.evaluation import evaluate_on
from core.recall import Parameters
from core.recall_at_scale import N_FRESH, ScaleRun, ScaleSettings

FILE = Path(__file__).parent / "data" / "recall_at_scale.csv"

N_SEEDS = 3
N_STEPS = 3000  # of the map's runs
LONG_STEPS, LONG_PAIRS, LONG_WIDTHS = 10_000, (16, 32, 64), (2, 3, 4, 6)
"""Where the map was measured a second time, to tell a narrow query from a short training."""
TOLERANCE = 0.02  # of accuracy, for a cell whose seeds are all solved, on another machine

COLUMNS = (
    "variant",
    "n_pairs",
    "n_keys",
    "n_values",
    "d_model",
    "d_k",
    "batch_size",
    "learning_rate",
    "optimiser",
    "init_scale",
    "n_steps",
    "seed",
    "right",
    "sequences",
    "accuracy",
    "match_on_top",
    "weight_on_match",
    "solved_at_step",
    "diverged",
    "cpu_seconds",
    "measured",
    "machine",
)
_WHOLE = ("n_pairs", "n_keys", "n_values", "d_model", "d_k", "batch_size", "n_steps", "seed")
_BROKEN = ("learning_rate", "init_scale")
_WORDS = ("variant", "optimiser")


@dataclass(frozen=True, kw_only=True)
class ShippedRun:
    """One row of the file."""

    settings: ScaleSettings
    score: Score
    match_on_top: float  # share of sequences where the match has the highest weight of all pairs
    weight_on_match: float  # mean
    solved_at: int | None  # step of the first checkpoint at 99 %
    cpu_seconds: float
    measured: str  # day
    machine: str


def row_of(run: ScaleRun, cpu_seconds: float, where: str) -> dict[str, str | int | float]:
    """Return the row that keeps a run.

    Args:
        run: the run.
        cpu_seconds: how long it took.
        where: the day, a full stop, and the machine.
    """
    day, machine = where.split(". ", 1)
    settings = {name: getattr(run.settings, name) for name in (*_WORDS, *_WHOLE, *_BROKEN)}
    return {
        **settings,
        "right": run.score.right,
        "sequences": run.score.total,
        "accuracy": run.score.share,
        "match_on_top": round(run.match_on_top, 6),
        "weight_on_match": round(run.weight_on_match, 6),
        "solved_at_step": "" if run.solved_at is None else run.solved_at,
        "diverged": run.diverged or "",
        "cpu_seconds": round(cpu_seconds, 2),
        "measured": day,
        "machine": machine,
    }


def settings_of(row: Mapping[str, str]) -> ScaleSettings:
    """Return the settings of a row."""
    return ScaleSettings(
        **{name: int(row[name]) for name in _WHOLE},  # type: ignore[arg-type]
        **{name: float(row[name]) for name in _BROKEN},  # type: ignore[arg-type]
        **{name: row[name] for name in _WORDS},  # type: ignore[arg-type]
    )


@cache
def shipped_runs(path: Path = FILE) -> tuple[ShippedRun, ...]:
    """Read every run of the map and its control, in the order of the file."""
    with path.open(newline="") as file:
        return tuple(
            ShippedRun(
                settings=settings_of(row),
                score=Score(right=int(row["right"]), total=int(row["sequences"])),
                match_on_top=float(row["match_on_top"]),
                weight_on_match=float(row["weight_on_match"]),
                solved_at=int(row["solved_at_step"]) if row["solved_at_step"] else None,
                cpu_seconds=float(row["cpu_seconds"]),
                measured=row["measured"],
                machine=row["machine"],
            )
            for row in csv.DictReader(file)
        )


def shipped_cell(
    n_pairs: int,
    d_k: int,
    keys_per_pair: int,
    variant: str = "learned",
    n_steps: int = N_STEPS,
) -> tuple[ShippedRun, ...]:
    """Return the shipped runs of one cell, by seed."""
    return _by_cell().get((n_pairs, d_k, keys_per_pair, variant, n_steps), ())


def answered_by(head: Parameters, settings: ScaleSettings) -> Score:
    """Score a head on the fresh sequences that a run with these settings is scored on."""
    sequences = fresh_sequences(settings, N_FRESH)
    predicted = evaluate_on(sequences, head, settings).predicted
    return Score(right=int((predicted == sequences.answers).sum()), total=N_FRESH)


@cache
def _by_cell() -> dict[tuple[int, int, int, str, int], tuple[ShippedRun, ...]]:
    cells: dict[tuple[int, int, int, str, int], tuple[ShippedRun, ...]] = {}
    for run in shipped_runs():
        task = run.settings
        cell = (task.n_pairs, task.d_k, task.n_keys // task.n_pairs, task.variant, task.n_steps)
        cells[cell] = (*cells.get(cell, ()), run)
    return cells
