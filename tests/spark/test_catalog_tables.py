"""`CREATE TABLE … USING mortice`: tables of Spark's catalog are read and written in their newest state."""

import pyarrow as pa
import pytest

import mortice

pytestmark = [pytest.mark.spark4, pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")]
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("ts", pa.int64())])


@pytest.fixture
def tables(spark, tmp_path):
    """Two tables of the same columns, by name; the paths."""
    paths = {}
    for name, how in (("trips_a", "options (path '{}')"), ("trips_b", "location '{}'")):
        paths[name] = str(tmp_path / name)
        table = mortice.create_table(paths[name], SCHEMA, name=name, record_key="id", ordering="ts")
        table.upsert(pa.table([[1], [name], [1]], schema=SCHEMA))
        spark.sql(f"create table {name} using mortice {how.format(paths[name])}")
    yield paths
    for name, path in paths.items():
        spark.sql(f"drop table {name}")
        # What the catalog forgets stays in its folder.
        assert rows_of(path)


def rows_of(path):
    rows = mortice.Table(path).snapshot(columns=["id", "s"]).to_arrow().to_pylist()
    return sorted(((row["id"], row["s"]) for row in rows), key=str)


def query(spark, text):
    return sorted((tuple(row) for row in spark.sql(text).collect()), key=str)


def test_tables_are_read_in_their_newest_state(spark, tables):
    assert query(spark, "select id, s from trips_a") == [(1, "trips_a")]
    table = mortice.Table(tables["trips_a"])
    table.upsert(pa.table({"id": [2], "s": ["new"], "ts": [1], "extra": [1.5]}), schema="add")
    joined = "select a.id, b.s from trips_a a left join trips_b b on a.id = b.id"
    assert query(spark, joined) == [(1, "trips_b"), (2, None)]
    # The catalog has the columns of the time when the table was created, without meta columns.
    assert [row[0] for row in spark.sql("describe trips_a").collect()] == ["id", "s", "ts"]
    assert sorted(map(tuple, spark.read.table("trips_a").collect())) == [(1, "trips_a", 1), (2, "new", 1)]
    spark.sql("alter table trips_a add columns (extra double)")
    assert query(spark, "select id, extra from trips_a where id > 1") == [(2, 1.5)]


def test_inserts_go_to_the_table_that_they_name(spark, tables):
    spark.sql("insert into trips_a values (2, 'x', 1)")
    spark.sql("insert into trips_a (id, ts) values (3, 1)")
    assert rows_of(tables["trips_a"]) == [(1, "trips_a"), (2, "x"), (3, None)]
    assert rows_of(tables["trips_b"]) == [(1, "trips_b")]
    # Spark passes the columns of these rows with the metadata of the table that they were selected from.
    spark.sql("insert overwrite trips_b select * from trips_a where id > 1")
    spark.sql("insert into trips_b select 9L as id, 'z' as s, 1L as ts")
    assert rows_of(tables["trips_b"]) == [(2, "x"), (3, None), (9, "z")]
    assert rows_of(tables["trips_a"]) == [(1, "trips_a"), (2, "x"), (3, None)]


def test_rows_that_may_be_for_another_table_are_refused(spark, tables, tmp_path):
    parquet = str(tmp_path / "copy")
    spark.table("trips_a").write.parquet(parquet)
    for source in ("trips_a", f"parquet.`{parquet}`", "(select id, upper(s) s, ts from trips_a)"):
        with pytest.raises(Exception, match=r"MORTICE-UNSUPPORTED.*mortice\.spark\.sql"):
            spark.sql(f"create table c using mortice location '{tmp_path}/c' as select * from {source}")
    with pytest.raises(Exception, match="MORTICE-UNSUPPORTED"):
        spark.sql("insert into trips_a select * from trips_a")
    assert rows_of(tables["trips_a"]) == [(1, "trips_a")]
    assert not spark.catalog.tableExists("c")


def test_what_spark_does_not_pass_is_named(spark, tables):
    path = tables["trips_a"]
    spark.sql(f"create table listed (id bigint, s string) using mortice location '{path}'")
    with pytest.raises(Exception, match="create it without columns"):
        spark.sql("select * from listed").collect()
    assert query(spark, f"select * from listed with (path = '{path}')") == [(1, "trips_a")]
    spark.sql("drop table listed")
    with pytest.raises(Exception, match="path of the table is missing"):
        spark.sql("create table nowhere using mortice")
    with pytest.raises(Exception, match=r"fs\.s3a\.secret\.key of a catalog table would be stored"):
        spark.sql(f"create table c using mortice options (path '{path}', `fs.s3a.secret.key` 'x')")
