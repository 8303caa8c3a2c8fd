"""Metrics of reads: rows, bytes and milliseconds by phase, as counts that can be summed over splits.

    splits         splits read to their end
    rows, batch_bytes     rows, and bytes of their Arrow batches
    file_bytes     bytes of the files of the splits, for a part of a file slice its share
    files, base_rows, records_read, records_won, row_groups_pruned, corrupt    as in `Scan.report`
    damaged        log files that have lost bytes of a completed write
    list_requests, open_requests, read_requests    storage requests of the read: directories listed, files opened, byte
                   ranges fetched (not of memory-mapped files); those of planning are in `Table.storage_requests`
    open_ms        creating the reader of a split, before files are opened
    first_batch_ms until the first batch: the logs are read and their keys indexed by then
    read_ms        all later batches: base rows read, winning records decoded, both merged
    convert_ms     conversion to the types that Spark expects
    consumer_ms    waiting until the consumer requests the next batch; in a Spark task, the JVM

Milliseconds are wall time of one thread. Phases of splits that are read at the same time are added.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from mortice._mortice import ReadReport

__all__ = ["Counts", "Meter", "added", "format_counts"]

Counts = dict[str, int]
"""Counts by name; a missing one is 0."""

PHASES = ("open", "first_batch", "read", "convert", "consumer")
REPORTED = (
    *("files", "base_rows", "records_read", "records_won", "row_groups_pruned"),
    *("list_requests", "open_requests", "read_requests"),
)
"""What a native stream counts."""
_NS_IN_MS = 1_000_000


class Meter:
    """Measures one read: the time of each phase, and the rows and bytes."""

    def __init__(self) -> None:
        self._ns = dict.fromkeys(PHASES, 0)
        self._since = time.perf_counter_ns()
        self.rows = 0
        self.batch_bytes = 0
        self._batches = 0

    def lap(self, phase: str) -> None:
        """Adds the time since the last lap to a phase."""
        now = time.perf_counter_ns()
        self._ns[phase] += now - self._since
        self._since = now

    def batch(self, rows: int, size: int) -> None:
        """Records that a batch has been read since the last lap."""
        self.lap("read" if self._batches else "first_batch")
        self._batches += 1
        self.rows += rows
        self.batch_bytes += size

    def counts(self, report: ReadReport, *, splits: int, file_bytes: int) -> Counts:
        """Returns all counts; `report` is that of the native stream."""
        reported = cast("Mapping[str, int]", report)
        return {
            "splits": splits,
            "rows": self.rows,
            "batch_bytes": self.batch_bytes,
            "file_bytes": file_bytes,
            **{name: reported.get(name, 0) for name in REPORTED},
            "corrupt": len(report.get("corrupt", ())),
            "damaged": len(report.get("damaged", ())),
            **{f"{phase}_ms": round(ns / _NS_IN_MS) for phase, ns in self._ns.items()},
        }


def added(first: Counts, second: Counts) -> Counts:
    """Returns the sums of two reads."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def format_counts(counts: Counts) -> str:
    """Returns counts as a line of text."""
    phases = ", ".join(f"{phase.replace('_', ' ')} {counts.get(f'{phase}_ms', 0)}" for phase in PHASES)
    return (
        f"{counts.get('rows', 0)} rows, {counts.get('batch_bytes', 0)} bytes of Arrow "
        f"from {counts.get('file_bytes', 0)} bytes of {counts.get('files', 0)} files; ms: {phases}"
    )
