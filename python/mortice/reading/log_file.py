"""Reads one log file, block by block: for inspecting tables, and for tools that need no table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Block
from mortice.display.markup import grid
from mortice.display.plot import plot_blocks
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.values.argument_types import StorageOptions
from mortice.values.options import checked_bool, checked_count, checked_storage_options, checked_uri

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Block", "LogFile"]

# Small enough that a batch is still in the processor's cache when it is consumed.
DEFAULT_RECORDS = 4_096


class LogFile:
    """A Hudi log file.

        log = mortice.LogFile("trips/.a1b2_20240101120000000.log.1_0-1-0")
        for block in log.blocks():
            print(block.offset, block.type, block.instant_time, block.record_count)

    A damaged range is a block as well (`CORRUPT_BLOCK`, with the reason in `damage`). Iteration raises an error only if
    no further blocks can be found, after the intact ones.

    Args:
        path: A local path or a URI. From an object store, only block headers and the contents that are read are
            fetched.
        storage_options: As for `mortice.Table`.
        mmap: True maps a large file on a local disk into memory, as for `mortice.Table`.

    Raises:
        FileNotFoundError: There is no such file.
        InvalidArgumentError: An argument is invalid.
        StorageError: The file cannot be read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: StorageOptions | None = None,
        *,
        mmap: bool = False,
    ) -> None:
        options = checked_storage_options(storage_options)
        self._native = _mortice.LogFile(checked_uri(path), options, mmap=checked_bool("mmap", mmap))

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._native.path

    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
        return self._native.size

    def blocks(self, reverse: bool = False) -> Iterator[Block]:
        """Returns the blocks in file order; with `reverse`, the last one first."""
        return iter(self._native.blocks(reverse))

    def records(
        self, block: Block, keys: Iterable[str] | None = None, prefixes: Iterable[str] | None = None
    ) -> pa.RecordBatch:
        """Returns the records of a data block, with the schema of the block and in the units of the file.

        With `keys`, only records with these record keys; with `prefixes`, those whose keys begin with one of them (not
        both). Keys are looked up in the index of HFile blocks. Of other blocks, only keys are decoded to find the
        records.
        """
        if keys is not None and prefixes is not None:
            raise InvalidArgumentError("keys and prefixes must not be given together; leave out one of them")
        return pa.record_batch(self._native.records(block, _strings("keys", keys), _strings("prefixes", prefixes)))

    def record_batches(self, block: Block, batch_rows: int = DEFAULT_RECORDS) -> pa.RecordBatchReader:
        """Returns a reader of the records of a data block, `batch_rows` at a time, decoded as they are read.

        For blocks of any size: one batch is in memory. Intact records precede an error. An HFile block is decompressed
        as a whole.
        """
        batches = self._native.record_batches(block, checked_count("batch_rows", batch_rows))
        return pa.RecordBatchReader.from_batches(pa.schema(batches.schema()), map(pa.record_batch, batches))

    def deletes(self, block: Block) -> pa.RecordBatch:
        """Returns the deletes of a delete block: `record_key`, `partition_path`, `ordering_value` (string),
        `ordering_type`.
        """
        return pa.record_batch(self._native.deletes(block))

    def positions(self, block: Block) -> pa.UInt64Array | None:
        """Returns the row positions in the base file, from 0, of the records or deletes of a block (RECORD_POSITIONS).

        None if the block does not record positions.
        """
        positions = self._native.positions(block)
        return None if positions is None else pa.record_batch(positions).column(0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plots the blocks over the bytes of the file, by kind. Returns the axes.

        It needs matplotlib: `pip install 'mortice[plot]'`.

        Args:
            ax: Axes to plot on. Default: those of a new figure.
        """
        return plot_blocks(list(self.blocks()), self.path.rsplit("/", 1)[-1], ax)

    def _repr_html_(self) -> str:
        """The blocks as a table, for notebooks."""
        rows: list[list[object]] = []
        try:
            rows.extend(
                [one.offset, one.end - one.offset, one.type, one.instant_time, one.damage] for one in self.blocks()
            )
        except MorticeError as error:
            rows.append([None, None, "", "", str(error)])
        return grid(["offset", "bytes", "type", "instant", "damage"], rows, f"{self.path}, {self.size:,} bytes")

    def __repr__(self) -> str:
        return f"LogFile({self.path!r}, {self.size} bytes)"


def _strings(name: str, values: Iterable[str] | None) -> list[str] | None:
    if values is None:
        return None
    listed = [values] if isinstance(values, str) else list(values)
    if isinstance(values, str) or not all(isinstance(value, str) for value in listed):
        raise InvalidArgumentError(f"{name} must be a list of strings, got {values!r}")
    return listed
