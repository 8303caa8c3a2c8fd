"""New tables: the content of `.hoodie`, and invalid arguments, which leave nothing behind."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("ts", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.string())),
        ("s", pa.struct([("a", pa.int32())])),
    ]
)
META = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]


def created(path, **arguments):
    return mortice.create_table(path, SCHEMA, **{"name": "trips", "record_key": "id"} | arguments)


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_new_table_is_empty_and_has_its_columns(tmp_path, version, table_type):
    table = created(tmp_path / "t", partition_by="city", ordering="ts", version=version, table_type=table_type.lower())
    again = mortice.Table(tmp_path / "t")
    assert (table.version, again.version) == (version, version)
    assert (again.record_key_fields, again.partition_fields, again.ordering_fields) == (["id"], ["city"], ["ts"])
    assert again.merge_mode == "EVENT_TIME_ORDERING"
    assert again.properties["hoodie.table.type"] == table_type
    assert again.schema.names == META + SCHEMA.names
    rows = again.snapshot(columns=SCHEMA.names).to_arrow()
    assert (rows.num_rows, rows.schema) == (0, SCHEMA)
    assert len(again.timeline) == 0


@pytest.mark.parametrize(
    ("arguments", "kind", "generator"),
    [
        ({}, "NON_PARTITION", "NonpartitionedKeyGenerator"),
        ({"partition_by": "city"}, "SIMPLE", "SimpleKeyGenerator"),
        ({"partition_by": ["city", "ts"]}, "COMPLEX", "ComplexKeyGenerator"),
        ({"record_key": ["id", "ts"], "partition_by": "city"}, "COMPLEX", "ComplexKeyGenerator"),
        ({"record_key": None, "partition_by": "city"}, "SIMPLE", "SimpleKeyGenerator"),
    ],
)
def test_the_key_generator_is_the_one_that_hudi_chooses(tmp_path, arguments, kind, generator):
    newest = created(tmp_path / "9", **arguments).properties
    oldest = created(tmp_path / "6", version=6, **arguments).properties
    assert newest["hoodie.table.keygenerator.type"] == kind
    assert oldest["hoodie.table.keygenerator.class"] == f"org.apache.hudi.keygen.{generator}"


def test_records_merge_by_commit_time_without_ordering_fields(tmp_path):
    assert created(tmp_path / "none").merge_mode == "COMMIT_TIME_ORDERING"
    mode = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
    assert created(tmp_path / "named", ordering="ts", properties=mode).merge_mode == "COMMIT_TIME_ORDERING"
    payload = {"hoodie.compaction.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"}
    old = created(tmp_path / "old", ordering="ts", version=6, properties=payload)
    assert old.merge_mode == "COMMIT_TIME_ORDERING"


def test_a_table_is_created_once(tmp_path):
    """If several processes or threads create a table, one succeeds; the others change nothing."""

    def create(number):
        try:
            created(tmp_path, name=f"table_{number}")
        except mortice.TableExistsError:
            return None
        return f"table_{number}"

    with ThreadPoolExecutor(8) as pool:
        created_names = [name for name in pool.map(create, range(16)) if name]
    assert len(created_names) == 1
    assert mortice.Table(tmp_path).properties["hoodie.table.name"] == created_names[0]
    with pytest.raises(FileExistsError, match="there is a table here already"):
        created(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"record_key": "no"}, mortice.InvalidArgumentError, 'record_key names "no", which is not a column'),
        ({"record_key": "s.b"}, mortice.InvalidArgumentError, "s.b"),
        ({"record_key": ["id", "id"]}, mortice.InvalidArgumentError, "more than once"),
        ({"partition_by": 7}, mortice.InvalidArgumentError, "partition_by"),
        ({"name": ""}, mortice.InvalidArgumentError, "name"),
        ({"version": 7}, mortice.UnsupportedError, "version 7"),
        ({"table_type": "merge"}, mortice.InvalidArgumentError, "MERGE_ON_READ, COPY_ON_WRITE"),
        ({"ordering": ["ts", "at"], "version": 8}, mortice.UnsupportedError, "version 9"),
        ({"properties": {"hoodie.table.name": "x"}}, mortice.InvalidArgumentError, "the argument name"),
        ({"properties": {"hoodie.no.such": "x"}}, mortice.UnsupportedError, "hoodie.no.such"),
        ({"properties": {"hoodie.record.merge.mode": "CUSTOM"}}, mortice.UnsupportedError, "CUSTOM"),
        (
            {"properties": {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}},
            mortice.InvalidArgumentError,
            "needs ordering fields",
        ),
        (
            {"properties": {"hoodie.compaction.payload.class": "x"}},
            mortice.UnsupportedError,
            "hoodie.record.merge.mode",
        ),
    ],
    ids=str,
)
def test_invalid_arguments_are_refused_and_nothing_is_written(tmp_path, arguments, error, message):
    with pytest.raises(error) as refused:
        created(tmp_path / "t", **arguments)
    assert message in str(refused.value)
    assert not (tmp_path / "t").exists()


def test_meta_columns_and_invalid_avro_names_are_refused(tmp_path):
    for name in ("_hoodie_record_key", "a b", "1st"):
        schema = pa.schema([("id", pa.string()), (name, pa.string())])
        with pytest.raises(mortice.InvalidArgumentError, match=name):
            mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    assert list(tmp_path.iterdir()) == []


NUL = pa.struct([("x\0y", pa.int64())])


@pytest.mark.parametrize(
    "column", [pa.field("n\0m", pa.int64()), pa.field("n", NUL), pa.field("n", pa.list_(NUL))], ids=str
)
def test_names_that_arrow_would_cut_off_are_refused(tmp_path, column):
    schema = pa.schema([("id", pa.string()), column])
    for given in ({"schema": schema}, {"data": schema.empty_table()}):
        with pytest.raises(mortice.InvalidArgumentError, match=r"'[nx]\\x00[my]'.*NUL"):
            mortice.create_table(tmp_path / "t", name="t", record_key="id", **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (pa.time32("s"), "integer or a string"),
        (pa.time32("ms"), "integer or a string"),
        (pa.time64("us"), "integer or a string"),
        (pa.time64("ns"), "integer or a string"),
        (pa.list_(pa.time64("us")), "integer or a string"),
        (pa.decimal256(10, 2), "decimal128"),
        (pa.list_view(pa.int32()), "list"),
        (pa.run_end_encoded(pa.int32(), pa.string()), "values"),
        (pa.struct([]), "without fields"),
        (pa.struct([("a", pa.struct([]))]), "without fields"),
    ],
    ids=str,
)
def test_types_that_no_reader_or_no_writer_has_are_refused(tmp_path, kind, remedy):
    schema = pa.schema([("id", pa.string()), ("x", kind)])
    with pytest.raises(InvalidArgumentError, match=f'column "x.*unsupported type.*{remedy}'):
        mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    assert not (tmp_path / "t" / ".hoodie").exists()
    table = mortice.create_table(tmp_path / "u", pa.schema([("id", pa.string())]), name="t", record_key="id")
    with pytest.raises(InvalidArgumentError, match=f'column "x.*unsupported type.*{remedy}'):
        table.upsert(pa.table({"id": pa.array([], pa.string()), "x": pa.nulls(0, kind)}), schema="add")


@pytest.mark.skipif(not hasattr(pa, "decimal64"), reason="this pyarrow has no small decimals")
def test_small_decimals_are_written_as_decimal128(tmp_path):
    schema = pa.schema([("id", pa.string()), ("x", pa.decimal32(5, 2)), ("y", pa.decimal64(12, 3))])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id")
    x, y = Decimal("-1.25"), Decimal("123456.789")
    table.upsert(pa.table({"id": ["a"], "x": [x], "y": [y]}, schema=schema))
    rows = table.snapshot(columns=["x", "y"]).to_arrow()
    assert rows.schema.types == [pa.decimal128(5, 2), pa.decimal128(12, 3)]
    assert rows.to_pylist() == [{"x": x, "y": y}]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([("id", pa.string()), ("v", pa.int64()), ("v", pa.int64())], "more than once"),
        ([("id", pa.string()), ("v", pa.int64()), ("V", pa.int64())], "in case alone"),
        ([("id", pa.string()), ("s", pa.struct([("a", pa.int64()), ("A", pa.int64())]))], "in case alone"),
    ],
)
def test_names_that_spark_does_not_tell_apart_are_refused(tmp_path, columns, message):
    with pytest.raises(InvalidArgumentError, match=message):
        mortice.create_table(tmp_path / "t", pa.schema(columns), name="t", record_key="id")


@pytest.mark.parametrize(
    ("version", "name", "value"),
    [
        (9, "hoodie.table.keygenerator.type", "NON_PARTITION"),
        (9, "hoodie.table.keygenerator.type", "GLOBAL_DELETE"),
        (9, "hoodie.table.keygenerator.type", "NON_PARTITION_AVRO"),
        (6, "hoodie.table.keygenerator.class", "org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator"),
    ],
)
def test_a_key_generator_without_partitions_is_refused_for_a_partitioned_table(tmp_path, version, name, value):
    with pytest.raises(InvalidArgumentError, match="for tables without partitions, but partition_by is city"):
        created(tmp_path / "t", partition_by="city", version=version, properties={name: value})
    created(tmp_path / "u", version=version, properties={name: value})


@pytest.mark.parametrize(
    "schema",
    [
        "id string not null, fare double, price decimal(10,2)",
        {"id": "string", "fare": "double", "price": pa.decimal128(10, 2)},
        [("id", "STRING"), ("fare", pa.float64()), ("price", "decimal(10, 2)")],
        [pa.field("id", pa.string()), pa.field("fare", pa.float64()), pa.field("price", pa.decimal128(10, 2))],
    ],
    ids=["text", "mapping", "pairs", "fields"],
)
def test_columns_are_described_in_several_forms(tmp_path, schema):
    table = mortice.create_table(tmp_path / "t", schema, record_key="id", table_type="mor")
    types = {field.name: field.type for field in table.schema if field.name in table.columns}
    assert types == {"id": pa.string(), "fare": pa.float64(), "price": pa.decimal128(10, 2)}
    assert table.table_type == "MERGE_ON_READ"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"id": "wat"}, "'id': 'wat'; types are"),
        ("id wat", "got 'id wat'; types are"),
        ({"id": "decimal(99,2)"}, "decimal"),
        (None, "needs a schema, or data"),
        (7, "got int"),
    ],
)
def test_columns_in_another_form_are_refused(tmp_path, schema, message):
    with pytest.raises(mortice.InvalidArgumentError) as refused:
        mortice.create_table(tmp_path / "t", schema, record_key="id")
    assert message in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def frames():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    columns = {"id": ["a", "b"], "n": [1, 2]}
    table = pa.table(columns)
    return {
        "pandas": pandas.DataFrame({"id": ["z", *columns["id"]], "n": [0, *columns["n"]]}).query("n > 0"),
        "polars": polars.DataFrame(columns),
        "lazy": polars.LazyFrame(columns),
        "arrow": table,
        "reader": table.to_reader(),
        "batches": iter(table.to_batches()),
        "dicts": table.to_pylist(),
        "lists": columns,
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "reader", "batches", "dicts", "lists"])
def test_a_table_is_created_of_rows(tmp_path, kind):
    table = mortice.create_table(tmp_path / "t", data=frames()[kind], record_key="id")
    assert sorted(map(tuple, (row.values() for row in table))) == [("a", 1), ("b", 2)]
    assert [one.action for one in table.timeline] == ["deltacommit"]
    again = mortice.create_table(tmp_path / "again", data=table.snapshot(), record_key="id")
    assert again.columns == table.columns


def test_refused_rows_leave_an_empty_table(tmp_path):
    rows = pa.table({"id": ["a", None], "n": [1, 2]})
    with pytest.raises(mortice.InvalidArgumentError, match=r"row 1.*the table was created, and is empty"):
        mortice.create_table(tmp_path / "t", data=rows, record_key="id")
    assert mortice.Table(tmp_path / "t").count() == 0
    without_type = {"id": ["a"], "n": [None]}
    with pytest.raises(mortice.InvalidArgumentError, match="'n' of the data is always null"):
        mortice.create_table(tmp_path / "null", data=without_type, record_key="id")
    assert not (tmp_path / "null").exists()
    typed = mortice.create_table(tmp_path / "null", "id string, n int", data=without_type, record_key="id")
    assert typed["n"].null_count == 1
    mixed = pytest.importorskip("pandas").DataFrame({"id": ["a", "b"], "n": [1, "x"]})
    with pytest.raises(mortice.InvalidArgumentError, match="the rows cannot be read"):
        mortice.create_table(tmp_path / "mixed", data=mixed, record_key="id")
    assert mortice.create_table(tmp_path / "generated", data=rows, record_key=None).count() == 2
