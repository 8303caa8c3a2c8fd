"""Changes never leave the table through a symbolic link: folders and logs below the base path that are links."""

import contextlib
import shutil

import pytest

import mortice
from mortice import InvalidTableError, MorticeError
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, content, new_table, rows

FOLDERS = [
    ".hoodie",
    ".hoodie/timeline",
    ".hoodie/timeline/history",
    ".hoodie/.temp",
    ".hoodie/.heartbeat",
    ".hoodie/.aux",
    ".hoodie/metadata",
    ".hoodie/metadata/.hoodie",
    ".hoodie/metadata/.hoodie/timeline",
    ".hoodie/metadata/files",
    "x",
]
UNUSED = [".hoodie/timeline/history", ".hoodie/.heartbeat", ".hoodie/.aux"]
KEEP_LITTLE = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
AS_IT_IS = NO_SMALL_FILES | {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table with logs, old versions of files, a savepoint, and instants to archive."""
    table = new_table(tmp_path_factory.mktemp("written") / "trips")
    first = table.upsert(FIRST, AS_IT_IS)
    table.savepoint(first.instant)
    for at in range(2, 5):
        table.upsert(rows(("a", "x", at, 10.0), ("c", "y", at, 30.0)), AS_IT_IS)
        table.compact(AS_IT_IS)
    last = table.upsert(CHANGED, AS_IT_IS)
    return table.uri, first.instant, last.instant


def services(table, first, last):
    """All that changes a table."""
    yield "write", lambda: table.upsert(rows(("a", "x", 9, 9.0)), NO_SMALL_FILES)
    yield "compact", lambda: table.compact(AS_IT_IS)
    yield "cluster", lambda: table.cluster(AS_IT_IS)
    yield "clean", lambda: table.clean(KEEP_LITTLE)
    yield "archive", lambda: table.archive(KEEP_LITTLE)
    yield "rollback", lambda: table.rollback(last)
    yield "restore", lambda: table.restore(first)
    yield "repair", table.repair
    yield "build_metadata", lambda: table.build_metadata(rebuild=True)
    yield "delete_metadata", table.delete_metadata


def files_below(folder):
    status = ((path, path.stat()) for path in sorted(folder.rglob("*")))
    return [(str(path), found.st_ino, found.st_size, found.st_mtime_ns) for path, found in status]


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_behind_a_link_is_changed(written, tmp_path, folder):
    uri, first, last = written
    root, outside = tmp_path / "trips", tmp_path / "outside"
    shutil.copytree(uri, root)
    (root / folder).mkdir(exist_ok=True, parents=True)
    (root / folder).rename(outside)
    for name in ("stays", "empty/empty"):
        (outside / name).mkdir(parents=True)
    (root / folder).symlink_to(outside)
    before, table, refused = files_below(outside), mortice.Table(root), []
    expected = content(table)
    for name, change in services(table, first, last):
        table.refresh()
        try:
            change()
        except MorticeError as error:
            refused.append((name, error))
        assert files_below(outside) == before, name
    by_link = [error for _, error in refused if str(root / folder) in str(error) and "symbolic link" in str(error)]
    # The others hold nothing that these changes need.
    assert by_link or folder in UNUSED, refused
    assert all(isinstance(error, InvalidTableError) for error in by_link)
    if folder == "x":
        return
    # With the folder in its place, the table goes on.
    (root / folder).unlink()
    outside.rename(root / folder)
    table.refresh()
    if [instant for instant in table.timeline if instant.action == "restore" and instant.state != "COMPLETED"]:
        table.restore(first)
    table.upsert(rows(("a", "x", 10, 10.0)), NO_SMALL_FILES)
    assert [row for row in content(table) if row[0] == "a"] == [("a", "x", 10, 10.0)]
    assert {key for key, *_ in expected} == {key for key, *_ in content(table)}


def test_a_partition_that_is_a_link_is_read_and_not_changed(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(FIRST, AS_IT_IS)
    root, disk = tmp_path / "trips", tmp_path / "disk"
    shutil.move(root / "x", disk)
    (root / "x").symlink_to(disk)
    table.refresh()
    before, files = content(table), files_below(disk)
    assert len(before) == 3
    with pytest.raises(InvalidTableError, match="mount the other file system") as refused:
        table.upsert(CHANGED, AS_IT_IS)
    assert (refused.value.path, files_below(disk)) == (str(root / "x"), files)
    # Other partitions are written, also after that.
    table.upsert(rows(("c", "y", 5, 50.0)), AS_IT_IS)
    assert [row[3] for row in content(table)] == [1.0, 2.0, 50.0]


def test_a_log_that_is_a_link_is_not_appended_to(tmp_path):
    table = new_table(tmp_path / "trips", 6)
    table.upsert(FIRST, AS_IT_IS)
    table.upsert(CHANGED, AS_IT_IS)
    outside = tmp_path / "outside"
    outside.mkdir()
    for log in (tmp_path / "trips").rglob(".*.log.*"):
        shutil.move(log, outside / log.name)
        log.symlink_to(outside / log.name)
    files = files_below(outside)
    for at in (6, 7):
        with contextlib.suppress(InvalidTableError):
            table.upsert(rows(("a", "x", at, 60.0), ("c", "y", at, 60.0)), AS_IT_IS)
        assert files_below(outside) == files


def test_a_table_whose_base_path_is_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "tables").symlink_to(tmp_path / "disk")
    table = new_table(tmp_path / "tables/trips")
    (tmp_path / "alias").symlink_to(tmp_path / "tables/trips")
    table = mortice.Table(tmp_path / "alias")
    table.upsert(FIRST, AS_IT_IS)
    last = table.upsert(CHANGED, AS_IT_IS)
    table.compact(AS_IT_IS)
    table.clean(KEEP_LITTLE)
    assert len(content(table)) == 3
    assert last.instant
    assert table.verify().findings == []
