"""Rows with `_hoodie_operation`: a changelog as Hudi's Flink writer makes it, written and read back."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from mortice.errors import InvalidArgumentError

OPERATION, KEY = "_hoodie_operation", "_hoodie_record_key"
ALLOWED = {"hoodie.allow.operation.metadata.field": "true"}
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": "true"}
KINDS = {
    "mor-9": ("MERGE_ON_READ", 9, {}),
    "mor-6": ("MERGE_ON_READ", 6, {}),
    "cow-9": ("COPY_ON_WRITE", 9, {}),
    "cow-6": ("COPY_ON_WRITE", 6, {}),
    "bucket": ("MERGE_ON_READ", 9, BUCKETS),
    "record-index": ("MERGE_ON_READ", 9, RECORD_INDEX),
    "parquet-logs": ("MERGE_ON_READ", 9, {"hoodie.logfile.data.block.format": "parquet"}),
}
ON_READ = [kind for kind, (table_type, *_) in KINDS.items() if table_type == "MERGE_ON_READ"]


def changes(*rows):
    """Rows of (operation, key, fare, ordering value), all in one partition."""
    columns = [[row[0] for row in rows], [row[1] for row in rows], ["oslo"] * len(rows)]
    columns += [[row[2] for row in rows], [row[3] for row in rows]]
    types = [pa.string(), *SCHEMA.types]
    return pa.table(
        [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)], names=[OPERATION, *SCHEMA.names]
    )


def created(path, kind="mor-9", **arguments):
    table_type, version, options = KINDS[kind]
    table = mortice.create_table(
        path,
        SCHEMA,
        name="t",
        table_type=table_type,
        version=version,
        **{"record_key": "id", "partition_by": "city", "ordering": "ts"} | arguments,
    )
    # Otherwise inserts rewrite small base files, and updates with them.
    return table, ALLOWED | options | {"hoodie.parquet.small.file.limit": "0"}


def written(path, kind):
    """A table with two commits, of which the second one has all operations."""
    table, options = created(path, kind)
    table.upsert(changes(*(("I", key, 1.0, 1) for key in "abcdef")), options)
    table.upsert(
        changes(("U", "a", 2.0, 2), ("D", "b", 2.0, 2), ("-U", "c", 2.0, 2), ("D", "d", 0.0, 0), ("I", "g", 2.0, 2)),
        options,
    )
    return table, options


# "d" stays: its delete is older.
EXPECTED = [("a", "U", 2.0), ("d", "I", 1.0), ("e", "I", 1.0), ("f", "I", 1.0), ("g", "I", 2.0)]


def rows_of(table, **query):
    found = mortice.Table(table.uri).snapshot(columns=["id", OPERATION, "fare"], **query).to_arrow()
    return sorted(map(tuple, map(dict.values, found.to_pylist())))


def blocks(table):
    """The blocks of all logs: their kinds, keys and operations."""
    found = []
    for path in sorted(Path(table.uri).glob("*/.*.log.*")):
        if path.name.endswith(".crc"):
            continue
        log = mortice.LogFile(path)
        for block in log.blocks():
            if block.type == "DELETE_BLOCK":
                found.append((block.type, log.deletes(block)["record_key"].to_pylist(), None))
            else:
                rows = log.records(block)
                found.append((block.type, rows[KEY].to_pylist(), rows[OPERATION].to_pylist()))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_deletes_of_a_changelog_delete_and_other_rows_keep_their_operation(tmp_path, kind):
    table, _ = written(tmp_path / "t", kind)
    assert rows_of(table) == EXPECTED
    assert mortice.Table(table.uri).schema.names[5:] == [OPERATION, *SCHEMA.names]
    assert rows_of(table, filters=[(OPERATION, "=", "U")]) == EXPECTED[:1]
    for path in Path(table.uri).glob("*/*.parquet"):
        assert pq.read_schema(path).names[5] == OPERATION


@pytest.mark.parametrize("kind", ON_READ)
def test_logs_have_deletes_as_rows(tmp_path, kind):
    """Readers of the changelog see them there, with all columns."""
    table, _ = written(tmp_path / "t", kind)
    ((_, keys, operations),) = [found for found in blocks(table) if "b" in found[1]]
    # A global index merges rows with the stored ones before they are written: the late delete is none.
    late = "I" if kind == "record-index" else "D"
    assert dict(zip(keys, operations, strict=True)).items() >= {"a": "U", "b": "D", "c": "-U", "d": late}.items()
    assert not [found for found in blocks(table) if found[0] == "DELETE_BLOCK"]


@pytest.mark.parametrize("kind", KINDS)
def test_commits_do_not_name_the_column_in_their_schema(tmp_path, kind):
    """As in Hudi, whose next write on Spark would miss the column in its rows."""
    table, _ = written(tmp_path / "t", kind)
    for instant in mortice.Table(table.uri).timeline:
        extra = mortice.Table(table.uri).timeline.metadata(instant)["extraMetadata"]
        names = [field["name"] for field in json.loads(extra["schema"])["fields"]]
        assert names == SCHEMA.names


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_the_column_and_table_services_keep_it(tmp_path, kind):
    table, options = written(tmp_path / "t", kind)
    plain = {name: value for name, value in options.items() if name not in ALLOWED}
    table.upsert(changes(("x", "e", 3.0, 3)).drop_columns([OPERATION]), plain)
    expected = [("a", "U", 2.0), ("d", "I", 1.0), ("e", None, 3.0), ("f", "I", 1.0), ("g", "I", 2.0)]
    by_key = lambda row: row[0]  # noqa: E731

    def found():
        rows = mortice.Table(table.uri).snapshot(columns=["id", OPERATION, "fare"]).to_arrow().to_pylist()
        return sorted(map(tuple, map(dict.values, rows)), key=by_key)

    assert found() == expected
    if kind in ON_READ:
        if kind != "parquet-logs":
            table.log_compact(options={"hoodie.log.compaction.blocks.threshold": "1"})
            assert found() == expected
        table.compact()
        assert found() == expected
    if kind != "bucket":
        table.cluster(options={"hoodie.clustering.plan.strategy.small.file.limit": "1000000"})
        assert found() == expected
    table.delete(pa.table({"id": ["a"], "city": ["oslo"]}), plain)
    table.upsert(changes(("D", "f", 9.0, 9)), plain)
    assert found() == [row for row in expected if row[0] not in "af"]
    assert not mortice.Table(table.uri).verify(keys=True).findings


def test_a_key_that_a_changelog_deletes_can_be_inserted_elsewhere(tmp_path):
    table, options = written(tmp_path / "t", "record-index")
    moved = changes(("I", "b", 5.0, 5)).set_column(2, "city", pa.array(["rome"]))
    table.upsert(moved, options)
    assert ("b", "I", 5.0) in rows_of(table)
    assert mortice.Table(table.uri).snapshot(filters=[("id", "=", "b")]).count() == 1


def test_incremental_queries_return_the_deletes(tmp_path):
    table, _ = written(tmp_path / "t", "mor-9")
    opened = mortice.Table(table.uri)
    begin = opened.timeline[0].completion_time
    columns = ["id", OPERATION, "fare"]
    rows = opened.incremental(begin, columns=columns).to_arrow().to_pylist()
    assert sorted(map(tuple, map(dict.values, rows))) == [("a", "U", 2.0), ("g", "I", 2.0)]
    marked = opened.incremental(begin, columns=["id", OPERATION], emit_deletes=True).to_arrow().to_pylist()
    assert {row["id"]: row[OPERATION] for row in marked}.items() >= {"a": "U", "b": "D", "c": "D", "g": "I"}.items()


def test_all_rows_of_a_changelog_are_kept_in_their_order(tmp_path):
    """Hudi's Flink writer does not combine the rows of a checkpoint either."""
    table, options = created(tmp_path / "t", "bucket", ordering=None)
    options |= {"hoodie.combine.before.upsert": "false"}
    # Keys that are new are combined, as their file group begins with a base file: "c" is gone.
    table.upsert(
        changes(("I", "a", 1.0, 1), ("I", "b", 1.0, 1), ("U", "b", 1.5, 1), ("I", "c", 1.0, 1), ("D", "c", 1.0, 1)),
        options,
    )
    assert rows_of(table) == [("a", "I", 1.0), ("b", "U", 1.5)]
    second = [("-U", "a", 1.0, 1), ("U", "a", 2.0, 1), ("D", "b", 1.5, 1), ("I", "b", 3.0, 1)]
    third = [("-U", "a", 2.0, 1), ("U", "a", 4.0, 1), ("D", "a", 4.0, 1)]
    table.upsert(changes(*second), options)
    table.upsert(changes(*third), options)
    logged = [
        (key, operation)
        for _, keys, operations in blocks(table)
        for key, operation in zip(keys, operations, strict=True)
    ]
    for key in "ab":
        given = [operation for operation, one, *_ in (*second, *third) if one == key]
        assert [operation for one, operation in logged if one == key] == given
    assert rows_of(table) == [("b", "I", 3.0)]
    table.compact()
    assert rows_of(table) == [("b", "I", 3.0)]


