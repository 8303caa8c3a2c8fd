"""Writes tables with Hudi, and the rows that write benchmarks add to them: `python -m versus.writing BUNDLE
LOCAL_FILES`, the tables as JSON on standard input, in an environment with pyspark 3.5. Every value is derived from the
row's number and the round, so that a table is reproducible, except for its instants and the names of its files.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from support.find_java import use_java
from versus.tables import Table, copy_table

MILLION = 1_000_000
HEAP = os.environ.get("VERSUS_WRITER_HEAP", "6g")


def dice(seed, round_):
    """64 bits that depend on the row, the round and the seed."""
    return f.xxhash64(f.col("id"), f.lit(round_), f.lit(seed))


def often(seed, round_, value):
    """One value in twenty is null."""
    return f.when(f.pmod(dice(seed + 1000, round_), f.lit(20)) != 0, value)


def text(seed, round_, length):
    """Up to `length` hexadecimal digits; one in fifty is not ASCII."""
    digits = f.concat(*(f.lower(f.hex(dice(seed + 100 * part, round_))) for part in range(1 + length // 16)))
    umlaut = f.pmod(dice(seed + 900, round_), f.lit(50)) == 0
    return f.when(umlaut, f.concat(f.lit("größe-"), f.substring(digits, 1, length - 6))).otherwise(
        f.substring(digits, 1, length)
    )


def identity(round_):
    """The record key and the ordering value of every shape."""
    return [f.format_string("key-%010d", f.col("id")).alias("key"), (f.lit(MILLION) + round_).cast("long").alias("ts")]


def wide(round_):
    """20 columns; with Hudi's own five 25, about 330 bytes a log record."""
    columns = [often(at, round_, text(at, round_, 12 + 4 * at)).alias(f"s{at}") for at in range(5)]
    columns += [often(10 + at, round_, dice(10 + at, round_)).alias(f"l{at}") for at in range(4)]
    columns += [often(20 + at, round_, dice(20 + at, round_) / f.lit(1e6)).alias(f"d{at}") for at in range(4)]
    columns += [
        often(30 + at, round_, f.pmod(dice(30 + at, round_), f.lit(100_000)).cast("int")).alias(f"i{at}")
        for at in range(2)
    ]
    price = (f.pmod(dice(41, round_), f.lit(10**12)) / 10_000).cast("decimal(18,4)")
    when = f.timestamp_micros(f.lit(1_700_000_000_000_000) + f.pmod(dice(42, round_), f.lit(10**14)))
    columns += [(f.pmod(dice(40, round_), f.lit(2)) == 0).alias("b0"), often(41, round_, price).alias("dec0")]
    return [*columns, often(42, round_, when).alias("t0")]


def full(round_):
    """21 columns; with Hudi's own five 26."""
    return [*wide(round_), often(43, round_, dice(43, round_)).alias("l4")]


def narrow(round_):
    """5 columns."""
    number = f.pmod(dice(1, round_), f.lit(MILLION)).cast("int")
    return [
        often(1, round_, number).alias("i0"),
        often(2, round_, dice(2, round_) / f.lit(1e6)).alias("d0"),
        often(3, round_, text(3, round_, 24)).alias("s0"),
    ]


def nested(round_):
    """5 columns: a struct in a struct, a list of structs, a map."""
    number, real = often(1, round_, f.pmod(dice(1, round_), f.lit(MILLION)).cast("int")), dice(2, round_) / f.lit(1e6)
    inner = often(3, round_, f.struct(number.alias("a"), often(4, round_, real).alias("b")))
    outer = often(5, round_, f.struct(often(6, round_, text(6, round_, 16)).alias("name"), inner.alias("inner")))
    count = f.pmod(dice(7, round_), f.lit(4)).cast("int")
    indexes = f.slice(f.array(*(f.lit(at) for at in range(3))), f.lit(1), count)
    label = text(8, round_, 12)
    items = f.transform(
        indexes, lambda at: f.struct(f.concat(label, at.cast("string")).alias("label"), (real + at).alias("value"))
    )
    names = f.transform(indexes, lambda at: f.concat(f.lit("entry"), at.cast("string")))
    entries = f.map_from_arrays(names, f.transform(indexes, lambda at: dice(9, round_) + at))
    return [outer.alias("st0"), often(10, round_, items).alias("li0"), often(11, round_, entries).alias("ma0")]


