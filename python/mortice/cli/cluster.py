"""`mortice cluster`: plans clustering and executes plans."""

from __future__ import annotations

import argparse

from mortice.cli.arguments import add_service_options
from mortice.cli.progress import service_progress
from mortice.cli.show import print_json, print_table
from mortice.services.clustering import ClusteringGroup
from mortice.table import Table


def add_cluster(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    what = "Writes the rows of small file groups to new file groups, larger ones and in another order."
    command = commands.add_parser("cluster", help="rewrite small file groups", description=what, allow_abbrev=False)
    command.set_defaults(run=run_cluster)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    steps = command.add_mutually_exclusive_group()
    steps.add_argument("--schedule-only", action="store_true", help="make a plan, and do not execute it")
    steps.add_argument("--run-only", action="store_true", help="execute pending plans, and make none")
    add_service_options(command, "hoodie.clustering.plan.strategy.sort.columns=city")


def run_cluster(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    options = dict(arguments.options)
    schedule, run = not arguments.run_only, not arguments.schedule_only
    if arguments.dry_run:
        _print_groups(table.plan_cluster(options, schedule=schedule, run=run), arguments.json)
        return 0
    with service_progress("bytes", arguments.progress):
        commit = table.cluster(options, schedule=schedule, run=run).commit
    actions = ("clustering", "replacecommit")  # up to table version 7 the latter
    pending = [i.requested_time for i in table.timeline.pending if i.action in actions]
    if arguments.json:
        print_json({"instant": commit.instant if commit else None, "pending": pending})
    elif commit is not None:
        print(commit)
    else:
        print(f"planned: {', '.join(pending)}" if pending else "nothing to cluster")
    return 0


def _print_groups(groups: list[ClusteringGroup], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "instant": group.instant,
                    "partition": group.partition,
                    "file_ids": group.file_ids,
                    "files": group.files,
                    "bytes": group.file_bytes,
                    "outputs": group.outputs,
                }
                for group in groups
            ]
        )
        return
    print_table(
        ["instant", "partition", "file groups", "files", "bytes", "new files"],
        [
            [
                group.instant or "(new)",
                group.partition,
                len(group.file_ids),
                group.files,
                group.file_bytes,
                group.outputs,
            ]
            for group in groups
        ],
    )
    for instant in dict.fromkeys(group.instant for group in groups):
        of_plan = [group for group in groups if group.instant == instant]
        files, size = sum(group.files for group in of_plan), sum(group.file_bytes for group in of_plan)
        print(f"clustering {instant or '(new)'}: would rewrite {files} files, {size:,} bytes")
    if not groups:
        print("nothing to cluster")
