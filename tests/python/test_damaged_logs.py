"""Logs that have lost bytes of completed writes: queries warn, raise or go on, and leave interrupted writes alone."""

import logging
import pickle
import subprocess
import sys
import warnings

import pytest

import mortice
from mortice import DamagedFileWarning
from support.tables.damaged import (
    add_unfinished_block,
    cut_between_blocks,
    cut_in_block,
    cut_to_nothing,
    flip_length,
    logs_of,
    newest_log,
    table_with_logs,
    zero_last_block,
)

SEEN_BY_BLOCKS = [cut_in_block, cut_to_nothing, flip_length]
VERSIONS = [6, 8, 9]


def read(table, **arguments):
    """The rows of a new reader, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scan = mortice.Table(table.uri, read_options=mortice.ReadOptions(**arguments)).snapshot()
        rows = scan.to_arrow()
    return rows, [one.message for one in caught if isinstance(one.message, DamagedFileWarning)], scan


@pytest.mark.parametrize("damage", SEEN_BY_BLOCKS)
@pytest.mark.parametrize("metadata", [True, False], ids=["listed", "unlisted"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_query_warns_once_for_each_damaged_file(tmp_path, version, metadata, damage):
    table = table_with_logs(tmp_path / "t", version, metadata=metadata)
    sound, none, _ = read(table)
    assert none == []
    log = newest_log(table)
    damage(log)
    rows, (warned,), scan = read(table)
    assert rows.num_rows == sound.num_rows
    assert rows.sort_by("id") != sound.sort_by("id")
    assert warned.path == str(log)
    assert warned.instant == table.timeline[-1].requested_time
    assert "MORTICE-DAMAGED-LOG" in str(warned)
    assert log.name in str(warned)
    (reported,) = scan.report()["damaged"]
    assert (reported["file"], reported["instant"], reported["offset"]) == (str(log), warned.instant, warned.offset)
    assert scan.metrics()["damaged"] == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_that_ends_between_blocks_is_shorter_than_its_listing(tmp_path, version):
    table = table_with_logs(tmp_path / "t", version)
    log = newest_log(table)
    offset = cut_between_blocks(log)
    _, (warned,), _ = read(table)
    assert (warned.path, warned.offset) == (str(log), offset)
    with pytest.raises(mortice.CorruptLogError, match=f"the file has {offset} bytes") as raised:
        read(table, on_damage="raise")
    assert (raised.value.path, raised.value.offset) == (str(log), offset)
    assert raised.value.instant == table.timeline[-1].requested_time
    rows, none, scan = read(table, on_damage="ignore")
    assert (none, scan.report()["damaged"]) == ([], [])
    assert rows.num_rows


@pytest.mark.parametrize("version", VERSIONS)
def test_raise_compares_lengths_with_commits_if_nothing_lists_them(tmp_path, version):
    table = table_with_logs(tmp_path / "t", version, metadata=False)
    assert read(table, on_damage="raise")[0].num_rows
    log = newest_log(table)
    cut_between_blocks(log)
    with pytest.raises(mortice.CorruptLogError, match="damaged") as raised:
        read(table, on_damage="raise")
    assert raised.value.path == str(log)


@pytest.mark.parametrize("last", ["upsert", "delete"])
@pytest.mark.parametrize("block_format", ["avro", "parquet"])
@pytest.mark.parametrize("damage", SEEN_BY_BLOCKS)
def test_blocks_of_each_kind(tmp_path, block_format, last, damage):
    table = table_with_logs(tmp_path / "t", 9, block_format=block_format, last=last)
    damage(newest_log(table))
    with pytest.raises(mortice.CorruptLogError):
        read(table, on_damage="raise")
    assert len(read(table)[1]) == 1


def test_a_zeroed_block_takes_the_block_before_it_along(tmp_path):
    table = table_with_logs(tmp_path / "t", 6, metadata=False)
    log = newest_log(table)
    blocks = list(mortice.LogFile(log).blocks())
    if len(blocks) < 2:
        pytest.skip("each write has a log of its own")
    zero_last_block(log)
    _, (warned,), _ = read(table)
    assert warned.path == str(log)


@pytest.mark.parametrize("metadata", [True, False], ids=["listed", "unlisted"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_stopped_writer_left_is_no_damage(tmp_path, version, metadata):
    table = table_with_logs(tmp_path / "t", version, metadata=metadata)
    sound, *_ = read(table)
    for log in logs_of(table):
        add_unfinished_block(log)
    for arguments in ({}, {"on_damage": "raise"}):
        rows, none, scan = read(table, **arguments)
        assert rows == sound
        assert none == []
        assert scan.report()["damaged"] == []
    assert table.compact().commit is not None


def test_a_query_of_an_earlier_instant_does_not_need_later_bytes(tmp_path):
    table = table_with_logs(tmp_path / "t", 9)
    cut_in_block(newest_log(table))
    before = [one for one in table.timeline if one.is_completed][-2].requested_time
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedFileWarning)
        assert mortice.Table(table.uri).snapshot(as_of=before).to_arrow().num_rows == 40


def test_warnings_can_be_errors_and_are_logged(tmp_path, caplog):
    table = table_with_logs(tmp_path / "t", 9)
    log = newest_log(table)
    cut_in_block(log)
    with caplog.at_level(logging.WARNING, "mortice"):
        read(table)
    assert [record.name for record in caplog.records] == ["mortice"]
    assert log.name in caplog.text
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedFileWarning)
        with pytest.raises(DamagedFileWarning) as raised:
            mortice.Table(table.uri).snapshot().count()
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (str(copied), copied.offset) == (str(raised.value), raised.value.offset)


def test_splits_and_other_libraries_warn(tmp_path):
    table = table_with_logs(tmp_path / "t", 9)
    cut_in_block(newest_log(table))
    for consume in (
        lambda scan: [pickle.loads(pickle.dumps(split)).to_reader().read_all() for split in scan.splits()],
        lambda scan: __import__("polars").DataFrame(scan),
        lambda scan: __import__("duckdb").sql("SELECT count(*) FROM scan").fetchall(),
    ):
        with pytest.warns(DamagedFileWarning):
            consume(mortice.Table(table.uri).snapshot())


def test_the_command_warns_on_stderr(tmp_path):
    table = table_with_logs(tmp_path / "t", 9)
    log = newest_log(table)
    cut_in_block(log)
    command = [sys.executable, "-m", "mortice", "read", table.uri, "--limit", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stderr.splitlines() if "DAMAGED" in line]
    assert line.startswith("mortice: warning: [MORTICE-DAMAGED-LOG]")
    assert log.name in line


def test_the_argument_is_checked(tmp_path):
    table = table_with_logs(tmp_path / "t", 9)
    with pytest.raises(mortice.InvalidArgumentError, match="on_damage must be 'warn', 'raise' or 'ignore'"):
        mortice.Table(table.uri, read_options=mortice.ReadOptions(on_damage="skip"))
    with pytest.raises(mortice.InvalidArgumentError, match="on_damage must be"):
        table.compact({"mortice.on_damage": "skip"})


@pytest.mark.parametrize("length", [0, 100, -200])
@pytest.mark.parametrize("metadata", [True, False], ids=["listed", "unlisted"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_error_of_a_base_file_has_the_length_that_its_write_recorded(tmp_path, version, metadata, length):
    table = table_with_logs(tmp_path / "t", version, metadata=metadata)
    (base,) = (path for path in tmp_path.rglob("*.parquet") if ".hoodie/" not in str(path))
    content = base.read_bytes()
    base.write_bytes(content[:length])
    message = f"wrote {len(content)} bytes, and the file has {len(content[:length])}"
    with pytest.raises(mortice.InvalidTableError, match=message) as raised:
        read(table)
    assert raised.value.path == str(base)
    assert raised.value.instant == table.timeline[0].requested_time
