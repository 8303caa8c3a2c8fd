"""Converts Arrow schemas to Spark schemas, exactly.

    Arrow                        Spark                 Arrow                   Spark
    bool                         boolean               date32                  date
    int8 int16 int32 int64       tinyint ... bigint    timestamp[us, UTC]      timestamp
    float32 float64              float, double         timestamp[us]           timestamp_ntz
    utf8                         string                decimal128(p, s)        decimal(p,s)
    binary                       binary                list, struct, map       array, struct, map

Types of Hudi 1.2 that Spark lacks are named in the metadata of their fields, under `hudi_type`, as Hudi's own reader
does: VECTOR is an array of float, double or tinyint, BLOB a struct. VARIANT is Spark's variant (Spark 4), or a struct
of its two binaries.

Spark casts nothing and matches columns by position, so batches must have precisely the types that Spark derives from
its schema. That is `spark_arrow_schema`; `tests/spark` compares it with Spark's `to_arrow_schema`. Every column is
nullable: NOT NULL has no advantage in Spark here, and 4.2 rejects batches that differ from it.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyarrow import types as at

from mortice.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructField, StructType


HUDI_TYPE = "hudi_type"
"""The key in the metadata of Arrow and Spark fields that names a Hudi type (`HoodieSchema.TYPE_METADATA_FIELD`)."""
VARIANT = "VARIANT"


def hudi_type(field: pa.Field) -> str | None:
    """Returns the Hudi type of a field: `VECTOR(4)`, `VECTOR(4, INT8)`, `BLOB`, `VARIANT`. None for any other."""
    name = (field.metadata or {}).get(HUDI_TYPE.encode())
    return None if name is None else name.decode()


def spark_schema(schema: pa.Schema) -> StructType:
    """Returns the Spark schema of an Arrow schema; every column is nullable."""
    from pyspark.sql.types import StructType

    return StructType([_spark_field(field, field.name) for field in schema])


def _spark_field(field: pa.Field, column: str) -> StructField:
    from pyspark.sql.types import StructField

    kind, name = _spark_field_type(field, column), hudi_type(field)
    # Spark 4 has a type for variants.
    metadata = {HUDI_TYPE: name} if name and (name != VARIANT or not _has_variants()) else None
    return StructField(field.name, kind, True, metadata)


def _spark_field_type(field: pa.Field, column: str) -> DataType:
    if hudi_type(field) == VARIANT and _has_variants():
        from pyspark.sql.types import VariantType

        return VariantType()
    return spark_type(field.type, column)


def _has_variants() -> bool:
    """Returns true if this Spark has variants, as Spark 4 does."""
    from pyspark.sql import types as st

    return hasattr(st, "VariantType")


def spark_type(kind: pa.DataType, column: str) -> DataType:
    """Returns the Spark type of an Arrow type; `column` is for the error message."""
    from pyspark.sql import types as st

    if at.is_list(kind):
        return st.ArrayType(_spark_field_type(kind.value_field, column), True)
    if at.is_map(kind):
        return st.MapType(spark_type(kind.key_type, column), _spark_field_type(kind.item_field, column), True)
    if at.is_struct(kind):
        return st.StructType([_spark_field(field, column) for field in kind])
    if at.is_decimal128(kind):
        return st.DecimalType(kind.precision, kind.scale)
    plain: dict[pa.DataType, DataType] = {
        pa.bool_(): st.BooleanType(),
        pa.int8(): st.ByteType(),
        pa.int16(): st.ShortType(),
        pa.int32(): st.IntegerType(),
        pa.int64(): st.LongType(),
        pa.float32(): st.FloatType(),
        pa.float64(): st.DoubleType(),
        pa.string(): st.StringType(),
        pa.binary(): st.BinaryType(),
        pa.date32(): st.DateType(),
        pa.timestamp("us", "UTC"): st.TimestampType(),
        pa.timestamp("us"): st.TimestampNTZType(),
    }
    if kind not in plain:
        raise UnsupportedError(
            f"the column {column!r} has the Arrow type {kind}, for which Spark has no type; leave it out of columns"
        )
    return plain[kind]


def spark_arrow_schema(schema: pa.Schema) -> pa.Schema:
    """Returns the Arrow schema that Spark expects for `schema`, with Spark's names of children and nullability."""
    return pa.schema([pa.field(field.name, _spark_arrow_type(field), True) for field in schema])


