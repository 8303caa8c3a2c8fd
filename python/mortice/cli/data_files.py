"""Files of rows for `mortice write` and `mortice create`: Parquet, Arrow, ORC, CSV and JSON, read as a stream."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from mortice.cli.json_lines import JsonLines
from mortice.errors import InvalidArgumentError
from mortice.values.type_names import columns_of_text

if TYPE_CHECKING:
    import pyarrow.dataset as ds

__all__ = ["DataFiles", "file_types", "parse_columns"]

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".orc": "orc",
}
WITHOUT_TYPES = frozenset({"csv", "json"})
"""Formats whose values have no types of their own: they are read with those of the table's columns."""


def file_types() -> str:
    """Returns the ends of names of files of rows, for help."""
    return ", ".join(FORMATS)


class DataFiles:
    """Files of rows.

    Args:
        paths: The files, all of one format. `-` is standard input, which is copied to a temporary file: a parquet file
            is not read from its beginning.
        table: The columns of the table that the rows are for, which say how CSV and JSON are read.
        kind: Their format, one of `FORMATS`. Default: as the ends of their names say.

    Raises:
        InvalidArgumentError: A file is missing, damaged, or of another format.
    """

    def __init__(self, paths: Sequence[str], table: pa.Schema | None = None, kind: str | None = None) -> None:
        import pyarrow.dataset as ds  # imports pandas, which other commands need not wait for

        if "-" in paths and kind is None:
            raise InvalidArgumentError(f"standard input needs --format: {', '.join(sorted(set(FORMATS.values())))}")
        self._format = kind or _format_of(paths)
        self._copy = _copy_of_stdin() if "-" in paths else None
        self._paths = [self._copy.name if self._copy and path == "-" else path for path in paths]
        try:
            if self._format == "json":
                self._rows: Any = JsonLines(self._paths, table)
                return
            # What pyarrow.dataset reads has the columns of the first file.
            self._rows = ds.dataset(self._paths, format=self._reader(None))
            for path in self._paths[1:]:
                self._compare(path, ds.dataset(path, format=self._reader(None)).schema)
            if table is not None and self._format in WITHOUT_TYPES:
                schema = _typed(self.schema, table)
                self._rows = ds.dataset(self._paths, schema=schema, format=self._reader(schema))
        except (OSError, pa.ArrowException) as error:
            where = "" if self._format == "json" else f"{', '.join(self._paths)}: "
            raise InvalidArgumentError(f"{where}{error}") from error

    def __enter__(self) -> DataFiles:  # noqa: PYI034 — Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._copy is not None:
            self._copy.close()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self._rows.schema

    @property
    def row_count(self) -> int | None:
        """The number of rows; None if the files would have to be read for it."""
        return None if self._format in WITHOUT_TYPES else self._rows.count_rows()

    def reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream."""
        return self._rows.to_reader() if isinstance(self._rows, JsonLines) else self._rows.scanner().to_reader()

    def _compare(self, path: str, columns: pa.Schema) -> None:
        """Refuses a file of other columns than the first: pyarrow would leave out those that the first does not have.

        Raises:
            InvalidArgumentError: The names differ, or the types of a format that has types.
        """
        first, own = ({field.name: field.type for field in schema} for schema in (self.schema, columns))
        for name in [*first, *own]:
            if name not in first or name not in own:
                has, lacks = (path, self._paths[0]) if name in own else (self._paths[0], path)
                raise InvalidArgumentError(
                    f"{has} has the column {name!r}, which {lacks} does not have; write them one by one"
                )
            if first[name] != own[name] and self._format not in WITHOUT_TYPES:
                raise InvalidArgumentError(
                    f"the column {name!r} is {own[name]} in {path}, and {first[name]} in {self._paths[0]}; write them "
                    "one by one"
                )

    def _reader(self, schema: pa.Schema | None) -> ds.FileFormat | str:
        if self._format != "csv":
            return self._format
        import pyarrow.dataset as ds

        types = None if schema is None else {field.name: field.type for field in schema}
        return ds.CsvFileFormat(convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True))


def _copy_of_stdin() -> tempfile._TemporaryFileWrapper[bytes]:
    copy = tempfile.NamedTemporaryFile(prefix="mortice-stdin-")  # noqa: SIM115 — closed with the files
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.flush()
    return copy


def _format_of(paths: Sequence[str]) -> str:
    found = {path: FORMATS.get(PurePath(path).suffix.lower()) for path in paths}
    for path, name in found.items():
        if name is None:
            raise InvalidArgumentError(f"{path}: the name must end with {', '.join(FORMATS)}")
    if len(set(found.values())) > 1:
        raise InvalidArgumentError(f"files of one write must have one format, got {', '.join(paths)}")
    return next(name for name in found.values() if name is not None)


def _typed(found: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Returns the columns of files with the types that the table has."""
    known = {field.name: field.type for field in table}
    return pa.schema([pa.field(field.name, known.get(field.name, field.type)) for field in found])


def parse_columns(text: str) -> pa.Schema:
    """Returns the columns that `name type, name type not null` describes.

    Raises `InvalidArgumentError`.
    """
    return columns_of_text(text, "--schema", "a file or columns such as 'id string, fare double'")
