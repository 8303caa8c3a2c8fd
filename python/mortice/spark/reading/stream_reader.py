"""`spark.readStream.format("mortice")`: the commits of a table as they complete, a range of them in each micro-batch.

    stream = spark.readStream.format("mortice").option("maxInstantsPerTrigger", 10).load("/lake/trips")
    stream.writeStream.option("checkpointLocation", "/checkpoints/trips").toTable("trips_copy")

A batch is `Table.incremental(after, instant)` (with cdc, `Table.changes`), planned once, on the driver; tasks read its
splits. A row that several commits of one batch wrote is returned once, as the last commit left it, so the limits decide
how often it is returned; with `mortice.changelog` they do not. The range is stored as offset in the checkpoint
(`mortice.spark.reading.stream_reader`): a batch that is run again plans the same range and returns the same rows. The
order of commits is that of `Table.follow`:

* From table version 8 on, offsets are completion times. A commit that completes late is delivered late, and not missed.
* Below, they are requested times, and no commit is delivered while an earlier one is pending.
* Table services write no rows of their own: they are skipped and start no batch.
* Commits that were archived meanwhile are delivered as well. If the cleaner has removed files that a batch needs, the
  batch fails with `MORTICE-FILE-CLEANED`: start with a new checkpoint and a later `start`, or set
  `hoodie.datasource.read.incr.fallback.fulltablescan.enable`, which attempts for the rows in the current files.
* Columns are fixed when the query starts. A column that is added later is left out until the query is started again. If
  a column is dropped or changes its type, the query fails before the batch, which is the first one after a restart.

Limits. Spark 4.2 and later pass the start and the limit of a batch, so `Trigger.AvailableNow` runs batches within the
limits until everything is read that existed at its start. Spark 4.0 and 4.1 do not: the source limits each batch by its
last offset, and `AvailableNow` ends after one batch. Without limits there is no difference.

Offsets are stored in the checkpoint by Spark:

    {"version": 1, "layout": 2, "after": "20240101120000000", "instant": "20240101130000000"}

`instant` is the position: a completion time on a timeline of `layout` 2 (from table version 8 on), a requested time on
one of layout 1, or `earliest`. If writes were pending before it, their requested times follow, each after a `~`: a
commit of them that completes late is in the next batch. `after` is the beginning of the batch that ends there: the
batch has the range (after, instant]. It is missing in the offset at which a query starts.

`after` is needed for the first batch only. Spark stores the ends of batches but not their beginnings. If a query is
killed during its first batch, Spark requests the initial offset again, and `latest` would then be a later one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from mortice.errors import CorruptLogError, FileCleanedError, InvalidArgumentError, InvalidTableError, UnsupportedError
from mortice.reading.follow import Ranges, bound_of
from mortice.reading.scan import Scan
from mortice.reading.split import deserialize_splits
from mortice.spark.execution.arrow_udf import task_batches
from mortice.spark.execution.partitions import complete_partition
from mortice.spark.execution.tasks import tasks_of
from mortice.spark.schema import spark_arrow_schema, spark_type
from mortice.spark.settings.stream_options import StreamQuery
from mortice.table import Table
from mortice.values.instants import TIMELINE_ZONE, position_before

VERSION = 1
EARLIEST = "earliest"


@dataclass(frozen=True)
class Offset:
    """A position on the timeline; `instant` None is before all commits."""

    instant: str | None
    layout: int
    after: str | None = None
    """The position at which the batch that ends here begins."""
    is_start: bool = True
    """True for the offset at which a query starts: no batch ends here."""

    def behind(self, instant: str, layout: int, after: str | None) -> Offset:
        """Returns the end of a batch that begins here; `after` is this position on a timeline of that layout."""
        return Offset(instant, layout, after, is_start=False)

    def to_json(self) -> dict[str, object]:
        """Returns the form that Spark stores."""
        after = {} if self.is_start else {"after": self.after or EARLIEST}
        return {"version": VERSION, "layout": self.layout, **after, "instant": self.instant or EARLIEST}

    @classmethod
    def from_json(cls, stored: object) -> Offset:
        """Parses the form that `to_json` returned.

        Raises `InvalidArgumentError` if it is invalid, `UnsupportedError` if a later release wrote it.
        """
        if not isinstance(stored, Mapping) or not isinstance(stored.get("version"), int):
            raise InvalidArgumentError(
                f"the offset {stored!r} in the checkpoint was not written by mortice; start with a new checkpoint"
            )
        if stored["version"] != VERSION:
            raise UnsupportedError(
                f"the offset {stored!r} in the checkpoint has version {stored['version']}, not {VERSION}; "
                "use the release that wrote it"
            )
        layout = stored.get("layout")
        if layout not in (1, 2) or isinstance(layout, bool):
            raise InvalidArgumentError(f"the offset {stored!r} in the checkpoint must have a timeline layout of 1 or 2")
        return cls(_position(stored, "instant"), layout, _position(stored, "after"), is_start="after" not in stored)


def _position(stored: Mapping[str, object], name: str) -> str | None:
    text = stored.get(name, EARLIEST if name == "after" else None)
    if text == EARLIEST:
        return None
    if not (isinstance(text, str) and text.isascii() and text.replace("~", "").isdigit()):
        raise InvalidArgumentError(f"the offset {dict(stored)!r} in the checkpoint must have an instant in {name!r}")
    return text


if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # Spark 4.0 and 4.1 have no limits.

        class SupportsTriggerAvailableNow:
            """A placeholder for a class that this Spark lacks."""


PATIENCE_SECONDS = 30.0
"""How long the file of a completed commit may be incomplete: on local disks, some writers create it before they write
its content."""
_POLL_SECONDS = 0.1
_ATTEMPTS = 5
"""How often a table that changes while it is planned is opened again."""


class SplitStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Returns the offsets of a stream, plans its batches, and reads their splits."""

    def __init__(self, query: StreamQuery, columns: Sequence[str], target: pa.Schema) -> None:
        self._query = query
        self._columns = list(columns)
        self._target = target
        self._worker = query.query.tasks.worker
        self._start: Offset | None = None
        self._ranges: Ranges | None = None
        self._last: Offset | None = None
        """The last offset that was returned, by this process or before a restart; `_ranges` continues after it."""
        self._until: str | None = None

    def initialOffset(self) -> dict[str, object]:  # noqa: N802
        """Returns where a query without a checkpoint starts."""
        return self._initial().to_json()

    def latestOffset(self, start: dict[str, object] | None = None, limit: ReadLimit | None = None) -> dict[str, object]:  # noqa: N802
        """Returns the end of the next batch, or `start` if there is no commit. Spark 4.0 and 4.1 pass no arguments."""
        begin = (self._last or self._initial()) if start is None else Offset.from_json(start)
        instants, size = self._limits(limit)
        ranges = self._ranges_after(begin)
        # If `next` fails, the commits that it has consumed are not returned: the next call begins again.
        self._ranges = None
        end = ranges.next(instants, size, self._until)
        self._ranges = ranges
        if end is None:
            self._last = begin
            return begin.to_json()
        layout = ranges.layout
        after = begin.instant if layout == begin.layout else self._here(self._query.query.table(), begin)
        self._last = begin.behind(end, layout, after)
        return self._last.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Returns the limits of the options. Spark has no limit of instants; the limit of files is used for them."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxFiles

        if self._query.max_bytes is not None:
            return ReadMaxBytes(self._query.max_bytes)
        if self._query.max_instants is not None:
            return ReadMaxFiles(self._query.max_instants)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Ends the query with the commits that exist now."""
        # An empty string is before every instant: an empty table has no commits.
        self._until = self._query.query.table().ranges("latest").position or ""

    def reportLatestOffset(self) -> dict[str, object] | None:  # noqa: N802
        """Returns the current end of the table, for the query's progress reports."""
        ranges = self._query.query.table().ranges("latest")
        return Offset(ranges.position, ranges.layout).to_json()

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        """Returns the tasks of the batch after `start`, up to and including `end`."""
        begin, until = Offset.from_json(start), Offset.from_json(end)
        self._know(until)
        if begin.is_start:
            # `latest` may be a later instant by now; the end of the batch contains its beginning.
            if until.is_start:
                return []
            begin = Offset(until.after, until.layout)
        if begin == until:
            return []
        began, attempts = time.monotonic(), 0
        while (planned := self._attempt(begin, until, attempts, time.monotonic() - began)) is None:
            attempts += 1
            time.sleep(_POLL_SECONDS)
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of one task. Spark creates an empty partition if there is none."""
        self._worker.prepare()
        if partition.value is not None:
            queries, rests = partition.value
            yield from task_batches(deserialize_splits(queries, rests), self._target)

    def stop(self) -> None:
        """Releases the table."""
        self._ranges = None

    def _initial(self) -> Offset:
        if self._start is None:
            start = self._query.start
            if self._query.start_inclusive:
                zone = self._query.query.table().properties.get(TIMELINE_ZONE, "LOCAL")
                start = position_before(start, zone)
            ranges = self._query.query.table().ranges(start)
            self._start = Offset(ranges.position, ranges.layout)
        return self._start

    def _know(self, offset: Offset) -> None:
        """Sets the last offset: Spark 4.0 and 4.1 do not pass it, but a restarted query plans its last batch first."""
        if self._last != offset:
            self._last, self._ranges = offset, None

    def _ranges_after(self, begin: Offset) -> Ranges:
        if self._ranges is None or self._last != begin:
            table = self._query.query.table()
            if not begin.is_start:
                _check_reached(table, begin)
            self._ranges = table.ranges(self._here(table, begin) or "earliest")
        return self._ranges

    def _limits(self, limit: ReadLimit | None) -> tuple[int | None, int | None]:
        """Returns the limits of commits and bytes of a batch."""
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
        raise UnsupportedError(
            f"{kind} is not supported; a stream is limited by maxInstantsPerTrigger and maxBytesPerTrigger"
        )

    def _attempt(self, begin: Offset, until: Offset, attempts: int, waited: float) -> list[InputPartition] | None:
        """Returns the tasks of a batch; None if the table must be opened again."""
        try:
            return self._planned(begin, until)
        except FileCleanedError:
            # Commits may have been archived while the timeline was read.
            if attempts >= _ATTEMPTS:
                raise
        except (InvalidTableError, CorruptLogError):
            # The file of the newest commit, which contains the schema, may be incomplete.
            if waited > PATIENCE_SECONDS:
                raise
        return None

    def _planned(self, begin: Offset, until: Offset) -> list[InputPartition]:
        table = self._query.query.table()
        _check_reached(table, until)
        after, end = self._here(table, begin), self._here(table, until)
        if end is None or after == end:
            return []
        if after is not None and bound_of(end) < bound_of(after):
            raise InvalidArgumentError(
                f"the checkpoint has a range from {after} to {end}, which is earlier: "
                "its offsets are not of one query; start with a new checkpoint"
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
                f"the table no longer has the columns {gone} of this stream, which were fixed when it started; "
                "start it again with the current columns, and this batch is its first"
            ) from error
        for now, field in zip(spark_arrow_schema(schema), self._target, strict=True):
            if now.type != field.type:
                raise UnsupportedError(
                    f"the column {field.name!r} is {_type_name(now)} in the table now, but {_type_name(field)} in this "
                    "stream, whose columns were fixed when it started; start it again, and this batch is its first"
                )
        return plan.scan()

    @staticmethod
    def _here(table: Table, offset: Offset) -> str | None:
        return None if offset.instant is None else table.position_here(offset.instant, offset.layout)

    def __getstate__(self) -> dict[str, object]:
        """Pickles what a task needs."""
        return {"_target": self._target, "_worker": self._worker}


def _check_reached(table: Table, offset: Offset) -> None:
    """Raises an error if the timeline of the table ends before an offset that the stream has delivered."""
    position = bound_of(offset.instant or "")
    times = [time_ for one in table.timeline.active for time_ in (one.completion_time, one.requested_time) if time_]
    if max(times, default=position) < position:
        raise InvalidArgumentError(
            f"the checkpoint is at {position}, and the table's timeline ends at {max(times)}: it is another table, or "
            "was put back to an earlier state; start with a new checkpoint",
            path=table.uri,
        )


def _type_name(field: pa.Field) -> str:
    return str(spark_type(field.type, field.name).simpleString())
