"""Dicts that the native module returns."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["NativeFile", "NativeSlice", "ReadReport"]


class NativeFile(TypedDict):
    """A file of a file slice."""

    path: str
    len: int


class NativeSlice(TypedDict):
    """A file slice."""

    partition: str
    file_id: str
    base_instant: str
    base_file: NativeFile | None
    log_files: list[NativeFile]


class CorruptBlock(TypedDict):
    """A corrupt block that a read has skipped."""

    file: str
    offset: int
    reason: str


class DamagedLog(TypedDict):
    """A log file that has lost bytes of a completed write."""

    file: str
    offset: int
    instant: str
    reason: str


class ReadReport(TypedDict):
    """What has been read (`Scan.report`)."""

    files: int
    blocks: dict[str, int]
    """The number of log blocks, by kind."""
    corrupt: list[CorruptBlock]
    damaged: list[DamagedLog]
    rolled_back: int
    """Log blocks of instants that were rolled back."""
    uncommitted: int
    """Log blocks of instants that have not completed."""
    records_read: int
    records_won: int
    passes: int
    """Further passes over logs whose keys did not fit into memory."""
    slices_pruned: int
    row_groups_pruned: int
    base_rows: int
    rows: int
    list_requests: int
    open_requests: int
    read_requests: int
    peak_fetched_bytes: int
