"""Upserts, inserts and deletes through `mortice.Table`, read back by mortice."""

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError, UnsupportedError
from support.tables.written import KINDS, NO_METADATA, SCHEMA, content, new_table, rows


@pytest.fixture(params=KINDS, ids=lambda kind: f"v{kind[0]}-{kind[1].lower()}")
def table(request, tmp_path):
    version, table_type = request.param
    return new_table(tmp_path / "trips", version, table_type)


def test_an_upsert_updates_and_inserts(table):
    first = table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0)), NO_METADATA)
    assert (first.inserts, first.updates, first.operation) == (3, 0, "UPSERT")
    second = table.upsert(rows(("a", "x", 2, 10.0), ("d", "y", 2, 4.0)), NO_METADATA)
    assert (second.inserts, second.updates) == (1, 1)
    assert content(table) == [
        ("a", "x", 2, 10.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0), ("d", "y", 2, 4.0),
    ]  # fmt: skip


def test_meta_columns_name_key_partition_and_commit(table):
    first = table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0)), NO_METADATA)
    second = table.upsert(rows(("a", "x", 2, 10.0)), NO_METADATA)
    meta = content(table, "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_time")
    assert meta == [("a", "x", second.instant), ("b", "x", first.instant)]


def test_a_row_with_an_older_ordering_value_loses(table):
    table.upsert(rows(("a", "x", 5, 1.0)), NO_METADATA)
    table.upsert(rows(("a", "x", 4, 2.0)), NO_METADATA)
    assert content(table) == [("a", "x", 5, 1.0)]


def test_duplicates_in_a_batch_are_merged(table):
    commit = table.upsert(rows(("a", "x", 1, 1.0), ("a", "x", 3, 3.0), ("a", "x", 2, 2.0)), NO_METADATA)
    assert commit.inserts == 1
    assert content(table) == [("a", "x", 3, 3.0)]


def test_deletes_need_only_key_and_partition(table):
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0), ("c", "y", 1, 3.0)), NO_METADATA)
    keys = pa.table({"id": ["a", "c", "unknown"], "city": ["x", "y", "x"]})
    commit = table.delete(keys, NO_METADATA)
    assert (commit.operation, commit.deletes) == ("DELETE", 2)
    assert content(table) == [("b", "x", 1, 2.0)]


def test_rows_of_a_query_can_be_deleted(table):
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0)), NO_METADATA)
    table.delete(table.snapshot(filters=[("id", "=", "a")]).to_arrow(), NO_METADATA)
    assert content(table) == [("b", "x", 1, 2.0)]


