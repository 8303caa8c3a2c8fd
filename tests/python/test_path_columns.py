"""Partition columns whose values come from the paths of partitions, as with Hudi on Spark.

Hudi 1.2's own answers to these tables are compared in test_answers.
"""

import pyarrow.parquet as pq
import pytest

import mortice
from cases import DATA, answer, assert_same_answer, case

MOVED, VALUES, COPY_ON_WRITE = "h12_moved_partitions", "h12_partition_values", "h015_cow_partitioned"


def place(row):
    return f"{row['p']}/{row['n']}"


def test_a_record_that_was_left_in_its_first_partition_has_the_values_of_that(table_of):
    """A global index keeps it there (`hoodie.record.index.update.partition.path=false`)."""
    snapshot = mortice.Table(table_of(MOVED)).snapshot()
    assert all(place(row) == row["_hoodie_partition_path"] for row in snapshot.to_arrow().to_pylist())


@pytest.mark.parametrize("partition", ["p0", "p1", "p2"])
def test_a_filter_is_on_the_values_that_are_delivered(table_of, partition):
    table = mortice.Table(table_of(MOVED))
    expected = [row for row in answer(MOVED).to_pylist() if row["p"] == partition]
    found = table.snapshot(filters=[("p", "==", partition)]).to_arrow().to_pylist()
    key = "_hoodie_record_key"
    assert sorted(found, key=lambda row: row[key]) == sorted(expected, key=lambda row: row[key])


@pytest.mark.parametrize("value", ["", "a%41b", "aAb", "oslo", "%", "__HIVE_DEFAULT_PARTITION__"])
def test_a_filter_on_a_value_that_the_path_tells_otherwise(table_of, value):
    expected = [row["id"] for row in answer(VALUES).to_pylist() if row["p"] == value]
    found = mortice.Table(table_of(VALUES)).snapshot(["id"], filters=[("p", "==", value)]).to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(expected)


def test_null_is_what_the_path_says_of_an_empty_value(table_of):
    expected = [row["id"] for row in answer(VALUES).to_pylist() if row["p"] is None]
    found = mortice.Table(table_of(VALUES)).snapshot(["id"], filters=[("p", "is null")]).to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(expected)


@pytest.mark.parametrize("query", ["snapshot", "read_optimized", "as_of_00"])
def test_copy_on_write_in_0_x(table_of, query):
    """Its partition columns come last. Logs, where there are any, are merged with what rows hold."""
    table = mortice.Table(table_of(COPY_ON_WRITE), semantics="0.x")
    asked = next(one for one in case(COPY_ON_WRITE)["queries"] if one["id"] == query)
    scan = {
        "snapshot": table.snapshot,
        "read_optimized": table.read_optimized,
        "time_travel": lambda: table.snapshot(as_of=asked["options"]["as.of.instant"]),
    }[asked["type"]]()
    expected = pq.read_table(DATA / COPY_ON_WRITE / f"{query}_by_0_15.parquet")
    assert_same_answer(expected, scan.to_arrow())
    assert scan.schema.names[-1] == "p"
