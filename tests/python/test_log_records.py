"""Records of log files by key, and table reads with filters on keys."""

import resource

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from support.cases import DATA, LOG_FILES, assert_same_result, hudi_result
from support.tables.log_writer import AVRO_DATA_BLOCK, INSTANT_TIME, frame

NAME = "h11_event_time_deletes"


def data_blocks():
    for file in LOG_FILES:
        if "log_bad" in str(file):
            continue
        log = mortice.LogFile(DATA / file)
        for block in log.blocks():
            if block.type.endswith("_DATA_BLOCK") and block.type != "CDC_DATA_BLOCK":
                yield log, block


def keys_of(table):
    return table["_hoodie_record_key"].to_pylist()


def test_records_by_key_and_by_prefix():
    types = set()
    for log, block in data_blocks():
        everything = pa.table(log.records(block))
        if "_hoodie_record_key" not in everything.schema.names or not everything.num_rows:
            continue
        types.add(block.type)
        keys = keys_of(everything)
        wanted = [*keys[::3], "no such key"]
        chosen = pa.table(log.records(block, keys=wanted))
        assert_same_result(everything.filter(pc.is_in(everything["_hoodie_record_key"], pa.array(wanted))), chosen)
        prefix = keys[0][:-1]
        chosen = pa.table(log.records(block, prefixes=[prefix]))
        assert_same_result(everything.filter(pc.starts_with(everything["_hoodie_record_key"], prefix)), chosen)
        assert pa.table(log.records(block, keys=[])).num_rows == 0
    assert types == {"AVRO_DATA_BLOCK", "HFILE_DATA_BLOCK", "PARQUET_DATA_BLOCK"}


@pytest.mark.parametrize("wrong", [{"keys": "abc"}, {"keys": [1]}, {"keys": ["a"], "prefixes": ["b"]}], ids=str)
def test_invalid_keys_are_refused(wrong):
    log, block = next(data_blocks())
    with pytest.raises(mortice.InvalidArgumentError):
        log.records(block, **wrong)


def test_a_table_read_with_a_filter_on_keys(table_of):
    rows = hudi_result(NAME)
    wanted = keys_of(rows)[::7]
    filters = [("_hoodie_record_key", "in", [*wanted, "no such key"])]
    chosen = mortice.Table(table_of(NAME)).snapshot(filters=filters).to_arrow()
    assert_same_result(rows.filter(pc.is_in(rows["_hoodie_record_key"], pa.array(wanted))), chosen)


def test_scan_by_block_is_equal_without_alternating_instants(table_of):
    by_block = (
        mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(optimized_log_scan=False)).snapshot().to_arrow()
    )
    assert_same_result(hudi_result(NAME), by_block)
    with pytest.raises(mortice.InvalidArgumentError):
        mortice.Table(table_of(NAME), read_options=mortice.ReadOptions(optimized_log_scan="no"))


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_scanning_the_frames_of_a_large_log_reads_little(tmp_path, mmap, reverse):
    """Five blocks of nearly 2 GiB in a sparse file, which would fill the memory if they were read completely."""
    path = tmp_path / ".large_20240101000000000.log.1_0-0-0"
    length = 2**31 - 200
    before, after = frame(AVRO_DATA_BLOCK, {INSTANT_TIME: "20240101000000000"}, length)
    with path.open("wb") as file:
        for _ in range(5):
            file.write(before)
            file.seek(length, 1)
            file.write(after)
    if path.stat().st_blocks * 512 > 2**30:
        pytest.skip("the file system has no sparse files")
    held = peak_kib()
    blocks = list(mortice.LogFile(path, mmap=mmap).blocks(reverse=reverse))
    assert [(block.type, block.content_length) for block in blocks] == [("AVRO_DATA_BLOCK", length)] * 5
    assert peak_kib() - held < 200 * 1024


def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_positions_of_updated_rows():
    positions_by_offset = {}
    for log, block in data_blocks():
        positions = log.positions(block)
        assert (positions is None) == ("RECORD_POSITIONS" not in block.header)
        if positions is not None:
            positions_by_offset[block.offset] = positions.to_pylist()
            assert len(positions) == block.record_count
            assert positions_by_offset[block.offset] == sorted(set(positions_by_offset[block.offset]))
    assert positions_by_offset
