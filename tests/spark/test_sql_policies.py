"""INSERT by the session's policies: what each combination leaves is what Hudi 1.2 leaves."""

import pyarrow as pa
import pytest

import mortice
import mortice.spark

pytestmark = pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
INTO = "hoodie.spark.sql.insert.into.operation"
OPERATION = "hoodie.datasource.write.operation"
POLICY = "hoodie.datasource.insert.dup.policy"
DROPS = "hoodie.datasource.write.insert.drop.duplicates"
COMBINES = "hoodie.combine.before.insert"
MODE = "hoodie.sql.insert.mode"
BULK = "hoodie.sql.bulk.insert.enable"
GIVEN = """VALUES (1, 'later', 20, 'x'), (2, 'early', 5, 'y'), (9, 'lo', 21, 'x'), (9, 'hi', 22, 'x'),
(1, 'other', 30, 'y')"""
DROPPED = {"1 a", "2 b", "9 lo", "9 hi", "1 other"}
ALL = {"1 a", "2 b", "1 later", "2 early", "9 lo", "9 hi", "1 other"}
UPSERTED = {"1 later", "2 b", "9 hi", "1 other"}


@pytest.fixture
def table(tmp_path):
    rows = pa.table({"id": [1, 2], "name": ["a", "b"], "ts": [10, 10], "p": ["x", "y"]})
    return mortice.create_table(tmp_path / "t", data=rows, record_key="id", partition_by="p", ordering="ts")


def run(spark, text, settings):
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        mortice.spark.sql(spark, text).collect()
    finally:
        for name in settings:
            spark.conf.unset(name)


def rows(table):
    found = mortice.Table(table.uri).to_arrow(["id", "name"]).to_pylist()
    return sorted(f"{row['id']} {row['name']}" for row in found)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ALL),
        ({POLICY: "none", MODE: "strict"}, ALL),
        ({POLICY: "drop"}, DROPPED),
        ({POLICY: "drop", INTO: "upsert", MODE: "upsert"}, DROPPED),
        ({POLICY: "drop", COMBINES: "true"}, DROPPED - {"9 lo"}),
        ({INTO: "upsert"}, UPSERTED),
        ({INTO: "bulk_insert", BULK: "true"}, ALL),
        ({OPERATION: "upsert", INTO: "insert"}, UPSERTED),
        ({OPERATION: "insert", INTO: "upsert", DROPS: "true"}, ALL),
        ({COMBINES: "true"}, ALL - {"9 lo"}),
        ({MODE: "non-strict", BULK: "true"}, ALL),
        ({f"spark.{INTO}": "upsert"}, UPSERTED),
    ],
)
def test_insert_into_follows_the_policies_of_the_session(spark, table, settings, expected):
    run(spark, f"INSERT INTO mortice.`{table.uri}` {GIVEN}", settings)
    assert rows(table) == sorted(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({POLICY: "fail"}, "keys that are in the table"),
        ({POLICY: "fail", INTO: "upsert"}, "keys that are in the table"),
        ({POLICY: "drop", INTO: "bulk_insert"}, "bulk_insert"),
        ({POLICY: "junk"}, "must be none, drop or fail|none, drop, fail"),
        ({INTO: "junk"}, "insert, upsert, bulk_insert"),
        ({OPERATION: "delete"}, "would be another statement"),
        ({MODE: "junk"}, "upsert, strict or non-strict"),
        ({MODE: "strict", BULK: "true"}, "non-strict only"),
    ],
)
def test_policies_that_refuse_leave_the_rows(spark, table, settings, message):
    with pytest.raises(mortice.MorticeError, match=message):
        run(spark, f"INSERT INTO mortice.`{table.uri}` {GIVEN}", settings)
    assert rows(table) == ["1 a", "2 b"]


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_BLOOM", "BUCKET", "RECORD_INDEX"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", pytest.param("MERGE_ON_READ", marks=pytest.mark.newest)])
def test_tasks_look_for_keys(spark, tmp_path, kind, index):
    """Also of rows that the driver cannot hold, and where a log has deleted a key."""
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    if index == "RECORD_INDEX":
        options |= {"hoodie.metadata.record.index.enable": "true"}
    made = mortice.create_table(
        tmp_path / "t", pa.schema({"id": pa.int64(), "name": pa.string(), "ts": pa.int64(), "p": pa.string()}),
        record_key="id", partition_by="p", ordering="ts", table_type=kind,
    )  # fmt: skip
    stored = [{"id": one, "name": "a", "ts": 1, "p": "xy"[one % 2]} for one in range(100)]
    made.upsert(pa.Table.from_pylist(stored), options)
    made.delete_where("id = 7", options)
    given = spark.range(0, 200, numPartitions=4).selectExpr("id", "'b' name", "2L ts", "if(id % 2 = 0, 'x', 'y') p")
    by_tasks = {**options, "mortice.write.driver.bytes": "0"}
    with pytest.raises(mortice.InvalidArgumentError, match="keys that are in the table"):
        mortice.spark.write(given, made.uri, "insert", options={**by_tasks, POLICY: "fail"})
    with pytest.warns(UserWarning, match="the upsert is an insert"):
        commit = mortice.spark.write(given, made.uri, "upsert", options={**by_tasks, POLICY: "drop"})
    # A row in a log of a file group that has its key no more, or of its bucket, counts as an update.
    assert commit.inserts + commit.updates == 101
    expected = [f"{one} {'a' if one < 100 and one != 7 else 'b'}" for one in range(200)]
    assert rows(made) == sorted(expected)


