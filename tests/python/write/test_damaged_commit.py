"""Rollbacks and restores beside a damaged commit: they refuse what would leave a table that cannot be read."""

import pathlib

import pytest

import mortice
from mortice import MorticeError
from support.tables.written import FIRST, KINDS, NO_SMALL_FILES, both, new_table, rows

DAMAGE = {
    "cut": lambda content: content[: len(content) // 2],
    "appended": lambda content: content + bytes(range(128, 256)),
    "not_text": lambda content: content[:40] + b"\xff\xfe\xff" + content[43:],
}


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    table = new_table(tmp_path / "trips", version, table_type)
    table.upsert(FIRST, NO_SMALL_FILES)
    for ts in (2, 3, 4):
        table.upsert(rows(("a", "x", ts, 10.0 * ts)), NO_SMALL_FILES)
    return mortice.Table(table.uri)


def read(table):
    return both(mortice.Table(table.uri))


def completed(table, instant):
    suffixes = (".commit", ".deltacommit")
    found = pathlib.Path(table.uri, ".hoodie").rglob(f"{instant}*")
    (path,) = (path for path in found if path.suffix in suffixes and "metadata" not in path.parts)
    return path


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("operation", ["rollback", "restore"])
def test_what_would_be_the_newest_commit_is_read_before(table, operation, damage):
    instants = [one.requested_time for one in table.timeline.completed.active]
    newest_after, target = (instants[-2], instants[-1]) if operation == "rollback" else (instants[1], instants[1])
    if operation == "restore":
        table.savepoint(target)
    before = read(table)
    file = completed(table, newest_after)
    content = file.read_bytes()
    file.write_bytes(DAMAGE[damage](content))
    assert read(table) == before
    files = {path: path.read_bytes() for path in pathlib.Path(table.uri).rglob("*") if path.is_file()}
    for call in (operation, f"plan_{operation}"):
        with pytest.raises(MorticeError, match=r"MORTICE-(CORRUPT-LOG|INVALID-TABLE)"):
            getattr(mortice.Table(table.uri), call)(target)
    assert files == {path: path.read_bytes() for path in pathlib.Path(table.uri).rglob("*") if path.is_file()}
    file.write_bytes(content)
    getattr(mortice.Table(table.uri), operation)(target)
    assert ("a", "x", 3 if operation == "rollback" else 2, 30.0 if operation == "rollback" else 20.0) in read(table)


@pytest.mark.parametrize("undone", [1, 2], ids=["newest", "older"])
def test_lists_of_markers_are_read_before(table, undone):
    instants = [one.requested_time for one in table.timeline.completed.active]
    table.savepoint(instants[1])
    before = read(table)
    folder = pathlib.Path(table.uri, ".hoodie/.temp", instants[-undone])
    folder.mkdir(parents=True)
    (folder / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
    (folder / "MARKERS0").write_bytes(b"x/\xff\xfe.marker.CREATE\n")
    with pytest.raises(MorticeError, match="list of markers"):
        table.restore(instants[1])
    assert read(table) == before
    assert not [one for one in table.timeline if one.state != "COMPLETED"]
