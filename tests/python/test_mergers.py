"""User-defined merge functions: their input, their output, and where they run."""

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import CUSTOM
from support.tables.table_writer import PACKAGE, Slice, with_meta, write_table

CLASS = "com.example.HigherFarePayload"
FIELDS = (Field("id", "string"), Field("fare", "long"), Field("trips", "long"), Field("ts", "long"))
MERGING = Merging(FIELDS, CUSTOM, ("ts",), "AWSDmsAvroPayload")


def row(key, commit, fare, trips=1):
    return with_meta({"id": key, "fare": fare, "trips": trips, "ts": commit}, key, commit, f"{key}{fare}")


def add_up(older, newer):
    """Returns the newer row with fares and trips of both added. Keys with 0 trips are dropped."""
    names = newer.schema.names
    columns = dict(zip(names, newer.columns, strict=True))
    for name in ("fare", "trips"):
        columns[name] = pc.add(older[name], newer[name])
    return pa.RecordBatch.from_pydict(columns, schema=newer.schema), pc.not_equal(columns["trips"], 0)


BASE = (row("a", 0, 1), row("b", 0, 10), row("c", 0, 100), row("d", 0, 7), row("e", 0, 8))
LOG = (
    (DataBlock((row("a", 1, 2), row("a", 1, 4), row("c", 1, 0, -1), row("n", 1, 5))),),
    (DeleteBlock((("b", Value("Long", 0)), ("d", Value("Long", 0)))),),
    (DataBlock((row("a", 3, 8), row("n", 3, 6), row("b", 3, 20))),),
)
# After its delete, the log of b starts again, and is merged with the base row.
EXPECTED = {"a": (15, 4), "b": (30, 2), "e": (8, 1), "n": (11, 2)}


@pytest.fixture
def path(tmp_path):
    place = write_table(tmp_path, MERGING, 6, Slice(BASE, LOG))
    properties = Path(place, ".hoodie", "hoodie.properties")
    text = properties.read_text(encoding="utf-8").replace(f"{PACKAGE}AWSDmsAvroPayload", CLASS)
    lines = [line for line in text.splitlines() if "checksum" not in line]
    properties.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


@pytest.fixture
def registered():
    yield lambda merge, name=CLASS: mortice.register_merger(name, merge)
    mortice.register_merger(CLASS, None)


def fares(table):
    return {row["id"]: (row["fare"], row["trips"]) for row in table.to_pylist()}


def test_without_a_merger_the_error_names_the_payload_class(path):
    with pytest.raises(mortice.UnsupportedError, match=rf"{CLASS}.*register_merger"):
        mortice.Table(path).snapshot()


@pytest.mark.parametrize("semantics", ["1.x", "0.x"])
@pytest.mark.parametrize("limit", [None, 1])
def test_records_of_a_key_are_merged_from_the_oldest_to_the_newest(path, registered, semantics, limit):
    registered(add_up)
    table = mortice.Table(path, read_options=mortice.ReadOptions(semantics=semantics, memory_limit=limit))
    assert fares(table.snapshot().to_arrow()) == EXPECTED
    some = table.snapshot(columns=["fare", "id"], filters=[("fare", ">", 10)]).to_arrow()
    assert some.schema.names == ["fare", "id"]
    assert sorted(some["fare"].to_pylist()) == [11, 15, 30]
    assert table.snapshot().count() == len(EXPECTED)


def test_it_is_called_for_many_keys_at_once_with_all_columns(path, registered):
    calls = []

    def recorded(older, newer):
        calls.append((older.num_rows, older.schema.names))
        assert older["id"].equals(newer["id"])
        return add_up(older, newer)

    registered(recorded)
    table = mortice.Table(path)
    table.snapshot(columns=["id"]).to_arrow()
    # The first two records of a, its third, then a, b and c with the base; finally the new key's two records.
    assert sum(rows for rows, _ in calls) == 6
    assert len(calls) < 6
    assert all(names == table.schema.names for _, names in calls)


