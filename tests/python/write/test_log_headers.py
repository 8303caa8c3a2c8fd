"""Headers of log blocks have no checksum: a changed bit is noticed where the header contradicts what else is known."""

import base64
import os
import pathlib
import warnings

import pyarrow as pa
import pytest

import mortice
from support.tables.damaged import logs_of, newest_log
from support.tables.written import NO_SERVICES

SCHEMA = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("fare", pa.decimal128(9, 2)), ("at", pa.struct([("city", pa.string())]))]
)
OPTIONS = NO_SERVICES | {"hoodie.parquet.small.file.limit": "0"}
KEYS = {
    0: "INSTANT_TIME",
    2: "SCHEMA",
    4: "COMPACTED_BLOCK_TIMES",
    5: "RECORD_POSITIONS",
    8: "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
}


def rows(numbers, ts):
    columns = [
        [f"k{n:03d}" for n in numbers],
        [ts] * len(numbers),
        pa.array([n + ts for n in numbers], pa.decimal128(9, 2)),
        [{"city": f"c{n % 3}"} for n in numbers],
    ]
    return pa.table(columns, schema=SCHEMA)


def created(path, version=9, options=OPTIONS):
    table = mortice.create_table(path, SCHEMA, name="t", record_key="id", ordering="ts", version=version)
    table.upsert(rows(range(40), 1), options)
    table.upsert(rows(range(0, 40, 2), 2), options)
    table.upsert(rows(range(0, 60, 3), 3), options)
    return table


def entries(log):
    """Returns the entries of the header of the first block: the offsets of key and value, and the end of the value."""
    content = log.read_bytes()
    block = next(iter(mortice.LogFile(log).blocks()))
    at = block.offset + 26
    found = {}
    for _ in range(int.from_bytes(content[at - 4 : at], "big")):
        key, length = int.from_bytes(content[at : at + 4], "big"), int.from_bytes(content[at + 4 : at + 8], "big")
        found[KEYS[key]] = (at, at + 8, at + 8 + length)
        at += 8 + length
    return found, at


def replace(log, at, new):
    """Overwrites bytes of a log, whose length and time stay."""
    content, status = log.read_bytes(), log.stat()
    log.write_bytes(content[:at] + new + content[at + len(new) :])
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))


def flip(log, at, bit):
    replace(log, at, bytes([log.read_bytes()[at] ^ 1 << bit]))


