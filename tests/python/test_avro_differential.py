"""Random Avro schemas and records that fastavro writes into a log block are decoded as by fastavro."""

import datetime as dt
import io
import math
import pathlib
import tempfile
from decimal import Decimal

import fastavro
from hypothesis import given
from hypothesis import strategies as st

import mortice
from support.exploring import explore
from support.tables.log_writer import avro_block, datum

FIRST, LAST = dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)


def digits(precision, scale):
    """Draws decimals of exactly this scale."""
    largest = 10**precision - 1
    return st.integers(-largest, largest).map(
        lambda unscaled: Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    )


@st.composite
def decimals(draw):
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
    if draw(st.booleans()):
        size = math.ceil((precision * math.log2(10) + 1) / 8) + draw(st.integers(0, 2))
        kind = {
            "type": "fixed",
            "name": f"d{draw(unique)}",
            "size": min(size, 16) if precision <= 38 else size,
            **logical,
        }
    else:
        kind = {"type": "bytes", **logical}
    return kind, digits(precision, scale)


unique = st.uuids().map(lambda value: value.hex)


@st.composite
def named(draw):
    """Draws fixed and enum types."""
    if draw(st.booleans()):
        size = draw(st.integers(1, 20))
        return {"type": "fixed", "name": f"f{draw(unique)}", "size": size}, st.binary(min_size=size, max_size=size)
    symbols = draw(st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,5}", fullmatch=True), min_size=1, max_size=5, unique=True))
    return {"type": "enum", "name": f"e{draw(unique)}", "symbols": symbols}, st.sampled_from(symbols)


def in_zone(zone):
    return st.datetimes(FIRST, LAST, timezones=st.just(zone))


def whole_milliseconds(moments):
    return moments.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))


LOCAL = st.datetimes(FIRST, LAST)
UTC = in_zone(dt.timezone.utc)
PRIMITIVES = st.sampled_from(
    [
        ("boolean", st.booleans()),
        ("int", st.integers(-(2**31), 2**31 - 1)),
        ("long", st.integers(-(2**63), 2**63 - 1)),
        ("float", st.floats(width=32)),
        ("double", st.floats()),
        ("bytes", st.binary(max_size=40)),
        ("string", st.text(max_size=40)),
        ({"type": "string", "logicalType": "uuid"}, st.uuids()),
        ({"type": "int", "logicalType": "date"}, st.dates(FIRST.date(), LAST.date())),
        (
            {"type": "int", "logicalType": "time-millis"},
            st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
        ),
        ({"type": "long", "logicalType": "time-micros"}, st.times()),
        ({"type": "long", "logicalType": "timestamp-millis"}, whole_milliseconds(UTC)),
        ({"type": "long", "logicalType": "timestamp-micros"}, UTC),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, whole_milliseconds(LOCAL)),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, LOCAL),
    ]
)


def nullable(pair):
    """Draws the same type in a union with null, null first or last."""
    kind, values = pair
    return st.sampled_from([(["null", kind], st.none() | values), ([kind, "null"], st.none() | values)])


def nested(children):
    """Draws arrays, maps and records of other types."""
    arrays = children.map(lambda pair: ({"type": "array", "items": pair[0]}, st.lists(pair[1], max_size=4)))
    maps = children.map(
        lambda pair: ({"type": "map", "values": pair[0]}, st.dictionaries(st.text(max_size=8), pair[1], max_size=4))
    )
    return arrays | maps | records(children)


@st.composite
def records(draw, children):
    pairs = draw(st.lists(children, min_size=1, max_size=5))
    kind = {
        "type": "record",
        "name": f"r{draw(unique)}",
        "fields": [{"name": f"c{at}", "type": kind} for at, (kind, _) in enumerate(pairs)],
    }
    return kind, st.fixed_dictionaries({f"c{at}": values for at, (_, values) in enumerate(pairs)})


plain = PRIMITIVES | decimals() | named()
anything = st.recursive(
    plain | plain.flatmap(nullable), lambda inner: nested(inner) | nested(inner).flatmap(nullable), max_leaves=8
)


@st.composite
def blocks(draw):
    schema, values = draw(records(anything))
    return schema, draw(st.lists(values, max_size=12))


@explore(150)
@given(blocks())
def test_decoded_records_equal_fastavros(written):
    schema, values = written
    parsed = fastavro.parse_schema(schema)
    expected = [fastavro.schemaless_reader(io.BytesIO(datum(parsed, value)), parsed, None) for value in values]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, ".f_001.log.1_0-0-0")
        path.write_bytes(avro_block(schema, values, "001"))
        log = mortice.LogFile(path)
        (block,) = log.blocks()
        actual = log.records(block)
    assert (block.record_count, actual.num_rows) == (len(values), len(values))
    assert actual.schema.names == [field["name"] for field in schema["fields"]]
    actual.validate(full=True)
    assert [as_arrow_value(schema, row) for row in expected] == [comparable(row) for row in actual.to_pylist()]


def as_arrow_value(schema, value):
    """Converts a value of fastavro to that of the Arrow column: uuid as a string, times as integers."""
    if isinstance(schema, list):
        if value is None:
            return None
        return as_arrow_value(next(member for member in schema if member != "null"), value)
    kind = schema if isinstance(schema, str) else schema["type"]
    logical = None if isinstance(schema, str) else schema.get("logicalType")
    if kind == "record":
        return {field["name"]: as_arrow_value(field["type"], value[field["name"]]) for field in schema["fields"]}
    if kind == "array":
        return [as_arrow_value(schema["items"], item) for item in value]
    if kind == "map":
        return [(key, as_arrow_value(schema["values"], item)) for key, item in value.items()]
    if logical == "uuid":
        return str(value)
    if logical in ("time-millis", "time-micros"):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        return micros // 1000 if logical == "time-millis" else micros
    return comparable(value)


def comparable(value):
    """Converts values so that NaN equals itself, -0.0 differs from 0.0, and timestamps have no timezone object."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(comparable(item) for item in value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return "UTC", value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return value
