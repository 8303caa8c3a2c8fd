"""Rows that cannot be written, and inserted rows whose keys are in the table."""

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError
from support.tables.written import KINDS, NO_METADATA, SCHEMA, content, new_table, rows

IGNORE = NO_METADATA | {"hoodie.write.ignore.failed": "true"}
DROP = NO_METADATA | {"hoodie.datasource.insert.dup.policy": "drop"}
FAIL = NO_METADATA | {"hoodie.datasource.insert.dup.policy": "fail"}


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def test_rows_that_cannot_be_written_are_reported_and_the_others_written(table):
    given = rows(
        ("a", "x", 1, 1.0), (None, "x", 1, 2.0), ("c", "x", None, 3.0), ("", "y", 1, 4.0), ("e", "y", 1, 5.0)
    )  # fmt: skip
    commit = table.upsert(given, IGNORE)
    assert content(table) == [("a", "x", 1, 1.0), ("e", "y", 1, 5.0)]
    assert (commit.inserts, commit.error_count) == (2, 3)
    assert [error.record_key for error in commit.errors] == [None, "c", None]
    for error, place in zip(
        commit.errors, ['row 1, column "id"', 'row 2, column "ts"', 'row 3, column "id"'], strict=True
    ):
        assert place in error.message
    assert "3 not written" in repr(commit)


def test_rows_of_later_batches_are_counted_on(tmp_path):
    table = new_table(tmp_path / "trips")
    batches = [rows(("a", "x", 1, 1.0)), rows(("b", "x", 1, 1.0), (None, "x", 1, 1.0))]
    commit = table.upsert(pa.concat_tables(batches), IGNORE)
    assert ['row 2, column "id"' in error.message for error in commit.errors] == [True]


def test_values_that_the_tables_type_does_not_hold_are_left_out(tmp_path):
    fields = [*SCHEMA, pa.field("price", pa.decimal128(5, 2)), pa.field("at", pa.timestamp("us", "UTC"))]
    schema = pa.schema(fields)
    table = new_table(tmp_path / "trips", schema=schema)
    price = pa.array(["1.00", "1.00", "99999.00"]).cast(pa.decimal128(9, 2))
    at = pa.array([1_000, 1, 1_000], pa.timestamp("ns", "UTC"))
    given = rows(("a", "x", 1, 1.0), ("b", "x", 1, 1.0), ("c", "x", 1, 1.0)).append_column("at", at)
    given = given.append_column("price", price.cast(pa.decimal128(5, 2), safe=False))
    commit = table.upsert(given, IGNORE)
    keys = {error.record_key for error in commit.errors}
    assert "b" in keys
    assert keys.isdisjoint(key for (key,) in content(table, "id"))
    assert len(content(table, "id")) + commit.error_count == 3


def test_columns_that_do_not_fit_fail_the_write_in_any_case(tmp_path):
    table = new_table(tmp_path / "trips")
    given = rows(("a", "x", 1, 1.0)).set_column(2, "ts", pa.array(["1"]))
    with pytest.raises(InvalidArgumentError, match='column "ts"'):
        table.upsert(given, IGNORE)


def test_keys_that_cannot_be_deleted_are_reported(table):
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 1.0)), NO_METADATA)
    commit = table.delete(pa.table({"id": ["a", None], "city": ["x", "x"]}), IGNORE)
    assert (commit.deletes, commit.error_count) == (1, 1)
    assert content(table, "id") == [("b",)]


def test_a_write_of_refused_rows_alone_is_an_empty_commit(table):
    commit = table.insert(rows((None, "x", 1, 1.0)), IGNORE)
    assert (commit.error_count, commit.stats) == (1, [])
    assert content(table) == []


def test_inserts_of_known_keys_are_dropped(table):
    table.insert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0)), NO_METADATA)
    commit = table.insert(rows(("a", "x", 2, 10.0), ("c", "x", 2, 3.0), ("a", "y", 2, 4.0)), DROP)
    assert commit.inserts == 2
    assert content(table) == [("a", "x", 1, 1.0), ("a", "y", 2, 4.0), ("b", "x", 1, 2.0), ("c", "x", 2, 3.0)]


@pytest.mark.parametrize("index", ["BLOOM", "GLOBAL_SIMPLE", "BUCKET"])
def test_every_index_finds_the_keys_to_drop(tmp_path, index):
    table = new_table(tmp_path / "trips")
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table.insert(rows(*((str(number), "x", 1, 1.0) for number in range(20))), NO_METADATA | options)
    table.insert(rows(*((str(number), "x", 2, 2.0) for number in range(10, 30))), DROP | options)
    expected = [(str(number), 1 if number < 20 else 2) for number in range(30)]
    assert content(table, "id", "ts") == sorted(expected, key=str)


def test_a_record_index_finds_the_keys_to_drop(tmp_path):
    table = new_table(tmp_path / "trips")
    options = {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}
    table.insert(rows(("a", "x", 1, 1.0)), options)
    table.insert(
        rows(("a", "x", 2, 2.0), ("b", "x", 2, 2.0)), options | {"hoodie.datasource.insert.dup.policy": "drop"}
    )
    assert content(table, "id", "ts") == [("a", 1), ("b", 2)]


