"""`mortice.spark.merge_into`: the table is that of `Table.merge_into`; validators of `mortice.spark.write`."""

import datetime as dt
import pathlib
from decimal import Decimal

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.errors import FileCleanedError, InvalidArgumentError, TableNotFoundError, UnsupportedError
from mortice.spark.execution import data_frame as data_frame_module

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("ts", pa.int64()),
        ("tags", pa.list_(pa.string())),
    ]
)
CHANGES = SCHEMA.remove(4).append(pa.field("op", pa.string()))
DDL = "id string, city string, fare double, ts bigint, op string"


def table_at(path):
    table = mortice.create_table(path, SCHEMA, name="t", record_key="id", partition_by="city", ordering="ts")
    given = [{"id": f"k{n}", "city": ("oslo", "rome")[n % 2], "fare": 1.0, "ts": 10, "tags": ["x"]} for n in range(40)]
    table.upsert(pa.Table.from_pylist(given, schema=SCHEMA))
    return table


def rows_of(path):
    found = mortice.Table(path).snapshot(columns=SCHEMA.names).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["id"], row["city"]))


def changes():
    return [(f"k{n}", ("oslo", "rome")[n % 2], n / 2, 11, "D" if n % 5 == 0 else "U") for n in range(20, 60)]


@pytest.mark.parametrize("update", [None, ["fare"], pytest.param([], marks=pytest.mark.newest)], ids=str)
@pytest.mark.parametrize("not_matched", ["insert", pytest.param("ignore", marks=pytest.mark.newest)])
def test_the_table_is_that_of_a_merge_in_one_process(spark, tmp_path, update, not_matched):
    here, there = table_at(tmp_path / "here"), table_at(tmp_path / "there")
    arrow = pa.Table.from_pylist([dict(zip(CHANGES.names, row, strict=True)) for row in changes()], schema=CHANGES)
    clauses = {"when_matched_update": update, "when_not_matched": not_matched}
    expected = here.merge_into(arrow, when_matched_delete=[("op", "=", "D")], **clauses)
    frame = spark.createDataFrame(changes(), DDL).repartition(3)
    commit = mortice.spark.merge_into(frame, there.uri, when_matched_delete="op = 'D'", **clauses)
    assert rows_of(there.uri) == rows_of(here.uri)
    counts = (commit.inserts, commit.updates, commit.deletes)
    assert counts == (expected.inserts, expected.updates, expected.deletes)
    assert len(mortice.Table(there.uri).timeline.completed) == 2
    assert mortice.Table(there.uri).schema.names == here.schema.names


def test_what_cannot_be_merged_is_refused(spark, tmp_path):
    table = table_at(tmp_path / "t")
    before = rows_of(table.uri)

    def merge(given, **clauses):
        mortice.spark.merge_into(spark.createDataFrame(given, DDL), table.uri, **clauses)

    with pytest.raises(InvalidArgumentError, match=r"several rows have the key \['k1', 'rome'\]"):
        merge([("k1", "rome", 1.0, 11, "U"), ("k1", "rome", 2.0, 11, "U")])
    with pytest.raises(InvalidArgumentError, match=r"column 'id'.*null"):
        merge([(None, "rome", 1.0, 11, "U")])
    with pytest.raises(InvalidArgumentError, match=r"key \['k1', 'rome'\], have an ordering value \(ts\)"):
        merge([("k1", "rome", 1.0, 9, "U")])
    with pytest.raises(InvalidArgumentError, match="which the table does not have"):
        merge([("k1", "rome", 1.0, 11, "U")], when_matched_update=["op"])
    assert rows_of(table.uri) == before
    assert len(mortice.Table(table.uri).timeline) == 1
    with pytest.raises(TableNotFoundError):
        mortice.spark.merge_into(spark.createDataFrame(changes(), DDL), str(tmp_path / "none"))
    # Without its ordering column a late row updates.
    merge([("k1", "rome", 5.0, 9, "U")], when_matched_update=["fare"])
    assert [row["fare"] for row in rows_of(table.uri) if row["id"] == "k1"] == [5.0]


@pytest.mark.parametrize("driver_bytes", ["0", pytest.param("1000000", marks=pytest.mark.newest)])
@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE", pytest.param("BLOOM", marks=pytest.mark.newest)])
def test_an_insert_is_not_lost_to_a_deleted_row(spark, tmp_path, index, driver_bytes):
    """A log has deleted the row of the base file; without its delete the base row wins over one with a lower value."""
    table = table_at(tmp_path / "t")
    table.delete(pa.table({"id": ["k1", "k2"], "city": ["rome", "oslo"]}))
    options = {"hoodie.index.type": index, "mortice.write.driver.bytes": driver_bytes}

    def merge(ts):
        frame = spark.createDataFrame([("k1", "rome", 7.0, ts, "U"), ("k99", "rome", 8.0, 1, "U")], DDL)
        mortice.spark.merge_into(frame, table.uri, when_matched_update=["fare"], options=options)

    before = rows_of(table.uri)
    with pytest.raises(InvalidArgumentError, match=r"key \['k1'.*less than the stored one.*compacted"):
        merge(9)
    assert rows_of(table.uri) == before
    merge(10)
    found = {row["id"]: (row["fare"], row["ts"]) for row in rows_of(table.uri)}
    assert (found["k1"], found["k99"], "k2" in found) == ((7.0, 10), (8.0, 1), False)


