"""Arrow data whose strings are not UTF-8, or whose keys are not in their dictionary: a table never gets it."""

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError

NOT_TEXT = pa.array([b"\xffk"]).view(pa.string())
UNKNOWN_KEY = pa.DictionaryArray.from_arrays(pa.array([5], pa.int8()), pa.array(["x"]), safe=False)
WRITES = ("upsert", "bulk_insert", "delete")


def table_of(path, kind):
    columns = pa.schema([("id", pa.string()), ("v", kind)])
    table = mortice.create_table(path / "t", columns, name="t", record_key="id")
    return table.insert(pa.table({"id": ["a"], "v": pa.array([None], kind)})) and table


def in_struct(values, mask=None):
    return pa.StructArray.from_arrays([values], ["f"], mask=mask)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    "values",
    [
        NOT_TEXT,
        pa.array([b"\xed\xa0\x80"]).cast(pa.large_string(), safe=False),
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), NOT_TEXT),
        UNKNOWN_KEY,
        pa.DictionaryArray.from_arrays(pa.array([-1], pa.int64()), pa.array(["x"]), safe=False),
    ],
)
def test_such_values_are_refused_by_name(tmp_path, write, values):
    table = table_of(tmp_path, pa.string())
    with pytest.raises(InvalidArgumentError, match=r'column "v": .*value 0 .*(UTF-8|dictionary)'):
        getattr(table, write)(pa.table({"id": ["a"], "v": values}))
    assert mortice.Table(table.uri).to_arrow().to_pylist() == [{"id": "a", "v": None}]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.struct([("f", pa.string())]), in_struct(NOT_TEXT)),
        (pa.list_(pa.string()), pa.ListArray.from_arrays([0, 1], NOT_TEXT)),
        (pa.map_(pa.string(), pa.string()), pa.MapArray.from_arrays([0, 1], ["k"], NOT_TEXT)),
        (pa.list_(pa.struct([("f", pa.string())])), pa.ListArray.from_arrays([0, 1], in_struct(UNKNOWN_KEY))),
    ],
)
def test_they_are_found_at_any_depth(tmp_path, kind, values):
    table = table_of(tmp_path, kind)
    with pytest.raises(InvalidArgumentError, match=r'column "v\..*value 0'):
        table.upsert(pa.table({"id": ["b"], "v": values}))
    assert mortice.Table(table.uri).count() == 1


def test_keys_are_values_too(tmp_path):
    table = table_of(tmp_path, pa.string())
    with pytest.raises(InvalidArgumentError, match='column "id": value 0 is not UTF-8'):
        table.upsert(pa.table({"id": NOT_TEXT, "v": ["x"]}))


@pytest.mark.parametrize("values", [NOT_TEXT, UNKNOWN_KEY])
def test_what_no_row_shows_may_be_anything(tmp_path, values):
    kind = pa.struct([("f", pa.string())])
    table = table_of(tmp_path, kind)
    table.upsert(pa.table({"id": ["b"], "v": in_struct(values, mask=pa.array([True]))}))
    table.upsert(
        pa.table({"id": ["c"], "v": pa.array([None], pa.struct([("f", pa.dictionary(pa.int8(), pa.string()))]))})
    )
    assert mortice.Table(table.uri).to_arrow()["v"].to_pylist() == [None] * 3


def test_a_slice_has_only_its_own_values(tmp_path):
    values = pa.array([b"\xff", "ß".encode(), b"x"]).view(pa.string())
    lists = pa.ListArray.from_arrays([0, 1, 3], values)
    table = table_of(tmp_path, pa.list_(pa.string()))
    table.upsert(pa.table({"id": ["b", "c"], "v": lists}).slice(1))
    assert mortice.Table(table.uri).to_arrow()["v"].to_pylist() == [None, ["ß", "x"]]
    with pytest.raises(InvalidArgumentError, match="not UTF-8"):
        table.upsert(pa.table({"id": ["b", "c"], "v": lists}))


def test_characters_are_not_cut_in_two(tmp_path):
    values = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer("ß".encode()))
    table = table_of(tmp_path, pa.string())
    with pytest.raises(InvalidArgumentError, match='column "v": value 0 is not UTF-8'):
        table.upsert(pa.table({"id": ["b", "c"], "v": values}))


def test_log_files_are_alike(tmp_path):
    writer = mortice.LogWriter(tmp_path, "f", "20260101000000000")
    with writer, pytest.raises(InvalidArgumentError, match="not UTF-8"):
        writer.write_records(pa.record_batch({"v": NOT_TEXT}), table_name="t")
