"""Train the recall model with parts of it taken away, over many seeds.

One run is one variant with one seed. All variants of a seed start from the same numbers, see the
same training batches, and are scored on the same fresh sequences, so that what differs between
them is the variant alone.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from itertools import product

from core.ablation_scores import AblationRun, score_run
from core.limits import check_whole
from core.series import SeriesStep, finished, series_steps, share_done
from core.training import VARIANTS, TrainSettings, train_pieces

__all__ = [
    "MAP_PAIRS",
    "MAP_VALUES",
    "MAX_SEEDS",
    "AblationSettings",
    "AblationStep",
    "ablation_steps",
    "alike",
    "cell_run",
    "finished",
    "map_runs",
    "run_steps",
    "share_done",
]

MAX_SEEDS = 20

MAP_PAIRS = (1, 2, 3, 5, 8, 12, 16)
MAP_VALUES = (2, 4, 8, 16, 32)


@dataclass(frozen=True, kw_only=True)
class AblationSettings:
    """Which variants to train, on what, and how often."""

    train: TrainSettings  # shared by all runs; its seed is the first one, its variant not used
    variants: tuple[str, ...] = VARIANTS  # in this order, at least one
    n_seeds: int = 5  # runs of each variant, 1 … 20

    def __post_init__(self) -> None:
        check_whole(self, {"n_seeds": (1, MAX_SEEDS)})
        if not self.variants:
            raise ValueError("at least one of the variants must be on, got none")
        for variant in self.variants:
            if variant not in VARIANTS:
                raise ValueError(f"variants must be among {', '.join(VARIANTS)}, got {variant}")
        if len(set(self.variants)) < len(self.variants):
            raise ValueError(f"variants must differ, got {', '.join(self.variants)}")

    @property
    def runs(self) -> tuple[TrainSettings, ...]:
        """The settings of every run: all variants of one seed, then those of the next."""
        return tuple(
            replace(self.train, variant=variant, seed=self.train.seed + i)
            for i in range(self.n_seeds)
            for variant in self.variants
        )


AblationStep = SeriesStep[TrainSettings, AblationRun]
"""One report of a series: a checkpoint passed, or a run finished."""


def ablation_steps(settings: AblationSettings) -> Generator[AblationStep | None, None, None]:
    """Train and score every run of the settings, seed by seed; see `run_steps`."""
    yield from run_steps(settings.runs)


def run_steps(runs: Iterable[TrainSettings]) -> Generator[AblationStep | None, None, None]:
    """Train and score these runs one after another; see `core.series.series_steps`."""
    yield from series_steps(runs, train_pieces, score_run)


def alike(one: TrainSettings, other: TrainSettings) -> bool:
    """Say whether two runs may lie on one map: the same but for task, seed and variant."""
    same_task = replace(
        one,
        n_pairs=other.n_pairs,
        n_keys=other.n_keys,
        n_values=other.n_values,
        seed=other.seed,
        variant=other.variant,
    )
    return same_task == other


def cell_run(settings: TrainSettings) -> TrainSettings:
    """Return the uniform run that measures these settings' cell of the map of the ceiling."""
    return replace(settings, variant="uniform")


def map_runs(settings: TrainSettings) -> tuple[TrainSettings, ...]:
    """Return a uniform run for each of 35 cells spread over the map of the ceiling.

    The runs differ from ``settings`` in pairs and values, and in keys where they need more. Each
    has its own seed: one seed draws alike for like tasks, and all cells would err the same way.
    """
    cells = product(MAP_PAIRS, MAP_VALUES)
    return tuple(
        cell_run(
            replace(
                settings,
                n_pairs=n_pairs,
                n_keys=max(settings.n_keys, n_pairs),
                n_values=n_values,
                seed=settings.seed + i,
            )
        )
        for i, (n_pairs, n_values) in enumerate(cells)
    )
