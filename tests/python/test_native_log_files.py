"""Native logs of table version 10, as Hudi 1.3 writes them: blocks, damage, what is refused.

Their rows are compared with Hudi's in test_bundled_tables, those of CDC queries in test_changes.
"""

import json
import re
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import TABLES, assert_same_result, hudi_result
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, content, new_table, rows
from support.tables.written import NO_SERVICES as WITHOUT_SERVICES

NO_SERVICES = WITHOUT_SERVICES | NO_SMALL_FILES
NATIVE = [name for name in TABLES if name.startswith("h13_")]
NAME = re.compile(r"[^._]+_\d+-\d+-\d+_\d+_\d+\.(log|deletes|cdc)\.(parquet|orc|hfile)")
DOWNGRADED = "h13_mor_downgraded"
EVENT_TIME, UPGRADED, METADATA = "h13_mor_event_time", "h13_mor_upgraded_from_9", "h13_mor_metadata"
TYPES = {
    ("log", "parquet"): "PARQUET_DATA_BLOCK",
    ("log", "orc"): "PARQUET_DATA_BLOCK",
    ("log", "hfile"): "HFILE_DATA_BLOCK",
    ("deletes", "parquet"): "DELETE_BLOCK",
    ("deletes", "orc"): "DELETE_BLOCK",
    ("deletes", "hfile"): "DELETE_BLOCK",
    ("cdc", "parquet"): "CDC_DATA_BLOCK",
}


def native_logs(table):
    return sorted(path for path in table.rglob("*") if NAME.fullmatch(path.name))


def with_metadata(log, change):
    """Changes the header in the footer of a Parquet log."""
    key = b"hudi.log.format.metadata"
    rows = pq.read_table(log)
    header = change(json.loads(rows.schema.metadata[key]))
    metadata = {**rows.schema.metadata, key: json.dumps(header).encode()}
    pq.write_table(rows.replace_schema_metadata(metadata), log)


@pytest.mark.parametrize("name", [name for name in NATIVE if name != DOWNGRADED])
def test_verify_finds_nothing(name, table_of):
    assert mortice.Table(table_of(name)).verify(keys=True).findings == []


def test_logs_that_hudi_leaves_in_a_downgraded_table_are_reported_and_not_passed_over(table_of):
    """Hudi compacts before it downgrades, and leaves the logs."""
    path = table_of(DOWNGRADED)
    table, logs = mortice.Table(path), native_logs(path)
    assert table.version == 9
    assert [(one.kind, one.path) for one in table.verify(keys=True).findings] == [
        ("unsupported_file", log.name) for log in logs
    ]
    with pytest.raises(mortice.UnsupportedError, match=logs[0].name):
        table.snapshot(as_of=logs[0].name.split("_")[2])


@pytest.mark.parametrize("name", NATIVE)
def test_a_native_log_is_one_block(name, table_of):
    for path in native_logs(table_of(name)):
        kind, suffix = path.name.split(".")[1:]
        (block,) = mortice.LogFile(path).blocks()
        assert block.type == TYPES[kind, suffix]
        assert (block.offset, block.end, block.log_format_version) == (0, path.stat().st_size, 2)
        assert block.instant_time == path.name.split("_")[2]
        assert block.refusal is None
        log = mortice.LogFile(path)
        assert [one.header for one in log.blocks(reverse=True)] == [block.header]
        if kind == "deletes":
            assert log.deletes(block).num_rows == block.record_count
        else:
            assert log.record_batches(block).read_all().num_rows == block.record_count
            assert log.records(block).num_rows == block.record_count
        if "RECORD_POSITIONS" in block.header:
            assert len(log.positions(block)) == block.record_count


def test_a_slice_has_inline_and_native_logs(table_of):
    (slice_,) = (one for one in mortice.Table(table_of(UPGRADED)).file_slices() if one.log_files)
    names = [log.path.rsplit("/", 1)[-1] for log in slice_.log_files]
    assert [bool(NAME.fullmatch(name)) for name in names] == [False, False, True, True]


def test_a_table_that_hudi_wrote_is_written_to(copy_of):
    """Logs, a compaction and a clean on top of native logs that Hudi wrote."""
    table = mortice.Table(copy_of(EVENT_TIME))
    before = table.snapshot().to_arrow()
    kept = [name for name in before.column_names if not name.startswith("_hoodie")]
    changed = before.select(kept).slice(0, 2)
    table.upsert(changed, {"hoodie.metadata.enable": "false"})
    table.delete(before.select(kept).slice(2, 1), {"hoodie.metadata.enable": "false"})
    keys = sorted(before["id"].to_pylist())
    keys.remove(before["id"][2].as_py())
    for _ in range(2):
        opened = mortice.Table(table.uri)
        assert sorted(opened.snapshot().to_arrow()["id"].to_pylist()) == keys
        assert opened.verify(keys=True).findings == []
        opened.compact({"hoodie.metadata.enable": "false", "hoodie.compact.inline.max.delta.commits": "1"})


def test_sorted_tables_are_not_written_to(tmp_path):
    rows = pa.table({"id": ["a"], "ts": [1]})
    table = mortice.create_table(tmp_path / "t", rows.schema, record_key="id", version=10)
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    text = properties.read_text().replace("storage.layout=default", "storage.layout=lsm_tree")
    properties.write_text("".join(line + "\n" for line in text.splitlines() if "checksum" not in line))
    with pytest.raises(mortice.UnsupportedError, match="lsm_tree"):
        mortice.Table(table.uri).insert(rows)
    assert mortice.create_table(tmp_path / "other", rows.schema, record_key="id").version == 9


