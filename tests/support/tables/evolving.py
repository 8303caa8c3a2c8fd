"""Tables whose schema changes from commit to commit, and their expected rows, computed in plain Python.

A column has an id. With schema on read (`by="id"`) a renamed column keeps it, and a column that is dropped and added
again has a new one; with schema on write (`by="name"`) a column is identified by its name, in either case. The rows of
a file are read with the last schema.
"""

import datetime as dt
import json
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from support.oracle import Merging
from support.oracle.model import COMMIT_TIME, META
from support.tables.log_writer import avro_block, parquet_block
from support.tables.table_writer import (
    NAME,
    Partitioning,
    base_file_name,
    completion,
    instant,
    log_file_name,
    properties,
    with_meta,
    write_commit,
)

DECIMALS = {"decimal": (10, 2), "wide decimal": (14, 4)}
KEYS = tuple(f"k{number}" for number in range(8))
NAMES = ("a", "b", "c", "d")

# The types that a column can change to. Strings of one column are all dates or all numbers, so that they can be cast.
TYPE_CHANGES = {
    "int": ("long", "float", "double", "string", "decimal"),
    "long": ("float", "double", "string", "decimal"),
    "float": ("double", "string", "decimal"),
    "double": ("string", "decimal"),
    "date": ("string",),
    "decimal": ("wide decimal", "string"),
    "wide decimal": ("string",),
    "string": ("bytes", "date", "decimal"),
    "bytes": ("string",),
    "boolean": (),
    "timestamp": (),
}
SCALARS = tuple(TYPE_CHANGES)


@dataclass(frozen=True)
class Column:
    """A column, or a field of a struct."""

    id: int
    name: str
    kind: str
    """A scalar, or `struct`, `list` or `map`; the last two hold structs."""
    fields: tuple["Column", ...] = ()
    been: tuple[str, ...] = ()
    """The scalar types that it has had."""
    dates: bool = False
    """Whether its strings are dates."""


@dataclass(frozen=True)
class Write:
    """Rows by key. Each is a dict by column id, with the schema of the commit."""

    columns: tuple[Column, ...]
    rows: dict
    parquet: bool = False
    began_before: bool = False
    """The write began before the last schema change, and uses the schema before it."""


@dataclass
class History:
    """Schemas and writes in the order of their instants. A schema without rows is an `ALTER TABLE`."""

    by: str
    version: int
    steps: list = field(default_factory=list)

    @property
    def columns(self):
        """The columns of the last schema."""
        last = self.steps[-1]
        return last.columns if isinstance(last, Write) else last


# --- drawing


def columns_of(draw, names, ids, nested):
    return tuple(drawn_column(draw, name, ids, nested) for name in names)


def drawn_column(draw, name, ids, nested):
    kinds = SCALARS + (("struct", "list", "map") if nested else ())
    kind = draw(st.sampled_from(kinds))
    fields = columns_of(draw, NAMES[: draw(st.integers(1, 2))], ids, False) if kind not in SCALARS else ()
    return Column(next(ids), name, kind, fields, (kind,), draw(st.booleans()))


def changed(draw, columns, ids, by, nested=True):
    """Returns the columns after one change: a rename, a drop, an addition, a new order, a new type, a name in another
    case, or a change of a nested field."""
    free = [name for name in (*NAMES, "e", "f") if all(one.name.lower() != name for one in columns)]
    at = draw(st.integers(0, len(columns) - 1))
    column, others = columns[at], columns[:at] + columns[at + 1 :]
    put = lambda one: (*columns[:at], one, *columns[at + 1 :])  # noqa: E731
    change = draw(st.sampled_from(("rename", "drop", "add", "move", "type", "type", "case", "inside")))
    if change == "rename" and free and by == "id":
        return put(replace(column, name=draw(st.sampled_from(free))))
    if change == "drop" and others and by == "id":
        return others
    if change == "case" and by == "name":
        return put(replace(column, name=column.name.swapcase()))
    if change == "add" and free:
        added = drawn_column(draw, draw(st.sampled_from(free)), ids, nested)
        return (*columns[:at], added, *columns[at:])
    if change == "move":
        return draw(st.permutations(columns).map(tuple))
    if change == "type" and column.kind in SCALARS:
        wider = [
            kind for kind in TYPE_CHANGES[column.kind] if all(is_readable_as(one, kind, column) for one in column.been)
        ]
        if wider:
            kind = draw(st.sampled_from(wider))
            return put(replace(column, kind=kind, been=(*column.been, kind)))
    if change == "inside" and column.fields:
        return put(replace(column, fields=changed(draw, column.fields, ids, by, nested=False)))
    return columns


