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


@pytest.mark.parametrize("zone", ["+08:00", "EST", "Europe/Nowhere"])
def test_zones_that_java_takes_for_others_are_refused(tmp_path, zone):
    table = table_of(tmp_path / "t", timezone=zone)
    with pytest.raises(UnsupportedError, match="time zone"):
        table.upsert(pa.table({"id": ["a"], "at": [SPRING], "ts": [1]}), NO_METADATA)


def test_filters_find_rows_in_any_zone(tmp_path):
    table = table_of(tmp_path / "t", timezone="Asia/Tokyo")
    table.upsert(pa.table({"id": ["a", "b"], "at": [SPRING, SPRING + 7 * 86_400], "ts": [1, 1]}), NO_METADATA)
    # Hudi reads the column as a string.
    assert table.snapshot(filters=[("at", "=", str(SPRING))]).to_arrow()["id"].to_pylist() == ["a"]
    assert len(table.file_slices(filters=[("at", "=", str(SPRING))])) == 1