def test_insert_overwrite_follows_them(spark, table):
    overwrite = f"INSERT OVERWRITE mortice.`{table.uri}`"
    given = "PARTITION (p = 'x') VALUES (5, 'o', 1), (5, 'o2', 2), (1, 'n', 1)"
    run(spark, f"{overwrite} {given}", {POLICY: "drop", INTO: "upsert", COMBINES: "true"})
    assert rows(table) == ["1 n", "2 b", "5 o2"]
    run(spark, f"{overwrite} VALUES (6, 's', 1, 'x')", {"hoodie.datasource.overwrite.mode": "dynamic"})
    assert rows(table) == ["2 b", "6 s"]
    with pytest.raises(mortice.UnsupportedError, match="would overwrite nothing"):
        run(spark, f"{overwrite} VALUES (7, 's', 1, 'x')", {OPERATION: "upsert"})


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("a = 'x', b = 2", [1, 3, 4, 5]),
        ("b = '1', A = NULL", [1, 2, 3, 5]),
        ("a = 'x'", [3, 4, 5]),
        ("b = NULL", [1, 2, 3, 4]),
        ("b = 1", [2, 5]),
        ("a = 'none'", [1, 2, 3, 4, 5]),
    ],
)
@pytest.mark.parametrize("statement", ["TRUNCATE TABLE {t} PARTITION ({p})", "ALTER TABLE {t} DROP PARTITION ({p})"])
def test_partitions_are_emptied_by_some_or_all_columns(spark, tmp_path, statement, clause, expected):
    numbers = pa.array([1, 2, 1, 1, None], pa.int32())
    data = pa.table({"id": [1, 2, 3, 4, 5], "a": ["x", "x", "y", None, "y"], "b": numbers})
    styles = {"hoodie.datasource.write.hive_style_partitioning": str("a" in clause).lower()}
    table = mortice.create_table(tmp_path / "t", data=data, record_key="id", partition_by=["a", "b"], properties=styles)
    run(spark, statement.replace("{t}", f"mortice.`{table.uri}`").replace("{p}", clause), {})
    assert sorted(mortice.Table(table.uri).to_arrow(["id"])["id"].to_pylist()) == expected


def test_a_partition_with_other_values_is_not_emptied(spark, tmp_path):
    """The paths of a key generator for timestamps are those of days, and the values are moments."""
    name, day = f"mortice.`{tmp_path}/t`", 86_400_000
    run(
        spark,
        f"""CREATE TABLE {name} (id int, at bigint) USING hudi PARTITIONED BY (at) TBLPROPERTIES (primaryKey = 'id',
        'hoodie.datasource.write.keygenerator.class' = 'org.apache.hudi.keygen.TimestampBasedKeyGenerator',
        'hoodie.keygen.timebased.timestamp.type' = 'EPOCHMILLISECONDS',
        'hoodie.keygen.timebased.output.dateformat' = 'yyyy-MM-dd')""",
        {},
    )
    data = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "at": [day, day + 1, 5 * day]})
    mortice.Table(tmp_path / "t").upsert(data)
    for text in (f"TRUNCATE TABLE {name} PARTITION (at = {day})", f"ALTER TABLE {name} DROP PARTITION (at = {day})"):
        with pytest.raises(mortice.UnsupportedError, match="rows with other values of at"):
            run(spark, text, {})
    run(spark, f"TRUNCATE TABLE {name} PARTITION (at = {5 * day})", {})
    assert sorted(mortice.Table(tmp_path / "t").to_arrow(["id"])["id"].to_pylist()) == [1, 2]


def test_a_merge_mode_is_a_property_by_both_of_its_names(spark, tmp_path):
    for name in ("recordMergeMode", "'hoodie.record.merge.mode'"):
        path = tmp_path / name.strip("'")
        run(
            spark,
            f"CREATE TABLE mortice.`{path}` (id int, ts int) USING hudi "
            f"TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', {name} = 'COMMIT_TIME_ORDERING')",
            {},
        )
        assert mortice.Table(path).merge_mode == "COMMIT_TIME_ORDERING"


def test_options_of_writes_in_the_session_apply_to_all_statements(spark, tmp_path):
    table = mortice.create_table(
        tmp_path / "t", {"id": "int", "name": "string"}, record_key="id", table_type="MERGE_ON_READ"
    )
    table.insert([{"id": 1, "name": "a"}])
    compacts = {"hoodie.compact.inline": "true", "spark.hoodie.compact.inline.max.delta.commits": "1"}
    run(spark, f"UPDATE mortice.`{table.uri}` SET name = 'b'", {"hoodie.compact.inline.max.delta.commits": "1"})
    assert [one.action for one in mortice.Table(table.uri).timeline.completed] == ["deltacommit"] * 2
    run(spark, f"UPDATE mortice.`{table.uri}` SET name = 'c'", compacts)
    assert [one.action for one in mortice.Table(table.uri).timeline.completed] == ["deltacommit"] * 3 + ["commit"]
    run(spark, f"UPDATE mortice.`{table.uri}` SET name = 'd'", {"hoodie.nothing.of.the.kind": "1"})
    run(spark, f"CALL run_compaction(path => '{table.uri}')", {"hoodie.compact.inline.max.delta.commits": "1"})
    assert mortice.Table(table.uri).timeline.completed[-1].action == "commit"
    assert rows(table) == ["1 d"]
