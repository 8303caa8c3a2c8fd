"""Services that follow a write by default, as they do in Hudi: a table that is only written to stays small."""

import pytest

import mortice
from support.tables.written import NO_METADATA, content, new_table, rows

COMMITS = 33


def write(table, commits, options):
    for at in range(commits):
        table.upsert(rows(("a", "x", at, float(at))), NO_METADATA | options)


@pytest.fixture(params=[6, 9])
def version(request):
    return request.param


def active(path, version):
    folder = path / ".hoodie" / ("timeline" if version > 6 else "")
    return [file for file in folder.glob("*.commit") if file.is_file()]


def data_files(path):
    return list((path / "x").glob("*.parquet"))


def test_a_table_is_cleaned_and_archived_after_writes(tmp_path, version):
    path = tmp_path / "trips"
    table = new_table(path, version, "COPY_ON_WRITE")
    write(table, COMMITS, {})
    # Ten commits stay readable: the file that the first of them found is one more. Above 30 commits, 20 stay active.
    assert len(data_files(path)) == 11
    assert 20 <= len(active(path, version)) <= 30
    table = mortice.Table(str(path))
    assert len([one for one in table.timeline if one.action == "commit"]) == COMMITS
    assert content(table) == [("a", "x", COMMITS - 1, float(COMMITS - 1))]


def test_options_turn_services_off(tmp_path, version):
    path = tmp_path / "trips"
    table = new_table(path, version, "COPY_ON_WRITE")
    write(table, COMMITS, {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"})
    assert len(data_files(path)) == len(active(path, version)) == COMMITS


def test_a_service_of_its_own_takes_over(tmp_path, version):
    path = tmp_path / "trips"
    table = new_table(path, version, "COPY_ON_WRITE")
    write(table, COMMITS, {"hoodie.clean.async.enabled": "true", "hoodie.archive.async": "true"})
    assert len(data_files(path)) == len(active(path, version)) == COMMITS
    table.clean(NO_METADATA)
    assert len(data_files(path)) == 11
