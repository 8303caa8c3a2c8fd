"""What `Table.verify` finds in tables that were damaged, and what `Table.repair` deletes."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

import mortice
from mortice import InvalidTableError
from support.tables.written import CHANGED, FIRST, KINDS, NO_SMALL_FILES, content, new_table, rows

OLD = time.time() - 7200


@pytest.fixture
def table(tmp_path):
    table = new_table(tmp_path / "trips", 9, "MERGE_ON_READ")
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    return table


def kinds(found):
    return sorted({one.kind for one in found})


def one_file(table, pattern):
    return next(path for path in sorted(pathlib.Path(table.uri).rglob(pattern)) if ".hoodie/" not in str(path))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def test_a_sound_table_has_no_findings(tmp_path, kind):
    table = new_table(tmp_path / "trips", *kind)
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    last = table.insert_overwrite(rows(("z", "y", 1, 9.0)), NO_SMALL_FILES)
    table.rollback(last.instant)
    table.delete(rows(("b", "x", 9, 0.0)), NO_SMALL_FILES)
    found = table.verify(keys=True)
    assert (found.findings, found.pending) == ([], [])
    assert found.rows == len(content(table)) == 2
    assert found.files >= 2


def test_missing_and_changed_files_are_found(table):
    base, log = one_file(table, "*.parquet"), one_file(table, ".*.log.*")
    log.write_bytes(log.read_bytes()[:-10])
    base.unlink()
    found = table.verify(contents=False).findings
    assert kinds(found) == ["listed_length", "listed_not_stored", "missing_file", "wrong_length"]
    assert {one.path.split("/")[-1] for one in found} == {base.name, log.name}
    assert "unreadable_file" in kinds(table.verify().findings)


def test_files_that_the_metadata_table_does_not_list_are_found(table):
    base = one_file(table, "*.parquet")
    copy = base.with_name("0" + base.name[1:] if base.name[0] != "0" else "1" + base.name[1:])
    copy.write_bytes(base.read_bytes())
    found = table.verify(keys=True).findings
    assert {"stored_not_listed", "orphan_file"} <= set(kinds(found))


def test_what_stopped_writers_left_is_repaired(table):
    root, instant = pathlib.Path(table.uri), table.timeline[-1].requested_time
    markers = root / ".hoodie/.temp" / instant / "x"
    markers.mkdir(parents=True)
    (markers / "f.parquet.marker.CREATE").touch()
    heartbeat = root / ".hoodie/.heartbeat" / instant
    heartbeat.parent.mkdir(exist_ok=True)
    heartbeat.touch()
    orphan = one_file(table, "*.parquet").with_name("f-0_0-0-0_20991231235959999.parquet")
    orphan.write_bytes(b"left")
    young = orphan.with_name("g-0_0-0-0_20991231235959999.parquet")
    young.write_bytes(b"young")
    os.utime(orphan, (OLD, OLD))
    before = content(table)
    found = table.verify(contents=False)
    assert kinds(found.findings) == ["dead_heartbeat", "orphan_file", "stale_markers"]
    planned = table.plan_repair()
    assert table.repair(dry_run=True) == planned
    assert orphan.exists()
    assert heartbeat.exists()
    done = table.repair()
    assert (done.repaired, done.left) == (planned.repaired, planned.left)
    assert kinds(done.repaired) == ["dead_heartbeat", "orphan_file", "stale_markers"]
    assert [one.path for one in done.left] == [f"{young.parent.name}/{young.name}"]
    assert "less than an hour old" in done.left[0].message
    assert young.exists()
    assert not orphan.exists()
    assert not heartbeat.exists()
    assert not markers.exists()
    young.unlink()
    assert table.verify().findings == []
    assert content(table) == before


def test_repair_deletes_nothing_outside_of_the_table(table, tmp_path):
    """Links in the place of markers, heartbeats, partitions and orphans."""
    root, instant = pathlib.Path(table.uri), "20000101000000000"
    outside = tmp_path / "outside"
    (outside / "markers/x").mkdir(parents=True)
    (outside / "markers/x/f.parquet.marker.CREATE").write_text("stays")
    (outside / "markers/empty").mkdir()
    (outside / "partition").mkdir()
    (outside / "partition/.hoodie_partition_metadata").write_text("stays")
    (outside / "partition/f-0_0-0-0_20991231235959999.parquet").write_text("stays")
    (outside / "file").write_text("stays")
    for path in outside.rglob("*"):
        os.utime(path, (OLD, OLD))
    stays = sorted(outside.rglob("*"))
    (root / ".hoodie/.temp").mkdir(exist_ok=True)
    (root / ".hoodie/.heartbeat").mkdir(exist_ok=True)
    (root / ".hoodie/.temp" / instant).symlink_to(outside / "markers", target_is_directory=True)
    (root / ".hoodie/.heartbeat" / instant).symlink_to(outside / "file")
    (root / "linked").symlink_to(outside / "partition", target_is_directory=True)
    (root / "x/g-0_0-0-0_20991231235959999.parquet").symlink_to(outside / "file")
    before = content(table)
    for repair in (table.repair, lambda: table.upsert(rows(("a", "x", 50, 50.0)), NO_SMALL_FILES)):
        # What a link stands for is refused, or the link alone is removed.
        with contextlib.suppress(InvalidTableError):
            repair()
        assert sorted(outside.rglob("*")) == stays
    for link in (".hoodie/.temp/" + instant, ".hoodie/.heartbeat/" + instant, "linked"):
        (root / link).unlink(missing_ok=True)
    (root / "x/g-0_0-0-0_20991231235959999.parquet").unlink(missing_ok=True)
    table.refresh()
    assert [row for row in content(table) if row[0] != "a"] == [row for row in before if row[0] != "a"]


@pytest.mark.parametrize("name", ["hoodie.timeline.path", "hoodie.timeline.history.path"])
@pytest.mark.parametrize("folder", ["../../elsewhere", "/elsewhere", "x/../../../elsewhere"])
def test_timelines_outside_of_the_table_are_refused(tmp_path, name, folder):
    table = new_table(tmp_path / "trips", 9)
    table.upsert(rows(("a", "x", 1, 1.0)))
    properties = pathlib.Path(table.uri) / ".hoodie/hoodie.properties"
    lines = [
        line for line in properties.read_text().splitlines() if not line.startswith((name, "hoodie.table.checksum"))
    ]
    properties.write_text("\n".join([*lines, f"{name}={folder}"]))
    with pytest.raises(InvalidTableError, match=name.replace(".", r"\.")):
        mortice.Table(table.uri)


def test_the_command_prints_findings_and_fails(table):
    def mortice(*arguments):
        command = [sys.executable, "-m", "mortice", *arguments]
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=120)

    sound = mortice("verify", table.uri, "--keys")
    assert sound.returncode == 0, sound.stderr
    assert "0 findings" in sound.stdout
    one_file(table, ".*.log.*").unlink()
    damaged = mortice("verify", table.uri, "--json", "--no-contents")
    assert damaged.returncode == 1, damaged.stderr
    assert {one["kind"] for one in json.loads(damaged.stdout)["findings"]} == {"missing_file", "listed_not_stored"}
    left = mortice("repair", table.uri, "--dry-run")
    assert left.returncode == 1
    assert "not repaired: 2" in left.stdout
