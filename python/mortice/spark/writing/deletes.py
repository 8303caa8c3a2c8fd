"""Deletes of rows that a filter selects: Spark's tasks find and delete them. To erase rows, they read what remains."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import ArrowBatch, Commit, ErasedValues, Erasure
from mortice.catalogs.run import asked_for, without_sync
from mortice.expressions import Filters
from mortice.queries import ReadOptimized, Snapshot
from mortice.reading.scan import Scan
from mortice.reading.split import Split
from mortice.spark.execution.data_frame import collected, count_rows, data_frame, task_numbers
from mortice.spark.execution.task_errors import aborted_on_error, typed_errors
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.schema import spark_schema
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.services import compact
from mortice.spark.writing.write import native_write, retried, run_write, sync_catalog
from mortice.table import Table
from mortice.values.observe import observed
from mortice.writing.writes import GENERATED_KEY, terms_to_delete

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["delete_where", "erase"]

_VALUES = pa.schema([("values", pa.binary())])
_IS_FOUND = pa.schema([("is_found", pa.bool_())])
_FILES = pa.schema([("path", pa.string()), ("why", pa.string())])
_FILE_TASKS = 4
"""Tasks that read files, for each that runs at once: files are of different sizes."""


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


def erase(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    filters: Filters,
    options: Mapping[str, Any] | None = None,
    *,
    audit: str | os.PathLike[str] | None = None,
) -> Erasure:
    """Erases rows as `Table.erase`, in tasks of Spark. Works on Spark 3.5 and later, also on Connect.

        mortice.spark.erase(spark, "/lake/trips", [("customer", "=", "c-4711")], audit="erasure-2024-0815.json")

    Tasks find and delete the rows, compact, and read all files that remain. The driver cleans, and builds the metadata
    table again. The table is on a file system that driver and executors have under the same path.

    Args:
        spark: The session.
        uri: The table's base path, a local path.
        filters: The filters, as those of `read`. Rows that were deleted before are erased as well.
        options: As for `mortice.spark.write`.
        audit: As for `Table.erase`; the driver writes the file.

    Returns:
        What was done.

    Raises as `Table.erase`.
    """
    target = WriteTarget.from_options(uri, options)
    table = Table(target.uri, storage_options=target.storage_options(spark), use_record_index=False)
    with typed_errors():
        return table.erase_by(_TaskWork(spark, table, options or {}), filters, target.options, audit)


class _TaskWork:
    """Reads and writes rows in tasks.

    Args:
        spark: The session.
        table: The table.
        options: Options of the storage, and of writes.
    """

    def __init__(self, spark: SparkSession, table: Table, options: Mapping[str, Any]) -> None:
        self._spark = spark
        self._table = table
        self._options = options

    def count(self, terms: Any, as_of: str | None = None) -> int:
        """As `ErasureTasks.count`."""
        return count_rows(self._spark, self._scan([], terms, as_of))

    def count_unaided(self, terms: Any) -> int:
        """As `ErasureTasks.count_unaided`."""
        table = Table(self._table.uri, use_metadata=False, use_column_stats=False, use_record_index=False, prune=False)
        queries = (Snapshot([], terms), ReadOptimized([], terms))
        return max(count_rows(self._spark, table.prepare(query).scan()) for query in queries)

    def values(self, columns: Sequence[str], terms: Any) -> list[pa.RecordBatch]:
        """As `ErasureTasks.values`."""
        rows = collected(self._spark, self._scan(columns, terms), _values_of_splits, _VALUES)
        return [batch for row in rows for batch in pa.ipc.open_stream(bytes(row[0]))]

    def shared(self, column: str, values: ArrowBatch) -> list[pa.RecordBatch]:
        """As `ErasureTasks.shared`."""
        return self.values([column], [[(column, "in", pa.record_batch(values).column(0).to_pylist())]])

    def delete_where(self, terms: Any, options: Mapping[str, str]) -> None:
        """As `ErasureTasks.delete_where`."""
        delete_where(self._spark, self._table.uri, terms, {**self._options, **options})

    def compact(self, options: Mapping[str, str]) -> None:
        """As `ErasureTasks.compact`."""
        compact(self._spark, self._table.uri, {**self._options, **options})

    def search(self, files: Sequence[tuple[str, int]], erased: ErasedValues) -> list[tuple[str, str]]:
        """As `ErasureTasks.search`."""
        count = min(len(files), _FILE_TASKS * parallelism(self._spark))
        if not count:
            return []
        by_size = sorted(files, key=lambda file: file[1], reverse=True)
        tasks = [[path for path, _ in by_size[task::count]] for task in range(count)]
        search = _SearchFiles(self._table.uri, tasks, erased)
        rows = task_numbers(self._spark, count).mapInArrow(search, spark_schema(_FILES)).collect()
        return sorted((str(row[0]), str(row[1])) for row in rows)

    def is_in_metadata(self, erased: ErasedValues) -> bool:
        """As `ErasureTasks.is_in_metadata`."""
        scan = Table(f"{self._table.uri.rstrip('/')}/.hoodie/metadata").prepare(Snapshot()).scan()
        found = collected(self._spark, scan, partial(_search_records, erased=erased), _IS_FOUND)
        return any(row[0] for row in found)

    def _scan(self, columns: Sequence[str], terms: Any, as_of: str | None = None) -> Scan:
        return self._table.prepare(Snapshot(list(columns), terms, as_of)).scan()


def _values_of_splits(splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
    """Yields the distinct values of each column of the splits of a task, as a stream of Arrow."""
    for batch in (pa.record_batch(one) for split in splits for one in _mortice.distinct_values(split.stream())):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], schema=_VALUES)


def _search_records(splits: Iterable[Split], erased: ErasedValues) -> Iterator[pa.RecordBatch]:
    """Yields whether records of the metadata table have values of erased rows."""
    is_found = any(erased.is_in(split.stream()) for split in splits)
    yield pa.record_batch([pa.array([is_found])], schema=_IS_FOUND)


class _SearchFiles:
    """A function for `mapInArrow` over a range of numbers: it searches the files of each task.

    Args:
        uri: The table's base path.
        tasks: The paths of each task, within the table.
        erased: The values.
    """

    def __init__(self, uri: str, tasks: Sequence[Sequence[str]], erased: ErasedValues) -> None:
        self.uri = uri
        self.tasks = tasks
        self.erased = erased

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        WorkerOptions().prepare()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                found = self.erased.search(self.uri, self.tasks[number])
                rows = [{"path": path, "why": why} for path, why in found]
                yield pa.RecordBatch.from_pylist(rows, schema=_FILES)
