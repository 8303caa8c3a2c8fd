"""Instants in the formats that users write."""

import datetime as dt
import os
import time

import pyarrow as pa
import pytest

import mortice
from mortice import Instant, InvalidArgumentError, Timeline
from mortice.values.instants import instant_text, position_before

NOON = 1_711_886_400
"""2024-03-31 12:00 UTC, on the day on which clocks in Oslo go forward."""

# What `formatQueryInstant` of Hudi 1.2 makes of them in UTC; the last ones only mortice has.
FORMS = {
    "20240331120000": "20240331120000",
    "20240331120000123": "20240331120000123",
    "2024-03-31": "20240331000000000",
    " 2024-03-31 12:00:00 ": "20240331120000999",
    "2024-03-31T12:00:00": "20240331120000999",
    "2024-03-31 12:00:00.123": "20240331120000123",
    str(NOON): "20240331120000000",
    f"{NOON}123": "20240331120000123",
    "2024-03-31T12:00:00Z": "20240331120000000",
    "2024-03-31 14:00+02:00": "20240331120000000",
    "000": "000",
}


@pytest.mark.parametrize("text", FORMS)
def test_strings_are_parsed_as_hudi_does(text):
    assert instant_text(text, "UTC") == FORMS[text]


def test_positions_have_names():
    assert instant_text(None) is None
    assert instant_text("earliest", argument="begin") == "earliest"
    assert instant_text("Latest", argument="start") == "Latest"
    for argument, name in [("as_of", "earliest"), ("begin", "latest"), ("end", "earliest")]:
        with pytest.raises(InvalidArgumentError, match=argument):
            instant_text(name, argument=argument)


def test_numbers_are_digits_or_times_since_1970():
    assert instant_text(20240331120000123) == "20240331120000123"
    assert instant_text(NOON, "UTC") == "20240331120000000"
    assert instant_text(NOON * 1000 + 123, "UTC") == "20240331120000123"


@pytest.mark.parametrize("text", [f"{NOON}000000", f"{NOON}000000000", "202403311200", "20241331120000", "yesterday"])
def test_numbers_of_another_unit_and_impossible_days_are_refused(text):
    with pytest.raises(InvalidArgumentError, match="as_of must be an instant"):
        instant_text(text)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table with one commit."""
    data = pa.table({"id": ["a", "b"], "v": [1, 2]})
    return mortice.create_table(tmp_path_factory.mktemp("t") / "t", data=data, record_key="id")


def moments(hours):
    """Returns the forms of a moment that is so many hours from now."""
    now = dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=hours)
    seconds = int(now.timestamp())
    local = now.astimezone().strftime
    texts = [str(seconds), str(seconds * 1000), now.isoformat(), local("%Y-%m-%d %H:%M:%S"), local("%Y%m%d%H%M%S")]
    return [*texts, seconds, seconds * 1000, now]


@pytest.mark.parametrize("form", range(8))
@pytest.mark.filterwarnings("ignore::mortice.TimeTravelWarning")
def test_every_query_takes_every_form(written, form):
    later, earlier = moments(30)[form], moments(-30)[form]
    for rows, as_of, begin, end in [(2, later, earlier, later), (0, earlier, later, None)]:
        assert written.snapshot(as_of=as_of).count() == rows
        assert written.read_optimized(as_of=as_of).count() == rows
        assert sum(one.base_file is not None for one in written.file_slices(as_of=as_of)) == rows // 2
        assert written.incremental(begin, end).count() == rows
        assert sum(scan.count() for _, scan in written.follow(begin, poll_seconds=None)) == rows
    assert written.incremental("earliest", earlier).count() == 0


def test_what_undoes_an_instant_needs_its_digits(written):
    for moment in moments(30)[:2]:
        for undo in (written.rollback, written.restore, written.savepoint, written.delete_savepoint):
            with pytest.raises(mortice.MorticeError):
                undo(moment)
    assert written.snapshot().count() == 2


def test_the_position_before_an_instant():
    for zone, text, before in [
        ("UTC", "20240101120000000", "20240101115959999"),
        ("UTC", "2024-01-01 12:00:00", "20240101115959999"),
        ("UTC", str(NOON), "20240331115959999"),
        ("UTC", "2024-01-02", "20240101235959999"),
        ("LOCAL", "000", "earliest"),
    ]:
        assert position_before(text, zone) == before


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
