"""Splits in other processes: each is self-contained, and many together are small."""

import json
import pickle

import pyarrow as pa
import pytest

import mortice
from mortice import Split
from mortice.reading.split import deserialize_splits, serialize_splits
from support.cases import assert_same_result, hudi_result

PARTITIONED = "h11_composite_keys_encoded_partitions"
SPLIT_BYTES = 600
"""An upper bound of the size of a split of these tables without its query."""


@pytest.fixture
def splits(table_of):
    found = mortice.Table(table_of(PARTITIONED)).snapshot().splits()
    assert len(found) > 2
    return found


def rows(splits):
    return pa.concat_tables(split.to_reader().read_all() for split in splits)


def test_one_pickle_of_many_splits_contains_their_query_once(splits):
    one = len(pickle.dumps(splits[0]))
    many = pickle.dumps(splits)
    assert len(many) < one + SPLIT_BYTES * (len(splits) - 1)
    again = pickle.loads(many)
    assert len({id(split.query) for split in again}) == 1
    assert_same_result(hudi_result(PARTITIONED), rows(again))


def test_the_splits_of_two_calls_share_their_query(table_of):
    scan = mortice.Table(table_of(PARTITIONED)).snapshot()
    whole, parts = scan.splits(), scan.splits(max_split_bytes=50_000)
    assert len({id(split.query) for split in whole + parts}) == 1


def test_a_single_split_is_self_contained(splits):
    for again in (pickle.loads(pickle.dumps(splits[1])), Split.from_bytes(splits[1].to_bytes())):
        assert again.to_reader().read_all() == splits[1].to_reader().read_all()
        assert (again.partition, again.file_id, again.size) == (splits[1].partition, splits[1].file_id, splits[1].size)
        assert again.schema == splits[1].schema


def test_serialized_splits_contain_each_query_once(splits, table_of):
    others = mortice.Table(table_of("h11_event_time_deletes")).snapshot(columns=["fare"]).splits()
    queries, rests = serialize_splits([*splits, *others, *splits])
    assert (len(queries), len(rests)) == (2, 2 * len(splits) + len(others))
    assert max(map(len, rests)) < SPLIT_BYTES + 500 < min(map(len, queries))
    # A task has some of them, in any order.
    again = list(deserialize_splits(queries, [rests[len(splits)], rests[1]]))
    assert again[0].to_reader().read_all() == others[0].to_reader().read_all()
    assert again[1].to_reader().read_all() == splits[1].to_reader().read_all()


def test_splits_without_their_queries_are_refused(splits):
    _, rests = serialize_splits(splits)
    with pytest.raises(mortice.InvalidArgumentError, match="0 queries"):
        list(deserialize_splits([], rests))
    with pytest.raises(mortice.InvalidArgumentError, match="query"):
        Split.from_bytes(splits[0].to_bytes_without_query())


def test_another_format_version_is_refused_by_number(splits):
    for data, read in (
        (splits[0].to_bytes(), Split.from_bytes),
        (splits[0].to_bytes_without_query(), splits[0].query.split),
    ):
        stored = json.loads(data)
        older = json.dumps(stored | {"form": stored["form"] - 1}).encode()
        with pytest.raises(mortice.InvalidArgumentError, match=f"format {stored['form'] - 1}.*format {stored['form']}"):
            read(older)
    with pytest.raises(mortice.InvalidArgumentError, match="not a split"):
        Split.from_bytes(b"[9, {}]")


@pytest.mark.parametrize("name", ["h12_cdc_cow_data_before", "h015_cdc_odd_op_key_only", "h12_bootstrap_cow"])
def test_splits_of_changes_and_skeletons_round_trip(table_of, name):
    table = mortice.Table(table_of(name))
    scan = table.changes("earliest") if "cdc" in name else table.snapshot()
    again = pickle.loads(pickle.dumps(scan.splits()))
    assert rows(again) == rows(scan.splits())
