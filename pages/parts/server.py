"""What one server process holds once for all its visitors."""

import gc
import os
import socket
import stat
from contextlib import suppress
from functools import wraps
from inspect import signature
from typing import Any

import streamlit as st
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from core.recall_run import Part, part_bytes
from core.turns import TurnService
from pages.parts.moving import give_way

MANY_FILES = 8192  # open files; 4 a visit, and 3 for two minutes after it has ended


@st.cache_resource(show_spinner=False)
def settle() -> None:
    """Set the process up for a class, once everything heavy is imported.

    A full garbage collection walks every object of pandas and Altair, about 45 ms in which no
    other visitor is served. Frozen objects are skipped, so that the automatic collections that
    still happen stay short.
    """
    _allow_more_files()
    _send_at_once()
    _send_all_of_a_page()
    gc.collect()
    gc.freeze()
    # A full collection waits until a quarter as many objects are new as the last one left alive.
    # This one leaves next to none, so that what departed visits held is soon found.
    gc.collect()


def _send_at_once() -> None:
    """Send each message when it is written, on the sockets there are and those they will accept.

    By default a small message waits until the browser has acknowledged the one before, up to 40
    ms. asyncio turns that off for sockets it knows as TCP; those Streamlit opens it does not,
    for they carry no protocol number. Windows, where sockets are no files, is left as it is.
    """
    # Not by way of gc.get_objects(): a tuple that another thread is just making would be among
    # them, held twice, and Python fails to finish it ("bad argument to internal function").
    with suppress(OSError):
        for name in os.listdir("/dev/fd"):
            with suppress(OSError):  # closed since, no socket, or not TCP
                _send_at_once_on(int(name))


def _send_at_once_on(file: int) -> None:
    if not stat.S_ISSOCK(os.fstat(file).st_mode):
        return
    with socket.socket(fileno=os.dup(file)) as found:  # the copy is closed, not the socket
        if found.family in (socket.AF_INET, socket.AF_INET6):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _send_all_of_a_page() -> None:
    """Let a fragment that is drawn anew take back nothing that waits to be sent of its page.

    Streamlit, when a fragment's run begins, drops what waits to be sent of that fragment, though
    it may be part of a run of the whole page that has ended. The browser then takes those elements
    for gone, those below move up, and what is sent next lands in the wrong place: on an element
    where a container should be, and the page goes white.
    """
    clear = ForwardMsgQueue.clear
    if "fragment_ids_this_run" not in signature(clear).parameters or hasattr(clear, "__wrapped__"):
        return

    @wraps(clear)
    def clear_nothing_of_a_page(
        queue: ForwardMsgQueue,
        retain_lifecycle_msgs: bool = False,  # noqa: FBT001, FBT002 - as it is called
        fragment_ids_this_run: list[str] | None = None,
    ) -> None:
        # With an empty list it drops nothing; None means a run of the whole page.
        ids: list[str] | None = None if fragment_ids_this_run is None else []
        clear(queue, retain_lifecycle_msgs=retain_lifecycle_msgs, fragment_ids_this_run=ids)

    ForwardMsgQueue.clear = clear_nothing_of_a_page  # type: ignore[assignment, method-assign]


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
    return TurnService(size_of=_item_bytes, give_way=give_way)


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