def read(table):
    """Returns the rows, sorted by key, and whether there was a warning; an error instead of both."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = (
                mortice.Table(table.uri, read_options=mortice.ReadOptions(threads=1)).snapshot(meta=False).to_arrow()
            )
        except mortice.CorruptLogError as error:
            return None, error
        except mortice.MorticeError as error:
            return None, error
    return found.sort_by("id").to_pylist(), [one.message for one in caught]


def silent(table, log, places):
    """Returns the changed bits with which a query returns other rows, and says nothing."""
    good, none = read(table)
    assert none == []
    found = []
    for at, bit in places:
        flip(log, at, bit)
        now, notice = read(table)
        if now != good and not notice:
            found.append((at, bit))
        flip(log, at, bit)
    return found


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("block", ["avro", "parquet"])
def test_no_changed_bit_of_a_header_is_read_as_other_rows(tmp_path, version, block):
    options = OPTIONS | {"hoodie.logfile.data.block.format": block, "hoodie.write.record.positions": "false"}
    table = created(tmp_path / "t", version, options)
    log = newest_log(table)
    found, end = entries(log)
    key, start, after = found["INSTANT_TIME"]
    # All bits of the instant and of the lengths, and of every eleventh byte of the schema.
    at = {*range(key, start), *range(start, after)}
    _, start, after = found["SCHEMA"]
    at |= {*range(start - 8, start), *range(start, after, 11), *range(end, end + 16)}
    places = [(place, (place * 5 + shift) % 8) for place in sorted(at) for shift in (0, 3)]
    assert silent(table, log, places) == []


@pytest.mark.parametrize("column", ["_hoodie_record_key", "fare", "city"])
@pytest.mark.parametrize("block", ["avro", "parquet"])
def test_another_name_of_a_column_is_an_error(tmp_path, column, block):
    if (column, block) == ("city", "parquet"):
        pytest.skip("the names of nested columns are those of the file")
    table = created(tmp_path / "t", options=OPTIONS | {"hoodie.logfile.data.block.format": block})
    log = newest_log(table)
    place = log.read_bytes().index(f'"name":"{column}"'.encode()) + len('"name":"') + len(column) - 1
    flip(log, place, 1)
    _, error = read(table)
    assert isinstance(error, mortice.CorruptLogError)
    assert str(log) == error.path
    assert error.block == 0
    (found,) = table.verify().findings
    assert (found.kind, found.path) == ("unreadable_file", log.name)


def test_another_scale_of_a_decimal_is_an_error(tmp_path):
    table = created(tmp_path / "t")
    log = newest_log(table)
    place = log.read_bytes().index(b'"scale":2') + 8
    replace(log, place, b"3")
    _, error = read(table)
    assert "fare of scale 3" in str(error)


def test_columns_of_an_earlier_schema_are_read(tmp_path):
    """A column was dropped and another one added after the log was written: the commit tells the columns of the log."""
    table = created(tmp_path / "t")
    before, _ = read(table)
    table.alter(drop="fare", add={"note": pa.string()}, options=OPTIONS)
    now, notice = read(table)
    assert notice == []
    assert [row["id"] for row in now] == [row["id"] for row in before]
    assert {row["note"] for row in now} == {None}


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("digits", ["later", "earlier"])
def test_another_instant_of_a_block_is_reported(tmp_path, version, digits):
    table = created(tmp_path / "t", version)
    log = newest_log(table)
    good, _ = read(table)
    _, start, _ = entries(log)[0]["INSTANT_TIME"]
    instant = table.timeline[-1].requested_time
    replace(log, start, b"9" if digits == "later" else b"1")
    now, notice = read(table)
    # Up to version 7 an instant before the timeline counts as archived, and the rows are the same.
    if (version, digits) == (6, "earlier"):
        assert (now, notice) == (good, [])
    else:
        (warning,) = notice
        assert (warning.path, warning.instant) == (str(log), instant)
        assert "in its header" in str(warning)
        with pytest.raises(mortice.CorruptLogError, match="in its header"):
            mortice.Table(table.uri, read_options=mortice.ReadOptions(on_damage="raise")).snapshot().to_arrow()
        with pytest.raises(mortice.CorruptLogError, match="in its header"):
            mortice.Table(table.uri).compact(OPTIONS)
    (found,) = table.verify().findings
    assert (found.kind, found.path) == ("damaged_log", log.name)
    assert instant in found.message


def test_blocks_of_rolled_back_writes_are_not_damage(tmp_path):
    """Up to version 7 the blocks of a write that failed stay in the log."""
    table = created(tmp_path / "t", version=6)
    instant = table.timeline[-1].requested_time
    table.rollback(instant, OPTIONS)
    assert [block.type for log in logs_of(table) for block in mortice.LogFile(log).blocks()].count("COMMAND_BLOCK")
    rows, notice = read(table)
    assert (len(rows), notice) == (40, [])
    assert table.verify().findings == []


@pytest.mark.parametrize("key", ["RECORD_POSITIONS", "SCHEMA", "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS"])
def test_one_key_in_place_of_another_is_noticed(tmp_path, key):
    table = created(tmp_path / "t")
    log = newest_log(table)
    place, *_ = entries(log)[0][key]
    assert silent(table, log, [(place + 3, bit) for bit in range(8)]) == []


def test_positions_behind_the_base_file_are_not_used(tmp_path):
    """Rows are merged by key instead."""
    table = created(tmp_path / "t")
    good, _ = read(table)
    log = newest_log(table)
    _, start, end = entries(log)[0]["RECORD_POSITIONS"]
    positions = bytearray(base64.b64decode(log.read_bytes()[start:end]))
    # The last position, as an array of numbers of two bytes.
    assert positions[8 + 4 : 8 + 4 + 4] == (12346).to_bytes(4, "little")
    positions[-1] ^= 0x80
    replace(log, start, base64.b64encode(bytes(positions)))
    assert read(table) == (good, [])


def test_a_smaller_number_of_records_is_an_error(tmp_path):
    table = created(tmp_path / "t")
    log = newest_log(table)
    _, end = entries(log)
    flip(log, end + 8 + 7, 0)
    flip(log, end + 8 + 7, 2)
    _, error = read(table)
    assert isinstance(error, mortice.CorruptLogError)


def test_headers_of_logs_of_the_metadata_table_are_no_data(tmp_path):
    """A header of the metadata table that contradicts its log costs the use of that table, and no row."""
    options = OPTIONS | {"hoodie.metadata.enable": "true"}
    table = created(tmp_path / "t", options=options)
    good, _ = read(table)
    logs = pathlib.Path(table.uri, ".hoodie", "metadata", "files").glob(".*.log.*")
    log = max(logs, key=lambda path: path.stat().st_mtime_ns)
    _, start, _ = entries(log)[0]["INSTANT_TIME"]
    replace(log, start, b"9")
    assert read(table)[0] == good


def test_an_error_of_a_record_names_its_log(tmp_path):
    """Rows of several logs are decoded together."""
    table = created(tmp_path / "t")
    for log, key in zip(logs_of(table), [b"k002", b"k003"], strict=True):
        place = log.read_bytes().rindex(key) + 3
        flip(log, place, 7)
        _, error = read(table)
        assert isinstance(error, mortice.CorruptLogError)
        assert error.path == str(log)
        flip(log, place, 7)
