"""Values of a mebibyte in files of other writers: batches of a read have no more bytes than the limit and one row."""

import json

import pyarrow as pa
import pyarrow.orc as po
import pytest

import mortice

INSTANT = "20240101000000000"
META = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]
CODECS = ["uncompressed", "zlib", "snappy", "lz4", "zstd"]

MIB = 1 << 20
MEMORY = 8 * MIB
LIMIT = MEMORY // 8
SHAPES = ["distinct", "alike", "first", "last", "null"]


def values(shape, rows):
    """Returns values: all of a mebibyte, or only some, among which are the first or the last ones."""
    long = [f"{number:08}" + "v" * (MIB - 8) for number in range(24)]
    short = [f"short {number}" for number in range(rows - 24)]
    return {
        "distinct": long,
        "alike": [long[0]] * 24,
        "first": long + short,
        "last": short + long,
        "null": [value for pair in zip(long, [None] * 24, strict=True) for value in pair],
    }[shape]


def table_of_file(folder, rows, **options):
    """Writes a table of one ORC base file with a column of strings or bytes."""
    count, (name,) = rows.num_rows, rows.column_names
    columns = {meta: [f"{at:06}" for at in range(count)] for meta in META}
    columns["_hoodie_commit_time"] = [INSTANT] * count
    kind = "bytes" if pa.types.is_binary(rows.schema.field(name).type) else "string"
    fields = [{"name": name, "type": ["null", kind], "default": None}]
    schema = json.dumps({"type": "record", "name": "t", "fields": fields})
    commit = {"partitionToWriteStats": {}, "extraMetadata": {"schema": schema}, "operationType": "INSERT"}
    (folder / ".hoodie").mkdir(parents=True)
    properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.base.file.format=ORC\n"
    (folder / ".hoodie" / "hoodie.properties").write_text(properties, encoding="utf-8")
    (folder / ".hoodie" / f"{INSTANT}.commit").write_text(json.dumps(commit), encoding="utf-8")
    (folder / ".hoodie_partition_metadata").touch()
    po.write_table(pa.table(columns | {name: rows[name]}), folder / f"f-0_0-1-2_{INSTANT}.orc", **options)
    return folder


def check_batches(scan, given):
    """Checks the values of a scan, and the size of its batches."""
    found, batches = [], 0
    for batch in scan.to_reader():
        assert batch.nbytes <= LIMIT + MIB + (64 << 10), (batch.nbytes, batch.num_rows)
        found += batch.column("s").to_pylist()
        batches += 1
    assert [(value or "")[:16] for value in found] == [(value or "")[:16] for value in given]
    assert found == given
    assert batches >= 12


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dictionary", [0.0, 1.0])
def test_batches_of_orc_files(tmp_path, shape, dictionary, kind):
    given = values(shape, 2000)
    if pa.types.is_binary(kind):
        given = [value and value.encode() for value in given]
    rows = pa.table({"y" if pa.types.is_binary(kind) else "s": pa.array(given, kind)})
    path = table_of_file(tmp_path / "t", rows, compression="zstd", dictionary_key_size_threshold=dictionary)
    scan = mortice.Table(path, read_options=mortice.ReadOptions(memory_limit=MEMORY, threads=1)).snapshot(
        columns=rows.column_names
    )
    if pa.types.is_binary(kind):
        assert [value for batch in scan.to_reader() for value in batch.column("y").to_pylist()] == given
        assert all(batch.nbytes <= LIMIT + MIB + (64 << 10) for batch in scan.to_reader())
    else:
        check_batches(scan, given)


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_orc_files_of_each_codec(tmp_path, codec):
    given = values("first", 100)
    path = table_of_file(tmp_path / "t", pa.table({"s": given}), compression=codec)
    check_batches(
        mortice.Table(path, read_options=mortice.ReadOptions(memory_limit=MEMORY, threads=1)).snapshot(columns=["s"]),
        given,
    )
