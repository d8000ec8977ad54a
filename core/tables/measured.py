"""Sentences about a measurement made on this server: how far it is, when it began, and for whom."""

from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def queue_sentence(place: int) -> str:
    """Say where in the queue this visitor's measurement stands."""
    return f"Another visitor is measuring now. Yours is number {place} in the queue."


def when_sentence(started: float, n_repeats: int, timezone: str | None, *, whole: bool) -> str:
    """Say when a measurement that has ended began.

    Args:
        started: seconds since 1970.
        n_repeats: timed runs of each kind.
        timezone: the visitor's, such as "Europe/Paris"; UTC when None or unknown.
        whole: whether it was left to its end.
    """
    zone: tzinfo = UTC
    name = " UTC"
    if timezone is not None:
        with suppress(ZoneInfoNotFoundError, ValueError):
            zone, name = ZoneInfo(timezone), ""
    moment = f"{datetime.fromtimestamp(started, zone):%Y-%m-%d, %H:%M:%S}{name}"
    if not whole:
        return f"Stopped early. Measured on this server, {moment}."
    repeats = "1 repeat" if n_repeats == 1 else f"{n_repeats} repeats"
    return f"Measured on this server, {moment}, {repeats}."


def whose_sentence(started: float, asked: float) -> str:
    """Say whether the measurement began when the visitor asked; both in seconds since 1970."""
    if started >= asked:
        return "These are your own runs."
    return (
        "These runs began before you asked: another visitor, or an earlier visit of yours, began "
        "them. Measure again for your own."
    )
