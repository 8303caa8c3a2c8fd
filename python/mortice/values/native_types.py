"""Types of what the native module takes and returns, beside its own classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from mortice._mortice import ArrowBatch, ErasedValues
    from mortice.values.argument_types import ArrowRows

__all__ = ["ErasureTasks", "NativeFile", "NativeSlice", "ReadReport", "TaskRunner"]


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


class ErasureTasks(Protocol):
    """The parts of an erasure that tasks of an engine do. Filters are lists of lists of terms."""

    def count(self, filters: object, as_of: str | None) -> int:
        """Returns the number of rows that filters select."""

    def count_unaided(self, filters: object) -> int:
        """Returns the number of rows that filters select, of the newest state and of base files alone, whichever is
        greater. Files are listed in the storage, and none is left out by statistics or indexes.
        """

    def values(self, columns: Sequence[str], filters: object) -> Iterable[ArrowRows]:
        """Returns batches with the distinct values, without null, of columns of the rows that filters select."""

    def shared(self, column: str, values: ArrowBatch) -> Iterable[ArrowRows]:
        """Returns batches with the values of a column, out of some, that rows have."""

    def search(self, files: Sequence[tuple[str, int]], erased: ErasedValues) -> Sequence[tuple[str, str]]:
        """Returns the files, out of some with their sizes, that have values of erased rows, and how."""

    def is_in_metadata(self, erased: ErasedValues) -> bool:
        """Returns whether records of the metadata table have values of erased rows."""

    def delete_where(self, filters: object, options: Mapping[str, str]) -> object:
        """Deletes the rows that filters select."""

    def compact(self, options: Mapping[str, str]) -> object:
        """Executes and plans compactions."""
