"""The Arrow types of Avro schemas, for contenders that return Python rows: without them a map would be inferred as a
struct."""

import pyarrow as pa

PLAIN = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
}
LOGICAL = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
}


def arrow_type(schema):
    """Returns the Arrow type of an Avro schema, parsed from JSON; a union is a nullable type."""
    if isinstance(schema, list):
        (one,) = [branch for branch in schema if branch != "null"]
        return arrow_type(one)
    if isinstance(schema, str):
        return PLAIN[schema]
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    if kind == "record":
        return pa.struct([(field["name"], arrow_type(field["type"])) for field in schema["fields"]])
    if kind == "array":
        return pa.list_(arrow_type(schema["items"]))
    if kind == "map":
        return pa.map_(pa.string(), arrow_type(schema["values"]))
    return LOGICAL[logical] if logical in LOGICAL else arrow_type(kind)


def table(schema, rows):
    """Converts rows, as dicts, of a record schema to a table."""
    return pa.Table.from_pylist(rows, schema=pa.schema(list(arrow_type(schema))))
