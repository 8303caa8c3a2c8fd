"""The names of tables: entries of Spark's catalog (Spark 4), and views of the session where there are none.

Spark stores the columns of a table with its entry. So an entry is created again when columns have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice.errors import UnsupportedError
from mortice.spark.reading.read import read
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.statements.targets import SqlTable, forget_view, is_view, remember_view
from mortice.spark.statements.tokens import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["add_entry", "done", "drop_entry", "has_entries", "named", "renew_entry"]


def has_entries(spark: SparkSession) -> bool:
    """Returns whether this Spark has tables of Python data sources in its catalog."""
    return int(spark.version.split(".")[0]) >= 4  # noqa: PLR2004


def named(parts: list[str]) -> str:
    """Returns a name as SQL has it."""
    return ".".join(quoted(part) for part in parts)


def done(spark: SparkSession) -> DataFrame:
    """Returns the result of a statement that returns nothing."""
    return spark.createDataFrame([], "done string").select()


def add_entry(
    spark: SparkSession, parts: list[str], path: str, options: Mapping[str, Any], comment: str | None
) -> None:
    """Gives a table a name: in the catalog, or as a view of the session on Spark 3.5.

    Args:
        spark: The session.
        parts: The name.
        path: The table's base path.
        options: Options of its reads and writes.
        comment: What the catalog says of it.
    """
    if not has_entries(spark):
        _add_view(spark, parts, path, options)
        return
    pairs = {"path": path, **{name: value for name, value in options.items() if not is_of_storage(name)}}
    listed = ", ".join(f"{_string(name)} {_string(str(value))}" for name, value in pairs.items())
    said = "" if comment is None else f" COMMENT {_string(comment)}"
    spark.sql(f"CREATE TABLE {named(parts)} USING mortice OPTIONS ({listed}){said}")


def _add_view(spark: SparkSession, parts: list[str], path: str, options: Mapping[str, Any]) -> None:
    if len(parts) > 1:
        raise UnsupportedError(
            f"{'.'.join(parts)}: Spark {spark.version} has no tables of Python data sources in its catalog, so the "
            "table becomes a view of the session; give it a name without a database",
            path=path,
        )
    read(spark, path, options=dict(options)).createOrReplaceTempView(parts[0])
    remember_view(spark, parts[0], SqlTable(path, options))


def renew_entry(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    """Shows the columns of a table under its name, after they have changed. Paths have nothing to renew."""
    if is_view(spark, parts):
        read(spark, table.path, options=dict(table.options)).createOrReplaceTempView(parts[0])
    elif table.name is not None:
        comment = spark.catalog.getTable(table.name).description
        spark.sql(f"DROP TABLE {table.name}")
        add_entry(spark, parts, table.path, table.options, comment)


def drop_entry(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    """Removes the name of a table; its files stay."""
    if is_view(spark, parts):
        spark.catalog.dropTempView(parts[0])
        forget_view(spark, parts[0])
    else:
        spark.sql(f"DROP TABLE {table.name}")


def _string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
