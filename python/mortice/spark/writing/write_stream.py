"""Writes streams to tables, each batch in one commit that is made once: `foreachBatch(mortice.spark.stream_writer(…))`.

Spark runs a batch again if the query ended before Spark recorded that the batch was done. Its commit has the number of
the batch, so a batch that is in the table is left out when it comes again. A batch that was not committed is not in the
table at all: the next write rolls it back.

A commit that a batch has written has `{"identifier": "batch id"}` in its metadata, as JSON, as Hudi's streaming sink
records it, under the key of `HoodieStreamingSink`; mortice adds the id of Spark's query, which Hudi does not read. Only
the writer's own identifier is recorded: a copy of another one from an older commit would be out of date beside a
concurrent writer.
"""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mortice.errors import (
    InvalidArgumentError,
    InvalidTableError,
    StorageError,
    TableNotFoundError,
    TableServiceError,
    UnsupportedError,
    WriteConflictError,
)
from mortice.spark.execution.data_frame import is_connect
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import checked_operation, write_frame
from mortice.table import Table
from mortice.values.timeline import Instant, Timeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


CHECKPOINT_KEY = "_hudi_streaming_sink_checkpoint"
"""`HoodieStreamingSink.SINK_CHECKPOINT_KEY`."""
QUERY_KEY = "_mortice_streaming_query"
"""The id of the query, which its checkpoint folder keeps over restarts; also a map by identifier."""
WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
"""The actions of writes. Compaction and clustering may be among them; they record no batch."""


@dataclass(frozen=True)
class BatchCheckpoint:
    """The last batch of a stream that is in a table."""

    batch: int
    """Spark's number of the batch."""
    query: str | None
    """Spark's id of the query; None if Hudi wrote the batch, or Spark Connect, which does not give the id."""
    instant: str
    """The requested time of the commit."""
    operation: str
    """The commit's operation, such as `UPSERT`; empty if it records none."""

    @staticmethod
    def metadata(identifier: str, batch: int, query: str | None) -> dict[str, str]:
        """Returns what the commit of a batch records, as options of the write."""
        recorded = {CHECKPOINT_KEY: {identifier: str(batch)}}
        if query is not None:
            recorded[QUERY_KEY] = {identifier: query}
        return {key: json.dumps(value, separators=(",", ":")) for key, value in recorded.items()}


def last_checkpoint(table: Table, identifier: str, *, is_archive_read: bool) -> BatchCheckpoint | None:
    """Returns the last batch of a stream in a table (`CommitUtils.getValidCheckpointForCurrentWriter`).

    Args:
        table: The table, as it is now.
        identifier: The stream.
        is_archive_read: True also looks in archived commits, if there is none in active ones. Hudi does not.

    Raises `InvalidTableError` for a checkpoint that is not Hudi's map.
    """
    parts = [table.timeline.active, *([table.timeline.archived] if is_archive_read else [])]
    for part in parts:
        for instant, metadata in _newest_first(part):
            extra = metadata.get("extraMetadata") or {}
            batch = _entry(table, instant, extra.get(CHECKPOINT_KEY), identifier)
            if batch is not None:
                query = _entry(table, instant, extra.get(QUERY_KEY), identifier)
                number, operation = _number(table, instant, batch), str(metadata.get("operationType") or "")
                return BatchCheckpoint(number, query, instant.requested_time, operation)
    return None


def _newest_first(timeline: Timeline) -> Iterator[tuple[Instant, dict[str, Any]]]:
    for instant in sorted(timeline, key=lambda one: one.requested_time, reverse=True):
        if instant.is_completed and instant.action in WRITES:
            yield instant, timeline.metadata(instant) or {}


def _entry(table: Table, instant: Instant, text: str | None, identifier: str) -> str | None:
    if not text:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidTableError(
            f"the checkpoint of a stream is not a JSON map: {text!r}", path=table.uri, instant=instant.requested_time
        )
    value = found.get(identifier)
    return None if value is None else str(value)


