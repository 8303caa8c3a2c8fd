"""`spark.readStream.format("mortice")`: a table's commits as they complete, a range of them in each micro-batch.

    stream = spark.readStream.format("mortice").option("maxInstantsPerTrigger", 10).load("/lake/trips")
    stream.writeStream.option("checkpointLocation", "/checkpoints/trips").toTable("trips_copy")

A batch is `Table.incremental(after, instant)` (with cdc, `Table.changes`), planned once, on the driver; tasks read its
splits. A row that several commits of one batch wrote comes once, as the last left it; so it depends on the limits how
often it comes, and with `mortice.changelog` it does not. Its offset in the checkpoint is that range (see
`mortice.spark.stream_offset`): a batch that is run again plans it again, and gives the same rows. What comes next, and
what has to wait, is what `Table.follow` says:

* From table version 8 on offsets are completion times. A commit that completes late comes late, and is not missed.
* Before, they are requested times, and nothing comes while an earlier commit is under way.
* Table services wrote no rows of their own: they are passed by, and start no batch.
* Commits that were archived meanwhile are caught up with. Where the cleaner has removed files that a batch needs, it
  fails with `MORTICE-FILE-CLEANED`: begin anew, with a new checkpoint and a later `start`, or let
  `hoodie.datasource.read.incr.fallback.fulltablescan.enable` find what the range's rows have become.
* Columns are fixed when the query starts. One that is added to the table later is left out until the query is started
  again. Where one of them vanishes, or gets another type, the query fails before it takes the batch, which is the first
  one when it is started again.

Limits. Spark 4.2 and later ask for a batch from where to go on and with what limit, so that `Trigger.AvailableNow`
takes batches within the limits until all is read that was there at its start. Spark 4.0 and 4.1 do not: the source
bounds each batch by what it handed out last, and `AvailableNow` ends after one batch. Without limits it is the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from mortice.errors import CorruptLogError, FileCleanedError, InvalidArgumentError, InvalidTableError, UnsupportedError
from mortice.follow import Ranges
from mortice.scan import Scan
from mortice.spark.arrow_udf import task_batches
from mortice.spark.schema import spark_arrow_schema, spark_type
from mortice.spark.split_partition import complete_partition
from mortice.spark.stream_offset import Offset
from mortice.spark.stream_options import StreamQuery, before
from mortice.spark.tasks import tasks_of
from mortice.split import deserialize_splits
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # Spark 4.0 and 4.1 limit nothing.

        class SupportsTriggerAvailableNow:
            """Stands for a class that this Spark has not."""


PATIENCE_SECONDS = 30.0
"""How long the file of a completed commit may take to be written: on local disks some writers make it before they fill
it."""
_POLL_SECONDS = 0.1
_LOOKS = 5
"""How often a table is opened anew that changes while it is planned."""


class SplitStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says where a stream may go next, plans its batches, and reads their splits."""

    def __init__(self, query: StreamQuery, columns: Sequence[str], target: pa.Schema) -> None:
        self._query = query
        self._columns = list(columns)
        self._target = target
        self._worker = query.query.tasks.worker
        self._start: Offset | None = None
        self._ranges: Ranges | None = None
        self._told: Offset | None = None
        """What was handed out last, or is known to have been; `_ranges` goes on behind it."""
        self._until: str | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a query without a checkpoint starts."""
        return self._initial().to_json()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch; `start` itself where there is nothing yet. Spark 4.0 and 4.1 give no arguments."""
        begin = (self._told or self._initial()) if start is None else Offset.from_json(start)
        instants, size = self._limits(limit)
        ranges = self._ranges_after(begin)
        # What was taken from a range that fails is not handed out: the next call begins anew.
        self._ranges = None
        end = ranges.next(instants, size, self._until)
        self._ranges = ranges
        if end is None:
            self._told = begin
            return begin.to_json()
        layout = ranges.layout
        after = begin.instant if layout == begin.layout else self._here(self._query.query.table(), begin)
        self._told = begin.behind(end, layout, after)
        return self._told.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limits of the options. Spark has no word for instants, and hands back what stands for them."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxFiles

        if self._query.max_bytes is not None:
            return ReadMaxBytes(self._query.max_bytes)
        if self._query.max_instants is not None:
            return ReadMaxFiles(self._query.max_instants)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The query ends with what is there now."""
        # Nothing is behind the empty text: an empty table has nothing to give.
        self._until = self._query.query.table().ranges("latest").position or ""

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Where the table is by now, for the query's progress reports."""
        ranges = self._query.query.table().ranges("latest")
        return Offset(ranges.position, ranges.layout).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of the batch after `start`, up to and with `end`."""
        begin, until = Offset.from_json(start), Offset.from_json(end)
        self._know(until)
        if begin.is_start:
            # `latest` may be somewhere else by now; where the batch began was written down with its end.
            if until.is_start:
                return []
            begin = Offset(until.after, until.layout)
        if begin == until:
            return []
        began, looks = time.monotonic(), 0
        while (planned := self._attempt(begin, until, looks, time.monotonic() - began)) is None:
            looks += 1
            time.sleep(_POLL_SECONDS)
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task. Spark makes an empty partition of its own where there are none."""
        self._worker.prepare()
        if partition.value is not None:
            queries, rests = partition.value
            yield from task_batches(deserialize_splits(queries, rests), self._target)

    def stop(self) -> None:
        """Lets go of the table."""
        self._ranges = None

    def _initial(self) -> Offset:
        if self._start is None:
            start = self._query.start
            if self._query.start_inclusive:
                self._query.query.table().ranges(start)  # Refuses what is no instant.
                start = before(start)
            ranges = self._query.query.table().ranges(start)
            self._start = Offset(ranges.position, ranges.layout)
        return self._start

    def _know(self, offset: Offset) -> None:
        """Spark 4.0 and 4.1 do not say from where to go on; a query that restarts plans its last offset first."""
        if self._told != offset:
            self._told, self._ranges = offset, None

    def _ranges_after(self, begin: Offset) -> Ranges:
        if self._ranges is None or self._told != begin:
            table = self._query.query.table()
            if not begin.is_start:
                _check_reached(table, begin)
            self._ranges = table.ranges(self._here(table, begin) or "earliest")
        return self._ranges

    def _limits(self, limit: ReadLimit | None) -> tuple[int | None, int | None]:
        """Commits and bytes of a batch, at most."""
        own = self._query.max_instants, self._query.max_bytes
        kind, asked = type(limit).__name__, vars(limit) if limit is not None else {}
        if limit is None:
            return own
        if kind == "ReadAllAvailable":
            return None, None
        if kind == "ReadMaxBytes":
            return own[0], asked["max_bytes"]
        if kind == "ReadMaxFiles":
            return asked["max_files"], own[1]
        raise UnsupportedError(f"a stream is limited by instants and bytes, not by {kind}")

    def _attempt(self, begin: Offset, until: Offset, looks: int, waited: float) -> list[InputPartition] | None:
        """The tasks of a batch; None where the table is to be looked at once more."""
        try:
            return self._planned(begin, until)
        except FileCleanedError:
            # The timeline may have moved on while it was read.
            if looks >= _LOOKS:
                raise
        except (InvalidTableError, CorruptLogError):
            # The newest commit, which tells the schema, may be half written.
            if waited > PATIENCE_SECONDS:
                raise
        return None

    def _planned(self, begin: Offset, until: Offset) -> list[InputPartition]:
        table = self._query.query.table()
        _check_reached(table, until)
        after, end = self._here(table, begin), self._here(table, until)
        if end is None or after == end:
            return []
        if after is not None and end < after:
            raise InvalidArgumentError(
                f"the checkpoint asks for the commits after {after}, up to {end}, which is earlier; "
                "its offsets are not of one query"
            )
        tasks = tasks_of(self._scan(table, after, end), self._query.query.tasks.split_bytes)
        return [complete_partition(task) for task in tasks]

    def _scan(self, table: Table, after: str | None, end: str) -> Scan:
        try:
            plan = self._query.between(after or "earliest", end).prepare(table, self._columns)
            schema = plan.schema
        except InvalidArgumentError as error:
            known = self._query.empty.prepare(table, None).schema.names
            gone = [column for column in self._columns if column not in known]
            if not gone:
                raise
            raise UnsupportedError(
                f"the table no longer has {gone}, columns of this stream, which were fixed when it started; "
                "start it again with the columns that there are, and this batch is its first"
            ) from error
        for now, field in zip(spark_arrow_schema(schema), self._target, strict=True):
            if now.type != field.type:
                raise UnsupportedError(
                    f"the column {field.name!r} is {_said(now)} in the table by now, but {_said(field)} in this "
                    "stream, whose columns were fixed when it started; start it again, and this batch is its first"
                )
        return plan.scan()

    @staticmethod
    def _here(table: Table, offset: Offset) -> str | None:
        return None if offset.instant is None else table.position_here(offset.instant, offset.layout)

    def __getstate__(self) -> dict[str, object]:
        """It travels to every task, which needs no more than this."""
        return {"_target": self._target, "_worker": self._worker}


def _check_reached(table: Table, offset: Offset) -> None:
    """Whether the table is as far as a stream was that it gave rows to."""
    position = offset.instant or ""
    times = [time_ for one in table.timeline.active for time_ in (one.completion_time, one.requested_time) if time_]
    if max(times, default=position) < position:
        raise InvalidArgumentError(
            f"the checkpoint is at {position}, and the table's timeline ends at {max(times)}: it is another table, or "
            "one that was put back to an earlier state; start a new query, with a new checkpoint",
            path=table.uri,
        )


def _said(field: pa.Field) -> str:
    return str(spark_type(field.type, field.name).simpleString())
