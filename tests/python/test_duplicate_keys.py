"""Keys that a base file contains several times: rows merged by position or by key equal Hudi's.

The tables were written by Hudi 1.2.0: `bulk_insert`, then upserts and deletes with record positions, and a compaction
between them. `test_bundled_tables.py` queries them by position, which is the default.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import DATA, OPTIONS, assert_same_result, case, queries
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import KEY
from support.tables.table_writer import Slice, with_meta, write_table

CASES = ("h12_duplicate_keys_commit_time", "h12_duplicate_keys_event_time")


@dataclass(frozen=True)
class QueryResult:
    """A query, and Hudi's result by position or by key."""

    case: str
    id: str
    arguments: dict
    expected_file: Path
    positions: bool

    @property
    def expected(self):
        return pq.read_table(self.expected_file)

    def scan(self, path, *, memory_limit=None, batch_rows=1000, **choices):
        table = mortice.Table(
            path,
            read_options=mortice.ReadOptions(
                record_positions=self.positions, memory_limit=memory_limit, batch_rows=batch_rows, threads=1
            ),
        )
        return (table.incremental if "begin" in self.arguments else table.snapshot)(**self.arguments, **choices)

    def __str__(self):
        return f"{self.case}-{self.id}-{'position' if self.positions else 'key'}"


def by_key(name, query):
    arguments = {name: query["options"][option] for name, option in OPTIONS.items() if option in query["options"]}
    return QueryResult(name, query["id"], arguments, DATA / name / query["expected"], positions=False)


ALL = [by_key(name, query) for name in CASES for query in case(name)["queries_by_key"]]
ALL += [
    QueryResult(query.case, query.id, query.arguments, query.expected_file, positions=True)
    for query in queries()
    if query.case in CASES and query.type != "read_optimized"
]
each_query = pytest.mark.parametrize("query", ALL, ids=str)


@each_query
def test_rows_equal_hudis_result(table_of, query):
    path = table_of(query.case)
    assert_same_result(query.expected, query.scan(path).to_arrow(), ordered=False)
    assert_same_result(query.expected, query.scan(path, memory_limit=1, batch_rows=2).to_arrow(), ordered=False)
    values = query.scan(path, columns=["v"]).to_arrow()
    assert sorted(values["v"].to_pylist()) == sorted(query.expected["v"].to_pylist())


@each_query
@pytest.mark.parametrize("column", [KEY, "id", "v", "_hoodie_commit_time"])
def test_filters_do_not_change_rows(table_of, query, column):
    result = query.expected
    for value in result[column].unique().to_pylist():
        kept = query.scan(table_of(query.case), filters=[(column, "=", value)]).to_arrow()
        assert_same_result(result.filter(pc.equal(result[column], value)), kept, ordered=False)


def test_hudis_results_by_position_and_by_key_differ():
    results = {(query.case, query.id, query.positions): query.expected for query in ALL}
    differ = {name for case, name, _ in results if not results[case, name, True].equals(results[case, name, False])}
    assert {"snapshot", "as_of_01", "incr_all", "incr_after_02"} <= differ


FIELDS = (Field("id", "string"), Field("text", "string"), Field("ts", "long"))
KEYS = [f"{number:03}" for number in range(300)]


def row(key, text, commit, number):
    return with_meta({"id": key, "text": text, "ts": commit}, key, commit, number)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Each key three times, in 18 row groups. The first and third row of a key are updated, of another deleted."""
    base = tuple(row(key, f"{key}.{copy}", 1, 300 * copy + at) for copy in range(3) for at, key in enumerate(KEYS))
    updated = [number for number in range(900) if number // 300 != 1 and number % 3 == 0]
    deleted = [number for number in range(900) if number // 300 != 1 and number % 3 == 1]
    commits = (
        (DataBlock(tuple(row(base[number][KEY], f"new {number}", 2, number) for number in updated)),),
        (DeleteBlock(tuple((base[number][KEY], Value("Long", 3)) for number in deleted)),),
    )
    slice_ = Slice(base, commits, row_group_rows=50, positions=(tuple(updated), tuple(deleted)))
    merging = Merging(FIELDS, "EVENT_TIME_ORDERING", ordering=("ts",))
    strings = [f"new {number}" if number in updated else row["text"] for number, row in enumerate(base)]
    kept = [(row[KEY], strings[number]) for number, row in enumerate(base) if number not in deleted]
    return write_table(tmp_path_factory.mktemp("large"), merging, 9, slice_), sorted(kept)


def pairs(table):
    return sorted(zip(table[KEY].to_pylist(), table["text"].to_pylist(), strict=True))


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("prune", [True, False])
def test_positions_are_correct_when_row_groups_are_skipped(large, limit, prune):
    path, expected = large
    table = mortice.Table(path, read_options=mortice.ReadOptions(memory_limit=limit, prune=prune, batch_rows=70))
    scan = table.snapshot()
    assert pairs(scan.to_arrow()) == expected
    assert (scan.report()["passes"] > 1) == (limit == 1)
    for key in ("000", "001", "149", "299", "300") if limit is None else ("001",):
        scan = table.snapshot(filters=[(KEY, "=", key)])
        assert pairs(scan.to_arrow()) == [pair for pair in expected if pair[0] == key]
        # With several passes, the base file's rows are counted and none are skipped.
        pruned = 0 if not prune or limit else 18 if key == "300" else 15
        assert scan.report()["row_groups_pruned"] == pruned
        scan = table.snapshot(filters=[(KEY, ">", key), ("text", "!=", "new 297")])
        assert pairs(scan.to_arrow()) == [pair for pair in expected if pair[0] > key and pair[1] != "new 297"]


def test_parts_of_a_slice_together_have_the_same_rows(large):
    path, expected = large
    for keys in (KEYS, ["000", "004", "298"]):
        scan = mortice.Table(path).snapshot(filters=[(KEY, "in", keys)])
        parts = [split.to_reader().read_all() for split in scan.splits(1)]
        assert len(parts) > 1
        assert pairs(pa.concat_tables(parts)) == [pair for pair in expected if pair[0] in keys]
