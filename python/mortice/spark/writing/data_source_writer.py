"""`df.write.format("mortice")`: inserts by Spark 4's Python data source, each task into new file groups.

Spark plans, runs and commits such a job in several processes, and hands rows to tasks as they are: it offers no shuffle
by key or by file group. So these are writes whose tasks need not know each other's rows: `insert`, `bulk_insert`,
`insert_overwrite` and `insert_overwrite_table`. All others, those of bucket-indexed tables included, need
`mortice.spark.write`, which shuffles rows so that those of a file group come to one task.

The instant is requested when the job begins. A task sends its driver what it has written. An attempt that failed, or
runs on after the commit, leaves no file (docs/write-protocol.md). A job that Spark aborts is rolled back; after a
driver that was killed, the next write does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from mortice import _mortice
from mortice.errors import InvalidArgumentError, TableNotFoundError, UnsupportedError
from mortice.spark.schema import arrow_schema, check_variants, has_variant
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import OPERATION, NewTable
from mortice.spark.writing.write_stages import REPORT, RunStage
from mortice.table import Table
from mortice.values.options import checked_storage_options
from mortice.writing.writes import warn_of

REPLACING = ("insert_overwrite", "insert_overwrite_table")
INSERTING = ("insert", "bulk_insert")


def task_insert_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> DataSourceWriter:
    """Begins a write, and creates the table if there is none.

    Args:
        options: The options of the DataFrameWriter, with `path`.
        schema: The columns of the rows.
        overwrite: True for the mode `overwrite`: the table has the rows and no others, or, with the operation
            `insert_overwrite`, its partitions have.

    Raises:
        InvalidArgumentError: An option is invalid, or the operation is missing.
        UnsupportedError: The operation or the table needs `mortice.spark.write`.
    """
    given = dict(options)
    path = given.pop("path", None)
    if path is None:
        raise InvalidArgumentError("the path of the table is missing: give it to save(), or as the option path")
    target = WriteTarget.from_options(path, given)
    operation = _operation(target.options, overwrite=overwrite)
    # The mode overwrite may have another operation than the option.
    of_write = {name: value for name, value in target.options.items() if name != OPERATION}
    storage = checked_storage_options(target.storage)
    columns = arrow_schema(schema).empty_table()

    def begin() -> tuple[bytes, list[str]]:
        return _mortice.begin_task_insert(target.uri, storage, operation, columns, of_write)

    new = NewTable(target.uri, storage)
    try:
        if has_variant(schema):
            check_variants(schema, Table(target.uri, storage_options=storage).schema)
        state, warned = begin()
    except TableNotFoundError:
        check_variants(schema, None)
        with new.forgotten_on_error():
            new.create(operation, columns, of_write)
            state, warned = begin()
    warn_of(warned)
    return TaskInsertWriter(state, new)


def _operation(options: Mapping[str, str], *, overwrite: bool) -> str:
    given = options.get(OPERATION, "").strip().lower()
    if overwrite:
        # Hudi's mode replaces the table with each operation that inserts.
        replacing = {"": REPLACING[1], **dict.fromkeys(INSERTING, REPLACING[1])}
        given = replacing.get(given, given)
    if not given:
        raise InvalidArgumentError(
            f'the option {OPERATION} is missing: Hudi\'s default is upsert, which format("mortice") does not have; set '
            f"it to {' or '.join(INSERTING)}, or upsert by mortice.spark.write"
        )
    if given not in (*INSERTING, *REPLACING):
        raise UnsupportedError(
            f'{OPERATION}={given} by format("mortice") (supported: {", ".join((*INSERTING, *REPLACING))}): rows of one '
            "key would have to come to one task, which a Python data source cannot ask for; use mortice.spark.write"
        )
    return given


@dataclass
class WrittenFiles(WriterCommitMessage):
    """What a task sends to the driver."""

    reports: list[bytes]


class TaskInsertWriter(DataSourceArrowWriter):
    """Writes the rows of tasks. It is sent to each of them, and to the process that ends the job.

    Args:
        state: The serialised write state.
        new: The table, which the job may have created.
    """

    def __init__(self, state: bytes, new: NewTable) -> None:
        self._state, self._new = state, new

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Writes the rows of one task; an error of the rows is reported, since another attempt would not help."""
        reports: list[bytes] = []
        for batch in RunStage(self._state)(iterator):
            kinds, found = batch["kind"].to_pylist(), batch["report"].to_pylist()
            reports += (report for kind, report in zip(kinds, found, strict=True) if kind == REPORT)
        return WrittenFiles(reports)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commits the write. Raises what a task has reported, or what prevents the commit; it is rolled back then."""
        written = [message for message in messages if isinstance(message, WrittenFiles)]
        if len(written) != len(messages):
            raise AssertionError("Spark commits a job without the messages of all tasks")
        reports = [report for message in written for report in message.reports]
        _mortice.commit_task_insert(self._state, reports)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002 — Spark's signature
        """Rolls the write back."""
        _mortice.abort_task_insert(self._state, "Spark has aborted the job")
        self._new.forget_columns()
