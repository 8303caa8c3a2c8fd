"""Types of what the native module takes and returns, beside its own classes."""

from __future__ import annotations

from typing import Protocol, TypedDict

__all__ = ["NativeFile", "NativeSlice", "ReadReport", "TaskRunner"]


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


class TaskRunner(Protocol):
    """An engine that runs stages as tasks. Its methods return what the tasks report."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at once, as far as it is known."""

    def run(self, stage: bytes, tasks: int) -> list[bytes]:
        """Runs a stage whose tasks read files.

        Args:
            stage: The stage, serialised.
            tasks: The number of tasks.
        """

    def exchange(self, read: bytes, tasks: int, then: bytes, partitions: int) -> list[bytes]:
        """Runs a stage whose tasks read files, and one that gets what they send. Returns what the latter reports.

        Args:
            read: The stage that reads.
            tasks: The number of its tasks.
            then: The stage that gets the chunks.
            partitions: Partitions of the shuffled chunks.
        """
