"""Histories of one key that Hudi 0.15.0 or 1.2.0 has read: mortice and the oracle return the same row.

Each is a table in the layout of `table_writer`. The column `x` identifies the source of a row.
"""

import datetime as dt
from decimal import Decimal

import pytest

import mortice
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value, merged
from support.oracle.model import CUSTOM, EVENT_TIME
from support.tables.table_writer import Slice, with_meta, write_table

DEFAULT, PARTIAL_UPDATE = "DefaultHoodieRecordPayload", "PartialUpdateAvroPayload"
EMPTY, NON_DEFAULTS = "EmptyHoodieRecordPayload", "OverwriteNonDefaultsWithLatestAvroPayload"
NOTHING = ()


def day(year):
    return dt.date(year, 1, 1)


def moment(year):
    return dt.datetime(year, 1, 1, tzinfo=dt.timezone.utc)


def row(x, ts, deleted=False):
    return {"x": x, "ts": ts, "_hoodie_is_deleted": deleted}


def delete(java, held):
    return Value(java, held)


def fields(kind):
    flag = Field("_hoodie_is_deleted", "boolean")
    return (Field("id", "string"), Field("x", "string"), Field("ts", kind, scale=2), flag)


def under_1x(kind, log, expected_x, base=None, payload=None):
    """With event-time ordering, or a payload class."""
    mode = EVENT_TIME if payload is None else CUSTOM
    table = (Merging(fields(kind), mode, ("ts",), payload), 9 if payload is None else 6)
    return pytest.param(table, base, log, expected_x, id=f"1.x-{kind}-{payload}-{log}-{base}")


def under_0x(kind, log, expected_x, base=None, payload=DEFAULT):
    merging = Merging(fields(kind), CUSTOM, ("ts",), payload, semantics="0.x")
    return pytest.param((merging, 6), base, log, expected_x, id=f"0.x-{kind}-{payload}-{log}-{base}")


MINUS_ONE = dt.date(1969, 12, 31)
LATE, EARLY = row("late", 10), row("early", 5)
LATE_DAY, EARLY_DAY = row("late", day(2020)), row("early", day(1980))
LATE_TEXT, EARLY_TEXT = row("late", "b"), row("early", "a")
LATE_DECIMAL, EARLY_DECIMAL = row("late", Decimal("2.50")), row("early", Decimal("1.50"))
LATE_MOMENT, EARLY_MOMENT = row("late", moment(2020)), row("early", moment(1980))