def test_deleted_keys_are_not_dropped(table):
    table.insert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0)), NO_METADATA)
    table.delete(rows(("a", "x", 1, 1.0)), NO_METADATA)
    table.insert(rows(("a", "x", 2, 3.0), ("b", "x", 2, 4.0)), DROP)
    assert content(table) == [("a", "x", 2, 3.0), ("b", "x", 1, 2.0)]
    table.upsert(rows(("a", "x", 3, 5.0)), NO_METADATA)
    assert content(table) == [("a", "x", 3, 5.0), ("b", "x", 1, 2.0)]


def test_inserts_of_known_keys_fail_if_that_is_asked_for(table):
    table.insert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    before = len(table.timeline)
    with pytest.raises(InvalidArgumentError, match=r'1 rows have keys that are in the table.*"a"'):
        table.insert(rows(("a", "x", 2, 10.0), ("c", "x", 2, 3.0)), FAIL)
    assert content(table) == [("a", "x", 1, 1.0)]
    table.insert(rows(("c", "x", 2, 3.0)), FAIL)
    assert content(table, "id") == [("a",), ("c",)]
    assert len([instant for instant in table.timeline if instant.action != "rollback"]) == before + 1


def test_only_drop_duplicates_merges_the_rows_of_one_insert(tmp_path):
    table = new_table(tmp_path / "trips")
    twice = rows(("a", "x", 1, 1.0), ("a", "x", 2, 2.0))
    table.insert(twice, NO_METADATA | {"hoodie.datasource.write.insert.drop.duplicates": "true"})
    assert content(table) == [("a", "x", 2, 2.0)]
    other = new_table(tmp_path / "other")
    other.insert(twice, DROP)
    assert content(other) == [("a", "x", 1, 1.0), ("a", "x", 2, 2.0)]


def test_an_upsert_that_drops_duplicates_is_an_insert_as_in_hudi(tmp_path):
    table = new_table(tmp_path / "trips")
    table.insert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    with pytest.warns(UserWarning, match="the upsert is an insert"):
        commit = table.upsert(rows(("a", "x", 2, 2.0), ("b", "x", 2, 2.0)), DROP)
    assert (commit.operation, commit.inserts) == ("INSERT", 1)
    assert content(table, "id", "ts") == [("a", 1), ("b", 2)]


def test_unknown_policies_are_refused(tmp_path):
    table = new_table(tmp_path / "trips")
    with pytest.raises(InvalidArgumentError, match="none, drop or fail"):
        table.insert(rows(("a", "x", 1, 1.0)), {"hoodie.datasource.insert.dup.policy": "ignore"})


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "insert_overwrite"])
def test_a_null_in_a_required_column_has_the_number_of_its_row(tmp_path, operation):
    schema = pa.schema([("id", pa.string()), ("p", pa.string()), pa.field("v", pa.int64(), nullable=False)])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", partition_by="p")
    given = pa.table({"id": list("abcdef"), "p": ["x", "y"] * 3, "v": pa.array([1, 1, 1, 1, 1, None], pa.int64())})
    with pytest.raises(InvalidArgumentError, match="row 5, field v: null"):
        getattr(table, operation)(given)
    commit = getattr(table, operation)(given, {"hoodie.write.ignore.failed": "true"})
    assert [(error.record_key, "row 5, field v" in error.message) for error in commit.errors] == [("f", True)]


def test_a_value_of_a_finer_unit_has_the_number_of_its_row(tmp_path):
    schema = pa.schema([("id", pa.string()), ("v", pa.timestamp("us")), ("l", pa.list_(pa.timestamp("us")))])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    finer = pa.timestamp("ns")

    def part(ids, values, items):
        return pa.table({"id": ids, "v": pa.array(values, finer), "l": pa.array(items, pa.list_(finer))})

    first = part(["a", "b"], [1000, 2000], [[1000], []])
    with pytest.raises(InvalidArgumentError, match=r'row 3, column "v": the value .* has a finer unit'):
        table.upsert(pa.concat_tables([first, part(["c", "d"], [1000, 2001], [[], []])]))
    with pytest.raises(InvalidArgumentError, match=r'row 2, column "l\.element": the value .* has a finer unit'):
        table.upsert(pa.concat_tables([first, part(["c"], [1000], [[1000, 2001]])]))


def test_rows_that_delete_their_keys_may_lack_required_values(tmp_path):
    required = pa.field("v", pa.int64(), nullable=False)
    schema = pa.schema([("id", pa.string()), required, ("_hoodie_is_deleted", pa.bool_())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    table.upsert(pa.table({"id": ["a", "b"], "v": [1, 2], "_hoodie_is_deleted": [False, False]}))
    table.upsert(pa.table({"id": ["a"], "v": pa.nulls(1, pa.int64()), "_hoodie_is_deleted": [True]}))
    assert table.snapshot(columns=["id"]).to_arrow()["id"].to_pylist() == ["b"]
