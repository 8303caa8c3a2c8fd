"""Deletes of rows that a filter selects, which Spark's tasks find and delete."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mortice._mortice import Commit
from mortice.catalogs.run import asked_for, without_sync
from mortice.expressions.filters import Filters
from mortice.queries import Snapshot
from mortice.spark.execution.data_frame import data_frame
from mortice.spark.execution.task_errors import aborted_on_error
from mortice.spark.schema import spark_schema
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import native_write, retried, run_write, sync_catalog
from mortice.table import Table
from mortice.values.observe import observed
from mortice.writing.writes import GENERATED_KEY, terms_to_delete

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["delete_where"]


def delete_where(
    spark: SparkSession, uri: str | os.PathLike[str], filters: Filters, options: Mapping[str, Any] | None = None
) -> Commit:
    """Deletes the rows that filters select, as one commit. Works on Spark 3.5 and later, also on Connect.

        mortice.spark.delete_where(spark, "/lake/trips", "city = 'oslo' and fare < 3")

    Tasks find the rows, and delete them as `mortice.spark.write` does. They are the rows of the table as it is when the
    commit begins: a row that another writer changes meanwhile is a conflict.

    Args:
        spark: The session.
        uri: The table's base path, a local path or a URI.
        filters: The filters, as those of `read`: text, terms or expressions (see `mortice.filters`).
        options: As for `mortice.spark.write`.

    Returns:
        The commit.

    Raises as `Table.delete_where`.
    """
    catalog = asked_for(options)
    target = WriteTarget.from_options(uri, without_sync(options))

    def run() -> Commit:
        with observed("delete_where", target.uri) as observation:
            return observation.done(_deleted(spark, target, filters))

    commit = retried(run, target.options)
    sync_catalog(spark, target, catalog, commit)
    return commit


def _deleted(spark: SparkSession, target: WriteTarget, filters: Filters) -> Commit:
    table = Table(target.uri, storage_options=target.storage_options(spark))
    terms = terms_to_delete(filters, lambda: table.schema)
    query = Snapshot(_key_columns(table), terms)
    # A filter that does not fit is refused before there is an instant.
    columns = spark_schema(table.prepare(query).schema)
    native = native_write(spark, target, "delete", columns)
    with aborted_on_error(native):
        begun = table.preview(native.begin_with_stored_rows())
        return run_write(data_frame(spark, begun.prepare(query).scan()), native, None)


def _key_columns(table: Table) -> list[str]:
    """Returns the columns that keys and partitions are read from."""
    if table.has_meta_columns:
        return list(GENERATED_KEY)
    fields = (*table.record_key_fields, *table.partition_fields)
    return sorted({name.partition(".")[0] for name in fields})