@pytest.mark.parametrize(
    ("table", "base", "log", "expected_x"),
    [
        # A delete whose class differs from that of the row wins in the log, independent of its value. Rows have days
        # and microseconds.
        under_1x("long", [LATE, delete("Long", 5)], "late"),
        under_1x("long", [LATE, delete("Integer", 5)], NOTHING),
        under_1x("long", [delete("String", "5"), delete("Long", 9), EARLY], NOTHING),
        under_1x("double", [row("late", 10.0), delete("Integer", 5)], NOTHING),
        under_1x("double", [row("late", 2.5), delete("Float", 1.5)], NOTHING),
        under_1x("string", [LATE_TEXT, delete("String", "a")], "late"),
        under_1x("string", [LATE_TEXT, delete("Integer", 5)], NOTHING),
        under_1x("decimal", [LATE_DECIMAL, delete("BigDecimal", Decimal("1.50"))], "late"),
        under_1x("date", [LATE_DAY, delete("Date", day(1980))], NOTHING),
        under_1x("date", [LATE_DAY, delete("Integer", 5)], "late"),
        under_1x("date", [delete("Integer", 5)], "late", base=LATE_DAY),
        under_1x("timestamp", [LATE_MOMENT, delete("Timestamp", moment(1980))], NOTHING),
        under_1x("timestamp", [LATE_MOMENT, delete("Long", 5)], "late"),
        under_1x("timestamp", [delete("Long", 5)], "late", base=LATE_MOMENT),
        under_0x("long", [LATE, delete("Long", 5)], "late"),
        under_0x("long", [LATE, delete("Integer", 5)], NOTHING),
        under_0x("string", [LATE_TEXT, delete("String", "a")], NOTHING),
        under_0x("decimal", [LATE_DECIMAL, delete("BigDecimal", Decimal("1.50"))], NOTHING),
        under_0x("date", [LATE_DAY, delete("Date", day(1980))], NOTHING),
        under_0x("date", [LATE_DAY, delete("Integer", 5)], "late"),
        under_0x("timestamp", [LATE_MOMENT, delete("Timestamp", moment(1980))], NOTHING),
        under_0x("timestamp", [LATE_MOMENT, delete("Long", 5)], "late"),
        # A missing ordering value is the Integer 0: an ordinary value for ints and dates, no value for payload classes.
        under_1x("int", [row("null", None)], "null", base=row("base", -1)),
        under_1x("int", [row("minus", -1)], "null", base=row("null", None)),
        under_1x("date", [row("null", None)], "null", base=row("base", MINUS_ONE)),
        under_1x("date", [row("null", None), row("minus", MINUS_ONE)], "null"),
        under_1x("date", [row("null", None)], "late", base=LATE_DAY),
        under_1x("date", [row("gone", dt.date(1970, 1, 1), deleted=True)], NOTHING, base=LATE_DAY),
        under_1x("date", [row("gone", dt.date(1970, 1, 2), deleted=True)], "late", base=LATE_DAY),
        under_1x("long", [None], NOTHING, base=LATE),
        under_0x("int", [row("minus", -1)], "minus", base=row("null", None)),
        under_0x("date", [row("minus", MINUS_ONE)], "minus", base=row("null", None)),
        under_1x("int", [row("minus", -1)], "minus", base=row("null", None), payload=PARTIAL_UPDATE),
        under_1x("int", [row("null", None), row("minus", -1)], "minus", payload=PARTIAL_UPDATE),
        under_1x("long", [row("null", None)], "null", base=row("base", -1), payload=PARTIAL_UPDATE),
        under_0x("int", [row("minus", -1)], "minus", base=row("null", None), payload=PARTIAL_UPDATE),
        # PartialUpdateAvroPayload does not compare values of different classes: the newer row is on top.
        under_1x("long", [EARLY], "late", base=LATE, payload=PARTIAL_UPDATE),
        under_1x("string", [EARLY_TEXT], "early", base=LATE_TEXT, payload=PARTIAL_UPDATE),
        under_1x("string", [LATE_TEXT, EARLY_TEXT], "early", payload=PARTIAL_UPDATE),
        under_1x("date", [LATE_DAY, EARLY_DAY], "early", payload=PARTIAL_UPDATE),
        under_1x("decimal", [EARLY_DECIMAL], "early", base=LATE_DECIMAL, payload=PARTIAL_UPDATE),
        under_1x("timestamp", [EARLY_MOMENT], "late", base=LATE_MOMENT, payload=PARTIAL_UPDATE),
        under_0x("string", [EARLY_TEXT], "late", base=LATE_TEXT, payload=PARTIAL_UPDATE),
        under_0x("date", [EARLY_DAY], "early", base=LATE_DAY, payload=PARTIAL_UPDATE),
        under_0x("date", [LATE_DAY, EARLY_DAY], "late", payload=PARTIAL_UPDATE),
        under_0x("decimal", [EARLY_DECIMAL], "early", base=LATE_DECIMAL, payload=PARTIAL_UPDATE),
        under_0x("decimal", [LATE_DECIMAL, EARLY_DECIMAL], "late", payload=PARTIAL_UPDATE),
        # The delete flag is filled like any column, and that of a base row is used.
        under_1x(
            "long", [row("a", 1, True), row(None, 2, None)], NOTHING, base=row("b", 0, None), payload=PARTIAL_UPDATE
        ),
        under_1x(
            "long", [row("a", 1, True), row(None, 2, None)], NOTHING, base=row("b", 0, None), payload=NON_DEFAULTS
        ),
        under_1x("long", [row("a", 0, True), row("b", 1, None), row("c", 0, None)], NOTHING, payload=PARTIAL_UPDATE),
        under_1x(
            "long",
            [row("a", 0, True), row("b", 1, None), row("c", 0, None), row("d", 0, None)],
            "d",
            payload=PARTIAL_UPDATE,
        ),
        under_1x("long", [row("a", 1)], NOTHING, base=row("b", 2, True), payload=PARTIAL_UPDATE),
        under_0x("long", [row("a", 1)], NOTHING, base=row("b", 2, True), payload=PARTIAL_UPDATE),
        under_0x("long", [row("a", 1, True), row("b", 1, None)], NOTHING, payload=PARTIAL_UPDATE),
        under_0x("long", [row("a", 1), row(None, 1, True), row(None, 1)], None, payload=PARTIAL_UPDATE),
        # Only deletes.
        under_1x("long", [row("a", 5)], NOTHING, base=row("b", 9), payload=EMPTY),
        under_0x("long", [row("a", 1)], NOTHING, base=row("b", 9), payload=EMPTY),
        under_0x("long", [row("a", 1)], NOTHING, payload=EMPTY),
    ],
)
def test_merged_row_equals_hudis(tmp_path, table, base, log, expected_x):
    merging, version = table
    base = base and (with_meta({"id": "k", **base}, "k", 0, 0),)
    blocks = tuple(block(entry, number) for number, entry in enumerate(log, start=1))
    path = write_table(tmp_path, merging, version, Slice(base, tuple((one,) for one in blocks)))
    rows = (
        mortice.Table(path, read_options=mortice.ReadOptions(semantics=merging.semantics))
        .snapshot()
        .to_arrow()
        .to_pylist()
    )
    expected = [] if expected_x is NOTHING else [expected_x]
    assert [one["x"] for one in rows] == expected
    assert [one["x"] for one in merged(base or (), blocks, merging)] == expected


