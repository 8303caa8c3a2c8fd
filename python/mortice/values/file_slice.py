"""File slices: a base file and the log files written on top of it."""

from __future__ import annotations

from dataclasses import dataclass

from mortice.display.markup import grid
from mortice.values.native_types import NativeSlice
from mortice.values.other_names import answering

SHOWN = 200
"""The number of file slices that a list shows of itself."""


class FileSlices(list["FileSlice"]):
    """A list of file slices, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        columns = ["partition", "file id", "instant", "base bytes", "log files", "log bytes"]
        rows = [
            [
                one.partition,
                one.file_id,
                one.base_instant,
                one.base_file.size if one.base_file else None,
                len(one.log_files),
                sum(log.size for log in one.log_files),
            ]
            for one in self[:SHOWN]
        ]
        return grid(columns, rows, f"{len(self):,} file slices" + (f", the first {SHOWN}" if len(self) > SHOWN else ""))


@dataclass(frozen=True)
class DataFile:
    """One file of a file slice."""

    path: str
    """The path, relative to the table's base path."""
    size: int
    """The size of the file, in bytes."""


@answering
@dataclass(frozen=True)
class FileSlice:
    """The files that contain the rows of one file group as of one instant."""

    partition: str
    """The partition path; empty for a table without partitions."""
    file_id: str
    """The id of the file group."""
    base_instant: str
    """The instant of the base file, or of the first log file if there is no base file."""
    base_file: DataFile | None
    log_files: tuple[DataFile, ...]
    """The log files, in the order in which they are merged."""

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        base = self.base_file.size if self.base_file else 0
        return base + sum(log.size for log in self.log_files)

    @classmethod
    def from_native(cls, slice_: NativeSlice) -> FileSlice:
        """Returns the slice that the native module describes as a dict."""
        base = slice_["base_file"]
        return cls(
            partition=slice_["partition"],
            file_id=slice_["file_id"],
            base_instant=slice_["base_instant"],
            base_file=DataFile(base["path"], base["len"]) if base else None,
            log_files=tuple(DataFile(log["path"], log["len"]) for log in slice_["log_files"]),
        )
