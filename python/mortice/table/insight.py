"""The methods of `mortice.Table` that say what it needs, what has happened to it, and how it looks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import pyarrow as pa

from mortice.insight import difference, health, history, maintenance, report
from mortice.insight.commit_history import commits_of
from mortice.insight.plots import TablePlots
from mortice.insight.summary import table_html
from mortice.insight.table_view import TableView
from mortice.values.argument_types import Options
from mortice.values.instants import InstantLike
from mortice.values.other_names import with_hints

__all__ = ["TableInsight"]


@with_hints
class TableInsight:
    """Health, maintenance and history as methods of a table."""

    def health(self: TableView, options: Options | None = None) -> health.Health:
        """Returns what slows queries of the table down, what is pending, and what its services would gain.

            health = table.health()
            health.log_ratio, health.due, health.problems

        Files are listed and the services planned; no data is read, and nothing is changed. The table is looked at in
        the state in which it was opened (`refresh`).

        Args:
            options: Options of the services, by Hudi's names: when one is due.
        """
        return health.health_of(self, self.metadata_table(), options)

    @property
    def plot(self: TableView) -> TablePlots:
        """Plots with matplotlib: `table.plot.layout()`, `table.plot.timeline()`."""
        return TablePlots(self)

    def report(self: TableView, options: Options | None = None) -> str:
        """Returns a page of HTML on the table: health, layout, timeline, latest writes, columns, properties.

            pathlib.Path("report.html").write_text(table.report(), encoding="utf-8")

        The page loads nothing and runs nothing, so that it can be mailed and archived.

        Args:
            options: Options of the services, by Hudi's names: when one is due.
        """
        return report.report_of(self, health.health_of(self, self.metadata_table(), options))

    def _repr_html_(self: TableView) -> str:
        """What the table is, for notebooks. Files are not listed."""
        return table_html(self)

    def maintain(
        self: TableView,
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
        self: TableView,
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
    def history(self: TableView, key: None = None) -> pa.Table: ...

    @overload
    def history(self: TableView, key: str, *, partition: str | None = None) -> history.RecordHistory: ...

    def history(
        self: TableView, key: str | None = None, *, partition: str | None = None
    ) -> pa.Table | history.RecordHistory:
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
        self: TableView, begin: InstantLike, end: InstantLike = None, *, columns: Iterable[str] | None = None
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
