"""What a reading cost: rows, bytes and milliseconds by phase, as plain counts that add up over splits.

    splits         splits read to their end
    rows, batch_bytes     what came out, as Arrow
    file_bytes     bytes of the files that the splits name, of a part its share
    files, base_rows, records_read, records_won, row_groups_pruned, corrupt    as in `Scan.report`
    list_requests, open_requests, read_requests    storage requests of the reading: folders listed, files opened, byte
                   ranges fetched (not of memory-mapped files); those of planning are in `Table.storage_requests`
    open_ms        taking a split up, its files not yet opened
    first_batch_ms until the first rows were there: the logs are read and their keys indexed by then
    read_ms        the rows after that: base rows read, winners decoded, both merged
    convert_ms     to the types that Spark expects
    consumer_ms    waiting until the consumer asked for the next batch: in a Spark task, the JVM

Wall time of one thread: phases of splits that were read at the same time count each by itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

__all__ = ["Counts", "Meter", "added", "told"]

Counts = dict[str, int]
"""Counts by name; what is not there is 0."""

PHASES = ("open", "first_batch", "read", "convert", "consumer")
_REPORTED = (
    "files",
    "base_rows",
    "records_read",
    "records_won",
    "row_groups_pruned",
    "list_requests",
    "open_requests",
    "read_requests",
)
_NS_IN_MS = 1_000_000


class Meter:
    """Times one reading, phase after phase, and counts what comes out."""

    def __init__(self) -> None:
        self._ns = dict.fromkeys(PHASES, 0)
        self._since = time.perf_counter_ns()
        self.rows = 0
        self.batch_bytes = 0
        self._batches = 0

    def lap(self, phase: str) -> None:
        """What went by since the last lap was this phase."""
        now = time.perf_counter_ns()
        self._ns[phase] += now - self._since
        self._since = now

    def batch(self, rows: int, size: int) -> None:
        """A batch was read since the last lap."""
        self.lap("read" if self._batches else "first_batch")
        self._batches += 1
        self.rows += rows
        self.batch_bytes += size

    def counts(self, report: Mapping[str, Any], *, splits: int, file_bytes: int) -> Counts:
        """All that was counted; `report` is the native one."""
        return {
            "splits": splits,
            "rows": self.rows,
            "batch_bytes": self.batch_bytes,
            "file_bytes": file_bytes,
            **{name: int(report.get(name, 0)) for name in _REPORTED},
            "corrupt": len(report.get("corrupt") or []),
            **{f"{phase}_ms": round(ns / _NS_IN_MS) for phase, ns in self._ns.items()},
        }


def added(first: Counts, second: Counts) -> Counts:
    """The sums of two readings."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def told(counts: Counts) -> str:
    """Counts as a line of text."""
    phases = ", ".join(f"{phase.replace('_', ' ')} {counts.get(f'{phase}_ms', 0)}" for phase in PHASES)
    return (
        f"{counts.get('rows', 0)} rows, {counts.get('batch_bytes', 0)} bytes of Arrow "
        f"from {counts.get('file_bytes', 0)} bytes of {counts.get('files', 0)} files; ms: {phases}"
    )