def _spark_arrow_type(field: pa.Field) -> pa.DataType:
    kind = field.type
    if hudi_type(field) == VARIANT and _has_variants():
        # Spark identifies variants by this metadata (`ArrowUtils.isVariantField`).
        metadata = pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"})
        return pa.struct([pa.field("value", pa.binary(), nullable=False), metadata])
    if at.is_list(kind):
        return pa.list_(pa.field("element", _spark_arrow_type(kind.value_field), True))
    if at.is_map(kind):
        key = pa.field("key", _spark_arrow_type(kind.key_field), False)
        return pa.map_(key, pa.field("value", _spark_arrow_type(kind.item_field), True))
    if at.is_struct(kind):
        return pa.struct([pa.field(child.name, _spark_arrow_type(child), True) for child in kind])
    return kind


def checked_projection(asked: StructType, table: pa.Schema) -> list[str]:
    """Returns the columns of a schema given by the user. Each must be the table's by name and type.

    NOT NULL is allowed on a column, where it is checked when rows are read, but not within a column.
    """
    known = {field.name: field for field in spark_schema(table)}
    for field in asked:
        if field.name not in known:
            raise InvalidArgumentError(f"the table has no column {field.name!r}; it has {', '.join(known)}")
        if field.dataType != known[field.name].dataType:
            raise InvalidArgumentError(
                f"the column {field.name!r} is {known[field.name].dataType.simpleString()} in the table, "
                f"but the schema given says {field.dataType.simpleString()}; select it and cast it afterwards"
            )
    return [str(name) for name in asked.names]


def with_nullability(target: pa.Schema, asked: StructType) -> pa.Schema:
    """Returns `target` with the nullability of the top-level columns of `asked`, which Spark 4.2 compares."""
    return pa.schema([field.with_nullable(one.nullable) for field, one in zip(target, asked, strict=True)])


def arrow_schema(schema: StructType, large: bool = False) -> pa.Schema:
    """Returns the Arrow schema that Spark itself derives from a Spark schema; timestamps are UTC.

    Spark 4.3 asks for the time zone, and fails without it; earlier releases do not know the argument.

    Raises `UnsupportedError`, naming the column, for a type that Spark does not convert to Arrow.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    wished: dict[str, Any] = {"timezone": "UTC", "prefers_large_types": large}
    known = signature(cast("Callable[..., Any]", to_arrow_schema)).parameters
    given = {name: value for name, value in wished.items() if name in known}
    try:
        return to_arrow_schema(schema, **given)
    except Exception:
        for field in schema:
            _check_arrow_type(field, lambda one: to_arrow_schema(one, **given))
        raise


def _check_arrow_type(field: StructField, convert: Callable[[StructType], pa.Schema]) -> None:
    from pyspark.sql.types import StructType

    try:
        convert(StructType([field]))
    except Exception as error:
        raise UnsupportedError(
            f"column {field.name!r} has the type {field.dataType.simpleString()}, which Spark does not convert to "
            "Arrow; cast it, or leave it out"
        ) from error


def without_arrow_types(df: DataFrame, kept: Sequence[str]) -> DataFrame:
    """Returns the rows without columns that have no type in Arrow, of which Avro has no type either.

    Args:
        df: The rows.
        kept: Columns that are kept in any case.
    """
    from pyspark.sql.types import NullType, StructType

    dropped = []
    for field in df.schema:
        try:
            is_typed = not isinstance(field.dataType, NullType) and bool(arrow_schema(StructType([field])))
        except UnsupportedError:
            is_typed = False
        if not is_typed and field.name not in kept:
            dropped.append(field.name)
    return df.drop(*dropped) if dropped else df


def check_variants(schema: StructType, table: pa.Schema | None) -> None:
    """Refuses variants that would be written as structs: all but those of a column that is one in the table.

    Args:
        schema: The columns of the rows.
        table: The columns of the table; None if it is to be created.

    Raises `UnsupportedError`, naming the column.
    """
    for field in schema:
        name = field.name
        is_stored = table is not None and name in table.names and hudi_type(table.field(name)) == VARIANT
        if has_variant(field.dataType) and not (is_stored and field.dataType.typeName() == "variant"):
            raise UnsupportedError(
                f"column {name!r} has the type {field.dataType.simpleString()}: columns of variants are not created; "
                "write strings (to_json), or create the table with Hudi"
            )


def has_variant(kind: DataType) -> bool:
    """Returns true for variants, and for types that contain one."""
    from pyspark.sql import types as st

    if isinstance(kind, st.StructType):
        return any(has_variant(field.dataType) for field in kind)
    if isinstance(kind, st.ArrayType):
        return has_variant(kind.elementType)
    if isinstance(kind, st.MapType):
        return has_variant(kind.valueType)
    return kind.typeName() == "variant"