@pytest.mark.parametrize(
    ("stored", "values", "given"),
    [
        (pa.timestamp("us"), [1000, 1_000_000], pa.timestamp("ms")),
        (pa.timestamp("us"), [1000, 1_000_000], pa.timestamp("ns")),
        (pa.float64(), [0.10000000149011612, 1.5], pa.float32()),
        (pa.date32(), [-3653, 18262], pa.date64()),
        (pa.int32(), [1, 2], pa.int64()),
        (pa.string(), ["a", "b"], pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["id", "day"])
def test_keys_to_delete_have_the_text_of_the_tables_types(tmp_path, column, stored, values, given):
    if column == "day" and pa.types.is_timestamp(stored):
        pytest.skip("partitions of timestamps need a timestamp key generator")
    columns = {"id": pa.string(), "day": pa.string(), "v": pa.int64()} | {column: stored}
    table = mortice.create_table(
        tmp_path / "t", pa.schema(list(columns.items())), name="t", record_key="id", partition_by="day"
    )
    stored_rows = pa.table({"id": ["x", "x"], "day": ["x", "x"], "v": [1, 2], column: pa.array(values, stored)})
    table.upsert(stored_rows, NO_METADATA)
    at = stored_rows.schema.get_field_index(column)
    keys = stored_rows.set_column(at, column, stored_rows[column].cast(given)).slice(1)
    table.delete(keys, NO_METADATA)
    assert table.snapshot(columns=["v"]).to_arrow()["v"].to_pylist() == [1]


def test_a_delete_of_a_number_in_another_unit_deletes_no_other_row(tmp_path):
    at = pa.timestamp("us")
    table = mortice.create_table(tmp_path / "t", pa.schema([("at", at), ("v", pa.int64())]), name="t", record_key="at")
    table.upsert(pa.table({"at": pa.array([1000, 1_000_000], at), "v": [1, 2]}), NO_METADATA)
    table.delete(pa.table({"at": pa.array([1000], pa.timestamp("ms"))}), NO_METADATA)
    assert table.snapshot(columns=["v"]).to_arrow()["v"].to_pylist() == [1]
    with pytest.raises(InvalidArgumentError, match=r'row 1, column "at": the value .* has a finer unit'):
        table.delete(pa.table({"at": pa.array([0, 1], pa.timestamp("ns"))}), NO_METADATA)
    with pytest.raises(InvalidArgumentError, match='column "at" is Int64'):
        table.delete(pa.table({"at": [1000]}), NO_METADATA)


def test_queried_rows_are_deleted_by_their_meta_columns(tmp_path):
    schema = pa.schema([("id", pa.string()), ("p", pa.string()), ("v", pa.int64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", partition_by="p")
    table.upsert(pa.table({"id": ["a", "b"], "p": ["x", "y"], "v": [1, 2]}, schema=schema), NO_METADATA)
    queried = table.snapshot(filters=[("id", "=", "a")]).to_arrow()
    table.delete(queried.set_column(queried.schema.get_field_index("id"), "id", pa.array(["b"])), NO_METADATA)
    assert table.snapshot(columns=["id"]).to_arrow()["id"].to_pylist() == ["b"]


def test_nested_keys_to_delete_need_no_other_fields(tmp_path):
    nested = pa.struct([pa.field("k", pa.int64()), pa.field("z", pa.int64(), nullable=False)])
    schema = pa.schema([("st", nested), ("v", pa.int64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="st.k")
    given = [{"st": {"k": 1, "z": 1}, "v": 1}, {"st": {"k": 2, "z": 1}, "v": 2}]
    table.upsert(pa.Table.from_pylist(given, schema), NO_METADATA)
    table.delete(pa.table({"st": pa.array([{"k": 1, "other": "x"}])}), NO_METADATA)
    assert table.snapshot(columns=["v"]).to_arrow()["v"].to_pylist() == [2]


def test_queried_rows_of_a_table_without_key_fields_are_updated_in_place(tmp_path):
    schema = pa.schema([("p", pa.string()), ("v", pa.int64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key=None, partition_by="p")

    def stored():
        return sorted((row["p"], row["v"] or 0) for row in table.snapshot(columns=["p", "v"]).to_arrow().to_pylist())

    table.insert(pa.table({"p": ["x", "x", "y"], "v": [1, 2, 3]}), NO_METADATA)
    queried = table.snapshot().to_arrow()
    at = queried.schema.get_field_index("v")
    changed = queried.set_column(at, "v", pa.array([10 * v for v in queried["v"].to_pylist()]))
    commit = table.upsert(changed, NO_METADATA)
    assert (commit.updates, commit.inserts) == (3, 0)
    assert stored() == [("x", 10), ("x", 20), ("y", 30)]
    table.soft_delete(table.snapshot(filters=[("v", "=", 20)]).to_arrow(), NO_METADATA)
    assert stored() == [("x", 0), ("x", 10), ("y", 30)]
    with pytest.raises(InvalidArgumentError, match="no key fields"):
        table.soft_delete(pa.table({"p": ["x"], "v": [10]}), NO_METADATA)
    moved = queried.set_column(queried.schema.get_field_index("p"), "p", pa.array(["y"] * 3))
    with pytest.raises(InvalidArgumentError, match="partition columns say"):
        table.upsert(moved, NO_METADATA)
    # Rows without meta columns are new, and so are those of an insert.
    table.upsert(pa.table({"p": ["z"], "v": [4]}), NO_METADATA)
    table.insert(table.snapshot(filters=[("p", "=", "z")]).to_arrow(), NO_METADATA)
    assert stored()[-2:] == [("z", 4), ("z", 4)]


def test_a_key_returns_after_its_delete(table):
    table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    table.delete(rows(("a", "x", 1, 1.0)), NO_METADATA)
    assert content(table) == []
    table.upsert(rows(("a", "x", 2, 2.0)), NO_METADATA)
    assert content(table) == [("a", "x", 2, 2.0)]


def test_an_insert_does_not_look_for_keys(table):
    table.insert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    commit = table.insert(rows(("b", "x", 1, 2.0)), NO_METADATA)
    assert (commit.operation, commit.inserts) == ("INSERT", 1)
    assert content(table) == [("a", "x", 1, 1.0), ("b", "x", 1, 2.0)]


def test_soft_deletes_are_ordered(tmp_path):
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table = new_table(tmp_path / "trips", schema=schema)

    def upsert(*given):
        names = schema.names
        table.upsert(
            pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in given], schema=schema), NO_METADATA
        )

    upsert(("a", "x", 5, 1.0, False), ("b", "x", 5, 2.0, False), ("c", "x", 5, 3.0, False))
    upsert(("a", "x", 6, 1.0, True), ("b", "x", 4, 2.0, True), ("new", "x", 4, 2.0, True))
    assert content(table, "id") == [("b",), ("c",)]


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (pa.date32(), "int"),
        (pa.timestamp("us", "UTC"), "long"),
        (pa.timestamp("ms", "UTC"), "long"),
        (pa.int64(), "long"),
    ],
    ids=str,
)
def test_deletes_have_the_ordering_values_that_hudi_compares(tmp_path, kind, stored):
    """Hudi's readers fail on a delete whose ordering value is a date or a timestamp: those of rows are numbers."""
    schema = pa.schema([("id", pa.string()), ("ts", kind), ("_hoodie_is_deleted", pa.bool_())])
    table = new_table(tmp_path / "trips", schema=schema, partition_by=None)

    def upsert(ids, days, deleted):
        moments = pa.array([day * 86_400_000_000 for day in days]).cast(pa.timestamp("us", "UTC"))
        values = pa.array(days) if pa.types.is_integer(kind) else moments.cast(kind)
        table.upsert(pa.table([pa.array(ids), values, pa.array(deleted)], schema=schema), NO_METADATA)

    upsert(["a", "b"], [5, 5], [False, False])
    upsert(["a", "b"], [6, 4], [True, True])
    assert content(table, "id") == [("b",)]
    (log,) = (tmp_path / "trips").glob(".*.log.*")
    file = mortice.LogFile(str(log))
    (block,) = file.blocks()
    deletes = pa.table(file.deletes(block)).to_pylist()
    assert [(row["record_key"], row["ordering_type"]) for row in deletes] == [("a", stored), ("b", stored)]


def test_no_delete_is_without_an_ordering_value(tmp_path):
    """Hudi's readers fail on such a delete of a key with another log record. One that always wins has Int 0."""
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table = new_table(tmp_path / "trips", schema=schema)
    options = {
        **NO_METADATA, "hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true",
    }  # fmt: skip

    def upsert(*given):
        table.upsert(rows(*given, schema=schema), options)

    upsert(("moves", "x", 1, 1.0, None), ("goes", "x", 1, 2.0, None))
    upsert(("moves", "x", 2, 3.0, None), ("goes", "x", 2, 4.0, None))
    upsert(("moves", "y", 3, 5.0, None), ("goes", "x", 3, 6.0, True))
    assert content(table) == [("moves", "y", 3, 5.0)]
    newest = max((tmp_path / "trips" / "x").glob(".*.log.*"), key=lambda path: path.name.split("_")[1])
    file = mortice.LogFile(str(newest))
    (block,) = file.blocks()
    deletes = {row["record_key"]: row["ordering_type"] for row in pa.table(file.deletes(block)).to_pylist()}
    assert deletes == {"moves": "int", "goes": "long"}


def test_commit_time_ordering_takes_the_last_row(tmp_path):
    table = new_table(tmp_path / "trips", ordering=None)
    table.upsert(rows(("a", "x", 5, 1.0)), NO_METADATA)
    table.upsert(rows(("a", "x", 4, 2.0), ("b", "x", 1, 1.0), ("b", "x", 0, 2.0)), NO_METADATA)
    assert content(table) == [("a", "x", 4, 2.0), ("b", "x", 0, 2.0)]


def test_new_columns_are_added(tmp_path):
    table = new_table(tmp_path / "trips")
    table.upsert(rows(("a", "x", 1, 1.0), ("b", "x", 1, 2.0)), NO_METADATA)
    wider = rows(("a", "x", 2, 10.0)).append_column("tip", pa.array([0.5]))
    with pytest.raises(InvalidArgumentError, match='the table has no column "tip"'):
        table.upsert(wider, NO_METADATA)
    commit = table.upsert(wider, NO_METADATA, schema="add")
    assert [(change.column, change.before, change.after) for change in commit.schema_changes] == [
        ("tip", None, pa.float64())
    ]
    assert content(table, "id", "fare", "tip") == [("a", 10.0, 0.5), ("b", 2.0, None)]


def test_a_missing_column_is_null_if_that_is_asked_for(tmp_path):
    table = new_table(tmp_path / "trips")
    narrow = rows(("a", "x", 1, 1.0)).drop_columns(["fare"])
    with pytest.raises(InvalidArgumentError, match='no column "fare"'):
        table.upsert(narrow, NO_METADATA)
    table.upsert(narrow, NO_METADATA | {"hoodie.write.set.null.for.missing.columns": "true"})
    assert content(table) == [("a", "x", 1, None)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((None, "x", 1, 1.0), 'row 1, column "id"'),
        (("", "x", 1, 1.0), 'row 1, column "id"'),
        (("b", "x", None, 1.0), 'row 1, column "ts"'),
    ],
)
def test_rows_that_cannot_be_written_are_refused_before_anything_is(tmp_path, row, message):
    table = new_table(tmp_path / "trips")
    before = sorted(path.name for path in (tmp_path / "trips" / ".hoodie").rglob("*"))
    with pytest.raises(InvalidArgumentError, match=message):
        table.upsert(rows(("a", "x", 1, 1.0), row), NO_METADATA)
    assert sorted(path.name for path in (tmp_path / "trips" / ".hoodie").rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"hoodie.idnex.type": "SIMPLE"}, InvalidArgumentError, "did you mean hoodie.index.type"),
        ({"hoodie.index.type": "HBASE"}, UnsupportedError, "HBASE"),
        ({"hoodie.datasource.write.recordkey.field": "city"}, InvalidArgumentError, "contradicts the table"),
        ({"hoodie.datasource.hive_sync.enable": "true"}, InvalidArgumentError, "hive_sync"),
    ],
)
def test_options_are_decided_by_name(tmp_path, options, error, message):
    table = new_table(tmp_path / "trips")
    with pytest.raises(error, match=message):
        table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA | options)
    assert content(table) == []


