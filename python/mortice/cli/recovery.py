"""`mortice rollback`, `mortice restore` and `mortice savepoint`: undo instants, and keep them."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.show import print_json, print_table
from mortice.services.restore import Rollback, Savepoint
from mortice.table import Table


def run_rollback(arguments: argparse.Namespace) -> int:
    """Rolls an instant back, or prints what a rollback would do."""
    table = _table(arguments)
    done = table.rollback(arguments.instant, dict(arguments.options), dry_run=arguments.dry_run)
    if arguments.json:
        print_json(dataclasses.asdict(done))
    else:
        print_rollback(done)
    return 0


def print_rollback(done: Rollback) -> None:
    """Prints what was undone, or would be, and a summary."""
    lines = [("delete", *file) for file in done.deleted] + [("roll back", *file) for file in done.undone_logs]
    print_table(["what", "file", "bytes"], lines, widest=200)
    size = sum(size for _, size in done.deleted)
    state = "would be rolled back" if done.rollback_instant is None else f"rolled back by {done.rollback_instant}"
    print(f"{done.instant}.{done.action} ({done.state.lower()}) {state}: {len(done.deleted)} files, {size} bytes")


def run_restore(arguments: argparse.Namespace) -> int:
    """Restores a table, or prints what a restore would undo."""
    done = _table(arguments).restore(arguments.instant, dict(arguments.options), dry_run=arguments.dry_run)
    if arguments.json:
        print_json(dataclasses.asdict(done))
        return 0
    print_table(
        ["instant", "action", "state", "files", "bytes", "logs rolled back"],
        [
            [one.instant, one.action, one.state, len(one.deleted), sum(s for _, s in one.deleted), len(one.undone_logs)]
            for one in done.undone
        ],
    )
    state = "would be restored" if done.restore_instant is None else f"restored by {done.restore_instant}"
    print(f"{state} to {done.instant}: {len(done.undone)} instants")
    return 0


def run_savepoint(arguments: argparse.Namespace) -> int:
    """Makes or deletes a savepoint, or prints the files that it would keep."""
    table = _table(arguments)
    options = dict(arguments.options)
    if arguments.delete:
        if not arguments.dry_run:
            table.delete_savepoint(arguments.instant, options)
        print(f"savepoint {arguments.instant} {'would be deleted' if arguments.dry_run else 'deleted'}")
        return 0
    done = table.savepoint(arguments.instant, arguments.comment, arguments.user, options, dry_run=arguments.dry_run)
    if arguments.json:
        print_json(dataclasses.asdict(done))
    else:
        _print_savepoint(done, arguments.dry_run)
    return 0


def _print_savepoint(done: Savepoint, dry_run: bool) -> None:
    kept = [(partition, name) for partition, names in done.files.items() for name in names]
    print_table(["partition", "file"], kept, widest=200)
    print(f"savepoint of {done.instant} {'would keep' if dry_run else 'keeps'} {len(kept)} files")


def _table(arguments: argparse.Namespace) -> Table:
    return Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
