"""Which columns of a table may be null, by the Avro schema that its commits carry.

Queries return all columns as nullable, as Hudi's do; the schema in a catalog says what the writer said.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

__all__ = ["with_nullability"]


def with_nullability(schema: pa.Schema, avro: str | None) -> pa.Schema:
    """Returns a schema whose fields are nullable where those of an Avro schema are; others stay as they are.

    Args:
        schema: The columns.
        avro: The Avro schema, JSON; None leaves all columns as they are.
    """
    if not avro:
        return schema
    return pa.schema(_fields(list(schema), json.loads(avro)))


def _fields(fields: list[pa.Field], record: Any) -> list[pa.Field]:
    described = record.get("fields") if isinstance(record, dict) else None
    types = {one["name"]: one["type"] for one in described or []}
    return [_field(one, types[one.name]) if one.name in types else one for one in fields]


def _field(field: pa.Field, avro: Any) -> pa.Field:
    nullable = isinstance(avro, list) and "null" in avro
    if isinstance(avro, list):
        others = [one for one in avro if one != "null"]
        avro = others[0] if len(others) == 1 else None
    return pa.field(field.name, _type(field.type, avro), nullable)


def _type(kind: pa.DataType, avro: Any) -> pa.DataType:
    if not isinstance(avro, dict):
        return kind
    if pa.types.is_struct(kind):
        return pa.struct(_fields(list(kind), avro))
    if pa.types.is_list(kind) and "items" in avro:
        return pa.list_(_field(kind.value_field, avro["items"]))
    if pa.types.is_map(kind) and "values" in avro:
        return pa.map_(kind.key_field, _field(kind.item_field, avro["values"]))
    return kind
