"""Tables whose files declare timestamps under another type than the schema: the numbers are in the schema's unit."""

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from mortice.errors import InvalidArgumentError, UnsupportedError
from support.tables.declared import avro, declare

NO_METADATA = {"hoodie.metadata.enable": "false"}
PARQUET_LOGS = {"hoodie.logfile.data.block.format": "parquet"}
UTC = pa.timestamp("us", "UTC")

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int64()),
        ("at", UTC),
        ("local_ms", pa.int64()),
        ("local_us", pa.int64()),
        ("st", pa.struct([("t", UTC), ("local", pa.int64()), ("plain", pa.int64())])),
        ("li", pa.list_(pa.int64())),
        ("ma", pa.map_(pa.string(), pa.int64())),
    ]
)
RECORD = {
    "type": "record",
    "name": "st",
    "fields": [
        {"name": "t", "type": avro("timestamp-millis"), "default": None},
        {"name": "local", "type": avro("local-timestamp-micros"), "default": None},
        {"name": "plain", "type": ["null", "long"], "default": None},
    ],
}
DECLARED = {
    "at": avro("timestamp-millis"),
    "local_ms": avro("local-timestamp-millis"),
    "local_us": avro("local-timestamp-micros"),
    "st": ["null", RECORD],
    "li": ["null", {"type": "array", "items": avro("local-timestamp-millis")}],
    "ma": ["null", {"type": "map", "values": avro("local-timestamp-millis")}],
}


def stored(*rows):
    """Rows of `(id, number)` as they are written, before the schema is changed."""
    columns = {
        "id": [key for key, _ in rows],
        "n": [number for _, number in rows],
        "at": pa.array([number for _, number in rows], UTC),
        "local_ms": [number for _, number in rows],
        "local_us": [number for _, number in rows],
        "st": [{"t": number, "local": number, "plain": number} for _, number in rows],
        "li": [[number, None] for _, number in rows],
        "ma": [{"k": number} for _, number in rows],
    }
    return pa.table(columns, schema=COLUMNS)


def expected(*rows):
    """The same rows by the units of the schema that they have then."""

    def row(key, number):
        zone = dt.timezone.utc
        millis, micros = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=number), dt.datetime(1970, 1, 1)
        micros += dt.timedelta(microseconds=number)
        return {
            "id": key,
            "n": number,
            "at": millis.replace(tzinfo=zone),
            "local_ms": millis,
            "local_us": micros,
            "st": {"t": millis.replace(tzinfo=zone), "local": micros, "plain": number},
            "li": [millis, None],
            "ma": [("k", millis)],
        }

    return [row(key, number) for key, number in sorted(rows)]


def content(scan):
    rows = scan.to_arrow().select(COLUMNS.names).to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def new_table(path, version=6, table_type="COPY_ON_WRITE", **more):
    return mortice.create_table(
        path, COLUMNS, name="t", record_key="id", ordering="n", version=version, table_type=table_type, **more
    )


