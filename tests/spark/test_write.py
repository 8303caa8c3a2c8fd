"""`mortice.spark.write`: the same table as the same rows written in one process; modes, new tables, errors."""

import datetime
import pathlib
import zipfile

import pyarrow as pa
import pytest
from pyspark.sql import types

import mortice
import mortice.spark
from mortice.errors import (
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from mortice.spark.settings.write_options import DRIVER_BYTES
from mortice.spark.writing import write_stages

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
DDL = "id string, city string, fare double, ts bigint"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"}
RECORD_INDEX = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": "true"}
MOVES = {"hoodie.record.index.update.partition.path": "true"}
KINDS = {
    "simple": ("MERGE_ON_READ", 9, {}),
    "simple-6": ("MERGE_ON_READ", 6, {}),
    "bloom-cow": ("COPY_ON_WRITE", 9, {"hoodie.index.type": "BLOOM"}),
    "simple-cow-6": ("COPY_ON_WRITE", 6, {}),
    "global": ("MERGE_ON_READ", 9, {"hoodie.index.type": "GLOBAL_SIMPLE"}),
    "global-bloom-cow": ("COPY_ON_WRITE", 9, {"hoodie.index.type": "GLOBAL_BLOOM"}),
    "bucket": ("MERGE_ON_READ", 9, BUCKETS),
    "bucket-6": ("MERGE_ON_READ", 6, BUCKETS),
    "record-index": ("MERGE_ON_READ", 9, {**RECORD_INDEX, **MOVES}),
}
ON_EACH_SPARK = ("bloom-cow", "bucket-6", "record-index")
BY_TASKS, BY_DRIVER = "0", "1000000"
# Their index, table type, table version and place of the work are each that of another kind, in another combination.
COMBINATIONS = {
    *(("simple-6", BY_TASKS), ("simple-cow-6", BY_TASKS), ("bucket", BY_TASKS)),
    *(("global", BY_TASKS), ("global", BY_DRIVER)),
}


def marks_of(kind, driver_bytes):
    if (kind, driver_bytes) in COMBINATIONS:
        return (pytest.mark.newest, pytest.mark.slow)
    return () if kind in ON_EACH_SPARK else pytest.mark.newest


EACH_KIND = [
    pytest.param(kind, driver_bytes, marks=marks_of(kind, driver_bytes))
    for kind, driver_bytes in [
        *((kind, BY_TASKS) for kind in KINDS),
        *((kind, BY_DRIVER) for kind in ("bloom-cow", "global", "bucket-6", "record-index")),
    ]
]


def table_options(table_type="MERGE_ON_READ", version=9, **further):
    return {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.write.table.version": str(version),
        **further,
    }


def frame(spark, rows, partitions=2):
    return spark.createDataFrame(rows, DDL).coalesce(partitions)


def rows_of(path):
    """The rows of a snapshot, with what does not depend on how they were written."""
    kept = ["_hoodie_record_key", "_hoodie_partition_path", *SCHEMA.names]
    found = mortice.Table(path).snapshot(columns=kept).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["_hoodie_record_key"], row["_hoodie_partition_path"]))


def leftovers(path):
    """Markers, open marks and heartbeats: nothing of these may be left."""
    folders = [pathlib.Path(path, ".hoodie", name) for name in (".temp", ".aux/open_writes", ".heartbeat")]
    return [str(file) for folder in folders for file in folder.rglob("*") if file.is_file()]


def history():
    """Steps of a table: operation and rows. Keys are updated late and in time, deleted, moved and twice in a batch."""
    first = [(f"k{n:03}", ["oslo", "rome", "lima"][n % 3], float(n), 10) for n in range(120)]
    second = [(f"k{n:03}", ["oslo", "rome", "lima"][n % 3], n + 0.5, 5 if n % 7 == 0 else 20) for n in range(0, 60, 2)]
    second += [("k003", "oslo", 1.0, 30), ("k003", "oslo", 2.0, 31), ("k003", "oslo", 3.0, 29)]
    second += [(f"n{n:03}", "oslo", float(n), 1) for n in range(40)]
    moved = [(f"k{n:03}", "bern", n + 0.75, 40 if n % 2 else 1) for n in range(10)]
    return [
        ("upsert", first),
        ("upsert", second),
        ("delete", [row[:2] for row in first[60:70]]),
        ("upsert", moved),
        ("insert", [(f"i{n}", "bern", 1.0, 1) for n in range(5)]),
        ("upsert", [("k060", "oslo", 9.0, 50), *((f"k{n:03}", "rome", 0.0, 60) for n in (1, 4))]),
        ("insert_overwrite", [(f"o{n}", ["rome", "kyiv"][n % 2], 1.0, 70) for n in range(9)]),
        ("upsert", [(f"o{n}", ["rome", "kyiv"][n % 2], 2.0, 80) for n in range(0, 12, 3)]),
        ("insert_overwrite_table", [(f"t{n}", ["rome", "oslo"][n % 2], 3.0, 90) for n in range(7)]),
        ("upsert", [(f"t{n}", ["rome", "oslo"][n % 2], 4.0, 91) for n in range(5, 9)]),
    ]