def is_readable_as(old, new, column):
    """Whether files of the old type can be read as the new one. Strings can be cast only if they are dates or
    numbers."""
    if old == new:
        return True
    if old in {"string", "bytes"} and new in {"date", "decimal"}:
        return old == "string" and column.dates == (new == "date")
    return new in TYPE_CHANGES[old]


VALUES = {
    "int": st.sampled_from((0, 7, -3, 40_000_000)),
    "long": st.sampled_from((0, -1, 12_345, 80_000_001)),
    "float": st.sampled_from((0.5, -1.25, 0.1, 1234.5)),
    "double": st.sampled_from((0.5, -2.675, 0.1, 1234.125)),
    "boolean": st.booleans(),
    "date": st.sampled_from((dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1969, 12, 31))),
    "timestamp": st.sampled_from((dt.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=dt.timezone.utc),)),
    "decimal": st.sampled_from(("1.25", "-0.05", "9000000.00")).map(Decimal),
    "wide decimal": st.sampled_from(("1.2500", "-0.0625")).map(Decimal),
}
DATES = ("2024-02-29", "1969-12-31")
NUMBERS = ("1.005", "-7", "12.34")


def value_of(draw, column):
    if draw(st.integers(0, 4)) == 0:
        return None
    if column.kind in {"string", "bytes"}:
        text = draw(st.sampled_from(DATES if column.dates else NUMBERS))
        return text if column.kind == "string" else text.encode()
    if column.kind in VALUES:
        value = draw(VALUES[column.kind])
        return float(np.float32(value)) if column.kind == "float" else value
    structs = lambda: {one.id: value_of(draw, one) for one in column.fields}  # noqa: E731
    if column.kind == "struct":
        return structs()
    if column.kind == "list":
        return [structs() for _ in range(draw(st.integers(0, 2)))]
    return {key: structs() for key in ("x", "y")[: draw(st.integers(0, 2))]}


def row_of(draw, columns):
    return {column.id: value_of(draw, column) for column in columns}


@st.composite
def histories(draw, by):
    """Draws a base file, then schema changes and log blocks in any order."""
    ids = iter(range(10, 1000))
    columns = columns_of(draw, NAMES[: draw(st.integers(1, 3))], ids, True)
    history = History(by, draw(st.sampled_from((6, 9))))
    keys = KEYS if draw(st.integers(0, 5)) else ()
    history.steps.append(Write(columns, {key: row_of(draw, columns) for key in keys}))
    for _ in range(draw(st.integers(1, 3))):
        before = columns
        for _ in range(draw(st.integers(0, 3))):
            before, columns = columns, changed(draw, columns, ids, by)
            if by == "id":
                history.steps.append(columns)
        late = by == "id" and not isinstance(history.steps[-1], Write) and draw(st.integers(0, 4)) == 0
        keys = draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=4))
        rows = {key: row_of(draw, before if late else columns) for key in keys}
        history.steps.append(Write(before if late else columns, rows, draw(st.booleans()), late))
        if late:
            history.steps.append(columns)
    if by == "id":
        for _ in range(draw(st.integers(0, 2))):
            columns = changed(draw, columns, ids, by)
            history.steps.append(columns)
    return history


# --- expected rows


def expected(history):
    """Returns the expected rows by key: the last write of each key, with the last schema."""
    rows = {}
    for step in history.steps:
        if isinstance(step, Write):
            # Columns are matched by id: a name of one schema may be another column's in the next.
            known = {one.id: one for one in flat(step.columns)}
            for key, row in step.rows.items():
                rows[key] = read_struct(row, history.columns, known)
    return rows


