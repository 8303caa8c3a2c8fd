"""One log file, block by block: for looking into a table, and for tools that need no table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Block
from mortice.errors import InvalidArgumentError
from mortice.options import checked_count, checked_storage_options, checked_uri

__all__ = ["Block", "LogFile"]

# Small enough that a batch is still in the processor's cache when it is looked at.
DEFAULT_RECORDS = 4_096


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

    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
        return self._native.size

    def blocks(self, reverse: bool = False) -> Iterator[Block]:
        """The blocks in the order of the file, or backwards."""
        return iter(self._native.blocks(reverse))

    def records(
        self, block: Block, keys: Iterable[str] | None = None, prefixes: Iterable[str] | None = None
    ) -> pa.RecordBatch:
        """The records of a data block, by the block's own schema and in the file's own units.

        `keys` gives only the records of these record keys, `prefixes` those whose keys begin so (not both). HFile
        blocks are sought in; of other blocks only keys are looked at before the records are decoded.
        """
        if keys is not None and prefixes is not None:
            raise InvalidArgumentError("keys and prefixes: one of them")
        return pa.record_batch(self._native.records(block, _texts("keys", keys), _texts("prefixes", prefixes)))

    def record_batches(self, block: Block, batch_rows: int = DEFAULT_RECORDS) -> pa.RecordBatchReader:
        """The records of a data block as `records` gives them, `batch_rows` at a time, decoded as they are drawn.

        For blocks of any size: what is in memory is one batch. Sound records come before an error. An HFile block is
        unpacked whole.
        """
        batches = self._native.record_batches(block, checked_count("batch_rows", batch_rows))
        return pa.RecordBatchReader.from_batches(pa.schema(batches.schema()), map(pa.record_batch, batches))

    def deletes(self, block: Block) -> pa.RecordBatch:
        """The deletes of a delete block: `record_key`, `partition_path`, `ordering_value` (text), `ordering_type`."""
        return pa.record_batch(self._native.deletes(block))

    def positions(self, block: Block) -> pa.UInt64Array | None:
        """The rows of the base file (from 0) that the records or deletes of a block update, in their order; None
        where the block does not say (RECORD_POSITIONS)."""
        positions = self._native.positions(block)
        return None if positions is None else pa.record_batch(positions).column(0)

    def __repr__(self) -> str:
        return f"LogFile({self.path!r}, {self.size} bytes)"


def _texts(name: str, texts: Iterable[str] | None) -> list[str] | None:
    if texts is None:
        return None
    listed = [texts] if isinstance(texts, str) else list(texts)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in listed):
        raise InvalidArgumentError(f"{name} is a list of texts, not {texts!r}")
    return listed