def _number(table: Table, instant: Instant, batch: str) -> int:
    try:
        return int(batch)
    except ValueError:
        raise InvalidTableError(
            f"the checkpoint of a stream is not a batch id: {batch!r}", path=table.uri, instant=instant.requested_time
        ) from None


_PREFIX = "hoodie.datasource.write.streaming."
IDENTIFIER, DEFAULT_IDENTIFIER = f"{_PREFIX}checkpoint.identifier", "default_single_writer"
RETRIES, DEFAULT_RETRIES = f"{_PREFIX}retry.count", 3
INTERVAL, DEFAULT_INTERVAL = f"{_PREFIX}retry.interval.ms", 2000
IGNORE_FAILED = f"{_PREFIX}ignore.failed.batch"
QUERY_ID = "sql.streaming.queryId"
"""The local property in which Spark gives the query's id to the thread of a batch (`StreamExecution.QUERY_ID_KEY`)."""
RUN_ID = "spark.jobGroup.id"
"""The one with the id of the query's run, which differs after a restart (`StreamExecution.runBatches`)."""

_last_writers: dict[tuple[str, str, str | None, str | None], tuple[int, str]] = {}
"""The last batch by table, identifier, query and run, and the writer that has done it."""

_log = logging.getLogger("mortice")


def stream_writer(
    uri: str | os.PathLike[str], operation: str | None = None, options: Mapping[str, object] | None = None
) -> StreamWriter:
    """Returns a function for `foreachBatch` that writes each batch of a stream to a Hudi table, exactly once.

        trips.writeStream.foreachBatch(
            mortice.spark.stream_writer("/lake/trips", options={"hoodie.index.type": "BUCKET"})
        ).option("checkpointLocation", "/checkpoints/trips").start()

    Each batch is one commit of `mortice.spark.write`, an empty batch too. The commit records the number of the batch
    under the identifier of the stream (`hoodie.datasource.write.streaming.checkpoint.identifier`, default
    `default_single_writer`) in the form of Hudi's streaming sink, so that mortice continues a stream of Hudi with its
    checkpoint folder, and Hudi one of mortice. A batch that is in the table is not written again.

    Args:
        uri: The table's base path, a local path or a URI. If there is no table, the options describe it, and the first
            batch creates it.
        operation: As for `mortice.spark.write`: `upsert` if neither it nor the option
            `hoodie.datasource.write.operation` is given.
        options: As for `mortice.spark.write`. Two streams that write to one table need identifiers of their own, and
            the options of several writers. Two writers of one stream need identifiers of their own, too.
            `hoodie.datasource.write.streaming.retry.count` (3) is the number of attempts when the storage fails or
            another writer conflicts, `…retry.interval.ms` (2000) the time before the second one, which doubles.

    Returns:
        The function. It can be pickled.

    Raises:
        InvalidArgumentError: An argument or an option is invalid. The function raises it, too, if another query or
            another writer of the query has used the identifier: its batches have the same numbers.
        UnsupportedError: `hoodie.datasource.write.streaming.ignore.failed.batch` is true, which loses rows.
    """
    return StreamWriter(uri, operation, options)