@pytest.mark.parametrize("last", ["-U", "D"])
def test_rows_of_one_key_become_the_last_one_with_its_operation(tmp_path, last):
    table, options = created(tmp_path / "t")
    table.upsert(changes(("I", "a", 1.0, 1), ("I", "b", 1.0, 1)), options)
    table.upsert(changes(("U", "a", 2.0, 2), (last, "a", 3.0, 3), ("D", "b", 2.0, 2), ("I", "b", 3.0, 3)), options)
    ((_, keys, operations),) = blocks(table)
    assert dict(zip(keys, operations, strict=True)) == {"a": last, "b": "I"}
    assert rows_of(table) == [("b", "I", 3.0)]


def test_change_logs_of_change_data_capture_have_no_meta_columns(tmp_path):
    table, options = created(tmp_path / "t", "cow-9", properties={"hoodie.table.cdc.enabled": "true", **CDC_IMAGES})
    table.upsert(changes(("I", "a", 1.0, 1), ("I", "b", 1.0, 1)), options)
    table.upsert(changes(("U", "a", 2.0, 2), ("D", "b", 2.0, 2)), options)
    (path,) = [path for path in Path(table.uri).glob("*/.*.cdc*") if not path.name.endswith(".crc")]
    log = mortice.LogFile(path)
    rows = [row for block in log.blocks() for row in log.records(block).to_pylist()]
    assert sorted((row["op"], row["before"]["id"]) for row in rows) == [("d", "b"), ("u", "a")]
    assert all(set(image) == set(SCHEMA.names) for row in rows for image in (row["before"], row["after"]) if image)


