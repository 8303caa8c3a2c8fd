"""Ordering fields in structs, in base files and in log blocks of either format. They are null if the struct is."""

import pytest

import mortice
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import CUSTOM, EVENT_TIME, IGNORE_DEFAULTS
from support.tables.table_writer import Slice, with_meta, write_table

FIELDS = (Field("id", "string"), Field("x", "string"), Field("y", "string"), Field("a", "struct"))
BY_NUMBER = Merging(FIELDS, EVENT_TIME, ("a.number",))
BY_BOTH = Merging(FIELDS, EVENT_TIME, ("a.text", "a.number"))
FILLING = Merging(FIELDS, EVENT_TIME, ("a.number",), partial_update=IGNORE_DEFAULTS)
PAYLOAD = Merging(FIELDS, CUSTOM, ("a.number",), "PartialUpdateAvroPayload")


def row(x, number, text="t", **more):
    return {"x": x, "y": None, "a": {"text": text, "number": number}, **more}


LATE, EARLY, NULL, NO_STRUCT = row("late", 20), row("early", 10), row("null", None), {"x": "none", "y": None, "a": None}


@pytest.mark.parametrize("blocks_in", ["avro", "parquet"])
@pytest.mark.parametrize(
    ("merging", "history", "result"),
    [
        (BY_NUMBER, [LATE, EARLY], "late"),
        (BY_NUMBER, [EARLY, LATE], "late"),
        (BY_NUMBER, [None, LATE, EARLY], "late"),
        (BY_NUMBER, [EARLY, NULL], "early"),
        (BY_NUMBER, [EARLY, NO_STRUCT], "early"),
        (BY_NUMBER, [NO_STRUCT, EARLY], "early"),
        (BY_NUMBER, [NO_STRUCT, NULL], "null"),
        (BY_NUMBER, [LATE, Value("Long", 15)], "late"),
        (BY_NUMBER, [LATE, Value("Long", 25)], None),
        (BY_BOTH, [row("late", 20, "b"), row("early", 30, "a")], "late"),
        (BY_BOTH, [row("late", 20, "b"), row("later", 30, "b")], "later"),
        (BY_BOTH, [row("late", 20, "b"), (Value("String", "b"), Value("Long", 20))], None),
        (BY_BOTH, [row("late", 20, "b"), (Value("String", "b"), Value("Long", 19))], "late"),
        (FILLING, [row("late", 20), row("early", 10, y="filled")], "late-filled"),
        (FILLING, [row("early", 10, y="filled"), row("late", 20)], "late-filled"),
        (PAYLOAD, [row("late", 20), row("early", 10, y="filled")], "late-filled"),
    ],
    ids=str,
)
def test_the_greater_ordering_value_wins(tmp_path, blocks_in, merging, history, result):
    base, *log = history
    base = base and (with_meta({"id": "k", **base}, "k", 0, 0),)
    blocks = tuple((block(entry, number),) for number, entry in enumerate(log, start=1))
    version = 8 if merging.mode == CUSTOM else 9
    path = write_table(tmp_path, merging, version, Slice(base, blocks, parquet_blocks=blocks_in == "parquet"))
    rows = mortice.Table(path).snapshot(columns=["y", "x"]).to_arrow().to_pylist()
    assert ["-".join(filter(None, (one["x"], one["y"]))) for one in rows] == ([] if result is None else [result])


def block(entry, number):
    """Returns the block of a row, or of the ordering value of a delete."""
    if isinstance(entry, dict):
        return DataBlock((with_meta({"id": "k", **entry}, "k", number, 0),))
    return DeleteBlock((("k", entry),))


def test_a_missing_field_is_refused(tmp_path):
    merging = Merging(FIELDS, EVENT_TIME, ("a.nothing",))
    rows = (with_meta({"id": "k", **LATE}, "k", 0, 0),)
    path = write_table(tmp_path, merging, 9, Slice(rows, ((block(EARLY, 1),),)))
    with pytest.raises(mortice.UnsupportedError, match=r"a\.nothing"):
        mortice.Table(path).snapshot().to_arrow()
