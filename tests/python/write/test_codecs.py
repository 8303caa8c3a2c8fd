"""The codec of the files of a table: Zstandard where the table's version allows, unless an option says otherwise."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64())])
CODEC = "hoodie.parquet.compression.codec"


def rows(first, count=50):
    return pa.table([[f"k{number}" for number in range(first, first + count)], [first] * count], schema=SCHEMA)


def codecs(path):
    files = sorted(Path(path).glob("*.parquet"))
    return [pq.read_metadata(file).row_group(0).column(6).compression for file in files]


@pytest.mark.parametrize(("version", "codec"), [(6, "GZIP"), (8, "ZSTD"), (9, "ZSTD")])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_each_way_to_write_a_base_file_has_the_codec_of_the_version(tmp_path, version, codec, table_type):
    table = mortice.create_table(
        tmp_path, SCHEMA, name="t", record_key="id", ordering="ts", version=version, table_type=table_type
    )
    table.bulk_insert(rows(0))
    table.upsert(rows(40))
    if table_type == "MERGE_ON_READ":
        table.compact()
    table.cluster()
    found = codecs(tmp_path)
    assert len(found) >= 3
    assert set(found) == {codec}
    table.upsert(rows(80), options={CODEC: "snappy", "hoodie.parquet.small.file.limit": "0"})
    assert "SNAPPY" in codecs(tmp_path)
    assert mortice.Table(tmp_path).snapshot().count() == 130


def test_columns_have_dictionaries_where_their_values_repeat(tmp_path):
    table = mortice.create_table(tmp_path, SCHEMA, name="t", record_key="id", ordering="ts")
    table.bulk_insert(rows(0, 5000))
    metadata = pq.read_metadata(next(tmp_path.glob("*.parquet"))).row_group(0)
    columns = [metadata.column(index) for index in range(metadata.num_columns)]
    with_dictionary = {column.path_in_schema for column in columns if column.has_dictionary_page}
    unique = {"_hoodie_commit_seqno", "_hoodie_record_key", "id"}
    assert with_dictionary == {column.path_in_schema for column in columns} - unique
    for number, given in enumerate(["true", "false"]):
        options = {"hoodie.parquet.dictionary.enabled": given}
        other = mortice.create_table(tmp_path / str(number), SCHEMA, name="t", record_key="id", ordering="ts")
        other.bulk_insert(rows(0, 5000), options=options)
        metadata = pq.read_metadata(next((tmp_path / str(number)).glob("*.parquet"))).row_group(0)
        found = {metadata.column(index).has_dictionary_page for index in range(metadata.num_columns)}
        assert found == {given == "true"}
