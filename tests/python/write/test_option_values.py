"""Every option that is followed is checked before anything of the table is changed."""

import pathlib

import pytest

import mortice
from examples import ROOT
from mortice import InvalidArgumentError, UnsupportedError
from support.tables.written import CHANGED, FIRST, new_table

VALUES = ROOT / "rust/merge/src/config/write_options/values.tsv"
BAD_WORDS = {"class": "org.example.Other", "classes": "UnBoundedCompactionStrategy,org.example.Other", "pattern": "("}


def bad_values():
    """Values that an option cannot have, by its kind; options that take any text have none."""
    for line in VALUES.read_text(encoding="utf-8").splitlines()[1:]:
        name, kind, limits, _, _ = line.split("\t")
        if kind in {"integer", "number", "share"}:
            yield name, "abc"
            yield name, "1.5.2"
            yield name, ""
        if kind == "integer":
            least, most = limits.split("..")
            yield from [(name, "0.5"), (name, "1e3")]
            yield from [(name, str(int(least) - 1))] if least else []
            yield from [(name, str(int(most) + 1))] if most else [(name, str(2**63))]
        if kind in {"number", "share"}:
            yield from [(name, "-0.1"), (name, "nan")]
        if kind == "share":
            yield from [(name, "0"), (name, "1")]
        if kind == "boolean":
            yield from [(name, "yes"), (name, "1"), (name, "")]
        if kind in {"words", "dashed", "supported"}:
            yield name, "abc"
        if kind in BAD_WORDS:
            yield name, BAD_WORDS[kind]


BAD = list(bad_values())
CALLS = {
    "upsert": lambda table, options: table.upsert(CHANGED, options),
    "insert": lambda table, options: table.insert(CHANGED, options),
    "bulk_insert": lambda table, options: table.bulk_insert(CHANGED, options),
    "delete": lambda table, options: table.delete(CHANGED.select(["id", "city"]), options),
    "insert_overwrite": lambda table, options: table.insert_overwrite(CHANGED, options),
    "insert_overwrite_table": lambda table, options: table.insert_overwrite_table(CHANGED, options),
    "delete_partitions": lambda table, options: table.delete_partitions(["x"], options),
    "delete_where": lambda table, options: table.delete_where([("fare", ">", 1.0)], options),
    "compact": lambda table, options: table.compact(options),
    "log_compact": lambda table, options: table.log_compact(options),
    "cluster": lambda table, options: table.cluster(options),
    "clean": lambda table, options: table.clean(options),
    "archive": lambda table, options: table.archive(options),
    "rollback": lambda table, options: table.rollback(table.timeline.active[-1].requested_time, options),
    "savepoint": lambda table, options: table.savepoint(table.timeline.active[-1].requested_time, options=options),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    table = new_table(tmp_path_factory.mktemp("values") / "trips")
    table.upsert(FIRST)
    table.upsert(CHANGED)
    return mortice.Table(table.uri)


def files(table):
    return {path: path.stat().st_mtime_ns for path in pathlib.Path(table.uri).rglob("*")}


def test_values_that_an_option_cannot_have_are_refused_and_the_table_is_unchanged(table):
    for name, value in BAD:
        check_refused(table, CALLS["upsert"], name, value)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_all_operations_and_services_refuse_them(call, table):
    for name, value in dict(BAD).items():
        check_refused(table, call, name, value)


def check_refused(table, call, name, value):
    before = files(table)
    with pytest.raises((InvalidArgumentError, UnsupportedError), match=name.replace(".", r"\.")):
        call(table, {name: value})
    assert files(table) == before, (name, value)


def test_most_options_have_values_that_are_refused():
    assert len({name for name, _ in BAD}) > 110