def block(entry, number):
    """Returns the block of a row, or of the ordering value of a delete."""
    if entry is None or isinstance(entry, Value):
        return DeleteBlock((("k", entry),))
    return DataBlock((with_meta({"id": "k", **entry}, "k", number, 0),))


@pytest.mark.parametrize(
    ("kind", "log", "expected_x"),
    [
        ("long", [delete("Integer", 12)], NOTHING),
        ("long", [delete("Integer", 9)], "base"),
        ("long", [delete("Integer", 12), row("log", 11)], NOTHING),
        ("long", [delete("String", "5")], NOTHING),
        ("long", [delete("String", "5"), row("log", 11)], "log"),
        ("long", [row("log", None)], "base"),
        ("double", [delete("Integer", 9)], "base"),
        ("date", [delete("Date", day(2021))], NOTHING),
        ("date", [delete("Date", day(2019))], "base"),
        ("timestamp", [delete("Timestamp", moment(2019))], "base"),
        ("string", [delete("Integer", 7)], NOTHING),
        ("string", [row("log", None)], "base"),
    ],
    ids=str,
)
def test_ordering_values_that_hudi_cannot_compare(tmp_path, kind, log, expected_x):
    """Hudi 1.2.0 cannot compare these. The expected results follow the values; the newer record wins where they are
    undefined."""
    values = {"long": 10, "double": 10.0, "date": day(2020), "timestamp": moment(2020), "string": "b"}
    base = (with_meta({"id": "k", **row("base", values[kind])}, "k", 0, 0),)
    merging = Merging(fields(kind), EVENT_TIME, ("ts",))
    blocks = tuple((block(entry, number),) for number, entry in enumerate(log, start=1))
    path = write_table(tmp_path, merging, 9, Slice(base, blocks))
    rows = mortice.Table(path).snapshot().to_arrow().to_pylist()
    assert [one["x"] for one in rows] == ([] if expected_x is NOTHING else [expected_x])
