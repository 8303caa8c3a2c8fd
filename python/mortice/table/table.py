"""The entry point: a Hudi table and its queries."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

from mortice import _mortice, queries
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.expressions.filters import Filters, normal_form
from mortice.reading.follow import Follower, Ranges
from mortice.reading.mergers import Merge, checked_merge
from mortice.reading.read_options import ReadOptions, checked_read_options
from mortice.reading.scan import Scan
from mortice.reading.split import pickled
from mortice.services import erasure
from mortice.services.erasure_work import ProcessWork
from mortice.table.data import TableData
from mortice.table.insight import TableInsight
from mortice.table.services import TableServices
from mortice.table.writes import TableWrites
from mortice.values.argument_types import CredentialsFunction, Options, StorageOptions
from mortice.values.credentials import CREDENTIALS, supplier_of
from mortice.values.instants import InstantLike
from mortice.values.options import (
    DEFAULT_HOLES,
    DEFAULT_POLL_SECONDS,
    absolute_uri,
    checked_bool,
    checked_columns,
    checked_seconds,
    checked_storage_options,
)
from mortice.values.other_names import missing_attribute, names_of, with_fields, with_hints
from mortice.values.visible_text import visible_text
from mortice.writing.validators import Validator, checked_validators

__all__ = ["Table"]

METADATA_FOLDER = ".hoodie/metadata"


class _TableClass(type):
    """The class of `Table`, which answers names of other libraries (`DeltaTable.is_deltatable`)."""

    if not TYPE_CHECKING:  # which must go on to report unknown names

        def __getattr__(cls, name: str) -> NoReturn:
            """Raises the error for a name that does not exist."""
            raise missing_attribute("the class Table", name, names_of("class Table"), dir(cls))


@with_hints
class Table(TableData, TableWrites, TableServices, TableInsight, metaclass=_TableClass):
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
        self._storage_options = checked_storage_options(storage_options)
        self._read_options = checked_read_options(read_options, settings)
        self._native = _mortice.Table(absolute_uri(uri), self._storage_options, **asdict(self._read_options))

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
        table = copy.copy(self)
        table._validators = (*self._validators, *checked_validators(validators))  # noqa: SLF001
        return table

    def has_column_ids(self, as_of: InstantLike = None) -> bool:
        """Returns true if columns are identified by ids, so that renamed columns keep their values (schema on read)."""
        return self._native.has_column_ids(self._instant(as_of))

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

    def with_merger(self, merge: Merge) -> Table:
        """Returns a copy of this table whose records are merged by `merge` instead of the registered function.

        Nothing is registered: other tables are merged as before. `merge` has no effect on a table that merges by commit
        or event time. Raises `InvalidArgumentError` if it is not callable.
        """
        table = copy.copy(self)
        table._merge = checked_merge(merge)  # noqa: SLF001
        return table

    @property
    def record_key_fields(self) -> list[str]:
        """The columns of the record key."""
        return self._native.record_key_fields

    @property
    def ordering_fields(self) -> list[str]:
        """The columns of the ordering value, which decides which of two records is the later one."""
        return self._native.ordering_fields

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

    def erase(
        self,
        filters: Filters,
        options: Options | None = None,
        *,
        audit: str | os.PathLike[str] | None = None,
    ) -> erasure.Erasure:
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
        done = erasure.erase(self, filters, options, audit, ProcessWork(self, Table))
        self.refresh()
        return done

    def plan_erase(self, filters: Filters) -> erasure.Erasure:
        """Returns what `erase` would do: the number of rows, and the savepoints for which it would be refused."""
        return erasure.plan_erase(self, filters, ProcessWork(self, Table))

    def position_here(self, position: str, layout: int) -> str | None:
        """Converts a position of `Ranges` from a timeline of `layout` 1 or 2 to this table's timeline.

        The result is the same position, unless the table was upgraded meanwhile: then a requested time is converted to
        a completion time. No commit after the position is before the result, but if the two orders differ, some commits
        may be delivered again. None is before all commits.

        Raises `UnsupportedError` if the table was downgraded.
        """
        return self._native.position_here(position, layout)

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


_INTERNAL = frozenset({"position_here", "prepare", "preview"})
"""Methods that other modules of mortice call."""


def _opened(data: bytes) -> Table:
    """Opens the table of a pickle. Functions in it are code: the source must be trusted."""
    uri, storage_options, read_options, merge, validators = pickle.loads(data)  # noqa: S301
    table = Table(uri, storage_options=storage_options, read_options=read_options)
    table._merge, table._validators = merge, validators  # noqa: SLF001
    return table
