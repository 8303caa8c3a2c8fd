"""DROP TABLE: the name, and the files of a managed table, or of any table with PURGE, as Hudi deletes them.

The entry of the catalog is dropped first, then the files are deleted. A process that ends in between leaves a table
without a name, which is whole, or no table (`table_folder`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.errors import InvalidArgumentError, StorageError
from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.entries import done, drop_entry, has_entries, named
from mortice.spark.statements.table_folder import TableFolder
from mortice.spark.statements.targets import SqlTable, is_path, is_view, named_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["drop_table"]


def drop_table(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs DROP TABLE, and DROP VIEW of a view for a table; None for names that are not of mortice."""
    cursor.expect("DROP")
    is_of_view = cursor.take("VIEW")
    if not is_of_view and not cursor.take("TABLE"):
        return None
    if_exists = cursor.take("IF", "EXISTS")
    parts = cursor.name()
    if is_path(parts):
        raise cursor.error("a path has no name to drop; delete the folder to delete the table")
    purge = cursor.error("PURGE is for tables; a view has no files: delete the folder of its table")
    purges = cursor.take("PURGE")
    cursor.expect_end()
    if if_exists and not is_view(spark, parts) and not spark.catalog.tableExists(named(parts)):
        return done(spark)
    if is_of_view and not is_view(spark, parts):
        return None
    table = _table(spark, parts)
    if table is None:
        return None
    if purges and is_view(spark, parts) and (is_of_view or has_entries(spark)):
        raise purge
    _drop(spark, parts, table, deletes=not is_of_view and (purges or table.is_managed))
    return done(spark)


def _table(spark: SparkSession, parts: list[str]) -> SqlTable | None:
    try:
        return named_table(spark, parts)
    except InvalidArgumentError:
        # An entry without a path; Spark can drop it.
        return None


def _drop(spark: SparkSession, parts: list[str], table: SqlTable, *, deletes: bool) -> None:
    folder = TableFolder.at(spark, table.path) if deletes else None
    is_there = folder is not None and folder.check_deletable()
    drop_entry(spark, parts, table)
    if folder is None or not is_there:
        return
    try:
        folder.delete()
    except Exception as error:
        raise StorageError(
            f"{named(parts)} was dropped, and some of its files could not be deleted; delete the rest of the folder: "
            f"{error}",
            path=folder.path,
        ) from error
