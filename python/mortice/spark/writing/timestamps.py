"""Timestamps with and without a time zone: `TIMESTAMP` and `TIMESTAMP_NTZ` in Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import TimestampNTZType, TimestampType

__all__ = ["cast_timestamps"]


def cast_timestamps(df: DataFrame, table: pa.Schema) -> DataFrame:
    """Returns a DataFrame whose timestamps have a time zone where the table's columns have one.

    Spark converts between the two by the session's time zone, as for `INSERT INTO` (store assignment). Fields of
    structs, lists and maps are not converted.

    Args:
        df: The rows.
        table: The columns of the table.

    Returns:
        The same DataFrame if no column differs.
    """
    from pyspark.sql.types import TimestampNTZType, TimestampType

    types = {field.name: field.type for field in table}
    casts: dict[str, TimestampType | TimestampNTZType] = {}
    for field in df.schema:
        stored = types.get(field.name)
        if stored is None or not pa.types.is_timestamp(stored):
            continue
        if isinstance(field.dataType, TimestampType) and stored.tz is None:
            casts[field.name] = TimestampNTZType()
        elif isinstance(field.dataType, TimestampNTZType) and stored.tz is not None:
            casts[field.name] = TimestampType()
    if not casts:
        return df
    columns = []
    for name in df.columns:
        column = df[_quoted(name)]
        columns.append(column.cast(casts[name]).alias(name) if name in casts else column)
    return df.select(*columns)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
