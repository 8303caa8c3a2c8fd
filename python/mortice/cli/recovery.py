"""Commands that undo and keep instants, and find and repair what is wrong.

These are `rollback`, `restore`, `savepoint`, `verify` and `repair`.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from mortice._mortice import Finding, RepairResult, RestoreResult, RollbackResult, SavepointResult
from mortice.cli.parameters import INSTANT, LOCK, Target, on_table, on_tables, service, service_options
from mortice.cli.progress import service_progress


@click.command()
@service("rollback", LOCK, several=False)
@click.argument("instant", type=INSTANT)
def rollback(target: Target, done: RollbackResult, **_: object) -> None:
    """Undo an instant of a table: a pending one, or the latest completed write."""
    rows = [("delete", *file) for file in done.deleted] + [("roll back", *file) for file in done.undone_logs]
    size = sum(size for _, size in done.deleted)
    state = "would be rolled back" if done.rollback_instant is None else f"rolled back by {done.rollback_instant}"
    line = f"{done.instant}.{done.action} ({done.state.lower()}) {state}: {len(done.deleted)} files, {size:,} bytes"
    target.show(done.to_dict(), ["what", "file", "bytes"], rows, [line])


@click.command()
@service("restore", LOCK, several=False)
@click.argument("instant", type=INSTANT)
def restore(target: Target, done: RestoreResult, **_: object) -> None:
    """Take a table back to a savepoint: undo all later writes, newest first."""
    state = "would be restored" if done.restore_instant is None else f"restored by {done.restore_instant}"
    files = [size for one in done.undone for _, size in one.deleted]
    rows = [
        (one.instant, one.action, one.state, len(one.deleted), sum(s for _, s in one.deleted), len(one.undone_logs))
        for one in done.undone
    ]
    line = f"{state} to {done.instant}: {len(done.undone)} instants, {len(files)} files, {sum(files):,} bytes"
    target.show(done.to_dict(), ["instant", "action", "state", "files", "bytes", "logs rolled back"], rows, [line])


@click.command()
@click.option("--comment", metavar="TEXT", default="", help="What the savepoint is for.")
@click.option("--user", metavar="NAME", default="", help="Who makes it.")
@click.option("--delete", is_flag=True, help="Delete the savepoint.")
@service_options(LOCK, has_progress=False)
@on_table
@click.argument("instant", required=False, type=INSTANT)
def savepoint(
    target: Target,
    instant: str | None,
    *,
    comment: str,
    user: str,
    delete: bool,
    dry_run: bool,
    options: dict[str, str],
) -> None:
    """Keep a completed write, by default the latest, from being cleaned, or delete its savepoint."""
    if delete and instant is None:
        raise click.UsageError("--delete needs the INSTANT of the savepoint")
    table = target.table()
    named = options
    if instant is not None and delete:
        done = (table.plan_delete_savepoint if dry_run else table.delete_savepoint)(instant, named)
        what = "would be deleted: it keeps" if dry_run else "deleted: it kept"
    elif dry_run:
        done, what = table.plan_savepoint(instant, named), "would keep"
    else:
        done, what = table.savepoint(instant, named, comment=comment, user=user), "keeps"
    _show_savepoint(target, done, what)


def _show_savepoint(target: Target, done: SavepointResult, what: str) -> None:
    kept = [(partition, name, size) for partition, files in done.files.items() for name, size in files.items()]
    size = sum(size for *_, size in kept)
    line = f"savepoint of {done.instant} {what} {len(kept)} files, {size:,} bytes"
    target.show(done.to_dict(), ["partition", "file", "bytes"], kept, [line])


NAMES = ["what", "path", "message", "what to do"]


@click.command()
@click.option(
    "--keys", is_flag=True, help="Find record keys of several rows of a partition, and faults of the record index."
)
@click.option("--global-keys", is_flag=True, help="The same, and record keys of several rows of the table.")
@click.option("--no-contents", is_flag=True, help="Do not decode data files.")
@on_tables
def verify(target: Target, *, keys: bool, global_keys: bool, no_contents: bool) -> int:
    """Find what is wrong with a table; exit with status 1 if anything is.

    Compares timeline, files and metadata table; finds files that cannot be decoded, orphan files, temporary files,
    stale markers and dead heartbeats. Changes nothing.
    """
    table = target.table()
    with service_progress("", table.service_progress):
        found = table.verify(contents=not no_contents, keys=keys, global_keys=global_keys)
    rows = "" if found.rows is None else f", {found.rows:,} rows"
    lines = [f"{found.files:,} data files, {found.bytes:,} bytes{rows}; {len(found.findings)} findings"]
    if found.pending:
        lines.append(f"pending: {', '.join(found.pending)}")
    target.show(found.to_dict(), NAMES, _rows(found.findings), lines)
    return int(bool(found.findings))


@click.command()
@click.option(
    "--merge-buckets", is_flag=True, help="Also make one file group of those of each bucket that has several."
)
@service("repair", LOCK)
def repair(target: Target, done: RepairResult, *, is_plan: bool) -> int:
    """Delete what stopped writers left.

    Deletes stale markers, dead heartbeats, and data files that no instant accounts for. Exits with status 1 if
    something is wrong that stays.
    """
    size = sum(one.bytes or 0 for one in done.repaired)
    would = "would be repaired" if is_plan else "repaired"
    lines = [f"{len(done.repaired)} {would}, {size:,} bytes"]
    if done.merged is not None:
        lines.insert(0, f"file groups of buckets were merged by commit {done.merged.instant}")
    if done.left:
        lines.append(f"not repaired: {len(done.left)}")
    lines.append("contents were not decoded: verify finds files that cannot be read")
    rows = [[would, *row] for row in _rows(done.repaired)] + [["not repaired", *row] for row in _rows(done.left)]
    target.show(done.to_dict(), ["state", *NAMES], rows, lines)
    return int(bool(done.left))


def _rows(findings: Sequence[Finding]) -> list[list[object]]:
    return [[one.kind, one.path, one.message, one.remedy] for one in findings]
