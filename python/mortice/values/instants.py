"""Converts instants, given as strings, numbers, datetimes or commits, to the digits of the timeline.

Instants have 17 digits, `yyyyMMddHHmmssSSS`, in the zone that `hoodie.table.timeline.timezone` names: `UTC`, or
`LOCAL`, the zone of the machine that wrote the table, which is assumed to be that of this machine (as in Hudi). The
native module parses strings: it knows the forms that Hudi accepts (such as `2024-01-01 10:00:00` and `1704103200`).
"""

from __future__ import annotations

import datetime as dt
import operator
from typing import SupportsIndex

from mortice import _mortice
from mortice._mortice import Commit, Instant
from mortice.errors import InvalidArgumentError

InstantLike = str | int | dt.datetime | dt.date | Instant | Commit | None

TIMELINE_ZONE = "hoodie.table.timeline.timezone"

_WORDS = {"begin": ("earliest",), "start": ("earliest", "latest")}
"""Positions that arguments may have by a name."""

_FEWEST_DIGITS = 10
"""An integer with fewer digits is no instant, and no time since 1970 of a table of Hudi."""

_BY_COMPLETION = 8
"""The first table version whose ranges of commits are of completion times."""


def instant_text(
    value: InstantLike, timeline_zone: str = "LOCAL", *, argument: str = "as_of", table_version: int = _BY_COMPLETION
) -> str | None:
    """Returns the digits of an instant, or the name of a position that was given.

    Args:
        value: The instant: a string, an integer (the digits of an instant, or seconds or milliseconds since 1970), a
            datetime, a date, one of a timeline, or a commit. Times with a zone (`2024-01-01T10:00:00+02:00`) and times
            since 1970 are converted to the zone of the timeline.
        timeline_zone: The zone of the timeline: `UTC`, or that of this machine.
        argument: The name of the argument, for errors.
        table_version: The version of the table. Bounds of ranges are completion times from version 8 on.

    >>> import datetime as dt
    >>> instant_text(dt.datetime(2024, 1, 2, 3, 4, 5, 678901))
    '20240102030405678'
    >>> instant_text(dt.datetime(2024, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=2))), "UTC")
    '20240102010000000'
    >>> instant_text(dt.date(2024, 1, 2))
    '20240102000000000'
    >>> instant_text("2024-01-02 03:04:05"), instant_text(1735689600, "UTC")
    ('20240102030405999', '20250101000000000')
    """
    if value is None:
        return None
    if isinstance(value, (Instant, Commit)):
        is_bound = argument != "as_of" and table_version >= _BY_COMPLETION
        return (value.completion_time if is_bound else None) or _requested(value, argument)
    text = _written(value, argument)
    if text.lower() in _WORDS.get(argument, ()):
        return text
    return _mortice.query_instant(argument, text, timeline_zone.upper() == "UTC")


def position_before(instant: str, timeline_zone: str = "LOCAL") -> str:
    """Returns the position right before an instant.

    >>> position_before("20240101120000000"), position_before("2024-01-01 12:00:00"), position_before("2024-01-01")
    ('20240101115959999', '20240101115959999', '20231231235959999')
    >>> position_before("000")
    'earliest'
    """
    return _mortice.position_before("start", instant.strip(), timeline_zone.upper() == "UTC") or "earliest"


def _requested(value: Instant | Commit, argument: str) -> str:
    requested = value.instant if isinstance(value, Commit) else value.requested_time
    if not requested:
        raise InvalidArgumentError(f"{argument} must be an instant, got a commit that wrote nothing")
    return requested


def _written(value: str | SupportsIndex | dt.date, argument: str) -> str:
    """Returns the value as a string that the native module parses."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dt.datetime):
        return _in_utc(value, argument).isoformat(timespec="milliseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    # Integers of numpy are no int.
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgumentError(
            f"{argument} must be an instant ('20240101120000000', '2024-01-01 12:00:00'), one of a timeline, a "
            f"datetime or a date, got {type(value).__name__} {value!r}"
        )
    text = str(operator.index(value))
    if len(text) < _FEWEST_DIGITS:
        raise InvalidArgumentError(
            f"{argument} must have the digits of an instant, such as 20240101120000000, got {value!r}"
        )
    return text


def _in_utc(moment: dt.datetime, argument: str) -> dt.datetime:
    """Returns the moment in UTC. A naive one is assumed to be in the timeline's zone, and stays."""
    if moment.tzinfo is None:
        return moment
    try:
        return moment.astimezone(dt.timezone.utc)
    except OverflowError as error:
        raise InvalidArgumentError(f"{argument} must be a time of the calendar, got {moment!r}") from error