def arrow(rows):
    names = SCHEMA.names[: len(rows[0])]
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows], schema=pa.schema([SCHEMA.field(name) for name in names])
    )


@pytest.mark.parametrize(("kind", "driver_bytes"), EACH_KIND)
def test_the_table_is_that_of_the_same_rows_written_in_one_process(spark, tmp_path, kind, driver_bytes):
    table_type, version, options = KINDS[kind]
    of_spark = table_options(table_type, version, **options, **{DRIVER_BYTES: driver_bytes})
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    table = mortice.create_table(
        here, SCHEMA, name="trips", record_key="id", partition_by="city", ordering="ts", table_type=table_type,
        version=version,
    )  # fmt: skip
    for operation, rows in history():
        expected = getattr(table, operation)(arrow(rows), options=options)
        given = frame(spark, rows) if len(rows[0]) == 4 else spark.createDataFrame(rows, "id string, city string")
        commit = mortice.spark.write(given, there, operation, options=of_spark)
        assert rows_of(there) == rows_of(here), operation
        counts = (commit.operation, commit.inserts, commit.updates, commit.deletes)
        assert counts == (expected.operation, expected.inserts, expected.updates, expected.deletes), operation
        assert leftovers(there) == []
    own, other = (mortice.Table(path).properties for path in (here, there))
    for name in ("hoodie.table.type", "hoodie.table.version", "hoodie.table.recordkey.fields"):
        assert own[name] == other[name]


def test_few_rows_are_written_by_the_driver(spark, path, monkeypatch):
    steps = []

    def recorded(name, step):
        def record(*given):
            steps.append(name)
            return step(*given)

        return record

    for name in ("tag", "write", "to_driver"):
        monkeypatch.setattr(write_stages.Frames, name, recorded(name, getattr(write_stages.Frames, name)))
    rows = frame(spark, [(f"k{n}", "oslo", float(n), 1) for n in range(10)])
    here, by_tasks = ["to_driver"], ["tag", "write"]
    for driver_bytes, expected in [(None, here), ("0", by_tasks), ("100", by_tasks), (10**6, here)]:
        further = {} if driver_bytes is None else {DRIVER_BYTES: driver_bytes}
        commit = mortice.spark.write(rows, path, options=table_options(**further))
        assert commit.updates + commit.inserts == 10
        assert steps == expected
        steps.clear()
    for wrong in ("-1", "32 MB", ""):
        with pytest.raises(InvalidArgumentError, match=DRIVER_BYTES):
            mortice.spark.write(rows, path, options=table_options(**{DRIVER_BYTES: wrong}))
    assert mortice.Table(path).count() == 11


@pytest.fixture
def path(spark, tmp_path):
    """A table with one row."""
    path = str(tmp_path / "trips")
    mortice.spark.write(frame(spark, [("a", "oslo", 1.0, 1)], 1), path, options=table_options())
    return path


def test_modes_are_those_of_spark(spark, tmp_path, path):
    rows = frame(spark, [("b", "oslo", 1.0, 1)], 1)
    assert mortice.spark.write(rows, path, mode="ignore") is None
    for mode in ("errorifexists", "error"):
        with pytest.raises(TableExistsError, match="errorifexists"):
            mortice.spark.write(rows, path, mode=mode)
    with pytest.raises(UnsupportedError, match="insert_overwrite_table"):
        mortice.spark.write(rows, path, mode="overwrite")
    with pytest.raises(InvalidArgumentError, match="append"):
        mortice.spark.write(rows, path, "delete", mode="ignore")
    with pytest.raises(InvalidArgumentError, match="mode must be one of"):
        mortice.spark.write(rows, path, mode="replace")
    assert [row["id"] for row in rows_of(path)] == ["a"]
    mortice.spark.write(rows, path, "insert_overwrite_table", mode="overwrite")
    assert [row["id"] for row in rows_of(path)] == ["b"]
    created = str(tmp_path / "new")
    commit = mortice.spark.write(rows, created, mode="overwrite", options=table_options())
    assert (commit.inserts, [row["id"] for row in rows_of(created)]) == (1, ["b"])


