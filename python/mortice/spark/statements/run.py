"""`mortice.spark.sql`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mortice.spark.execution.data_frame import is_connect
from mortice.spark.statements.alter_table import alter_table, change_indexes
from mortice.spark.statements.changes import change
from mortice.spark.statements.create_table import create_table
from mortice.spark.statements.drop_table import drop_table
from mortice.spark.statements.procedures import call
from mortice.spark.statements.queries import Views, create_view
from mortice.spark.statements.spark_errors import run_by_spark
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.table_description import describe_table, refuse, repair, show_partitions, show_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOT_SQL = re.compile(r"\s*(SET|RESET|ADD|LIST)\s", re.IGNORECASE)
"""Statements whose rest is no SQL, such as a path."""
_OF_TABLES: dict[str, Callable[[SparkSession, StatementText], DataFrame | None]] = {
    "call": call,
    "help": call,
    "alter_table": alter_table,
    "drop_table": drop_table,
    "drop_view": drop_table,
    "describe": describe_table,
    "show_create_table": show_table,
    "show_properties": show_table,
    "show_partitions": show_partitions,
    "repair": repair,
    "index": change_indexes,
    "refused": refuse,
}
"""Statements of one table. They return None if it is not of mortice."""
_OF_QUERIES: dict[str, Callable[[SparkSession, StatementText, Views], DataFrame | None]] = {
    **dict.fromkeys(("merge", "update", "delete", "insert", "truncate"), change),
    **dict.fromkeys(("create_table", "create_table_like"), create_table),
    "create_view": create_view,
}
"""Statements that can have queries."""


def sql(spark: SparkSession, text: str, /, **args: object) -> DataFrame:
    """Runs a SQL statement, also those that Spark does not run on a Python data source. Works on Spark 3.5 and later.

        mortice.spark.sql(spark, "UPDATE trips SET fare = fare * 1.1 WHERE city = :city", city="oslo")
        mortice.spark.sql(spark, "SELECT * FROM mortice.`/lake/trips` TIMESTAMP AS OF '2026-01-01'")

    These are run by mortice if they name a table of mortice, and are one commit each: MERGE INTO with all its clauses,
    UPDATE, DELETE, INSERT INTO, INSERT OVERWRITE, TRUNCATE, ALTER TABLE, CALL. SHOW PARTITIONS, SHOW CREATE TABLE, SHOW
    TBLPROPERTIES and DESCRIBE EXTENDED commit nothing. CREATE TABLE … USING mortice or hudi, with columns, AS SELECT or
    LIKE, creates a table and gives it a name; DROP TABLE also deletes the files of one without LOCATION. Queries may
    name tables by path, and earlier states by TIMESTAMP AS OF, VERSION AS OF and their forms with FOR. All other
    statements are passed to `spark.sql`.

    A table is a name of the catalog (created USING mortice, Spark 4), a path (mortice.`/lake/trips`), or a view
    that this function created (CREATE TEMPORARY VIEW … USING mortice OPTIONS (path '…')).

    Args:
        spark: The session, classic or Spark Connect.
        text: The statement.
        args: Values of its parameters (`:name`): numbers, strings, bytes, dates, times, intervals, None, lists and
            mappings of these. Spark gets exactly these values. The argument `args` alone is a mapping of all, or a list
            of values for `?`, as with `spark.sql`.

    Returns:
        The rows of a query; of a change the numbers of rows and the instant; of CALL what the service did.

    Raises:
        InvalidArgumentError: The statement is not valid; the message shows the place. A value does not fit its column,
            or several source rows match one row.
        UnsupportedError: The table or a clause needs a feature that mortice does not have.
        WriteConflictError: Another writer has changed the table since its rows were read; run the statement again.
    """
    if not args and _NOT_SQL.match(text):
        return spark.sql(text)
    statement, views = StatementText(text, args), Views(spark)
    try:
        return _run(spark, statement, views)
    finally:
        # A DataFrame of Spark Connect is analyzed again whenever it is used.
        if not is_connect(spark):
            views.drop()


def _run(spark: SparkSession, statement: StatementText, views: Views) -> DataFrame:
    parsed = statement.parsed
    done: DataFrame | None = None
    if of_table := _OF_TABLES.get(parsed.kind):
        done = of_table(spark, statement)
    elif of_query := _OF_QUERIES.get(parsed.kind):
        done = of_query(spark, statement, views)
    if done is not None:
        return done
    if parsed.is_query:
        views.put_in_place(statement)
    if parsed.is_cache:
        views.keep()
    return run_by_spark(spark, statement.sql(), views.titles)