KINDS = {
    "base-6": (6, "COPY_ON_WRITE", {}),
    "base-9": (9, "COPY_ON_WRITE", {}),
    "avro-log-6": (6, "MERGE_ON_READ", {}),
    "avro-log-9": (9, "MERGE_ON_READ", {}),
    "parquet-log-8": (8, "MERGE_ON_READ", PARQUET_LOGS),
    "parquet-log-9": (9, "MERGE_ON_READ", PARQUET_LOGS),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def mislabelled(request, tmp_path):
    """A table of three commits, two of them updates; the instants of its commits; and its type."""
    version, table_type, options = request.param
    table = new_table(tmp_path / "t", version, table_type)
    times = [
        table.upsert(stored(*rows), NO_METADATA | options).instant
        for rows in ([("a", 1), ("b", 1577836799999), ("c", -1)], [("a", 2)], [("b", 1577836800001)])
    ]
    declare(tmp_path / "t", DECLARED)
    return tmp_path / "t", times, table_type


LATEST = [("a", 2), ("b", 1577836800001), ("c", -1)]


def test_queries_have_the_values_of_the_schema(mislabelled):
    path, times, _ = mislabelled
    table = mortice.Table(path)
    assert content(table.snapshot()) == expected(*LATEST)
    assert content(table.snapshot(as_of=times[0])) == expected(("a", 1), ("b", 1577836799999), ("c", -1))
    ends = [one.completion_time or one.requested_time for one in table.timeline.completed]
    assert content(table.incremental(ends[1], ends[2])) == expected(("b", 1577836800001))
    for row in expected(*LATEST):
        for column in ("at", "local_ms", "local_us"):
            found = table.snapshot(filters=[(column, "=", row[column])])
            assert content(found) == [row], column
            found = table.snapshot(filters=[(column, ">", row[column])])
            assert content(found) == [other for other in expected(*LATEST) if other["n"] > row["n"]], column


def test_rewritten_files_have_the_values_and_types_of_the_schema(mislabelled):
    path, _, table_type = mislabelled
    table = mortice.Table(path)
    before = set(path.glob("*.parquet"))
    rows = table.snapshot(filters=[("id", "=", "c")]).to_arrow().select(COLUMNS.names)
    table.upsert(rows, NO_METADATA)
    if table_type == "MERGE_ON_READ":
        table.compact(NO_METADATA | {"hoodie.compact.inline.max.delta.commits": "1"})
    assert content(mortice.Table(path).snapshot()) == expected(*LATEST)
    (rewritten,) = set(path.glob("*.parquet")) - before
    schema = pq.read_schema(rewritten)
    assert schema.field("at").type == pa.timestamp("ms", "UTC")
    assert (schema.field("local_ms").type, schema.field("local_us").type) == (pa.timestamp("ms"), pa.timestamp("us"))
    assert schema.field("st").type.field("t").type == pa.timestamp("ms", "UTC")
    numbers = pq.read_table(rewritten, columns=["id", "at"])["at"].cast(pa.int64())
    assert sorted(numbers.to_pylist()) == sorted(number for _, number in LATEST)


def test_row_groups_are_pruned_by_the_values_of_the_schema(tmp_path):
    table = new_table(tmp_path / "t")
    table.upsert(stored(*((f"{at:03}", at) for at in range(400))), NO_METADATA)
    (file,) = (tmp_path / "t").glob("*.parquet")
    # Of four row groups, each of a hundred rows; times by their annotations, not by pyarrow's schema.
    pq.write_table(pq.read_table(file), file, row_group_size=100, store_schema=False)
    declare(tmp_path / "t", DECLARED)
    table = mortice.Table(tmp_path / "t")
    for column in ("at", "local_ms", "local_us"):
        (wanted,) = expected(("150", 150))
        scan = table.snapshot(columns=["id"], filters=[(column, "=", wanted[column])])
        assert scan.to_arrow().to_pylist() == [{"id": "150"}]
        assert scan.report()["row_groups_pruned"] == 3, column


@pytest.mark.parametrize("version", [8, 9])
def test_column_statistics_of_mislabelled_files_leave_out_no_row(tmp_path, version):
    columns = COLUMNS.insert(0, pa.field("part", pa.string()))
    path = tmp_path / "t"
    table = mortice.create_table(
        path, columns, name="t", record_key="id", partition_by="part", ordering="n", version=version
    )
    statistics = {"hoodie.metadata.index.column.stats.enable": "true"}
    for part, number in (("x", 5), ("y", 7)):
        rows = stored((part, number))
        table.upsert(rows.add_column(0, "part", pa.array([part])), statistics)
    declare(path, DECLARED)
    table = mortice.Table(path)
    for row in expected(("x", 5), ("y", 7)):
        for column in ("at", "local_ms", "local_us"):
            assert content(table.snapshot(filters=[(column, "=", row[column])])) == [row], (column, row["id"])


def test_built_statistics_are_in_the_unit_of_the_schema(tmp_path):
    path = tmp_path / "t"
    table = new_table(path, 9)
    table.upsert(stored(("a", 5), ("b", 1577836800001)), NO_METADATA)
    declare(path, DECLARED)
    table = mortice.Table(path)
    table.build_metadata({"hoodie.metadata.index.column.stats.enable": "true"})
    metadata = mortice.Table(path / ".hoodie" / "metadata")
    records = metadata.snapshot(columns=["ColumnStatsMetadata"]).to_arrow()["ColumnStatsMetadata"].to_pylist()
    found = {one["columnName"]: one for one in records if one and one["columnName"] in DECLARED}
    for column in ("at", "local_ms", "local_us"):
        bounds = [
            next(value["value"] for value in found[column][bound].values() if value and value["value"] is not None)
            for bound in ("minValue", "maxValue")
        ]
        assert bounds == [5, 1577836800001], column


def test_what_is_no_timestamp_is_refused_by_file_and_column(tmp_path):
    table = new_table(tmp_path / "t")
    table.upsert(stored(("a", 1)), NO_METADATA)
    declare(tmp_path / "t", {"id": avro("timestamp-millis"), "n": avro("timestamp-millis")})
    for column in ("id", "n"):
        with pytest.raises(UnsupportedError, match=rf"column {column}: cannot convert .*\.parquet"):
            mortice.Table(tmp_path / "t").snapshot(columns=[column]).to_arrow()


def test_microseconds_stay_in_lists_that_no_avro_writer_wrote(tmp_path):
    schema = pa.schema([("id", pa.string()), ("li", pa.list_(UTC))])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", version=6)
    table.bulk_insert(pa.table({"id": ["a"], "li": [[1001]]}, schema=schema), NO_METADATA)
    declare(tmp_path / "t", {"li": ["null", {"type": "array", "items": avro("timestamp-millis")}]})
    table = mortice.Table(tmp_path / "t")
    assert table.snapshot().to_arrow()["li"].cast(pa.list_(pa.int64())).to_pylist() == [[1001]]
    with pytest.raises(InvalidArgumentError, match=r"li\.element: 1001 is no whole number of milliseconds"):
        table.cluster(NO_METADATA | {"hoodie.clustering.inline.max.commits": "1"})
