"""Rows whose keys are stored in their partition, in another one, or nowhere, and what Hudi's rule makes of them."""

import pyarrow as pa

import mortice

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
DDL = "id string, city string, fare double, ts bigint"
RECORD_INDEX = {"hoodie.metadata.global.record.level.index.enable": "true"}
STAYS = {"hoodie.simple.index.update.partition.path": "false", "hoodie.bloom.index.update.partition.path": "false"}
MOVES = {"hoodie.record.index.update.partition.path": "true"}
INDEXES = {
    "simple": ({"hoodie.index.type": "SIMPLE"}, False, False),
    "bloom": ({"hoodie.index.type": "BLOOM"}, False, False),
    "bucket": ({"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}, False, False),
    "global simple": ({"hoodie.index.type": "GLOBAL_SIMPLE"}, True, True),
    "global simple, stays": ({"hoodie.index.type": "global_simple"} | STAYS, True, False),
    "global bloom": ({"hoodie.index.type": "GLOBAL_BLOOM"}, True, True),
    "global bloom, stays": ({"hoodie.index.type": "GLOBAL_BLOOM"} | STAYS, True, False),
    "record index": ({"hoodie.index.type": "RECORD_INDEX"} | RECORD_INDEX, True, False),
    "record index, moves": ({"hoodie.index.type": "RECORD_INDEX"} | RECORD_INDEX | MOVES, True, True),
    "global record level": ({"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"} | RECORD_INDEX, True, False),
    "record index that is not built": ({"hoodie.index.type": "RECORD_INDEX"}, True, True),
}
"""Options, whether a key is unique in the table, and whether a row moves to the partition that it says."""
KINDS = {
    "mor-9": {"ordering": "ts"},
    "cow-9": {"ordering": "ts", "table_type": "COPY_ON_WRITE"},
    "mor-9 by commit time": {},
    "cow-9 by commit time": {"table_type": "COPY_ON_WRITE"},
    "mor-8": {"ordering": "ts", "version": 8},
    "mor-6": {"ordering": "ts", "version": 6},
    "cow-6": {"ordering": "ts", "version": 6, "table_type": "COPY_ON_WRITE"},
}
STORED = {("same", "oslo"): 1.0, ("other", "oslo"): 1.0, ("kept", "oslo"): 1.0}
DELETED = [("back", "oslo"), ("elsewhere", "oslo")]
GIVEN = [("same", "oslo"), ("other", "rome"), ("new", "rome"), ("back", "oslo"), ("elsewhere", "rome")]
GIVEN_FARE = 9.0


CASES = sorted(
    {(index, "mor-9") for index in INDEXES}
    | {("record index", kind) for kind in KINDS}
    | {("global simple, stays", "mor-9 by commit time"), ("simple", "cow-9"), ("bucket", "cow-9 by commit time")}
    | {("global simple", "cow-6")}
)
"""Each index with the kind of table that has most rules, and each kind with a record index."""


def arrow(places, fare, ts):
    rows = [{"id": key, "city": city, "fare": fare, "ts": ts} for key, city in places]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def given(leaving_out=()):
    """The rows of a write."""
    return arrow([place for place in GIVEN if place[0] not in leaving_out], GIVEN_FARE, 5)


def tuples(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def stored_table(path, index, kind):
    """A table with the stored rows, and keys that were deleted."""
    options, *_ = INDEXES[index]
    table = mortice.create_table(path, SCHEMA, name="t", record_key="id", partition_by="city", **KINDS[kind])
    table.upsert(arrow([*STORED, *DELETED], 1.0, 1), options)
    table.delete(arrow(DELETED, 1.0, 1), options)
    return table


def rows_of(uri):
    """The fare by key and city. Raises if a key is there twice in one partition."""
    rows = mortice.Table(uri).snapshot(columns=["id", "city", "fare"]).to_arrow().to_pylist()
    found = {(row["id"], row["city"]): row["fare"] for row in rows}
    assert len(found) == len(rows), rows
    return found


def places_upserted(index):
    """The rows after an upsert."""
    _, is_global, moves = INDEXES[index]
    places = {("same", "oslo"), ("new", "rome"), ("back", "oslo"), ("elsewhere", "rome")}
    places.add(("other", "rome" if moves or not is_global else "oslo"))
    left = {} if is_global else {("other", "oslo"): 1.0}
    return {("kept", "oslo"): 1.0} | left | dict.fromkeys(places, GIVEN_FARE)


def places_inserted(index, leaving_out=()):
    """The rows after an insert of those that match no stored row by key and partition; none if that is refused."""
    _, is_global, _ = INDEXES[index]
    new = {place for place in GIVEN if place not in STORED and place[0] not in leaving_out}
    if is_global and ("other", "rome") in new:
        return None
    return STORED | dict.fromkeys(new, GIVEN_FARE)


def places_deleted(index):
    """The rows after a delete of the given keys."""
    _, is_global, _ = INDEXES[index]
    gone = {("same", "oslo")} | ({("other", "oslo")} if is_global else set())
    return {place: fare for place, fare in STORED.items() if place not in gone}