def test_what_cannot_be_written_is_refused_by_name(spark, tmp_path, path):
    rows = frame(spark, [("b", "oslo", 1.0, 1)], 1)
    with pytest.raises(mortice.InvalidArgumentError, match=r"needs hoodie\.datasource\.write\.partitions"):
        mortice.spark.write(rows, path, "delete_partition")
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.table\.name is missing"):
        mortice.spark.write(rows, str(tmp_path / "nothing"))
    with pytest.raises(TableNotFoundError):
        mortice.spark.write(rows, str(tmp_path / "nothing"), "delete")
    not_text = spark.sql("select 'a' id, cast(x'ff' as string) city, 1.0D fare, 1L ts")
    with pytest.raises(InvalidArgumentError, match='column "city": value 0 is not UTF-8'):
        mortice.spark.write(not_text, path)
    with pytest.raises(InvalidArgumentError, match=r'column "id": the record key is null or empty.*data frame'):
        mortice.spark.write(frame(spark, [("c", "oslo", 1.0, 1), (None, "oslo", 1.0, 1)], 1), path)
    with pytest.raises(InvalidArgumentError, match=r"hoodie\.idnex\.type"):
        mortice.spark.write(rows, path, options={"hoodie.idnex.type": "BLOOM"})
    timeline = [(one.action, one.state) for one in mortice.Table(path).timeline]
    assert timeline == [("deltacommit", "COMPLETED")]
    assert not (tmp_path / "nothing").exists()


def test_large_types_of_arrow_are_written(spark, path):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        rows = frame(spark, [("a", "oslo", 2.0, 2), ("b", "rome", 1.0, 1)])
        commit = mortice.spark.write(rows, path)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert (commit.inserts, commit.updates) == (1, 1)
    assert [(row["id"], row["fare"]) for row in rows_of(path)] == [("a", 2.0), ("b", 1.0)]


KEYED = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}


def test_columns_that_cannot_be_written_create_no_table(spark, tmp_path):
    path = tmp_path / "t"
    refused = {"2 a, 3 a": InvalidArgumentError, "interval '1' year a": UnsupportedError, "map() a": UnsupportedError}
    if hasattr(types, "VariantType"):
        refused["parse_json('1') a"] = UnsupportedError
        refused["array(struct(parse_json('1') as v)) a"] = UnsupportedError
    if hasattr(types, "TimeType"):
        refused["time'12:30:00' a"] = InvalidArgumentError
    for columns, error in refused.items():
        with pytest.raises(error, match=r"\ba\b"):
            mortice.spark.write(spark.sql(f"select 1 id, {columns}"), str(path), options=KEYED)
        assert not path.exists(), columns


@pytest.mark.parametrize("columns", ["interval '1' year x", "map() x"])
def test_types_that_arrow_lacks_are_refused_by_name_except_in_deletes(spark, tmp_path, columns):
    path = str(tmp_path / "t")
    mortice.spark.write(spark.sql("select 1 id, 2 a"), path, options=KEYED)
    with pytest.raises(UnsupportedError, match=r"column 'x' has the type .* does not convert to Arrow"):
        mortice.spark.write(spark.sql(f"select 1 id, 3 a, {columns}"), path)
    commit = mortice.spark.write(spark.sql(f"select 1 id, {columns}, null y"), path, "delete")
    assert commit.deletes == 1


def test_a_first_write_that_fails_leaves_the_columns_to_the_next_one(spark, tmp_path):
    path = str(tmp_path / "t")
    refused = spark.sql("select cast(null as int) id, 2 a, 'x' b")
    with pytest.raises(InvalidArgumentError, match="record key"):
        mortice.spark.write(refused, path, options=KEYED)
    assert mortice.Table(path).snapshot().to_arrow().num_rows == 0
    mortice.spark.write(spark.sql("select 1 id, 'text' a"), path, options=KEYED)
    found = mortice.Table(path).snapshot(columns=["id", "a"]).to_arrow()
    assert found.to_pylist() == [{"id": 1, "a": "text"}]
    assert "b" not in mortice.Table(path).schema.names
    # A table that was written to keeps its columns.
    with pytest.raises(InvalidArgumentError, match="row 0, field id: null"):
        mortice.spark.write(spark.sql("select cast(null as int) id, 'text' a"), path)
    assert mortice.Table(path).schema.field("a").type == pa.string()


