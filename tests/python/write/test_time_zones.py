"""Partition paths of timestamp-based key generators in time zones with daylight saving."""

import pyarrow as pa
import pytest

from mortice import InvalidArgumentError, UnsupportedError
from support.tables.written import NO_METADATA, new_table

SCHEMA = pa.schema([("id", pa.string()), ("at", pa.int64()), ("ts", pa.int64())])
SPRING = 1_711_846_800  # 2024-03-31 01:00 UTC: clocks in Oslo go from 02:00 to 03:00


def table_of(path, schema=SCHEMA, table_type="MERGE_ON_READ", **settings):
    keygen = {"timestamp.type": "UNIX_TIMESTAMP", "output.dateformat": "yyyy/MM/dd HH", **settings}
    properties = {f"hoodie.keygen.timebased.{name}": value for name, value in keygen.items()}
    properties["hoodie.table.keygenerator.type"] = "TIMESTAMP"
    return new_table(path, 9, table_type, schema, partition_by="at", properties=properties)


def partitions(table):
    found = table.snapshot(columns=["id", "_hoodie_partition_path"]).to_arrow().to_pylist()
    return {row["id"]: row["_hoodie_partition_path"] for row in found}


def test_paths_have_the_clock_of_the_zone(tmp_path):
    table = table_of(tmp_path / "t", timezone="Europe/Oslo")
    rows = pa.table({"id": ["a", "b", "c"], "at": [SPRING - 1, SPRING, SPRING + 86_400 * 180], "ts": [1, 1, 1]})
    table.upsert(rows, NO_METADATA)
    assert partitions(table) == {"a": "2024/03/31 01", "b": "2024/03/31 03", "c": "2024/09/27 03"}


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE"])
def test_rows_are_updated_in_their_partitions(tmp_path, table_type, index):
    options = {"hoodie.index.type": index}
    table = table_of(tmp_path / "t", timezone="Europe/Oslo", table_type=table_type)
    table.upsert(pa.table({"id": ["a", "b"], "at": [SPRING - 1, SPRING - 1], "ts": [1, 1]}), options)
    table.upsert(pa.table({"id": ["a", "c"], "at": [SPRING - 2, SPRING - 3], "ts": [2, 2]}), options)
    assert partitions(table) == dict.fromkeys("abc", "2024/03/31 01")
    found = table.snapshot(columns=["id", "ts"], filters=[("ts", ">", 1)]).to_arrow().to_pylist()
    assert sorted(row["id"] for row in found) == ["a", "c"]
    moved = table.upsert(pa.table({"id": ["b"], "at": [SPRING], "ts": [3]}), options)
    assert moved.instant
    paths = ["2024/03/31 03"] if index == "GLOBAL_SIMPLE" else ["2024/03/31 01", "2024/03/31 03"]
    found = table.snapshot(columns=["id", "_hoodie_partition_path"], filters=[("id", "=", "b")]).to_arrow()
    assert sorted(found["_hoodie_partition_path"].to_pylist()) == paths


def test_strings_are_times_of_the_input_zone(tmp_path):
    schema = pa.schema([("id", pa.string()), ("at", pa.string()), ("ts", pa.int64())])
    settings = {"timestamp.type": "DATE_STRING", "input.dateformat": "yyyy-MM-dd HH:mm", "output.timezone": "UTC"}
    table = table_of(tmp_path / "t", schema, **settings, **{"input.timezone": "America/New_York"})
    at = ["2024-07-01 12:00", "2024-12-01 12:00", "2024-11-03 01:30"]
    table.upsert(pa.table({"id": ["a", "b", "c"], "at": at, "ts": [1, 1, 1]}), NO_METADATA)
    assert partitions(table) == {"a": "2024/07/01 16", "b": "2024/12/01 17", "c": "2024/11/03 05"}
    with pytest.raises(InvalidArgumentError, match=r"row 0.*skip"):
        table.upsert(pa.table({"id": ["d"], "at": ["2024-03-10 02:30"], "ts": [1]}), NO_METADATA)


def test_an_offset_in_the_string_goes_before_the_input_zone(tmp_path):
    schema = pa.schema([("id", pa.string()), ("at", pa.string()), ("ts", pa.int64())])
    settings = {"timestamp.type": "DATE_STRING", "input.dateformat": "yyyy-MM-dd HH:mm Z"}
    table = table_of(tmp_path / "t", schema, **settings, **{"input.timezone": "Europe/Oslo"})
    table.upsert(pa.table({"id": ["a"], "at": ["2024-07-01 12:00 +0000"], "ts": [1]}), NO_METADATA)
    assert partitions(table) == {"a": "2024/07/01 14"}


@pytest.mark.parametrize("zone", ["+08:00", "XYZ", "Europe/Nowhere"])
def test_zones_that_java_takes_for_others_are_refused(tmp_path, zone):
    table = table_of(tmp_path / "t", timezone=zone)
    with pytest.raises(UnsupportedError, match="time zone"):
        table.upsert(pa.table({"id": ["a"], "at": [SPRING], "ts": [1]}), NO_METADATA)


