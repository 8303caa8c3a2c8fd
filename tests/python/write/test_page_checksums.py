"""Checksums of pages: each way to write a file gives them to its pages, with every codec; a changed bit is an error."""

import io
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.tables.written import NO_SERVICES

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("fare", pa.float64()), ("city", pa.string())])
CODECS = ["uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw"]
OPTIONS = NO_SERVICES | {
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.logfile.data.block.format": "parquet",
}


def rows(numbers, ts=1):
    columns = [
        [f"k{n:04d}" for n in numbers],
        [ts] * len(numbers),
        [n * 1.37 for n in numbers],
        [f"c{n % 3}" for n in numbers],
    ]
    return pa.table(columns, schema=SCHEMA)


def create(path, **arguments):
    return mortice.create_table(path, SCHEMA, name="t", record_key="id", ordering="ts", **arguments)


def merge_on_read(path, options):
    """Base files of a bulk insert, an insert, a compaction and a clustering, and a log with a Parquet block."""
    table = create(path)
    table.bulk_insert(rows(range(300)), options)
    table.insert(rows(range(300, 500)), options)
    table.upsert(rows(range(250, 350), 2), options)
    table.compact(options)
    table.cluster(options)
    table.upsert(rows(range(100), 3), options)
    return table


def copy_on_write(path, options):
    """Base files of an insert, and of updates and a delete in the file groups of others."""
    table = create(path, table_type="COPY_ON_WRITE")
    table.insert(rows(range(300)), options)
    table.upsert(rows(range(100), 2), options)
    table.delete(rows(range(50)), options)
    return table


def parquet_in(content):
    """Where the Parquet file in a file begins and ends: in a log, that of its block."""
    start, end = content.index(b"PAR1"), content.rindex(b"PAR1") + 4
    return start, end


def places(content):
    """The last byte of each column chunk, which is one of a page: headers come first."""
    start, end = parquet_in(content)
    metadata = pq.read_metadata(io.BytesIO(content[start:end]))
    for group in range(metadata.num_row_groups):
        columns = [metadata.row_group(group).column(index) for index in range(metadata.num_columns)]
        for column in columns:
            first = column.dictionary_page_offset or column.data_page_offset
            yield start + first + column.total_compressed_size - 1


def data_files(table):
    root = pathlib.Path(table.uri)
    return [path for path in sorted(root.iterdir()) if path.suffix == ".parquet" or ".log." in path.name]


def flip(path, content, at):
    path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])


def read(table):
    return (
        mortice.Table(table.uri, read_options=mortice.ReadOptions(use_metadata=False))
        .snapshot()
        .to_arrow()
        .sort_by("id")
    )


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("write", [merge_on_read, copy_on_write], ids=["mor", "cow"])
def test_a_changed_bit_of_any_page_is_found(tmp_path, codec, write):
    table = write(tmp_path / "t", OPTIONS | {"hoodie.parquet.compression.codec": codec})
    assert table.verify().findings == []
    expected = read(table)
    bases = [one.base_file for one in table.file_slices() if one.base_file]
    current = {file.path for file in bases + [log for one in table.file_slices() for log in one.log_files]}
    files = data_files(table)
    assert len(files) >= (5 if write is merge_on_read else 3)
    for path in files:
        content = path.read_bytes()
        # A meta column, the record key of rows and a column of the user.
        for at in list(places(content))[::4]:
            flip(path, content, at)
            found = mortice.Table(table.uri).verify().findings
            assert path.name in {one.path for one in found if "checksum" in one.message}, (path.name, at, found)
            if path.name in current:
                with pytest.raises(mortice.MorticeError, match="checksum") as raised:
                    read(table)
                assert path.name in str(raised.value)
        path.write_bytes(content)
    assert read(table).equals(expected)


@pytest.mark.parametrize("codec", CODECS)
def test_pyarrow_accepts_the_checksums_and_finds_damage(tmp_path, codec):
    if codec == "lz4":
        pytest.skip("pyarrow does not read the framing of Hadoop's codec in all pages")
    table = merge_on_read(tmp_path / "t", OPTIONS | {"hoodie.parquet.compression.codec": codec})
    for path in data_files(table):
        content = path.read_bytes()
        start, end = parquet_in(content)
        file = content[start:end]
        assert pq.read_table(io.BytesIO(file), page_checksum_verification=True).num_rows > 0
        at = max(places(content)) - start
        damaged = file[:at] + bytes([file[at] ^ 4]) + file[at + 1 :]
        with pytest.raises(OSError, match=r"(?i)crc|checksum"):
            pq.read_table(io.BytesIO(damaged), page_checksum_verification=True)


