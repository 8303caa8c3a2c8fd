"""The table that a statement writes to: its columns, whether values fit them, and its partitions by their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice._mortice import Commit
from mortice.catalogs.run import asked_for, without_sync
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.merge_types import MISFIT, is_castable, try_cast
from mortice.spark.schema import spark_schema
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.targets import SqlTable
from mortice.spark.writing.write import sync_catalog
from mortice.table import Table
from mortice.values.argument_types import OptionValue
from mortice.values.type_names import META_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


VALUE = "_mortice_value_"
"""The beginning of the names of new values; the number of the column is at the end."""
_OF_STRINGS = (
    *("boolean", "byte", "short", "integer", "long", "float", "double", "decimal"),
    *("date", "timestamp", "timestamp_ntz"),
)
"""Types that strings are cast to."""


class TargetTable:
    """A table that a statement writes to."""

    def __init__(self, spark: SparkSession, table: SqlTable, alias: str) -> None:
        self.spark, self.alias, self.options = spark, alias, table.change_options(spark)
        self._catalog = asked_for(self.options)
        self.target = WriteTarget.from_options(table.path, without_sync(self.options))
        self.storage = self.target.storage_options(spark)
        self.opened = Table(self.target.uri, storage_options=self.storage)
        own = [field for field in self.opened.schema if field.name not in META_COLUMNS]
        self.schema: StructType = spark_schema(pa.schema(own))
        self.of_storage = {name: value for name, value in self.options.items() if is_of_storage(name)}

    @property
    def table_options(self) -> dict[str, OptionValue]:
        """The options for methods of `Table`: those of writes, and of the sync with a catalog."""
        return {name: value for name, value in self.options.items() if not is_of_storage(name)}

    def registered(self, commit: Commit) -> Commit:
        """Registers the table in the catalog that the options ask for, after a commit."""
        sync_catalog(self.spark, self.target, self._catalog, commit)
        return commit

    def column(self, name: str) -> str:
        """Returns the table's name of a column, whose case is ignored. Raises `InvalidArgumentError`."""
        found = [one for one in self.schema.names if one.lower() == name.lower()]
        if len(found) != 1:
            raise InvalidArgumentError(
                f"the table has no column {name!r}; it has {', '.join(self.schema.names)}", path=self.target.uri
            )
        return str(found[0])

    def check_fit(self, rows: DataFrame) -> None:
        """Refuses values that the types of their columns cannot hold, as Spark's store assignment does."""
        misfit = self.misfit(rows)
        if misfit is not None:
            found = rows.select(misfit.alias(MISFIT)).where(f"{MISFIT} is not null").limit(1).collect()
            if found:
                raise InvalidArgumentError(str(found[0][0]), path=self.target.uri)

    def misfit(self, rows: DataFrame, *, casts_strings: bool = False) -> Column | None:
        """Returns what is wrong with a value of a row, null if nothing is; None if nothing can be.

        Args:
            rows: The rows.
            casts_strings: Strings are cast to other types, as Hudi's MERGE and UPDATE do; one that is no value of the
                type is refused.

        Raises `InvalidArgumentError` for types of which no value fits.
        """
        from pyspark.sql import functions as f

        misfits = []
        for field in rows.schema:
            if not field.name.startswith(VALUE):
                continue
            column = self.schema[int(field.name.rpartition("_")[2])]
            if field.dataType.simpleString() == column.dataType.simpleString():
                continue
            family = {field.dataType.typeName(), column.dataType.typeName()}
            is_string = field.dataType.typeName() == "string" and len(family) > 1
            is_cast = casts_strings and column.dataType.typeName() in _OF_STRINGS
            if not is_cast if is_string else not is_castable(field.dataType, column.dataType):
                raise InvalidArgumentError(
                    f"column {column.name!r} is {column.dataType.simpleString()}, and its new value is "
                    f"{field.dataType.simpleString()}; cast it in the statement",
                    path=self.target.uri,
                )
            if field.dataType.typeName() == "void":
                continue
            text = f"column {column.name!r} cannot hold a value of type {field.dataType.simpleString()}: "
            is_lost = f.col(field.name).isNotNull() & try_cast(field.name, column.dataType).isNull()
            misfits.append(f.when(is_lost, f.concat(f.lit(text), f.col(field.name).cast("string"))))
        return f.coalesce(*misfits) if misfits else None


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


def _filters(spark: SparkSession, table: Table, values: Mapping[str, str | None]) -> list[tuple[object, ...]]:
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