TYPES = "id int, n int, price decimal(10,2), day date, s string, f float"
STORED = [(1, 10, Decimal("1.50"), dt.date(2024, 7, 1), "s", 1.5)]
TYPED_OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
}


@pytest.fixture(scope="module")
def typed(spark, tmp_path_factory):
    """A table of several types, which merges must leave."""
    path = str(tmp_path_factory.mktemp("typed") / "t")
    mortice.spark.write(spark.createDataFrame(STORED, TYPES).coalesce(1), path, options=TYPED_OPTIONS)
    return path


def read_one(path, column):
    found = mortice.Table(path).snapshot(columns=["id", column]).to_arrow().to_pylist()
    return {row["id"]: row[column] for row in found}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_are_cast_to_the_types_of_the_table(spark, typed, ansi):
    before = mortice.Table(typed).schema
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        given = """1L id, bigint(7) n, 2 price, '2024-07-02' day, 5 s, 2.5D f, array(1) other
            union all select 2L, 8L, 3, null, null, null, null"""
        mortice.spark.merge_into(spark.sql(f"select {given}"), typed)
        assert mortice.Table(typed).schema == before
        found = mortice.Table(typed).snapshot(columns=before.names[-6:]).to_arrow().to_pylist()
        assert sorted(map(tuple, map(dict.values, found))) == [
            (1, 7, Decimal("2.00"), dt.date(2024, 7, 2), "5", 2.5),
            (2, 8, Decimal("3.00"), None, None, None),
        ]
        for column, value in {
            "n": "'n/a'",
            "n ": "7.9D",
            " n": "5000000000L",
            "price": "1.505BD",
            "day": "'July'",
            "f": "16777217",
        }.items():
            name = column.strip()
            with pytest.raises(InvalidArgumentError, match=f"column '{name}': the value .* does not fit"):
                mortice.spark.merge_into(spark.sql(f"select 1 id, {value} {name}"), typed)
        for value in ("true n", "array(1) n", "1 day", "map('a', 1) s"):
            with pytest.raises(InvalidArgumentError, match=f"column '{value.split()[-1]}' has the type .* not cast"):
                mortice.spark.merge_into(spark.sql(f"select 1 id, {value}"), typed)
        assert mortice.Table(typed).schema == before
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_keys_are_matched_in_the_type_of_the_table(spark, tmp_path, ansi):
    path = str(tmp_path / "t")
    frame = spark.createDataFrame([("01", 1.0), ("7", 2.0)], "id string, fare double").coalesce(1)
    mortice.spark.write(frame, path, options=TYPED_OPTIONS)
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        # As a number, 1 would be the key of '01'.
        given = spark.sql("select * from values (1, 9D), (7, 8D) t(id, fare)")
        mortice.spark.merge_into(given, path, when_matched_update=["fare"], when_not_matched="ignore")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    found = mortice.Table(path).snapshot(columns=["id", "fare"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["fare"]) for row in found) == [("01", 1.0), ("7", 8.0)]


def test_a_column_that_is_not_used_does_not_change_its_type(spark, typed):
    before = mortice.Table(typed).schema
    given = spark.sql("select 1 id, 'n/a' n, 'u' s")
    mortice.spark.merge_into(given, typed, when_matched_update=["s"], when_not_matched="ignore")
    assert mortice.Table(typed).schema == before
    assert read_one(typed, "s")[1] == "u"


def test_names_of_columns_follow_the_case_rule_of_the_session(spark, typed, tmp_path):
    given = spark.sql("select 1 ID, 70 N")
    # The condition may name a column of the given frame.
    mortice.spark.merge_into(given, typed, when_matched_delete=given["N"] < 0)
    assert read_one(typed, "n")[1] == 70
    with pytest.raises(InvalidArgumentError, match="'N' and 'n', which are one if case is ignored"):
        mortice.spark.merge_into(spark.sql("select 1 id, 70 N, 71 n"), typed)
    message = "a column 'N', and the table 'n'"
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(InvalidArgumentError, match=message):
            mortice.spark.merge_into(spark.sql("select 1 id, 71 N"), typed)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    with pytest.raises(InvalidArgumentError, match=message):
        mortice.Table(typed).merge_into(pa.table({"id": pa.array([1], pa.int32()), "N": pa.array([71], pa.int32())}))


def test_options_of_reads_in_the_session_do_not_apply_to_stored_rows(spark, tmp_path):
    path = str(tmp_path / "t")
    frame = spark.createDataFrame([(1, 2.0, "old")], "id int, fare double, o string").coalesce(1)
    mortice.spark.write(frame, path, options=TYPED_OPTIONS)
    mortice.spark.write(frame.select("id"), path, "delete")
    spark.conf.set("hoodie.datasource.merge.type", "skip_merge")
    try:
        mortice.spark.merge_into(spark.sql("select 1 id, 9D fare"), path)
    finally:
        spark.conf.unset("hoodie.datasource.merge.type")
    found = mortice.Table(path).snapshot(columns=["id", "fare", "o"]).to_arrow().to_pylist()
    assert found == [{"id": 1, "fare": 9.0, "o": None}]


