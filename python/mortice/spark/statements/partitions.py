"""Partitions of a table, by the values of its partition columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.schema import spark_schema
from mortice.table import Table
from mortice.values.meta_columns import META_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

__all__ = ["matching_partitions", "own_schema", "partition_names", "whole_partitions"]

_PATH, _OPERATION = "_hoodie_partition_path", "_hoodie_operation"
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of the partition of null, as its path has it."""
_GENERATORS = ("hoodie.table.keygenerator.type", "hoodie.table.keygenerator.class")
_NAMED = 3


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
    found = set()
    for batch in table.snapshot(columns=[_PATH], filters=_filters(spark, table, values) or None).to_reader():
        found.update(batch.column(0).unique().to_pylist())
    return sorted(found)


def whole_partitions(spark: SparkSession, table: Table, values: Mapping[str, str | None]) -> list[str]:
    """Returns what `matching_partitions` does, for a statement that empties these partitions.

    Raises `UnsupportedError` if a partition has rows with other values, too: those of key generators for timestamps,
    where a partition is a day or a month.
    """
    paths = matching_partitions(spark, table, values)
    kind = " ".join(table.properties.get(name, "") for name in _GENERATORS).upper()
    if not paths or not any(word in kind for word in ("TIMESTAMP", "CUSTOM")):
        return paths
    if table.count(filters=[(_PATH, "in", paths)]) > table.count(filters=_filters(spark, table, values)):
        raise UnsupportedError(
            f"the partitions ({', '.join(paths[:_NAMED])}) have rows with other values of {', '.join(values)}, as a "
            "key generator makes their paths of these; delete the rows by DELETE",
            path=table.uri,
        )
    return paths


def _filters(spark: SparkSession, table: Table, values: Mapping[str, str | None]) -> list[tuple[Any, ...]]:
    wanted = {name: text for name, text in partition_names(table, values).items() if text is not None}
    if not wanted:
        return []
    fields = {field.name: field.dataType.simpleString() for field in spark_schema(table.schema)}
    casts = ", ".join(f"CAST({text} AS {fields[name]})" for name, text in wanted.items())
    row = spark.sql(f"SELECT {casts}").collect()[0]
    return [
        (name, "is null") if value is None or value == _NULL else (name, "=", value)
        for name, value in zip(wanted, row, strict=True)
    ]