CDC_IMAGES = {"hoodie.table.cdc.supplemental.logging.mode": "data_before_after"}


def test_what_is_no_changelog_is_refused_before_anything_is_written(tmp_path):
    table, _ = created(tmp_path / "t")
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.allow\.operation\.metadata\.field=true"):
        table.upsert(changes(("I", "a", 1.0, 1)))
    with pytest.raises(InvalidArgumentError, match=r"row 1, .*'?\"?x\"? is no operation"):
        table.upsert(changes(("I", "a", 1.0, 1), ("x", "b", 1.0, 1)), ALLOWED)
    assert not list(mortice.Table(table.uri).timeline)
    for write in (table.insert, table.insert_overwrite, table.bulk_insert):
        with pytest.raises(InvalidArgumentError, match=r"row 1, .*looks for none; use upsert"):
            write(changes(("I", "a", 1.0, 1), ("D", "b", 1.0, 1)), ALLOWED)
    assert {instant.action for instant in mortice.Table(table.uri).timeline} <= {"rollback"}
    assert not list(Path(table.uri).glob("*/*.parquet"))
    table.insert(changes(("I", "a", 1.0, 1), ("U", "b", 1.0, 1)), ALLOWED)
    assert rows_of(table) == [("a", "I", 1.0), ("b", "U", 1.0)]
    # Keys to delete may come with the operations of the rows that were read.
    table.delete(changes(("I", "a", 1.0, 1)), {})
    assert rows_of(table) == [("b", "U", 1.0)]


def test_merges_and_soft_deletes_of_such_a_table(tmp_path):
    table, _ = written(tmp_path / "t", "mor-9")
    table.merge_into(
        pa.table({"id": ["a", "n"], "city": ["oslo", "oslo"], "fare": [7.0, 8.0], "ts": [9, 9]}),
        when_matched_update=["fare"],
    )
    found = mortice.Table(table.uri).snapshot(columns=["id", "fare"]).to_arrow().to_pylist()
    assert {row["id"]: row["fare"] for row in found} == {"a": 7.0, "d": 1.0, "e": 1.0, "f": 1.0, "g": 2.0, "n": 8.0}
    table.soft_delete(pa.table({"id": ["d"], "city": ["oslo"], "ts": [20]}))
    (row,) = (
        mortice.Table(table.uri).snapshot(columns=["id", "fare"], filters=[("id", "=", "d")]).to_arrow().to_pylist()
    )
    assert row["fare"] is None
