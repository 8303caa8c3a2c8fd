"""`mortice verify` and `mortice repair`: what is wrong with a table, and what can be repaired."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from mortice.cli.show import print_json, print_table
from mortice.services.verification import Finding
from mortice.table import Table

_WIDEST = 160


def run_verify(arguments: argparse.Namespace) -> int:
    """Prints what is wrong with a table. Returns 1 if anything is."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    found = table.verify(contents=not arguments.no_contents, keys=arguments.keys, global_keys=arguments.global_keys)
    if arguments.json:
        print_json(dataclasses.asdict(found))
    else:
        _print_findings(found.findings)
        rows = "" if found.rows is None else f", {found.rows} rows"
        print(f"{found.files} data files, {found.bytes} bytes{rows}; {len(found.findings)} findings")
        if found.pending:
            print(f"pending: {', '.join(found.pending)}")
    return int(bool(found.findings))


def run_repair(arguments: argparse.Namespace) -> int:
    """Repairs a table, or prints what would be repaired. Returns 1 if something is wrong that stays."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    done = table.repair(dict(arguments.options), dry_run=arguments.dry_run, merge_buckets=arguments.merge_buckets)
    if arguments.json:
        print_json(dataclasses.asdict(done))
    else:
        if done.merged is not None:
            print(f"file groups of buckets were merged by commit {done.merged.instant}")
        _print_findings(done.repaired)
        size = sum(one.bytes or 0 for one in done.repaired)
        print(f"{len(done.repaired)} {'would be repaired' if arguments.dry_run else 'repaired'}, {size} bytes")
        if done.left:
            print(f"not repaired: {len(done.left)}")
            _print_findings(done.left)
    return int(bool(done.left))


def _print_findings(findings: Sequence[Finding]) -> None:
    if findings:
        print_table(["what", "path", "message"], [[one.kind, one.path, one.message] for one in findings], _WIDEST)
