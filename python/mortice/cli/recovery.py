"""`mortice rollback`, `mortice restore` and `mortice savepoint`: undo instants, and keep them."""

from __future__ import annotations

import argparse
import dataclasses

from mortice.cli.show import print_json, print_table
from mortice.services.restore import RollbackResult, SavepointResult
from mortice.table import Table


def run_rollback(arguments: argparse.Namespace) -> int:
    """Rolls an instant back, or prints what a rollback would do."""
    table = _table(arguments)
    rollback = table.plan_rollback if arguments.dry_run else table.rollback
    done = rollback(arguments.instant, dict(arguments.options))
    if arguments.json:
        print_json(dataclasses.asdict(done))
    else:
        print_rollback(done)
    return 0


def print_rollback(done: RollbackResult) -> None:
    """Prints what was undone, or would be, and a summary."""
    lines = [("delete", *file) for file in done.deleted] + [("roll back", *file) for file in done.undone_logs]
    print_table(["what", "file", "bytes"], lines, widest=200)
    size = sum(size for _, size in done.deleted)
    state = "would be rolled back" if done.rollback_instant is None else f"rolled back by {done.rollback_instant}"
    print(f"{done.instant}.{done.action} ({done.state.lower()}) {state}: {len(done.deleted)} files, {size:,} bytes")


def run_restore(arguments: argparse.Namespace) -> int:
    """Restores a table, or prints what a restore would undo."""
    table = _table(arguments)
    restore = table.plan_restore if arguments.dry_run else table.restore
    done = restore(arguments.instant, dict(arguments.options))
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
    files = [size for one in done.undone for _, size in one.deleted]
    print(f"{state} to {done.instant}: {len(done.undone)} instants, {len(files)} files, {sum(files):,} bytes")
    return 0


def run_savepoint(arguments: argparse.Namespace) -> int:
    """Makes or deletes a savepoint, or prints the files that it would keep."""
    table = _table(arguments)
    options = dict(arguments.options)
    dry_run = arguments.dry_run
    if arguments.delete:
        delete = table.plan_delete_savepoint if dry_run else table.delete_savepoint
        done = delete(arguments.instant, options)
        what = "would be deleted: it keeps" if dry_run else "deleted: it kept"
    elif dry_run:
        done, what = table.plan_savepoint(arguments.instant, options), "would keep"
    else:
        done = table.savepoint(arguments.instant, options, comment=arguments.comment, user=arguments.user)
        what = "keeps"
    if arguments.json:
        print_json(dataclasses.asdict(done))
    else:
        _print_savepoint(done, what)
    return 0


def _print_savepoint(done: SavepointResult, what: str) -> None:
    kept = [(partition, name, size) for partition, files in done.files.items() for name, size in files.items()]
    print_table(["partition", "file", "bytes"], kept, widest=200)
    print(f"savepoint of {done.instant} {what} {len(kept)} files, {sum(size for *_, size in kept):,} bytes")


def _table(arguments: argparse.Namespace) -> Table:
    return Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