@pytest.mark.spark4
def test_errors_of_tasks_have_the_classes_of_mortice(spark, typed, monkeypatch, tmp_path):
    """Spark raises a `PythonException`."""
    path = str(tmp_path / "t")
    frame = spark.createDataFrame([(1, 2.0)], "id int, fare double").coalesce(1)
    mortice.spark.write(frame, path, options=TYPED_OPTIONS)
    real = data_frame_module.serialize_tasks

    def then_removed(tasks):
        """The base files are gone when tasks read them."""
        done = real(tasks)
        for file in pathlib.Path(path).glob("*.parquet"):
            file.unlink()
        return done

    monkeypatch.setattr(data_frame_module, "serialize_tasks", then_removed)
    with pytest.raises(FileCleanedError):
        mortice.spark.merge_into(spark.sql("select 1 id, 9D fare"), path)
    mortice.spark.write(frame, str(tmp_path / "u"), options=TYPED_OPTIONS)
    path = str(tmp_path / "u")
    with pytest.raises(FileCleanedError):
        mortice.spark.count(spark, path, filters=[("fare", ">", 1.0)])


def test_validators_of_a_write_can_refuse_it(spark, tmp_path):
    table = table_at(tmp_path / "t")
    before, seen = rows_of(table.uri), []
    columns = "id string, city string, fare double, ts bigint, tags array<string>"
    frame = spark.createDataFrame([("z", "oslo", -1.0, 1, ["y"])], columns)

    def no_negative_fares(new):
        seen.append(new.snapshot(columns=["id"], filters=[("fare", "<", 0)]).to_arrow()["id"].to_pylist())
        return not seen[-1]

    with pytest.raises(InvalidArgumentError, match="no_negative_fares refused the commit"):
        mortice.spark.write(frame, table.uri, validators=[no_negative_fares])
    assert seen == [["z"]]
    assert rows_of(table.uri) == before
    assert not mortice.Table(table.uri).timeline.pending.active
    mortice.spark.write(frame, table.uri, "delete", validators=[no_negative_fares])
    assert seen == [["z"], []]


PARTITIONS = {"plain": "q", "slash": "a/b", "percent": "50%"}


@pytest.mark.parametrize("named", PARTITIONS)
def test_rows_match_by_partition_path(spark, tmp_path, named):
    value = PARTITIONS[named]
    schema = pa.schema([("id", pa.string()), ("p", pa.string()), ("v", pa.int64()), ("note", pa.string())])
    table = mortice.create_table(
        tmp_path / "t", schema, name="t", record_key="id", partition_by="p", table_type="COPY_ON_WRITE"
    )
    table.upsert(pa.table({"id": ["a"], "p": [value], "v": [1], "note": ["x"]}, schema=schema))
    frame = spark.createDataFrame([("a", value, 5), ("c", value, 6)], "id string, p string, v bigint")
    commit = mortice.spark.merge_into(frame, table.uri, when_matched_update=["v"])
    assert (commit.updates, commit.inserts) == (1, 1)
    found = mortice.Table(table.uri).snapshot(columns=["id", "v", "note", "_hoodie_partition_path"]).to_arrow()
    rows = [tuple(row.values())[:3] for row in found.sort_by("id").to_pylist()]
    assert rows == [("a", 5, "x"), ("c", 6, None)]
    assert len(set(found["_hoodie_partition_path"].to_pylist())) == 1


def test_some_of_the_partition_columns_are_refused(spark, tmp_path):
    names = ["city", "op"]
    table = mortice.create_table(tmp_path / "t", CHANGES, name="t", record_key="id", partition_by=names)
    table.upsert(pa.table({"id": ["a"], "city": ["x"], "fare": [1.0], "ts": [1], "op": ["y"]}, schema=CHANGES))
    frame = spark.createDataFrame([("a", "x", 2.0)], "id string, city string, fare double")
    with pytest.raises(UnsupportedError, match="partition column op"):
        mortice.spark.merge_into(frame, table.uri, when_not_matched="ignore")
    mortice.spark.merge_into(frame.drop("city"), table.uri, when_not_matched="ignore")
    assert mortice.Table(table.uri).snapshot(columns=["fare"]).to_arrow()["fare"].to_pylist() == [2.0]


def test_a_key_that_the_column_does_not_hold_is_refused(spark, tmp_path):
    schema = pa.schema([("id", pa.int32()), ("v", pa.int64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    table.upsert(pa.table({"id": [1], "v": [1]}, schema=schema))
    frame = spark.createDataFrame([(1 << 40, 2)], "id bigint, v bigint")
    with pytest.raises(InvalidArgumentError, match="column 'id'"):
        mortice.spark.merge_into(frame, table.uri)