def flat(columns):
    for column in columns:
        yield column
        yield from flat(column.fields)


def read_struct(row, columns, known):
    return {
        one.name: read_value(row.get(one.id), known[one.id], one, known) if one.id in known else None for one in columns
    }


def read_value(value, old, new, known):
    if value is None:
        return None
    if new.kind == "struct":
        return read_struct(value, new.fields, known)
    if new.kind == "list":
        return [read_struct(item, new.fields, known) for item in value]
    if new.kind == "map":
        return [(key, read_struct(item, new.fields, known)) for key, item in value.items()]
    return read_scalar(value, old.kind, new.kind)


def read_scalar(value, old, new):
    """Casts as `HoodieAvroUtils.rewritePrimaryType`: through strings, except for widened integers."""
    if new in {old, "long"}:
        return value
    text = text_of(value, old)
    if new == "string":
        return text
    if new == "bytes":
        return text.encode()
    if new == "date":
        return dt.date.fromisoformat(text)
    if new in DECIMALS:
        return Decimal(text).quantize(Decimal(1).scaleb(-DECIMALS[new][1]), ROUND_HALF_UP)
    return float(np.float32(value)) if new == "float" else float(text)


def text_of(value, kind):
    if kind == "bytes":
        return value.decode()
    return str(np.float32(value)) if kind == "float" else str(value)


# --- writing


def write_history(folder, history):
    """Writes the table and returns its path as a string."""
    merging = Merging((), mode=COMMIT_TIME)
    place = folder / ".hoodie"
    timeline = place if history.version < 8 else place / "timeline"
    timeline.mkdir(parents=True)
    place.joinpath("hoodie.properties").write_text(
        properties(merging, history.version, Partitioning()), encoding="utf-8"
    )
    folder.joinpath(".hoodie_partition_metadata").write_text(f"commitTime={instant(0)}\npartitionDepth=0\n")
    schemas = [internal_schema(history.steps[0].columns, 0)]
    for number, step in enumerate(history.steps):
        columns = step.columns if isinstance(step, Write) else step
        extra, paths = {"schema": json.dumps(avro_schema(columns))}, {}
        if isinstance(step, Write):
            paths = write_files(folder, history, number, step)
        else:
            schemas.insert(0, internal_schema(columns, int(instant(number))))
        if len(schemas) > 1:
            late = isinstance(step, Write) and step.began_before
            extra["latest_schema"] = json.dumps(schemas[1 if late else 0])
            write_schema_history(place / ".schema", history.version, number, schemas)
        write_commit(timeline, history.version, merging, number, paths, extra=extra)
    return str(folder)


def write_files(folder, history, number, write):
    if number == 0 and not write.rows:
        return {}
    rows = [(with_meta({}, key, number, place), row) for place, (key, row) in enumerate(write.rows.items())]
    if number == 0:
        # Two rows in a row group, so that row groups can be pruned.
        pq.write_table(arrow_table(write.columns, rows), folder / base_file_name(), row_group_size=2)
        return {"": base_file_name()}
    name = log_file_name(history.version, number, not history.steps[0].rows)
    schema = avro_schema(write.columns, with_meta_columns=True)
    if write.parquet:
        content = parquet_block(schema, arrow_table(write.columns, rows), instant(number))
    else:
        records = [meta | named(row, write.columns) for meta, row in rows]
        content = avro_block(schema, records, instant(number))
    folder.joinpath(name).write_bytes(content)
    return {"": name}


def write_schema_history(place, version, number, schemas):
    place.mkdir(exist_ok=True)
    times = instant(number) if version < 8 else f"{instant(number)}_{completion(number)}"
    place.joinpath(f"{times}.schemacommit").write_text(json.dumps({"schemas": schemas}), encoding="utf-8")
    place.joinpath(f"{instant(number)}.schemacommit.inflight").touch()


def named(row, columns):
    """Returns a row with the column names of the write."""
    return {one.name: named_value(row[one.id], one) for one in columns}


