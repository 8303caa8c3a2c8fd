"""Rows of a write in the forms that people have them in."""

import datetime as dt
import decimal

import numpy
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import mortice

SCHEMA = pa.schema(
    [("id", pa.string()), ("n", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string()))]
)
AT = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
ROWS = [{"id": "a", "n": 1, "at": AT, "tags": ["x"]}, {"id": "b", "n": None, "at": AT, "tags": []}]


def lazy_frame(rows):
    return pytest.importorskip("polars").LazyFrame(rows)


FORMS = {
    "dicts": lambda: ROWS,
    "dicts without a key": lambda: [ROWS[0], {name: ROWS[1][name] for name in ("tags", "at", "id")}],
    "generator of dicts": lambda: (row for row in ROWS),
    "lists": lambda: {name: [row[name] for row in ROWS] for name in SCHEMA.names},
    "batches": lambda: pa.Table.from_pylist(ROWS, SCHEMA).to_batches(max_chunksize=1),
    "generator of batches": lambda: (pa.RecordBatch.from_pylist([row], SCHEMA) for row in ROWS),
    "reader": lambda: pa.Table.from_pylist(ROWS, SCHEMA).to_reader(),
    "dataset": lambda: ds.dataset(pa.Table.from_pylist(ROWS, SCHEMA)),
    "scanner": lambda: ds.dataset(pa.Table.from_pylist(ROWS, SCHEMA)).scanner(),
    "lazy frame": lambda: lazy_frame(pa.Table.from_pylist(ROWS, SCHEMA)),
}


@pytest.fixture
def table(tmp_path):
    return mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id")


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_rows(table, form):
    assert table.upsert(FORMS[form]()).inserts == 2
    assert table.to_arrow().sort_by("id").to_pylist() == ROWS


def test_what_a_column_does_not_hold_is_refused_by_row_and_column(table):
    table.upsert([])
    with pytest.raises(mortice.InvalidArgumentError, match='"n"'):
        table.upsert([ROWS[0] | {"n": "one"}])
    with pytest.raises(mortice.InvalidArgumentError, match='"n"'):
        table.upsert({name: [value] for name, value in (ROWS[0] | {"n": 2**40}).items()})
    with pytest.raises(mortice.InvalidArgumentError, match='"extra"'):
        table.upsert([ROWS[0] | {"extra": 1}])
    assert table.count() == 0


@pytest.mark.parametrize(
    "rows", ["a", 5, [5], [ROWS[0], 5], {"id": 5}, {5: ["a"]}, iter(()), None], ids=lambda rows: type(rows).__name__
)
def test_what_is_no_row_is_refused(table, rows):
    with pytest.raises(mortice.InvalidArgumentError, match="rows must be"):
        table.insert(rows)


def test_batches_of_another_schema_are_refused(table):
    other = pa.record_batch({"id": ["c"], "n": pa.array([1], pa.int64())})
    with pytest.raises(mortice.InvalidArgumentError, match="batch 1 of the rows has other columns"):
        table.upsert(one for one in [pa.RecordBatch.from_pylist(ROWS, SCHEMA), other])


def test_decimals_of_duckdb_are_doubles_where_the_table_has_them(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    table = mortice.create_table(tmp_path / "t", "id string, x double, y float, m decimal(4,2)", record_key="id")
    table.upsert(duckdb.sql("select 'a' as id, 0.1 as x, 2.5 as y, 1.25 as m"))
    table.upsert(duckdb.sql("select 'b' as id, sum(1.5) as x, 1::float as y, 2 as m"))
    with_schema = mortice.create_table(
        tmp_path / "u", "id string, x double", data=duckdb.sql("select 'a' as id, 0.1 as x"), record_key="id"
    )
    assert with_schema["x"].to_pylist() == [0.1]
    found = table.to_arrow().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("a", 0.1, 2.5, decimal.Decimal("1.25")),
        ("b", 1.5, 1.0, decimal.Decimal("2.00")),
    ]


def test_a_column_of_pandas_that_has_no_type_is_named(table):
    frame = pytest.importorskip("pandas").DataFrame({"id": ["a", "b"], "n": [1, "x"]})
    with pytest.raises(mortice.InvalidArgumentError, match=r"the rows cannot be read: .*column n"):
        table.upsert(frame)


def test_rows_that_cannot_be_read_are_named_without_a_traceback(tmp_path):
    schema = pa.schema([("id", pa.string()), ("n", pa.int32())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    path = tmp_path / "rows.csv"
    path.write_text("id,n\na,1\nb,zwei\n", encoding="utf-8")
    data = ds.dataset(path, schema=schema, format="csv")
    with pytest.raises(mortice.InvalidArgumentError, match="invalid value 'zwei'") as raised:
        table.upsert(data)
    assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize("partition_by", [[], ["n"]], ids=str)
def test_keys_are_deleted_by_their_values(tmp_path, partition_by):
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", partition_by=partition_by)
    table.upsert([*ROWS, {"id": "c", "n": 3}])
    assert table.delete(["a", "c", "unknown"]).deletes == 2
    assert table.to_arrow(columns="id")["id"].to_pylist() == ["b"]


@pytest.mark.parametrize("partition_by", [[], ["n"]], ids=str)
@pytest.mark.parametrize("form", ["pyarrow", "chunked", "numpy", "pandas", "index", "polars", "set"])
def test_arrays_and_series_are_keys(tmp_path, partition_by, form):
    polars, pandas = (pytest.importorskip(name) for name in ("polars", "pandas"))
    makers = {
        "pyarrow": pa.array,
        "chunked": lambda keys: pa.chunked_array([keys[:1], keys[1:]], pa.string()),
        "numpy": lambda keys: numpy.array(keys, dtype=object),
        "pandas": lambda keys: pandas.Series(keys, index=range(5, 5 + len(keys)), dtype=object),
        "index": lambda keys: pandas.Index(keys, dtype=object),
        "polars": lambda keys: polars.Series(keys, dtype=polars.String),
        "set": set,
    }
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", partition_by=partition_by)
    table.upsert([*ROWS, {"id": "c", "n": 3}])
    assert table.delete(makers[form](["a", "c"])).deletes == 2
    if form != "set":
        assert table.delete(makers[form]([])).deletes == 0
    assert table.to_arrow(columns="id")["id"].to_pylist() == ["b"]


def test_keys_of_several_fields_need_rows(tmp_path):
    table = mortice.create_table(tmp_path / "t", SCHEMA, name="t", record_key=["id", "n"])
    with pytest.raises(mortice.InvalidArgumentError, match="id, n"):
        table.delete(["a"])


def _with_nul():
    return pa.table({"id": ["a"], "n\0m": [1]})


@pytest.mark.parametrize(
    "form",
    [
        _with_nul,
        lambda: _with_nul().to_reader(),
        lambda: _with_nul().to_batches(),
        lambda: _with_nul().to_pylist(),
        lambda: _with_nul().to_pydict(),
        lambda: _with_nul().to_pandas(),
        lambda: ds.dataset(_with_nul()),
        lambda: pytest.importorskip("polars").from_arrow(_with_nul()),
    ],
)
def test_a_name_with_a_nul_character_is_refused(table, form):
    """Arrow hands it over as `n`, which is a column of the table."""
    with pytest.raises(mortice.InvalidArgumentError, match=r"'n\\x00m'.*NUL"):
        table.insert(form())
    assert table.snapshot().to_arrow().num_rows == 0
