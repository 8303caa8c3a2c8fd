"""`Table.repair(merge_buckets=True)`: buckets of which two writers have each created the file group."""

import pathlib
import shutil

import pytest

import mortice
from mortice import InvalidArgumentError, InvalidTableError
from support.tables.written import KINDS, NO_METADATA, both, content, new_table, rows

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}


def add_commit(table, other, instant):
    """Adds a commit of a copy of the table: its files, and its instant."""
    for path in pathlib.Path(other.uri).rglob(f"*{instant}*"):
        target = pathlib.Path(table.uri) / path.relative_to(other.uri)
        if path.is_file() and ".temp" not in path.parts:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def with_shared_bucket(path, version, table_type, **arguments):
    """A table whose only bucket of partition `x` has two file groups; key `a` is in both."""
    table = new_table(path / "table", version, table_type, **arguments)
    options = BUCKETS | NO_METADATA
    table.upsert(rows(("c", "y", 1, 3.0)), options)
    shutil.copytree(path / "table", path / "other")
    other = mortice.Table(path / "other")
    first = table.upsert(rows(("a", "x", 3, 1.0), ("b", "x", 1, 2.0)), options)
    second = other.upsert(rows(("a", "x", 2, 10.0), ("d", "x", 1, 4.0)), options)
    add_commit(table, other, second.instant)
    table.refresh()
    return table, first.instant, second.instant


def kinds(findings):
    return [one.kind for one in findings]


def groups(table, partition):
    return [one.file_id for one in table.file_slices() if one.partition == partition]


@pytest.mark.parametrize(("version", "table_type"), KINDS)
@pytest.mark.parametrize("options", [NO_METADATA, {}], ids=["listing", "metadata"])
def test_file_groups_of_a_bucket_become_one(tmp_path, version, table_type, options):
    table, first, second = with_shared_bucket(tmp_path, version, table_type)
    assert len(groups(table, "x")) == 2
    with pytest.raises(InvalidTableError, match="bucket 0"):
        table.upsert(rows(("a", "x", 9, 9.0)), BUCKETS | options)
    assert table.repair(options).merged is None
    planned = table.plan_repair(options, merge_buckets=True)
    assert (kinds(planned.repaired), planned.left, planned.merged) == (["duplicate_bucket"], [], None)
    assert kinds(table.plan_repair(options).left) == ["duplicate_bucket"]
    assert len(groups(table, "x")) == 2
    done = table.repair(options, merge_buckets=True)
    assert (done.repaired, done.left) == (planned.repaired, planned.left)
    merged = done.merged
    assert merged.operation == "INSERT_OVERWRITE"
    assert len(groups(table, "x")) == 1
    assert groups(table, "x")[0].startswith("00000000-")
    expected = [("a", "x", 3, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0), ("d", "x", 1, 4.0)]
    assert both(table) == expected
    times = dict(content(table, "id", "_hoodie_commit_time"))
    assert (times["a"], times["b"], times["d"]) == (first, first, second)
    assert table.verify(keys=True).findings == []
    assert table.repair(options, merge_buckets=True).merged is None
    table.upsert(rows(("a", "x", 9, 9.0)), BUCKETS | options)
    assert both(table) == [("a", "x", 9, 9.0), *expected[1:]]


def test_the_later_commit_wins_without_ordering_values(tmp_path):
    table, _, second = with_shared_bucket(tmp_path, 9, "MERGE_ON_READ", ordering=None)
    table.repair(NO_METADATA, merge_buckets=True)
    assert ("a", "x", 2, 10.0) in content(table)
    assert dict(content(table, "id", "_hoodie_commit_time"))["a"] == second


def test_incremental_queries_do_not_return_merged_rows_again(tmp_path):
    table, *_ = with_shared_bucket(tmp_path, 9, "MERGE_ON_READ")
    before = table.timeline[-1].completion_time
    table.repair(NO_METADATA, merge_buckets=True)
    assert table.incremental(before).to_arrow().num_rows == 0


def test_a_table_without_buckets_is_refused(tmp_path):
    table = new_table(tmp_path / "trips")
    # A random id may begin with eight decimal digits, as that of a bucket does: hardly those of all four.
    given = [("a", part, 1, 1.0) for part in "wxyz"]
    table.upsert(rows(*given), NO_METADATA)
    with pytest.raises(InvalidArgumentError, match="no bucket"):
        table.repair(merge_buckets=True)
    assert content(table) == given
