"""Writes streams to tables, each batch in one commit that is made once: `foreachBatch(mortice.spark.stream_writer(…))`.

Spark runs a batch again if the query ended before Spark recorded that the batch was done. Its commit has the number of
the batch, so a batch that is in the table is left out when it comes again. A batch that was not committed is not in the
table at all: the next write rolls it back.

`rust/client/src/stream_batches.rs` says what a commit records of its batch, and which batches are in a table.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice.errors import InvalidArgumentError, StorageError, TableServiceError, UnsupportedError, WriteConflictError
from mortice.spark.execution.data_frame import is_connect
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.writing.write import checked_operation, write_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
        last = _last_writers.get(stream)
        if last is not None and last[0] == batch_id and last[1] != self._id:
            # Another writer of this run of the query has done the batch: it would be left out.
            _mortice.refuse_other_writer(uri, (self._identifier, batch_id, query, self._operation))
        batch = (self._identifier, batch_id, query, self._operation)
        target = replace(self._target, options={**self._target.options, **_mortice.stream_batch_options(batch)})
        seconds = self._interval_ms / 1000
        for attempts_left in reversed(range(self._attempts)):
            storage = target.storage_options(df.sparkSession)
            if _mortice.is_stream_batch_written(uri, storage, batch, not self._has_written):
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
