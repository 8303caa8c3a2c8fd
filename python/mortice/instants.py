"""Converts instants, given as strings or datetimes, to the form of the timeline.

Instants have 17 digits, `yyyyMMddHHmmssSSS`, in the zone that `hoodie.table.timeline.timezone` names: `UTC`, or
`LOCAL`, the zone of the machine that wrote the table, which is assumed to be that of this machine (as in Hudi). Strings
are passed on: the native module knows the forms that Hudi accepts (such as `2024-01-01 10:00:00`).
"""

from __future__ import annotations

import datetime as dt

from mortice.errors import InvalidArgumentError
from mortice.options import checked_string

InstantLike = str | dt.datetime | dt.date | None

TIMELINE_ZONE = "hoodie.table.timeline.timezone"


def instant_text(value: InstantLike, timeline_zone: str = "LOCAL", *, argument: str = "as_of") -> str | None:
    """Returns the instant as a string of digits, or the string that was given.

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
    if isinstance(value, str):
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
        f"{argument} must be an instant ('20240101120000000', '2024-01-01 12:00:00'), a datetime or a date, "
        f"got {type(value).__name__} {value!r}"
    )


def _in_timeline_zone(moment: dt.datetime, timeline_zone: str) -> dt.datetime:
    """Returns the moment in the timeline's zone. A naive one is assumed to be in that zone already."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(dt.timezone.utc if timeline_zone.upper() == "UTC" else None)


def _digits(moment: dt.datetime) -> str:
    seconds = f"{moment.year:04}{moment.month:02}{moment.day:02}{moment.hour:02}{moment.minute:02}{moment.second:02}"
    return f"{seconds}{moment.microsecond // 1000:03}"