def test_archived_instants_have_checksums(tmp_path):
    table = create(tmp_path / "t")
    for ts in range(1, 9):
        table.upsert(rows(range(5), ts), OPTIONS)
    table.archive(
        {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    )
    history = sorted((tmp_path / "t/.hoodie/timeline/history").glob("*.parquet"))
    assert history
    for path in history:
        content = path.read_bytes()
        assert pq.read_table(path, page_checksum_verification=True).num_rows > 0
        flip(path, content, next(iter(places(content))))
        with pytest.raises(OSError, match=r"(?i)crc|checksum"):
            pq.read_table(path, page_checksum_verification=True)
        with pytest.raises(mortice.MorticeError) as raised:
            list(mortice.Table(table.uri).timeline.archived)
        assert path.name in str(raised.value)
        path.write_bytes(content)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["zstd", "gzip", "none"])
def test_checksums_of_other_writers_are_compared(tmp_path, codec, version):
    table = create(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(range(300)), OPTIONS)
    expected = read(table)
    (path,) = data_files(table)
    pq.write_table(
        pq.read_table(path),
        path,
        compression=codec,
        write_page_checksum=True,
        store_schema=False,
        data_page_version=version,
        data_page_size=700,
    )
    assert read(table).equals(expected)
    content, names = path.read_bytes(), pq.read_schema(path).names
    for column, at in enumerate(places(content)):
        flip(path, content, at)
        with pytest.raises(mortice.InvalidTableError, match="checksum") as raised:
            read(table)
        assert path.name in str(raised.value)
        assert f"column {names[column]} of row group 0" in str(raised.value)


def test_a_changed_name_in_a_footer_is_an_error(tmp_path):
    """Under another name the column would be null."""
    table = create(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(range(30)), OPTIONS)
    (path,) = data_files(table)
    content = path.read_bytes()
    at = content.rindex(b"\x04fare")
    path.write_bytes(content[: at + 1] + b"gare" + content[at + 5 :])
    with pytest.raises(mortice.InvalidTableError, match="checksum of the Parquet footer") as raised:
        read(table)
    assert path.name in str(raised.value)
    assert [one.kind for one in mortice.Table(table.uri).verify().findings] == ["unreadable_file"]


def test_statistics_that_exclude_a_value_are_found(tmp_path):
    """Pruning trusts statistics: rows would be missing from queries with a filter."""
    table = create(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(range(300)), OPTIONS)
    (path,) = data_files(table)
    pq.write_table(pq.read_table(path), path, row_group_size=100)
    assert [one.kind for one in table.verify().findings] == ["wrong_length"]
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for old, new, word in [(b"k0299", b"k0279", "above its maximum"), (b"k0200", b"k0220", "below its minimum")]:
        path.write_bytes(content[:footer] + content[footer:].replace(old, new))
        assert mortice.Table(table.uri).snapshot(filters=[("id", "=", old.decode())]).count() == 0
        (found,) = [one for one in table.verify().findings if one.kind == "unreadable_file"]
        assert found.path == path.name
        assert word in found.message
        assert "of row group 2" in found.message
    path.write_bytes(content)
    assert mortice.Table(table.uri).snapshot(filters=[("id", "=", "k0299")]).count() == 1


def test_statistics_of_all_types_are_those_of_their_values(tmp_path):
    numbers = [None, float("nan"), -0.0, 0.0, 1.5, float("-inf")]
    times = [None, 0, -1, 1 << 40, 7, -(1 << 40)]
    given = pa.table(
        {
            "id": [f"k{n}" for n in range(6)],
            "d": numbers,
            "f": pa.array(numbers, pa.float32()),
            "n": pa.array([None, 1, 2, -3, 4, -(1 << 31)], pa.int32()),
            "b": [None, True, False, True, None, False],
            "y": [None, b"", b"\xff\xfe", b"a", b"\x00", b"\x80"],
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "day": pa.array([None, 0, -1, 40_000, 7, -400_000], pa.date32()),
            "c": pa.array([None, "1.25", "-7", "0", "99", "-99.99"]).cast(pa.decimal128(9, 2)),
            "l": [None, [1], [], [None, 2], [3, 4], None],
            "none": pa.nulls(6, pa.string()),
        }
    )
    table = mortice.create_table(tmp_path / "t", given.schema, name="t", record_key="id", table_type="COPY_ON_WRITE")
    table.insert(given, OPTIONS)
    (path,) = data_files(table)
    stored = pq.read_table(path)
    for version in ("1.0", "2.4", "2.6"):
        # pyarrow copies the checksum of our footer to its own.
        assert b"mortice.footer.crc32" in stored.schema.metadata
        pq.write_table(stored, path, version=version, row_group_size=2)
        assert mortice.Table(table.uri).snapshot().count() == 6
        assert "unreadable_file" not in {one.kind for one in table.verify().findings}
