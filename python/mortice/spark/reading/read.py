"""Reads tables into DataFrames: the driver plans a query, and tasks read its splits, or Spark their Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mortice.expressions import Filters
from mortice.spark.execution.data_frame import count_rows, data_frame
from mortice.spark.execution.parquet_reader import combined_frame
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.settings.option_names import (
    AS_OF,
    BEGIN,
    COLUMNS,
    END,
    FILTERS,
    QUERY_TYPE,
    RECORD_INDEX,
    SEMANTICS,
    Default,
    is_of_storage,
)
from mortice.spark.settings.options import Query, by_one_name, read_query
from mortice.spark.settings.session import hadoop_settings, session_options
from mortice.values.instants import InstantLike
from mortice.values.options import checked_uri
from mortice.values.other_names import hinted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mortice.spark.execution.data_frame import Metrics


@hinted
def read(  # noqa: PLR0917
    spark: SparkSession,
    uri: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    filters: Filters = None,
    query_type: str = Default("snapshot"),
    as_of: InstantLike = None,
    begin: InstantLike = None,
    end: InstantLike = None,
    semantics: str = Default("1.x"),
    options: Mapping[str, object] | None = None,
    *,
    metrics: Metrics | None = None,
) -> DataFrame:
    """Returns the rows of a Hudi table as a DataFrame. Works on Spark 3.5 and later.

        mortice.spark.read(spark, "/lake/trips", columns=["rider", "fare"], filters=[("fare", ">", 3)])

    The query is planned by this call: the DataFrame returns the same rows until Hudi's cleaner removes their files.
    Call `read` again for a later state of the table.

    Arguments take precedence over `options`, and these over options of Hudi in the session's configuration
    (`SET hoodie.datasource.query.type=...`), which Hudi's own source reads as well. The session's settings of Hadoop's
    file systems (`fs.s3a.*`, `fs.azure.*`, `fs.gs.*`) apply to tables on an object store.

    Args:
        spark: The session, classic or Spark Connect.
        uri: The table's base path, a local path or a URI.
        columns: The columns to return, in this order. Default: all. Spark does not prune columns of a Python source,
            so name the columns that the query needs.
        filters: Predicates that rows must satisfy (see `mortice.filters`). Default: none.
        query_type: `"snapshot"` (default), `"read_optimized"` or `"incremental"`.
        as_of: The instant to read the table as of. Not for incremental queries.
        begin: The instant after which an incremental query begins, or `"earliest"`.
        end: The last instant of an incremental query, inclusive. Default: the latest.
        semantics: `"1.x"` (default) merges as Hudi 1.2 does, `"0.x"` as Hudi 0.15 does.
        options: Options by name, as for `spark.read.format("mortice")` (listed in docs/options.md).
        metrics: Accumulates what the tasks read. Default: nothing is accumulated.

    Returns:
        A DataFrame with one partition for each task. File slices without log files are read by Spark's own Parquet
        reader if their files need no conversion (option `mortice.spark.parquet`).

    Raises:
        InvalidArgumentError: An argument or an option is invalid.
        TableNotFoundError: There is no table at `uri`.
        UnsupportedError: The table or an option needs a feature that mortice does not have.
    """
    query = _query(
        spark,
        uri,
        options,
        {
            COLUMNS: columns,
            FILTERS: filters,
            QUERY_TYPE: query_type,
            AS_OF: as_of,
            BEGIN: begin,
            END: end,
            SEMANTICS: semantics,
        },
    )
    scan = query.prepare(query.table(), query.columns).scan()
    by_hadoop = not any(map(is_of_storage, by_one_name(options)))
    return combined_frame(spark, scan, query.tasks, metrics, by_hadoop=by_hadoop)


def read_stored(  # noqa: PLR0917
    spark: SparkSession,
    uri: str,
    columns: Sequence[str],
    filters: Filters,
    query_type: str,
    options: Mapping[str, object],
) -> DataFrame:
    """Returns rows as a write has to know them: options of Hudi in the session's configuration do not apply, and all
    rows of a key are found, also those that the record index does not have.

    Args:
        spark: The session.
        uri: The table's base path.
        columns: The columns to return.
        filters: Predicates that rows must satisfy.
        query_type: As for `read`.
        options: Options of the storage.
    """
    path, given = checked_uri(uri), {COLUMNS: columns, FILTERS: filters, QUERY_TYPE: query_type, RECORD_INDEX: "false"}
    arguments = {name: value for name, value in given.items() if value is not None}
    query = read_query(hadoop_settings(spark, path) | by_one_name(options) | arguments, path)
    return data_frame(spark, query.prepare(query.table(), query.columns).scan(), query.tasks)


@hinted
def count(  # noqa: PLR0917
    spark: SparkSession,
    uri: str | os.PathLike[str],
    filters: Filters = None,
    query_type: str = Default("snapshot"),
    as_of: InstantLike = None,
    begin: InstantLike = None,
    end: InstantLike = None,
    semantics: str = Default("1.x"),
    options: Mapping[str, object] | None = None,
) -> int:
    """Returns the number of rows that `read` would return with the same arguments.

        mortice.spark.count(spark, "/lake/trips", filters=[("day", "=", "2026-01-01")])

    Tasks count the rows and send only the counts to the JVM. `read(...).count()` sends all rows with all their columns.

    Args:
        spark: The session, classic or Spark Connect.
        uri: The table's base path, a local path or a URI.
        filters: Predicates that rows must satisfy (see `mortice.filters`). Default: none.
        query_type: `"snapshot"` (default), `"read_optimized"` or `"incremental"`.
        as_of: The instant to read the table as of. Not for incremental queries.
        begin: The instant after which an incremental query begins, or `"earliest"`.
        end: The last instant of an incremental query, inclusive. Default: the latest.
        semantics: `"1.x"` (default) merges as Hudi 1.2 does, `"0.x"` as Hudi 0.15 does.
        options: Options by name, as for `read`.

    Raises:
        InvalidArgumentError: An argument or an option is invalid.
        TableNotFoundError: There is no table at `uri`.
        UnsupportedError: The table or an option needs a feature that mortice does not have.
    """
    query = _query(
        spark,
        uri,
        options,
        {FILTERS: filters, QUERY_TYPE: query_type, AS_OF: as_of, BEGIN: begin, END: end, SEMANTICS: semantics},
    )
    with typed_errors():
        return count_rows(spark, query.prepare(query.table(), query.columns).scan(), query.tasks)


def _query(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    options: Mapping[str, object] | None,
    arguments: Mapping[str, object],
) -> Query:
    """Returns the query. Arguments take precedence over options, and these over the session's configuration."""
    given = {name: value for name, value in arguments.items() if value is not None and not isinstance(value, Default)}
    path = checked_uri(uri)
    settings = hadoop_settings(spark, path) | session_options(spark) | by_one_name(options) | given
    return read_query(settings, path)
