"""Rollbacks and savepoints at a user's request, read back by mortice from the metadata table and from a listing."""

import pathlib
import shutil

import pytest

from mortice import InvalidArgumentError, InvalidTableError
from mortice.cli.main import main
from support.tables.written import CHANGED, FIRST, KINDS, NO_SMALL_FILES, both, content, new_table, rows


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def files(table):
    root = pathlib.Path(table.uri)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".hoodie" not in str(path.relative_to(root))
    }


def test_the_latest_write_is_undone(table):
    table.upsert(FIRST, NO_SMALL_FILES)
    first = both(table)
    second = table.upsert(CHANGED, NO_SMALL_FILES)
    assert both(table) != first
    before = files(table)
    planned = table.plan_rollback(second.instant)
    assert files(table) == before
    assert planned.rollback_instant is None
    done = table.rollback(second.instant)
    assert (done.deleted, done.undone_logs) == (planned.deleted, planned.undone_logs)
    assert len(done.deleted) + len(done.undone_logs) == 2
    assert both(table) == first
    assert second.instant not in [instant.requested_time for instant in table.timeline]
    table.upsert(CHANGED, NO_SMALL_FILES)
    assert ("a", "x", 2, 10.0) in both(table)


def test_writes_are_undone_newest_first(table):
    first = table.upsert(FIRST, NO_SMALL_FILES)
    second = table.upsert(CHANGED, NO_SMALL_FILES)
    with pytest.raises(InvalidArgumentError, match=rf"{second.instant}\.[a-z]* is later"):
        table.rollback(first.instant)
    table.rollback(second.instant)
    table.rollback(first.instant)
    assert both(table) == []
    table.insert(FIRST)
    assert len(both(table)) == 3


def test_an_instant_is_a_commit_one_of_the_timeline_or_a_string(table):
    first = table.upsert(FIRST, NO_SMALL_FILES)
    rows_of_first = both(table)
    second = table.upsert(CHANGED, NO_SMALL_FILES)
    assert table.count(as_of=first) == len(rows_of_first)
    assert table.incremental(first).count() == table.incremental(table.timeline[-2]).count() == len(CHANGED)
    assert table.plan_savepoint().instant == second.instant
    table.savepoint(first)
    plans = [table.plan_rollback(one) for one in (second, table.timeline.latest, second.instant)]
    plans += [table.plan_restore(one).undone[0] for one in (first, table.timeline[0], first.instant)]
    assert {plan.instant for plan in plans} == {second.instant}
    table.restore(first)
    assert both(table) == rows_of_first
    table.delete_savepoint(first)
    nothing = table.update_where({"fare": 1.0}, "id = 'no such key'")
    for refused in (nothing, 20240101, None):
        with pytest.raises(InvalidArgumentError, match="instant must be a requested time"):
            table.rollback(refused)
    with pytest.raises(InvalidArgumentError, match="wrote nothing"):
        table.count(as_of=nothing)


def test_replaced_file_groups_come_back(table):
    table.upsert(FIRST)
    first = both(table)
    overwrite = table.insert_overwrite_table(rows(("z", "z", 1, 9.0)))
    assert len(both(table)) == 1
    table.rollback(overwrite.instant)
    assert both(table) == first


def test_a_savepoint_keeps_its_instant(table):
    first = table.upsert(FIRST, NO_SMALL_FILES)
    planned = table.plan_savepoint(first.instant)
    assert not [instant for instant in table.timeline if instant.action == "savepoint"]
    made = table.savepoint(first.instant, comment="before the change", user="me")
    assert made.files == planned.files
    kept = {f"{partition}/{name}": size for partition, names in made.files.items() for name, size in names.items()}
    assert kept
    assert kept == {path: (pathlib.Path(table.uri) / path).stat().st_size for path in kept}
    (instant,) = [instant for instant in table.timeline if instant.action == "savepoint"]
    metadata = table.timeline.metadata(instant)
    assert (metadata["savepointedBy"], metadata["comments"]) == ("me", "before the change")
    with pytest.raises(InvalidArgumentError, match="savepointed: delete the savepoint first"):
        table.rollback(first.instant)
    with pytest.raises(InvalidArgumentError, match="has a savepoint"):
        table.savepoint(first.instant)
    assert table.plan_delete_savepoint(first.instant).files == made.files
    assert [instant for instant in table.timeline if instant.action == "savepoint"]
    assert table.delete_savepoint(first.instant).files == made.files
    with pytest.raises(InvalidArgumentError, match="no savepoint"):
        table.delete_savepoint(first.instant)
    table.rollback(first.instant)
    assert both(table) == []