def named_value(value, column):
    if value is None or column.kind in SCALARS:
        return value
    if column.kind == "struct":
        return named(value, column.fields)
    if column.kind == "list":
        return [named(item, column.fields) for item in value]
    return {key: named(item, column.fields) for key, item in value.items()}


def avro_schema(columns, with_meta_columns=False):
    fields = [{"name": name, "type": ["null", "string"], "default": None} for name in META if with_meta_columns]
    fields += [avro_field(one, "") for one in columns]
    return {"type": "record", "name": f"{NAME}_record", "fields": fields}


def avro_field(column, path):
    return {"name": column.name, "type": ["null", avro_type(column, f"{path}{column.name}_")], "default": None}


def avro_type(column, path):
    if column.kind in DECIMALS:
        precision, scale = DECIMALS[column.kind]
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    logical = {"date": ("int", "date"), "timestamp": ("long", "timestamp-micros")}
    if column.kind in logical:
        kind, name = logical[column.kind]
        return {"type": kind, "logicalType": name}
    if column.kind in SCALARS:
        return column.kind
    record = {"type": "record", "name": f"{path}record", "fields": [avro_field(one, path) for one in column.fields]}
    return {"struct": record, "list": {"type": "array", "items": record}, "map": {"type": "map", "values": record}}[
        column.kind
    ]


ARROW = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "bytes": pa.binary(),
}


def arrow_type(column):
    if column.kind in DECIMALS:
        return pa.decimal128(*DECIMALS[column.kind])
    if column.kind in ARROW:
        return ARROW[column.kind]
    struct = pa.struct([(one.name, arrow_type(one)) for one in column.fields])
    return {"struct": struct, "list": pa.list_(struct), "map": pa.map_(pa.string(), struct)}[column.kind]


def arrow_table(columns, rows):
    arrays = {name: pa.array([meta[name] for meta, _ in rows], pa.string()) for name in META}
    for one in columns:
        values = [named_value(row[one.id], one) for _, row in rows]
        if one.kind == "map":
            values = [value and list(value.items()) if value is not None else None for value in values]
        arrays[one.name] = pa.array(values, arrow_type(one))
    return pa.table(arrays)


def internal_schema(columns, version):
    """Returns an `InternalSchema` as `SerDeHelper` writes it."""
    meta = [{"id": number, "name": name, "optional": True, "type": "string"} for number, name in enumerate(META)]
    fields = [*meta, *map(internal_field, columns)]
    return {"max_column_id": 9999, "version_id": version, "type": "record", "fields": fields}


def internal_field(column):
    return {"id": column.id, "name": column.name, "optional": True, "type": internal_type(column)}


def internal_type(column):
    if column.kind in DECIMALS:
        return "decimal_bytes({}, {})".format(*DECIMALS[column.kind])
    if column.kind in SCALARS:
        return "binary" if column.kind == "bytes" else column.kind
    record = {"type": "record", "fields": [*map(internal_field, column.fields)]}
    # Items have ids of their own, which no reader uses.
    items = 1000 * column.id
    if column.kind == "list":
        return {"type": "array", "element_id": items, "element": record, "element_optional": True}
    if column.kind == "map":
        ids = {"key_id": items, "value_id": items + 1}
        return {"type": "map", "key": "string", "value": record, "value_optional": True, **ids}
    return record


ID, FIRST_NAME, PRICE = (
    Column(number, name, kind)
    for number, name, kind in ((10, "id", "int"), (11, "name", "string"), (12, "price", "int"))
)
RENAMED = (ID, Column(11, "full_name", "string"), Column(12, "price", "long"))


def renamed_table(folder, version=9, more=()):
    """Writes eight rows in a base file, then a rename and a widening, and one row in the log. Returns the path and the
    expected rows."""
    rows = {f"k{number}": {10: number, 11: f"n{number}", 12: number} for number in range(8)}
    late = {"k7": {10: 7, 11: "late", 12: 5_000_000_000}}
    history = History("id", version, [Write((ID, FIRST_NAME, PRICE), rows), RENAMED, Write(RENAMED, late), *more])
    return write_history(folder / "t", history), expected(history)
