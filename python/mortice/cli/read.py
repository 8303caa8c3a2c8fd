"""`mortice read`: prints the rows of a table."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from typing import Any

from mortice.cli.show import WIDEST_CELL, print_json, print_table
from mortice.cli.terms import parse_term
from mortice.scan import Scan
from mortice.table import Table

ROWS_AT_A_TERMINAL = 20


def run_read(arguments: argparse.Namespace) -> int:
    """Prints the rows."""
    table = Table(arguments.path, storage_options=dict(arguments.storage_options), mmap=arguments.mmap)
    query = table.read_optimized if arguments.read_optimized else table.snapshot
    scan = query(
        columns=None if arguments.columns is None else [name.strip() for name in arguments.columns.split(",")],
        filters=[parse_term(text, table.schema) for text in arguments.filter] or None,
        as_of=arguments.as_of,
    )
    if arguments.json:
        for row in itertools.islice(_rows(scan), arguments.limit):
            print_json(dict(zip(scan.schema.names, row, strict=True)))
        return 0
    if arguments.limit is not None or not sys.stdout.isatty():
        # Rows and cells are truncated at a terminal only: a file or a pipe gets all of them.
        widest = WIDEST_CELL if sys.stdout.isatty() else sys.maxsize
        print_table(scan.schema.names, itertools.islice(_rows(scan), arguments.limit), widest)
        return 0
    rows = list(itertools.islice(_rows(scan), ROWS_AT_A_TERMINAL + 1))
    print_table(scan.schema.names, rows[:ROWS_AT_A_TERMINAL])
    if len(rows) > ROWS_AT_A_TERMINAL:
        print(f"first {ROWS_AT_A_TERMINAL} rows; --limit N prints more", file=sys.stderr)
    return 0


def _rows(scan: Scan) -> Iterator[tuple[Any, ...]]:
    for batch in scan.to_reader():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
