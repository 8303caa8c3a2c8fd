"""The one door: a Hudi table and the queries it answers."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from mortice import _mortice, queries
from mortice.errors import InvalidArgumentError
from mortice.file_slice import FileSlice
from mortice.filters import Filters, normal_form
from mortice.follow import Follower, Ranges
from mortice.instants import TIMELINE_ZONE, InstantLike, instant_text
from mortice.mergers import Merge, Merging, checked_merge, merging_of
from mortice.options import (
    DEFAULT_BATCH_ROWS,
    DEFAULT_HOLES,
    DEFAULT_ON_CORRUPT,
    DEFAULT_POLL_SECONDS,
    DEFAULT_SEMANTICS,
    checked_columns,
    checked_count,
    checked_on_corrupt,
    checked_optional_count,
    checked_seconds,
    checked_semantics,
    checked_storage_options,
    checked_truth,
    checked_uri,
)
from mortice.scan import Scan
from mortice.timeline import Instant, Timeline

__all__ = ["Table"]


class Table:
    """A Hudi table, as it stands when it is opened; open it again to see later commits.

        table = mortice.Table("/lake/trips")
        table.snapshot(columns=["rider", "fare"], filters=[("fare", ">", 3)]).to_arrow()

    Arguments, all but `uri` by name: `storage_options`, options of the storage (`mmap`: `"false"` reads local files
    without mapping them; those of object stores, Hadoop settings among them, are in docs/storage.md; `credentials` may
    be a function that returns some, see `mortice.credentials`);
    `semantics`, whose merging to follow: `"1.x"`, that of the newest Hudi, or `"0.x"`, that of Hudi 0.15, on tables
    that it can read; `memory_limit`, the bytes of memory that a read may take for the keys and contents of logs and for
    batches that wait to be taken (None: 1 GiB; mapped files are the system's own and do not count), shared by the file
    slices that are read at once, what is more being set aside in `spill_dir` (None: the system's folder for temporary
    files), compressed or not (`spill_compressed`); `on_corrupt`, `"skip"` corrupt log blocks, as Hudi does, or
    `"raise"`; `threads`, at most so many (None: all cores); `batch_rows`, rows in a batch,
    at most; `optimized_log_scan`, True to merge log blocks instant by instant, as Hudi 1.2 does, False block by
    block, as Hudi 1.0 and 1.1 do unless told otherwise (the two differ where blocks of several instants alternate,
    and on log-compacted blocks); `prune`, False to read also what partition paths and the statistics of base files
    say no row of a filter is in (the rows are the same, unless a writer's statistics are wrong); `record_positions`,
    False to merge log records with base rows by record key even where the logs record the positions of these rows
    (`hoodie.merge.use.record.positions`; the rows differ only where a base file has a key several times, as
    `bulk_insert` leaves them: by position, the default as in Hudi, an update changes all rows of the key, by key the
    first of them); `use_metadata`, False to list files from storage even where the table has a metadata table that
    lists them (the files are the same either way; `explain()` of a scan says which it was); `use_column_stats`, False
    to open also the file slices in which, by the metadata table's column statistics, no row of a filter is (the rows
    are the same either way; `explain()` says how many were left out); `use_record_index`, True to look up the keys
    that a filter names (`[("_hoodie_record_key", "in", keys)]`) in the table's record index and read only the file
    groups that hold them. The index cannot tell whether a key is in a second partition as well: it is for tables whose
    keys are unique.

    Raises `TableNotFoundError`, `InvalidTableError`, `UnsupportedError`.
    """

    def __init__(
        self,
        uri: str | os.PathLike[str],
        *,
        storage_options: Mapping[str, Any] | None = None,
        semantics: str = DEFAULT_SEMANTICS,
        memory_limit: int | None = None,
        spill_dir: str | os.PathLike[str] | None = None,
        on_corrupt: str = DEFAULT_ON_CORRUPT,
        threads: int | None = None,
        batch_rows: int = DEFAULT_BATCH_ROWS,
        optimized_log_scan: bool = True,
        spill_compressed: bool = True,
        prune: bool = True,
        record_positions: bool = True,
        use_metadata: bool = True,
        use_column_stats: bool = True,
        use_record_index: bool = False,
    ) -> None:
        self._merge: Merge | None = None
        self._native = _mortice.Table(
            checked_uri(uri),
            checked_storage_options(storage_options),
            semantics=checked_semantics(semantics),
            on_corrupt=checked_on_corrupt(on_corrupt),
            batch_rows=checked_count("batch_rows", batch_rows),
            optimized_log_scan=checked_truth("optimized_log_scan", optimized_log_scan),
            threads=checked_optional_count("threads", threads),
            prune=checked_truth("prune", prune),
            use_metadata=checked_truth("use_metadata", use_metadata),
            use_column_stats=checked_truth("use_column_stats", use_column_stats),
            use_record_index=checked_truth("use_record_index", use_record_index),
            record_positions=checked_truth("record_positions", record_positions),
            memory_limit=checked_optional_count("memory_limit", memory_limit),
            spill_dir=None if spill_dir is None else os.fspath(spill_dir),
            spill_compressed=checked_truth("spill_compressed", spill_compressed),
        )

    @property
    def uri(self) -> str:
        """Where the table lies."""
        return self._native.uri

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns: Hudi's meta columns first."""
        return pa.schema(self._native.schema())

    def has_column_ids(self, as_of: InstantLike = None) -> bool:
        """Whether columns are told by ids, by which renamed ones keep their values (Hudi's schema on read)."""
        return self._native.has_column_ids(self._instant(as_of))

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """`hoodie.properties`."""
        return MappingProxyType(self._native.properties)

    @property
    def version(self) -> int:
        """The table version."""
        return self._native.version

    @property
    def merge_mode(self) -> str:
        """How records of one key are merged: `EVENT_TIME_ORDERING`, `COMMIT_TIME_ORDERING` or `CUSTOM`."""
        return self._native.merge_mode

    @property
    def custom_merge(self) -> str | None:
        """The payload class, or the id of the record merger's strategy, where records are merged by one.

        It is what `mortice.register_merger` takes as a name. None where the table merges by commit or event time.
        """
        return self._native.custom_merge

    def with_merger(self, merge: Merge) -> Table:
        """Returns this table, its records merged by `merge`, whatever is registered for `custom_merge`.

        Nothing is registered: other tables are merged as before. `merge` has no effect on a table that merges by commit
        or event time. Raises `InvalidArgumentError` if it cannot be called.
        """
        table = copy.copy(self)
        table._merge = checked_merge(merge)  # noqa: SLF001
        return table

    def _merging(self) -> Merging | None:
        if self._merge is None or self.custom_merge is None:
            return merging_of(self.custom_merge)
        return Merging(self.custom_merge, self._merge)

    @property
    def record_key_fields(self) -> list[str]:
        """The columns that make the record key."""
        return self._native.record_key_fields

    @property
    def partition_fields(self) -> list[str]:
        """The columns that make the partition path."""
        return self._native.partition_fields

    @property
    def ordering_fields(self) -> list[str]:
        """The columns that tell which of two records is the later."""
        return self._native.ordering_fields

    @cached_property
    def timeline(self) -> Timeline:
        """What happened to the table: its instants, active and archived, and what each tells of itself."""
        native = self._native

        def read(instant: Instant, plan: bool) -> str | None:
            return native.metadata(instant.requested_time, instant.action, instant.state, plan)

        active = (Instant(*instant) for instant in native.timeline())
        return Timeline(active, lambda: (Instant(*instant) for instant in native.archived()), read)

    def file_slices(self, as_of: InstantLike = None, filters: Filters = None) -> list[FileSlice]:
        """The file slices that a snapshot reads; with `filters`, those in partitions that can match."""
        slices = self._native.file_slices(self._instant(as_of), normal_form(filters))
        return [FileSlice.from_native(slice_) for slice_ in slices]

    @property
    def storage_requests(self) -> dict[str, int]:
        """The storage requests made so far to open the table and to plan its queries, by kind.

        `list` counts folders listed, `open` files opened, missing ones included, and `read` byte ranges fetched. Reads
        of memory-mapped files are not counted. Requests made while reading a scan are in `Scan.report`.
        """
        return dict(zip(("list", "open", "read"), self._native.storage_requests(), strict=True))

    def prepare(self, query: queries.Query) -> queries.QueryPlan:
        """Returns a query whose schema is known before it is planned (see `mortice.queries`).

        Raises `InvalidArgumentError`.
        """
        return query.prepare(self._native, self._merging())

    def snapshot(
        self,
        columns: Sequence[str] | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        merge: bool = True,
        emit_deletes: bool = False,
    ) -> Scan:
        """The latest rows, base files merged with their log files; with `as_of`, the rows as they were then.

        `columns` come back in the order asked for. `filters` (see `mortice.filters`) are exact. A column that a filter
        or the merge needs need not be among the columns.

        `merge=False` leaves records of one key unmerged, as Hudi's `skip_merge` does: by the rules of 1.x every
        base row and every log row, deletes aside; by those of 0.x base rows beside the log rows, these merged among
        themselves.

        `emit_deletes=True` also gives the keys that the logs have deleted, as rows with `D` in `_hoodie_operation` (a
        column that is added at the end where the table has none, and is null in rows that are there). A row that said
        itself that it is a delete comes whole. Of a key from a delete block there are the record key, the partition
        path, the instant and the ordering values; its other columns are null. Deletes that compaction has done away
        with are no longer known.
        """
        return self.prepare(queries.Snapshot(columns, filters, as_of, merge, emit_deletes)).scan()

    def read_optimized(
        self, columns: Sequence[str] | None = None, filters: Filters = None, as_of: InstantLike = None
    ) -> Scan:
        """The rows of the base files alone: faster, and blind to whatever has not been compacted yet."""
        return self.prepare(queries.ReadOptimized(columns, filters, as_of)).scan()

    def incremental(  # noqa: PLR0917
        self,
        begin: InstantLike,
        end: InstantLike = None,
        columns: Sequence[str] | None = None,
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
    ) -> Scan:
        """The rows that commits after `begin`, up to and with `end` (None: the latest), wrote, as they stood at `end`.

            table.incremental("20240101120000000").to_arrow()
            table.incremental("earliest", "2024-01-02 10:00:00", columns=["rider", "fare"])

        From table version 8 on bounds are completion times, before that requested times (`Timeline` has both); they
        need not be on the timeline, and `begin` may be `"earliest"`. A row that was written several times comes once,
        one that was deleted not at all. Log blocks and base rows of other commits are left out first, and what is left
        is merged, as Hudi 1.x does: a late row that lost against an older one is there. Compaction and clustering add
        nothing, since rows keep their commit time. `columns` and `filters` are as for `snapshot`.

        `holes`: what to do below table version 8 where a commit in the range is still under way and later ones have
        completed: `"FAIL"`, or `"BLOCK"`, which ends the range before it. `skip_compact` and `skip_cluster` leave out
        what compactions and clustering wrote; rows whose older files have been cleaned are then missing.
        `skip_log_compact` is for those who take one range after the other: rows of a log compaction have its commit
        time, not their own, and would come again; where the range holds one it is left out, with all other services.
        `fall_back_to_full_scan`: where a commit of the range has been archived or one of its files cleaned, look for
        the range's rows in all files of the table as it is now: a row that was written again after `end` is then not
        there. None: do so from table version 8 on, as Hudi 1.x does; before that, or with False, reading a cleaned file
        is `FileCleanedError`. With `changelog`, None is False. `schema_at_end` gives the columns that the table had at
        `end`, and not those that it has now.

        `changelog=True` merges nothing: every log record of the range is a row, in the order of the log, and so is
        every row of a base file that its commit wrote (not a compaction or clustering). `_hoodie_operation`, a column
        that is added where the table has none, is `D` in deletes. `emit_deletes=True` merges, and gives the keys that
        the range deleted in the same way. For the rows of deletes see `snapshot`.

        Raises `InvalidArgumentError`, `UnsupportedError` for a table without meta columns.
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
        )
        return self.prepare(query).scan()

    def changes(
        self,
        begin: InstantLike,
        end: InstantLike = None,
        columns: Sequence[str] | None = None,
        filters: Filters = None,
        *,
        holes: str = DEFAULT_HOLES,
    ) -> Scan:
        """What commits after `begin`, up to and with `end` (None: the latest), changed; of tables that keep changes.

            table.changes("20240101120000000").to_arrow()
            table.changes("earliest", filters=[("op", "=", "d")]).to_pandas()

        A row for each change: `op` (`i`, `u` or `d`), `ts_ms` (the requested time of the commit), and the row
        `before` and `after`, as compact JSON in the table's field order. Bounds and `holes` are those of `incremental`;
        `columns` and `filters` are of these four. Where the table keeps keys alone, or a commit only wrote a log,
        images come from the file slices before and after the commit, as Hudi finds them. A row that two commits of the
        range changed comes twice. Compaction and clustering change nothing; of file groups that an overwrite or a
        deleted partition replaced, every row is deleted.

        In JSON, as in Hudi's, dates are days and timestamps microseconds since 1970, bytes are base64, and what is null
        is left out; decimals are numbers, where Hudi only says whether they are zero. An image that comes from the
        table's own change log has no meta columns, has null as `null`, and bytes and decimals as Avro writes them; one
        that the log has a place for, and not the image, is the text `null`.

        Raises `InvalidArgumentError`, `UnsupportedError` for a table without `hoodie.table.cdc.enabled` and for commits
        that rewrote rows before that was set, `FileCleanedError`, here or on reading, where files have gone.
        """
        return self.prepare(queries.Changes(begin, end, columns, filters, holes)).scan()

    def follow(  # noqa: PLR0917
        self,
        start: InstantLike,
        poll_seconds: float | None = DEFAULT_POLL_SECONDS,
        columns: Sequence[str] | None = None,
        filters: Filters = None,
        changelog: bool = False,
        emit_deletes: bool = False,
    ) -> Follower:
        """Yields `(instant, scan)` for every commit after `start`, as it completes.

            for instant, rows in table.follow("latest", poll_seconds=5):
                sink.write(rows.to_arrow())
                checkpoint.save(instant)  # the start to go on from, without loss or repetition

        Each scan is what `incremental` gives for that one commit. `start` is an instant, itself outside, `"earliest"`,
        the first commit that there ever was, archived ones included, or `"latest"`: only what is completed from now on.
        From table version 8 on instants are completion times, and commits come in the order in which they were
        completed; before, they are requested times, and none comes while an earlier one is under way (`"latest"` then
        begins before the first that is). Commits that were completed at the same millisecond come as one. Compaction
        and clustering write no rows of their own, and do not come.

        Every `poll_seconds` the timeline is listed, and nothing else is read unless something has happened; None does
        not wait, and ends with the newest commit. `columns`, `filters`, `changelog` and `emit_deletes` are as for
        `incremental`. What is yielded is fixed, and is to be read before the cleaner removes its files, which is
        `FileCleanedError` on reading. After an error in planning the same commit comes again. See
        `mortice.follow.Follower` for `close()` and `position`.

        Raises `InvalidArgumentError`, `UnsupportedError` for a table without meta columns.
        """
        after = self._instant(start, "start")
        if after is None:
            raise InvalidArgumentError('start is an instant, "earliest" or "latest", not None')
        changelog, deletes = checked_truth("changelog", changelog), checked_truth("emit_deletes", emit_deletes)
        names, terms = checked_columns(columns), normal_form(filters)
        merger = None if changelog else self._merging()
        return Follower(
            self._native.follow(after),
            (names, terms, merger, changelog, deletes),
            merger,
            checked_seconds("poll_seconds", poll_seconds),
            queries.title("follow", self.uri, None, terms),
        )

    def ranges(self, start: InstantLike) -> Ranges:
        """The ranges of commits after `start` as they complete, for those who plan them somewhere else, or later.

        `start` is as for `follow`, and so is what comes when. See `mortice.follow.Ranges`.

        Raises `InvalidArgumentError`, `UnsupportedError` for a table without meta columns.
        """
        after = self._instant(start, "start")
        if after is None:
            raise InvalidArgumentError('start is an instant, "earliest" or "latest", not None')
        return Ranges(self._native.follow(after))

    def position_here(self, position: str, layout: int) -> str | None:
        """Where a position is now that was told by `Ranges` when the timeline's layout was `layout`, 1 or 2.

        It is the same unless the table was upgraded meanwhile, which turns a requested time into a completion time: no
        commit behind the position comes before that, but where the two orders differ some may come again. None is
        before all commits.

        Raises `UnsupportedError` where the table was downgraded.
        """
        return self._native.position_here(position, layout)

    def _instant(self, instant: InstantLike, argument: str = "as_of") -> str | None:
        return instant_text(instant, self.properties.get(TIMELINE_ZONE, "LOCAL"), argument=argument)

    def __repr__(self) -> str:
        keys = ", ".join(self.record_key_fields)
        return f"Table({self.uri!r}, version {self.version}, {self.merge_mode}, key ({keys}))"
