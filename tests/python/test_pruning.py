"""Filters return the same rows with and without pruning: random tables, random filters."""

import functools
import math
import tempfile
from dataclasses import replace
from datetime import date
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.cases import multiset
from support.exploring import explore
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import EVENT_TIME, KEY
from support.tables.histories import KEYS, ORDERING_VALUES, SCENARIOS, UNSUPPORTED, column_values, histories
from support.tables.table_writer import (
    MICROSECONDS,
    Partitioning,
    Slice,
    Times,
    with_meta,
    write_partitions,
    write_table,
)

READ = [one for one in SCENARIOS if one.name not in UNSUPPORTED]
FILTERS_OF_A_TABLE = 6


def compared(one, other):
    """Compares as Spark does: NaN is equal to itself and greatest, and 0.0 equals -0.0."""
    nan = [isinstance(value, float) and math.isnan(value) for value in (one, other)]
    if any(nan):
        return nan[0] - nan[1]
    return (one > other) - (one < other)


OPERATORS = {
    "=": lambda value, literal: compared(value, literal) == 0,
    "!=": lambda value, literal: compared(value, literal) != 0,
    "<": lambda value, literal: compared(value, literal) < 0,
    "<=": lambda value, literal: compared(value, literal) <= 0,
    ">": lambda value, literal: compared(value, literal) > 0,
    ">=": lambda value, literal: compared(value, literal) >= 0,
    "in": lambda value, literals: any(compared(value, one) == 0 for one in literals),
    "not in": lambda value, literals: all(compared(value, one) != 0 for one in literals),
}


def passes(row, filters):
    return any(all(term_passes(row[column], *test) for column, *test in terms) for terms in filters)


def term_passes(value, operator, literal=None):
    if operator in {"is null", "is not null"}:
        return (value is None) == (operator == "is null")
    return value is not None and OPERATORS[operator](value, literal)


def terms(column, values):
    """Draws any comparison of a column with any of these values."""
    literals = st.sampled_from(values)
    return st.one_of(
        st.tuples(st.just(column), st.sampled_from(("=", "=", "!=", "<", "<=", ">", ">=")), literals),
        st.tuples(st.just(column), st.sampled_from(("in", "not in")), st.lists(literals, max_size=3)),
        st.tuples(st.just(column), st.sampled_from(("is null", "is not null"))),
    )


def filters_on(columns, favoured):
    """Draws filters on columns with such values; half of all terms are on the favoured ones."""
    of = lambda names: st.sampled_from(tuple(names)).flatmap(lambda column: terms(column, columns[column]))  # noqa: E731
    lists = st.lists(st.one_of(of(favoured), of(columns)), min_size=1, max_size=2)
    return st.one_of(st.tuples(lists), st.tuples(lists), st.tuples(lists, lists)).map(list)


def assert_pruning_keeps_rows(path, filters, **query):
    """Returns what was skipped."""
    plain, pruning = (
        mortice.Table(path, read_options=mortice.ReadOptions(threads=1, prune=prune, **query.get("table", {})))
        for prune in (False, True)
    )
    query_four_row_groups = functools.partial(pruning.snapshot, merge=query.get("merge", True))
    scan = query_four_row_groups(filters=filters)
    rows = multiset(scan.to_arrow().to_pylist())
    assert rows == multiset(row for row in query_four_row_groups().to_arrow().to_pylist() if passes(row, filters))
    assert rows == multiset(plain.snapshot(filters=filters, merge=query.get("merge", True)).to_arrow().to_pylist())
    assert query_four_row_groups(filters=filters).count() == rows.total()
    return scan


def columns_of(merging, scenario):
    """Returns the columns of a table, and values to compare them with: those of rows, and neighbours."""
    columns = {KEY: KEYS, "id": KEYS, "_hoodie_partition_path": ("", "x"), "_hoodie_commit_time": ("2026", "2027")}
    for field in merging.fields:
        values = ORDERING_VALUES.get(field.kind) if field.name in merging.ordering else None
        values = values or [value for value in column_values(field, merging, scenario) if value is not None]
        if values:
            columns[field.name] = tuple(values)
    return columns


@pytest.fixture(scope="module")
def pruned_share():
    """Collects, by test and case, whether each read skipped something. The share is checked over all cases of a
    test."""
    notes = {}
    yield lambda test, case: notes.setdefault(test, {}).setdefault(case, [])
    for cases, least, name in ((READ, 1 / 30, "row groups"), (BY, 1 / 100, "partitions")):
        pruned = list(chain.from_iterable(notes.get(name, {}).values()))
        # A few cases that run alone may happen to prune nothing.
        if len(notes.get(name, ())) == len(cases):
            assert sum(pruned) > len(pruned) * least, f"a test of pruning {name} that prunes almost nothing"


