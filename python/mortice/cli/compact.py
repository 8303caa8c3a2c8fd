"""`mortice compact` and `mortice log-compact`: merge log files of a table into base files, or into log files."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.arguments import add_service_options
from mortice.cli.progress import service_progress
from mortice.cli.show import print_json, print_table
from mortice.options import checked_storage_options, checked_uri
from mortice.services.compaction import (
    CompactResult,
    PlannedCompaction,
    compact,
    log_compact,
    plan_compact,
    plan_log_compact,
)

__all__ = ["add_compact"]


def add_compact(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds both commands to the parser."""
    for name, what, kind, example in (
        ("compact", "base files", "compaction", "hoodie.compaction.target.io=10000"),
        ("log-compact", "log files", "log compaction", "hoodie.log.compaction.blocks.threshold=10"),
    ):
        command = commands.add_parser(
            name,
            help=f"merge the log files of a table into {what}",
            description=f"Executes the pending {kind}s of a table, plans another one, if it is due, and executes it.",
            allow_abbrev=False,
        )
        command.set_defaults(run=run_compact, merges_into_logs=name != "compact")
        command.add_argument("path", metavar="TABLE", help="the table's base path")
        part = command.add_mutually_exclusive_group()
        part.add_argument("--schedule-only", action="store_true", help=f"plan a {kind}; do not execute any")
        part.add_argument("--run-only", action="store_true", help="execute what is pending; plan nothing")
        add_service_options(command, example)


def run_compact(arguments: argparse.Namespace) -> int:
    """Compacts a table, or prints what would be done."""
    into_logs = arguments.merges_into_logs
    uri = checked_uri(arguments.path)
    storage = checked_storage_options(dict(arguments.storage_options))
    options = dict(arguments.options)
    schedule, run = not arguments.run_only, not arguments.schedule_only
    if arguments.dry_run:
        find_planned = plan_log_compact if into_logs else plan_compact
        _print_planned(find_planned(uri, storage, options, schedule=schedule, run=run), arguments.json)
        return 0
    run_service = log_compact if into_logs else compact
    with service_progress("bytes", arguments.progress):
        done = run_service(uri, storage, options, schedule=schedule, run=run)
    _print_done(done, arguments.json)
    return 0


def _print_planned(planned: list[PlannedCompaction], as_json: bool) -> None:
    if as_json:
        print_json([dataclasses.asdict(one) for one in planned])
        return
    print_table(
        ["instant", "partition", "file id", "base file", "base bytes", "log files", "log bytes"],
        [
            [
                one.instant or "(new)",
                s.partition,
                s.file_id,
                s.base_file or "",
                s.base_bytes,
                len(s.log_files),
                s.log_bytes,
            ]
            for one in planned
            for s in one.slices
        ],
    )
    for one in planned:
        logs, base_files = sum(len(s.log_files) for s in one.slices), sum(s.base_file is not None for s in one.slices)
        in_all = sum(s.base_bytes + s.log_bytes for s in one.slices)
        files = f"{base_files} base files and {logs} log files"
        print(f"compaction {one.instant or '(new)'}: would merge {files} of {len(one.slices)} slices, {in_all:,} bytes")
    if not planned:
        print("nothing to compact")


def _print_done(done: CompactResult, as_json: bool) -> None:
    scheduled, commits = done.scheduled, done.commits
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
