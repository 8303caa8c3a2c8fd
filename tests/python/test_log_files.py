"""Log files: the blocks, records and deletes that Hudi finds in them, also in corrupt files."""

import decimal
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import DATA, LOG_FILES, assert_same_result, case
from support.tables.log_writer import avro_block

SOUND = ("block_size", "trailing_length", "log_format_version", "content_version", "content_offset", "content_length")
each_file = pytest.mark.parametrize("file", LOG_FILES, ids=lambda file: f"{file.parts[0]}-{file.name[1:40]}")

# The Java classes of ordering values, and their Python types.
ORDERINGS = {
    **dict.fromkeys(("Byte", "Short", "Integer"), "int"),
    **dict.fromkeys(("BigInteger", "BigDecimal"), "decimal"),
    **dict.fromkeys(("LocalDate", "Date"), "date"),
    **dict.fromkeys(("Timestamp", "Instant", "LocalDateTime", "java.util.Date"), "timestamp"),
    "Utf8": "string",
    "null": None,
}


def described(file):
    return next(one for one in case(file.parts[0])["files"] if one["file"] == "/".join(file.parts[1:]))


def described_blocks(file):
    """Returns the blocks that Hudi found valid or corrupt. The last one before Hudi stopped may have a wrong
    position."""
    blocks = described(file)["blocks"]
    if "exception" not in described(file) or not blocks or blocks[-1]["type"] == "CORRUPT_BLOCK":
        return blocks
    last = blocks[-1]
    in_place = last["log_format_version"] == 1 and last["trailing_length"] == last["end"] - last["offset"] - 8
    return blocks if in_place else blocks[:-1]


def read(file):
    """Returns the open file, its blocks, and the error at their end, if any."""
    log, blocks = mortice.LogFile(DATA / file), []
    try:
        for block in log.blocks():
            blocks.append(block)  # noqa: PERF402
    except mortice.MorticeError as error:
        return log, blocks, error
    return log, blocks, None


@each_file
def test_blocks_equal_those_that_hudi_finds(file):
    _, blocks, error = read(file)
    expected = described_blocks(file)
    if "exception" in described(file):
        # Where Hudi stops, the log file reader may continue; a table read would stop.
        assert error or any(block.refusal for block in blocks[len(expected) :])
        blocks = blocks[: len(expected)]
    else:
        assert error is None
    assert [(b.type, b.offset, b.end) for b in blocks] == [(b["type"], b["offset"], b["end"]) for b in expected]
    for block, want in zip(blocks, expected, strict=True):
        assert (block.damage is not None) == (block.type == "CORRUPT_BLOCK")
        if block.damage is None:
            assert {name: getattr(block, name) for name in SOUND if name in want} == {
                name: want[name] for name in SOUND if name in want
            }
            assert block.header == want["header"]
            assert block.instant_time == want.get("instant_time")
            if "record_count" in want:
                assert block.record_count == want["record_count"]


@each_file
@pytest.mark.parametrize("mmap", [True, False])
def test_blocks_cover_all_bytes_and_are_the_same_backwards(file, mmap):
    log = mortice.LogFile(DATA / file, mmap=mmap)
    if read(file)[2] is not None:
        for reverse in (False, True):
            with pytest.raises(mortice.CorruptLogError, match="offset 0"):
                list(log.blocks(reverse=reverse))
        return
    forwards = [(b.type, b.offset, b.end) for b in log.blocks()]
    assert [(b.type, b.offset, b.end) for b in log.blocks(reverse=True)] == forwards[::-1]
    ends = [0, *(end for _, _, end in forwards)]
    assert [offset for _, offset, _ in forwards] == ends[:-1]
    assert 0 <= log.size - ends[-1] < 6


@each_file
def test_records_equal_those_that_hudi_decodes(file):
    log, blocks, _ = read(file)
    for block, want in zip(blocks, described_blocks(file), strict=False):
        if "decode_exception" in want:
            with pytest.raises(mortice.CorruptLogError, match=r"offset \d+"):
                log.records(block)
        elif "records" in want:
            records = log.records(block)
            assert isinstance(records, pa.RecordBatch)
            assert_same_result(pq.read_table(DATA / file.parts[0] / want["records"]), pa.table(records))
            assert records.num_rows == block.record_count


@each_file
@pytest.mark.parametrize("rows", [1, 7, 100_000])
def test_records_in_batches_equal_all_records(file, rows):
    log, blocks, _ = read(file)
    for block, want in zip(blocks, described_blocks(file), strict=False):
        if "decode_exception" in want:
            with pytest.raises(mortice.CorruptLogError, match=r"offset \d+") as drawn:
                log.record_batches(block, rows).read_all()
            with pytest.raises(mortice.CorruptLogError) as at_once:
                log.records(block)
            assert drawn.value.args == at_once.value.args
        elif "records" in want:
            reader = log.record_batches(block, rows)
            batches = list(reader)
            assert all(batch.num_rows <= rows for batch in batches)
            drawn, at_once = pa.Table.from_batches(batches, reader.schema), log.records(block)
            assert drawn.schema == at_once.schema
            # Compared as strings, in which NaN equals NaN, and -0.0 differs from 0.0.
            assert str(drawn.to_pylist()) == str(at_once.to_pylist())