@pytest.mark.property
@pytest.mark.parametrize("scenario", READ, ids=str)
def test_row_groups(scenario, pruned_share):
    pruned = pruned_share("row groups", scenario.name)

    @explore(5, cases=len(READ))
    @given(data=st.data())
    def run(data):
        history = data.draw(histories(scenario))
        base = history.slice.base
        if base is not None and data.draw(st.booleans()):
            base = tuple(sorted(base, key=lambda row: row[KEY]))
        slice_ = replace(history.slice, base=base, row_group_rows=data.draw(st.integers(1, 3)))
        filters = filters_on(columns_of(history.merging, scenario), (KEY, "id"))
        with tempfile.TemporaryDirectory() as folder:
            path = write_table(Path(folder), history.merging, history.version, slice_)
            for _ in range(FILTERS_OF_A_TABLE):
                scan = assert_pruning_keeps_rows(
                    path, data.draw(filters), table={"semantics": scenario.semantics}, merge=not scenario.skip_merge
                )
                pruned.append(scan.report()["row_groups_pruned"] > 0)

    run()


FIELDS = (Field("id", "string"), Field("x", "long"), Field("ts", "long"))


def base_of(*rows):
    return tuple(with_meta({"id": key, "x": x, "ts": ts}, key, 0, n) for n, (key, x, ts) in enumerate(rows))


def log_of(*rows, number=1):
    return DataBlock(
        tuple(with_meta({"id": key, "x": x, "ts": ts}, key, number, n) for n, (key, x, ts) in enumerate(rows))
    )


def query_four_row_groups(folder, filters, *commits, merge=True):
    """Four row groups of one row each: a, b, c, d with x of 1 to 4."""
    rows = [(key, x, 10) for x, key in enumerate("abcd", start=1)]
    merging = Merging(FIELDS, EVENT_TIME, ("ts",))
    path = write_table(folder, merging, 9, Slice(base_of(*rows), commits, row_group_rows=1))
    scan = assert_pruning_keeps_rows(path, [filters], merge=merge)
    return {row["id"]: row["x"] for row in scan.to_arrow().to_pylist()}, scan.report()["row_groups_pruned"]


def test_without_a_log_every_term_prunes(tmp_path):
    assert query_four_row_groups(tmp_path, [("x", ">", 3)]) == ({"d": 4}, 3)


@pytest.mark.parametrize("column", [KEY, "id"])
def test_with_a_log_the_key_prunes(tmp_path, column):
    updated = log_of(("a", 7, 20), ("d", 8, 20), ("e", 9, 20))
    assert query_four_row_groups(tmp_path, [(column, ">=", "c"), ("x", ">", 3)], (updated,)) == ({"d": 8, "e": 9}, 2)


def test_with_a_log_other_columns_do_not_prune(tmp_path):
    late = log_of(("a", 7, 5))  # the base row wins, but only if it is read
    assert query_four_row_groups(tmp_path, [("x", ">", 3)], (late,)) == ({"d": 4}, 0)
    deleted = DeleteBlock((("d", Value("Long", 20)),))
    assert query_four_row_groups(tmp_path / "deleted", [("x", ">", 3)], (deleted,)) == ({}, 0)


def test_with_a_log_null_values_do_not_prune(tmp_path):
    """Without its base row, a partial record has null in missing columns."""
    partial = DataBlock((with_meta({"x": 7, "ts": 20}, "a", 1, 0),), partial=True)
    assert query_four_row_groups(tmp_path, [("id", "is null")], (partial,)) == ({}, 0)


def test_unmerged_rows_are_pruned_by_every_term(tmp_path):
    late = log_of(("a", 7, 5))
    assert query_four_row_groups(tmp_path, [("x", ">", 3)], (late,), merge=False) == ({"a": 7, "d": 4}, 3)


def test_with_a_log_without_valid_records_every_term_prunes(tmp_path):
    late = log_of(("a", 7, 5))
    assert query_four_row_groups(tmp_path, [("x", ">", 3), (KEY, "=", "d")], (late,)) == ({"d": 4}, 3)


CITIES = (None, "", "oslo", "Oslo", "a b", "ä", "x/y", "x", "x=1", "50%", "%41", "city=oslo", "default", "10", "9")
NUMBERS = (None, 0, 7, -8, 10)
DAYS = tuple(date.fromisoformat(day) for day in ("2023-12-31", "2024-01-01", "1969-12-31", "1850-02-03"))
COUNTS = (None, 0, -1, 1, 86_399, 86_400, 1_704_067_199, 1_704_067_200, 1_704_067_199_999, 1_704_067_200_000)
COLUMNS = {"id": "string", "city": "string", "n": "int", "day": "date", "count": "long", "x": "long", "ts": "long"}
PARTITIONED = Merging(tuple(Field(*column) for column in COLUMNS.items()), EVENT_TIME, ("ts",))
BY = {
    "SIMPLE": (("city",), ("n",), ("day",)),
    "COMPLEX": (("city", "n"), ("n", "city"), ("city",), ("day", "n")),
    "TIMESTAMP": (("count",),),
    "CUSTOM": (("city",), ("n:SIMPLE", "count:TIMESTAMP"), ("count:TIMESTAMP", "city:SIMPLE"), ("day:SIMPLE",)),
}
PATTERNS = ("%Y/%m/%d", "%Y-%m-%d %H", "%Y%m", "%H:%M", "y%Y")
TIMES = st.builds(Times, st.sampled_from(tuple(MICROSECONDS)), st.sampled_from(PATTERNS), st.integers(-11, 11))


