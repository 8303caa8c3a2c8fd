"""Converts instants, given as strings or datetimes, to the form of the timeline.

Instants have 17 digits, `yyyyMMddHHmmssSSS`, in the zone that `hoodie.table.timeline.timezone` names: `UTC`, or
`LOCAL`, the zone of the machine that wrote the table, which is assumed to be that of this machine (as in Hudi). Strings
are passed on: the native module knows the forms that Hudi accepts (such as `2024-01-01 10:00:00`).
"""

from __future__ import annotations

import datetime as dt
import re

from mortice.commit import Commit
from mortice.errors import InvalidArgumentError
from mortice.options import checked_string
from mortice.timeline import Instant

InstantLike = str | int | dt.datetime | dt.date | Instant | Commit | None

TIMELINE_ZONE = "hoodie.table.timeline.timezone"


_WITH_ZONE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?\s*(Z|[+-]\d\d:?\d\d)", re.IGNORECASE)
_LENGTHS = (14, 17)
_BY_COMPLETION = 8
"""The first table version whose ranges of commits are of completion times."""


def instant_text(
    value: InstantLike, timeline_zone: str = "LOCAL", *, argument: str = "as_of", table_version: int = _BY_COMPLETION
) -> str | None:
    """Returns the instant as a string of digits, or the string that was given.

    Args:
        value: The instant: a string, an integer of 14 or 17 digits, a datetime, a date, one of a timeline, or a commit.
            A string with a zone (`2024-01-01T10:00:00+02:00`) and a datetime with one are converted to the zone of the
            timeline.
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
    """
    if value is None:
        return None
    if isinstance(value, (Instant, Commit)):
        is_bound = argument != "as_of" and table_version >= _BY_COMPLETION
        return (value.completion_time if is_bound else None) or _requested(value, argument)
    if _is_integer(value):
        if len(str(value)) not in _LENGTHS:
            raise InvalidArgumentError(
                f"{argument} must have the digits of an instant, such as 20240101120000000, got {value!r}"
            )
        return str(value)
    if isinstance(value, str):
        zoned = _WITH_ZONE.fullmatch(value.strip())
        if zoned is not None:
            return instant_text(_moment(zoned, argument), timeline_zone, argument=argument)
        if not value.strip():
            raise InvalidArgumentError(
                f"{argument} must be an instant, such as '20240101120000000', got an empty string"
            )
        return checked_string(argument, value.strip())
    if isinstance(value, dt.datetime):
        return _digits(_in_timeline_zone(value, timeline_zone))
    if isinstance(value, dt.date):
        return _digits(dt.datetime.combine(value, dt.time()))
    raise InvalidArgumentError(
        f"{argument} must be an instant ('20240101120000000', '2024-01-01 12:00:00'), one of a timeline, a datetime "
        "or a date, "
        f"got {type(value).__name__} {value!r}"
    )


def _requested(value: Instant | Commit, argument: str) -> str:
    requested = value.instant if isinstance(value, Commit) else value.requested_time
    if not requested:
        raise InvalidArgumentError(f"{argument} must be an instant, got a commit that wrote nothing")
    return requested


def _is_integer(value: object) -> bool:
    # Integers of numpy are no int.
    return not isinstance(value, bool) and (isinstance(value, int) or hasattr(value, "__index__"))


def _moment(text: re.Match[str], argument: str) -> dt.datetime:
    day, minutes, seconds, fraction, zone = text.groups()
    offset = "+00:00" if zone in "zZ" else zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    microseconds = (fraction or ".0")[1:7].ljust(6, "0")
    try:
        return dt.datetime.fromisoformat(f"{day}T{minutes}{seconds or ':00'}.{microseconds}{offset}")
    except ValueError as error:
        raise InvalidArgumentError(f"{argument} must be an instant, got {text[0]!r}: {error}") from error


def _in_timeline_zone(moment: dt.datetime, timeline_zone: str) -> dt.datetime:
    """Returns the moment in the timeline's zone. A naive one is assumed to be in that zone already."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(dt.timezone.utc if timeline_zone.upper() == "UTC" else None)


def _digits(moment: dt.datetime) -> str:
    seconds = f"{moment.year:04}{moment.month:02}{moment.day:02}{moment.hour:02}{moment.minute:02}{moment.second:02}"
    return f"{seconds}{moment.microsecond // 1000:03}"