def test_commands_print_files_and_bytes(table, capsys):
    first = table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    kept = table.plan_savepoint(first.instant).files
    sizes = {name: size for names in kept.values() for name, size in names.items()}
    in_all = f"{len(sizes)} files, {sum(sizes.values()):,} bytes"

    def printed(*arguments):
        assert main([arguments[0], table.uri, first.instant, *arguments[1:]]) == 0
        return capsys.readouterr().out

    for out, expected in (
        (printed("savepoint", "--dry-run"), f"would keep {in_all}"),
        (printed("savepoint"), f"keeps {in_all}"),
        (printed("savepoint", "--delete", "--dry-run"), f"would be deleted: it keeps {in_all}"),
    ):
        assert expected in out
        assert all(name in out and str(size) in out for name, size in sizes.items())
    undone = table.plan_restore(first.instant).undone
    deleted = [size for one in undone for _, size in one.deleted]
    out = printed("restore", "--dry-run")
    assert f"{len(undone)} instants, {len(deleted)} files, {sum(deleted):,} bytes" in out
    assert "deleted: it kept" in printed("savepoint", "--delete")


@pytest.mark.parametrize("instant", ["20200101000000000", "latest", "", 5])
def test_instants_that_are_not_there(tmp_path, instant):
    table = new_table(tmp_path / "trips", 9, "MERGE_ON_READ")
    table.upsert(FIRST)
    for action in (table.rollback, table.savepoint, table.delete_savepoint):
        with pytest.raises(Exception, match=r"instant|savepoint|write"):
            action(instant)
    assert len(both(table)) == 3


def test_a_write_whose_earlier_files_were_cleaned_stays(tmp_path):
    table = new_table(tmp_path / "trips", 9, "COPY_ON_WRITE")
    first = table.upsert(FIRST)
    second = table.upsert(CHANGED)
    for path in pathlib.Path(table.uri).rglob(f"*_{first.instant}.parquet"):
        path.unlink()
    after = content(table)
    with pytest.raises(InvalidArgumentError, match="cleaned"):
        table.rollback(second.instant)
    assert content(table) == after


def test_links_out_of_the_table_are_not_followed(table, tmp_path):
    table.upsert(FIRST, NO_SMALL_FILES)
    second = table.upsert(CHANGED, NO_SMALL_FILES)
    root, outside = pathlib.Path(table.uri), tmp_path / "outside"
    shutil.move(root / "x", outside)
    (root / "x").symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    with pytest.raises(InvalidTableError, match="symbolic link leads out"):
        table.rollback(second.instant)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert not [instant for instant in table.refresh() or table.timeline if instant.action == "rollback"]


def test_a_savepoint_is_of_the_latest_write_by_default(tmp_path, capsys):
    table = new_table(tmp_path / "t", 9, "MERGE_ON_READ")
    with pytest.raises(InvalidArgumentError, match="no completed write yet"):
        table.savepoint()
    table.upsert(FIRST, NO_SMALL_FILES)
    write = table.upsert(CHANGED, NO_SMALL_FILES)
    table.compact()
    compacted = table.timeline.latest
    table.clean({"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 1})
    assert table.timeline.latest.action == "clean"
    assert table.savepoint(comment="before the migration").instant == compacted.requested_time != write.instant
    assert main(["savepoint", table.uri, "--delete"]) == 2
    assert main(["savepoint", table.uri, compacted.requested_time, "--delete"]) == 0
    assert main(["savepoint", table.uri, "--dry-run"]) == 0
    assert f"savepoint of {compacted.requested_time} would keep" in capsys.readouterr().out