@st.composite
def partitionings(draw, generator):
    fields = draw(st.sampled_from(BY[generator]))
    some = Partitioning(fields, generator, draw(st.booleans()), draw(st.booleans()), draw(TIMES))
    days = fields in {("day",), ("city",)}
    return replace(some, times=some.times if some.timed else None, slashed_days=days and draw(st.booleans()))


@st.composite
def partitions(draw, partitioning):
    """Draws slices by path. Keys may occur several times in a slice; values with the same path are in the same
    slice."""
    counts = [count for count in COUNTS if partitioning.times is None or is_valid_time(partitioning.times, count)]
    days = st.sampled_from((None, *DAYS))
    drawn = (st.sampled_from(KEYS), st.sampled_from(CITIES), st.sampled_from(NUMBERS), days, st.sampled_from(counts))
    found = {}
    for n, row in enumerate(draw(st.lists(st.tuples(*drawn, st.integers(0, 5)), min_size=1, max_size=20))):
        key = row[0]
        values = dict(zip(COLUMNS, row, strict=False)) | {"ts": draw(st.integers(0, 2))}
        path = partitioning.path([values[name] for name in partitioning.fields])
        commit = draw(st.integers(0, 2))
        found.setdefault(path.strip("/"), ([], [], []))[commit].append(
            with_meta(values, key, commit, n, path.strip("/"))
        )
    return {path: slice_of(commits) for path, commits in found.items()}


def is_valid_time(times, count):
    """Whether Python can represent the time."""
    try:
        return bool(times.text(count))
    except OverflowError:
        return False


def slice_of(commits):
    base, *logs = (tuple(rows) for rows in commits)
    return Slice(base or None, tuple((DataBlock(rows),) if rows else () for rows in logs), row_group_rows=2)


@pytest.mark.property
@pytest.mark.parametrize("generator", BY)
def test_partitions(generator, pruned_share):
    """Also for values that are hard to parse from a path."""
    pruned = pruned_share("partitions", generator)
    columns = {KEY: KEYS, "_hoodie_partition_path": ("oslo", "city=oslo", "x/y", "n=7", "7", "Oslo/7", "")}
    columns |= {"city": (*filter(None, CITIES), "", "zz"), "n": NUMBERS[1:], "x": (1, 4), "day": DAYS}
    columns["count"] = COUNTS[1:]

    @explore(10, cases=len(BY))
    @given(data=st.data())
    def run(data):
        partitioning = data.draw(partitionings(generator))
        slices = data.draw(partitions(partitioning))
        # Hudi returns numbers that became times as strings, except with a custom key generator.
        timed = partitioning.timed if generator == "TIMESTAMP" else ()
        as_text = {name: tuple(map(str, columns[name])) for name in timed}
        filters = filters_on(columns | as_text, (*partitioning.fields, "_hoodie_partition_path"))
        with tempfile.TemporaryDirectory() as folder:
            path = write_partitions(Path(folder), PARTITIONED, data.draw(st.sampled_from((6, 9))), slices, partitioning)
            for _ in range(FILTERS_OF_A_TABLE):
                wanted = data.draw(filters)
                assert_pruning_keeps_rows(path, wanted)
                kept = {slice_.partition for slice_ in mortice.Table(path).file_slices(filters=wanted)}
                pruned.append(len(kept) < len(slices))

    run()


def test_the_plan_reports_pruned_partitions(tmp_path):
    row = {"id": "a", "n": 7, "x": 1, "ts": 1}
    slices = {city: Slice((with_meta(row | {"city": city}, "a", 0, 0, city),), ()) for city in ("lima", "oslo", "rome")}
    table = mortice.Table(write_partitions(tmp_path, PARTITIONED, 9, slices, Partitioning(("city",), "SIMPLE")))
    assert "3 (0 pruned)" in table.snapshot().explain()
    for filters in ([("city", "=", "oslo")], [("_hoodie_partition_path", "=", "oslo")], [[("city", "=", "oslo")]]):
        scan = table.snapshot(filters=filters)
        assert "1 (2 pruned)" in scan.explain()
        assert scan.to_arrow()["city"].to_pylist() == ["oslo"]
        assert scan.report()["files"] == 1
        assert [slice_.partition for slice_ in table.file_slices(filters=filters)] == ["oslo"]
    assert (
        "3 (0 pruned)"
        in mortice.Table(tmp_path, read_options=mortice.ReadOptions(prune=False))
        .snapshot(filters=[("city", "=", "oslo")])
        .explain()
    )
    assert table.file_slices(filters=[("city", ">", "z")]) == []
