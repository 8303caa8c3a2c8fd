"""`mortice rollback`, `mortice restore` and `mortice savepoint`: undo instants, and keep them."""

from __future__ import annotations

import click

from mortice._mortice import RollbackResult, SavepointResult
from mortice.cli.parameters import LOCK, WIDEST_PATH, Target, on_table, service_options

__all__ = ["restore", "rollback", "savepoint"]


@click.command()
@service_options(LOCK, has_progress=False)
@on_table
@click.argument("instant")
def rollback(target: Target, instant: str, dry_run: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Undo an instant of a table: a pending one, or the latest completed write."""
    table = target.table()
    done = (table.plan_rollback if dry_run else table.rollback)(instant, dict(options))
    lines = [("delete", *file) for file in done.deleted] + [("roll back", *file) for file in done.undone_logs]
    target.show(done.to_dict(), ["what", "file", "bytes"], lines, [_rolled_back(done)], WIDEST_PATH)


def _rolled_back(done: RollbackResult) -> str:
    size = sum(size for _, size in done.deleted)
    state = "would be rolled back" if done.rollback_instant is None else f"rolled back by {done.rollback_instant}"
    return f"{done.instant}.{done.action} ({done.state.lower()}) {state}: {len(done.deleted)} files, {size:,} bytes"


@click.command()
@service_options(LOCK, has_progress=False)
@on_table
@click.argument("instant")
def restore(target: Target, instant: str, dry_run: bool, options: tuple[tuple[str, str], ...]) -> None:
    """Take a table back to a savepoint: undo all later writes, newest first."""
    table = target.table()
    done = (table.plan_restore if dry_run else table.restore)(instant, dict(options))
    state = "would be restored" if done.restore_instant is None else f"restored by {done.restore_instant}"
    files = [size for one in done.undone for _, size in one.deleted]
    target.show(
        done.to_dict(),
        ["instant", "action", "state", "files", "bytes", "logs rolled back"],
        [
            [one.instant, one.action, one.state, len(one.deleted), sum(s for _, s in one.deleted), len(one.undone_logs)]
            for one in done.undone
        ],
        [f"{state} to {done.instant}: {len(done.undone)} instants, {len(files)} files, {sum(files):,} bytes"],
    )


@click.command()
@click.option("--comment", metavar="TEXT", default="", help="What the savepoint is for.")
@click.option("--user", metavar="NAME", default="", help="Who makes it.")
@click.option("--delete", is_flag=True, help="Delete the savepoint.")
@service_options(LOCK, has_progress=False)
@on_table
@click.argument("instant", required=False)
def savepoint(
    target: Target,
    instant: str | None,
    *,
    comment: str,
    user: str,
    delete: bool,
    dry_run: bool,
    options: tuple[tuple[str, str], ...],
) -> None:
    """Keep a completed write, by default the latest, from being cleaned, or delete its savepoint."""
    if delete and instant is None:
        raise click.UsageError("--delete needs the INSTANT of the savepoint")
    table = target.table()
    named = dict(options)
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
    target.show(done.to_dict(), ["partition", "file", "bytes"], kept, [line], WIDEST_PATH)