def test_records_before_a_corrupt_one_are_returned(tmp_path):
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
    path = tmp_path / "broken.log"
    path.write_bytes(avro_block(schema, [{"a": f"{number}"} for number in range(5)], "001").replace(b"\x023", b"\x7f3"))
    log = mortice.LogFile(path)
    reader = log.record_batches(next(log.blocks()), 2)
    assert reader.read_next_batch().column("a").to_pylist() == ["0", "1"]
    with pytest.raises(mortice.CorruptLogError, match=r"offset \d+"):
        reader.read_next_batch()
    assert reader.read_all().num_rows == 0


@pytest.mark.parametrize("wrong", [0, -1, True, "1", 1.5, 1 << 64])
def test_the_batch_size_must_be_positive(wrong):
    log, blocks, _ = read(LOG_FILES[0])
    with pytest.raises(mortice.InvalidArgumentError, match="batch_rows"):
        log.record_batches(blocks[0], wrong)


@each_file
def test_deletes_equal_those_that_hudi_decodes(file):
    log, blocks, _ = read(file)
    for block, want in zip(blocks, described_blocks(file), strict=False):
        if "deletes" in want:
            deletes = pa.table(log.deletes(block))
            assert deletes.schema.names == ["record_key", "partition_path", "ordering_value", "ordering_type"]
            found = [
                (row["record_key"], row["partition_path"], ordering(row["ordering_type"], row["ordering_value"]))
                for row in deletes.to_pylist()
            ]
            meant = [
                (one["record_key"], one["partition_path"], ordering(ordering_type(one), one["ordering"]))
                for one in want["deletes"]
            ]
            assert Counter(found) == Counter(meant)


def ordering_type(delete):
    kind = delete.get("ordering_type")
    return ORDERINGS.get(kind, kind and kind.lower())


def ordering(kind, text):
    """Returns an ordering value in one format for all writers."""
    if kind in ("int", "long"):
        return kind, int(text)
    if kind in ("float", "double"):
        return kind, str(float(text))
    if kind == "decimal":
        return kind, decimal.Decimal(text).normalize(decimal.Context(prec=40))
    if kind == "timestamp":
        seconds, _, fraction = text.replace(" ", "T").removesuffix("Z").partition(".")
        return kind, seconds if seconds.count(":") == 2 else f"{seconds}:00", fraction[:6].ljust(6, "0")
    return kind, text


def test_schemas_in_headers_are_json():
    log = mortice.LogFile(DATA / next(file for file in LOG_FILES if file.parts[0] == "log_avro_multi"))
    schemas = [json.loads(block.header["SCHEMA"]) for block in log.blocks()]
    assert all(schema["type"] == "record" for schema in schemas)


def test_attributes_of_a_log_file():
    path = DATA / LOG_FILES[0]
    log = mortice.LogFile(path)
    assert (log.path, log.size) == (str(path), path.stat().st_size)
    assert str(path) in repr(log)


def test_a_file_that_is_not_a_log_is_refused(tmp_path):
    path = tmp_path / ".x_001.log.1_0-0-0"
    path.write_bytes(b"this is no log file at all")
    with pytest.raises(mortice.CorruptLogError) as raised:
        list(mortice.LogFile(path).blocks())
    assert raised.value.path == str(path)
    assert raised.value.offset == 0


def test_an_empty_file_has_no_blocks(tmp_path):
    path = tmp_path / ".x_001.log.1_0-0-0"
    path.write_bytes(b"")
    assert list(mortice.LogFile(path).blocks()) == []


def test_records_of_a_block_without_records_are_an_error():
    file = next(file for file in LOG_FILES if file.parts[0] == "log_rollback")
    log = mortice.LogFile(DATA / file)
    command = next(block for block in log.blocks() if block.type == "COMMAND_BLOCK")
    with pytest.raises(mortice.MorticeError):
        log.records(command)


def test_a_block_of_an_unknown_format_is_reported_and_skipped(tmp_path):
    source = DATA / next(file for file in LOG_FILES if file.parts[0] == "log_avro_multi")
    sound = list(mortice.LogFile(source).blocks())
    content = bytearray(source.read_bytes())
    at = sound[2].offset + 14
    content[at : at + 4] = (7).to_bytes(4, "big")
    path = tmp_path / source.name
    path.write_bytes(content)
    found = list(mortice.LogFile(path).blocks())
    assert [(block.offset, block.end) for block in found] == [(block.offset, block.end) for block in sound]
    assert [block.damage for block in found if block.index != 2] == [None] * 4
    assert found[2].damage_offset == at
    assert "version 7" in found[2].damage
    assert found[2].refusal == found[2].damage


def test_blocks_after_corrupt_bytes_are_found(tmp_path):
    source = DATA / next(file for file in LOG_FILES if file.parts[0] == "log_avro_multi")
    path = tmp_path / source.name
    path.write_bytes(b"foreign" + source.read_bytes())
    foreign, *sound = mortice.LogFile(path).blocks()
    assert (foreign.type, foreign.offset, foreign.end, bool(foreign.refusal)) == ("CORRUPT_BLOCK", 0, 7, True)
    assert [block.offset - 7 for block in sound] == [block.offset for block in mortice.LogFile(source).blocks()]
