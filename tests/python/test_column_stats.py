"""Column statistics and the record index skip file slices, never rows: real tables, random filters."""

import datetime as dt
import functools
import math
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.cases import assert_same_result, hudi_result, multiset, unpack
from support.exploring import explore

# The statistics of the first table are wrong on purpose: see the tests of statistics that are not used.
TABLES = ("h12_column_stats", "h11_record_index_move", "h015_mdt_hfile")
WRONG = TABLES[0]
INDEXED = [name for name in TABLES if name != WRONG]


@functools.cache
def paths():
    folder = Path(tempfile.mkdtemp(prefix="column_stats"))
    return {name: unpack(name, folder / name) for name in TABLES}


@pytest.fixture(scope="module", autouse=True)
def extracted_tables():
    yield
    for path in paths().values():
        shutil.rmtree(path.parent, ignore_errors=True)
    paths.cache_clear()


@functools.cache
def with_statistics(name):
    return mortice.Table(paths()[name])


@functools.cache
def without(name):
    return mortice.Table(paths()[name], read_options=mortice.ReadOptions(use_column_stats=False, prune=False))


@functools.cache
def values(name):
    """Returns, by column, all values of its rows, and values close to them."""
    rows = without(name).snapshot(merge=False).to_arrow()
    kinds = {field.name: field.type for field in rows.schema if not pa.types.is_nested(field.type)}
    found = {column: [value for value in rows[column].unique().to_pylist() if value is not None] for column in kinds}
    return {column: [*some, *map(neighbours, some[:5])] for column, some in found.items() if some}


def neighbours(value):
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value - 1
    if isinstance(value, str):
        return value[:40] + "~"
    if isinstance(value, dt.datetime):
        return value + dt.timedelta(microseconds=1)
    return value


def terms(name):
    def of(column):
        literals = st.sampled_from(values(name)[column])
        return st.one_of(
            st.tuples(st.just(column), st.sampled_from(("=", "=", "!=", "<", "<=", ">", ">=")), literals),
            st.tuples(st.just(column), st.sampled_from(("in", "not in")), st.lists(literals, max_size=3)),
            st.tuples(st.just(column), st.sampled_from(("is null", "is not null"))),
        )

    return st.sampled_from(sorted(values(name))).flatmap(of)


def skipped_by_statistics(scan):
    return next((line.split(maxsplit=2)[2] for line in scan.explain().splitlines() if "column stats" in line), None)


@pytest.mark.property
@pytest.mark.parametrize("name", TABLES)
def test_rows_do_not_depend_on_column_statistics(name):
    left_out = []

    @explore(10, cases=len(TABLES))
    @given(data=st.data())
    def check(data):
        filters = data.draw(st.lists(st.lists(terms(name), min_size=1, max_size=2), min_size=1, max_size=2))
        for ask in (
            lambda table: table.snapshot(filters=filters),
            lambda table: table.snapshot(filters=filters, merge=False),
            lambda table: table.read_optimized(filters=filters),
        ):
            scan = ask(with_statistics(name))
            assert multiset(scan.to_arrow().to_pylist()) == multiset(ask(without(name)).to_arrow().to_pylist()), filters
            left_out.append(scan.report()["slices_pruned"])

    check()
    # Random filters may all keep every slice; values beyond all that are stored exclude some.
    for column in values(name):
        least = pc.min(without(name).snapshot(columns=[column], merge=False).to_arrow()[column]).as_py()
        scan = with_statistics(name).snapshot(filters=[(column, "<", least)])
        assert scan.to_arrow().num_rows == 0
        left_out.append(scan.report()["slices_pruned"])
    assert max(left_out) > 0


def key_terms(name):
    keys = st.sampled_from(values(name)["_hoodie_record_key"])
    wanted = st.one_of(st.tuples(st.just("="), keys), st.tuples(st.just("in"), st.lists(keys, max_size=4)))
    return wanted.map(lambda test: ("_hoodie_record_key", *test))


