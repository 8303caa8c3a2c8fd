"""Statements of the first hour that describe a table, and those that name what mortice has in their place."""

import pytest

import mortice
import mortice.spark
from support.spark_database import current_database

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")


@pytest.fixture
def run(spark, tmp_path):
    def run(text):
        return [tuple(row) for row in mortice.spark.sql(spark, text.replace("{at}", str(tmp_path))).collect()]

    with current_database(spark, "described", tmp_path):
        run(
            "create table trips (id bigint, st struct<a: int>, city string) using hudi partitioned by (city) "
            "tblproperties (type = 'mor', primaryKey = 'id', orderingFields = 'id') comment 'all trips'"
        )
        run("insert into trips (id, city) values (1, 'oslo'), (2, 'rome')")
        yield run
        # On Spark 3.5 names are views of the session, and in no database.
        run("drop table if exists trips")
        run("drop table if exists other")


def test_a_table_is_created_again_by_its_definition(run, spark, tmp_path):
    text = run("show create table trips")[0][0]
    run("create table other like trips using hudi tblproperties (type = 'cow') location '{at}/other'")
    assert f"LOCATION '{tmp_path}/other'" in run("show create table other")[0][0]
    run("drop table trips")
    run(text)
    assert run("show create table trips") == [(text,)]
    for path in (tmp_path / "db" / "trips", tmp_path / "other"):
        table = mortice.Table(path)
        assert (table.record_key_fields, table.ordering_fields, table.partition_fields) == (["id"], ["id"], ["city"])
        assert [name for name in table.schema.names if not name.startswith("_hoodie_")] == ["id", "st", "city"]
        assert table.merge_mode == "EVENT_TIME_ORDERING"
        assert table.properties["hoodie.table.type"] == ("COPY_ON_WRITE" if path.name == "other" else "MERGE_ON_READ")
    # Other tables are Spark's own, or give their columns.
    spark.sql("create table plain (n int, s string) using parquet")
    run("create table from_plain like plain using hudi")
    assert mortice.Table(tmp_path / "db" / "from_plain").record_key_fields == []
    assert run("describe extended plain") == [tuple(row) for row in spark.sql("describe extended plain").collect()]
    run("drop table from_plain")
    with pytest.raises(mortice.InvalidArgumentError, match=r"there is no such table \(line 1, column 21\)"):
        run("create table x like nosuch using hudi")


def test_properties_are_those_of_create_table(run):
    expected = {"type": "mor", "primaryKey": "id", "orderingFields": "id"}
    assert dict(run("show tblproperties trips")) == expected
    assert run("show tblproperties trips ('type')") == [("type", "mor")]
    assert "does not have property: a.b" in run("show tblproperties trips (a.b)")[0][1]
    assert run("alter table trips unset tblproperties if exists (a.b)") == []
    with pytest.raises(mortice.InvalidArgumentError, match="primaryKey is what a table is created with"):
        run("alter table trips unset tblproperties if exists (primaryKey)")
    shown = dict(run("call show_table_properties(table => 'trips', limit => 100)"))
    assert shown["hoodie.table.recordkey.fields"] == "id"
    [(text,)] = run("call help()")
    assert "\tshow_table_properties\tthe properties of the table\n" in text


@pytest.mark.spark4
def test_describe_shows_what_the_catalog_and_the_table_have(run, tmp_path):
    rows = run("describe extended trips")
    assert rows[:3] == [("id", "bigint", None), ("st", "struct<a:int>", None), ("city", "string", None)]
    details = {name: text for name, text, _ in rows}
    assert details["Comment"] == "all trips"
    assert details["Location"] == str(tmp_path / "db" / "trips")
    assert (details["Type"], details["Provider"]) == ("MANAGED", "mortice")
    run("alter table trips add columns (tip double)")
    assert ("Comment", "all trips", "") in run("desc formatted described.trips")
    assert ("city", "string", None) in run("describe mortice.`{at}/db/trips`")
    run("create table far using hudi location '{at}/db/trips'")
    assert ("Type", "EXTERNAL", "") in run("describe table extended far")


@pytest.mark.spark4
def test_meta_columns_of_catalog_tables_can_be_selected(run):
    assert run("select _hoodie_record_key, id from trips order by id") == [("1", 1), ("2", 2)]
    joined = "select t._hoodie_partition_path, u.id from described.trips as t join trips u using (id) where id = 1"
    assert run(joined) == [("city=oslo", 1)]
    # A name that the statement itself gives is not that of the table.
    assert run("with trips as (select 5 as _hoodie_n) select _hoodie_n from trips") == [(5,)]


def test_indexes_are_created_shown_and_dropped(run):
    run("create index by_city on trips (city)")
    shown = {row[0]: row[1:] for row in run("show indexes from trips")}
    assert shown["secondary_index_by_city"] == ("secondary_index", "city")
    assert "record_index" in shown
    run("create index if not exists by_city on trips (city)")
    with pytest.raises(mortice.InvalidArgumentError, match="by_city exists"):
        run("create index by_city on trips (city)")
    run("refresh index by_city on trips")
    assert "secondary_index_by_city" in {row[0] for row in run("show indexes from trips")}
    run("drop index by_city on trips")
    run("drop index if exists by_city on trips")
    with pytest.raises(mortice.InvalidArgumentError, match="by_city does not exist"):
        run("drop index by_city on trips")
    assert "secondary_index_by_city" not in {row[0] for row in run("show indexes from trips")}


def test_what_has_no_use_does_nothing_or_names_what_has(run, spark):
    assert run("msck repair table trips") == run("msck repair table trips sync partitions") == []
    with pytest.raises(mortice.InvalidArgumentError, match="no statistics of a Python data source"):
        run("analyze table trips compute statistics")
    spark.sql("create table plain (n int) using parquet")
    run("analyze table plain compute statistics")
