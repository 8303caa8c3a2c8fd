"""A metadata table that is gone, damaged or behind the table: no row is lost, and writes build it again or refuse."""

import pathlib
import shutil

import pytest

import mortice
from mortice import InvalidTableError
from support.tables.written import FIRST, KINDS, NO_SMALL_FILES, both, new_table, rows

NEW = rows(("z", "x", 9, 9.0), ("a", "x", 9, 90.0))
INDEX = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": "true"}
KEPT = {"mortice.metadata.rebuild_unusable": "false"}


def metadata(table):
    return pathlib.Path(table.uri) / ".hoodie/metadata"


def commits(table):
    """The completed delta commits of the metadata table that belong to writes of the table, oldest first."""
    folder = metadata(table) / ".hoodie" / ("" if table.version == 6 else "timeline")
    return sorted(path for path in folder.glob("2*.deltacommit") if len(path.name.split(".")[0].split("_")[0]) == 17)


def newest_commit(table):
    commits(table)[-1].unlink()


def older_commit(table):
    commits(table)[-2].unlink()


def all_commits(table):
    for path in commits(table):
        path.unlink()


def folder(table):
    shutil.rmtree(metadata(table))


def properties(table):
    (metadata(table) / ".hoodie/hoodie.properties").unlink()


def emptied_properties(table):
    (metadata(table) / ".hoodie/hoodie.properties").write_bytes(b"")


def timeline(table):
    for path in (metadata(table) / ".hoodie").rglob("*deltacommit*"):
        path.unlink()


def partition(table):
    shutil.rmtree(metadata(table) / "files")


def base_files(table):
    for path in (metadata(table) / "files").glob("*.hfile"):
        path.unlink()


def log(table):
    """A log that the newest commit but one has written."""
    instant = commits(table)[-2].name.split("_")[0]
    (found,) = (file for file in (metadata(table) / "files").glob(f"*_{instant}*") if ".log." in file.name)
    found.unlink()


DAMAGE = [
    newest_commit,
    older_commit,
    all_commits,
    folder,
    properties,
    emptied_properties,
    timeline,
    partition,
    base_files,
    log,
]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def built(request, tmp_path_factory):
    """A table of each kind, which tests copy."""
    version, table_type = request.param
    return written(new_table(tmp_path_factory.mktemp("built") / "trips", version, table_type), {})


@pytest.fixture
def table(built, tmp_path):
    return mortice.Table(str(shutil.copytree(built.uri, tmp_path / "trips")))


def written(table, options):
    table.upsert(FIRST, NO_SMALL_FILES | options)
    for ts in (2, 3, 4):
        table.upsert(rows(("a", "x", ts, 10.0 * ts), (f"n{ts}", "y", ts, 1.0)), NO_SMALL_FILES | options)
    return mortice.Table(table.uri)


def read(table):
    return both(mortice.Table(table.uri))


def names(table):
    lines = (pathlib.Path(table.uri) / ".hoodie/hoodie.properties").read_text().splitlines()
    entries = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    return sorted(filter(None, entries["hoodie.table.metadata.partitions"].split(",")))


def skip_impossible(table, damage):
    if table.version == 6 and damage in (base_files, log):
        pytest.skip("up to table version 7 the names of files do not tell which are needed")


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_write_builds_it_again(table, damage):
    skip_impossible(table, damage)
    before, had = read(table), names(table)
    damage(table)
    assert read(table) == before
    table.upsert(NEW, NO_SMALL_FILES)
    expected = sorted([row for row in before if row[0] != "a"] + [("z", "x", 9, 9.0), ("a", "x", 9, 90.0)])
    assert sorted(read(table)) == expected
    assert (names(table), table.verify(keys=True).findings) == (had, [])
    assert "metadata table" in mortice.Table(table.uri).snapshot().explain().split("listing")[1].splitlines()[0]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_write_refuses_it_if_it_is_to_be_kept(table, damage):
    skip_impossible(table, damage)
    before = read(table)
    damage(table)
    files = {path: path.read_bytes() for path in pathlib.Path(table.uri).rglob("*") if path.is_file()}
    with pytest.raises(InvalidTableError, match=r"mortice metadata build --rebuild"):
        table.upsert(NEW, NO_SMALL_FILES | KEPT)
    assert files == {path: path.read_bytes() for path in pathlib.Path(table.uri).rglob("*") if path.is_file()}
    assert read(table) == before


