"""The services that `mortice.Table` has as methods."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from mortice import _mortice
from mortice._mortice import (
    ArchiveResult,
    CleanResult,
    ClusteringGroup,
    ClusterResult,
    CompactResult,
    PlannedCompaction,
    RestoreResult,
    RollbackResult,
    SavepointResult,
)
from mortice.errors import InvalidArgumentError
from mortice.services import metadata_table, verification
from mortice.services.instant_argument import WRITES, InstantOrCommit, requested_time
from mortice.table.base import TableBase
from mortice.values.argument_types import Options
from mortice.values.observe import observed
from mortice.values.options import checked_bool
from mortice.values.other_names import with_hints
from mortice.writing.writes import checked_options

__all__ = ["TableServices"]

P = ParamSpec("P")
R = TypeVar("R")
DOES, PLANS = False, True
"""Whether a function of the native module changes nothing."""


@with_hints
class TableServices(TableBase):
    """Table services as methods of a table.

    A service takes options by Hudi's names first, or after the instant that it is about; all else by name. `plan_…` has
    the arguments of its service, returns what it would do, and changes nothing.
    """

    def _given(self, options: Options | None) -> dict[str, str]:
        """Returns options of a service that merges logs, checked, with what happens at a damaged one."""
        return checked_options(self._target(options)[2])

    def _run(
        self,
        name: str,
        service: Callable[Concatenate[str, Mapping[str, str], P], R],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> R:
        """Runs a service of the native module, and shows the table after it.

        Args:
            name: The name of the method.
            service: The function of the native module.
            *arguments: Its arguments after base path and options of the storage.
            **named: Those that are given by name.
        """
        with observed(name, self.uri) as observation:
            done = observation.done(service(self.uri, self._storage_options, *arguments, **named))
        self.refresh()
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
        return self._run("compact", _mortice.compact, self._given(options), *_steps(schedule, run))

    def plan_compact(
        self, options: Options | None = None, *, schedule: bool = True, run: bool = True
    ) -> list[PlannedCompaction]:
        """Returns the compactions that `compact` would execute, with files and bytes."""
        return _mortice.plan_compact(self.uri, self._storage_options, self._given(options), *_steps(schedule, run))

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
        return self._run("log_compact", _mortice.log_compact, self._given(options), *_steps(schedule, run))

    def plan_log_compact(
        self, options: Options | None = None, *, schedule: bool = True, run: bool = True
    ) -> list[PlannedCompaction]:
        """Returns the log compactions that `log_compact` would execute, with files and bytes."""
        return _mortice.plan_log_compact(self.uri, self._storage_options, self._given(options), *_steps(schedule, run))

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
        return self._run("cluster", _mortice.cluster, self._given(options), *_steps(schedule, run))

    def plan_cluster(
        self, options: Options | None = None, *, schedule: bool = True, run: bool = True
    ) -> list[ClusteringGroup]:
        """Returns the groups of files that `cluster` would rewrite: those of pending plans, and of a new one."""
        return _mortice.plan_cluster(self.uri, self._storage_options, self._given(options), *_steps(schedule, run))

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
        return self._run("clean", _mortice.clean, checked_options(options), DOES)

    def plan_clean(self, options: Options | None = None) -> CleanResult:
        """Returns what `clean` would delete."""
        return _mortice.clean(self.uri, self._storage_options, checked_options(options), PLANS)

    def archive(self, options: Options | None = None) -> ArchiveResult:
        """Moves old completed instants from the active timeline to the archive, so that the table stays fast to open.

            table.archive({"hoodie.keep.min.commits": 40, "hoodie.keep.max.commits": 60})

        It begins when there are more than `hoodie.keep.max.commits` (30) commits, and leaves `hoodie.keep.min.commits`
        (20). Instants stay that pending ones, savepoints, the cleaner, compaction or the metadata table need.

        Args:
            options: Options by Hudi's names.

        Raises as `upsert`.
        """
        return self._run("archive", _mortice.archive, checked_options(options), DOES)

    def plan_archive(self, options: Options | None = None) -> ArchiveResult:
        """Returns the instants that `archive` would move."""
        return _mortice.archive(self.uri, self._storage_options, checked_options(options), PLANS)

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
        return self._run("rollback", _mortice.rollback, requested_time(instant), checked_options(options), DOES)

    def plan_rollback(self, instant: InstantOrCommit, options: Options | None = None) -> RollbackResult:
        """Returns what `rollback` would do."""
        given = checked_options(options)
        return _mortice.rollback(self.uri, self._storage_options, requested_time(instant), given, PLANS)

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
        time, given = requested_time(self._write_or_latest(instant)), checked_options(options)
        return self._run("savepoint", _mortice.create_savepoint, time, given, user=user, comment=comment, dry_run=DOES)

    def plan_savepoint(self, instant: InstantOrCommit | None = None, options: Options | None = None) -> SavepointResult:
        """Returns the files that `savepoint` would keep."""
        time, given = requested_time(self._write_or_latest(instant)), checked_options(options)
        return _mortice.create_savepoint(
            self.uri, self._storage_options, time, given, user="", comment="", dry_run=PLANS
        )

    def _write_or_latest(self, instant: InstantOrCommit | None) -> InstantOrCommit:
        """Returns the instant, or the latest completed write if it is None."""
        if instant is not None:
            return instant
        writes = [one for one in self.timeline.active if one.is_completed and one.action in WRITES]
        if not writes:
            raise InvalidArgumentError("the table has no completed write yet, of which a savepoint could be made")
        return writes[-1]

    def delete_savepoint(self, instant: InstantOrCommit, options: Options | None = None) -> SavepointResult:
        """Deletes a savepoint. Its files stay until they are cleaned.

        Args:
            instant: The write that it keeps, as for `rollback`.
            options: As for `savepoint`.

        Raises `InvalidArgumentError` if there is no such savepoint.
        """
        given = checked_options(options)
        done = _mortice.delete_savepoint(self.uri, self._storage_options, requested_time(instant), given, DOES)
        self.refresh()
        return done

    def plan_delete_savepoint(self, instant: InstantOrCommit, options: Options | None = None) -> SavepointResult:
        """Returns the savepoint that `delete_savepoint` would delete."""
        given = checked_options(options)
        return _mortice.delete_savepoint(self.uri, self._storage_options, requested_time(instant), given, PLANS)

    def restore(self, instant: InstantOrCommit, options: Options | None = None) -> RestoreResult:
        """Takes the table back to a savepoint: undoes all later writes, newest first.

        Nobody else may write to the table meanwhile, and queries of later writes fail. A restore that was stopped goes
        on when it is run again; until then the table cannot be written to. The metadata table is rolled back with the
        writes, or built again where it cannot be (docs/writing.md).

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
        return self._run("restore", _mortice.restore, requested_time(instant), checked_options(options), DOES)

    def plan_restore(self, instant: InstantOrCommit, options: Options | None = None) -> RestoreResult:
        """Returns the writes that `restore` would undo."""
        given = checked_options(options)
        return _mortice.restore(self.uri, self._storage_options, requested_time(instant), given, PLANS)

    def build_metadata(
        self,
        options: Options | None = None,
        *,
        add: Sequence[str] = (),
        drop: Sequence[str] = (),
        rebuild: bool = False,
    ) -> metadata_table.MetadataResult:
        """Builds the metadata table, if there is none, and changes its indexes.

            table.build_metadata(add=["record_index"], drop=["bloom_filters"])
            table.build_metadata(rebuild=True)

        A new one gets `files`, from table version 8 on `column_stats`, of a partitioned table `partition_stats`, and
        what `add` names. Failed writes are rolled back before. If it is stopped, run it again: readers use a partition
        once it is complete.

        Args:
            options: Options by Hudi's names: those of column statistics, those of the lock of several writers.
            add: Indexes to add: `column_stats`, `partition_stats`, `record_index`, `bloom_filters`.
            drop: Indexes to drop.
            rebuild: True deletes it before, even if it is damaged, and builds the partitions that it had.

        Raises:
            InvalidArgumentError: There is no such index, or it is to be added and dropped.
            UnsupportedError: The table cannot have an index; up to table version 7, a write is pending.
        """
        built = metadata_table.build_metadata(
            *self._target(options), add=add, drop=drop, rebuild=rebuild, dry_run=False
        )
        self.refresh()
        return built

    def plan_build_metadata(
        self,
        options: Options | None = None,
        *,
        add: Sequence[str] = (),
        drop: Sequence[str] = (),
        rebuild: bool = False,
    ) -> metadata_table.MetadataResult:
        """Returns what `build_metadata` would do.

        Args:
            options: As for `build_metadata`.
            add: Indexes to add.
            drop: Indexes to drop.
            rebuild: True deletes it before.
        """
        return metadata_table.build_metadata(*self._target(options), add=add, drop=drop, rebuild=rebuild, dry_run=True)

    def delete_metadata(self, options: Options | None = None) -> metadata_table.MetadataResult:
        """Deletes the metadata table: files are listed from storage from then on.

        The next write builds it again, unless its option `hoodie.metadata.enable` is `false`.

        Args:
            options: Options by Hudi's names: those of the lock, if the table has several writers.

        Raises `UnsupportedError` for a table of a version that is not written: Hudi upgrades it.
        """
        done = metadata_table.delete_metadata(self.uri, self._storage_options, options, dry_run=False)
        self.refresh()
        return done

    def plan_delete_metadata(self, options: Options | None = None) -> metadata_table.MetadataResult:
        """Returns what `delete_metadata` would delete."""
        return metadata_table.delete_metadata(self.uri, self._storage_options, options, dry_run=True)

    def verify(
        self, *, contents: bool = True, keys: bool = False, global_keys: bool = False
    ) -> verification.VerifyResult:
        """Returns what is wrong with the table: files that timeline or metadata table have and the storage has not, and
        the reverse; files that cannot be decoded; orphan files, temporary files, stale markers, dead heartbeats.

            for finding in table.verify(keys=True).findings:
                print(finding.kind, finding.path, finding.message)

        Nothing is changed. Run it while nobody writes. docs/writing.md says what each finding means, and what to do.

        Args:
            contents: True decodes all files of the latest file slices, and compares checksums of all files that have
                some: pages of parquet files, blocks of HFiles.
            keys: True reads the record keys of all rows: finds keys of several rows of a partition, and compares the
                rows with the record index, if the table has one. Keys are sorted in files of `spill_dir`.
            global_keys: True does the same, and finds keys of several rows of the table.

        Raises `TableNotFoundError`, `InvalidTableError`, `UnsupportedError` if the table cannot be opened.
        """
        spill_dir = self._read_options.spill_dir
        return verification.verify(
            self.uri,
            self._storage_options,
            contents=checked_bool("contents", contents),
            keys=checked_bool("keys", keys),
            global_keys=checked_bool("global_keys", global_keys),
            spill_dir=None if spill_dir is None else os.fspath(spill_dir),
        )

    def repair(
        self, options: Options | None = None, *, dry_run: bool = False, merge_buckets: bool = False
    ) -> verification.RepairResult:
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
        checked_bool("merge_buckets", merge_buckets)
        if dry_run:
            return self.plan_repair(options, merge_buckets=merge_buckets)
        done = verification.repair(*self._target(options), dry_run=False, merge_buckets=merge_buckets)
        self.refresh()
        return done

    def plan_repair(self, options: Options | None = None, *, merge_buckets: bool = False) -> verification.RepairResult:
        """Returns what `repair` would delete and merge, and what would stay."""
        checked_bool("merge_buckets", merge_buckets)
        return verification.repair(*self._target(options), dry_run=True, merge_buckets=merge_buckets)


def _steps(schedule: bool, run: bool) -> tuple[bool, bool]:
    return checked_bool("schedule", schedule), checked_bool("run", run)
