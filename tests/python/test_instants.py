"""Instants in the formats that users write."""

import datetime as dt
import os
import time

import pytest

from mortice import InvalidArgumentError, Timeline
from mortice.instants import instant_text
from mortice.timeline import Instant


def test_strings_are_unchanged():
    assert instant_text(" 2024-01-01 10:00:00 ") == "2024-01-01 10:00:00"
    assert instant_text(None) is None


def test_a_naive_datetime_is_in_the_timezone_of_the_timeline():
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 999999)
    assert instant_text(moment, "UTC") == instant_text(moment, "LOCAL") == "20240102030405999"


def test_an_aware_datetime_is_converted_to_the_timezone_of_the_timeline():
    before = os.environ.get("TZ")
    os.environ["TZ"] = "XXX-07:00"
    time.tzset()
    try:
        moment = dt.datetime(2024, 1, 2, 3, tzinfo=dt.timezone.utc)
        assert instant_text(moment, "UTC") == "20240102030000000"
        assert instant_text(moment, "LOCAL") == "20240102100000000"
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


@pytest.mark.parametrize("value", ["", "  ", 20240101, 1.5, b"2024", dt.time(3)], ids=str)
def test_anything_else_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="as_of"):
        instant_text(value)


def test_the_latest_instant_is_completed():
    timeline = Timeline([Instant("1", "2", "commit", "COMPLETED"), Instant("3", None, "deltacommit", "REQUESTED")])
    assert timeline.latest == timeline[0]
    assert Timeline([]).latest is None
