"""Files that other tools have written and registered in a table without rewriting them: `NAME_INSTANT_hudiext`, also
with the prefix of a folder."""

import json
import pickle
import shutil
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from mortice import FileCleanedError, UnsupportedError
from support.tables.file_listing import write_listing

INSTANTS = ("20240101000000000", "20240102000000000")
PARTITION = "city=oslo"
SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": ["null", "long"], "default": None},
        {"name": "v", "type": ["null", "string"], "default": None},
        {"name": "city", "type": ["null", "string"], "default": None},
    ],
}
FILES = (("part-0_a.snappy.parquet", [1, 2, 3]), ("part-1.parquet", [4]))


def registered(name, instant, prefix):
    marker = f"_fg%3D{quote(prefix, safe=' ')}" if prefix else ""
    return f"{name}_{instant}{marker}_hudiext"


def write_table(path, prefix="", *, folders_in_names=True, has_meta_columns=False):
    """A table of two commits, each of which registers a file."""
    folder = path / PARTITION / prefix
    folder.mkdir(parents=True)
    timeline = path / ".hoodie"
    timeline.mkdir()
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "6",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "city",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.populate.meta.fields": str(has_meta_columns).lower(),
        "hoodie.table.metadata.partitions": "files",
    }
    lines = "".join(f"{key}={value}\n" for key, value in properties.items())
    timeline.joinpath("hoodie.properties").write_text(lines, encoding="utf-8")
    listed = {}
    for (name, ids), instant in zip(FILES, INSTANTS, strict=True):
        rows = pa.table({"id": ids, "v": [f"v{number}" for number in ids], "city": ["oslo"] * len(ids)})
        pq.write_table(rows, folder / name)
        size = folder.joinpath(name).stat().st_size
        whole = registered(name, instant, prefix)
        if prefix and folders_in_names:
            whole = f"{prefix}/{whole}"
        listed[whole] = size
        stat = {
            "fileId": f"{prefix}/{name}" if prefix else name,
            "path": f"{PARTITION}/{whole}",
            "prevCommit": "null",
            "numWrites": len(ids),
            "fileSizeInBytes": size,
        }
        commit = {"partitionToWriteStats": {PARTITION: [stat]}, "extraMetadata": {"schema": json.dumps(SCHEMA)}}
        timeline.joinpath(f"{instant}.commit").write_text(json.dumps(commit), encoding="utf-8")
    write_listing(path, INSTANTS[-1], {PARTITION: listed})
    return mortice.Table(path)


def ids(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("has_meta_columns", [False, True])
@pytest.mark.parametrize(
    ("prefix", "folders_in_names"), [("", True), ("bucket-0/sub", True), ("bucket 1=x", True), ("bucket-0", False)]
)
def test_they_are_read(tmp_path, prefix, folders_in_names, has_meta_columns):
    table = write_table(tmp_path / "t", prefix, folders_in_names=folders_in_names, has_meta_columns=has_meta_columns)
    assert ids(table.snapshot()) == [1, 2, 3, 4]
    assert table.snapshot().count() == 4
    assert ids(table.snapshot(["id", "city"], [("city", "=", "oslo"), ("id", ">", 2)])) == [3, 4]
    assert ids(table.snapshot(["id"], [("v", "=", "v2")])) == [2]
    assert ids(table.snapshot(["id"], [("city", "=", "rome")])) == []
    assert table.snapshot(filters=[("id", "in", [1, 4])]).count() == 2
    assert ids(table.read_optimized(["id"])) == [1, 2, 3, 4]
    assert ids(table.snapshot(["id"], as_of=INSTANTS[0])) == [1, 2, 3]
    splits = table.snapshot(["id"]).splits()
    assert [sorted(split.schema.names) for split in splits] == [["id"], ["id"]]
    sent = pickle.loads(pickle.dumps(splits))
    assert sorted(number for split in sent for number in split.to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    if has_meta_columns:
        rows = table.snapshot(["_hoodie_commit_time", "_hoodie_record_key"]).to_arrow().to_pylist()
        assert rows == [{"_hoodie_commit_time": None, "_hoodie_record_key": None}] * 4
    else:
        assert table.schema.names == ["id", "v", "city"]


def test_one_that_is_gone_is_an_error(tmp_path):
    table = write_table(tmp_path / "t")
    tmp_path.joinpath("t", PARTITION, FILES[0][0]).unlink()
    with pytest.raises(FileCleanedError):
        table.snapshot().to_arrow()


@pytest.mark.parametrize("prefix", ["", "bucket-0"])
def test_a_listing_of_the_storage_is_refused(tmp_path, prefix):
    """Also where the partition has the file by which a listing knows it."""
    path = tmp_path / "t"
    write_table(path, prefix)
    listed = mortice.Table(path, read_options=mortice.ReadOptions(use_metadata=False))
    with pytest.raises(UnsupportedError, match="registered by another tool"):
        listed.snapshot().to_arrow()
    path.joinpath(PARTITION, ".hoodie_partition_metadata").touch()
    with pytest.raises(UnsupportedError, match="registered by another tool"):
        listed.snapshot().to_arrow()
    shutil.rmtree(path / ".hoodie/metadata")
    with pytest.raises(UnsupportedError, match="registered by another tool"):
        mortice.Table(path).snapshot().to_arrow()


@pytest.mark.parametrize("has_meta_columns", [False, True])
def test_their_rows_are_in_no_range_of_commits(tmp_path, has_meta_columns):
    table = write_table(tmp_path / "t", has_meta_columns=has_meta_columns)
    with pytest.raises(UnsupportedError, match="registered by another tool" if has_meta_columns else "meta columns"):
        table.incremental("0").to_arrow()


def contents(path):
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_writes_and_services_are_refused_before_anything_changes(tmp_path):
    path = tmp_path / "t"
    table = write_table(path)
    rows = pa.table({"id": [9], "v": ["z"], "city": ["oslo"]})
    before = contents(path)
    for change in (
        lambda: table.upsert(rows),
        lambda: table.insert(rows),
        lambda: table.bulk_insert(rows),
        lambda: table.delete(rows),
        lambda: table.insert_overwrite(rows),
        lambda: table.insert_overwrite_table(rows),
        lambda: table.delete_partitions([PARTITION]),
        table.clean,
        table.cluster,
        table.archive,
        lambda: table.build_metadata(rebuild=True),
        table.delete_metadata,
        lambda: table.rollback(INSTANTS[-1]),
        lambda: table.savepoint(INSTANTS[-1]),
        lambda: table.restore(INSTANTS[0]),
        table.verify,
        table.repair,
    ):
        with pytest.raises(UnsupportedError, match="registered by another tool"):
            change()
        assert contents(path) == before


def test_a_name_that_leads_outside_the_partition_is_refused(tmp_path):
    path = tmp_path / "t"
    write_table(path)
    shutil.rmtree(path / ".hoodie/metadata")
    secret = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"id": [7], "v": ["x"], "city": ["oslo"]}), secret)
    name = f"secret.parquet_{INSTANTS[-1]}_fg%3D..%2F.._hudiext"
    write_listing(path, INSTANTS[-1], {PARTITION: {name: secret.stat().st_size}})
    with pytest.raises(UnsupportedError, match="registered"):
        mortice.Table(path).snapshot().to_arrow()
