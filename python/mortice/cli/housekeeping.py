"""`mortice clean` and `mortice archive`: delete old files, move old instants to the archive."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.arguments import add_service_options
from mortice.cli.progress import service_progress
from mortice.cli.show import print_json, print_table
from mortice.options import checked_storage_options, checked_uri
from mortice.services.archival import archive, plan_archive
from mortice.services.cleaning import Clean, clean, plan_clean

__all__ = ["add_housekeeping"]


def add_housekeeping(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds both commands to the parser."""
    for name, run, what, example in (
        ("clean", run_clean, "delete files that only old queries read", "hoodie.clean.commits.retained=24"),
        ("archive", run_archive, "move old instants to the archive", "hoodie.keep.min.commits=40"),
    ):
        verb, rest = what.split(" ", 1)
        description = f"{verb.capitalize()}s {rest}."
        command = commands.add_parser(name, help=what, description=description, allow_abbrev=False)
        command.set_defaults(run=run)
        command.add_argument("path", metavar="TABLE", help="the table's base path")
        add_service_options(command, example)


def run_clean(arguments: argparse.Namespace) -> int:
    """Cleans a table, or prints what would be deleted."""
    storage = checked_storage_options(dict(arguments.storage_options))
    with service_progress("files", arguments.progress):
        service = plan_clean if arguments.dry_run else clean
        cleans = service(checked_uri(arguments.path), storage, dict(arguments.options)).cleans
    if arguments.json:
        print_json([dataclasses.asdict(one) for one in cleans])
        return 0
    if arguments.dry_run:
        rows = [[one.instant or "(new)", file.path, file.bytes] for one in cleans for file in one.files]
        print_table(["instant", "file", "bytes"], rows, widest=200)
    for one in cleans:
        print(_summary(one, "would delete" if arguments.dry_run else "deleted"))
    if not cleans:
        print("nothing to clean")
    return 0


def _summary(one: Clean, verb: str) -> str:
    size = sum(file.bytes for file in one.files)
    return f"clean {one.instant or '(new)'}: {verb} {len(one.files)} files, {size:,} bytes"


def run_archive(arguments: argparse.Namespace) -> int:
    """Archives a table's old instants, or prints which would be."""
    storage = checked_storage_options(dict(arguments.storage_options))
    with service_progress("instants", arguments.progress):
        service = plan_archive if arguments.dry_run else archive
        archived = service(checked_uri(arguments.path), storage, dict(arguments.options)).instants
    if arguments.json:
        print_json([dataclasses.asdict(one) for one in archived])
        return 0
    if arguments.dry_run:
        print_table(
            ["requested", "completed", "action", "file", "bytes"],
            [[one.instant, one.completion_time or "", one.action, *file] for one in archived for file in one.files],
            widest=200,
        )
    files, size = sum(len(one.files) for one in archived), sum(size for one in archived for _, size in one.files)
    verb = "would archive" if arguments.dry_run else "archived"
    print(f"{verb} {len(archived)} instants: {files} files, {size:,} bytes")
    return 0