class StreamWriter:
    """A function of a batch and its number. See `stream_writer`."""

    def __init__(
        self, uri: str | os.PathLike[str], operation: str | None = None, options: Mapping[str, object] | None = None
    ) -> None:
        target = WriteTarget.from_options(uri, options)
        of_write = dict(target.options)
        self._identifier = of_write.pop(IDENTIFIER, DEFAULT_IDENTIFIER)
        if not self._identifier:
            raise InvalidArgumentError(f"{IDENTIFIER} must not be empty")
        self._attempts = max(1, _count(RETRIES, of_write.pop(RETRIES, str(DEFAULT_RETRIES))))
        self._interval_ms = _count(INTERVAL, of_write.pop(INTERVAL, str(DEFAULT_INTERVAL)))
        if of_write.pop(IGNORE_FAILED, "false").strip().lower() != "false":
            raise UnsupportedError(f"{IGNORE_FAILED}=true: the rows of a failed batch would be lost; leave it out")
        self._operation = checked_operation(operation, of_write)
        self._target = replace(target, options=of_write)
        self._has_written = False
        self._id = str(uuid.uuid4())

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Writes a batch, unless it is in the table.

        Raises as `mortice.spark.write`, and `InvalidArgumentError` if another query or writer has used the identifier.
        """
        query, uri = _query_id(df.sparkSession), self._target.uri
        stream = (uri, self._identifier, query, None if query is None else _local_property(df.sparkSession, RUN_ID))
        self._check_writer(stream, batch_id)
        recorded = BatchCheckpoint.metadata(self._identifier, batch_id, query)
        target = replace(self._target, options={**self._target.options, **recorded})
        seconds = self._interval_ms / 1000
        for attempts_left in reversed(range(self._attempts)):
            if self._is_written(df.sparkSession, batch_id, query):
                _log.warning("batch %d of the stream %s is in the table already: %s", batch_id, self._identifier, uri)
                # Outside of a query, a restart is not seen. On Spark Connect, each run has a process.
                if query is not None or is_connect(df.sparkSession):
                    _last_writers[stream] = (batch_id, self._id)
                return
            try:
                write_frame(df, target, self._operation, "append")
            except (StorageError, TableServiceError, WriteConflictError) as error:
                # After a table service that failed, the batch is in the table. Other errors come again, and a query
                # that was stopped must not write on.
                if attempts_left == 0:
                    raise
                _log.warning("batch %d is written to %s again in %g s: %s", batch_id, uri, seconds, error)
                time.sleep(seconds)
                seconds *= 2
            else:
                self._has_written = True
                _last_writers[stream] = (batch_id, self._id)
                return

    def _check_writer(self, stream: tuple[str, str, str | None, str | None], batch: int) -> None:
        """Refuses a batch that another writer of this run of the query has done: it would be left out."""
        last = _last_writers.get(stream)
        if last is not None and last[0] == batch and last[1] != self._id:
            raise self._several_writers(batch, "another writer has written a part of it", None)

    def _is_written(self, spark: SparkSession, batch: int, query: str | None) -> bool:
        try:
            table = Table(self._target.uri, storage_options=self._target.storage_options(spark))
        except TableNotFoundError:
            return False
        last = last_checkpoint(table, self._identifier, is_archive_read=not self._has_written)
        if last is None:
            return False
        if last.query is not None and query is not None:
            if last.query != query:
                raise self._used_by_another(last, f"by the query {last.query}, and this is the query {query}")
        elif batch < last.batch:
            raise self._used_by_another(last, f"for batch {last.batch}, and this is batch {batch}")
        operation = last.operation.lower().removesuffix("_prepped")
        if batch == last.batch and operation not in {"", "unknown", self._operation}:
            raise self._several_writers(batch, f"its commit is one of {operation}, and this is {self._operation}", last)
        return batch <= last.batch

    def _several_writers(self, batch: int, how: str, last: BatchCheckpoint | None) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"batch {batch} of the stream {self._identifier!r} is in the table already, but {how}, so that these rows "
            f"would be lost: each writer of a batch needs an {IDENTIFIER} of its own; if there is one writer, and its "
            "operation was changed, restart it once with the one before",
            path=self._target.uri,
            instant=None if last is None else last.instant,
        )

    def _used_by_another(self, last: BatchCheckpoint, how: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"the identifier {self._identifier!r} of a stream was last used {how}: batches of both have the same "
            f"numbers; start with the checkpoint folder of the first query, or give the new one another {IDENTIFIER}",
            path=self._target.uri,
            instant=last.instant,
        )


def _count(name: str, value: str) -> int:
    text = value.strip()
    if not text.isdecimal():
        raise InvalidArgumentError(f"{name} must be an integer of 0 or more, got {value!r}")
    return int(text)


def _query_id(spark: SparkSession) -> str | None:
    """Returns the id of the query that runs the batch; None on Spark Connect, and outside of a query."""
    return None if is_connect(spark) else _local_property(spark, QUERY_ID)


def _local_property(spark: SparkSession, name: str) -> str | None:
    return spark.sparkContext.getLocalProperty(name)
