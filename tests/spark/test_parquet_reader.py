"""File slices that Spark's own Parquet reader reads: the same rows as by mortice, under all settings."""

import contextlib
import datetime as dt
import io
import logging
import math
import struct
import threading
from decimal import Decimal
from functools import reduce
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
import mortice.spark
from mortice.spark.execution import parquet_reader, private
from support.cases import canonical
from support.frames import to_arrow
from support.tables import type_table
from support.tables.evolving import renamed_table
from support.tables.written import NO_SERVICES, NO_SMALL_FILES, new_table, rows

OFF = {"mortice.spark.parquet": "false"}
BY_SPARK, BY_MORTICE = "FileScan parquet", "MapInArrow"
SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.sources.useV1SourceList": "",
}


def planned(frame):
    """Returns the output of `explain`."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        frame.explain()
    return output.getvalue()


def ways(frame):
    """Returns by which readers a DataFrame is read."""
    plan = planned(frame)
    return [way for way in (BY_SPARK, BY_MORTICE) if way in plan or (way == BY_SPARK and "BatchScan parquet" in plan)]


def cells(frame, key="id"):
    """Returns the rows, ordered by key, in a form that can be compared."""
    table = to_arrow(frame)
    table = table.take(pc.sort_indices(table[key]))
    return {field.name: [canonical(field.type, one) for one in table[field.name].to_pylist()] for field in table.schema}


def both(spark, table, **query):
    """Returns the rows as Spark and as mortice read them, both of which must be the same."""
    ours = mortice.spark.read(spark, table, **query, options=OFF)
    theirs = mortice.spark.read(spark, table, **query)
    assert theirs.schema.json() == ours.schema.json()
    assert ways(ours) == [BY_MORTICE]
    found = cells(theirs)
    assert found == cells(ours)
    return theirs, found


@contextlib.contextmanager
def configured(spark, **settings):
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.fixture(scope="module", params=["pyarrow", "mortice"])
def types(request, tmp_path_factory):
    """A table of all types, whose base file pyarrow or mortice has written."""
    folder = tmp_path_factory.mktemp("types")
    if request.param == "pyarrow":
        type_table.write(folder, 9, "avro")
    else:
        given = type_table.rows(type_table.BASE, 0)
        given = given.select([name for name in given.column_names if not name.startswith("_hoodie")])
        table = mortice.create_table(folder, given.schema, name="types", record_key="id", table_type="COPY_ON_WRITE")
        table.upsert(given, options=NO_SERVICES)
    return folder


FLAT = [name for name, (kind, _) in type_table.TYPES.items() if not pa.types.is_nested(kind)]
NESTED = ["array_int", "array_array_string", "array_double", "map_string_bigint"]


@pytest.mark.parametrize("settings", [{}, SETTINGS], ids=["default", "set"])
def test_columns_of_all_types(spark, types, settings):
    with configured(spark, **settings):
        frame, _ = both(spark, types, columns=["id", *FLAT, *NESTED], query_type="read_optimized")
        assert ways(frame) == [BY_SPARK]
        both(spark, types, query_type="read_optimized")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("boolean", True),
        ("int", -1),
        ("bigint", -(2**63)),
        ("float", 0.0),
        ("double", math.inf),
        ("double", 5e-324),
        ("decimal_10_2", Decimal("-99999999.99")),
        ("decimal_38_0", Decimal(1)),
        ("string", "é"),
        ("string", ""),
        ("binary", b"\xff\xfe\x80"),
        ("date", dt.date(1582, 10, 4)),
        ("timestamp", type_table.ZONED[1]),
    ],
)
def test_filters(spark, types, column, value):
    given = {operator: [(column, operator, value)] for operator in ("=", "!=", ">", "<=")}
    given |= {operator: [(column, operator, [value])] for operator in ("in", "not in")}
    given["is null"] = [(column, "is null")]
    query = {"columns": ["id"], "query_type": "read_optimized"}
    frames = [
        mortice.spark.read(spark, types, **query, filters=filters).selectExpr(f"'{operator}' AS operator", "id")
        for operator, filters in given.items()
    ]
    assert all(ways(frame) == [BY_SPARK] for frame in frames)
    table = mortice.Table(types)
    expected = [
        (operator, key)
        for operator, filters in given.items()
        for key in table.read_optimized(columns=["id"], filters=filters).to_arrow()["id"].to_pylist()
    ]
    assert sorted(map(tuple, reduce(lambda one, other: one.unionAll(other), frames).collect())) == sorted(expected)


def test_filters_that_spark_may_compute_otherwise(spark, types):
    moment = type_table.LOCAL[2]
    frame, found = both(
        spark, types, columns=["id"], filters=[("timestamp_ntz", "=", moment)], query_type="read_optimized"
    )
    assert (ways(frame), len(found["id"]) > 0) == ([BY_MORTICE], True)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A table with log files in one of three partitions."""
    table = new_table(tmp_path_factory.mktemp("mixed") / "t")
    options = NO_SERVICES | NO_SMALL_FILES
    table.upsert(
        rows(("a", "x", 1, 1.0), ("b", "y", 1, math.nan), ("c", "y", 1, 3.0), ("d", "z", 1, 4.0)), options=options
    )
    table.upsert(rows(("a", "x", 2, 10.0)), options=options)
    return table.uri


