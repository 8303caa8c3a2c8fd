"""Upgrades and downgrades: as Hudi has done them, of all kinds of tables, and their commands."""

import json
import os
import pathlib
import zipfile

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError, UnsupportedError, WriteConflictError
from mortice.cli.main import main
from support.tables.upgraded import HUDI, decompressed
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, both, content, new_table, rows

CASES = sorted(path.name.removesuffix(".tar.xz") for path in HUDI.glob("*.tar.xz"))
OF_METADATA = {
    # Hudi's default indexes are built by its writer, not by the upgrade.
    "hoodie.table.metadata.partitions",
    "hoodie.table.metadata.partitions.inflight",
    "hoodie.table.index.defs.path",
}
SHOWN = ["_hoodie_commit_time", "id", "city", "ts", "v"]
STEPS = [(6, 8), (6, 9), (8, 9), (9, 8), (9, 6), (8, 6), (6, 10), (9, 10)]


def timeline_files(table):
    folder = pathlib.Path(table.uri) / ".hoodie" / ("timeline" if table.version >= 8 else "")
    return sorted(file.name for file in folder.iterdir() if file.name[0].isdigit())


def without(names, instants):
    return [name for name in names if not name.startswith(tuple(instants))]


def change(table, to, **arguments):
    return (table.upgrade if table.version < to else table.downgrade)(to, **arguments)


@pytest.mark.parametrize("name", CASES)
def test_properties_timeline_and_rows_are_those_of_hudi(name, tmp_path):
    table = decompressed(name, tmp_path)
    to, hudi = int(name.rsplit("_", 1)[1]), json.loads((HUDI / f"{name}.json").read_text())
    archived = [(one.requested_time, one.action) for one in table.timeline.archived]
    known = {one.requested_time for one in table.timeline}
    done = change(table, to, options=hudi.get("options"))
    table = mortice.Table(tmp_path)
    assert table.version == to
    expected = {key: value for key, value in hudi["after"].items() if key not in OF_METADATA}
    assert {key: value for key, value in table.properties.items() if key not in OF_METADATA} == expected
    partitions = table.properties.get("hoodie.table.metadata.partitions", "")
    assert set(filter(None, partitions.split(","))) == set(done.rebuilt)
    # Hudi's compaction has a time of its own.
    of_hudi = [file for file in hudi["timeline"] if file.split(".")[0].split("_")[0] in known]
    assert without(timeline_files(table), done.compactions) == of_hudi
    assert [(one.requested_time, one.action) for one in table.timeline.archived] == archived
    shown = hudi.get("columns", SHOWN)
    found = table.snapshot(columns=shown).to_arrow().select(shown).to_pylist()
    assert sorted([str(value) for value in row.values()] for row in found) == hudi["rows"]


@pytest.mark.parametrize(("version", "to"), STEPS)
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_table_is_read_and_written_as_before(version, to, table_type, tmp_path):
    table = new_table(tmp_path / "trips", version, table_type)
    table.upsert(FIRST, NO_SMALL_FILES)
    first = table.timeline[-1].requested_time
    table.upsert(CHANGED, NO_SMALL_FILES)
    table.savepoint()
    before, at_first = both(table), table.snapshot(as_of=first).to_arrow().num_rows
    kinds = [(one.requested_time, one.action) for one in table.timeline]
    planned = table.plan_upgrade(to) if to > version else table.plan_downgrade(to)
    assert table.version == version
    done = change(table, to)
    assert (done.from_version, done.to_version, done.properties) == (version, to, planned.properties)
    assert table.version == to
    assert both(table) == before
    assert set(kinds) <= {(one.requested_time, one.action) for one in table.timeline}
    assert table.snapshot(as_of=first).to_arrow().num_rows == at_first
    assert not table.verify().findings
    table.upsert(rows(("a", "x", 9, 9.0), ("z", "x", 1, 1.0)))
    assert len(both(table)) == len(before) + 1
    # There is nothing left to do.
    again = table.upgrade(to)
    assert (again.from_version, again.properties, again.compactions) == (to, [], [])


def test_archived_writes_that_replaced_file_groups_are_kept(tmp_path):
    # Of these, Hudi's history has the inflight file for a plan.
    with zipfile.ZipFile(HUDI.parent / "h12_removed_partition" / "table.zip") as archive:
        archive.extractall(tmp_path)
    table = mortice.Table(tmp_path)
    archived = [(one.requested_time, one.action) for one in table.timeline.archived]
    assert "replacecommit" in dict(archived).values()
    table.downgrade(6)
    table = mortice.Table(tmp_path)
    assert [(one.requested_time, one.action) for one in table.timeline.archived] == archived


