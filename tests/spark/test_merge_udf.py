"""`mortice.spark.merge_udf`: merges rows of Spark by Hudi's rules, in every way that Spark calls a function."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import mortice
from mortice.spark import merge_udf
from support.cases import multiset
from support.frames import to_arrow
from support.oracle.model import META

SCHEMA = "id bigint, region string, at timestamp, fare decimal(10,2), tags array<string>, day date, n smallint"
KEYS, CHANGES, PARTITIONS = 500, 900, 3
BY = {
    "record_key": ["id", "region"],
    "ordering": "at",
    "commit_order": "seq",
    "delete_field": "op",
    "delete_marker": "d",
}
NOON = dt.datetime(2026, 1, 1, 12)

spark4 = pytest.mark.spark4


def row(key, minute, number):
    region = ("north", "south", None)[key % 3]
    tags = [f"tag {number}", None] if number % 4 else None
    day = dt.date(2026, 1, 1) + dt.timedelta(days=number % 28)
    return (key, region, NOON + dt.timedelta(minutes=minute), Decimal(number) / 4, tags, day, number % 1000)


@pytest.fixture(scope="module")
def older(spark):
    rows = [row(key, 30, key) for key in range(KEYS)]
    return spark.createDataFrame(rows, SCHEMA).repartition(PARTITIONS).cache()


@pytest.fixture(scope="module")
def newer(spark):
    """Late rows, ties that the sequence number decides, deletes and new keys; shuffled."""
    rows = []
    for number in range(CHANGES):
        key, minute = number * 7 % (KEYS + 100), 29 + number * 3 % 4
        rows.append((*row(key, minute, number), number, "d" if number % 11 == 0 else "u"))
    return spark.createDataFrame(rows, f"{SCHEMA}, seq bigint, op string").repartition(PARTITIONS).cache()


@pytest.fixture(scope="module")
def both(older, newer):
    """One DataFrame of all rows."""
    from pyspark.sql import functions as F  # noqa: N812

    lacking = [F.lit(None).cast("bigint").alias("seq"), F.lit(None).cast("string").alias("op")]
    changed = newer.withColumn("is_newer", F.lit(True))
    return older.select("*", *lacking, F.lit(False).alias("is_newer")).unionByName(changed).cache()


def bucket(count=4):
    from pyspark.sql import functions as F  # noqa: N812

    return F.pmod(F.hash("id", "region"), F.lit(count))


def expected(older, newer, **more):
    merged = mortice.merge(to_arrow(older), to_arrow(newer), **BY, **more)
    assert 0 < len(merged) <= KEYS + 100
    return sorted_rows(merged)


def sorted_rows(table):
    return multiset(table.to_pylist())


def test_partitions_of_all_rows_of_their_keys(older, newer, both):
    fn = merge_udf(older, is_newer="is_newer", **BY)
    merged = both.repartition(PARTITIONS, "id", "region").mapInArrow(fn, fn.schema)
    assert merged.schema == fn.schema
    assert sorted_rows(to_arrow(merged)) == expected(older, newer)
    assert merged.select("n", "day", "tags").count() == merged.count()


@spark4
def test_groups_by_bucket_and_by_key(older, newer, both):
    fn = merge_udf(older.schema, is_newer="is_newer", **BY)
    merged = both.groupBy(bucket()).applyInArrow(fn, fn.schema)
    assert sorted_rows(to_arrow(merged)) == expected(older, newer)
    few = both.where("id < 40")
    by_key = few.groupBy("id", "region").applyInArrow(fn, fn.schema)
    assert sorted_rows(to_arrow(by_key)) == expected(older.where("id < 40"), newer.where("id < 40"))


@spark4
def test_cogroups(older, newer):
    fn = merge_udf(older, **BY)
    merged = older.groupBy(bucket()).cogroup(newer.groupBy(bucket())).applyInArrow(fn, fn.schema)
    assert merged.schema == fn.schema
    assert sorted_rows(to_arrow(merged)) == expected(older, newer)
    # So many groups that some have rows on one side only.
    many = older.where("id < 20").groupBy(bucket(200)).cogroup(newer.where("id > 10").groupBy(bucket(200)))
    merged = to_arrow(many.applyInArrow(fn, fn.schema))
    assert sorted_rows(merged) == sorted_rows(
        mortice.merge(to_arrow(older.where("id < 20")), to_arrow(newer.where("id > 10")), **BY)
    )


@spark4
def test_deletes_are_returned(older, newer):
    fn = merge_udf(older, emit_deletes=True, **BY)
    assert fn.schema.names == [*older.columns, "_hoodie_operation"]
    merged = older.groupBy(bucket()).cogroup(newer.groupBy(bucket())).applyInArrow(fn, fn.schema)
    assert sorted_rows(to_arrow(merged)) == expected(older, newer, emit_deletes=True)
    assert merged.where("_hoodie_operation = 'D'").count() > 0


@spark4
def test_columns_that_changes_lack(older, newer):
    """Partial records."""
    some = newer.select("id", "region", "at", "n", "seq")
    by = {name: value for name, value in BY.items() if not name.startswith("delete")}
    fn = merge_udf(older, partial=True, **by)
    merged = older.groupBy(bucket()).cogroup(some.groupBy(bucket())).applyInArrow(fn, fn.schema)
    merged_rows = mortice.merge(to_arrow(older), to_arrow(some), partial=True, **by)
    assert sorted_rows(to_arrow(merged)) == sorted_rows(merged_rows)
    assert merged.where("fare is not null and n != id").count() > 0


@spark4
@pytest.mark.parametrize(
    "setting",
    [
        ("spark.sql.session.timeZone", "America/Los_Angeles"),
        ("spark.sql.execution.arrow.useLargeVarTypes", "true"),
        ("spark.sql.execution.arrow.maxRecordsPerBatch", "7"),
    ],
)
def test_settings_of_spark(spark, older, newer, both, setting):
    conf, value = setting
    known, expected_rows = spark.conf.get(conf), sum(expected(older, newer).values())
    spark.conf.set(conf, value)
    try:
        fn = merge_udf(older, is_newer="is_newer", **BY)
        by_cogroup = older.groupBy(bucket()).cogroup(newer.groupBy(bucket())).applyInArrow(fn, fn.schema).collect()
        by_group = both.groupBy(bucket()).applyInArrow(fn, fn.schema).collect()
        by_partition = both.repartition(2, "id", "region").mapInArrow(fn, fn.schema).collect()
    finally:
        spark.conf.set(conf, known)
    assert len(by_cogroup) == expected_rows
    assert sorted(map(str, by_cogroup)) == sorted(map(str, by_group)) == sorted(map(str, by_partition))


def test_rules_of_a_table(spark, table_of):
    """Keys, ordering and mode of a table; its own rows as the older ones."""
    name = "h11_event_time_deletes"
    table = mortice.Table(table_of(name))
    fn = merge_udf(table, is_newer="is_newer")
    assert fn.schema.names == [name for name in table.schema.names if name not in META]
    rows = table.snapshot(columns=fn.schema.names).to_arrow()
    assert len(rows) > 0
    ordering = table.ordering_fields[0]
    late = rows.set_column(rows.schema.get_field_index(ordering), ordering, pa.nulls(len(rows), rows[ordering].type))
    frames = [
        mortice.spark.read(spark, str(table_of(name)), columns=fn.schema.names).selectExpr("*", "false as is_newer"),
        mortice.spark.read(spark, str(table_of(name)), columns=fn.schema.names).selectExpr(
            *(
                f"cast(null as {fn.schema[c].dataType.simpleString()}) as {c}" if c == ordering else c
                for c in fn.schema.names
            ),
            "true as is_newer",
        ),
    ]
    merged = frames[0].unionByName(frames[1]).repartition(2, *table.record_key_fields).mapInArrow(fn, fn.schema)
    assert sorted_rows(to_arrow(merged)) == sorted_rows(mortice.merge(rows, late, table=table)) == sorted_rows(rows)


def test_invalid_arguments_are_refused_before_spark_runs(older):
    for arguments, words in [
        ({"record_key": "id"}, "commit_order"),
        ({"record_key": "id", "ordering": "at", "partial_update": "KEEP"}, "KEEP"),
        ({"record_key": "key", "ordering": "at"}, "key"),
        ({"record_key": "id", "ordering": "tags"}, "ordering field"),
        ({"record_key": "id", "ordering": "at", "is_newer": "n"}, "is_newer|'n'"),
    ]:
        with pytest.raises(mortice.MorticeError, match=words):
            merge_udf(older, **arguments)
    with pytest.raises(mortice.InvalidArgumentError, match="DataFrame"):
        merge_udf("id bigint", record_key="id", ordering="at")


@spark4
def test_errors_of_tasks_name_the_problem(older, both):
    fn = merge_udf(older, **BY)
    with pytest.raises(Exception, match="is_newer is missing"):
        both.groupBy(bucket()).applyInArrow(fn, fn.schema).collect()
