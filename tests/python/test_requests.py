"""Storage requests of schemas, plans and reads."""

import shutil
import uuid

import pyarrow as pa
import pytest

import mortice
from mortice import queries
from support.cases import assert_same_result, hudi_result

UNPARTITIONED = "h11_event_time_deletes"
PARTITIONED = "h11_composite_keys_encoded_partitions"
OLD = "h11_v6_uncommitted"
CHANGES = "h12_cdc_cow_data_before"

QUERIES = [
    pytest.param(name, query, semantics, id=f"{name}-{type(query).__name__}-{number}-{semantics}")
    for name, semantics in ((UNPARTITIONED, "1.x"), (PARTITIONED, "1.x"), (OLD, "1.x"), (OLD, "0.x"), (CHANGES, "1.x"))
    for number, query in enumerate(
        (
            queries.Snapshot(),
            queries.Snapshot(columns=["_hoodie_record_key"], filters=[("_hoodie_commit_time", "is not null")]),
            queries.Snapshot(columns=["_hoodie_record_key"], emit_deletes=True),
            queries.ReadOptimized(),
            queries.Incremental("earliest", holes="BLOCK"),
            queries.Incremental("earliest", columns=["_hoodie_commit_time"], changelog=True, holes="BLOCK"),
            queries.Incremental("earliest", schema_at_end=True, holes="BLOCK"),
            *((queries.Changes("earliest", columns=["after", "op"]),) if name == CHANGES else ()),
        )
    )
]


def lists(table):
    return table.storage_requests["list"]


@pytest.mark.parametrize(("name", "query", "semantics"), QUERIES)
def test_the_schema_equals_that_of_the_scan_without_listing_files(table_of, name, query, semantics):
    table = mortice.Table(table_of(name), read_options=mortice.ReadOptions(semantics=semantics))
    opened = lists(table)
    plan = table.prepare(query)
    schema = plan.schema
    # The schema at the end of a range that extends into the archive is looked up there: one listing of the timeline.
    archive = getattr(query, "schema_at_end", False)
    assert lists(table) == opened + archive
    assert schema.equals(plan.scan().schema)


def test_a_schema_is_read_once(table_of):
    table = mortice.Table(table_of(PARTITIONED))
    first = table.prepare(queries.Snapshot()).schema
    requests = table.storage_requests
    assert table.prepare(queries.Snapshot()).schema.equals(first)
    assert table.prepare(queries.Incremental("earliest", columns=[])).schema.names == []
    assert table.storage_requests == requests


def test_a_plan_lists_each_directory_once(table_of):
    path = table_of(PARTITIONED)
    folders = {file.parent for file in path.rglob("*") if ".hoodie" not in file.parts and file.is_file()}
    folders |= {above for folder in folders for above in folder.parents if above.is_relative_to(path)}
    assert len(folders) > 4
    table = mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=False))
    opened = lists(table)
    table.snapshot()
    # And the timeline once more, to detect files that were cleaned meanwhile.
    assert lists(table) - opened == len(folders) + 1


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (queries.Snapshot(), None),
        (queries.Snapshot(columns=["fare"], filters=[("city", "=", "oslo")]), ["fare"]),
        (queries.Snapshot(emit_deletes=True), None),
        (queries.ReadOptimized(), None),
        (queries.Incremental("earliest"), None),
        (queries.Incremental("earliest", changelog=True), None),
    ],
    ids=str,
)
def test_count_uses_the_plan_of_the_scan(copy_of, query, columns):
    path = copy_of(UNPARTITIONED)
    table = mortice.Table(path)
    scan = table.prepare(query).scan()
    rows = scan.to_arrow().num_rows
    requests = table.storage_requests
    # A new plan misses it.
    shutil.rmtree(path / ".hoodie")
    assert scan.count() == rows > 0
    assert table.storage_requests == requests
    assert columns in (None, scan.schema.names)


@pytest.mark.parametrize("name", [CHANGES, "h015_cdc_cow_data_before", "h12_cdc_bucket_data_before"])
def test_count_of_changes_uses_their_plan(table_of, name):
    scan = mortice.Table(table_of(name)).changes("earliest")
    assert scan.count() == scan.to_arrow().num_rows > 0


@pytest.mark.parametrize("mmap", [True, False])
def test_a_read_reports_its_requests(table_of, mmap):
    table = mortice.Table(table_of(UNPARTITIONED), read_options=mortice.ReadOptions(mmap=mmap))
    scan = table.snapshot()
    planned = table.storage_requests
    assert_same_result(hudi_result(UNPARTITIONED), scan.to_arrow())
    report = scan.report()
    (slice_,) = table.file_slices()
    assert report["open_requests"] == len(slice_.log_files) + 1 == report["files"]
    assert report["list_requests"] == 0
    # The files of this table are too small to be mapped.
    assert report["read_requests"] > 0
    assert {name: scan.metrics()[name] for name in ("open_requests", "read_requests")} == {
        name: report[name] for name in ("open_requests", "read_requests")
    }
    # `file_slices` was planned; requests of the read are not counted in the table.
    assert planned["open"] <= table.storage_requests["open"] < planned["open"] + report["open_requests"]


@pytest.mark.parametrize(("mmap", "reads"), [(True, False), (False, True)])
def test_reads_of_mapped_files_are_no_requests(tmp_path, mmap, reads):
    rows = pa.table({"id": [uuid.uuid4().hex for _ in range(20_000)]})
    table = mortice.create_table(str(tmp_path / "t"), rows.schema, name="t", record_key="id")
    table.insert(rows, {"hoodie.metadata.enable": "false"})
    (file,) = (tmp_path / "t").glob("*.parquet")
    assert file.stat().st_size > 256 << 10
    scan = mortice.Table(tmp_path / "t", read_options=mortice.ReadOptions(mmap=mmap)).snapshot()
    assert scan.to_arrow().num_rows == rows.num_rows
    assert scan.report()["open_requests"] == 1
    assert (scan.report()["read_requests"] > 0) == reads


def test_requests_of_bootstrap_sources_are_counted(table_of):
    """The source files of a bootstrapped table."""
    scan = mortice.Table(table_of("h12_bootstrap_orc")).snapshot()
    scan.to_arrow()
    sources = sum(b"-source" in split.to_bytes_without_query() for split in scan.splits())
    assert scan.report()["open_requests"] == scan.report()["files"] + sources > sources > 0


def test_a_repr_reads_nothing(copy_of):
    path = copy_of(UNPARTITIONED)
    table = mortice.Table(path)
    requests = table.storage_requests
    shutil.rmtree(path)
    assert str(path) in repr(table)
    assert table.storage_requests == requests


def test_requests_of_the_metadata_table_are_counted(table_of):
    path = table_of("h12_column_stats")
    with_metadata, without = (
        mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=use)) for use in (True, False)
    )
    for table in (with_metadata, without):
        table.snapshot()
    assert (
        lists(with_metadata) < lists(without)
        or with_metadata.storage_requests["open"] > without.storage_requests["open"]
    )
