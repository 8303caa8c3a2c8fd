"""Statements for tables whose files and statistics Spark manages, and what mortice has in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortice.spark.statements.clauses import partition_clause
from mortice.spark.statements.cursor import Cursor
from mortice.spark.statements.entries import done
from mortice.spark.statements.targets import named_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["maintain"]

_INDEXES = (
    "CREATE INDEX, DROP INDEX and SHOW INDEXES are not supported; indexes are those of the metadata table: options of "
    "writes (hoodie.metadata.index.…) and CALL create_metadata_table(table => '…', options => '…') choose them"
)


def maintain(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    """Runs MSCK REPAIR TABLE, and refuses ANALYZE TABLE and statements of indexes; None for others and other tables."""
    if cursor.take("MSCK") or cursor.words("REPAIR", "TABLE"):
        return _repaired(spark, cursor)
    place = cursor.error("ANALYZE TABLE is not supported: Spark has no statistics of a Python data source")
    if cursor.take("ANALYZE", "TABLE"):
        if named_table(spark, cursor.name()) is not None:
            raise place
        return None
    refusal = cursor.error(_INDEXES)
    if cursor.take("CREATE") or cursor.take("DROP"):
        if not cursor.take("INDEX"):
            return None
        cursor.take("IF", "NOT", "EXISTS")
        cursor.take("IF", "EXISTS")
        cursor.name()
        is_of_table = cursor.take("ON")
    else:
        cursor.expect("SHOW")
        is_of_table = cursor.take("INDEXES", "FROM") or cursor.take("INDEXES", "IN")
    cursor.take("TABLE")
    if is_of_table and named_table(spark, cursor.name()) is not None:
        raise refusal
    return None


def _repaired(spark: SparkSession, cursor: Cursor) -> DataFrame | None:
    cursor.expect("REPAIR", "TABLE")
    if named_table(spark, cursor.name()) is None:
        return None
    if any(cursor.take(word) for word in ("ADD", "DROP", "SYNC")):
        cursor.expect("PARTITIONS")
    elif cursor.words("PARTITION"):
        partition_clause(cursor)
    cursor.expect_end()
    # Partitions are those of the commits: the catalog has none that could differ.
    return done(spark)
