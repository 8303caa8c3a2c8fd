"""`mortice timeline` and `mortice slices`: list a table's instants and file slices."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.show import print_json, print_table
from mortice.table import Table


def run_timeline(arguments: argparse.Namespace) -> int:
    """Prints the instants."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    if arguments.json:
        print_json([dataclasses.asdict(instant) for instant in table.timeline])
        return 0
    print_table(
        ["requested", "completed", "action", "state"],
        [[i.requested_time, i.completion_time or "", i.action, i.state] for i in table.timeline],
    )
    return 0


def run_slices(arguments: argparse.Namespace) -> int:
    """Prints the file slices."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    slices = table.file_slices(as_of=arguments.as_of)
    if arguments.json:
        print_json([dataclasses.asdict(slice_) for slice_ in slices])
        return 0
    print_table(
        ["partition", "file id", "instant", "base bytes", "log files", "log bytes"],
        [
            [
                s.partition,
                s.file_id,
                s.base_instant,
                s.base_file.size if s.base_file else "",
                len(s.log_files),
                sum(log.size for log in s.log_files),
            ]
            for s in slices
        ],
    )
    return 0
