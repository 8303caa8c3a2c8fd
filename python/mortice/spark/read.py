"""The quick door into Spark: the driver plans a query, and `mapInArrow` over its splits reads it, some to a task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mortice.filters import Filters
from mortice.instants import InstantLike
from mortice.options import checked_uri
from mortice.spark.data_frame import count_rows, data_frame
from mortice.spark.hadoop_conf import hadoop_settings
from mortice.spark.option_names import AS_OF, BEGIN, END, QUERY_TYPE, SEMANTICS
from mortice.spark.options import Query, by_one_name, read_query
from mortice.spark.session_options import session_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mortice.spark.metrics import Metrics

__all__ = ["count", "read"]


class _Default(str):
    """An argument that was left out, so that an option may take its place."""

    __slots__ = ()


def read(  # noqa: PLR0917
    spark: SparkSession,
    uri: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    filters: Filters = None,
    query_type: str = _Default("snapshot"),
    as_of: InstantLike = None,
    begin: InstantLike = None,
    end: InstantLike = None,
    semantics: str = _Default("1.x"),
    options: Mapping[str, Any] | None = None,
    *,
    metrics: Metrics | None = None,
) -> DataFrame:
    """The rows of a Hudi table as a DataFrame.

    `columns` and `filters` are as for `mortice.Table.snapshot`; naming the columns is the surest way to a quick query.
    `query_type` is `"snapshot"`, `"read_optimized"` or `"incremental"`, which needs `begin` and may have `end` (see
    `mortice.Table.incremental`). `options` are those of `spark.read.format("mortice")` (see `mortice.spark.options`),
    Hudi's names included; the arguments win over them.

    Options of Hudi in the session's configuration count as well, where neither arguments nor `options` say otherwise:
    Hudi's own source takes them. So do the session's settings of Hadoop's file systems (`fs.s3a.*`, `fs.azure.*`,
    `fs.gs.*`), for tables on an object store. `metrics` gathers what the tasks read (see `mortice.spark.Metrics`).

    The table is looked at once, here: the frame keeps to that state of it, and `read` again gives a later one.
    """
    query = _query(
        spark,
        uri,
        options,
        {
            "columns": columns,
            "filters": filters,
            QUERY_TYPE: query_type,
            AS_OF: as_of,
            BEGIN: begin,
            END: end,
            SEMANTICS: semantics,
        },
    )
    scan = query.prepare(query.table(), query.columns).scan()
    return data_frame(spark, scan, query.tasks, metrics)


def count(  # noqa: PLR0917
    spark: SparkSession,
    uri: str | os.PathLike[str],
    filters: Filters = None,
    query_type: str = _Default("snapshot"),
    as_of: InstantLike = None,
    begin: InstantLike = None,
    end: InstantLike = None,
    semantics: str = _Default("1.x"),
    options: Mapping[str, Any] | None = None,
) -> int:
    """The number of rows that `read` would give with these arguments.

        mortice.spark.count(spark, "/lake/trips", filters=[("day", "=", "2026-01-01")])

    Tasks count the rows and send only their numbers, while `read(…).count()` sends all rows to the JVM with the columns
    that were asked for.
    """
    query = _query(
        spark,
        uri,
        options,
        {"filters": filters, QUERY_TYPE: query_type, AS_OF: as_of, BEGIN: begin, END: end, SEMANTICS: semantics},
    )
    return count_rows(spark, query.prepare(query.table(), query.columns).scan(), query.tasks)


def _query(
    spark: SparkSession, uri: str | os.PathLike[str], options: Mapping[str, Any] | None, arguments: Mapping[str, Any]
) -> Query:
    """The query of arguments, which win over options, which win over those of the session."""
    given = {name: value for name, value in arguments.items() if value is not None and not isinstance(value, _Default)}
    path = checked_uri(uri)
    settings = hadoop_settings(spark, path) | session_options(spark) | by_one_name(options) | given
    return read_query(settings, path)
