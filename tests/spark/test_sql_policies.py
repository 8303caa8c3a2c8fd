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
ALL = {"1 a", "2 b", "1 later", "2 early", "9 lo", "9 hi", "1 other"}
UPSERTED = {"1 later", "2 b", "9 hi", "1 other"}
DROPPED = {"1 a", "2 b", "9 lo", "9 hi", "1 other"}


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
        ({INTO: "upsert"}, UPSERTED),
        ({INTO: "bulk_insert", BULK: "true"}, ALL),
        ({INTO: "upsert", POLICY: "drop"}, DROPPED),
        ({OPERATION: "upsert", INTO: "insert"}, UPSERTED),
        ({OPERATION: "insert", INTO: "upsert", DROPS: "true"}, ALL),
        ({COMBINES: "true"}, ALL - {"9 lo"}),
        ({COMBINES: "true", POLICY: "drop"}, DROPPED - {"9 lo"}),
        ({MODE: "upsert", POLICY: "drop"}, DROPPED),
        ({MODE: "non-strict", BULK: "true"}, ALL),
        ({f"spark.{POLICY}": "drop"}, DROPPED),
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


def test_insert_overwrite_follows_them(spark, table):
    overwrite = f"INSERT OVERWRITE mortice.`{table.uri}`"
    given = "PARTITION (p = 'x') VALUES (5, 'o', 1), (5, 'o2', 2), (1, 'n', 1)"
    run(spark, f"{overwrite} {given}", {POLICY: "drop", INTO: "upsert", COMBINES: "true"})
    assert rows(table) == ["1 n", "2 b", "5 o2"]
    run(spark, f"{overwrite} VALUES (6, 's', 1, 'x')", {"hoodie.datasource.overwrite.mode": "dynamic"})
    assert rows(table) == ["2 b", "6 s"]
    with pytest.raises(mortice.UnsupportedError, match="would overwrite nothing"):
        run(spark, f"{overwrite} VALUES (7, 's', 1, 'x')", {OPERATION: "upsert"})


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
