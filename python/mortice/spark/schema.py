"""Arrow schemas and Spark schemas, exactly.

    Arrow                        Spark                 Arrow                   Spark
    bool                         boolean               date32                  date
    int8 int16 int32 int64       tinyint … bigint      timestamp[us, UTC]      timestamp
    float32 float64              float, double         timestamp[us]           timestamp_ntz
    utf8                         string                decimal128(p, s)        decimal(p,s)
    binary                       binary                list, struct, map       array, struct, map

Spark casts nothing and matches columns by position, so batches must have precisely the types that Spark derives from
its own schema: `spark_arrow_schema` is that, and `tests/spark` holds it equal to Spark's `to_arrow_schema`. Every
column is nullable: Spark gains nothing from NOT NULL here, and 4.2 refuses batches that differ from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types as at

from mortice.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of an Arrow schema; every column nullable."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, spark_type(field.type, field.name), True) for field in schema])


def spark_type(kind: pa.DataType, column: str) -> DataType:
    """The Spark type of an Arrow type; `column` is for the message."""
    from pyspark.sql import types as st

    if at.is_list(kind):
        return st.ArrayType(spark_type(kind.value_type, column), True)
    if at.is_map(kind):
        return st.MapType(spark_type(kind.key_type, column), spark_type(kind.item_type, column), True)
    if at.is_struct(kind):
        return st.StructType([st.StructField(field.name, spark_type(field.type, column), True) for field in kind])
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
    """The Arrow schema that Spark expects for `schema`: the names of children and the nullability are Spark's."""
    return pa.schema([pa.field(field.name, _spark_arrow_type(field.type), True) for field in schema])


def _spark_arrow_type(kind: pa.DataType) -> pa.DataType:
    if at.is_list(kind):
        return pa.list_(pa.field("element", _spark_arrow_type(kind.value_type), True))
    if at.is_map(kind):
        key = pa.field("key", _spark_arrow_type(kind.key_type), False)
        return pa.map_(key, pa.field("value", _spark_arrow_type(kind.item_type), True))
    if at.is_struct(kind):
        return pa.struct([pa.field(field.name, _spark_arrow_type(field.type), True) for field in kind])
    return kind


def checked_projection(asked: StructType, table: pa.Schema) -> list[str]:
    """The columns that a schema given by the user names; each must be the table's by name and type.

    NOT NULL on a column is allowed (it is checked as the rows are read), not within a column.
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
    """`target` with the nullability of the top-level columns of `asked`: Spark 4.2 compares it."""
    return pa.schema([field.with_nullable(one.nullable) for field, one in zip(target, asked, strict=True)])
