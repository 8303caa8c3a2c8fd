"""A secondary index of Hudi that mortice keeps, or builds, has Hudi's keys in Hudi's file groups, and Hudi uses it."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)

from support.hudi import fetch_hudi  # noqa: E402

if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

import mortice  # noqa: E402
from support.hudi.hudi_on_spark import HudiOnSpark  # noqa: E402

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
SESSION = (
    "spark.sql.catalogImplementation=in-memory",
    "spark.sql.catalog.spark_catalog=org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.kryo.registrator=org.apache.spark.HoodieSparkKryoRegistrar",
)
OURS = {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.record.index.update.partition.path": "true",
}
# With Hudi's own timeline server: without it, writes of Hudi to a table with the index were seen to fail.
OPTIONS = {
    "hoodie.table.name": "indexed",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.write.auto.upgrade": "false",
    **OURS,
}
INDEX = "secondary_index_idx"
SKIPPING = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
FIRST = [
    ("a", "x", 1, "ann"),
    ("b$", "x", 1, "q\\z$"),
    ("c", "y", 1, None),
    ("d", "y", 1, ""),
    ("e", "y", 1, "ann"),
    ("f", "y", 1, "bob"),
    ("m", "y", 1, "ann"),
]
# Values change, to and from null; f is older than what is stored; m moves to another partition.
UPSERTED = [
    ("a", "x", 2, "new"),
    ("b$", "x", 2, None),
    ("c", "y", 2, "é🐎"),
    ("f", "y", 0, "late"),
    ("g", "z", 1, "ann"),
    ("h", "z", 1, "$\\"),
    ("m", "x", 2, "ann"),
    ("ü", "z", 1, "é🐎"),
]
DELETED = [("e", "y", 5, "ann"), ("h", "z", 5, "$\\")]
# e is in another file group than before.
INSERTED = [("e", "z", 6, "ann"), ("i", "x", 6, "q\\z$")]
LAST = [("g", "z", 9, "again"), ("j", "x", 9, "ann")]
VALUES = ("ann", "new", "bob", "late", "q\\z$", "$\\", "", "é🐎", "again")


def rows(given):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in given], schema=SCHEMA)


@pytest.fixture(scope="module")
def hudi():
    process = HudiOnSpark(fetch_hudi.jar(), SESSION)
    yield process
    process.close()


@pytest.fixture(params=["mor-9", "cow-9", "mor-8", "cow-8"])
def first(request, tmp_path, hudi):
    """A table of Hudi without the index, which is in Spark's catalog, and what Hudi writes to it with."""
    kind, version = request.param.split("-")
    name, path = f"{kind}{version}", tmp_path / "by_hudi"
    for setting in (
        "metadata.record.index.enable=true",
        "write.auto.upgrade=false",
        f"write.table.version={version}",
        "write.lock.provider=org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    ):
        hudi.sql(f"SET hoodie.{setting}")
    table_type = {"mor": "MERGE_ON_READ", "cow": "COPY_ON_WRITE"}[kind]
    own = {"hoodie.datasource.write.table.type": table_type, "hoodie.write.table.version": version}

    def write(given, path, operation="upsert"):
        pq.write_table(rows(given), tmp_path / "rows.parquet")
        options = {**OPTIONS, **own, "hoodie.datasource.write.operation": operation}
        hudi.write(tmp_path / "rows.parquet", path, options)

    write(FIRST, path)
    hudi.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    return name, path, write


def keys(path):
    """The keys of the index, with the file groups that have them."""
    splits = mortice.Table(path).metadata_table().snapshot(["key", "type"]).splits()
    found = [(split.file_id, row) for split in splits for row in split.to_arrow().to_pylist()]
    return sorted((row["key"], file_id) for file_id, row in found if row["type"] == 7)


def check_queries(hudi, path, out):
    """Hudi finds the same rows by each value with the index and without it, and they are mortice's."""
    stored = mortice.Table(path).snapshot(["id", "name"]).to_arrow().to_pylist()
    for name in VALUES:
        where = f"name = '{name.replace(chr(92), chr(92) * 2)}'"
        expected = sorted(row["id"] for row in stored if row["name"] == name)
        for options in (SKIPPING, {"hoodie.metadata.enable": "false"}):
            hudi.read(path, out, where, **options)
            found = pq.read_table(out, columns=["id"]).column("id").to_pylist()
            assert sorted(found) == expected, (name, options)


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:mortice was built:RuntimeWarning")
def test_hudi_has_the_same_keys_and_finds_the_same_rows(tmp_path, hudi, first):
    name, by_hudi, write = first
    by_mortice, built, out = tmp_path / "by_mortice", tmp_path / "built", tmp_path / "out"
    shutil.copytree(by_hudi, built)
    hudi.sql(f"CREATE INDEX idx ON {name} (name)")
    assert INDEX in mortice.Table(by_hudi).properties["hoodie.table.metadata.partitions"]
    shutil.copytree(by_hudi, by_mortice)

    mortice.Table(built).build_metadata(add=[f"{INDEX}(name)"])
    assert [key for key, _ in keys(built)] == [key for key, _ in keys(by_hudi)]

    table = mortice.Table(by_mortice)
    for operation, change, given in (
        ("upsert", table.upsert, UPSERTED),
        ("delete", table.delete, DELETED),
        ("insert", table.insert, INSERTED),
    ):
        write(given, by_hudi, operation)
        change(rows(given), OURS)
        assert keys(by_mortice) == keys(by_hudi), operation
    check_queries(hudi, by_mortice, out)
    if name.startswith("mor"):
        mortice.Table(by_mortice).compact({"hoodie.compact.inline.max.delta.commits": "1"})
        assert keys(by_mortice) == keys(by_hudi)
        check_queries(hudi, by_mortice, out)

    # Hudi goes on with both.
    for path in (by_hudi, by_mortice, built):
        write(LAST, path)
    assert keys(by_mortice) == keys(by_hudi)
    for path in (by_mortice, built):
        check_queries(hudi, path, out)
