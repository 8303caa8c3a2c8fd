"""Instants as users write them: text as it stands on the timeline, or a `datetime`, turned into the timeline's text.

Instants are 17 digits, `yyyyMMddHHmmssSSS`, in the zone that `hoodie.table.timeline.timezone` names: `UTC`, or `LOCAL`,
the zone of the machine that wrote the table, taken to be that of this one (as Hudi does). Text is passed on: the native
module knows the forms that Hudi accepts (`2024-01-01 10:00:00` and its like).
"""

from __future__ import annotations

import datetime as dt

from mortice.errors import InvalidArgumentError
from mortice.options import checked_text

InstantLike = str | dt.datetime | dt.date | None

TIMELINE_ZONE = "hoodie.table.timeline.timezone"


def instant_text(value: InstantLike, timeline_zone: str = "LOCAL", *, argument: str = "as_of") -> str | None:
    """The instant that `value` names.

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
            raise InvalidArgumentError(f"{argument} is empty; give an instant, such as '20240101120000000'")
        return checked_text(argument, value.strip())
    if isinstance(value, dt.datetime):
        return _digits(_in_timeline_zone(value, timeline_zone))
    if isinstance(value, dt.date):
        return _digits(dt.datetime.combine(value, dt.time()))
    raise InvalidArgumentError(
        f"{argument} is an instant as text ('20240101120000000', '2024-01-01 12:00:00'), a datetime or a date, "
        f"not {type(value).__name__} {value!r}"
    )


def _in_timeline_zone(moment: dt.datetime, timeline_zone: str) -> dt.datetime:
    """A naive moment is taken as it is: it is in the timeline's zone already."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(dt.timezone.utc if timeline_zone.upper() == "UTC" else None)


def _digits(moment: dt.datetime) -> str:
    seconds = f"{moment.year:04}{moment.month:02}{moment.day:02}{moment.hour:02}{moment.minute:02}{moment.second:02}"
    return f"{seconds}{moment.microsecond // 1000:03}"
