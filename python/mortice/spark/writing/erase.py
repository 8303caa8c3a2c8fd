"""Erases rows: Spark's tasks find and delete them, and read the files that remain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice.expressions.filters import Filters
from mortice.queries import ReadOptimized, Snapshot
from mortice.reading.scan import Scan
from mortice.reading.split import Split, record_batches
from mortice.services import erasure
from mortice.spark.execution.arrow_udf import ReadNumbered
from mortice.spark.execution.data_frame import collected, count_rows, task_numbers
from mortice.spark.execution.task_errors import typed_errors
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.schema import spark_schema
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.delete_where import delete_where
from mortice.spark.writing.services import compact
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mortice.services.remains import Erased

__all__ = ["erase"]

_VALUES = pa.schema([("values", pa.binary())])
_IS_FOUND = pa.schema([("is_found", pa.bool_())])
_FILES = pa.schema([("path", pa.string()), ("why", pa.string())])
_FILE_TASKS = 4
"""Tasks that read files, for each that runs at once: files are of different sizes."""


def erase(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    filters: Filters,
    options: Mapping[str, Any] | None = None,
    *,
    audit: str | os.PathLike[str] | None = None,
) -> erasure.Erasure:
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
    table = Table(target.uri, storage_options=target.storage_options(spark))
    with typed_errors():
        return erasure.erase(table, filters, target.options, audit, _TaskWork(spark, table, options or {}))


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
        """As `ErasureWork.count`."""
        return count_rows(self._spark, self._scan([], terms, as_of))

    def count_unaided(self, terms: Any) -> int:
        """As `ErasureWork.count_unaided`."""
        table = Table(self._table.uri, read_options=erasure.UNAIDED)
        queries = (Snapshot([], terms), ReadOptimized([], terms))
        return max(count_rows(self._spark, table.prepare(query).scan()) for query in queries)

    def values(self, columns: Sequence[str], terms: Any) -> dict[str, pa.Array]:
        """As `ErasureWork.values`."""
        from mortice.services.remains import distinct_values

        rows = collected(self._spark, self._scan(columns, terms), _ValuesOfTasks, _VALUES)
        return distinct_values(batch for row in rows for batch in pa.ipc.open_stream(bytes(row[0])))

    def delete_where(self, terms: Any, options: Mapping[str, Any] | None) -> None:
        """As `ErasureWork.delete_where`."""
        delete_where(self._spark, self._table.uri, terms, {**self._options, **(options or {})})

    def compact(self, options: Mapping[str, Any] | None) -> None:
        """As `ErasureWork.compact`."""
        compact(self._spark, self._table.uri, {**self._options, **(options or {})})

    def search(self, paths: Sequence[Path], erased: Erased) -> Iterable[tuple[Path, str]]:
        """As `ErasureWork.search`."""
        count = min(len(paths), _FILE_TASKS * parallelism(self._spark))
        if not count:
            return []
        by_size = sorted(paths, key=lambda path: path.stat().st_size, reverse=True)
        tasks = [[str(path) for path in by_size[task::count]] for task in range(count)]
        found = task_numbers(self._spark, count).mapInArrow(_SearchFiles(tasks, erased), spark_schema(_FILES))
        rows = found.collect()
        return sorted((Path(row[0]), str(row[1])) for row in rows)

    def is_in_metadata(self, folder: Path, erased: Erased) -> bool:
        """As `ErasureWork.is_in_metadata`."""
        scan = Table(str(folder)).prepare(Snapshot()).scan()
        found = collected(self._spark, scan, lambda queries, tasks: _RecordsOfTasks(queries, tasks, erased), _IS_FOUND)
        return any(row[0] for row in found)

    def _scan(self, columns: Sequence[str], terms: Any, as_of: str | None = None) -> Scan:
        return self._table.prepare(Snapshot(list(columns), terms, as_of)).scan()


class _ValuesOfTasks(ReadNumbered):
    """As `ReadNumbered`, but returns the distinct values of each column, as a stream of Arrow.

    Args:
        queries: The serialised queries.
        tasks: The splits of each task.
    """

    def __init__(self, queries: Sequence[bytes], tasks: list[list[bytes]]) -> None:
        super().__init__(queries, tasks, _VALUES)

    def _read(self, splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
        from mortice.services.remains import distinct_values

        found = distinct_values(batch for split in splits for batch in record_batches(split.stream()))
        for name, values in found.items():
            batch = pa.record_batch({name: values})
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], schema=_VALUES)


class _RecordsOfTasks(ReadNumbered):
    """As `ReadNumbered`, but returns whether records of the metadata table have values of erased rows.

    Args:
        queries: The serialised queries.
        tasks: The splits of each task.
        erased: The values.
    """

    def __init__(self, queries: Sequence[bytes], tasks: list[list[bytes]], erased: Erased) -> None:
        super().__init__(queries, tasks, _IS_FOUND)
        self.erased = erased

    def _read(self, splits: Iterable[Split]) -> Iterator[pa.RecordBatch]:
        from mortice.services.remains import is_in_records

        batches = (batch for split in splits for batch in record_batches(split.stream()))
        yield pa.record_batch([pa.array([is_in_records(batches, self.erased)])], schema=_IS_FOUND)


class _SearchFiles:
    """A function for `mapInArrow` over a range of numbers: it searches the files of each task.

    Args:
        tasks: The paths of each task.
        erased: The values.
    """

    def __init__(self, tasks: Sequence[Sequence[str]], erased: Erased) -> None:
        self.tasks = tasks
        self.erased = erased

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from mortice.services.remains import search_files

        WorkerOptions().prepare()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                found = list(search_files([Path(path) for path in self.tasks[number]], self.erased))
                rows = [{"path": str(path), "why": why} for path, why in found]
                yield pa.RecordBatch.from_pylist(rows, schema=_FILES)
