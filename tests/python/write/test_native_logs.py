"""Native logs, which belong to table version 10, in older tables: no query or service passes over one."""

import pathlib
import shutil

import pytest

import mortice
from support.tables.written import CHANGED, FIRST, KINDS, NO_METADATA, NO_SMALL_FILES, content, new_table, rows

OPTIONS = NO_METADATA | NO_SMALL_FILES
LATER = rows(("a", "x", 3, 100.0))


@pytest.fixture(params=[kind for kind in KINDS if kind[0] < 10], ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    table = new_table(tmp_path / "trips", *request.param)
    table.insert(FIRST, OPTIONS)
    return table


def native_log(table, kind="log", suffix="parquet", instant=None):
    """Puts a copy of a base file of partition x under the name of a native log of its file group."""
    base = next(path for path in pathlib.Path(table.uri, "x").glob("*.parquet") if path.name.count(".") == 1)
    file_id, token, written = base.stem.split("_")
    log = base.with_name(f"{file_id}_{token}_{instant or written}_1.{kind}.{suffix}")
    shutil.copy(base, log)
    return log


@pytest.mark.parametrize(
    ("kind", "suffix"), [("log", "parquet"), ("deletes", "parquet"), ("log", "hfile"), ("log", "new")]
)
def test_queries_refuse_the_partition_and_read_others(table, kind, suffix):
    log = native_log(table, kind, suffix)
    opened = mortice.Table(table.uri)
    for read in (opened.snapshot, lambda: opened.snapshot(filters="city = 'x'"), opened.file_slices):
        with pytest.raises(mortice.UnsupportedError, match="version 10") as raised:
            read()
        assert log.name in str(raised.value)
    assert [row["id"] for row in opened.snapshot(filters="city = 'y'").to_arrow().to_pylist()] == ["c"]


def test_writes_and_services_refuse_it_and_leave_it(table):
    log = native_log(table)
    before = {path: path.read_bytes() for path in pathlib.Path(table.uri, "x").iterdir()}
    opened = mortice.Table(table.uri)
    changes = [
        lambda: opened.upsert(CHANGED, OPTIONS),
        lambda: opened.delete(LATER, OPTIONS),
        lambda: opened.cluster(OPTIONS),
    ]
    if table.table_type == "MERGE_ON_READ":
        changes.append(lambda: opened.compact(OPTIONS))
    for change in changes:
        with pytest.raises(mortice.UnsupportedError, match="version 10") as raised:
            change()
        assert log.name in str(raised.value)
    opened.clean(OPTIONS | {"hoodie.clean.commits.retained": "1"})
    opened.repair()
    assert {path: path.read_bytes() for path in pathlib.Path(table.uri, "x").iterdir()} == before


def test_verify_finds_it(table):
    log = native_log(table)
    unknown = native_log(table, suffix="new")
    found = mortice.Table(table.uri).verify(keys=True)
    assert [(one.kind, one.path) for one in found.findings] == [
        ("unsupported_file", f"x/{name}") for name in sorted([log.name, unknown.name])
    ]
    assert all("version 10" in one.message for one in found.findings)
    log.unlink()
    unknown.unlink()
    assert mortice.Table(table.uri).verify(keys=True).findings == []


def test_verify_finds_base_files_of_unknown_formats(table):
    base = next(pathlib.Path(table.uri, "x").glob("*.parquet"))
    shutil.copy(base, base.with_suffix(".vortex"))
    (found,) = mortice.Table(table.uri).verify().findings
    assert (found.kind, found.path) == ("unsupported_file", f"x/{base.stem}.vortex")


def test_one_that_no_write_completed_is_not_read(table):
    """As other files of writes that were rolled back."""
    log = native_log(table, instant="20991231235959999")
    opened = mortice.Table(table.uri)
    assert content(opened) == [("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0)]
    (found,) = opened.verify(contents=False).findings
    assert (found.kind, found.path) == ("orphan_file", f"x/{log.name}")