def test_there_and_back_again(tmp_path):
    table = new_table(tmp_path / "trips", 6)
    table.upsert(FIRST)
    before = dict(table.properties)
    for to in (9, 6, 8, 6):
        change(table, to)
        table.upsert(CHANGED)
        assert len(both(table)) == 3
    after = dict(table.properties)
    for name in ("hoodie.compaction.payload.class", "hoodie.table.precombine.field", "hoodie.table.version"):
        assert after[name] == before[name]


def test_copies_without_times_of_files_keep_their_rows(tmp_path):
    table = new_table(tmp_path / "trips", 6)
    table.upsert(FIRST)
    for ts in range(2, 6):
        table.upsert(rows(("a", "x", ts, float(ts))))
        table.compact()
    before = both(table)
    for file in pathlib.Path(table.uri).rglob("*"):
        os.utime(file)
    table.upgrade(8)
    assert both(table) == before
    completed = [one.completion_time for one in table.timeline if one.is_completed]
    assert all(completed)


def test_old_readers_and_writers_go_on_or_say_why(tmp_path):
    table = new_table(tmp_path / "trips", 8)
    table.upsert(FIRST)
    reader, writer = mortice.Table(table.uri), mortice.Table(table.uri)
    table.upgrade(9)
    assert reader.snapshot().to_arrow().num_rows == 3
    writer.upsert(CHANGED)
    assert (writer.version, len(both(writer))) == (9, 3)


def test_native_logs_do_not_go_below_version_10(tmp_path):
    table = new_table(tmp_path / "trips", 10)
    table.upsert(FIRST, NO_SMALL_FILES)
    table.upsert(CHANGED, NO_SMALL_FILES)
    before = both(table)
    with pytest.raises(UnsupportedError, match="native log files"):
        table.downgrade(9)
    assert (mortice.Table(table.uri).version, both(table)) == (10, before)
    table.compact({"hoodie.compact.inline.max.delta.commits": "1"})
    table.clean({"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"})
    done = table.downgrade(9)
    assert [one[0] for one in done.properties] == ["hoodie.table.storage.layout", "hoodie.table.version"]
    assert (mortice.Table(table.uri).version, both(table)) == (9, before)


def test_a_table_is_upgraded_while_a_write_reads_its_rows(tmp_path):
    """Hudi 1.3 upgrades a table by its first write: a write that began before ends, and leaves nothing."""
    table = new_table(tmp_path / "trips", 9)
    table.upsert(FIRST, NO_SMALL_FILES)
    before, properties = both(table), tmp_path / "trips" / ".hoodie" / "hoodie.properties"

    def batches():
        lines = properties.read_text().replace("table.version=9", "table.version=10").splitlines(keepends=True)
        properties.write_text("".join(line for line in lines if "checksum" not in line))
        yield from CHANGED.to_batches()

    with pytest.raises(WriteConflictError, match=r"version 9 .* version 10"):
        table.upsert(pa.RecordBatchReader.from_batches(CHANGED.schema, batches()), NO_SMALL_FILES)
    opened = mortice.Table(table.uri, read_options=mortice.ReadOptions(use_metadata=False))
    assert (opened.version, content(opened)) == (10, before)
    table.upgrade(10)  # what Hudi does to the metadata table
    table.upsert(CHANGED, NO_SMALL_FILES)
    assert {row[0]: row[2] for row in both(table)} == {"a": 2, "b": 1, "c": 2}
    logs = {path.name.split(".", 1)[1] for path in (tmp_path / "trips").glob("?/*.log.*")}
    assert logs == {"log.parquet"}


def test_what_a_version_does_not_have(tmp_path):
    table = new_table(tmp_path / "trips", 9, ordering=["ts", "fare"])
    with pytest.raises(UnsupportedError, match="ordering"):
        table.downgrade(8)
    with pytest.raises(InvalidArgumentError, match="downgrade it"):
        table.upgrade(8)
    with pytest.raises(InvalidArgumentError, match="upgrade it"):
        new_table(tmp_path / "old", 6).downgrade(8)
    with pytest.raises(UnsupportedError, match="version 7"):
        table.downgrade(7)
    assert mortice.Table(table.uri).version == 9


def test_the_commands(tmp_path, capsys):
    table = new_table(tmp_path / "trips", 6)
    table.upsert(FIRST)
    assert main(["upgrade", table.uri, "--dry-run"]) == 0
    assert "table version 6 -> 9" in capsys.readouterr().out
    assert mortice.Table(table.uri).version == 6
    assert main(["upgrade", table.uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["to_version"] == 9
    assert main(["downgrade", table.uri, "--to", "8"]) == 0
    assert "table version 9 -> 8" in capsys.readouterr().out
    assert mortice.Table(table.uri).version == 8
    assert main(["upgrade", table.uri, "--to", "6"]) == 2
