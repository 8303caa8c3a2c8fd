"""`mortice compact`: merges log files of a table into base files."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.show import print_json, print_table
from mortice.commit import Commit
from mortice.options import checked_storage_options, checked_uri
from mortice.services.compaction import PlannedCompaction, compact, planned_compactions


def run_compact(arguments: argparse.Namespace) -> int:
    """Compacts a table, or prints what would be done."""
    uri = checked_uri(arguments.path)
    storage = checked_storage_options(dict(arguments.storage_options))
    options = dict(arguments.options)
    schedule, run = not arguments.run_only, not arguments.schedule_only
    if arguments.dry_run:
        planned = planned_compactions(uri, storage, options, schedule=schedule, run=run)
        _print_planned(planned, arguments.json)
        return 0
    scheduled, commits = compact(uri, storage, options, schedule=schedule, run=run)
    _print_done(scheduled, commits, arguments.json)
    return 0


def _print_planned(planned: list[PlannedCompaction], as_json: bool) -> None:
    if as_json:
        print_json([dataclasses.asdict(one) for one in planned])
        return
    print_table(
        ["instant", "partition", "file id", "base file", "log files", "MB"],
        [
            [one.instant or "(new)", s.partition, s.file_id, s.base_file or "", len(s.log_files), round(s.io_megabytes)]
            for one in planned
            for s in one.slices
        ],
    )


def _print_done(scheduled: str | None, commits: list[Commit], as_json: bool) -> None:
    if as_json:
        print_json({"scheduled": scheduled, "compactions": [dataclasses.asdict(commit) for commit in commits]})
        return
    completed = {commit.instant for commit in commits}
    if scheduled is not None and scheduled not in completed:
        print(f"planned {scheduled}")
    for commit in commits:
        rows = sum(stats.rows_written for stats in commit.stats)
        print(f"compacted {commit.instant}: {len(commit.stats)} files, {rows:,} rows, {commit.bytes_written:,} bytes")
    if scheduled is None and not commits:
        print("nothing to compact")
