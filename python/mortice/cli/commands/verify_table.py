"""`mortice verify` and `mortice repair`: what is wrong with a table, and what can be repaired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from mortice.cli.parameters import LOCK, WIDEST_PATH, Target, on_tables, service_options
from mortice.services.verification import Finding

__all__ = ["repair", "verify"]

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
    found = target.table().verify(contents=not no_contents, keys=keys, global_keys=global_keys)
    rows = "" if found.rows is None else f", {found.rows:,} rows"
    lines = [f"{found.files:,} data files, {found.bytes:,} bytes{rows}; {len(found.findings)} findings"]
    if found.pending:
        lines.append(f"pending: {', '.join(found.pending)}")
    target.show(found.to_dict(), NAMES, _rows(found.findings), lines, WIDEST_PATH)
    return int(bool(found.findings))


@click.command()
@click.option(
    "--merge-buckets", is_flag=True, help="Also make one file group of those of each bucket that has several."
)
@service_options(LOCK, has_progress=False)
@on_tables
def repair(target: Target, *, merge_buckets: bool, dry_run: bool, options: tuple[tuple[str, str], ...]) -> int:
    """Delete what stopped writers left.

    Deletes stale markers, dead heartbeats, and data files that no instant accounts for. Exits with status 1 if
    something is wrong that stays.
    """
    done = target.table().repair(dict(options), dry_run=dry_run, merge_buckets=merge_buckets)
    size = sum(one.bytes or 0 for one in done.repaired)
    would = "would be repaired" if dry_run else "repaired"
    lines = [f"{len(done.repaired)} {would}, {size:,} bytes"]
    if done.merged is not None:
        lines.insert(0, f"file groups of buckets were merged by commit {done.merged.instant}")
    if done.left:
        lines.append(f"not repaired: {len(done.left)}")
    lines.append("contents were not decoded: verify finds files that cannot be read")
    rows = [[would, *row] for row in _rows(done.repaired)] + [["not repaired", *row] for row in _rows(done.left)]
    target.show(done.to_dict(), ["state", *NAMES], rows, lines, WIDEST_PATH)
    return int(bool(done.left))


def _rows(findings: Sequence[Finding]) -> list[list[Any]]:
    return [[one.kind, one.path, one.message, one.remedy] for one in findings]
