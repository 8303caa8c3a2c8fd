"""The times of instants, and how long ago they were."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from mortice.values.instants import TIMELINE_ZONE

__all__ = ["age_of", "moment_of"]

SECONDS_DIGITS = 14
MILLIS_DIGITS = 17


def moment_of(instant: str, properties: Mapping[str, str]) -> dt.datetime | None:
    """Returns the time of an instant, which is in the zone of the timeline. None if it is no time.

    >>> moment_of("20240101120000500", {"hoodie.table.timeline.timezone": "UTC"}).isoformat()
    '2024-01-01T12:00:00.500000+00:00'
    """
    digits = instant[:MILLIS_DIGITS].ljust(MILLIS_DIGITS, "0") if len(instant) >= SECONDS_DIGITS else ""
    if not digits.isdecimal() or not digits.isascii():
        return None
    try:
        moment = dt.datetime.strptime(digits + "000+0000", "%Y%m%d%H%M%S%f%z")
    except ValueError:
        return None
    is_utc = properties.get(TIMELINE_ZONE, "LOCAL").upper() == "UTC"
    return (
        moment if is_utc else moment.replace(tzinfo=None).astimezone()
    )  # of the machine that wrote it, as of this one


def age_of(instant: str, properties: Mapping[str, str], now: dt.datetime | None = None) -> float | None:
    """Returns the seconds since an instant. None if it is no time.

    >>> import datetime as dt
    >>> now = dt.datetime(2024, 1, 1, 12, 0, 1, tzinfo=dt.timezone.utc)
    >>> age_of("20240101120000500", {"hoodie.table.timeline.timezone": "UTC"}, now), age_of("001", {})
    (0.5, None)
    """
    moment = moment_of(instant, properties)
    return None if moment is None else ((now or dt.datetime.now(dt.timezone.utc)) - moment).total_seconds()
