"""Files that are not there: removed by the cleaner, so that a new plan helps, or lost, so that none does."""

import pathlib

import pytest

import mortice
from mortice import FileCleanedError
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, content, new_table, rows

KEEP_ONE = {"hoodie.clean.commits.retained": "1"}


@pytest.mark.parametrize("version", [6, 9])
def test_a_lost_file_is_not_answered_with_a_new_plan(tmp_path, version):
    table = new_table(tmp_path / "trips", version)
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    lost = next(path for path in pathlib.Path(table.uri).glob("x/*.parquet"))
    lost.unlink()
    for attempt in (table, mortice.Table(table.uri)):
        with pytest.raises(FileCleanedError, match=r"newest state of the table needs it.*mortice verify") as raised:
            content(attempt)
        assert raised.value.path == str(lost)


def test_a_file_that_the_cleaner_removed_is_answered_with_a_new_plan(tmp_path):
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    table.upsert(FIRST, NO_SMALL_FILES)
    planned = mortice.Table(table.uri).snapshot()
    splits = planned.splits()
    for at in (2, 3, 4):
        table.upsert(rows(("a", "x", at, 1.0), ("c", "y", at, 1.0)), NO_SMALL_FILES)
    table.clean(KEEP_ONE)
    with pytest.raises(FileCleanedError, match="plan the query again") as raised:
        for split in splits:
            split.to_reader().read_all()
    assert "newest state" not in str(raised.value)
    assert len(content(mortice.Table(table.uri))) == 3