def test_an_option_without_effect_raises_a_warning(tmp_path):
    table = new_table(tmp_path / "trips")
    with pytest.warns(UserWarning, match=r"hoodie\.metadata\.metrics\.enable"):
        table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA | {"hoodie.metadata.metrics.enable": "true"})


def test_a_write_starts_from_the_newest_state(tmp_path):
    table = new_table(tmp_path / "trips")
    other = mortice.Table(tmp_path / "trips")
    other.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA)
    assert content(table) == []
    table.refresh()
    assert content(table) == [("a", "x", 1, 1.0)]
    other.upsert(rows(("b", "x", 1, 1.0)), NO_METADATA)
    table.upsert(rows(("a", "x", 2, 2.0)), NO_METADATA)
    assert content(table, "id", "ts") == [("a", 2), ("b", 1)]


def test_the_commit_names_its_files(tmp_path):
    table = new_table(tmp_path / "trips")
    commit = table.upsert(rows(("a", "x", 1, 1.0), ("b", "y", 1, 2.0)), NO_METADATA)
    for stats in commit.stats:
        assert (tmp_path / "trips" / stats.path).stat().st_size == stats.file_bytes
    assert {stats.partition for stats in commit.stats} == {"x", "y"}
    assert "2 inserted" in repr(commit)
    assert "<table>" in commit._repr_html_()


