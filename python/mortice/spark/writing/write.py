"""Writes DataFrames to tables: the driver plans, tags, assigns and commits; rows go from task to task.

The steps are those of a write in one process, and the same native code runs them
(`mortice.spark.writing.write_stages`). The DataFrame is computed once: its rows are persisted, in the table's types and
with their keys, until the write has ended.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit
from mortice.catalogs.run import SyncOptions, asked_for, sync_after, without_sync
from mortice.errors import (
    InvalidArgumentError,
    MorticeError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    WriteConflictError,
)
from mortice.spark.execution.data_frame import is_connect
from mortice.spark.execution.task_errors import aborted_on_error
from mortice.spark.schema import arrow_schema, check_variants, without_arrow_types
from mortice.spark.settings.option_names import Default
from mortice.spark.settings.write_options import WriteTarget, parallelism
from mortice.spark.writing.given_rows import cast_timestamps, partitioned_frame
from mortice.spark.writing.write_stages import Frames, SparkTasks
from mortice.table import Table
from mortice.values.argument_types import Options
from mortice.values.observe import observed
from mortice.values.other_names import hinted
from mortice.writing.user_functions import CommitCheck, Partitioner, Validator, checked_validators, validated
from mortice.writing.writes import SchemaChanges, with_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class NewTable:
    """A table that a write may create. If the write then fails, the table is left without columns.

    So the next write, with other columns, is not refused.
    """

    def __init__(self, uri: str, storage: Mapping[str, str]) -> None:
        self.uri, self.storage = uri, storage
        self._is_created = False

    def create(self, operation: str, columns: pa.Table, options: Mapping[str, str]) -> None:
        """Creates the table."""
        self._is_created = _mortice.create_table_by_options(self.uri, self.storage, operation, columns, options)

    def forget_columns(self) -> None:
        """Removes the columns of the table if it was created here and has no commit."""
        if self._is_created:
            with contextlib.suppress(MorticeError):
                _mortice.forget_schema(self.uri, self.storage)

    @contextlib.contextmanager
    def forgotten_on_error(self) -> Iterator[None]:
        """Calls `forget_columns` if the block raises anything."""
        try:
            yield
        except BaseException:
            self.forget_columns()
            raise


OPERATION = "hoodie.datasource.write.operation"
PARTITIONS = "hoodie.datasource.write.partitions.to.delete"
MODES = ("append", "overwrite", "errorifexists", "error", "ignore")


DEFAULT_OPERATION = Default("upsert")


@hinted
def write(  # noqa: PLR0917
    df: DataFrame,
    uri: str | os.PathLike[str],
    operation: str = DEFAULT_OPERATION,
    mode: str = "append",
    options: Options | None = None,
    validators: Sequence[Validator] = (),
    partitioner: Partitioner | None = None,
    *,
    schema: SchemaChanges | None = None,
) -> Commit | None:
    """Writes a DataFrame to a Hudi table in one commit. Works on Spark 3.5 and later, classic and Connect.

        mortice.spark.write(trips, "/lake/trips", options={"hoodie.index.type": "RECORD_INDEX"})

    If there is no table at `uri`, the options describe the one that is created, as for Hudi's own source:
    `hoodie.table.name`, `hoodie.datasource.write.recordkey.field`, `…partitionpath.field`, `…precombine.field`,
    `…table.type`, `hoodie.write.table.version` and what else a table's properties are made of. If the write fails, the
    table is left without columns, and the next write decides on them.

    The commit is complete, or it is invisible. If a task fails and Spark gives up, or an exception ends the call, it is
    rolled back; what failed attempts of tasks have written is deleted before the commit.

    Args:
        df: The rows. For `delete`, key and partition columns suffice.
        uri: The table's base path, a local path or a URI.
        operation: `upsert` (default), `insert`, `bulk_insert`, `insert_overwrite`, `insert_overwrite_table` or
            `delete`. The option `hoodie.datasource.write.operation` replaces the default.
        mode: What happens if there is a table: `append` (default) writes to it, `errorifexists` raises an error,
            `ignore` writes nothing. `overwrite` is possible then with `insert_overwrite_table` only: with other
            operations, Hudi would delete the table and its history.
        options: Options by Hudi's names (docs/write-options.md), Hadoop's settings of the table's store (`fs.s3a.*`)
            and `mortice.storage.NAME`. The session's settings of Hadoop's file systems apply as well.
        validators: Functions that get the table as the write would leave it, on the driver; an exception refuses the
            commit (`Table.with_validators`).
        partitioner: For `bulk_insert`, a function of a record batch that returns an integer for each row
            (`Table.bulk_insert`). It runs in tasks, to which it is sent. Rows of a partition with the same integer
            share files, in the order of the DataFrame, and others do not.
        schema: Which changes of the table's columns the write may make: `"exact"` (default), `"add"` or `"evolve"`
            (`Table.upsert`). Columns are checked on the driver, values by tasks.

    Returns:
        The commit; None if the mode is `ignore` and there is a table.

    Raises:
        InvalidArgumentError: An argument, an option or a row is invalid; the message names it.
        TableExistsError: There is a table, and the mode is `errorifexists`.
        TableNotFoundError: There is no table to delete from.
        UnsupportedError: The table, the operation or an option needs a feature that mortice does not have.
        WriteConflictError: Another writer changed the same file groups, and committed first.
        TableServiceError: The rows are in the table, and a table service after the write failed.
    """
    catalog = asked_for(options)
    target = WriteTarget.from_options(uri, without_sync(options))
    target = replace(target, options=with_schema(target.options, schema))
    operation = checked_operation(operation, target.options)
    if partitioner is not None:
        df = partitioned_frame(df, partitioner, operation)
    commit = write_frame(df, target, operation, mode, checked_validators(validators))
    if commit is not None:
        sync_catalog(df.sparkSession, target, catalog, commit)
    return commit


def sync_catalog(spark: SparkSession, target: WriteTarget, catalog: SyncOptions | None, commit: Commit) -> None:
    """Registers a table in a catalog after a write, if options asked for it.

    Args:
        spark: The session.
        target: The table.
        catalog: What options say of the catalog.
        commit: The commit of the write.
    """
    if catalog is not None:
        written = Table(target.uri, storage_options=target.storage_options(spark))
        sync_after(written._native, commit.instant, catalog, spark=spark.version)  # noqa: SLF001


def write_frame(  # noqa: PLR0917
    df: DataFrame,
    target: WriteTarget,
    operation: str,
    mode: str,
    validators: Sequence[Validator] = (),
    merge: _mortice.MergePlan | None = None,
) -> Commit | None:
    """Writes a DataFrame in one commit; None if the mode is `ignore` and there is a table.

    Args:
        df: The rows.
        target: The table.
        operation: The operation, checked.
        mode: As for `write`.
        validators: As for `write`.
        merge: The merge that the rows are of.

    Raises as `write`.
    """
    storage = target.storage_options(df.sparkSession)
    if operation == "delete_partition":
        return _without_partitions(target, storage)
    if not _goes_on(target.uri, storage, operation, _mode(mode)):
        return None
    if operation == "delete":
        df = _deleting(df, target.uri, storage)

    def run() -> Commit:
        with observed(operation, target.uri) as observation:
            return observation.done(_written(df, target, operation, validators, merge))

    # Rows that were merged with those of the table have to be merged again.
    return run() if merge else retried(run, target.options)


def committed(commit: Commit | None) -> Commit:
    """Returns the commit of a write in mode `append`."""
    if commit is None:
        raise AssertionError("a write in mode append has no commit")
    return commit


def retried(run: Callable[[], Commit], options: Mapping[str, str]) -> Commit:
    """Runs a write, and again after a conflict with another writer, as often as options say."""
    for attempt in itertools.count(1):
        try:
            commit = run()
            break
        except WriteConflictError:
            pause = _mortice.pause_after_conflict(options, attempt)
            if pause is None:
                raise
            time.sleep(pause)
    return commit.__replace__(attempts=attempt)


def _written(
    df: DataFrame,
    target: WriteTarget,
    operation: str,
    validators: Sequence[Validator],
    merge: _mortice.MergePlan | None,
) -> Commit:
    """Writes a DataFrame, which is executed once. Arguments and errors are those of `write_frame`."""
    storage = target.storage_options(df.sparkSession)
    new = NewTable(target.uri, storage)
    with new.forgotten_on_error():
        native = _planned(df, new, operation, target, merge)
        given, df = df, cast_timestamps(df, pa.schema(native.schema))
        if df is not given:
            native = _planned(df, new, operation, target, merge)
        checks = validated(validators, lambda commit: Table(target.uri, storage_options=storage).preview(commit))
        with aborted_on_error(native), checks as check:
            return run_write(df, native, check)


def _without_partitions(target: WriteTarget, storage: Mapping[str, str]) -> Commit:
    """Deletes the partitions that an option names; the rows are not read."""
    options = {name: value for name, value in target.options.items() if name not in (OPERATION, PARTITIONS)}
    partitions = [path.strip() for path in target.options.get(PARTITIONS, "").split(",") if path.strip()]
    if not partitions:
        raise InvalidArgumentError(f"the operation delete_partition needs {PARTITIONS}, the paths of partitions")
    return Table(target.uri, storage_options=storage).delete_partitions(partitions, options)


def checked_operation(operation: str | None, options: Mapping[str, str]) -> str:
    """Returns the operation that an argument or, if it is None or its default, the option gives."""
    if operation is None or isinstance(operation, Default):
        operation = options.get(OPERATION, DEFAULT_OPERATION)
    if not isinstance(operation, str):
        raise InvalidArgumentError(f"operation must be a string, got {type(operation).__name__}")
    return operation.strip().lower()


def _mode(mode: str) -> str:
    name = str(mode).strip().lower()
    if name not in MODES:
        raise InvalidArgumentError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return "errorifexists" if name == "error" else name


def _goes_on(uri: str, storage: Mapping[str, str], operation: str, mode: str) -> bool:
    """Returns whether the mode lets a write happen. Raises what it raises if there is a table."""
    if mode == "append":
        return True
    if operation == "delete":
        raise InvalidArgumentError(f"delete is possible in mode append only, got {mode}")
    try:
        Table(uri, storage_options=storage)
    except TableNotFoundError:
        return True
    if mode == "errorifexists":
        raise TableExistsError("there is a table, and the mode is errorifexists; use append to write to it", path=uri)
    if mode == "overwrite" and operation == "insert_overwrite_table":
        return True
    if mode == "overwrite":
        raise UnsupportedError(
            "mode overwrite of a table that exists: Hudi would delete it with its history; to replace its rows use "
            "the operation insert_overwrite_table, to begin again delete the folder",
            path=uri,
        )
    return False


def _deleting(df: DataFrame, uri: str, storage: Mapping[str, str]) -> DataFrame:
    """Returns the rows of a delete without columns that cannot be written, which it does not need."""
    table = Table(uri, storage_options=storage)
    fields = (*table.record_key_fields, *table.partition_fields, *table.ordering_fields)
    return without_arrow_types(df, [*fields, *(name.partition(".")[0] for name in fields)])


def _planned(
    df: DataFrame, new: NewTable, operation: str, target: WriteTarget, merge: _mortice.MergePlan | None
) -> _mortice.DistributedWrite:
    """Returns the native part of the write, after the table was created if there is none."""

    def plan() -> _mortice.DistributedWrite:
        native = native_write(df.sparkSession, target, operation, df.schema, merge)
        if operation != "delete":
            check_variants(df.schema, pa.schema(native.schema))
        return native

    try:
        return plan()
    except TableNotFoundError:
        if operation == "delete":
            raise
    check_variants(df.schema, None)
    new.create(operation, arrow_schema(df.schema).empty_table(), target.options)
    return plan()


def native_write(
    spark: SparkSession,
    target: WriteTarget,
    operation: str,
    columns: StructType,
    merge: _mortice.MergePlan | None = None,
) -> _mortice.DistributedWrite:
    """Returns the native part of a write.

    Args:
        spark: The session.
        target: The table.
        operation: The operation.
        columns: The columns of the rows.
        merge: The merge that the rows are of.
    """
    # The client of Spark Connect may be far from the table.
    most = 0 if is_connect(spark) else target.driver_bytes
    schema, tasks, storage = arrow_schema(columns).empty_table(), parallelism(spark), target.storage_options(spark)
    return _mortice.DistributedWrite(target.uri, storage, operation, schema, target.options, tasks, merge, most)


def run_write(df: DataFrame, native: _mortice.DistributedWrite, check: CommitCheck | None) -> Commit:
    """Runs the steps of a write, and table services after it as tasks. Errors do not roll the write back.

    Args:
        df: The rows.
        native: The native part of the write.
        check: Checks the table before the commit.
    """
    frames = Frames(df.sparkSession, df)
    reports: list[bytes] = []
    try:
        name, partitions, stages, key_tasks = native.start()
        while name != "commit":
            if name == "prepare":
                reports = frames.prepare(stages["prepare"])
            elif name == "tag":
                reports = frames.tag(partitions, stages, key_tasks)
            elif name == "move":
                reports = frames.move(partitions, stages)
            else:
                reports = frames.insert(stages["insert"]) if name == "insert" else frames.write(partitions, stages)
                break
            name, partitions, stages, key_tasks = native.next(reports)
            reports = []
            # A job of Spark would take longer to plan than few rows to write.
            if native.is_small and name != "commit":
                reports = native.run_here(frames.to_driver())
                break
    finally:
        frames.unpersist()
    # Table services after the commit may take long: the rows are not persisted meanwhile.
    return native.commit(reports, check, SparkTasks(df.sparkSession))
