"""Writes whose columns differ from the table's: what is added, widened, filled with null, and refused."""

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError
from support.tables.written import KINDS, NO_METADATA

FIRST = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("rider", pa.struct([("name", pa.string()), ("age", pa.int32())])),
        pa.field("stops", pa.list_(pa.struct([("city", pa.string())]))),
        pa.field("fees", pa.map_(pa.string(), pa.struct([("cents", pa.int32())]))),
    ]
)
HOME = pa.struct([("x", pa.float64())])
WIDER = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("rider", pa.struct([("name", pa.string()), ("age", pa.int64()), ("home", HOME)])),
        pa.field("stops", pa.list_(pa.struct([("minutes", pa.int32()), ("city", pa.string())]))),
        pa.field("fees", pa.map_(pa.string(), pa.struct([("cents", pa.float64()), ("tax", pa.decimal128(6, 2))]))),
    ]
)  # fmt: skip


def old_row(key, ts):
    rider, fees = {"name": "ann", "age": 40}, [("a", {"cents": 7})]
    return pa.Table.from_pylist(
        [{"id": key, "ts": ts, "rider": rider, "stops": [{"city": "lima"}], "fees": fees}], FIRST
    )


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    table = mortice.create_table(
        tmp_path / "trips", FIRST, name="trips", record_key="id", ordering="ts", table_type=table_type, version=version
    )
    table.upsert(pa.concat_tables([old_row("a", 1), old_row("b", 1)]), NO_METADATA)
    return table


def content(table):
    rows = table.snapshot(columns=["id", "ts", "rider", "stops", "fees"]).to_arrow()
    return {row["id"]: row for row in rows.to_pylist()}


def test_nested_fields_are_added_and_widened(table):
    new = {
        "id": "b", "ts": 2, "rider": {"name": "bob", "age": 2**40, "home": {"x": 0.5}},
        "stops": [{"minutes": 3, "city": "pune"}], "fees": [("b", {"cents": 1.5, "tax": None})],
    }  # fmt: skip
    commit = table.upsert(pa.Table.from_pylist([new], WIDER), NO_METADATA, schema="evolve")
    assert [(change.column, change.before, change.after) for change in commit.schema_changes] == [
        ("rider.age", pa.int32(), pa.int64()),
        ("rider.home", None, HOME),
        ("stops.element.minutes", None, pa.int32()),
        ("fees.value.cents", pa.int32(), pa.float64()),
        ("fees.value.tax", None, pa.decimal128(6, 2)),
    ]
    rows = content(table)
    assert rows["b"] == {**new, "stops": [{"city": "pune", "minutes": 3}]}
    assert rows["a"]["rider"] == {"name": "ann", "age": 40, "home": None}
    assert rows["a"]["stops"] == [{"city": "lima", "minutes": None}]
    assert rows["a"]["fees"] == [("a", {"cents": 7.0, "tax": None})]
    with pytest.raises(InvalidArgumentError, match=r'no column "rider\.home"'):
        table.upsert(old_row("a", 3), NO_METADATA)
    table.upsert(old_row("a", 3), {**NO_METADATA, "hoodie.datasource.write.reconcile.schema": "true"})
    rows = content(table)
    assert (rows["a"]["ts"], rows["a"]["rider"]) == (3, {"name": "ann", "age": 40, "home": None})
    assert rows["b"]["rider"]["home"] == {"x": 0.5}


def test_new_fields_are_null_where_a_whole_struct_is(table):
    rider = WIDER.field("rider")
    rows = pa.table(
        {"id": ["c"], "ts": [1], "rider": pa.array([None], rider.type)}, pa.schema([*list(FIRST)[:2], rider])
    )
    table.insert(rows, {**NO_METADATA, "hoodie.datasource.write.reconcile.schema": "true"})
    assert content(table)["c"] == {"id": "c", "ts": 1, "rider": None, "stops": None, "fees": None}


def test_a_nested_type_that_holds_no_number_is_refused_by_name(table):
    rows = pa.Table.from_pylist(
        [{"id": "a", "ts": 2, "rider": {"name": "ann", "age": b"old"}}],
        pa.schema([*list(FIRST)[:2], pa.field("rider", pa.struct([("name", pa.string()), ("age", pa.binary())]))]),
    )
    with pytest.raises(
        InvalidArgumentError, match=r'row 0, column "rider\.age" is Binary, but the table\'s is Int32, which'
    ):
        table.upsert(rows, {**NO_METADATA, "hoodie.datasource.write.reconcile.schema": "true"})
    assert content(table)["a"]["ts"] == 1


@pytest.mark.parametrize(
    "option", ["hoodie.datasource.write.reconcile.schema", "hoodie.write.set.null.for.missing.columns"]
)
def test_missing_columns_are_null_only_if_an_option_says_so(table, option):
    rows = pa.table({"id": ["a"], "ts": [2]}, pa.schema(list(FIRST)[:2]))
    with pytest.raises(InvalidArgumentError, match="rider"):
        table.upsert(rows, NO_METADATA)
    table.upsert(rows, {**NO_METADATA, option: "true"})
    assert content(table)["a"] == {"id": "a", "ts": 2, "rider": None, "stops": None, "fees": None}


def test_a_column_of_numbers_becomes_one_of_strings(tmp_path):
    columns = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("code", pa.int32())])
    table = mortice.create_table(tmp_path / "trips", columns, name="trips", record_key="id", ordering="ts")
    table.upsert(pa.table({"id": ["a", "b"], "ts": [1, 1], "code": [1, 2]}, columns))
    table.upsert(pa.table({"id": ["a"], "ts": [2], "code": ["x"]}), schema="evolve")
    rows = table.snapshot(columns=["id", "code"]).to_arrow()
    assert sorted(rows.to_pylist(), key=str) == [{"id": "a", "code": "x"}, {"id": "b", "code": "2"}]
    assert rows.schema.field("code").type == pa.string()


