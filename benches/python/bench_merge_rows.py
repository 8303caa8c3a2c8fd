"""Merge of change rows into a snapshot, by event time with deletes: `mortice.merge` compared with pandas and polars,
and `merge_udf` on Spark with a window function (`row_number` over the key, by ordering descending), on the same rows.

`BENCH_RECORDS` is the number of rows of the snapshot (1,000,000); a fifth as many are changed.
"""

import os
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
import mortice.spark

ROWS = int(os.environ.get("BENCH_RECORDS", "1000000"))
HERE = f"merge {ROWS // 5} changes into {ROWS} rows"
ON_SPARK = f"{HERE}, on Spark, written nowhere"
RULES = {"record_key": "id", "ordering": "ts", "delete_field": "op", "delete_marker": "d"}
ROUNDS = {"rounds": 3, "warmup_rounds": 1}


def rows(ids, ts, salt):
    numbers = pc.cast(ids, pa.string())
    return pa.table(
        {
            "id": pc.binary_join_element_wise("trip", numbers, "-"),
            "ts": ts,
            "fare": pc.divide(pc.cast(pc.add(ids, salt), pa.float64()), 7.0),
            "rider": pc.binary_join_element_wise("rider", numbers, " "),
            "city": pc.take(pa.array(["oslo", "rome", "lima", "izmir"]), pc.bit_wise_and(ids, 3)),
            "n": pc.add(ids, salt),
        }
    )


@pytest.fixture(scope="module")
def older():
    return rows(pa.array(range(ROWS)), pa.array([10] * ROWS), 0)


@pytest.fixture(scope="module")
def newer():
    """One in ten is late, one in sixteen a delete, half of the last tenth new."""
    count = ROWS // 5
    ids = pa.array([number * 5 + ROWS // 20 for number in range(count)])
    changed = rows(ids, pa.array([9 if number % 10 == 0 else 11 for number in range(count)]), 1)
    ops = pa.array(["d" if number % 16 == 0 else "u" for number in range(count)])
    return changed.append_column("op", ops)


@pytest.mark.benchmark(group=HERE)
def test_mortice(benchmark, older, newer):
    assert benchmark.pedantic(lambda: mortice.merge(older, newer, **RULES), **ROUNDS).num_rows > ROWS // 2


@pytest.mark.benchmark(group=HERE)
def test_pandas(benchmark, older, newer):
    pandas = pytest.importorskip("pandas")
    expected = mortice.merge(older, newer, **RULES).num_rows

    def merge():
        both = pandas.concat([older.to_pandas(), newer.to_pandas()], ignore_index=True)
        latest = both.sort_values("ts", kind="stable").drop_duplicates("id", keep="last")
        return pa.Table.from_pandas(latest[latest["op"] != "d"].drop(columns="op"), preserve_index=False)

    assert benchmark.pedantic(merge, **ROUNDS).num_rows == expected


@pytest.mark.benchmark(group=HERE)
def test_polars(benchmark, older, newer):
    polars = pytest.importorskip("polars")
    expected = mortice.merge(older, newer, **RULES).num_rows

    def merge():
        both = polars.concat([polars.from_arrow(older), polars.from_arrow(newer)], how="diagonal")
        latest = both.sort("ts", maintain_order=True).unique("id", keep="last")
        return latest.filter(polars.col("op").ne_missing("d")).drop("op").to_arrow()

    assert benchmark.pedantic(merge, **ROUNDS).num_rows == expected


@pytest.fixture(scope="module")
def frames(older, newer, tmp_path_factory):
    pytest.importorskip("pyspark", minversion="4.0")
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from support.find_java import use_java

    use_java()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    folder = tmp_path_factory.mktemp("rows")
    read = []
    for name, table in (("older", older), ("newer", newer)):
        pq.write_table(table, folder / name)
        read.append(spark.read.parquet(str(folder / name)))
    yield read
    spark.stop()


def noop(frame):
    frame.write.format("noop").mode("overwrite").save()


@pytest.mark.benchmark(group=ON_SPARK)
def test_cogroup(benchmark, frames):
    from pyspark.sql import functions as F  # noqa: N812

    older, newer = frames
    fn = mortice.spark.merge_udf(older, **RULES)
    bucket = F.pmod(F.hash("id"), F.lit(8))
    merged = older.groupBy(bucket).cogroup(newer.groupBy(bucket)).applyInArrow(fn, fn.schema)
    benchmark.pedantic(lambda: noop(merged), **ROUNDS)


def merge_group(older, newer):
    from pyspark.sql import functions as F  # noqa: N812

    no = F.lit(None).cast("string").alias("op")
    return older.select("*", no, F.lit(False).alias("is_newer")).unionByName(newer.withColumn("is_newer", F.lit(True)))


@pytest.mark.benchmark(group=ON_SPARK)
def test_map_in_arrow(benchmark, frames):
    fn = mortice.spark.merge_udf(frames[0], is_newer="is_newer", **RULES)
    merged = merge_group(*frames).repartition(8, "id").mapInArrow(fn, fn.schema)
    benchmark.pedantic(lambda: noop(merged), **ROUNDS)


@pytest.mark.benchmark(group=ON_SPARK)
def test_window(benchmark, frames):
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    latest = F.row_number().over(Window.partitionBy("id").orderBy(F.desc("ts"), F.desc("is_newer")))
    ranked = merge_group(*frames).withColumn("rank", latest)
    merged = ranked.where("rank = 1 AND (op IS NULL OR op != 'd')").drop("rank", "op", "is_newer")
    fn = mortice.spark.merge_udf(frames[0], is_newer="is_newer", **RULES)
    assert merged.count() == merge_group(*frames).repartition(8, "id").mapInArrow(fn, fn.schema).count()
    benchmark.pedantic(lambda: noop(merged), **ROUNDS)
