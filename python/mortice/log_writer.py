"""Writing log files that Hudi reads: for tools, tests and repairs. What a commit needs besides (the timeline, markers,
the metadata table) is the caller's business: Hudi sees a log file once a completed instant of its table names it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from mortice import _mortice
from mortice._mortice import LogBlock
from mortice.errors import InvalidArgumentError
from mortice.options import (
    checked_count,
    checked_name,
    checked_optional_count,
    checked_optional_name,
    checked_storage_options,
    checked_text,
    checked_texts,
    checked_uri,
)

__all__ = ["LogBlock", "LogWriter", "WrittenBlock"]

_MAX_FILE_BYTES = 512 * 1024 * 1024
_MAX_BLOCK_BYTES = 256 * 1024 * 1024


class WrittenBlock(NamedTuple):
    """Where a block stands."""

    path: str
    offset: int
    length: int


class LogWriter:
    """Writes the log files of one file slice, as one task of Hudi does.

        with mortice.LogWriter("trips/2024", "a1b2-0", "20240101120000000") as log:
            log.write_records(trips, table_name="trips")
            log.write_deletes(gone, partition_path="2024", ordering="ts")

    `instant` goes into the file names: the base instant of the slice in tables up to version 7, the delta commit that
    writes in later ones. It is also the instant of each block that is given none of its own.

    Files are created exclusively. `version` is the first to be tried; without it, the one after the latest in the
    folder. Once a file has more than `max_file_bytes`, the next version follows. With `append`, the latest file of the
    slice is written on where its end is sound and it is below that size: tables up to version 6 expect that, later ones
    do not.

    A file comes into being with its first block. Records are turned into blocks before anything is written, so that
    records which cannot be leave the file as it was. Everything written survives a crash of the machine once the writer
    is closed.
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
        storage_options: Mapping[str, Any] | None = None,
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
        data: Any,
        *,
        schema: str | Mapping[str, Any] | None = None,
        table_name: str | None = None,
        format: str = "avro",  # noqa: A002
        compression: str = "gzip",
        max_block_bytes: int = _MAX_BLOCK_BYTES,
        instant: str | None = None,
        header: Mapping[str, str] | None = None,
    ) -> list[LogBlock]:
        """Data blocks of the rows of some Arrow data (a table, record batches, a data frame), to be given to `append`.

        `schema` is the table's Avro schema, meta columns included. In its place `table_name` has one made of the
        columns, as Hudi's Spark writer would. Columns are found by name; a field without one takes its default.

        `format` is `avro`, whose blocks hold `max_block_bytes` of content at most, or `parquet`, of which there is one
        block (`compression`: gzip, snappy, zstd, uncompressed). `header` adds entries by Hudi's names: RECORD_POSITIONS
        with BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS, COMPACTED_BLOCK_TIMES, IS_PARTIAL, BLOCK_IDENTIFIER.
        """
        return LogBlock.records(
            data,
            instant=self._instant_of(instant),
            schema=_schema_text(schema),
            table_name=checked_optional_name("table_name", table_name),
            record_format=checked_name("format", format),
            compression=checked_name("compression", compression),
            max_block_bytes=checked_count("max_block_bytes", max_block_bytes),
            header=checked_texts("header", header),
        )

    def deletes(
        self,
        data: Any,
        *,
        record_key: str = "record_key",
        partition_path: str | None = None,
        partition_column: str = "partition_path",
        ordering: str | Sequence[str] = (),
        schema: str | Mapping[str, Any] | None = None,
        instant: str | None = None,
        header: Mapping[str, str] | None = None,
    ) -> LogBlock:
        """A block that deletes the keys in column `record_key`, to be given to `append`.

        Their partition is `partition_path` where given ("" in a table without partitions), else what stands in
        `partition_column`. `ordering` names the table's ordering columns in their order; their values are written as
        Hudi writes values of their types (several of them: only Hudi 1.1 and later read that). Without ordering
        columns, and where a single one has null, a delete goes by commit time: it deletes whatever came before.
        """
        return LogBlock.deletes(
            data,
            instant=self._instant_of(instant),
            record_key=checked_name("record_key", record_key),
            partition_column=checked_name("partition_column", partition_column),
            partition_path=_path_text(partition_path),
            ordering=_ordering_columns(ordering),
            schema=_schema_text(schema),
            header=checked_texts("header", header),
        )

    def rollback(self, target_instant: str, *, instant: str | None = None) -> LogBlock:
        """A block that undoes the blocks of `target_instant` before it, to be given to `append`. Only tables up to
        version 7 have it; later ones delete the files of an instant that is rolled back."""
        return LogBlock.rollback(checked_name("target_instant", target_instant), self._instant_of(instant))

    def append(self, *blocks: LogBlock) -> list[WrittenBlock]:
        """Writes blocks one after the other, in one write to one file: records first, deletes last, as Hudi does.

        log.append(*log.records(trips, table_name="trips"), log.deletes(gone))
        """
        return [WrittenBlock(*written) for written in self._native.append(blocks)]

    def write_records(self, data: Any, **arguments: Any) -> list[WrittenBlock]:
        """Composes data blocks and appends them; the arguments are those of `records`."""
        return self.append(*self.records(data, **arguments))

    def write_deletes(self, data: Any, **arguments: Any) -> WrittenBlock:
        """Composes a delete block and appends it; the arguments are those of `deletes`."""
        return self.append(self.deletes(data, **arguments))[0]

    def write_rollback(self, target_instant: str, *, instant: str | None = None) -> WrittenBlock:
        """Composes a rollback and appends it; see `rollback`."""
        return self.append(self.rollback(target_instant, instant=instant))[0]

    @property
    def path(self) -> str | None:
        """The file written last; None before the first block."""
        return self.paths[-1] if self.paths else None

    @property
    def paths(self) -> list[str]:
        """The files written, in their order: more than one where a file has reached its limit."""
        return self._native.paths

    def close(self) -> None:
        """Returns once what was written survives a crash. Nothing can be written afterwards."""
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


def _schema_text(schema: object) -> str | None:
    """The JSON of an Avro schema, given as text or as what JSON gives in Python."""
    if schema is None:
        return None
    if isinstance(schema, str):
        return checked_text("schema", schema)
    if not isinstance(schema, Mapping):
        raise InvalidArgumentError(f"schema is an Avro schema, as JSON text or a mapping, not {type(schema).__name__}")
    try:
        return json.dumps(schema)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError("schema is no JSON") from error


def _path_text(path: object) -> str | None:
    if path is None or path == "":
        return path if path is None else ""
    return checked_name("partition_path", path)


def _ordering_columns(ordering: object) -> list[str]:
    if isinstance(ordering, str):
        ordering = [ordering]
    if not isinstance(ordering, Sequence):
        raise InvalidArgumentError(f"ordering is a column or a list of columns, not {ordering!r}")
    return [checked_name("a column in ordering", name) for name in ordering]
