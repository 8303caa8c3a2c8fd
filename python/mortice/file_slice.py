"""File slices: a base file and the log files written on top of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DataFile:
    """One file of a slice."""

    path: str
    """Relative to the table's base path."""
    size: int
    """Bytes."""


@dataclass(frozen=True)
class FileSlice:
    """The files that hold one file group's rows as of one instant."""

    partition: str
    """The partition path; empty for a table without partitions."""
    file_id: str
    """The file group."""
    base_instant: str
    """The instant of the base file, or of the first log file where there is none."""
    base_file: DataFile | None
    log_files: tuple[DataFile, ...]
    """In the order in which they are merged."""

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        base = self.base_file.size if self.base_file else 0
        return base + sum(log.size for log in self.log_files)

    @classmethod
    def from_native(cls, slice_: Mapping[str, Any]) -> FileSlice:
        """The slice that the native module describes."""
        base = slice_["base_file"]
        return cls(
            partition=slice_["partition"],
            file_id=slice_["file_id"],
            base_instant=slice_["base_instant"],
            base_file=DataFile(base["path"], base["len"]) if base else None,
            log_files=tuple(DataFile(log["path"], log["len"]) for log in slice_["log_files"]),
        )
