"""Locations of tables, and paths without a table."""

import pathlib
import shutil

import pytest

import mortice
from support.cases import assert_same_result, hudi_result

NAME = "h11_v6_uncommitted"


@pytest.mark.parametrize("folder", ["with space", "ünï çødé 表", "a=b%20c", "trailing."])
@pytest.mark.parametrize("form", [str, pathlib.Path, lambda path: f"{path}/", lambda path: f"file://{path}"])
def test_any_directory_by_any_form_of_its_path(copy_of, folder, form):
    """A percent sign in a file URI is literal, as in Hadoop's paths."""
    path = copy_of(NAME, folder)
    assert_same_result(hudi_result(NAME), mortice.Table(form(path)).snapshot().to_arrow())


def test_a_relative_path(copy_of, monkeypatch):
    monkeypatch.chdir(copy_of(NAME).parent)
    assert_same_result(hudi_result(NAME), mortice.Table("table").snapshot().to_arrow())


def test_encoded_and_non_ascii_partitions(table_of):
    name = "h11_composite_keys_encoded_partitions"
    expected = hudi_result(name)
    partitions = set(expected["_hoodie_partition_path"].to_pylist())
    assert {slice_.partition for slice_ in mortice.Table(table_of(name)).file_slices()} >= partitions


def test_a_directory_that_is_not_a_table(tmp_path):
    (tmp_path / "file.parquet").write_bytes(b"PAR1")
    with pytest.raises(mortice.TableNotFoundError):
        mortice.Table(tmp_path)


def test_a_file_that_is_not_a_directory(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(mortice.MorticeError):
        mortice.Table(tmp_path / "file")


@pytest.mark.parametrize("uri", ["", 3, b"table", None, "\udcff"], ids=ascii)
def test_invalid_paths_are_refused(uri):
    with pytest.raises(mortice.InvalidArgumentError):
        mortice.Table(uri)


def test_an_unsupported_scheme_is_refused_by_name():
    with pytest.raises(mortice.UnsupportedError, match="oss"):
        mortice.Table("oss://bucket/table")


def test_a_table_without_commits_is_empty(copy_of):
    path = copy_of("h11_event_time_deletes")
    for entry in path.iterdir():
        if entry.name != ".hoodie":
            entry.unlink()
    for file in (path / ".hoodie" / "timeline").glob("*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    table = mortice.Table(path)
    assert len(table.timeline) == 0
    assert table.file_slices() == []
    scan = table.snapshot()
    assert (scan.splits(), scan.count(), scan.to_arrow().num_rows) == ([], 0, 0)


def test_an_unreadable_timeline_is_an_error_with_its_path(copy_of):
    path = copy_of("h11_event_time_deletes")
    commit = max((path / ".hoodie" / "timeline").glob("*.deltacommit"))
    commit.write_bytes(b"\x00garbage")
    with pytest.raises(mortice.MorticeError) as raised:
        mortice.Table(path).snapshot().to_arrow()
    assert commit.name in str(raised.value)


def test_a_missing_log_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(mortice.LogFile(tmp_path / ".x_001.log.1_0-0-0").blocks())
