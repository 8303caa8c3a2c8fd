"""The columns that a catalog has: Arrow types as those of Hive and as Spark's JSON, and which of them may be null.

Queries return all columns as nullable, as Hudi's do; the schema in a catalog says what the writer said, by the Avro
schema that commits carry.
"""

from __future__ import annotations

import json

import pyarrow as pa

from mortice.errors import UnsupportedError

_HIVE = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "int"),
    (pa.types.is_int16, "int"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date32, "date"),
)
_SPARK = {"int": "integer", "bigint": "long"}
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def hive_type(kind: pa.DataType, timestamps: bool) -> str:
    """Returns Hive's name of a type. Raises `UnsupportedError` if it has none.

    Args:
        kind: The type of a column.
        timestamps: False returns `bigint` for timestamps, as Hudi's tool does by default.
    """
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        # Hudi's tool knows microseconds only: milliseconds remain numbers.
        return "timestamp" if timestamps and kind.unit == "us" else "bigint"
    if pa.types.is_time(kind):
        return "bigint" if pa.types.is_time64(kind) else "int"
    if any(is_list(kind) for is_list in _LISTS):
        return f"array<{hive_type(kind.value_type, timestamps)}>"
    if pa.types.is_map(kind):
        return f"map<{hive_type(kind.key_type, timestamps)},{hive_type(kind.item_type, timestamps)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{one.name}:{hive_type(one.type, timestamps)}' for one in kind)}>"
    for matches, name in _HIVE:
        if matches(kind):
            return name
    raise UnsupportedError(f"a catalog has no type for {kind}")


def spark_schema(fields: list[pa.Field]) -> str:
    """Returns the columns as Spark's JSON, in the spelling of Hudi's tool (`Parquet2SparkSchemaUtils`)."""
    return _struct(fields)


def _struct(fields: list[pa.Field]) -> str:
    columns = (
        f'{{"name":{json.dumps(one.name, ensure_ascii=False)},"type":{_spark_type(one.type)},'
        f'"nullable":{_json(one.nullable)},"metadata":{{}}}}'
        for one in fields
    )
    return f'{{"type":"struct","fields":[{",".join(columns)}]}}'


def _spark_type(kind: pa.DataType) -> str:
    if any(is_list(kind) for is_list in _LISTS):
        item = kind.value_field
        return f'{{"type":"array", "elementType":{_spark_type(item.type)},"containsNull":{_json(item.nullable)}}}'
    if pa.types.is_map(kind):
        key, value = _spark_type(kind.key_type), _spark_type(kind.item_type)
        nullable = _json(kind.item_field.nullable)
        return f'{{"type":"map", "keyType":{key},"valueType":{value},"valueContainsNull":{nullable}}}'
    if pa.types.is_struct(kind):
        return _struct(list(kind))
    if pa.types.is_timestamp(kind):
        return '"timestamp"'
    name = hive_type(kind, timestamps=True)
    return json.dumps(_SPARK.get(name, name))


def _json(value: bool) -> str:
    return "true" if value else "false"


def with_nullability(schema: pa.Schema, avro: str | None) -> pa.Schema:
    """Returns a schema whose fields are nullable where those of an Avro schema are; others stay as they are.

    Args:
        schema: The columns.
        avro: The Avro schema, JSON; None leaves all columns as they are.
    """
    if not avro:
        return schema
    return pa.schema(_fields(list(schema), json.loads(avro)))


def _fields(fields: list[pa.Field], record: object) -> list[pa.Field]:
    described = record.get("fields") if isinstance(record, dict) else None
    types = {one["name"]: one["type"] for one in described or []}
    return [_field(one, types[one.name]) if one.name in types else one for one in fields]


def _field(field: pa.Field, avro: object) -> pa.Field:
    nullable = isinstance(avro, list) and "null" in avro
    if isinstance(avro, list):
        others = [one for one in avro if one != "null"]
        avro = others[0] if len(others) == 1 else None
    return pa.field(field.name, _type(field.type, avro), nullable)


def _type(kind: pa.DataType, avro: object) -> pa.DataType:
    if not isinstance(avro, dict):
        return kind
    if pa.types.is_struct(kind):
        return pa.struct(_fields(list(kind), avro))
    if pa.types.is_list(kind) and "items" in avro:
        return pa.list_(_field(kind.value_field, avro["items"]))
    if pa.types.is_map(kind) and "values" in avro:
        return pa.map_(kind.key_field, _field(kind.item_field, avro["values"]))
    return kind
