"""`mortice.spark.sql`: tables are created, altered and dropped as Hudi's SQL documentation writes it."""

import pathlib
import shutil

import pyarrow as pa
import pytest

import mortice
import mortice.spark
from mortice.spark.statements import row_changes

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")


@pytest.fixture
def run(spark, tmp_path):
    """Runs statements, `{at}` in them is a folder; drops the tables that they create afterwards."""
    made = []

    def run(text):
        text = text.replace("{at}", str(tmp_path))
        if "create table" in text.lower() and "mortice.`" not in text:
            made.append(text.split()[2])
        return [tuple(row) for row in mortice.spark.sql(spark, text).collect()]

    yield run
    for name in made:
        mortice.spark.sql(spark, f"DROP TABLE IF EXISTS {name}")


def test_partitioned_tables_are_created_filled_and_overwritten(run, tmp_path):
    run(
        """create table pt (id bigint, dt date, name string comment 'a name', ts bigint, hh string not null) using hudi
        tblproperties (type = 'mor', primaryKey = 'ID', preCombineField = 'ts')
        partitioned by (dt, hh) location 'file:{at}/pt'"""
    )
    table = mortice.Table(tmp_path / "pt")
    assert (table.record_key_fields, table.ordering_fields, table.partition_fields) == (["id"], ["ts"], ["dt", "hh"])
    assert table.properties["hoodie.datasource.write.hive_style_partitioning"] == "true"
    # Partition columns are the last, as in Spark.
    assert table.schema.names[-4:] == ["name", "ts", "dt", "hh"]
    run("insert into pt partition (dt = '2021-12-09', hh) select 1, 'a1', 1000, '10' union all select 2, 'a2', 7, '11'")
    run("insert into pt partition (hh = 12, dt = '2021-12-09') (ts, id) values (5, 3)")
    rows = "select id, name, cast(dt as string), hh from pt order by id"
    first = [(1, "a1", "2021-12-09", "10"), (2, "a2", "2021-12-09", "11"), (3, None, "2021-12-09", "12")]
    assert run(rows) == first
    with pytest.raises(mortice.UnsupportedError, match="partitionOverwriteMode=dynamic"):
        run("insert overwrite pt partition (dt = '2021-12-09', hh) select 1, 'a1', 1000, '10'")
    run("insert overwrite pt partition (dt = '2021-12-09', hh = '10') select 9, 'a9', 1")
    run("insert overwrite pt partition (dt = '2021-12-09', hh = '11') select 9, 'a9', 1 where false")
    assert run(rows) == [first[2], (9, "a9", "2021-12-09", "10")]
    assert run("show partitions pt") == [("dt=2021-12-09/hh=10",), ("dt=2021-12-09/hh=12",)]
    run("alter table pt drop partition (dt = '2021-12-09', hh = '12')")
    assert run("show partitions pt") == [("dt=2021-12-09/hh=10",)]
    run("insert overwrite pt select 4, 'a4', 1, date '2022-01-01', '1'")
    assert run(rows) == [(4, "a4", "2022-01-01", "1")]
    run("drop table pt")
    # What loses its name keeps its files.
    run("create table if not exists again using hudi location '{at}/pt'")
    assert run("select name from again") == [("a4",)]


def test_properties_that_an_upgrade_changed_do_not_stop_writes(run, tmp_path):
    run(
        """CREATE TABLE up (id int, name string, ts int) USING hudi LOCATION '{at}/up' TBLPROPERTIES (
        'hoodie.write.table.version' = '6', type = 'cow', primaryKey = 'id', preCombineField = 'ts')"""
    )
    run("INSERT INTO up VALUES (1, 'a', 1)")
    # Another writer upgrades it.
    shutil.rmtree(tmp_path / "up")
    schema = pa.schema([("id", pa.int32()), ("name", pa.string()), ("ts", pa.int32())])
    facts = {"name": "up", "record_key": "id", "ordering": "ts", "table_type": "COPY_ON_WRITE", "version": 9}
    mortice.create_table(tmp_path / "up", schema, **facts)
    run("INSERT INTO up VALUES (1, 'a', 1), (2, 'b', 1)")
    run("UPDATE up SET name = 'c' WHERE id = 2")
    assert run("SELECT id, name FROM up ORDER BY id") == [(1, "a"), (2, "c")]