@pytest.mark.parametrize("damage", [newest_commit, older_commit, folder, partition], ids=lambda damage: damage.__name__)
def test_the_record_index_is_built_again(tmp_path, damage):
    table = written(new_table(tmp_path / "trips", 9, "MERGE_ON_READ"), INDEX)
    before = read(table)
    damage(table)
    table.upsert(NEW, NO_SMALL_FILES | INDEX)
    assert len(read(table)) == len(before) + 1
    assert "record_index" in names(table)
    assert table.verify(keys=True, global_keys=True).findings == []


@pytest.mark.parametrize("damage", [newest_commit, folder], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("service", ["rollback", "restore", "savepoint", "repair", "clean", "compact", "cluster"])
def test_services_go_on(table, service, damage):
    before, writes = read(table), [one.requested_time for one in table.timeline.completed.active]
    damage(table)
    if service in ("rollback", "restore", "savepoint"):
        argument = writes[-1] if service != "restore" else writes[-2]
        if service == "rollback":
            table.plan_rollback(argument)
        if service == "restore":
            table.plan_restore(argument)
        getattr(table, service)(argument)
    elif service == "compact" and not any(pathlib.Path(table.uri).glob("x/.*.log.*")):
        pytest.skip("there is nothing to compact")
    else:
        getattr(table, service)()
    now = read(table)
    assert now == before or service in ("rollback", "restore")
    assert ("n4", "y", 4, 1.0) in now or service in ("rollback", "restore")
    table.upsert(NEW, NO_SMALL_FILES)
    assert ("z", "x", 9, 9.0) in read(table)
    assert table.verify(keys=True).findings == []


@pytest.mark.parametrize("damage", [newest_commit, folder, partition], ids=lambda damage: damage.__name__)
def test_tools_work_on_it(table, damage):
    before, had = read(table), names(table)
    damage(table)
    assert table.verify().findings
    assert sorted(table.plan_build_metadata().added) == had
    assert sorted(table.build_metadata().added) == had
    assert (read(table), table.verify().findings) == (before, [])
    table.upsert(rows(("a", "x", 4, 40.0)), NO_SMALL_FILES)
    damage(table)
    table.delete_metadata()
    assert (read(table), names(table)) == (before, [])


@pytest.mark.parametrize("damage", [newest_commit, folder, partition], ids=lambda damage: damage.__name__)
def test_a_repair_builds_it_again(table, damage):
    before, had = read(table), names(table)
    damage(table)
    planned = table.plan_repair()
    assert [finding.kind for finding in planned.repaired] == ["unreadable_metadata_table"]
    assert table.repair() == planned
    assert (read(table), names(table), table.verify().findings) == (before, had, [])


def test_a_write_that_it_lacks_is_not_archived(tmp_path):
    table = written(new_table(tmp_path / "trips", 9), {"hoodie.metadata.compact.max.delta.commits": "1"})
    older_commit(table)
    before = read(table)
    few = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    assert not table.archive(few).instants
    assert read(table) == before
    table.upsert(NEW, NO_SMALL_FILES)
    assert len(read(table)) == len(before) + 1


def test_it_is_deleted_if_it_is_switched_off(table):
    before = read(table)
    folder(table)
    table.upsert(NEW, NO_SMALL_FILES | {"hoodie.metadata.enable": "false"})
    assert (len(read(table)), names(table)) == (len(before) + 1, [])


def test_up_to_version_7_it_waits_for_pending_plans(tmp_path):
    table = new_table(tmp_path / "trips", 6)
    written(table, {})
    table.compact(run=False)
    before = read(table)
    newest_commit(table)
    table.upsert(NEW, NO_SMALL_FILES)
    assert (len(read(table)), names(table)) == (len(before) + 1, [])
    table.compact(schedule=False)
    table.upsert(NEW, NO_SMALL_FILES)
    assert (len(read(table)), names(table)) == (len(before) + 1, ["files"])
    assert table.verify(keys=True).findings == []
