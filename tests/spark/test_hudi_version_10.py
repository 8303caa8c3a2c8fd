"""Hudi 1.3 and mortice write to the same tables of version 10, and read what the other wrote.

Hudi 1.3 is not released: `HUDI_13_JAR` names the bundle for Spark 3.5 of a build of its source.
"""

import os

import pyarrow as pa
import pytest

import mortice

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)
JAR = os.environ.get("HUDI_13_JAR")
if not JAR:
    pytest.skip("HUDI_13_JAR does not name a bundle of Hudi 1.3", allow_module_level=True)

from support.cases import assert_same_result  # noqa: E402
from support.frames import to_arrow  # noqa: E402
from support.hudi.hudi_writer import session  # noqa: E402

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("value", pa.int64()), ("ts", pa.int64())])
COLUMNS = ", ".join(f"{field.name} {'string' if pa.types.is_string(field.type) else 'long'}" for field in SCHEMA)
INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
}
OPTIONS = {"hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false"}
QUERY, FORMAT = "hoodie.datasource.query.type", "hoodie.datasource.query.incremental.format"
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
CDC = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE_AFTER"}


@pytest.fixture(scope="module")
def spark():
    spark = session(JAR)
    spark.sparkContext.setLogLevel("OFF")
    yield spark
    spark.stop()


class SharedTable:
    """A table that both write to, and the values that its keys should have."""

    def __init__(self, spark, path, kind, metadata, properties):
        self.spark, self.path, self.expected = spark, str(path), {}
        self.has_changes = bool(properties)
        self.options = OPTIONS | (INDEXES if metadata else {"hoodie.metadata.enable": "false"})
        arguments = {"record_key": "id", "partition_by": "part", "ordering": "ts", "table_type": kind}
        mortice.create_table(path, SCHEMA, name="t", version=10, properties=properties, **arguments)

    def rows(self, keys, value, ts):
        return [(f"k{key}", "ab"[key % 2], value * 100 + key, ts) for key in keys]

    def ours(self, operation, rows):
        names = SCHEMA.names[:2] if operation == "delete" and rows[0][3] is None else SCHEMA.names
        given = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
        getattr(mortice.Table(self.path), operation)(given.select(names), self.options)

    def hudis(self, operation, rows):
        frame = self.spark.createDataFrame(rows, COLUMNS).coalesce(1)
        chosen = self.options | {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.embed.timeline.server": "false",
            "hoodie.write.markers.type": "DIRECT",
            "hoodie.upsert.shuffle.parallelism": "1",
            "hoodie.delete.shuffle.parallelism": "1",
        }
        frame.write.format("hudi").options(**chosen).mode("append").save(self.path)

    def read_by_hudi(self, **options):
        named = {name.replace("__", "."): value for name, value in options.items()}
        chosen = {"hoodie.metadata.enable": self.options["hoodie.metadata.enable"]} | named
        rows = self.spark.read.format("hudi").options(**chosen).load(self.path).select("id", "value").collect()
        return sorted((row.id, row.value) for row in rows)

    def load(self, **options):
        """Returns what Hudi reads, in its columns' order."""
        named = {name.replace("__", "."): value for name, value in options.items()}
        chosen = {"hoodie.metadata.enable": self.options["hoodie.metadata.enable"]} | named
        return to_arrow(self.spark.read.format("hudi").options(**chosen).load(self.path))

    def check_history(self):
        """Compares time travel, ranges and changes with Hudi's, for all writes of both."""
        table = mortice.Table(self.path)
        writes = [one for one in table.timeline if one.action in {"commit", "deltacommit", "replacecommit"}]
        for one in writes:
            ours = table.snapshot(as_of=one.requested_time).to_arrow()
            assert_same_result(self.load(as__of__instant=one.requested_time), ours)
        times = [one.completion_time for one in writes]
        middle = times[len(times) // 2]
        for begin, end in [("000", None), (times[0], None), (times[1], middle), (middle, times[-1])]:
            given = {BEGIN: begin} | ({END: end} if end else {})
            ours = table.incremental(begin, end).to_arrow()
            assert_same_result(self.load(**{QUERY: "incremental"}, **given), ours, ordered=False)
            if self.has_changes:
                ours = table.changes(begin, end).to_arrow()
                theirs = self.load(**{QUERY: "incremental", FORMAT: "cdc"}, **given)
                assert_same_result(theirs, ours, ordered=False)

    def check(self):
        table = mortice.Table(self.path)
        ours = sorted((row["id"], row["value"]) for row in table.snapshot().to_arrow().to_pylist())
        assert ours == sorted(self.expected.items())
        assert self.read_by_hudi() == ours
        one = max(self.expected)
        found = self.spark.read.format("hudi").options(**{"hoodie.metadata.enable": "true"}).load(self.path)
        assert [row.value for row in found.filter(f"id = '{one}'").collect()] == [self.expected[one]]
        assert table.verify(keys=True).findings == []


KINDS = [
    pytest.param(kind, metadata, properties, id=f"{kind.lower()}-{'metadata' if metadata else 'plain'}-{name}")
    for kind in ("MERGE_ON_READ", "COPY_ON_WRITE")
    for metadata in (True, False)
    for name, properties in (("rows", {}), ("cdc", CDC))
]


@pytest.mark.parametrize(("kind", "metadata", "properties"), KINDS)
def test_both_write_to_a_table(spark, tmp_path, kind, metadata, properties):
    table = SharedTable(spark, tmp_path / "t", kind, metadata, properties)
    expected = table.expected
    table.ours("insert", table.rows(range(10), 1, 10))
    expected |= {f"k{key}": 100 + key for key in range(10)}
    table.ours("upsert", table.rows([1, 2, 11], 2, 20))
    expected |= {"k1": 201, "k2": 202, "k11": 211}
    table.ours("upsert", table.rows([2], 3, 5))  # late: it loses
    table.ours("delete", table.rows([3], 3, 30))
    table.ours("delete", [("k4", "a", None, None)])
    del expected["k3"], expected["k4"]
    table.check()
    table.hudis("upsert", table.rows([2, 5, 12], 4, 40))
    expected |= {"k2": 402, "k5": 405, "k12": 412}
    table.hudis("delete", table.rows([6], 4, 40))
    del expected["k6"]
    table.check()
    if kind == "MERGE_ON_READ":
        mortice.Table(table.path).compact(table.options | {"hoodie.compact.inline.max.delta.commits": "1"})
        table.check()
    table.ours("upsert", table.rows([5, 13], 5, 50))
    expected |= {"k5": 505, "k13": 513}
    table.hudis("upsert", table.rows([13, 14], 6, 60))
    expected |= {"k13": 613, "k14": 614}
    mortice.Table(table.path).cluster(table.options | {"hoodie.clustering.inline.max.commits": "1"})
    table.check()
    table.ours("upsert", table.rows([0], 7, 70))
    expected |= {"k0": 700}
    table.check()
    table.check_history()