def test_slices_with_and_without_log_files(spark, mixed, caplog):
    with caplog.at_level(logging.INFO, "mortice.spark"):
        frame, found = both(spark, mixed)
    assert ways(frame) == [BY_SPARK, BY_MORTICE]
    assert dict(zip(found["id"], found["ts"], strict=True)) == {"a": 2, "b": 1, "c": 1, "d": 1}
    assert "2 file slices by Spark's Parquet reader, 1 by mortice (1: log files)" in caplog.text
    assert both(spark, mixed, filters=[("city", "=", "z")])[1]["id"] == ["d"]
    plan = planned(frame)
    assert "InMemoryFileIndex(2 paths)" in plan
    assert "mortice_reads_1_split(" in plan


def test_files_that_spark_does_not_find_are_read_by_mortice(spark, mixed, monkeypatch):
    monkeypatch.setattr(parquet_reader, "_paths", lambda _, paths: [f"file:///missing/{path}" for path in paths])
    assert ways(mortice.spark.read(spark, mixed)) == [BY_MORTICE]
    assert sorted(row.id for row in mortice.spark.read(spark, mixed).collect()) == ["a", "b", "c", "d"]


def test_stores_that_the_settings_of_hadoop_do_not_open_are_read_by_mortice(spark, monkeypatch):
    paths = ["s3a://bucket/t/f.parquet"]
    assert parquet_reader._paths(spark, paths) == []
    monkeypatch.setattr(parquet_reader, "hadoop_file_exists", lambda *_: True)
    assert parquet_reader._paths(spark, paths) == paths
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert parquet_reader._paths(spark, paths) == []


def test_a_store_that_does_not_answer_is_asked_once(spark, monkeypatch):
    asked, is_asked, answered = [], threading.Event(), threading.Event()

    class Silent:
        @property
        def _jvm(self):
            asked.append(1)
            is_asked.set()
            answered.wait()

    session = SimpleNamespace(session_id="s", sparkContext=Silent())
    monkeypatch.setattr(private, "_MOST_SECONDS", 0.0)
    monkeypatch.setattr(private, "_silent", set())
    assert [private.hadoop_file_exists(session, f"s3a://silent/{name}") for name in "ab"] == [False, False]
    is_asked.wait()
    answered.set()
    assert asked == [1]


def test_nan_is_greater_than_all_bounds(spark, mixed):
    frame = mortice.spark.read(spark, mixed, columns=["id", "fare"])
    assert sorted(row.id for row in frame.where("fare > 5").collect()) == ["a", "b"]
    assert both(spark, mixed, columns=["id"], filters=[("fare", ">", 5)])[1]["id"] == ["a", "b"]


def test_queries_of_other_kinds(spark, mixed):
    first, second = (one.completion_time for one in mortice.Table(mixed).timeline.active)
    assert ways(both(spark, mixed, as_of=first)[0]) == [BY_SPARK]
    assert ways(both(spark, mixed, query_type="incremental", begin=first, end=second)[0]) == [BY_MORTICE]
    metrics = mortice.spark.Metrics()
    assert ways(mortice.spark.read(spark, mixed, metrics=metrics)) == [BY_MORTICE]


def test_partition_values_that_differ_from_the_path(spark, tmp_path):
    """An index that is global leaves a row where it was first written."""
    given = NO_SERVICES | {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", ordering=None)
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "y", 1, 2.0)), options=given)
    table.upsert(rows(("a", "z", 2, 1.0)), options=given)
    frame, found = both(spark, table.uri)
    assert ways(frame) == [BY_SPARK, BY_MORTICE]
    assert dict(zip(found["id"], found["city"], strict=True)) == {"a": "x", "b": "y"}


def test_renamed_columns(spark, tmp_path):
    path, _ = renamed_table(tmp_path)
    assert ways(both(spark, path, query_type="read_optimized")[0]) == [BY_MORTICE]


def files_of(table):
    return [file for file in Path(table).rglob("*.parquet") if ".hoodie" not in file.parts]


@pytest.fixture
def compacted(tmp_path):
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", partition_by=None)
    options = NO_SERVICES | {"hoodie.parquet.compression.codec": "uncompressed"}
    table.upsert(rows(*((str(number), "x", 1, float(number)) for number in range(500))), options=options)
    return table.uri


def test_a_file_that_was_removed_is_missed(spark, compacted):
    with configured(spark, **{"spark.sql.files.ignoreMissingFiles": "true"}):
        frame = mortice.spark.read(spark, compacted)
        for file in files_of(compacted):
            file.unlink()
        with pytest.raises(Exception, match=r"(?i)not.exist|FILE_NOT_EXIST"):
            frame.collect()


def test_checksums_of_pages_are_compared(spark, compacted):
    frame = mortice.spark.read(spark, compacted, columns=["fare"])
    (file,) = files_of(compacted)
    content = bytearray(file.read_bytes())
    content[content.index(struct.pack("<d", 123.0))] ^= 1
    file.write_bytes(content)
    with (
        configured(spark, **{"spark.sql.files.ignoreCorruptFiles": "true"}),
        pytest.raises(Exception, match=r"(?i)crc"),
    ):
        frame.collect()


def test_queries_prune_columns_and_rows(spark, compacted):
    plan = planned(mortice.spark.read(spark, compacted).where("ts > 5 and id = 'a'").select("fare"))
    assert "GreaterThan(ts,5)" in plan
    assert "_hoodie_commit_time" not in plan.partition("ReadSchema")[2]
    assert mortice.spark.read(spark, compacted).count() == 500
