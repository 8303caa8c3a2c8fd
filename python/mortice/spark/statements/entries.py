"""The names of tables: entries of Spark's catalog (Spark 4), and views of the session where there are none.

Spark stores the columns of a table with its entry. So an entry is created again when columns have changed.

A table without a location is managed: DROP TABLE deletes its files. For Spark its entry is external nevertheless. Of an
entry that is managed for Spark, columns cannot be dropped or renamed, it cannot be created for a folder that has files,
and RENAME TO moves the folder, while the path in the columns stays. So the entry has a mark instead, with the name that
the table was created with, and `mortice.spark.sql` deletes the files.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from mortice.errors import TableServiceError, UnsupportedError
from mortice.spark.reading.read import read
from mortice.spark.settings.catalog_table import MANAGED
from mortice.spark.settings.option_names import is_of_storage
from mortice.spark.statements.literals import quoted_string
from mortice.spark.statements.targets import SqlTable, forget_view, is_view, make_view, managed_as
from mortice.spark.statements.tokens import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["add_entry", "done", "drop_entry", "entry_lines", "has_entries", "managed_here", "named", "renew_entry"]


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
    spark: SparkSession, parts: list[str], table: SqlTable, comment: str | None, managed: str | None = None
) -> None:
    """Gives a table a name: in the catalog, or as a view of the session on Spark 3.5.

    Args:
        spark: The session.
        parts: The name.
        table: The table, with the options of its reads and writes.
        comment: What the catalog says of it.
        managed: The name that it is managed as; None if DROP TABLE keeps its files.
    """
    if has_entries(spark):
        spark.sql(_statement(parts, table, comment, managed))
    else:
        _add_view(spark, parts, SqlTable(table.path, table.options, is_managed=managed is not None))


def _statement(parts: list[str], table: SqlTable, comment: str | None, managed: str | None) -> str:
    pairs = {"path": table.path, **{name: value for name, value in table.options.items() if not is_of_storage(name)}}
    if managed is not None:
        pairs[MANAGED] = managed
    listed = ", ".join(f"{quoted_string(name)} {quoted_string(str(value))}" for name, value in pairs.items())
    said = "" if comment is None else f" COMMENT {quoted_string(comment)}"
    return f"CREATE TABLE {named(parts)} USING mortice OPTIONS ({listed}){said}"


def _add_view(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    if len(parts) > 1:
        raise UnsupportedError(
            f"{'.'.join(parts)}: Spark {spark.version} has no tables of Python data sources in its catalog, so the "
            "table becomes a view of the session; give it a name without a database",
            path=table.path,
        )
    make_view(spark, parts[0], table, read(spark, table.path, options=dict(table.options)))


def renew_entry(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    """Shows the columns of a table under its name, after they have changed. Paths have nothing to renew.

    The new entry is made beside the old one, and gets its name when that is dropped: what the catalog refuses leaves
    the old entry. Raises `TableServiceError` if the name is lost, with the statement that registers it.
    """
    if is_view(spark, parts):
        make_view(spark, parts[0], table, read(spark, table.path, options=dict(table.options)))
        return
    if table.name is None:
        return
    comment = entry_lines(spark, table.name).get("Comment")
    managed = managed_here(spark, parts) if table.is_managed else None
    beside = [*parts[:-1], f"{parts[-1]}_renewed_{uuid.uuid4().hex[:8]}"]
    try:
        add_entry(spark, beside, table, comment, managed)
    except Exception as error:
        raise _stale(table, parts, error) from error
    try:
        spark.sql(f"DROP TABLE {table.name}")
    except Exception as error:
        spark.sql(f"DROP TABLE IF EXISTS {named(beside)}")
        raise _stale(table, parts, error) from error
    try:
        spark.sql(f"ALTER TABLE {named(beside)} RENAME TO {named(parts)}")
    except Exception:  # noqa: BLE001 (a catalog such as Glue cannot rename)
        _add_again(spark, parts, beside, _statement(parts, table, comment, managed))


def _add_again(spark: SparkSession, parts: list[str], beside: list[str], statement: str) -> None:
    try:
        spark.sql(statement)
    except Exception as error:
        raise TableServiceError(
            f"the columns were changed, and the catalog has lost the name {named(parts)}: the entry of the table is "
            f'{named(beside)} now. Run spark.sql("{statement}") and spark.sql("DROP TABLE {named(beside)}"). The '
            f"catalog said: {error}"
        ) from error
    spark.sql(f"DROP TABLE {named(beside)}")


def _stale(table: SqlTable, parts: list[str], error: Exception) -> TableServiceError:
    return TableServiceError(
        f"the columns were changed, and {named(parts)} shows the former ones, as the catalog did not take the new "
        f"ones; to show them, change a comment by ALTER TABLE. The catalog said: {error}",
        path=table.path,
    )


def managed_here(spark: SparkSession, parts: list[str]) -> str:
    """Returns what the entry of a managed table with this name has."""
    return managed_as(parts if len(parts) > 1 else [spark.catalog.currentDatabase(), *parts])


def entry_lines(spark: SparkSession, name: str) -> dict[str, str]:
    """Returns the lines of the entry of a table; none if its catalog does not show them.

    `DESCRIBE` and `Catalog.getTable` show neither comment nor location of a table of a Python data source.
    """
    from pyspark.errors import PySparkException

    found = spark.catalog.getTable(name)
    database = named([*([found.catalog] if found.catalog else []), *(found.namespace or [])])
    pattern = quoted_string(found.name.replace("*", ".").replace("|", "."))
    try:
        rows = spark.sql(f"SHOW TABLE EXTENDED IN {database} LIKE {pattern}").collect()
    except PySparkException:
        return {}
    text = next((str(row["information"]) for row in rows if row["tableName"] == found.name), "")
    lines: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition(": ")
        if key == "Table Properties":
            break
        if separator:
            lines[key] = value
    return lines


def drop_entry(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    """Removes the name of a table; its files stay."""
    if is_view(spark, parts):
        spark.catalog.dropTempView(parts[0])
        forget_view(spark, parts[0])
    else:
        spark.sql(f"DROP TABLE {table.name}")