@pytest.mark.property
@pytest.mark.parametrize("name", INDEXED)
def test_rows_do_not_depend_on_the_record_index(name):
    indexed = mortice.Table(
        paths()[name], read_options=mortice.ReadOptions(use_record_index=True, use_column_stats=False)
    )
    fewer = []

    @explore(10, cases=len(INDEXED))
    @given(data=st.data())
    def check(data):
        some = st.tuples(key_terms(name), terms(name)).map(list) | key_terms(name).map(lambda term: [term])
        filters = data.draw(st.lists(some | some | terms(name).map(lambda term: [term]), min_size=1, max_size=2))
        instants = sorted(without(name).snapshot().to_arrow()["_hoodie_commit_time"].unique().to_pylist())
        for ask in (
            lambda table: table.snapshot(filters=filters),
            lambda table: table.snapshot(filters=filters, merge=False),
            lambda table: table.snapshot(filters=filters, emit_deletes=True),
            lambda table: table.snapshot(filters=filters, as_of=instants[0]),
            lambda table: table.read_optimized(filters=filters),
            lambda table: table.incremental("earliest", filters=filters),
        ):
            scan, every = ask(indexed), ask(without(name))
            assert multiset(scan.to_arrow().to_pylist()) == multiset(every.to_arrow().to_pylist()), filters
            fewer.append(len(scan.splits()) < len(every.splits()))

    check()
    assert any(fewer)


def test_explain_reports_skipped_slices():
    everything = len(with_statistics(WRONG).snapshot().splits())
    scan = with_statistics(WRONG).snapshot(filters=[("l", "<", 0)])
    assert len(scan.splits()) == 0
    assert "partitions left out" in scan.explain()
    some = with_statistics(WRONG).snapshot(filters=[("n", "=", 3)])
    assert skipped_by_statistics(some) is not None or "partition stats" in some.explain()
    assert scan.to_arrow().num_rows == 0
    for table in (
        mortice.Table(paths()[WRONG], read_options=mortice.ReadOptions(use_column_stats=False)),
        mortice.Table(paths()[WRONG], read_options=mortice.ReadOptions(prune=False)),
    ):
        other = table.snapshot(filters=[("l", "<", 0)])
        assert (len(other.splits()), skipped_by_statistics(other)) == (everything, None)
    assert skipped_by_statistics(with_statistics(WRONG).snapshot(filters=[("d", "=", 1.5)])) is None
    assert skipped_by_statistics(with_statistics(WRONG).snapshot(filters=[("l", "<", 0)], emit_deletes=True)) is None


@pytest.mark.parametrize(
    ("column", "why"), [("large", "Hudi notes that all of its long strings are null"), ("d", "0 and 0 after a NaN")]
)
def test_unreliable_statistics_are_not_used(column, why):
    rows = hudi_result(WRONG)
    for value in rows[column].unique().to_pylist():
        found = with_statistics(WRONG).snapshot(filters=[(column, "=", value)]).to_arrow()
        is_nan = isinstance(value, float) and math.isnan(value)
        same = pc.is_nan(rows[column]) if is_nan else pc.equal(rows[column], value)
        assert_same_result(rows.filter(same), found), why


def test_unreadable_statistics_skip_nothing(tmp_path):
    path = unpack(WRONG, tmp_path / "table")
    for index in ("column_stats", "partition_stats"):
        for file in (path / ".hoodie" / "metadata" / index).iterdir():
            if file.is_file() and file.stat().st_size > 100:
                file.write_bytes(file.read_bytes()[:-60])
    with pytest.warns(UserWarning, match="does not use the (partition|column) stats"):
        scan = mortice.Table(path).snapshot(filters=[("n", "=", 3)])
    assert skipped_by_statistics(scan).startswith("not used: ")
    rows = hudi_result(WRONG)
    assert_same_result(rows.filter(pc.equal(rows["n"], 3)), scan.to_arrow())
