"""What one server process holds once for all its visitors."""

import gc
from contextlib import suppress
from typing import Any

import streamlit as st

from core.recall_run import Part, part_bytes
from core.turns import TurnService

MANY_FILES = 8192  # open files; 4 a visit, and 3 for two minutes after it has ended


@st.cache_resource(show_spinner=False)
def settle() -> None:
    """Freeze the heap once everything heavy is imported.

    A full garbage collection walks every object of pandas and Altair, about 45 ms in which no
    other visitor is served. Frozen objects are skipped, so that the automatic collections that
    still happen stay short.
    """
    _allow_more_files()
    gc.collect()
    gc.freeze()


def _allow_more_files() -> None:
    """Let the process open as many files as a class needs: each visit holds four."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(MANY_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # a system with a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@st.cache_resource(show_spinner=False)
def training_service() -> TurnService[Any]:
    """Return the one thread that trains for all visitors, each of their runs in turn."""
    return TurnService(size_of=_item_bytes)


@st.cache_resource(show_spinner=False)
def measuring_service() -> TurnService[Any]:
    """Return the one thread that times things, one measurement at a time.

    A class that opens the page together shares one measurement, and who comes later sees it with
    the time at which it was made, until somebody measures again. Each snapshot of a measurement
    holds all that came before, so that only the last is kept.
    """
    return TurnService(max_live=1, only_last=True, size_of=_item_bytes)


def _item_bytes(item: Any) -> int:  # noqa: ANN401 - items of all pages that train or measure
    if isinstance(item, Part):
        return part_bytes(item)
    # A report of a series is a handful of numbers, with a scored run or a checkpoint. What holds
    # more says so: that run, the checkpoint's arrays, or the snapshot of a measurement itself.
    size: int = getattr(getattr(item, "run", None), "nbytes", getattr(item, "nbytes", 1000))
    checkpoint = getattr(item, "checkpoint", None)
    if checkpoint is not None:
        size += sum(getattr(value, "nbytes", 0) for value in vars(checkpoint).values())
    return size