def test_any_arrow_data_can_be_written(tmp_path):
    table = new_table(tmp_path / "trips", partition_by=None)
    given = rows(("a", "x", 1, 1.0))
    for data in (
        given.to_reader(),
        given.to_batches()[0],
        given.cast(SCHEMA.set(0, pa.field("id", pa.large_string()))),
    ):
        table.upsert(data, NO_METADATA)
    assert content(table) == [("a", "x", 1, 1.0)]


def test_metadata_of_the_users_own_is_stored_in_the_commit(tmp_path):
    table = new_table(tmp_path / "trips")
    commit = table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA | {"_checkpoint": "kafka:42"})
    (instant,) = [instant for instant in table.timeline if instant.requested_time == commit.instant]
    assert table.timeline.metadata(instant)["extraMetadata"]["_checkpoint"] == "kafka:42"


def test_tables_whose_files_would_lack_something_are_refused(tmp_path):
    with pytest.raises(UnsupportedError, match=r"drop\.partition\.columns"):
        new_table(tmp_path / "trips", properties={"hoodie.datasource.write.drop.partition.columns": "true"})
    assert not (tmp_path / "trips" / ".hoodie").exists()
    # A table that Hudi created.
    table = new_table(tmp_path / "trips")
    properties = tmp_path / "trips" / ".hoodie" / "hoodie.properties"
    stored = "hoodie.datasource.write.drop.partition.columns="
    properties.write_text(properties.read_text().replace(f"{stored}false", f"{stored}true"))
    with pytest.raises(UnsupportedError, match=r"drop\.partition\.columns"):
        table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA)


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.compact.inline": "maybe"},
        {"hoodie.clustering.inline": "maybe"},
        {"hoodie.clean.automatic": "maybe"},
        {"hoodie.fail.writes.on.inline.table.service.exception": "maybe"},
        {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "many"},
        {"hoodie.clean.automatic": "true", "hoodie.clean.policy": "KEEP_ALL"},
    ],
)
def test_options_of_services_are_checked_before_the_write(tmp_path, options):
    table = new_table(tmp_path / "trips")
    with pytest.raises((InvalidArgumentError, UnsupportedError), match=list(options)[-1].replace(".", r"\.")):
        table.upsert(rows(("a", "x", 1, 1.0)), NO_METADATA | options)
    table.refresh()
    assert content(table) == []


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_nan_is_the_greatest_value_in_column_statistics(tmp_path, table_type):
    schema = pa.schema([("id", pa.string()), ("x", pa.float64())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", table_type=table_type)
    options = {"hoodie.metadata.index.column.stats.enable": "true"}
    table.upsert(pa.table({"id": ["a", "b", "c"], "x": [1.0, float("nan"), 2.0]}), options)
    table.upsert(pa.table({"id": ["c"], "x": [float("nan")]}), options)

    def greatest():
        records = mortice.Table(f"{table.uri}/.hoodie/metadata").snapshot().to_arrow().to_pylist()
        found = [record["ColumnStatsMetadata"] for record in records if record["ColumnStatsMetadata"]]
        values = [one["maxValue"] for one in found if one["columnName"] == "x" and not one["isDeleted"]]
        return [str(value) for value in values]

    assert greatest()
    assert all("nan" in value for value in greatest())
    assert table.snapshot(filters=[("x", ">", 5.0)]).count() == 2
    # Footers leave NaN out: the bound of files that may have it is infinity, which Hudi takes for greater than numbers.
    table.build_metadata(rebuild=True)
    assert any("inf" in value for value in greatest())
    assert all("nan" in value or "inf" in value for value in greatest())
    assert table.snapshot(filters=[("x", ">", 5.0)]).count() == 2