def test_columns_are_altered_and_shown(run, tmp_path):
    run(
        "create table al (id int, price float, name string, ts bigint) using hudi "
        "options (primaryKey 'id') location '{at}/al'"
    )
    run("insert into al values (1, 2.5, 'n', 1)")
    run("alter table al add columns (tip double comment 'a tip' after ID, st struct<a: int, b: map<string, int>>)")
    at = "mortice.`{at}/al`"
    run(f"alter table {at} add column st.c decimal(10, 2) first")
    run(f"alter table {at} rename column name to Title")
    run(f"alter table {at} change column PRICE cost double comment 'dear' after ts")
    run(f"alter table {at} drop columns (st.b)")
    run("alter table al alter column title first")
    # By name: on Spark 3.5 the table is a view, which has the meta columns, too.
    assert run("select title, id, tip, ts, cost, st from al") == [("n", 1, None, 1, 2.5, None)]
    schema = mortice.Table(tmp_path / "al").schema
    assert schema.names[5:] == ["Title", "id", "tip", "ts", "cost", "st"]
    assert [field.name for field in schema.field("st").type] == ["c", "a"]
    run("update al set cost = '0.1', st = named_struct('c', 1, 'a', 2) where title = 'n'")
    assert run("select cost, st.a from al") == [(0.1, 2)]
    # A column that the same statement adds can be the one that another is put behind.
    run("alter table al add columns (x int, Y int after X, z int after y, st.d int, st.e int after D)")
    schema = mortice.Table(tmp_path / "al").schema
    assert schema.names[-3:] == ["x", "Y", "z"]
    assert [field.name for field in schema.field("st").type] == ["c", "a", "d", "e"]
    with pytest.raises(mortice.InvalidArgumentError, match=r"there is no column w \(line 1, column 41\)"):
        run("alter table al add columns (v int after w, w int)")


def test_the_quick_start_of_hudi(run, monkeypatch):
    """Without a primary key: keys are generated, and rows are known by them."""
    columns = "(ts BIGINT, uuid STRING, rider STRING, fare DOUBLE, city STRING)"
    run(f"CREATE TABLE trips_hudi {columns} USING HUDI PARTITIONED BY (city) LOCATION '{{at}}/t';")
    run(
        """INSERT INTO trips_hudi VALUES (1, 'a', 'rider-A', 19.10, 'sf'), (2, 'b', 'rider-D', 33.90, 'sf'),
        (3, 'c', 'rider-F', 34.15, 'sp');"""
    )
    run("UPDATE trips_hudi SET fare = 25.0 WHERE rider = 'rider-D'")
    run(f"CREATE TABLE adjustment {columns} USING HUDI LOCATION '{{at}}/a';")
    run("INSERT INTO adjustment VALUES (4, 'a', 'rider-A', -2.5, 'sf'), (5, 'z', 'rider-Z', 64.5, 'chennai')")
    done = run(
        """MERGE INTO trips_hudi AS target USING adjustment AS source ON target.uuid = source.uuid
        WHEN MATCHED THEN UPDATE SET target.fare = target.fare + source.fare WHEN NOT MATCHED THEN INSERT *;"""
    )
    assert done[0][:4] == (2, 1, 0, 1)
    run("INSERT INTO trips_hudi VALUES (7, 'd', 'rider-D', 1, 'sf')")
    done = run(
        """MERGE INTO trips_hudi t USING (SELECT 'd' AS uuid) s ON t.uuid = s.uuid WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED BY SOURCE AND t.uuid = 'a' THEN UPDATE SET rider = 'rider-B'"""
    )
    assert done[0][:4] == (2, 1, 1, 0)
    run("DELETE FROM trips_hudi WHERE uuid = 'c'")
    rows = "SELECT uuid, round(fare, 2), city, _hoodie_partition_path FROM mortice.`{at}/t` ORDER BY uuid"
    expected = [("a", 16.6, "sf", "city=sf"), ("b", 25.0, "sf", "city=sf"), ("z", 64.5, "chennai", "city=chennai")]
    assert run(rows) == expected
    write = row_changes.write_frame

    def late(*args, **named):
        monkeypatch.setattr(row_changes, "write_frame", write)
        run("INSERT INTO trips_hudi VALUES (9, 'y', 'rider-Y', 1, 'sf')")
        return write(*args, **named)

    monkeypatch.setattr(row_changes, "write_frame", late)
    with pytest.raises(mortice.WriteConflictError, match="run the statement again"):
        run("UPDATE trips_hudi SET fare = 0")
    assert run(rows) == [*expected[:2], ("y", 1.0, "sf", "city=sf"), expected[2]]


def test_a_table_is_created_from_a_query(run, tmp_path):
    run(
        """create table ctas using mortice tblproperties (type = 'cow', primaryKey = 'id', orderingFields = 'ts')
        partitioned by (dt) location '{at}/ctas' as select 1 as id, '2021-12-01' as dt, 10 as price, 1000 as ts"""
    )
    assert run("select id, price, ts, dt from ctas") == [(1, 10, 1000, "2021-12-01")]
    assert mortice.Table(tmp_path / "ctas").timeline.latest.action == "commit"
    with pytest.raises(mortice.TableExistsError, match="needs a new location"):
        run("create table other using hudi location '{at}/ctas' as select 1 as id")


