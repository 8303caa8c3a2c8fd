"""Ordering fields whose type was widened: values of base files and older blocks are compared in the table's type."""

import pytest

import mortice
from support.oracle import DataBlock, Field, Merging
from support.oracle.model import EVENT_TIME
from support.tables.table_writer import Slice, with_meta, write_table


def row(x, ts):
    return {"id": "k", "x": x, "ts": ts}


HISTORIES = {
    "long": [(20, 10, "narrow"), (20, 1 << 40, "wide"), (-1, 0, "wide")],
    "double": [(2.5, 1.25, "narrow"), (2.5, 1e300, "wide")],
    # As a string.
    "string": [(9, "10", "narrow"), (10, "9", "wide")],
}


@pytest.mark.parametrize("parquet", [False, True], ids=["avro", "parquet"])
@pytest.mark.parametrize("in_base", [False, True], ids=["block", "base"])
@pytest.mark.parametrize("kind", HISTORIES)
def test_narrow_and_wide_ordering_values(tmp_path, kind, in_base, parquet):
    merging = Merging((Field("id", "string"), Field("x", "string"), Field("ts", kind)), EVENT_TIME, ("ts",))
    for number, (narrow, wide, winner) in enumerate(HISTORIES[kind]):
        slice_ = history(row("narrow", narrow), row("wide", wide), in_base, parquet)
        path = write_table(tmp_path / str(number), merging, 9, slice_)
        rows = mortice.Table(path).snapshot().to_arrow().to_pylist()
        assert [one["x"] for one in rows] == [winner]


def history(narrow, wide, in_base, parquet):
    late = (DataBlock((with_meta(wide, "k", 2, 0),)),)
    if in_base:
        return Slice((with_meta(narrow, "k", 0, 0),), (late,), ("ts",), parquet)
    return Slice(None, ((DataBlock((with_meta(narrow, "k", 1, 0),), narrowed=("ts",)),), late), (), parquet)
