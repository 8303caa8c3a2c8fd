"""The services that `mortice.Table` has as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from mortice.commit import Commit
from mortice.options import checked_bool
from mortice.services import archival, cleaning, clustering, compaction, metadata_table, verification
from mortice.services import restore as restores
from mortice.table_base import TableBase

__all__ = ["TableServices"]


class TableServices(TableBase):
    """Table services as methods of a table, which a subclass opens."""

    @overload
    def compact(
        self,
        schedule: bool = True,
        options: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        dry_run: Literal[False] = False,
    ) -> Commit | None: ...

    @overload
    def compact(
        self,
        schedule: bool = True,
        options: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        dry_run: Literal[True],
    ) -> list[compaction.PlannedCompaction]: ...

    def compact(
        self,
        schedule: bool = True,
        options: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        dry_run: bool = False,
    ) -> Commit | list[compaction.PlannedCompaction] | None:
        """Merges log files into base files: executes what is pending, also what Hudi planned, then plans and executes.

            table.compact()
            table.compact(options={"hoodie.compaction.target.io": 10_000})

        Rows stay as they are, with their commit times. A compaction that is stopped, or fails, stays pending; the next
        call executes it.

        Args:
            schedule: False executes what is pending only.
            options: Options by Hudi's names: `hoodie.compaction.strategy` and its parameters, after how many delta
                commits a compaction is due (`hoodie.compact.inline.max.delta.commits`, here 0 by default), and those of
                base files.
            run: False executes nothing: what is planned stays pending for a later call, or for Hudi.
            dry_run: True returns what would be executed, and planned, and changes nothing.

        Returns:
            The last compaction that was executed; None if nothing was. Of a dry run, the compactions.

        Raises as `upsert`.
        """
        if checked_bool("dry_run", dry_run):
            return compaction.planned_compactions(self.uri, self._storage_options, options, schedule, run)
        commits = compaction.compact(self.uri, self._storage_options, options, schedule=schedule, run=run)[1]
        self.refresh()
        return commits[-1] if commits else None

    @overload
    def log_compact(
        self,
        schedule: bool = True,
        options: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        dry_run: Literal[False] = False,
    ) -> Commit | None: ...

    @overload
    def log_compact(
        self,
        schedule: bool = True,
        options: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        dry_run: Literal[True],
    ) -> list[compaction.PlannedCompaction]: ...

    def log_compact(
        self,
        schedule: bool = True,
        options: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        dry_run: bool = False,
    ) -> Commit | list[compaction.PlannedCompaction] | None:
        """Merges the log files of file slices into one log file each: cheaper than `compact`, as base files stay.

            table.log_compact(options={"hoodie.log.compaction.blocks.threshold": 10})

        Executes what is pending, also what Hudi planned, then plans and executes, if 5 delta commits were made since
        the last compaction or log compaction. Slices are taken that have 5 log blocks or files. Rows stay as they are,
        with their commit times. The old log files stay until the cleaner deletes their slice; readers leave them out.

        Args:
            schedule: False executes what is pending only.
            options: Options by Hudi's names: `hoodie.log.compaction.blocks.threshold` (5, both numbers above), and
                those of log files.
            run: False executes nothing: what is planned stays pending for a later call, or for Hudi.
            dry_run: True returns what would be executed, and planned, and changes nothing.

        Returns:
            The last log compaction that was executed; None if nothing was. Of a dry run, the log compactions.

        Raises as `upsert`; `UnsupportedError` for a table without meta columns, and for a plan with logs of partial
        updates.
        """
        if checked_bool("dry_run", dry_run):
            return compaction.planned_log_compactions(self.uri, self._storage_options, options, schedule, run)
        commits = compaction.log_compact(self.uri, self._storage_options, options, schedule=schedule, run=run)[1]
        self.refresh()
        return commits[-1] if commits else None

    @overload
    def cluster(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        schedule: bool = True,
        run: bool = True,
        dry_run: Literal[False] = False,
    ) -> Commit | None: ...

    @overload
    def cluster(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        schedule: bool = True,
        run: bool = True,
        dry_run: Literal[True],
    ) -> list[clustering.ClusteringGroup]: ...

    def cluster(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        schedule: bool = True,
        run: bool = True,
        dry_run: bool = False,
    ) -> Commit | list[clustering.ClusteringGroup] | None:
        """Writes the rows of small file groups to new file groups, larger ones and in another order.

            table.cluster({"hoodie.clustering.plan.strategy.sort.columns": "city,fare"})
            table.cluster(schedule=False)  # executes what is planned, also by Hudi

        Args:
            options: Options by Hudi's names: `hoodie.clustering.…` and those of writes.
            schedule: False makes no new plan.
            run: False executes no plan: it stays pending for a later call, or for Hudi.
            dry_run: True returns what pending plans and a new one would rewrite, and changes nothing.

        Returns:
            The last commit; None if nothing was executed. Of a dry run, the groups of files.

        Raises as `upsert`. A plan whose execution fails stays pending.
        """
        if checked_bool("dry_run", dry_run):
            return clustering.clustering_preview(self.uri, self._storage_options, options, schedule, run)
        commit = clustering.cluster(self.uri, self._storage_options, options, schedule, run)
        self.refresh()
        return commit

    def clean(self, options: Mapping[str, Any] | None = None, *, dry_run: bool = False) -> list[cleaning.Clean]:
        """Deletes files that only queries of older commits read, and those of replaced file groups.

            table.clean({"hoodie.clean.commits.retained": 24})

        Without options, what the last 10 commits need is kept. Files of savepoints stay, and what pending compactions
        and clustering read. A clean that is pending, as the process died that ran it, is completed first.

        Args:
            options: Options by Hudi's names: `hoodie.clean.policy` (`KEEP_LATEST_COMMITS`,
                `KEEP_LATEST_FILE_VERSIONS`, `KEEP_LATEST_BY_HOURS`) and the number of each policy.
            dry_run: If true, nothing is deleted: the result is what would be.

        Returns:
            The cleans that were completed, oldest first; none if there was nothing to delete.

        Raises as `upsert`; `InvalidTableError` if a pending plan names what is no data file of the table: then nothing
        is deleted.
        """
        cleans = cleaning.clean(self.uri, self._storage_options, options, dry_run=dry_run)
        self.refresh()
        return cleans

    def archive(
        self, options: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> list[archival.ArchivedInstant]:
        """Moves old completed instants from the active timeline to the archive, so that the table stays fast to open.

            table.archive({"hoodie.keep.min.commits": 40, "hoodie.keep.max.commits": 60})

        It begins when there are more than `hoodie.keep.max.commits` (30) commits, and leaves `hoodie.keep.min.commits`
        (20). Instants stay that pending ones, savepoints, the cleaner, compaction or the metadata table need.

        Args:
            options: Options by Hudi's names.
            dry_run: If true, nothing is archived: the result is what would be.

        Returns:
            The archived instants, oldest first.

        Raises as `upsert`.
        """
        archived = archival.archive(self.uri, self._storage_options, options, dry_run=dry_run)
        self.refresh()
        return archived

    def rollback(
        self, instant: str, options: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> restores.Rollback:
        """Undoes an instant: a pending one, or the latest completed write.

            table.rollback(table.timeline[-1].requested_time, dry_run=True)

        Its data files are deleted; up to table version 7 rollback blocks are appended to logs that stay. File groups
        that it replaced come back. A metadata table that was compacted, built or given an index since is built again. A
        rollback that was stopped goes on when it is run again, or with the next write.

        Args:
            instant: The requested time.
            options: Options by Hudi's names: those of the lock, if the table has several writers, and of the metadata
                table.
            dry_run: True returns what would be done, and changes nothing.

        Raises:
            InvalidArgumentError: There is no such instant, or it may not be rolled back: there are later writes, it is
                savepointed, or the files before it were cleaned. Nothing was changed.
            UnsupportedError: It is archived. Nothing was changed.
        """
        done = restores.rollback(
            self.uri, self._storage_options, instant, options, dry_run=checked_bool("dry_run", dry_run)
        )
        self.refresh()
        return done

    def savepoint(
        self,
        instant: str,
        comment: str = "",
        user: str = "",
        options: Mapping[str, Any] | None = None,
        *,
        dry_run: bool = False,
    ) -> restores.Savepoint:
        """Makes a savepoint of a completed write: cleaning and archival keep its files, and `restore` returns to it.

        Args:
            instant: The requested time of the write.
            comment: What the savepoint is for.
            user: Who makes it.
            options: Options by Hudi's names: those of the lock, if the table has several writers.
            dry_run: True returns what would be kept, and changes nothing.

        Raises:
            InvalidArgumentError: There is no such completed write on the active timeline, or it has a savepoint.
            FileCleanedError: Its files may have been cleaned.
        """
        done = restores.create_savepoint(
            self.uri, self._storage_options, instant, (user, comment), options, dry_run=checked_bool("dry_run", dry_run)
        )
        self.refresh()
        return done

    def delete_savepoint(
        self, instant: str, options: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> restores.Savepoint:
        """Deletes a savepoint. Its files stay until they are cleaned.

        Args:
            instant: The requested time of the write that it keeps.
            options: As for `savepoint`.
            dry_run: True returns the savepoint, and changes nothing.

        Raises `InvalidArgumentError` if there is no such savepoint.
        """
        done = restores.delete_savepoint(
            self.uri, self._storage_options, instant, options, dry_run=checked_bool("dry_run", dry_run)
        )
        self.refresh()
        return done

    def restore(
        self, instant: str, options: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> restores.Restore:
        """Takes the table back to a savepoint: undoes all later writes, newest first.

        Nobody else may write to the table meanwhile, and queries of later writes fail. A restore that was stopped goes
        on when it is run again; until then the table cannot be written to. The metadata table is rolled back with the
        writes, or built again where it cannot be (docs/writing.md).

        Args:
            instant: The requested time of a savepoint, or of another completed write of which no file was cleaned.
            options: Options by Hudi's names: those of the lock, if the table has several writers.
            dry_run: True returns what would be undone, and changes nothing.

        Raises:
            InvalidArgumentError: There is no such write, a later one is savepointed, or a restore to another instant is
                not completed. Nothing was changed.
            FileCleanedError: Files of the write were cleaned. Nothing was changed.
            UnsupportedError: A later write is archived. Nothing was changed.
        """
        done = restores.restore(
            self.uri, self._storage_options, instant, options, dry_run=checked_bool("dry_run", dry_run)
        )
        self.refresh()
        return done

    def build_metadata(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        add: Sequence[str] = (),
        drop: Sequence[str] = (),
        rebuild: bool = False,
        dry_run: bool = False,
    ) -> metadata_table.BuiltMetadata:
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
            dry_run: True returns what would be done, and changes nothing.

        Raises:
            InvalidArgumentError: There is no such index, or it is to be added and dropped.
            UnsupportedError: The table cannot have an index; up to table version 7, a write is pending.
        """
        built = metadata_table.build_metadata(
            self.uri, self._storage_options, options, add=add, drop=drop, rebuild=rebuild, dry_run=dry_run
        )
        self.refresh()
        return built

    def delete_metadata(
        self, options: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> metadata_table.BuiltMetadata:
        """Deletes the metadata table: files are listed from storage from then on.

        The next write builds it again, unless its option `hoodie.metadata.enable` is `false`.

        Args:
            options: Options by Hudi's names: those of the lock, if the table has several writers.
            dry_run: True returns what would be deleted, and changes nothing.

        Raises `UnsupportedError` for a table of a version that is not written: Hudi upgrades it.
        """
        done = metadata_table.delete_metadata(self.uri, self._storage_options, options, dry_run=dry_run)
        self.refresh()
        return done

    def verify(
        self, *, contents: bool = True, keys: bool = False, global_keys: bool = False
    ) -> verification.Verification:
        """Returns what is wrong with the table: files that timeline or metadata table have and the storage has not, and
        the reverse; files that cannot be decoded; orphan files, stale markers, dead heartbeats.

        Nothing is changed. Run it while nobody writes.

        Args:
            contents: True decodes all files of the latest file slices.
            keys: True looks for record keys that are in two file groups of a partition, or twice in one.
            global_keys: True does so for the whole table.

        Raises `TableNotFoundError`, `InvalidTableError`, `UnsupportedError` if the table cannot be opened.
        """
        return verification.verify(
            self.uri,
            self._storage_options,
            contents=checked_bool("contents", contents),
            keys=checked_bool("keys", keys),
            global_keys=checked_bool("global_keys", global_keys),
        )

    def repair(self, options: Mapping[str, Any] | None = None, *, dry_run: bool = False) -> verification.Repair:
        """Deletes what stopped writers left.

        These are markers and heartbeats of instants that are not pending, and data files that no instant accounts for,
        if they are older than all pending instants, and than an hour.

        Args:
            options: Options by Hudi's names: those of the lock, if the table has several writers.
            dry_run: True returns what would be deleted, and changes nothing.

        Raises `UnsupportedError` for a table of a version that is not written: Hudi upgrades it.
        """
        done = verification.repair(self.uri, self._storage_options, options, dry_run=checked_bool("dry_run", dry_run))
        self.refresh()
        return done
