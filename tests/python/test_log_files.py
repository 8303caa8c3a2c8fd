"""Single log files: the blocks, records and deletes that Hudi finds in them, damage included."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from cases import DATA, LOG_FILES, assert_same_answer, case

SOUND = ("block_size", "trailing_length", "log_format_version", "content_version", "content_offset", "content_length")
each_file = pytest.mark.parametrize("file", LOG_FILES, ids=lambda file: f"{file.parts[0]}-{file.name[1:30]}")


def told(file):
    return next(one for one in case(file.parts[0])["files"] if one["file"] == "/".join(file.parts[1:]))


@each_file
def test_the_blocks_are_those_that_hudi_finds(file):
    blocks = list(mortice.LogFile(DATA / file).blocks())
    expected = told(file)["blocks"]
    assert [(b.type, b.offset, b.end) for b in blocks] == [(b["type"], b["offset"], b["end"]) for b in expected]
    for block, want in zip(blocks, expected, strict=True):
        assert (block.damage is not None) == (block.type == "CORRUPT_BLOCK")
        if block.damage is None:
            assert {name: getattr(block, name) for name in SOUND if name in want} == {
                name: want[name] for name in SOUND if name in want
            }
            assert block.header == want["header"]
            assert block.instant_time == want.get("instant_time")


@each_file
def test_backwards_gives_the_same_blocks(file):
    log = mortice.LogFile(DATA / file)
    forwards = [(b.type, b.offset, b.end) for b in log.blocks()]
    assert [(b.type, b.offset, b.end) for b in log.blocks(reverse=True)] == forwards[::-1]


@each_file
def test_the_records_are_those_that_hudi_decodes(file):
    log = mortice.LogFile(DATA / file)
    for block, want in zip(log.blocks(), told(file)["blocks"], strict=True):
        if "records" in want:
            records = log.records(block)
            assert isinstance(records, pa.RecordBatch)
            assert_same_answer(pq.read_table(DATA / file.parts[0] / want["records"]), pa.table(records))
            assert records.num_rows == block.record_count


@each_file
def test_the_deletes_are_those_that_hudi_decodes(file):
    log = mortice.LogFile(DATA / file)
    for block, want in zip(log.blocks(), told(file)["blocks"], strict=True):
        if "deletes" in want:
            deletes = pa.table(log.deletes(block))
            assert deletes.schema.names == ["record_key", "partition_path", "ordering_value", "ordering_type"]
            keys = sorted(zip(deletes["record_key"].to_pylist(), deletes["partition_path"].to_pylist(), strict=True))
            assert keys == sorted((delete["record_key"], delete["partition_path"]) for delete in want["deletes"])


def test_schemas_in_headers_are_json():
    log = mortice.LogFile(DATA / next(file for file in LOG_FILES if file.parts[0] == "log_avro_multi"))
    schemas = [json.loads(block.header["SCHEMA"]) for block in log.blocks()]
    assert all(schema["type"] == "record" for schema in schemas)


def test_what_a_log_file_says_of_itself():
    path = DATA / LOG_FILES[0]
    log = mortice.LogFile(path)
    assert (log.path, len(log), bool(log)) == (str(path), path.stat().st_size, True)
    assert str(path) in repr(log)


def test_a_file_that_is_no_log_is_refused(tmp_path):
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


def test_records_of_a_block_that_holds_none_are_refused():
    file = next(file for file in LOG_FILES if file.parts[0] == "log_rollback")
    log = mortice.LogFile(DATA / file)
    command = next(block for block in log.blocks() if block.type == "COMMAND_BLOCK")
    with pytest.raises(mortice.MorticeError):
        log.records(command)


def test_sound_blocks_come_before_the_error(tmp_path):
    source = DATA / next(file for file in LOG_FILES if file.parts[0] == "log_avro_multi")
    sound = list(mortice.LogFile(source).blocks())
    content = bytearray(source.read_bytes())
    # The content length of the second block: the reader loses its place there.
    at = sound[1].content_offset - 8
    content[at : at + 8] = (sound[1].content_length + 1).to_bytes(8, "big")
    path = tmp_path / source.name
    path.write_bytes(content)
    found = []
    with pytest.raises(mortice.CorruptLogError):
        for block in mortice.LogFile(path).blocks():
            found.append(block)  # noqa: PERF402
    assert found[0].offset == sound[0].offset
    assert found[0].end == sound[0].end
