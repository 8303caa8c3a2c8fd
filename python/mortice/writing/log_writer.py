"""Writes log files that Hudi reads: for tools, tests and repairs.

A commit needs more than log files: the timeline, markers, the metadata table. These are the task of the caller. Hudi
reads a log file only if a completed instant of its table names it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from mortice import _mortice
from mortice._mortice import LogBlock
from mortice.values.argument_types import ArrowRows, JsonValue, StorageOptions
from mortice.values.options import (
    checked_avro_schema,
    checked_count,
    checked_name,
    checked_names,
    checked_optional_count,
    checked_optional_name,
    checked_storage_options,
    checked_string_mapping,
    checked_uri,
)

__all__ = ["LogBlock", "LogWriter", "WrittenBlock"]

_MAX_FILE_BYTES = 512 * 1024 * 1024
_MAX_BLOCK_BYTES = 256 * 1024 * 1024


class WrittenBlock(NamedTuple):
    """The location of a block that was written."""

    path: str
    offset: int
    length: int


class LogWriter:
    """Writes the log files of one file slice, as one task of Hudi does.

        with mortice.LogWriter("trips/2024", "a1b2-0", "20240101120000000") as log:
            log.write_records(trips, table_name="trips")
            log.write_deletes(gone, partition_path="2024", ordering="ts")

    A file is created, exclusively, with its first block. Records are encoded before anything is written, so records
    that cannot be encoded leave the file unchanged. All data survives a crash of the machine once the writer is closed.

    In an object store, a file is empty until the writer is closed or begins the next version. If a write fails, the
    blocks of the file are lost and all further calls raise an error.

    Args:
        folder: The directory of the partition, a local path or a URI.
        file_id: The id of the file group.
        instant: The instant in the file names: up to table version 7 the base instant of the slice, later the delta
            commit that writes. It is also the instant of blocks that have none of their own.
        version: The first file version to try. Default: the one after the latest in the directory.
        write_token: The write token in the file names. Default: one is generated.
        max_file_bytes: When a file exceeds this size in bytes, the next version follows.
        append: True appends to the latest file of the slice if its end is intact and it is below `max_file_bytes`.
            Tables up to version 6 expect that, later ones do not. Object stores cannot append.
        storage_options: As for `mortice.Table`.

    Raises:
        InvalidArgumentError: An argument is invalid.
        StorageError: The directory cannot be read or written.
        UnsupportedError: `append` is true and `folder` is in an object store.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        file_id: str,
        instant: str,
        *,
        version: int | None = None,
        write_token: str | None = None,
        max_file_bytes: int = _MAX_FILE_BYTES,
        append: bool = False,
        storage_options: StorageOptions | None = None,
    ) -> None:
        self._instant = checked_name("instant", instant)
        self._native = _mortice.LogWriter(
            checked_uri(folder),
            checked_storage_options(storage_options),
            file_id=checked_name("file_id", file_id),
            instant=self._instant,
            version=checked_optional_count("version", version),
            write_token=checked_optional_name("write_token", write_token),
            max_file_bytes=checked_count("max_file_bytes", max_file_bytes),
            append=bool(append),
        )

    def records(
        self,
        data: ArrowRows,
        *,
        schema: str | Mapping[str, JsonValue] | None = None,
        table_name: str | None = None,
        format: str = "avro",  # noqa: A002
        compression: str = "gzip",
        max_block_bytes: int = _MAX_BLOCK_BYTES,
        instant: str | None = None,
        header: Mapping[str, str] | None = None,
    ) -> list[LogBlock]:
        """Returns data blocks with the rows of Arrow data (a table, record batches, a DataFrame), to be passed to
        `append`.

        Columns are matched by name; a field without a column gets its default.

        Args:
            data: The rows: anything with `__arrow_c_stream__` or `__arrow_c_array__`.
            schema: The table's Avro schema as JSON or a mapping, meta columns included.
            table_name: Instead of `schema`: derives it from the columns as Hudi's Spark writer would for this table
                name.
            format: `"avro"`, or `"parquet"`, which gives one block.
            compression: Of Parquet blocks: `"gzip"`, `"snappy"`, `"zstd"` or `"uncompressed"`.
            max_block_bytes: Content of an Avro block in bytes, at most.
            instant: The instant of the blocks. Default: that of the writer.
            header: Additional header entries by Hudi's names: RECORD_POSITIONS with
                BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS, COMPACTED_BLOCK_TIMES, IS_PARTIAL, BLOCK_IDENTIFIER.

        Raises:
            InvalidArgumentError: An argument is invalid, or the data does not fit the schema.
        """
        return LogBlock.records(
            data,
            instant=self._instant_of(instant),
            schema=checked_avro_schema("schema", schema),
            table_name=checked_optional_name("table_name", table_name),
            record_format=checked_name("format", format),
            compression=checked_name("compression", compression),
            max_block_bytes=checked_count("max_block_bytes", max_block_bytes),
            header=checked_string_mapping("header", header),
        )

    def deletes(
        self,
        data: ArrowRows,
        *,
        record_key: str = "record_key",
        partition_path: str | None = None,
        partition_column: str = "partition_path",
        ordering: str | Sequence[str] = (),
        schema: str | Mapping[str, JsonValue] | None = None,
        instant: str | None = None,
        header: Mapping[str, str] | None = None,
    ) -> LogBlock:
        """Returns a block that deletes keys, to be passed to `append`.

        Args:
            data: The keys: anything with `__arrow_c_stream__` or `__arrow_c_array__`.
            record_key: The column of the record keys.
            partition_path: The partition path of all keys; an empty string in a table without partitions.
            partition_column: The column of the partition paths, if `partition_path` is not given.
            ordering: The ordering columns, in the table's order. Values are written as Hudi writes values of their
                types. Only Hudi 1.1 and later reads several of them. Without ordering columns, and if all of them
                are null, a delete is ordered by commit time: it deletes all earlier records.
            schema: The table's Avro schema as JSON or a mapping.
            instant: The instant of the block. Default: that of the writer.
            header: Additional header entries by Hudi's names.

        Raises:
            InvalidArgumentError: An argument is invalid, or a column is missing.
        """
        return LogBlock.deletes(
            data,
            instant=self._instant_of(instant),
            record_key=checked_name("record_key", record_key),
            partition_column=checked_name("partition_column", partition_column),
            partition_path=_partition_path(partition_path),
            ordering=checked_names("ordering", ordering),
            schema=checked_avro_schema("schema", schema),
            header=checked_string_mapping("header", header),
        )

    def rollback(self, target_instant: str, *, instant: str | None = None) -> LogBlock:
        """Returns a block that rolls back the preceding blocks of `target_instant`, to be passed to `append`.

        Only tables up to version 7 use it. Later ones delete the files of an instant that is rolled back.
        """
        return LogBlock.rollback(checked_name("target_instant", target_instant), self._instant_of(instant))

    def append(self, *blocks: LogBlock) -> list[WrittenBlock]:
        """Writes blocks in one write to one file. As in Hudi, records must come first and deletes last.

        log.append(*log.records(trips, table_name="trips"), log.deletes(gone))
        """
        return [WrittenBlock(*written) for written in self._native.append(blocks)]

    def write_records(self, data: ArrowRows, **arguments: Any) -> list[WrittenBlock]:
        """Creates data blocks and appends them. The arguments are those of `records`."""
        return self.append(*self.records(data, **arguments))

    def write_deletes(self, data: ArrowRows, **arguments: Any) -> WrittenBlock:
        """Creates a delete block and appends it. The arguments are those of `deletes`."""
        return self.append(self.deletes(data, **arguments))[0]

    def write_rollback(self, target_instant: str, *, instant: str | None = None) -> WrittenBlock:
        """Creates a rollback block and appends it; see `rollback`."""
        return self.append(self.rollback(target_instant, instant=instant))[0]

    @property
    def path(self) -> str | None:
        """The last file that was written; None before the first block."""
        return self.paths[-1] if self.paths else None

    @property
    def paths(self) -> list[str]:
        """The files that were written, in their order. There are several if one exceeded its limit."""
        return self._native.paths

    def close(self) -> None:
        """Returns when all data would survive a crash of the machine. Nothing can be written afterwards."""
        self._native.finish()

    def __enter__(self) -> LogWriter:  # noqa: PYI034
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LogWriter({self.path or 'nothing written'!r})"

    def _instant_of(self, instant: str | None) -> str:
        return self._instant if instant is None else checked_name("instant", instant)


def _partition_path(path: object) -> str | None:
    if path is None or path == "":
        return path if path is None else ""
    return checked_name("partition_path", path)
