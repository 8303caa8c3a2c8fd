"""Partitions of a table, by the values of its partition columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.meta_columns import META_COLUMNS
from mortice.spark.schema import spark_schema
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

__all__ = ["matching_partitions", "own_schema", "partition_names"]

_PATH, _OPERATION = "_hoodie_partition_path", "_hoodie_operation"


def partition_names(table: Table, values: Mapping[str, str | None]) -> dict[str, str | None]:
    """Returns the clause with the table's names of its columns. Raises `InvalidArgumentError` for other columns."""
    named: dict[str, str | None] = {}
    for name, value in values.items():
        found = [one for one in table.partition_fields if one.lower() == name.lower()]
        if not found:
            known = f"they are {', '.join(table.partition_fields)}" if table.partition_fields else "it has none"
            raise InvalidArgumentError(f"{name} is not a partition column of the table; {known}", path=table.uri)
        named[found[0]] = value
    return named


def own_schema(table: Table) -> StructType:
    """Returns the columns of a table without meta columns and `_hoodie_operation`, as Spark's."""
    own = [field for field in table.schema if field.name not in {*META_COLUMNS, _OPERATION}]
    return spark_schema(pa.schema(own))


def matching_partitions(spark: SparkSession, table: Table, values: Mapping[str, str | None]) -> list[str]:
    """Returns the paths of partitions that have rows with these values, in order. Other columns may have any value.

    Args:
        spark: The session.
        table: The table.
        values: Expressions by partition column, in SQL; None for any value.
    """
    filters: list[tuple[Any, ...]] = []
    wanted = {name: text for name, text in partition_names(table, values).items() if text is not None}
    fields = {field.name: field.dataType.simpleString() for field in spark_schema(table.schema)}
    if wanted:
        casts = ", ".join(f"CAST({text} AS {fields[name]})" for name, text in wanted.items())
        row = spark.sql(f"SELECT {casts}").collect()[0]
        filters = [
            (name, "is null") if value is None else (name, "=", value) for name, value in zip(wanted, row, strict=True)
        ]
    found = set()
    for batch in table.snapshot(columns=[_PATH], filters=filters or None).to_reader():
        found.update(batch.column(0).unique().to_pylist())
    return sorted(found)