def test_deleted_keys_can_be_returned(path, registered):
    registered(add_up)
    rows = mortice.Table(path).snapshot(emit_deletes=True).to_arrow().to_pylist()
    assert {row["id"] for row in rows if row["_hoodie_operation"] == "D"} == {"c", "d"}
    assert len(rows) == len(EXPECTED) + 2


def test_results_may_have_any_column_order_and_castable_types(path, registered):
    def reordered(older, newer):
        rows, keep = add_up(older, newer)
        names = rows.schema.names[::-1]
        columns = {name: rows[name] for name in names} | {"trips": rows["trips"].cast(pa.int32())}
        return pa.RecordBatch.from_pydict({name: columns[name] for name in names}), keep.to_pylist()

    registered(reordered)
    assert fares(mortice.Table(path).snapshot().to_arrow()) == EXPECTED


@pytest.mark.parametrize(
    ("merge", "message"),
    [
        (lambda _older, newer: newer, r"return \(rows, mask\), got RecordBatch"),
        (lambda _older, newer: (newer.slice(1), [True] * (newer.num_rows - 1)), "pairs of rows"),
        (lambda _older, newer: (newer, [True]), "length"),
        (lambda _older, newer: (newer, [None] * newer.num_rows), "nulls"),
        (lambda _older, newer: (newer.select(["id"]), [True] * newer.num_rows), "return the table's columns"),
        (lambda _older, _newer: 1 // 0, "ZeroDivisionError"),
    ],
    ids=["no mask", "too few rows", "too short a mask", "nulls in the mask", "too few columns", "an exception"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_mergers_name_the_problem(path, registered, merge, message, threads):
    registered(merge)
    with pytest.raises(mortice.InvalidArgumentError, match=message):
        mortice.Table(path, read_options=mortice.ReadOptions(threads=threads)).snapshot().to_arrow()


def test_it_is_pickled_with_the_split(path, registered):
    registered(lambda *records: add_up(*records))  # noqa: PLW0108
    (split,) = mortice.Table(path).snapshot().splits()
    mortice.register_merger(CLASS, None)
    for there in (mortice.Split.from_bytes(split.to_bytes(), functions=True), pickle.loads(pickle.dumps(split))):
        assert fares(there.to_reader().read_all()) == EXPECTED


def test_only_functions_with_names_can_be_registered():
    with pytest.raises(mortice.InvalidArgumentError, match="function"):
        mortice.register_merger(CLASS, 5)
    with pytest.raises(mortice.InvalidArgumentError, match="name"):
        mortice.register_merger("", add_up)


def test_dropping_a_stream_midway_does_not_deadlock(path, registered):
    """Reader threads call Python; the thread that drops the stream must not hold the lock for which they wait."""
    registered(add_up)
    for _ in range(20):
        reader = mortice.Table(path, read_options=mortice.ReadOptions(threads=2, batch_rows=1)).snapshot().to_reader()
        reader.read_next_batch()
        del reader


@pytest.mark.parametrize("rows", [1, 2], ids=["stored and new", "two of one write"])
def test_writes_do_not_use_them_and_say_so(tmp_path, registered, rows):
    schema = pa.schema([("id", pa.string()), ("fare", pa.int64())])
    table = mortice.create_table(
        tmp_path / "t", schema, name="t", record_key="id", ordering="fare", table_type="COPY_ON_WRITE", version=6
    )
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text(encoding="utf-8").splitlines() if "checksum" not in line]
    lines = [line for line in lines if "payload.class" not in line]
    properties.write_text("\n".join([*lines, f"hoodie.compaction.payload.class={CLASS}"]) + "\n", encoding="utf-8")
    given = pa.table({"id": ["a"] * rows, "fare": [1, 2][:rows]})
    registered(add_up)
    if rows == 1:
        table.upsert(given)
    with pytest.raises(mortice.UnsupportedError, match=rf"{CLASS} is not supported; writes do not use registered"):
        table.upsert(given)