def test_names_of_three_letters_are_the_zones_that_joda_has_for_them(tmp_path):
    table = table_of(tmp_path / "t", timezone="EST")
    table.upsert(pa.table({"id": ["a"], "at": [SPRING], "ts": [1]}), NO_METADATA)
    assert partitions(table) == {"a": "2024/03/30 21"}


# Patterns and the paths that TimestampBasedAvroKeyGenerator of Hudi 1.2 writes for `TIMES`, in UTC. The Rust tests of
# patterns have many more.
TIMES = [0, 1_609_459_199_999, 1_711_846_800_123]
PATTERNS = {
    "yyyy-MM-dd hh": ["1970-01-01 12", "2020-12-31 11", "2024-03-31 01"],
    "yyyy-MM-dd a": ["1970-01-01 AM", "2020-12-31 PM", "2024-03-31 AM"],
    "MMM yyyy": ["Jan 1970", "Dec 2020", "Mar 2024"],
    "yyyy/MMMM/EEEE": ["1970/January/Thursday", "2020/December/Thursday", "2024/March/Sunday"],
    "yyyy-DDD": ["1970-001", "2020-366", "2024-091"],
    "xxxx-'W'ww-e": ["1970-W01-4", "2020-W53-4", "2024-W13-7"],
    "G C YY K k S Z ZZZ z": [
        "AD 19 70 0 24 0 +0000 UTC UTC",
        "AD 20 20 11 23 9 +0000 UTC UTC",
        "AD 20 24 1 1 1 +0000 UTC UTC",
    ],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_paths_have_every_field_of_joda(tmp_path, pattern):
    settings = {"timestamp.type": "EPOCHMILLISECONDS", "output.dateformat": pattern, "timezone": "UTC"}
    table = table_of(tmp_path / "t", **settings)
    rows = pa.table({"id": ["a", "b", "c"], "at": TIMES, "ts": [1, 1, 1]})
    table.upsert(rows)
    table.upsert(rows.slice(1))
    assert partitions(table) == dict(zip("abc", PATTERNS[pattern], strict=True))
    # Hudi reads the column as a string. No filter may leave out the partition of a row.
    for key, at in zip("abc", TIMES, strict=True):
        for term in [("at", "=", str(at)), ("at", "in", [str(at)]), ("at", "like", str(at))]:
            found = table.snapshot(columns=["id"], filters=[term]).to_arrow()["id"].to_pylist()
            assert found == [key], term


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("MMM d yyyy", "Mar 31 2024"),
        ("yyyy-DDD", "2024-091"),
        ("xxxx-'W'ww-e", "2024-W13-7"),
        ("yy-MM-dd", "24-03-31"),
        ("yyyy-MM-dd hh a", "2024-03-31 12 AM"),
        ("yyyy-MM-dd kk", "2024-03-31 24"),
        ("dd/MM/yyyy,yyyyMMdd,EEE dd MMMM yyyy", "Sun 31 March 2024"),
        ("yyyy-MM-dd HH ZZZ", "2024-03-31 04 Europe/Oslo"),
    ],
)
def test_strings_are_parsed_by_every_field_of_joda(tmp_path, pattern, text):
    schema = pa.schema([("id", pa.string()), ("at", pa.string()), ("ts", pa.int64())])
    settings = {"timestamp.type": "DATE_STRING", "input.dateformat": pattern, "output.dateformat": "yyyy/MM/dd"}
    table = table_of(tmp_path / "t", schema, **settings, timezone="UTC")
    table.upsert(pa.table({"id": ["a"], "at": [text], "ts": [1]}), NO_METADATA)
    assert partitions(table) == {"a": "2024/03/31"}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"output.dateformat": "yyyy u"}, "'u'"),
        ({"output.dateformat": "yyyy z", "timezone": "Europe/Oslo"}, "use its offset"),
        ({"timestamp.type": "DATE_STRING", "input.dateformat": "yyyy zzzz"}, "zzzz"),
        ({"timestamp.type": "DATE_STRING", "input.dateformat": "yyyy G"}, "field G"),
    ],
)
def test_fields_that_cannot_be_written_as_hudi_does_are_refused(tmp_path, settings, named):
    schema = SCHEMA if "timestamp.type" not in settings else SCHEMA.set(1, pa.field("at", pa.string()))
    table = table_of(tmp_path / "t", schema, **settings)
    at = [SPRING] if schema is SCHEMA else ["2024"]
    with pytest.raises((UnsupportedError, InvalidArgumentError), match=named):
        table.upsert(pa.table({"id": ["a"], "at": at, "ts": [1]}), NO_METADATA)


def test_filters_find_rows_in_any_zone(tmp_path):
    table = table_of(tmp_path / "t", timezone="Asia/Tokyo")
    table.upsert(pa.table({"id": ["a", "b"], "at": [SPRING, SPRING + 7 * 86_400], "ts": [1, 1]}), NO_METADATA)
    # Hudi reads the column as a string.
    assert table.snapshot(filters=[("at", "=", str(SPRING))]).to_arrow()["id"].to_pylist() == ["a"]
    assert len(table.file_slices(filters=[("at", "=", str(SPRING))])) == 1