@pytest.mark.parametrize("cut", [0, 4, 1000, -1])
def test_a_cut_log_is_an_error(cut, copy_of):
    path = copy_of(EVENT_TIME)
    log = native_logs(path)[0]
    log.write_bytes(log.read_bytes()[:cut])
    with pytest.raises(mortice.CorruptLogError) as raised:
        mortice.Table(path).snapshot().to_arrow()
    assert log.name in str(raised.value)
    found = {(one.path, one.kind) for one in mortice.Table(path).verify().findings}
    assert found == {(log.name, "wrong_length"), (log.name, "unreadable_file")}


def test_a_changed_byte_is_an_error_or_changes_nothing(tmp_path):
    """In logs that mortice writes, whose pages have checksums."""
    table = new_table(tmp_path / "t", 10)
    table.upsert(FIRST, NO_SERVICES)
    table.upsert(CHANGED, NO_SERVICES)
    table.delete(rows(("b", "x", 9, 2.0)), NO_SERVICES)
    expected, logs = content(table), native_logs(tmp_path / "t")
    assert {log.name.split(".")[1] for log in logs} == {"log", "deletes"}
    for log in logs:
        whole = log.read_bytes()
        for at in range(0, len(whole), 41):
            log.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
            try:
                found = content(mortice.Table(table.uri))
            except mortice.CorruptLogError as error:
                found = error.path
            assert found in (expected, str(log)), at
        log.write_bytes(whole)


def test_the_footer_of_another_log_is_not_taken_for_its_own(copy_of):
    path = copy_of(EVENT_TIME)
    logs = native_logs(path)
    rows_, deletes = logs[0], next(log for log in logs if ".deletes." in log.name)
    kept = deletes.read_bytes()
    deletes.write_bytes(rows_.read_bytes())
    found = mortice.Table(path).verify().findings
    assert {one.path for one in found} == {deletes.name}
    deletes.write_bytes(kept)
    # Rows under the name of deleted keys, without the column of keys.
    pq.write_table(pq.read_table(deletes).drop_columns(["_hoodie_record_key"]), deletes)
    with pytest.raises(mortice.CorruptLogError, match="_hoodie_record_key") as raised:
        mortice.Table(path).snapshot().to_arrow()
    assert raised.value.path.endswith(deletes.name)


def test_a_slice_with_more_logs_than_open_files(tmp_path):
    """A process may have 1,024 files open, here 200."""
    table = new_table(tmp_path / "t", 10)
    table.upsert(FIRST, NO_SERVICES)
    table.upsert(CHANGED, NO_SERVICES)
    log = native_logs(tmp_path / "t" / "x")[0]
    for version in range(2, 1000):
        shutil.copy(log, log.with_name(log.name.replace("_1.log.", f"_{version}.log.")))
    read = f"import mortice; print(mortice.Table({table.uri!r}).snapshot().to_arrow().num_rows)"
    command = ["sh", "-c", f'ulimit -n 200 && exec "{sys.executable}" -W ignore -c "{read}"']
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() == ["3"]


def test_a_header_that_is_not_valid_is_an_error(copy_of):
    path = copy_of(EVENT_TIME)
    logs = native_logs(path)
    for change, error, message in [
        ({"VERSION": "3"}, mortice.UnsupportedError, "version 3"),
        ({"VERSION": "x"}, mortice.CorruptLogError, "VERSION"),
        ({"SCHEMA": None}, mortice.CorruptLogError, "SCHEMA is missing"),
        ({"COMMAND_BLOCK_TYPE": "0"}, mortice.CorruptLogError, "COMMAND_BLOCK_TYPE"),
    ]:
        for log in (logs[0], logs[2]):
            kept = log.read_bytes()
            with_metadata(log, lambda header, change=change: {**header, **change})
            with pytest.raises(error, match=message):
                mortice.Table(path).snapshot().to_arrow()
            log.write_bytes(kept)


def test_positions_that_are_not_valid_are_left_for_keys(copy_of):
    path = copy_of(EVENT_TIME)
    for log in native_logs(path):
        with_metadata(log, lambda header: {**header, "RECORD_POSITIONS": "AAAAAQA="})
    actual = mortice.Table(path).snapshot().to_arrow()
    assert_same_result(hudi_result(EVENT_TIME), actual)


def test_other_headers_are_ignored(copy_of):
    path = copy_of(EVENT_TIME)
    for log in native_logs(path):
        with_metadata(log, lambda header: {**header, "A_LATER_NAME": "1"})
    assert_same_result(hudi_result(EVENT_TIME), mortice.Table(path).snapshot().to_arrow())


def test_a_log_of_another_format_is_refused_by_name(copy_of):
    path = copy_of(EVENT_TIME)
    log = native_logs(path)[0]
    log.rename(log.with_suffix(".lance"))
    with pytest.raises(mortice.UnsupportedError, match="format lance"):
        mortice.Table(path).snapshot().to_arrow()
    kinds = {found.kind for found in mortice.Table(path).verify().findings}
    assert kinds == {"unsupported_file", "missing_file"}


def test_the_metadata_table_lists_native_logs(table_of):
    table = mortice.Table(table_of(METADATA))
    assert "metadata table" in next(line for line in table.snapshot().explain().splitlines() if "listing" in line)
    listed = mortice.Table(table.uri, read_options=mortice.ReadOptions(use_metadata=False))
    assert table.file_slices() == listed.file_slices()


def test_history_and_differences(table_of):
    table = mortice.Table(table_of(EVENT_TIME))
    versions = table.history("k001").versions
    assert [one.source for one in versions] == ["base row", "log record", "log delete", "log record"]
    assert [one.state for one in versions][-1] == "wins"
    found = table.diff(table.timeline[0])
    assert (found.inserted.num_rows, found.deleted.num_rows) == (1, 2)