SHAPES = {"wide": wide, "full": full, "narrow": narrow, "nested": nested}


def frame(table, ids, round_):
    """Returns the rows of a round. The last column is the partition, if there are any, assigned round-robin."""
    columns = identity(round_) + SHAPES[table.shape](round_)
    if table.partitions:
        number = f.pmod(f.col("id"), f.lit(table.partitions))
        columns.append(f.format_string("p%06d", number).alias("part"))
    return ids.select(*columns)


def session(bundle, local_files):
    """Returns a Spark session with Hudi, on all cores."""
    use_java()
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", HEAP)
        .config("spark.jars", bundle)
        .config("spark.driver.extraClassPath", local_files)
        .config("spark.hadoop.fs.file.impl", "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.executor.heartbeatInterval", "60s")
        .config("spark.network.timeout", "600s")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def options(table):
    """Returns Hudi's options, which disable compaction, cleaning and filling of small files."""
    generator = "SimpleKeyGenerator" if table.partitions else "NonpartitionedKeyGenerator"
    files = max(table.partitions, 1) * table.groups
    return {
        "hoodie.table.name": "versus",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "key",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "part" if table.partitions else "",
        "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{generator}",
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.metadata.enable": str(table.metadata).lower(),
        # Planning needs only the list of files; for statistics Hudi would open each of 100,000 files again.
        "hoodie.metadata.index.column.stats.enable": str(table.statistics).lower(),
        "hoodie.metadata.index.partition.stats.enable": str(table.statistics).lower(),
        "hoodie.compact.inline": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.parquet.max.file.size": str(1 << 32),
        # A task has rows of every partition, and writes a file for each: one is closed before the next is opened.
        "hoodie.bulkinsert.sort.mode": "PARTITION_SORT" if table.partitions else "NONE",
        "hoodie.bulkinsert.shuffle.parallelism": str(table.groups),
        "hoodie.upsert.shuffle.parallelism": "2",
        # The Bloom filters of many empty files would be most of their bytes.
        "hoodie.index.bloom.num_entries": str(min(60_000, max(100, table.rows // files))),
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
    }


def save(table, rows, path, operation):
    written = rows.write.format("hudi").options(**options(table)).option("hoodie.datasource.write.operation", operation)
    written.mode("overwrite" if operation == "bulk_insert" else "append").save(str(path))


def write_base(spark, table, path):
    """Writes all rows: one task for each file group."""
    save(table, frame(table, spark.range(0, table.rows, 1, table.groups), 0), path, "bulk_insert")


def updates(spark, table, round_, files=2):
    """The rows of one of the table's upserts: its share of the updated rows."""
    picked = f.pmod(f.xxhash64(f.col("id"), f.lit("picked")), f.lit(MILLION)) < int(table.fraction * MILLION)
    share = f.pmod(f.xxhash64(f.col("id"), f.lit("share")), f.lit(table.commits)) == round_ - 1
    return frame(table, spark.range(0, table.rows, 1, files).where(picked & share), round_)


def write_rows(spark, table, path):
    """Writes the rows of the table's last commit as Parquet."""
    if table.commits:
        rows = updates(spark, table, table.commits, table.groups)
    else:
        rows = frame(table, spark.range(0, table.rows, 1, table.groups), 0)
    rows.write.parquet(str(path))


def write(spark, table):
    """Writes to a temporary directory and renames it when the table is complete."""
    if table.path.is_dir():
        return
    if table.commits and not table.only_rows:
        write(spark, table.base)
    partial = table.path.with_name(f"{table.path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    if table.only_rows:
        write_rows(spark, table, partial)
    elif table.commits:
        copy_table(table.base.path, partial)
        for round_ in range(1, table.commits + 1):
            save(table, updates(spark, table, round_), partial, "upsert")
    else:
        write_base(spark, table, partial)
    Path(partial).rename(table.path)
    print(f"  {table.name}", flush=True)


def main():
    tables = [Table(**facts) for facts in json.load(sys.stdin)]
    spark = session(*sys.argv[1:])
    for table in tables:
        write(spark, table)
    spark.stop()


if __name__ == "__main__":
    main()
