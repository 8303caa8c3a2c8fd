"""Values of a mebibyte in remote Parquet files of other writers: a batch has no more bytes than the limit and a row."""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.object_stores.uploads import upload
from support.tables.written import NO_METADATA

MIB = 1 << 20
MEMORY = 8 * MIB
LIMIT = MEMORY // 8
KEYS = {"access_key_id": "A", "secret_access_key": "B"}
SCHEMA = pa.schema([("id", pa.string()), ("s", pa.string())])
# How pyarrow writes the column.
ENCODINGS = {
    "plain": {"use_dictionary": False},
    "dictionary": {"use_dictionary": True, "dictionary_pagesize_limit": 64 * MIB},
    "delta length": {"use_dictionary": False, "column_encoding": {"s": "DELTA_LENGTH_BYTE_ARRAY"}},
    "delta": {"use_dictionary": False, "column_encoding": {"s": "DELTA_BYTE_ARRAY"}},
}
SHAPES = {
    "distinct": [f"{number:08}" + "v" * (MIB - 8) for number in range(24)],
    "same beginnings": ["v" * (MIB - 8) + f"{number:08}" for number in range(24)],
    "few": [f"{number % 3:08}" + "v" * (MIB - 8) for number in range(24)],
    "some": [f"{number:08}" + "v" * (MIB - 8 if number % 10 == 0 else 0) for number in range(240)],
}


def table_of(folder, values, **options):
    """Creates a table whose base file pyarrow has written."""
    table = mortice.create_table(folder, SCHEMA, name="t", record_key="id", table_type="COPY_ON_WRITE")
    ids = [f"key {number:04}" for number in range(len(values))]
    table.insert(pa.table([ids, ["x"] * len(values)], schema=SCHEMA), NO_METADATA)
    (path,) = pathlib.Path(folder).glob("*.parquet")
    rows = pq.read_table(path)
    columns = [pa.array(values) if name == "s" else rows[name] for name in rows.column_names]
    written = pa.table(columns, rows.column_names).replace_schema_metadata(rows.schema.metadata)
    pq.write_table(written, path, compression="zstd", data_page_size=4 * MIB, write_batch_size=8, **options)
    return ids


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_batches_stay_within_the_limit_and_a_row(tmp_path, moto, bucket, encoding, shape):
    values, places = SHAPES[shape], []
    for version in ("1.0", "2.0"):
        folder = tmp_path / version
        ids = table_of(folder, values, data_page_version=version, **ENCODINGS[encoding])
        prefix = f"wide/{encoding} {shape} {version}".replace(" ", "-")
        upload(moto, bucket, folder, prefix)
        remote = {"endpoint": moto, "region": "us-east-1", **KEYS}
        places += [(folder, None), (f"s3://{bucket}/{prefix}", remote)]
    for uri, options in places:
        scan = mortice.Table(
            uri, storage_options=options, read_options=mortice.ReadOptions(memory_limit=MEMORY, threads=1)
        ).snapshot()
        found, sizes = {}, []
        for batch in scan.to_reader():
            sizes.append(batch.nbytes)
            found |= dict(zip(batch["id"].to_pylist(), batch["s"].to_pylist(), strict=True))
        assert found == dict(zip(ids, values, strict=True))
        assert max(sizes) <= LIMIT + MIB + (64 << 10), sizes
        assert scan.report()["peak_fetched_bytes"] <= MEMORY // 4 + 4 * MIB
