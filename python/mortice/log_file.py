"""One log file, block by block: for looking into a table, and for tools that need no table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Block
from mortice.options import checked_storage_options, checked_uri

__all__ = ["Block", "LogFile"]


class LogFile:
    """A Hudi log file.

        log = mortice.LogFile("trips/.a1b2_20240101120000000.log.1_0-1-0")
        for block in log.blocks():
            print(block.offset, block.type, block.instant_time, block.record_count)

    A corrupt stretch is a block too (`CORRUPT_BLOCK`, with the reason in `damage`); iteration raises only where no more
    blocks can be found, after the sound ones.
    """

    def __init__(self, path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> None:
        self._native = _mortice.LogFile(checked_uri(path), checked_storage_options(storage_options))

    @property
    def path(self) -> str:
        """Where the file lies."""
        return self._native.path

    def __len__(self) -> int:
        """Bytes in the file."""
        return len(self._native)

    def __bool__(self) -> bool:
        """True, though the file be empty."""
        return True

    def blocks(self, reverse: bool = False) -> Iterator[Block]:
        """The blocks in the order of the file, or backwards."""
        return iter(self._native.blocks(reverse))

    def records(self, block: Block) -> pa.RecordBatch:
        """The records of a data block, by the block's own schema and in the file's own units."""
        return pa.record_batch(self._native.records(block))

    def deletes(self, block: Block) -> pa.RecordBatch:
        """The deletes of a delete block: `record_key`, `partition_path`, `ordering_value` (text), `ordering_type`."""
        return pa.record_batch(self._native.deletes(block))

    def __repr__(self) -> str:
        return f"LogFile({self.path!r}, {len(self)} bytes)"