def test_columns_change_only_if_that_is_asked_for(spark, tmp_path):
    path = str(tmp_path / "t")
    mortice.spark.write(spark.sql("select 1 id, nullif(2, 0) a"), path, options=KEYED)
    mortice.spark.write(spark.sql("select 2 id, cast(null as double) a union all select 3, 7.0D"), path)
    wider = spark.sql("select 4 id, 5000000000L a, 'x' b")
    with pytest.raises(InvalidArgumentError, match='no column "b"'):
        mortice.spark.write(wider, path)
    with pytest.raises(InvalidArgumentError, match='column "a": the value 5000000000'):
        mortice.spark.write(wider.drop("b"), path)
    assert mortice.Table(path).schema.field("a").type == pa.int32()
    changes = mortice.spark.write(wider, path, schema="evolve").schema_changes
    assert [(change.column, change.before, change.after) for change in changes] == [
        ("a", pa.int32(), pa.int64()),
        ("b", None, pa.string()),
    ]
    found = mortice.Table(path).snapshot(columns=["id", "a", "b"]).to_arrow().sort_by("id").to_pydict()
    assert found == {"id": [1, 2, 3, 4], "a": [2, None, 7, 5000000000], "b": [None] * 3 + ["x"]}


@pytest.mark.spark4
def test_variants_are_written_to_variants_alone(spark, tmp_path):
    folder = pathlib.Path(__file__).parents[1] / "data/h12_test_jar_variant_mor_spark"
    zipfile.ZipFile(folder / "table.zip").extractall(tmp_path)
    path, file = str(tmp_path), tmp_path / ".hoodie/hoodie.properties"
    # The archive does not have the metadata table.
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("hoodie.table.metadata.partitions")]
    file.write_text("".join(kept), encoding="utf-8")
    before = mortice.spark.read(spark, path, columns=["id", "name", "v", "ts"])
    off = {"hoodie.metadata.enable": "false"}
    row = spark.sql("select 77 id, 'new' name, parse_json('[1, null]') v, 5L ts")
    assert row.schema.simpleString() == before.schema.simpleString()
    mortice.spark.write(row, path, options=off)
    after = mortice.spark.read(spark, path, columns=["id", "v"])
    assert after.schema.simpleString() == "struct<id:int,v:variant>"
    assert [tuple(one) for one in after.where("id = 77").selectExpr("to_json(v)").collect()] == [("[1,null]",)]
    with pytest.raises(UnsupportedError, match=r"column 'w' has the type variant.*to_json"):
        mortice.spark.write(row.selectExpr("*", "v as w"), path, options=off, schema="add")


def test_the_batch_size_of_a_session_is_put_back(spark):
    """Two Python sessions may be one in the JVM."""
    name = write_stages.BATCH_ROWS
    before = spark.conf.get(name)
    other = type(spark)(spark.sparkContext, spark._jsparkSession)
    with write_stages._small_batches(spark):
        with write_stages._small_batches(other):
            assert spark.conf.get(name) == "32"
        assert spark.conf.get(name) == "32"
    assert spark.conf.get(name) == before
    first, second = write_stages._small_batches(spark), write_stages._small_batches(other)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert spark.conf.get(name) == before


def test_timestamps_are_cast_to_those_of_the_table_in_the_time_zone_of_the_session(spark, tmp_path):
    schema = pa.schema([("id", pa.string()), ("at", pa.timestamp("us", "UTC")), ("wall", pa.timestamp("us"))])
    path = str(tmp_path / "times")
    mortice.create_table(path, schema, name="times", record_key="id")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        both = "SELECT 'a' id, TIMESTAMP'2024-07-01 12:00:00' at, TIMESTAMP_NTZ'2024-07-01 12:00:00' wall"
        swapped = "SELECT 'b' id, TIMESTAMP_NTZ'2024-07-01 12:00:00' at, TIMESTAMP'2024-07-01 12:00:00' wall"
        for query in (both, swapped):
            mortice.spark.write(spark.sql(query), path)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    rows = mortice.Table(path).snapshot(columns=["id", "at", "wall"]).to_arrow().to_pylist()
    noon = datetime.datetime(2024, 7, 1, 12)
    expected = (noon.replace(hour=16, tzinfo=datetime.timezone.utc), noon)
    assert sorted((row["id"], (row["at"], row["wall"])) for row in rows) == [("a", expected), ("b", expected)]


def test_partitions_that_an_option_names_are_deleted(spark, tmp_path):
    path = str(tmp_path / "trips")
    rows = spark.createDataFrame([("a", "x"), ("b", "y"), ("c", "z")], "id string, city string")
    options = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
    }
    mortice.spark.write(rows, path, options=options)
    options |= {
        "hoodie.datasource.write.operation": "delete_partition",
        "hoodie.datasource.write.partitions.to.delete": "x, y",
    }
    assert mortice.spark.write(rows.limit(0), path, options=options).operation == "DELETE_PARTITION"
    assert mortice.Table(path)["id"].to_pylist() == ["c"]