def test_options_of_a_name_are_set_and_unset(run, tmp_path):
    run(f"CREATE TABLE mortice.`{tmp_path}/t` (id int) USING mortice OPTIONS (primaryKey = 'id')")
    run(f"CREATE OR REPLACE TEMPORARY VIEW optioned USING mortice OPTIONS (path '{tmp_path}/t')")
    name = "hoodie.parquet.small.file.limit"
    before = run("show tblproperties optioned")
    run(f"alter table optioned set tblproperties ('{name}' = '1000', hoodie.combine.before.insert = true)")
    assert dict(run("show tblproperties optioned"))[name] == "1000"
    run(f"alter table optioned unset tblproperties ('{name}', 'hoodie.combine.before.insert')")
    assert run("show tblproperties optioned") == before
    run(f"alter table optioned unset tblproperties if exists ('{name}')")
    for text, message in [
        (f"unset tblproperties ('{name}')", "does not have the property"),
        ("set tblproperties ('hoodie.table.type' = 'MERGE_ON_READ')", "what a table is created with"),
        ("set tblproperties ('owner' = 'me')", "options that begin with hoodie. can change"),
    ]:
        with pytest.raises(mortice.InvalidArgumentError, match=message):
            run(f"alter table optioned {text}")


def test_columns_are_replaced_and_keep_their_values(run, tmp_path):
    path = f"mortice.`{tmp_path}/t`"
    run(f"CREATE TABLE {path} (id int, n int, old string, c string) USING mortice PARTITIONED BY (c)")
    run(f"INSERT INTO {path} VALUES (1, 2, 'x', 'p')")
    run(f"alter table {path} replace columns (n bigint comment 'more', id int, tip double)")
    assert run(f"SELECT n, id, tip, c FROM {path}") == [(2, 1, None, "p")]
    assert mortice.Table(tmp_path / "t").columns == ["n", "id", "tip", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("create table x (id nosuch) using hudi location '{at}/x'", r"nosuch is not a type.*line 1, column 20"),
        ("create table x (id int) using hudi tblproperties (primaryKy = 'id')", "primaryKy is not a property"),
        ("create table x (id int) using hudi tblproperties (primaryKey = 'ip') location '{at}/x'", "names 'ip'"),
        ("create table x (id int default 1) using hudi location '{at}/x'", "default and generated values"),
        ("create or replace table x (id int) using hudi", "delete the table with its history"),
        ("create table x (id int, s string) using hudi location '{at}/t'", r"with other columns \(id int32"),
        ("create table x using hudi location '{at}/none'", "there is no table"),
        ("create table x (id int) using hudi partitioned by (bucket(4, id)) location '{at}/x'", "transforms"),
        ("alter table {t} add columns (fare double not null)", "cannot be NOT NULL"),
        ("alter table {t}\n drop column nope", r"there is no column nope \(line 2, column 14\)"),
        ("alter table {t} alter column n type string after nope", "the statement should end here"),
        ("alter table {t} set tblproperties ('hoodie.a' = 'b')", "a path has no properties"),
        ("alter table {t} set location '/x'", "the location and the format"),
        ("alter table {t} rename to y", "a path stays where it is"),
        ("alter table {t} replace columns (n int)", "id"),
        ("alter table {t} alter column n type date", "cannot become"),
        ("alter table {t} drop partition (c)", "each column needs a value"),
        ("insert into {t} partition (n = 1) select 1", "n is not a partition column.*line 1"),
        ("insert into {t} partition (c = id) select 1, 1", "not a constant"),
        ("insert into {t} partition (c = 'x') select 1, 1, 'x'", r"should have 2 columns: id, n"),
        ("drop table {t}", "delete the folder"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_place(run, tmp_path, text, message):
    path = f"mortice.`{tmp_path}/t`"
    run(f"CREATE TABLE {path} (id int, n int, c string) USING mortice OPTIONS (primaryKey = 'id') PARTITIONED BY (c)")
    with pytest.raises(mortice.MorticeError, match=f"(?s){message}"):
        run(text.replace("{t}", path))
    assert len(mortice.Table(tmp_path / "t").timeline.completed) == 0
    assert not pathlib.Path(tmp_path / "x").exists()


@pytest.mark.parametrize("between", ["savepoint", "insert", "restore"])
def test_a_service_meanwhile_is_no_conflict_and_another_write_is(run, tmp_path, monkeypatch, between):
    rows = pa.table({"id": [1]})
    table = mortice.create_table(tmp_path / "t", rows.schema, name="t", record_key=None)
    first = table.insert(rows).instant
    table.insert(rows)
    write = row_changes.write_frame

    def late(*args, **named):
        getattr(table, between)(rows if between == "insert" else first)
        return write(*args, **named)

    monkeypatch.setattr(row_changes, "write_frame", late)
    update = "UPDATE mortice.`{at}/t` SET id = 2"
    if between == "savepoint":
        assert run(update)[0][1] == 2
    else:
        with pytest.raises(mortice.WriteConflictError):
            run(update)
