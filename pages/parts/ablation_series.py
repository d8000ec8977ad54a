"""The ablation page's series of runs, and the measured cells of its map."""

from collections.abc import Iterable

import streamlit as st

from core.ablation_runs import alike, run_steps
from core.ablation_scores import AblationRun
from core.training import TrainSettings
from pages.parts import series as any_series
from pages.parts.series import POLL_SECONDS, REDRAW_SECONDS, Series

__all__ = [
    "POLL_SECONDS",
    "REDRAW_SECONDS",
    "AblationSeries",
    "follow",
    "followed",
    "remember",
    "remembered",
    "start",
]

KEPT_RUNS = 2000  # measured runs remembered for the map, for one visit
_MEASURED = "ablation_measured"  # the key of those runs in the session's state

AblationSeries = Series[TrainSettings, AblationRun]


def follow(name: str, settings: tuple[TrainSettings, ...]) -> AblationSeries:
    """Return the series of these runs under this name; a series of other runs is abandoned."""
    return any_series.follow(name, settings, run_steps)


def start(name: str, settings: tuple[TrainSettings, ...]) -> None:
    """Start the series of these runs under this name, or run it again."""
    any_series.start(name, settings, run_steps)


def followed(name: str, settings: TrainSettings) -> AblationSeries | None:
    """Return the series under this name if one was started; stop it if it no longer fits."""
    return any_series.followed(
        name, lambda series: all(alike(run, settings) for run in series.settings)
    )


def remember(runs: Iterable[AblationRun]) -> None:
    """Keep these runs for the map, for as long as the visit lasts."""
    measured: dict[TrainSettings, AblationRun] = st.session_state.setdefault(_MEASURED, {})
    measured.update({run.settings: run for run in runs if run.settings.variant == "uniform"})
    for oldest in list(measured)[:-KEPT_RUNS]:
        del measured[oldest]


def remembered(settings: TrainSettings) -> list[AblationRun]:
    """Return the runs kept for the map that were trained as these settings say."""
    measured: dict[TrainSettings, AblationRun] = st.session_state.get(_MEASURED, {})
    return [run for run in measured.values() if alike(run.settings, settings)]