@pytest.mark.parametrize("column", ["id", "ts"])
def test_numbers_that_are_keys_or_ordering_values_do_not_become_strings(tmp_path, column):
    columns = pa.schema([("id", pa.int64()), ("ts", pa.int64())])
    table = mortice.create_table(tmp_path / "trips", columns, name="trips", record_key="id", ordering="ts")
    table.upsert(pa.table({"id": [1], "ts": [1]}, columns))
    with pytest.raises(InvalidArgumentError, match=f'column "{column}" is a string in the rows'):
        table.upsert(pa.table({"id": [1], "ts": [2], column: ["2"]}), schema="evolve")


def test_rows_without_a_key_are_refused_that_no_option_fills(table):
    rows = pa.table({"ts": [2]}, pa.schema([FIRST.field("ts")]))
    with pytest.raises(InvalidArgumentError, match='no column "id", which is in the record key'):
        table.upsert(rows, {**NO_METADATA, "hoodie.write.set.null.for.missing.columns": "true"})


SIMPLE = pa.schema([("id", pa.string()), ("v", pa.int64()), ("st", pa.struct([("a", pa.int64())]))])


@pytest.fixture
def simple(tmp_path):
    table = mortice.create_table(tmp_path / "simple", SIMPLE, name="t", record_key="id")
    table.upsert(pa.table({"id": ["a", "b"], "v": [1, 2], "st": [{"a": 1}, None]}, schema=SIMPLE), NO_METADATA)
    return table


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        (["id", "v", "v"], [["a"], [1], [2]], '"v" is there more than once'),
        (["id", "v", "new", "new"], [["a"], [1], [2], [3]], '"new" is there more than once'),
        (["id", "V"], [["a"], [1]], '"V" differs from "v" in case alone'),
        (["id", "v", "n", "N"], [["a"], [1], [2], [3]], '"N" differs from "n" in case alone'),
        (["id", "v", "st"], [["a"], [1], [{"a": 1, "A": 2}]], '"st.A" differs from "st.a" in case alone'),
    ],
)
def test_names_that_spark_does_not_tell_apart_are_not_written(simple, columns, values, message):
    given = pa.Table.from_arrays([pa.array(column) for column in values], names=columns)
    options = NO_METADATA | {"hoodie.write.set.null.for.missing.columns": "true"}
    for write in (simple.upsert, simple.insert, simple.bulk_insert):
        with pytest.raises(InvalidArgumentError, match=message):
            write(given, options)
    assert simple.snapshot().count() == 2


def test_keys_to_delete_that_are_there_twice_are_refused(simple):
    with pytest.raises(InvalidArgumentError, match='"id" is there more than once'):
        simple.delete(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"]), NO_METADATA)
    assert simple.snapshot().count() == 2


def test_the_index_of_a_data_frame_is_no_column(simple):
    frame = pytest.importorskip("pandas").DataFrame({"id": ["a", "b", "c"], "v": [7, 8, 9]})
    options = NO_METADATA | {"hoodie.write.set.null.for.missing.columns": "true"}
    filtered = frame[frame["v"] > 7]
    assert "__index_level_0__" in pa.table(filtered).column_names
    for write in (simple.upsert, simple.bulk_insert):
        write(filtered.iloc[:1], options)
        write(filtered.iloc[1:], options)
    assert [name for name in simple.schema.names if not name.startswith("_hoodie")] == SIMPLE.names
    # Without the metadata of pandas it may be anything.
    with pytest.raises(InvalidArgumentError, match='"__index_level_0__" has the name that pandas gives'):
        simple.upsert(pa.table(filtered).replace_schema_metadata(None), options)


@pytest.mark.parametrize(
    ("role", "stored", "given", "is_allowed"),
    [
        ("record_key", pa.int64(), pa.float64(), False),
        ("record_key", pa.float32(), pa.float64(), False),
        ("record_key", pa.int32(), pa.int64(), True),
        ("record_key", pa.int64(), pa.string(), False),
        ("partition_by", pa.int32(), pa.float64(), False),
        ("partition_by", pa.int32(), pa.int64(), True),
        ("ordering", pa.int64(), pa.string(), False),
        ("ordering", pa.int64(), pa.float64(), True),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_nested", [False, True], ids=["column", "field"])
def test_columns_that_records_are_found_by_keep_their_types(  # noqa: PLR0917
    tmp_path, role, stored, given, is_allowed, is_nested
):
    def values(kind):
        column = pa.array([1, 2]).cast(kind)
        return pa.StructArray.from_arrays([column], names=["f"]) if is_nested else column

    def rows(kind):
        return pa.table({"id": ["a", "b"], "x": values(kind), "v": [1, 2]})

    name = "x.f" if is_nested else "x"
    roles = {"record_key": "id"} | {role: name}
    table = mortice.create_table(tmp_path / "t", rows(stored).schema, name="t", **roles)
    table.upsert(rows(stored), NO_METADATA)
    if is_allowed:
        table.upsert(rows(given), NO_METADATA, schema="evolve")
    else:
        with pytest.raises(InvalidArgumentError, match=f'column "{name}" is a .* in the rows'):
            table.upsert(rows(given), NO_METADATA, schema="evolve")
    assert table.snapshot().count() == 2
