"""Warnings name the line that called mortice, however deep in it they are raised."""

import warnings

import pyarrow as pa
import pytest

import mortice

NO_EFFECT = {"hoodie.metadata.metrics.enable": True}


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.upsert([{"id": "b", "n": 2, "city": "oslo"}], NO_EFFECT),
        lambda table: table.delete_partitions(["x"]),
        lambda table: table.merge_into([{"id": "b", "n": 2, "city": "oslo"}], options=NO_EFFECT),
        lambda table: table.update_where({"n": 3}, "id = 'a'", NO_EFFECT),
        lambda table: table.delete_where("id = 'a'", NO_EFFECT),
        lambda table: table.count(as_of="2001-01-01"),
    ],
)
def test_a_warning_names_the_line_of_the_caller(tmp_path, call):
    schema = pa.schema([("id", pa.string()), ("n", pa.int64()), ("city", pa.string())])
    table = mortice.create_table(tmp_path / "table", schema, record_key="id", partition_by="city")
    table.upsert([{"id": "a", "n": 1, "city": "oslo"}])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(table)
    assert caught
    assert {one.filename for one in caught} == {__file__}
