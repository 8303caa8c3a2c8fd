"""The entry point: a Hudi table, its queries, writes and services."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NoReturn, ParamSpec, TypeVar, overload

import pyarrow as pa

from mortice import _mortice, queries
from mortice._mortice import (
    ArchiveResult,
    CleanResult,
    ClusteringGroup,
    ClusterResult,
    Commit,
    CompactResult,
    Erasure,
    ExpireResult,
    FileSlice,
    Health,
    Instant,
    MetadataResult,
    PlannedCompaction,
    RepairResult,
    RestoreResult,
    RollbackResult,
    SavepointResult,
    UpgradeResult,
    VerifyResult,
)
from mortice.catalogs.run import asked_for, sync_after, without_sync
from mortice.display.results import FileSlices
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.expressions import Filters, normal_form
from mortice.insight import difference, history, maintenance, report
from mortice.insight.instants import commits_of
from mortice.insight.plots import TablePlots
from mortice.reading.follow import Follower, Ranges
from mortice.reading.mergers import Merge, Merging, checked_merge, merging_of
from mortice.reading.read_options import ReadOptions, checked_read_options
from mortice.reading.scan import Scan, checked_subscript
from mortice.reading.split import pickled
from mortice.values.argument_types import CredentialsFunction, Options, Rows, StorageOptions
from mortice.values.credentials import CREDENTIALS, supplier_of
from mortice.values.frames import DtypeBackend
from mortice.values.instants import TIMELINE_ZONE, InstantLike, instant_text
from mortice.values.observe import observed
from mortice.values.options import (
    DEFAULT_HOLES,
    DEFAULT_POLL_SECONDS,
    absolute_uri,
    checked_bool,
    checked_columns,
    checked_count,
    checked_seconds,
    checked_storage_options,
)
from mortice.values.other_names import answering, missing_attribute, names_of, with_fields, with_hints
from mortice.values.timeline import Timeline
from mortice.values.type_names import without_meta
from mortice.values.visible_text import visible_text
from mortice.writing.merge_clauses import (
    MERGE_ARGUMENTS,
    MergeBuilder,
    MergeClause,
    Values,
    clauses_of,
    clauses_of_arguments,
    matched_by,
    new_values,
)
from mortice.writing.row_input import arrow_rows, key_rows, listed_keys
from mortice.writing.user_functions import Partitioner, Validator, checked_validators, partitioned, validated
from mortice.writing.writes import (
    GENERATED_KEY,
    SchemaChanges,
    WriteRows,
    checked_options,
    checked_table,
    column_changes,
    raising_causes,
    terms_to_delete,
    with_nulls,
    with_schema,
)

if TYPE_CHECKING:
    import pandas
    import polars

    from mortice._mortice import ErasureTasks, TaskRunner
    from mortice.reading.dataset import TableDataset

__all__ = ["Table"]

InstantOrCommit = str | Instant | Commit
"""The requested time of an instant, one of the timeline, or the commit that a write returned."""
METADATA_FOLDER = ".hoodie/metadata"
HEAD_ROWS = 5
ON_DAMAGE = "mortice.on_damage"
"""The option of writes and services for damaged log files: `raise`, the default, `warn` or `ignore`."""

P = ParamSpec("P")
R = TypeVar("R")

answering(VerifyResult)


class _TableClass(type):
    """The class of `Table`, which answers names of other libraries (`DeltaTable.is_deltatable`)."""

    if not TYPE_CHECKING:  # which must go on to report unknown names

        def __getattr__(cls, name: str) -> NoReturn:
            """Raises the error for a name that does not exist."""
            raise missing_attribute("the class Table", name, names_of("class Table"), dir(cls))


@with_hints
class Table(metaclass=_TableClass):
    """A Hudi table in the state that it has when it is opened. `refresh` shows later commits.

        table = mortice.Table("/lake/trips")
        table.snapshot(columns=["rider", "fare"], filters=[("fare", ">", 3)]).to_arrow()

    Args:
        uri: The table's base path, a local path, which is made absolute, or a URI (`s3://`, `gs://`, `abfss://`, `az://`,
            `https://`).
        storage_options: Options of the storage by name (docs/storage.md); local files have none. `credentials` may be
            a function that returns options (`mortice.credentials`).
        read_options: How it is read. Default: all options have their defaults.
        settings: Fields of `mortice.ReadOptions` by their names, in place of those of `read_options`: `threads=4`.

    Table services take options by Hudi's names first, or after the instant that they are about; all else by name.
    `plan_…` has the arguments of its service, returns what it would do, and changes nothing.

    Raises:
        TableNotFoundError: There is no table at `uri`.
        InvalidTableError: The table's properties or timeline are inconsistent.
        UnsupportedError: The table needs a feature that mortice does not have.
    """

    @with_fields(ReadOptions)
    def __init__(
        self,
        uri: str | os.PathLike[str],
        *,
        storage_options: StorageOptions | None = None,
        read_options: ReadOptions | None = None,
        **settings: object,
    ) -> None:
        self._merge: Merge | None = None
        self._validators: tuple[Validator, ...] = ()
        self._runner: TaskRunner | None = None
        self._storage_options: Mapping[str, str] = checked_storage_options(storage_options)
        self._read_options = checked_read_options(read_options, settings)
        self._native = _mortice.Table(absolute_uri(uri), self._storage_options, **asdict(self._read_options))

    def refresh(self) -> None:
        """Opens the table again, to see commits that others made since. `follow` and scans that exist are not changed.

        Raises `TableNotFoundError`, `InvalidTableError`, `UnsupportedError` as when the table is opened.
        """
        self._native.refresh()
        self._forget()

    def _forget(self) -> None:
        """Removes what was read of the last state of the table."""
        for name in ("schema", "properties", "timeline"):
            self.__dict__.pop(name, None)

    def __copy__(self) -> Table:
        return self._with()

    def _with(self, **attributes: object) -> Table:
        """Returns a copy in the same state, with other values of some attributes."""
        table = object.__new__(type(self))
        vars(table).update(vars(self) | {"_native": self._native.copy()} | attributes)
        return table

    def with_validators(self, *validators: Validator) -> Table:
        """Returns a copy of this table whose writes are checked before they are completed.

            def check(table):
                assert table.snapshot(columns=[], filters=[("fare", "<", 0)]).count() == 0

            table.with_validators(check).upsert(rows)

        Each function gets the table as the write would leave it: its queries return the new rows, `timeline.latest` is
        the write. If one raises an exception or returns False, the write is rolled back, and the exception is raised
        (`InvalidArgumentError` for False). With several writers they run while the table is locked. A function must not
        write to the table: the write that it checks would be rolled back by that one, and raise `WriteConflictError`.

        Args:
            validators: Functions of a table, called in this order, after those that this table has.

        Raises `InvalidArgumentError` if one is not callable.
        """
        return self._with(_validators=(*self._validators, *checked_validators(validators)))

    def with_merger(self, merge: Merge) -> Table:
        """Returns a copy of this table whose records are merged by `merge` instead of the registered function.

        Nothing is registered: other tables are merged as before. `merge` has no effect on a table that merges by commit
        or event time. Raises `InvalidArgumentError` if it is not callable.
        """
        return self._with(_merge=checked_merge(merge))

    def service_progress(self) -> tuple[int, int]:
        """Returns how much of the service that runs on this table is done, and of how much: bytes, files, instants."""
        return self._native.service_progress()

    def by_tasks(self, runner: TaskRunner) -> Table:
        """Returns a copy of this table of which tasks of an engine verify the keys and build the metadata table."""
        return self._with(_runner=runner)

    def preview(self, native: _mortice.Table) -> Table:
        """Returns the table that validators get, from the native one. Its own writes are not validated."""
        table = self._with(_native=native, _validators=())
        table._forget()  # noqa: SLF001
        return table

    @property
    def uri(self) -> str:
        """The table's base path."""
        return self._native.uri

    @property
    def path(self) -> str:
        """The table's base path, as `uri`."""
        return self.uri

    @property
    def num_rows(self) -> int:
        """The number of rows, by a query (`count`)."""
        return self.count()

    @property
    def name(self) -> str:
        """The table's name."""
        return self.properties.get("hoodie.table.name", "")

    @property
    def table_type(self) -> str:
        """The table's type, as Hudi's constant: `MERGE_ON_READ` or `COPY_ON_WRITE`."""
        return self.properties.get("hoodie.table.type", "COPY_ON_WRITE")

    @property
    def version(self) -> int:
        """The table version."""
        return self._native.version

    @property
    def merge_mode(self) -> str:
        """How records of one key are merged, as Hudi's constant: `EVENT_TIME_ORDERING`, `COMMIT_TIME_ORDERING` or
        `CUSTOM`.
        """
        return self._native.merge_mode

    @property
    def record_key_fields(self) -> list[str]:
        """The columns of the record key."""
        return self._native.record_key_fields

    @property
    def ordering_fields(self) -> list[str]:
        """The columns of the ordering value, which decides which of two records is the later one."""
        return self._native.ordering_fields

    @property
    def partition_fields(self) -> list[str]:
        """The columns of the partition path."""
        return self._native.partition_fields

    @property
    def has_meta_columns(self) -> bool:
        """Whether files have Hudi's meta columns (`hoodie.populate.meta.fields`)."""
        return self._native.has_meta_columns

    @property
    def custom_merge(self) -> str | None:
        """The payload class or the strategy id of the record merger that merges records; None if there is none.

        It is the name to pass to `mortice.register_merger`.
        """
        return self._native.custom_merge

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns; Hudi's meta columns come first."""
        return pa.schema(self._native.schema())

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """The contents of `hoodie.properties`."""
        return MappingProxyType(self._native.properties)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, without Hudi's meta columns, which `schema` has as well."""
        return without_meta(self.schema.names)

    def has_column_ids(self, as_of: InstantLike = None) -> bool:
        """Returns true if columns are identified by ids, so that renamed columns keep their values (schema on read)."""
        return self._native.has_column_ids(self._instant(as_of))

    @cached_property
    def timeline(self) -> Timeline:
        """The table's timeline: its active and archived instants and their metadata."""
        native = self._native.copy()

        def read(instant: Instant, plan: bool) -> str | None:
            return native.metadata(instant.requested_time, instant.action, instant.state, plan)

        return Timeline(native.timeline(), native.archived, read)

    def file_slices(self, as_of: InstantLike = None, filters: Filters = None) -> list[FileSlice]:
        """Returns the file slices that a snapshot reads; with `filters`, only those in partitions that can match."""
        slices = self._native.file_slices(self._instant(as_of), normal_form(filters, lambda: self.schema))
        return FileSlices(slices)

    def partitions(self, as_of: InstantLike = None, filters: Filters = None) -> list[str]:
        """Returns the partition paths that have files, in order: those of `_hoodie_partition_path`, and of
        `delete_partitions`. A table without partitions has the path `""`.

            table.partitions(filters="day >= '2024-01-01'")

        Args:
            as_of: As for `scan`.
            filters: Leaves out partitions that cannot have rows which these select.
        """
        return sorted({one.partition for one in self.file_slices(as_of, filters)})

    def metadata_table(self) -> Table | str | None:
        """Returns the metadata table, as a table of its own; why it cannot be opened; None if there is none."""
        if not self.properties.get("hoodie.table.metadata.partitions"):
            return None
        try:
            return Table(f"{self.uri.rstrip('/')}/{METADATA_FOLDER}", storage_options=self._storage_options)
        except MorticeError as error:
            return str(error)

    @property
    def storage_requests(self) -> dict[str, int]:
        """The number of storage requests made so far to open the table and to plan its queries, by kind.

        `list` counts listed directories, `open` opened files (missing ones included) and `read` fetched byte ranges.
        Reads of memory-mapped files are not counted. `Scan.report` counts the requests of reading a scan.
        """
        return dict(zip(("list", "open", "read"), self._native.storage_requests(), strict=True))

    def snapshot(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        merge: bool = True,
        emit_deletes: bool = False,
        *,
        meta: bool = True,
    ) -> Scan:
        """Returns the latest rows: base files merged with their log files.

        Args:
            columns: The columns to return, in this order. Default: all. Columns that only filters or the merge need are
                not returned.
            filters: Predicates that rows must satisfy: text (`"fare > 80 and city in ('oslo', 'lima')"`), terms
                (`[("fare", ">", 80)]`), or an expression of pyarrow or polars (see `mortice.filters`). They are exact.
            as_of: Returns the rows as of this instant (time travel): one of `timeline`, its digits, a date and time as
                text, with a zone or in that of the timeline, a datetime or a date.
            merge: False returns the records of a key unmerged, as Hudi's `skip_merge` does. By the rules of 1.x these
                are all base rows and all log records except deletes; by those of 0.x the base rows, and the log records
                merged with each other.
            emit_deletes: True also returns the keys that the logs have deleted, as rows with `D` in `_hoodie_operation`
                (a column that is appended if the table lacks it, and is null in other rows). A deleting record is
                returned with all its columns. For a key in a delete block, the record key, partition path, instant and
                ordering values are known; other columns are null. Deletes that were compacted are no longer known.
            meta: False leaves out Hudi's meta columns, unless `columns` names them. `scan`, `to_arrow` and the other
                methods that return data do so by default.

        Raises:
            InvalidArgumentError: An argument is invalid, or a column does not exist.
            UnsupportedError: The table needs a feature that mortice does not have.
        """
        return self.prepare(queries.Snapshot(columns, filters, as_of, merge, emit_deletes, meta)).scan()

    def read_optimized(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = True,
    ) -> Scan:
        """Returns the rows of the base files without merging log files: fast, but without changes that are not yet
        compacted.

        Args:
            columns: As for `snapshot`.
            filters: As for `snapshot`.
            as_of: As for `snapshot`.
            meta: As for `snapshot`.

        Raises as `snapshot`.
        """
        return self.prepare(queries.ReadOptimized(columns, filters, as_of, meta)).scan()

    def incremental(  # noqa: PLR0917
        self,
        begin: InstantLike,
        end: InstantLike = None,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        changelog: bool = False,
        emit_deletes: bool = False,
        *,
        holes: str = DEFAULT_HOLES,
        skip_compact: bool = False,
        skip_cluster: bool = False,
        skip_log_compact: bool = False,
        fall_back_to_full_scan: bool | None = None,
        schema_at_end: bool = False,
        meta: bool = True,
    ) -> Scan:
        """Returns the rows that the commits after `begin`, up to and including `end`, wrote, as they were at `end`.

            table.incremental("20240101120000000").to_arrow()
            table.incremental("earliest", "2024-01-02 10:00:00", columns=["rider", "fare"])

        From table version 8 on bounds are completion times, before that requested times (`Timeline` has both). They
        need not be on the timeline. A row that was written several times is returned once, a deleted one not at all. As
        in Hudi 1.x, log blocks and base rows of other commits are left out before the merge: a late row that lost
        against an older one is returned. Compaction and clustering add nothing, since rows keep their commit time.

        Args:
            begin: The instant after which the range begins, or `"earliest"`.
            end: The last instant of the range, inclusive. Default: the latest.
            columns: As for `snapshot`.
            filters: As for `snapshot`.
            changelog: True merges nothing: every log record of the range is a row, in log order, and so is every row of
                a base file that its commit wrote (except compaction and clustering). `_hoodie_operation`, which is
                appended if the table lacks it, is `D` in deletes.
            emit_deletes: True merges, and also returns the keys that the range deleted. Their rows are described at
                `snapshot`.
            holes: Below table version 8: what to do if a commit in the range is pending and later ones have completed.
                `"fail"` raises an error, `"block"` ends the range before it.
            skip_compact: True leaves out what compactions wrote. Rows whose older files were cleaned are then missing.
            skip_cluster: True leaves out what clustering wrote, with the same restriction.
            skip_log_compact: True leaves out log compactions; for consumers that query consecutive ranges. Rows of a
                log compaction of Hudi 1.2 have its commit time and would be returned again.
            fall_back_to_full_scan: If a commit of the range was archived or one of its files cleaned, True looks for
                the rows of the range in all current files; a row that was written again after `end` is then missing.
                False raises `FileCleanedError` when a cleaned file is read. Default: True from table version 8 on, as
                in Hudi 1.x, else False; with `changelog` False.
            schema_at_end: True returns the columns that the table had at `end` instead of its current ones.
            meta: As for `snapshot`.

        Raises:
            InvalidArgumentError: An argument is invalid, or a column does not exist.
            UnsupportedError: The table has no meta columns, or needs a feature that mortice does not have.
        """
        query = queries.Incremental(
            begin,
            end,
            columns,
            filters,
            changelog,
            emit_deletes,
            holes,
            skip_compact,
            skip_cluster,
            skip_log_compact,
            fall_back_to_full_scan,
            schema_at_end,
            meta,
        )
        return self.prepare(query).scan()

    def changes(
        self,
        begin: InstantLike,
        end: InstantLike = None,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        *,
        holes: str = DEFAULT_HOLES,
    ) -> Scan:
        """Returns the changes that the commits after `begin`, up to and including `end`, made to a table with change
        data capture.

            table.changes("20240101120000000").to_arrow()
            table.changes("earliest", filters=[("op", "=", "d")]).to_pandas()

        There is a row for each change, with the columns `op` (`i`, `u` or `d`), `ts_ms` (the requested time of the
        commit), `before` and `after` (the row as compact JSON, in the table's field order). If the table records keys
        only, or a commit only wrote a log, the images are read from the file slices before and after the commit, as in
        Hudi. A row that two commits of the range changed is returned twice. Compaction and clustering change nothing.
        All rows of file groups that were replaced by an overwrite or by the deletion of a partition are deleted.

        In JSON, as in Hudi's, dates are days and timestamps microseconds since 1970, bytes are base64, and nulls are
        left out; decimals are numbers, while Hudi's JSON only says whether they are zero. An image from the table's
        change log has no meta columns, nulls as `null`, and bytes and decimals as in Avro; a missing image that the log
        has a field for is the string `null`.

        Args:
            begin: As for `incremental`.
            end: As for `incremental`.
            columns: The columns to return, from `op`, `ts_ms`, `before` and `after`.
            filters: Predicates on these columns.
            holes: As for `incremental`.

        Raises:
            InvalidArgumentError: An argument is invalid.
            UnsupportedError: The table lacks `hoodie.table.cdc.enabled`, or a commit rewrote rows before it was set.
            FileCleanedError: A file was removed by the cleaner; raised here or when the rows are read.
        """
        return self.prepare(queries.Changes(begin, end, columns, filters, holes)).scan()

    def follow(  # noqa: PLR0917
        self,
        start: InstantLike,
        poll_seconds: float | None = DEFAULT_POLL_SECONDS,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        changelog: bool = False,
        emit_deletes: bool = False,
    ) -> Follower:
        """Yields `(instant, scan)` for every commit after `start` as it completes.

            follower = table.follow("latest", poll_seconds=5)
            for instant, rows in follower:
                sink.write(rows.to_arrow())
                checkpoint.save(follower.position)  # the start to continue from, without loss or repetition

        Each scan is what `incremental` returns for that commit. From table version 8 on instants are completion times,
        and commits are yielded in order of completion. One whose completed instant appears late, after that of a later
        commit, is yielded when it appears: `position` names the writes that were pending. Below, they are requested
        times, and no commit is yielded while an earlier one is pending (`"latest"` then begins before the first pending
        one). Commits that completed in the
        same millisecond are yielded as one. Compaction and clustering write no rows of their own and are not yielded. A
        scan must be read before the cleaner removes its files. After an error in planning, the same commit is yielded
        again.

        Args:
            start: A position or an instant, exclusive; `"earliest"`, before the first commit ever, archived ones
                included; or `"latest"`.
            poll_seconds: Seconds between two listings of the timeline. None does not wait and ends with the newest
                commit.
            columns: As for `incremental`.
            filters: As for `incremental`.
            changelog: As for `incremental`.
            emit_deletes: As for `incremental`.

        Returns:
            An iterator with `close()` and `position` (see `mortice.Follower`).

        Raises:
            InvalidArgumentError: An argument is invalid.
            UnsupportedError: The table has no meta columns.
        """
        after = self._instant(start, "start")
        if after is None:
            raise InvalidArgumentError('start must be an instant, "earliest" or "latest", got None')
        changelog, deletes = checked_bool("changelog", changelog), checked_bool("emit_deletes", emit_deletes)
        names, terms = checked_columns(columns), normal_form(filters, lambda: self.schema)
        merger = None if changelog else self._merging()
        return Follower(
            self._native.follow(after),
            (names, terms, merger, changelog, deletes),
            merger,
            checked_seconds("poll_seconds", poll_seconds),
            queries.title("follow", self.uri, None, terms),
        )

    def ranges(self, start: InstantLike) -> Ranges:
        """Returns the ranges of commits after `start` as they complete, to be planned elsewhere or later.

        `start`, order and waiting are as for `follow`. See `mortice.Ranges`.

        Raises `InvalidArgumentError`, `UnsupportedError` for a table without meta columns.
        """
        after = self._instant(start, "start")
        if after is None:
            raise InvalidArgumentError('start must be an instant, "earliest" or "latest", got None')
        return Ranges(self._native.follow(after))

    def position_here(self, position: str, layout: int) -> str | None:
        """Converts a position of `Ranges` from a timeline of `layout` 1 or 2 to this table's timeline.

        The result is the same position, unless the table was upgraded meanwhile: then a requested time is converted to
        a completion time. No commit after the position is before the result, but if the two orders differ, some commits
        may be delivered again. None is before all commits.

        Raises `UnsupportedError` if the table was downgraded.
        """
        return self._native.position_here(position, layout)

    def prepare(self, query: queries.Query) -> queries.QueryPlan:
        """Returns the plan of a query, whose schema is known before files are listed (see `mortice.queries`).

        Raises `InvalidArgumentError`.
        """
        return query.prepare(self._native.copy(), self._merging())

    def _merging(self) -> Merging | None:
        if self._merge is None or self.custom_merge is None:
            return merging_of(self.custom_merge)
        return Merging(self.custom_merge, self._merge)

    def _instant(self, instant: InstantLike, argument: str = "as_of") -> str | None:
        zone = self.properties.get(TIMELINE_ZONE, "LOCAL")
        return instant_text(instant, zone, argument=argument, table_version=self._native.version)

    def scan(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> Scan:
        """Returns what `snapshot` returns, without Hudi's meta columns.

            table.scan().select("rider", "fare").filter("fare > 80").head(3)

        Args:
            columns: The columns to return, in this order; a string is one. Default: all but the meta columns.
            filters: Predicates that rows must satisfy (see `mortice.filters`).
            as_of: Returns the rows as of this instant.
            meta: True also returns the meta columns, unless `columns` says otherwise.

        Raises as `snapshot`.
        """
        return self.prepare(queries.Snapshot(columns, filters, as_of, meta=meta)).scan()

    def count(self, filters: Filters = None, as_of: InstantLike = None) -> int:
        """Returns the number of rows that satisfy the filters. Arguments and errors are those of `scan`."""
        return self.scan([], filters, as_of).count()

    def head(
        self,
        n: int = HEAD_ROWS,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        *,
        meta: bool = False,
    ) -> pa.Table:
        """Returns some rows, at most `n`, and reads no more files than it takes to find them.

        Args:
            n: The number of rows.
            columns: As for `scan`.
            filters: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`.
        """
        return self.scan(columns, filters, meta=meta).head(n)

    def select(self, *columns: str | Sequence[str]) -> Scan:
        """Returns a scan of some of the columns, in this order, as `scan().select`. Raises as `scan`."""
        return self.scan().select(*columns)

    def filter(self, filters: Filters) -> Scan:
        """Returns a scan of the rows that satisfy filters, as `scan(filters=filters)`. Raises as `scan`."""
        return self.scan(filters=filters)

    def limit(self, n: int) -> Scan:
        """Returns a scan of at most `n` of the rows, as `scan().limit(n)`. Raises as `scan`."""
        return self.scan().limit(n)

    def to_arrow(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> pa.Table:
        """Returns the rows as an Arrow table.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_arrow()

    def to_reader(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> pa.RecordBatchReader:
        """Returns a reader of the rows, for results of any size.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_reader()

    def to_pandas(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
        dtype_backend: DtypeBackend | None = None,
    ) -> pandas.DataFrame:
        """Returns the rows as a pandas DataFrame.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.
            dtype_backend: `"numpy_nullable"` or `"pyarrow"`: types that have null. Default: the types of numpy.

        Raises `ImportError` if pandas is not installed, and as `scan`.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_pandas(dtype_backend)

    def to_polars(
        self,
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> polars.DataFrame:
        """Returns the rows as a polars DataFrame; `mortice.scan_polars` returns a LazyFrame.

        Args:
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`, and `ImportError` if polars is not installed.
        """
        return self.scan(columns, filters, as_of, meta=meta).to_polars()

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | str | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        *,
        meta: bool = False,
    ) -> None:
        """Writes the rows to a local Parquet file, batch by batch (`Scan.to_parquet`).

        Args:
            path: The file, which is replaced.
            columns: As for `scan`.
            filters: As for `scan`.
            as_of: As for `scan`.
            meta: As for `scan`.

        Raises as `scan`, and `OSError` if the file cannot be written.
        """
        self.scan(columns, filters, as_of, meta=meta).to_parquet(path)

    def dataset(self, as_of: InstantLike = None, *, meta: bool = False) -> TableDataset:
        """Returns the table as a `pyarrow.dataset.Dataset`. DuckDB, polars, DataFusion and others read from it only the
        columns and rows that a query needs.

            trips = table.dataset()
            duckdb.sql("select city, max(fare) from trips where fare > 80 group by city")

        The rows are those that the table has now, also after a refresh. A dataset that is unpickled has those of the
        moment when it is unpickled.

        Args:
            as_of: As for `scan`.
            meta: True also has the meta columns.

        Raises as `snapshot`.
        """
        from mortice.reading.dataset import TableDataset

        table = self._with()
        has_meta = checked_bool("meta", meta)

        def plan(columns: list[str], filters: Filters) -> Scan:
            return table.prepare(queries.Snapshot(columns, filters, as_of)).scan()

        schema = table.prepare(queries.Snapshot(as_of=as_of, meta=has_meta)).schema
        return TableDataset(plan, schema, partial(_dataset_of, table, as_of, has_meta))

    def __arrow_c_schema__(self) -> object:
        return self.prepare(queries.Snapshot(meta=False)).schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    @overload
    def __getitem__(self, columns: str) -> pa.ChunkedArray: ...

    @overload
    def __getitem__(self, columns: Sequence[str]) -> pa.Table: ...

    def __getitem__(self, columns: str | Sequence[str]) -> pa.ChunkedArray | pa.Table:
        """Returns a column, read into memory; of a list of names an Arrow table. Raises as `scan`."""
        read = self.to_arrow(checked_subscript(columns))
        return read.column(0) if isinstance(columns, str) else read

    def __contains__(self, column: object) -> bool:
        """Returns true for the name of a column."""
        return column in self.schema.names

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Yields the rows as dicts, without meta columns. `to_reader` yields them in record batches, which is many
        times faster.
        """
        return iter(self.scan())

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # Not whether it has rows, which would be a query.
        return True

    def upsert(self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None) -> Commit:
        """Updates the rows whose record key is in the table, and inserts the others, as one commit.

            table.upsert(pa.table({"id": ["a", "b"], "city": ["x", "y"], "ts": [1, 2]}))

        Rows with the same key are merged first, by the table's merge mode. A row whose `_hoodie_is_deleted` is true
        deletes its key. The rows get the table's columns: a value of another type is cast if the column holds it
        exactly, and refused otherwise. Rows of a table without key fields are inserted, unless they have
        `_hoodie_record_key` and `_hoodie_partition_path` as a query returns them. The write starts from the newest
        state of the table, and the table shows its own commit afterwards.

        Args:
            data: The rows: anything with `__arrow_c_stream__` (pyarrow, polars, pandas, DuckDB), a LazyFrame, a list of
                dicts, a dict of lists, a `pyarrow.dataset.Dataset`, or record batches, also from a generator.
            options: Options of the write by Hudi's names (docs/write-options.md), such as `hoodie.index.type`. Others
                than Hudi's are refused, and so are those that contradict the table.
            schema: Which changes of the table's columns the write may make: `"exact"` (default), none; `"add"`, columns
                and fields of structs that the table does not have are added; `"evolve"`, numbers of the table become
                wider or strings, too, if the rows have such types. `Commit.schema_changes` says what has changed.

        Returns:
            The commit.

        Raises:
            InvalidArgumentError: A row or an option is invalid; the message names row and column.
            UnsupportedError: The table or an option needs a feature that mortice does not have.
            WriteConflictError: Another writer changed the same file groups meanwhile.
            TableServiceError: The rows are in the table, and a table service after the write failed.
            StorageError: The storage failed. The write was undone, unless the message says otherwise.
        """
        return self._write(self._native.upsert, data, with_schema(options, schema))

    def insert(self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None) -> Commit:
        """Inserts rows as one commit, without looking for their keys in the table.

        Rows whose key is in the table already become duplicates, as in Hudi. Arguments, result and errors are those of
        `upsert`.
        """
        return self._write(self._native.insert, data, with_schema(options, schema))

    def append(self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None) -> Commit:
        """Inserts rows as one commit: the same as `insert`, by the name that other libraries have for it."""
        return self.insert(data, options, schema=schema)

    def delete(self, keys_or_rows: Rows, options: Options | None = None) -> Commit:
        """Deletes keys as one commit.

        Args:
            keys_or_rows: A list of keys, or an array or series, of a table with one key field: their rows are deleted
                in all partitions. Or rows with `_hoodie_record_key` and `_hoodie_partition_path` as a query returns
                them, or else with at least the columns of the record key and of the partition path. These are cast to
                the table's types. Keys that are not in the table are left out.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`.
        """
        if isinstance(keys_or_rows, str):
            raise InvalidArgumentError(
                f"delete takes rows or a list of keys, got {keys_or_rows!r}; delete_where deletes the rows that a "
                "condition selects"
            )
        keys = listed_keys(keys_or_rows)
        if keys is None:
            return self._write(self._native.delete, keys_or_rows, options)
        fields = self._native.record_key_fields
        if len(fields) != 1:
            raise InvalidArgumentError(
                f"a list of keys needs a table with one key field, not ({', '.join(fields)}); pass rows with these "
                "columns"
            )
        if self._native.partition_fields:
            return self.delete_where([(fields[0], "in", keys)], options)
        return self._write(self._native.delete, key_rows(keys, fields[0], self._columns_of_table()), options)

    def bulk_insert(
        self,
        data: Rows,
        options: Options | None = None,
        *,
        partitioner: Partitioner | None = None,
        schema: SchemaChanges | None = None,
    ) -> Commit:
        """Inserts rows into new file groups as one commit: the fastest way to load a table.

            table.bulk_insert(reader, options={"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"})

        Neither keys nor small files are looked for. The rows are read and written as a stream of any length.
        Rows of a stream that cannot be written are found when others were written already; these are removed then.

        Args:
            data: As for `upsert`.
            options: As for `upsert`; `hoodie.bulkinsert.sort.mode` sorts the rows or distributes them by partition.
            partitioner: A function that distributes rows to files instead. It is called once for each record batch, and
                returns an integer for each row: rows of one partition with the same integer share files, in their
                order, and others do not.
            schema: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `UnsupportedError` for a partitioner with a sort mode, a bucket index,
        `hoodie.combine.before.insert` or `hoodie.write.ignore.failed`; and what the partitioner raises.
        """
        given = with_schema(options, schema)
        if partitioner is None:
            return self._write(self._native.bulk_insert, data, given)
        with partitioned(arrow_rows(data, self._columns_of_table), partitioner) as rows:
            return self._write(self._native.bulk_insert, rows, given)

    def insert_overwrite(
        self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None
    ) -> Commit:
        """Replaces the content of the partitions that the rows belong to by the rows, as one commit.

        Other partitions stay. Without rows nothing is replaced. Time travel still shows what was replaced, until
        it is cleaned. Arguments, result and errors are those of `upsert`.
        """
        return self._write(self._native.insert_overwrite, data, with_schema(options, schema))

    def insert_overwrite_table(
        self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None
    ) -> Commit:
        """Replaces the content of the whole table by the rows, as one commit; without rows the table is empty then.

        Arguments, result and errors are those of `upsert`.
        """
        return self._write(self._native.insert_overwrite_table, data, with_schema(options, schema))

    def delete_partitions(self, partitions: Sequence[str], options: Options | None = None) -> Commit:
        """Deletes the content of partitions, as one commit.

            table.delete_partitions(["2024/01/01", "2023/*"])

        Args:
            partitions: Partition paths, as `_hoodie_partition_path` has them. `*` stands for any text, `/` included. A
                warning names paths that the table does not have.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `UnsupportedError` while a compaction or clustering of such a partition is pending.
        """
        if isinstance(partitions, str) or not all(isinstance(partition, str) for partition in partitions):
            raise InvalidArgumentError(f"partitions must be a list of partition paths, got {partitions!r}")
        return self._change(self._native.delete_partitions, list(partitions), options=options)

    def delete_where(self, filters: Filters, options: Options | None = None) -> Commit:
        """Deletes the rows that filters select, as one commit.

            table.delete_where("city = 'oslo' and fare < 3")

        Args:
            filters: The filters, as those of `snapshot`: text, terms or expressions (see `mortice.filters`).
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`.
        """
        terms = terms_to_delete(filters, self._columns_of_table)
        return self._change(self._native.delete_where, terms, options=options)

    def soft_delete(self, rows: Rows, options: Options | None = None) -> Commit:
        """Sets all columns of rows to null but those of the record key, the partition path and the ordering value.

        The rows remain, so that others can still count them. It is an upsert: by event time a row wins whose ordering
        value is not less.

        Args:
            rows: Rows with at least the columns of the record key, the partition path and the ordering value; others
                are not read. For a table without key fields, rows of a query with their meta columns.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `InvalidArgumentError` if one of the other columns is not nullable.
        """
        keys = self._native.record_key_fields or GENERATED_KEY
        kept = {*keys, *self._native.partition_fields, *self._native.ordering_fields}
        return self._write(self._native.upsert, *with_nulls(arrow_rows(rows, self._columns_of_table), kept, options))

    def merge_into(  # noqa: PLR0917
        self,
        data: Rows,
        on: str | Sequence[str] | None = None,
        when_matched_update: Sequence[str] | None = None,
        when_not_matched: str = "insert",
        when_matched_delete: Filters = None,
        options: Options | None = None,
    ) -> Commit:
        """Merges rows into the table as SQL's `MERGE INTO` does, as one commit: matched rows are updated or deleted,
        others inserted.

            table.merge_into(
                rides, when_matched_update=["fare", "ts"], when_matched_delete=[("state", "=", "cancelled")]
            )

        The stored rows of the keys are read with filters on key and partition columns. An update is never lost to
        ordering values: a matched row keeps the stored one, unless it is updated, and then the new one must not be
        less. Columns that the table does not have can be used in `when_matched_delete`, and are not written.

        Args:
            data: The rows, one for each key, or several that all delete it: anything with `__arrow_c_stream__`.
            on: The columns by which rows are matched: the record key, with partition columns or without. Default: the
                record key and those partition columns that the rows have; the record key alone if
                `hoodie.index.type` is a global index.
            when_matched_update: The columns that a matched row gets, the others stay. Default: all that rows and table
                have in common. Empty: none.
            when_not_matched: `"insert"`, with null in columns that the rows do not have, or `"ignore"`.
            when_matched_delete: Filters (see `mortice.filters`). Matched rows that they select are deleted. A column is
                that of the given row, or of the stored one if the given rows do not have it.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `UnsupportedError` for a table whose merge rules are not by commit or event time, or whose
        keys are generated; `WriteConflictError` if another writer commits between the read and the write.
        """
        clauses = clauses_of(on, when_matched_update, when_not_matched)
        rows = checked_table(arrow_rows(data, self._columns_of_table))
        delete = normal_form(when_matched_delete, lambda: _either(rows.schema, self._columns_of_table()))
        self.refresh()
        return self._change(_mortice.merge_into, self._native, rows, clauses, delete, options=options)

    def update_where(self, values: Values, filters: Filters, options: Options | None = None) -> Commit:
        """Updates the rows that a condition selects, as one commit.

            table.update_where({"fare": "fare * 1.1", "note": "'raised'"}, "city = 'oslo' AND fare < 3")

        Only columns and partitions that the condition may select are read. An update is never lost to ordering values:
        a row keeps the stored one, unless it is among the values, and then the new one must not be less.

        Args:
            values: The columns, and what they get: an expression as a string (`mortice.expressions`), or another Python
                value. A value is cast to the column's type exactly, or refused.
            filters: A condition as a string, or filters as those of `snapshot`. `"true"` selects all rows.
            options: As for `upsert`.

        Returns:
            The commit. If no row is selected nothing is written, and `Commit.instant` is empty.

        Raises as `upsert`; `InvalidArgumentError`, with the place in the text, for an expression; for columns of the
        record key, and of the partition path unless `hoodie.index.type` is a global index that moves rows;
        `UnsupportedError` and `WriteConflictError` as `merge_into`.
        """
        rows = filters if isinstance(filters, str) else normal_form(filters, self._columns_of_table)
        self.refresh()
        return self._change(_mortice.update_where, self._native, new_values(values), rows, options=options)

    @overload
    def merge(self, data: Rows, on: str | Sequence[str], options: Options | None = None) -> MergeBuilder: ...

    @overload
    def merge(
        self,
        data: Rows,
        on: str | Sequence[str],
        options: Options | None = None,
        *,
        when_matched_update: Values | Literal["all"] | None = ...,
        when_matched_delete: str | bool | None = ...,
        when_not_matched_insert: Values | Literal["all"] | None = ...,
        when_not_matched_by_source_update: Values | None = ...,
        when_not_matched_by_source_delete: str | bool | None = ...,
    ) -> Commit: ...

    def merge(
        self, data: Rows, on: str | Sequence[str], options: Options | None = None, **clauses: Values | str | bool | None
    ) -> MergeBuilder | Commit:
        """Merges rows into the table as SQL's `MERGE INTO` does, by any condition and with several clauses.

            table.merge(
                rides,
                on="t.id = s.id",
                when_matched_delete="s.state = 'cancelled'",
                when_matched_update={"fare": "t.fare + s.fare", "ts": "s.ts"},
                when_not_matched_insert="all",
            )

        Without clauses it returns a builder, which can have several of each kind (`MergeBuilder`). Expressions
        (`mortice.expressions`) name columns of the table as `t.fare`, those of the rows as `s.fare`. Stored rows are
        read with filters on key and partition columns, if the condition says that these are equal. As in `update_where`
        an update is never lost to ordering values.

        Args:
            data: The rows: anything with `__arrow_c_stream__`. They are kept in memory.
            on: The condition by which rows match stored ones, or the columns that are equal.
            options: As for `upsert`.
            **clauses: `when_matched_update` and `when_not_matched_insert` map columns to expressions, or are `"all"`:
                all columns that rows and table have in common; `when_not_matched_by_source_update` maps columns, too.
                `when_matched_delete` and `when_not_matched_by_source_delete` are conditions, or True. Deletes are
                tried first.

        Returns:
            With clauses, the commit. If no row changes nothing is written, and `Commit.instant` is empty.

        Raises as `update_where`; `InvalidArgumentError` if several rows match a stored one and do not all delete it, or
        a row to insert has a key that the table has.
        """
        unknown = [name for name in clauses if name not in MERGE_ARGUMENTS]
        if unknown:
            raise TypeError(f"merge() has no argument {unknown[0]!r}; clauses: {', '.join(MERGE_ARGUMENTS)}")

        def run(given: Sequence[MergeClause]) -> Commit:
            rows = checked_table(arrow_rows(data, self._columns_of_table))
            native = [clause.native() for clause in given]
            self.refresh()
            return self._change(_mortice.merge, self._native, rows, matched_by(on), native, options=options)

        builder = MergeBuilder(run)
        return clauses_of_arguments(builder, clauses).execute() if clauses else builder

    def alter(
        self,
        *,
        add: Mapping[str, pa.DataType | str] | pa.Schema | None = None,
        drop: str | Sequence[str] | None = None,
        rename: Mapping[str, str] | None = None,
        type: Mapping[str, pa.DataType | str] | None = None,  # noqa: A002
        comment: Mapping[str, str] | None = None,
        nullable: str | Sequence[str] | None = None,
        move: Mapping[str, str | None] | None = None,
        options: Options | None = None,
    ) -> Commit:
        """Changes the table's columns, as one commit without rows, as Hudi's `ALTER TABLE` writes it.

            table.alter(add={"tip": pa.float64(), "rider.age": pa.int32()}, rename={"fare": "price"})

        Fields are paths: `rider.age`, `stops.element.city` within a list, `prices.value.net` within a map. Dropping,
        renaming and another type give the columns ids (schema on read): old files keep their names, and each later
        write of mortice stores the ids. Hudi reads such a table with `hoodie.schema.on.read.enable=true`.

        Args:
            add: New columns and fields, and their types, also by name (`"double"`, `"decimal(10,2)"`); rows that are
                there have null. A column is put before partition columns that are at the end.
            drop: Columns and fields that are no longer shown. Files keep their values until they are rewritten.
            rename: Columns and fields, and their new names.
            type: Columns and fields, and the wider types that they get: of int32 int64, float64 or string, of float32
                float64 or string, of int64 and float64 string.
            comment: Columns and fields, and their descriptions.
            nullable: Columns and fields that may be null from now on.
            move: Columns and fields, and the one next to them that they are put behind; None puts them first.
            options: As for `upsert`.

        Returns:
            The commit; `schema_changes` has the new columns and types.

        Raises:
            InvalidArgumentError: A column does not exist, or is part of the record key, the partition path or the
                ordering value.
            UnsupportedError: Another type, or a table that mortice does not write.
            WriteConflictError: Another writer has committed meanwhile.
        """
        given = {"add": add, "drop": drop, "rename": rename, "type": type, "comment": comment, "nullable": nullable}
        changes = column_changes({**given, "move": move})
        self.refresh()
        return self._change(self._native.alter, changes, options=options)

    def erase(
        self,
        filters: Filters,
        options: Options | None = None,
        *,
        audit: str | os.PathLike[str] | None = None,
    ) -> Erasure:
        """Erases rows so that no file of the table holds them, and proves it: for a legal duty to delete.

            table.erase([("customer", "=", "c-4711")], audit="erasure-2024-0815.json")

        The rows are deleted; log files are compacted, older file versions cleaned, and the metadata table, whose
        statistics keep values, is built again. So queries of earlier instants, of any rows, are no longer possible.
        Then all files that remain are read: record keys of the rows, constants of the filters, and strings that no
        other row has must be in none of them. If it is stopped, run it again.

        Args:
            filters: The filters, as those of `snapshot`. Rows that were deleted before are erased as well.
            options: As for `upsert`.
            audit: The file for a record of the erasure as JSON, outside of the table. It does not contain what was
                erased.

        Returns:
            What was done.

        Raises:
            UnsupportedError: A savepoint holds such rows, or a clustering is pending: the message says what to call
                first; the table is not on a local file system, or is bootstrapped.
            TableServiceError: The rows are deleted, but a value is still in a file, which the message names.
            InvalidArgumentError: The filters do not fit the table, or select all rows.
        """
        return self.erase_by(None, filters, options, audit)

    def plan_erase(self, filters: Filters) -> Erasure:
        """Returns what `erase` would do: the number of rows, and the savepoints for which it would be refused."""
        self.refresh()
        return self._native.plan_erase(normal_form(filters, self._columns_of_table), merger=self._merging())

    def erase_by(
        self,
        tasks: ErasureTasks | None,
        filters: Filters,
        options: Options | None,
        audit: str | os.PathLike[str] | None,
    ) -> Erasure:
        """Erases rows as `erase`; tasks of an engine find and delete them, and read the files that remain.

        Args:
            tasks: The tasks; None is this process.
            filters: As for `erase`.
            options: As for `erase`.
            audit: As for `erase`.
        """
        terms, given = normal_form(filters, self._columns_of_table), self._given(options)
        if audit is not None and Path(audit).resolve().is_relative_to(Path(self.uri.removeprefix("file://")).resolve()):
            raise InvalidArgumentError("the audit record must not be in the folder of the table")
        done = self._run(self._native.erase, terms, given, self, tasks=tasks, merger=self._merging())
        if audit is not None:
            Path(audit).write_text(done.to_json() + "\n", encoding="utf-8")
        return done

    def compact(self, options: Options | None = None, *, schedule: bool = True, run: bool = True) -> CompactResult:
        """Merges log files into base files: executes what is pending, also what Hudi planned, then plans and executes.

            table.compact()
            table.compact({"hoodie.compaction.target.io": 10_000})

        Rows stay as they are, with their commit times. A compaction that is stopped, or fails, stays pending; the next
        call executes it.

        Args:
            options: Options by Hudi's names: `hoodie.compaction.strategy` and its parameters, after how many delta
                commits a compaction is due (`hoodie.compact.inline.max.delta.commits`, here 0 by default), and those of
                base files.
            schedule: False executes what is pending only.
            run: False executes nothing: what is planned stays pending for a later call, or for Hudi.

        Raises as `upsert`.
        """
        return self._run(self._native.compact, self._given(options), *_steps(schedule, run))

    def plan_compact(
        self, options: Options | None = None, *, schedule: bool = True, run: bool = True
    ) -> list[PlannedCompaction]:
        """Returns the compactions that `compact` would execute, with files and bytes."""
        return self._native.plan_compact(self._given(options), *_steps(schedule, run))

    def log_compact(self, options: Options | None = None, *, schedule: bool = True, run: bool = True) -> CompactResult:
        """Merges the log files of file slices into one log file each: cheaper than `compact`, as base files stay.

            table.log_compact({"hoodie.log.compaction.blocks.threshold": 10})

        Executes what is pending, also what Hudi planned, then plans and executes, if 5 delta commits were made since
        the last compaction or log compaction. Slices are taken that have 5 log blocks or files. Rows stay as they are,
        with their commit times. The old log files stay until the cleaner deletes their slice; readers leave them out.

        Args:
            options: Options by Hudi's names: `hoodie.log.compaction.blocks.threshold` (5, both numbers above), and
                those of log files.
            schedule: False executes what is pending only.
            run: False executes nothing: what is planned stays pending for a later call, or for Hudi.

        Raises as `upsert`; `UnsupportedError` for a table without meta columns, and for a plan with logs of partial
        updates.
        """
        return self._run(self._native.log_compact, self._given(options), *_steps(schedule, run))

    def plan_log_compact(
        self, options: Options | None = None, *, schedule: bool = True, run: bool = True
    ) -> list[PlannedCompaction]:
        """Returns the log compactions that `log_compact` would execute, with files and bytes."""
        return self._native.plan_log_compact(self._given(options), *_steps(schedule, run))

    def cluster(self, options: Options | None = None, *, schedule: bool = True, run: bool = True) -> ClusterResult:
        """Writes the rows of small file groups to new file groups, larger ones and in another order.

            table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "city,fare"})
            table.cluster(schedule=False)  # executes what is planned, also by Hudi

        Args:
            options: Options by Hudi's names: `hoodie.clustering.…` and those of writes.
            schedule: False makes no new plan.
            run: False executes no plan: it stays pending for a later call, or for Hudi.

        Raises as `upsert`. A plan whose execution fails stays pending.
        """
        return self._run(self._native.cluster, self._given(options), *_steps(schedule, run))

    def plan_cluster(
        self, options: Options | None = None, *, schedule: bool = True, run: bool = True
    ) -> list[ClusteringGroup]:
        """Returns the groups of files that `cluster` would rewrite: those of pending plans, and of a new one."""
        return self._native.plan_cluster(self._given(options), *_steps(schedule, run))

    def clean(self, options: Options | None = None) -> CleanResult:
        """Deletes files that only queries of older commits read, and those of replaced file groups.

            table.clean({"hoodie.clean.commits.retained": 24})

        Without options, what the last 10 commits need is kept. Files of savepoints stay, and what pending compactions
        and clustering read. A clean that is pending, as the process died that ran it, is completed first.

        Args:
            options: Options by Hudi's names: `hoodie.clean.policy` (`KEEP_LATEST_COMMITS`,
                `KEEP_LATEST_FILE_VERSIONS`, `KEEP_LATEST_BY_HOURS`) and the number of each policy.

        Raises as `upsert`; `InvalidTableError` if a pending plan names what is no data file of the table: then nothing
        is deleted.
        """
        return self._run(self._native.clean, checked_options(options))

    def plan_clean(self, options: Options | None = None) -> CleanResult:
        """Returns what `clean` would delete."""
        return self._native.plan_clean(checked_options(options))

    def expire_partitions(self, options: Options | None = None) -> ExpireResult:
        """Deletes partitions that nobody has written to for some days, as one commit.

            table.expire_partitions({"hoodie.partition.ttl.strategy.days.retain": 30})

        Their files stay until they are cleaned. A partition of which a compaction or clustering is pending expires
        later.

        Args:
            options: Options by Hudi's names: `hoodie.partition.ttl.strategy.days.retain`, without which none expires,
                and the others of `hoodie.partition.ttl`.

        Raises as `upsert`.
        """
        return self._run(self._native.expire_partitions, checked_options(options))

    def plan_expire_partitions(self, options: Options | None = None) -> ExpireResult:
        """Returns the partitions that `expire_partitions` would delete."""
        return self._native.plan_expire_partitions(checked_options(options))

    def archive(self, options: Options | None = None) -> ArchiveResult:
        """Moves old completed instants from the active timeline to the archive, so that the table stays fast to open.

            table.archive({"hoodie.keep.min.commits": 40, "hoodie.keep.max.commits": 60})

        It begins when there are more than `hoodie.keep.max.commits` (30) commits, and leaves `hoodie.keep.min.commits`
        (20). Instants stay that pending ones, savepoints, the cleaner, compaction or the metadata table need.

        Args:
            options: Options by Hudi's names.

        Raises as `upsert`.
        """
        return self._run(self._native.archive, checked_options(options))

    def plan_archive(self, options: Options | None = None) -> ArchiveResult:
        """Returns the instants that `archive` would move."""
        return self._native.plan_archive(checked_options(options))

    def rollback(self, instant: InstantOrCommit, options: Options | None = None) -> RollbackResult:
        """Undoes an instant: a pending one, or the latest completed write.

            table.plan_rollback(table.timeline[-1])

        Its data files are deleted; up to table version 7 rollback blocks are appended to logs that stay. File groups
        that it replaced come back. A metadata table that was compacted, built or given an index since is built again. A
        rollback that was stopped goes on when it is run again, or with the next write.

        Args:
            instant: The requested time, one of `timeline`, or the commit that a write returned.
            options: Options by Hudi's names: those of the lock, if the table has several writers, and of the metadata
                table.

        Raises:
            InvalidArgumentError: There is no such instant, or it may not be rolled back: there are later writes, it is
                savepointed, or the files before it were cleaned. Nothing was changed.
            UnsupportedError: It is archived. Nothing was changed.
        """
        return self._run(self._native.rollback, _requested_time(instant), checked_options(options))

    def plan_rollback(self, instant: InstantOrCommit, options: Options | None = None) -> RollbackResult:
        """Returns what `rollback` would do."""
        return self._native.plan_rollback(_requested_time(instant), checked_options(options))

    def savepoint(
        self,
        instant: InstantOrCommit | None = None,
        options: Options | None = None,
        *,
        comment: str = "",
        user: str = "",
    ) -> SavepointResult:
        """Makes a savepoint of a completed write: cleaning and archival keep its files, and `restore` returns to it.

        Args:
            instant: The write, as for `rollback`. Default: the latest one of the table as it was opened.
            options: Options by Hudi's names: those of the lock, if the table has several writers.
            comment: What the savepoint is for.
            user: Who makes it.

        Raises:
            InvalidArgumentError: There is no such completed write on the active timeline, or it has a savepoint.
            FileCleanedError: Its files may have been cleaned.
        """
        if not isinstance(user, str) or not isinstance(comment, str):
            raise InvalidArgumentError(f"user and comment must be strings, got {(user, comment)!r}")
        of = None if instant is None else _requested_time(instant)
        return self._run(self._native.savepoint, of, checked_options(options), user=user, comment=comment)

    def plan_savepoint(self, instant: InstantOrCommit | None = None, options: Options | None = None) -> SavepointResult:
        """Returns the files that `savepoint` would keep."""
        of = None if instant is None else _requested_time(instant)
        return self._native.plan_savepoint(of, checked_options(options))

    def delete_savepoint(self, instant: InstantOrCommit, options: Options | None = None) -> SavepointResult:
        """Deletes a savepoint. Its files stay until they are cleaned.

        Args:
            instant: The write that it keeps, as for `rollback`.
            options: As for `savepoint`.

        Raises `InvalidArgumentError` if there is no such savepoint.
        """
        return self._run(self._native.delete_savepoint, _requested_time(instant), checked_options(options))

    def plan_delete_savepoint(self, instant: InstantOrCommit, options: Options | None = None) -> SavepointResult:
        """Returns the savepoint that `delete_savepoint` would delete."""
        return self._native.plan_delete_savepoint(_requested_time(instant), checked_options(options))

    def restore(self, instant: InstantOrCommit, options: Options | None = None) -> RestoreResult:
        """Takes the table back to a savepoint: undoes all later writes, newest first.

        Nobody else may write to the table meanwhile, and queries of later writes fail. A restore that was stopped goes
        on when it is run again; until then the table cannot be written to. The metadata table is rolled back with the
        writes, or built again where it cannot be (docs/metadata-table.md).

        Args:
            instant: A write that has a savepoint, or another completed one of which no file was cleaned, as for
                `rollback`.
            options: Options by Hudi's names: those of the lock, if the table has several writers.

        Raises:
            InvalidArgumentError: There is no such write, a later one is savepointed, or a restore to another instant is
                not completed. Nothing was changed.
            FileCleanedError: Files of the write were cleaned. Nothing was changed.
            UnsupportedError: A later write is archived. Nothing was changed.
        """
        return self._run(self._native.restore, _requested_time(instant), checked_options(options))

    def plan_restore(self, instant: InstantOrCommit, options: Options | None = None) -> RestoreResult:
        """Returns the writes that `restore` would undo."""
        return self._native.plan_restore(_requested_time(instant), checked_options(options))

    def upgrade(self, to: int = 9, options: Options | None = None) -> UpgradeResult:
        """Brings the table to a later version, as Hudi does: up to 5 to 6, 6 to 8, 8 to 9, or several steps at once.

            table.plan_upgrade(9).properties
            table.upgrade(9)

        Failed writes are rolled back, and all logs are merged into base files. From 6 to 8 the timeline and the archive
        are written again, and the metadata table is built again. No row changes. Other writers must not be writing, and
        those that go on afterwards have to know the new version. If it is stopped, the table is of one version or the
        other, and it can be run again.

        Args:
            to: The version afterwards. A table that has it gets what an upgrade that was stopped has not done.
            options: Options by Hudi's names: of the lock, if there are several writers, of compactions, and of keys and
                partitions up to version 2, which does not store them all.
        Raises:
            InvalidArgumentError: The table has a later version, or does not store what no option names.
            UnsupportedError: There is no such step, or the table has what the version does not have, by name.
            WriteConflictError: Another writer is writing.
        """
        return self._run(self._native.upgrade, checked_count("to", to), checked_options(options))

    def plan_upgrade(self, to: int = 9, options: Options | None = None) -> UpgradeResult:
        """Returns what `upgrade` would do."""
        return self._native.plan_upgrade(checked_count("to", to), checked_options(options))

    def downgrade(self, to: int, options: Options | None = None) -> UpgradeResult:
        """Brings the table to an earlier version, which older releases of Hudi can write: 9 to 8, 8 to 6, or both.

            table.downgrade(6)

        As for `upgrade`; the metadata table is built again, with the indexes that the version has.

        Args:
            to: The version afterwards.
            options: As for `upgrade`.

        Raises as `upgrade`.
        """
        return self._run(self._native.downgrade, checked_count("to", to), checked_options(options))

    def plan_downgrade(self, to: int, options: Options | None = None) -> UpgradeResult:
        """Returns what `downgrade` would do."""
        return self._native.plan_downgrade(checked_count("to", to), checked_options(options))

    def build_metadata(
        self,
        options: Options | None = None,
        *,
        add: Sequence[str] = (),
        drop: Sequence[str] = (),
        rebuild: bool = False,
    ) -> MetadataResult:
        """Builds the metadata table, if there is none, and changes its indexes.

            table.build_metadata(add=["record_index"], drop=["bloom_filters"])
            table.build_metadata(rebuild=True)

        A new one gets `files`, from table version 8 on `column_stats`, of a partitioned table `partition_stats`, and
        what `add` names. Failed writes are rolled back before. If it is stopped, run it again: readers use a partition
        once it is complete.

        Args:
            options: Options by Hudi's names: those of column statistics, those of the lock of several writers.
            add: Indexes to add: `column_stats`, `partition_stats`, `record_index`, `bloom_filters`, secondary indexes
                with their column (`secondary_index_by_city(city)`).
            drop: Indexes to drop.
            rebuild: True deletes it before, even if it is damaged, and builds the partitions that it had.

        Raises:
            InvalidArgumentError: There is no such index, or it is to be added and dropped.
            UnsupportedError: The table cannot have an index; up to table version 7, a write is pending.
        """
        changes = _indexes(add, drop, rebuild)
        return self._run(self._native.build_metadata, self._given(options), *changes, runner=self._runner)

    def plan_build_metadata(
        self,
        options: Options | None = None,
        *,
        add: Sequence[str] = (),
        drop: Sequence[str] = (),
        rebuild: bool = False,
    ) -> MetadataResult:
        """Returns what `build_metadata` would do.

        Args:
            options: As for `build_metadata`.
            add: Indexes to add.
            drop: Indexes to drop.
            rebuild: True deletes it before.
        """
        return self._native.plan_build_metadata(self._given(options), *_indexes(add, drop, rebuild))

    def delete_metadata(self, options: Options | None = None) -> MetadataResult:
        """Deletes the metadata table: files are listed from storage from then on.

        The next write builds it again, unless its option `hoodie.metadata.enable` is `false`.

        Args:
            options: Options by Hudi's names: those of the lock, if the table has several writers.

        Raises `UnsupportedError` for a table of a version that is not written: Hudi upgrades it.
        """
        return self._run(self._native.delete_metadata, checked_options(options))

    def plan_delete_metadata(self, options: Options | None = None) -> MetadataResult:
        """Returns what `delete_metadata` would delete."""
        return self._native.plan_delete_metadata(checked_options(options))

    def verify(self, *, contents: bool = True, keys: bool = False, global_keys: bool = False) -> VerifyResult:
        """Returns what is wrong with the table: files that timeline or metadata table have and the storage has not, and
        the reverse; files that cannot be decoded; orphan files, temporary files, stale markers, dead heartbeats.

            for finding in table.verify(keys=True).findings:
                print(finding.kind, finding.path, finding.message)

        Nothing is changed. Run it while nobody writes. docs/recovery.md says what each finding means, and what to do.

        Args:
            contents: True decodes all files of the latest file slices, and compares checksums of all files that have
                some: pages of parquet files, blocks of HFiles.
            keys: True reads the record keys of all rows: finds keys of several rows of a partition, and compares the
                rows with the record index, if the table has one. Keys are sorted in files of `spill_dir`.
            global_keys: True does the same, and finds keys of several rows of the table.

        Raises `TableNotFoundError`, `InvalidTableError`, `UnsupportedError` if the table cannot be opened.
        """
        return self._run(
            self._native.verify,
            contents=checked_bool("contents", contents),
            keys=checked_bool("keys", keys),
            global_keys=checked_bool("global_keys", global_keys),
            runner=self._runner,
        )

    def repair(
        self, options: Options | None = None, *, dry_run: bool = False, merge_buckets: bool = False
    ) -> RepairResult:
        """Deletes what stopped writers left, in the table and in its metadata table.

        These are markers and heartbeats of instants that are not pending; files that no instant accounts for, if they
        are older than all pending instants, and than an hour; and files that were not finished, if they are so old or
        their instant is completed.

        Args:
            options: Options by Hudi's names: those of the lock, if the table has several writers.
            dry_run: Deletes nothing, as `plan_repair`.
            merge_buckets: True also makes one file group of those of each bucket that has several, which are merged by
                the table's merge mode: concurrent writers that compared file groups alone have created them, and
                writes with a bucket index are refused since. Rows keep their commit times.

        Raises `UnsupportedError` for a table of a version that is not written: Hudi upgrades it; with `merge_buckets`
        for a table without meta columns; `InvalidArgumentError` for one without a bucket index; and as `upsert`.
        """
        if dry_run:
            return self.plan_repair(options, merge_buckets=merge_buckets)
        merges = checked_bool("merge_buckets", merge_buckets)
        return self._run(self._native.repair, self._given(options), merges)

    def plan_repair(self, options: Options | None = None, *, merge_buckets: bool = False) -> RepairResult:
        """Returns what `repair` would delete and merge, and what would stay."""
        return self._native.plan_repair(self._given(options), checked_bool("merge_buckets", merge_buckets))

    def health(self, options: Options | None = None) -> Health:
        """Returns what slows queries of the table down, what is pending, and what its services would gain.

            health = table.health()
            health.log_ratio, health.due, health.problems

        Files are listed and the services planned; no data is read, and nothing is changed. The table is looked at in
        the state in which it was opened (`refresh`).

        Args:
            options: Options of the services, by Hudi's names: when one is due.
        """
        return self._native.health(self._given(options))

    @property
    def plot(self) -> TablePlots:
        """Plots with matplotlib: `table.plot.layout()`, `table.plot.timeline()`."""
        return TablePlots(self)

    def report(self, options: Options | None = None) -> str:
        """Returns a page of HTML on the table: health, layout, timeline, latest writes, columns, properties.

            pathlib.Path("report.html").write_text(table.report(), encoding="utf-8")

        The page loads nothing and runs nothing, so that it can be mailed and archived.

        Args:
            options: Options of the services, by Hudi's names: when one is due.
        """
        if isinstance(options, (str, os.PathLike)):
            raise InvalidArgumentError(
                f"report returns HTML and writes no file: Path({os.fspath(options)!r}).write_text(table.report())"
            )
        return report.report_of(self, self.health(options))

    def _repr_html_(self) -> str:
        """What the table is, for notebooks. Files are not listed."""
        return report.table_html(self)

    def maintain(
        self,
        budget_seconds: float | None = None,
        options: Options | None = None,
        *,
        services: Iterable[str] = ("compact", "cluster", "clean", "archive"),
    ) -> maintenance.MaintainResult:
        """Runs the services that are due, in the order in which each leaves the next what it needs.

            done = table.maintain(budget_seconds=600)
            done.done, done.left, done.failed

        A service is due by Hudi's usual options, or if a plan of it is pending: a compaction after 5 writes, clustering
        after 4 if there would be fewer file groups. With a budget, a compaction is planned so small that it ends in
        time, and a service that would need more than the rest is left. Times are estimates from the bytes that a
        service reads, at first for a slow machine: a service that has begun is not stopped.

        Args:
            budget_seconds: The time that all of it may take. Default: no limit.
            options: Options of the services, by Hudi's names, those of the lock of several writers among them.
            services: Which of them, by their names.

        Returns:
            What was run, what is left and why, and what failed: an error of one service does not keep the others from
            being run.

        Raises `InvalidArgumentError` if an argument is invalid.
        """
        return maintenance.maintain(self, maintenance.checked_budget(budget_seconds), options, services)

    def plan_maintain(
        self,
        budget_seconds: float | None = None,
        options: Options | None = None,
        *,
        services: Iterable[str] = ("compact", "cluster", "clean", "archive"),
    ) -> maintenance.MaintainResult:
        """Returns what `maintain` would do, and changes nothing. Arguments are those of `maintain`.

        Args:
            budget_seconds: The time that all of it may take.
            options: Options of the services.
            services: Which of them.
        """
        return maintenance.plan_maintain(self, maintenance.checked_budget(budget_seconds), options, services)

    @overload
    def history(self, key: None = None) -> pa.Table: ...

    @overload
    def history(self, key: str, *, partition: str | None = None) -> history.RecordHistory: ...

    def history(self, key: str | None = None, *, partition: str | None = None) -> pa.Table | history.RecordHistory:
        """Returns the completed writes and compactions of the table, the newest first; or every version of a record.

            table.history().to_pandas()  # instant, operation, inserts, updates, deletes, files, bytes

        With a key, returns every version of the record that the files of the table still contain, and why the winner
        won:

            for version in table.history("t00042").versions:
                print(version.instant, version.source, version.state, version.values)

        Base files of all slices that are not cleaned are read with the key as a filter, and their log files searched
        for it.

        Args:
            key: The record key, as in `_hoodie_record_key`: of a table with several key columns `id:1,city:oslo`.
            partition: Looks in this partition only, which is quicker. Default: all.

        Raises:
            InvalidArgumentError: No version has this key.
            UnsupportedError: The table has no meta columns.
        """
        return commits_of(self) if key is None else history.history_of(self, key, partition)

    def diff(
        self, begin: InstantLike, end: InstantLike = None, *, columns: Iterable[str] | None = None
    ) -> difference.Diff:
        """Returns what is different in the table between two instants: inserted, deleted and updated rows.

            diff = table.diff("20240101120000000")
            diff.inserted.num_rows, diff.updated.num_rows, diff.deleted.num_rows

        Both snapshots are read by time travel and compared, but for partitions whose files are the same. What a write
        has changed and a later one has changed back is not in it (`incremental` returns each write's rows).

        Args:
            begin: The instant of the first snapshot.
            end: The instant of the second. Default: the latest.
            columns: The columns that are returned, besides the record key. Default: all but meta columns.

        Raises:
            FileCleanedError: Files of the first snapshot were cleaned.
            InvalidArgumentError: `end` is before `begin`, or a column does not exist.
        """
        return difference.diff_of(self, begin, end, None if columns is None else list(columns))

    def _run(self, service: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Runs a write or a service of the native table, observed by the name of the method."""
        with observed(service.__name__, self.uri) as observation:
            done = observation.done(service(*arguments, **named))
        self._forget()
        return done

    def _write(self, write: WriteRows, data: Rows, options: Options | None) -> Commit:
        return self._change(raising_causes(write), arrow_rows(data, self._columns_of_table), options=options)

    def _change(self, change: Callable[..., Commit], *arguments: object, options: Options | None) -> Commit:
        """Runs a write, which gets the options and what checks the commit, and registers it in the catalog that the
        options name.
        """
        given = self._given(options)
        with validated(self._validators, self.preview) as check:
            commit = self._run(change, *arguments, given, check)
        catalog = asked_for(options)
        if catalog is not None and commit.instant:
            sync_after(self._native, commit.instant, catalog)
        return commit

    def _given(self, options: Options | None) -> dict[str, str]:
        """Returns options for the core: with what happens at a damaged log file, if the table says so, and without
        those of a sync, of which it raises what is wrong before there is an instant.
        """
        on_damage = self._read_options.on_damage
        if on_damage is not None and isinstance(options, (Mapping, type(None))):
            options = {ON_DAMAGE: on_damage, **(options or {})}
        return checked_options(without_sync(options))

    def _columns_of_table(self) -> pa.Schema:
        return pa.schema(self._native.schema())

    def __reduce__(self) -> tuple[Callable[[bytes], Table], tuple[bytes]]:
        """Pickles the path and the arguments, storage options included: an unpickled table has the state that it has
        then.
        """
        storage: dict[str, str | CredentialsFunction] = dict(self._storage_options)
        if CREDENTIALS in storage:
            storage[CREDENTIALS] = supplier_of(self._storage_options[CREDENTIALS])
        return _opened, (pickled((self.uri, storage, self._read_options, self._merge, self._validators)),)

    if not TYPE_CHECKING:  # which must go on to report unknown names

        def __getattr__(self, name: str) -> NoReturn:
            """Raises the error for a name that does not exist."""
            others = {name: f"table[{name!r}]"} if self._is_column(name) else names_of("Table")
            raise missing_attribute("a Table", name, others, dir(self))

    def _is_column(self, name: str) -> bool:
        """Returns true if an attribute that does not exist is the name of a column."""
        if name.startswith("_") or "_native" not in self.__dict__:
            return False
        try:
            return name in self.columns
        except MorticeError:
            return False

    def __dir__(self) -> list[str]:
        """Returns the public names, for completion."""
        names = super().__dir__()
        return [name for name in names if name.startswith("__") or not (name[0] == "_" or name in _INTERNAL)]

    def __repr__(self) -> str:
        keys = ", ".join(self.record_key_fields)
        return visible_text(f"Table({self.uri!r}, version {self.version}, {self.merge_mode}, key ({keys}))")


_INTERNAL = frozenset({"by_tasks", "erase_by", "position_here", "prepare", "preview", "service_progress"})
"""Methods that other modules of mortice call."""


def _opened(data: bytes) -> Table:
    """Opens the table of a pickle. Functions in it are code: the source must be trusted."""
    uri, storage_options, read_options, merge, validators = pickle.loads(data)  # noqa: S301
    table = Table(uri, storage_options=storage_options, read_options=read_options)
    vars(table).update(_merge=merge, _validators=validators)
    return table


def _dataset_of(table: Table, as_of: InstantLike, has_meta: bool) -> TableDataset:
    return table.dataset(as_of, meta=has_meta)


def _requested_time(instant: InstantOrCommit) -> str:
    """The requested time of an instant, as text. Raises `InvalidArgumentError` for what is none."""
    if isinstance(instant, Instant):
        return instant.requested_time
    if isinstance(instant, Commit) and instant.instant:
        return instant.instant
    if not isinstance(instant, str):
        raise InvalidArgumentError(
            f"instant must be a requested time, such as '20240101120000000', one of the timeline, or a commit, got "
            f"{instant!r}"
        )
    return instant


def _steps(schedule: bool, run: bool) -> tuple[bool, bool]:
    return checked_bool("schedule", schedule), checked_bool("run", run)


def _indexes(add: Sequence[str], drop: Sequence[str], rebuild: bool) -> tuple[list[str], list[str], bool]:
    for argument, names in (("add", add), ("drop", drop)):
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise InvalidArgumentError(f"{argument} must be a list of names of indexes, got {names!r}")
    return list(add), list(drop), checked_bool("rebuild", rebuild)


def _either(given: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """Returns the columns of given rows, and those that the table has besides."""
    return pa.schema([*given, *(field for field in stored if field.name not in given.names)])
