"""Files of rows for `mortice write` and `mortice create`: Parquet, Arrow, ORC, CSV and JSON, read as a stream.

Files of JSON have a document for each line. `pyarrow.dataset` looks for columns in the first megabyte, leaves out those
that come later and fields that a struct does not have, and takes dates as numbers of days. Here a field is read or is
an error.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
from pyarrow import csv, json

from mortice.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow.dataset as ds


_PIECE = 8 << 20


class JsonLines:
    """Rows of files of JSON.

    Args:
        paths: The files, which are read twice: the columns are those of all documents.
        table: The columns of the table that the rows are for, whose types the values get; None for those that pyarrow
            finds.

    Raises:
        OSError, pyarrow.ArrowException: A file is missing, or no JSON.
    """

    def __init__(self, paths: Sequence[str], table: pa.Schema | None) -> None:
        self._paths = paths
        known = {} if table is None else {field.name: field.type for field in table}
        found = pa.schema([])
        for path, piece in self._pieces():
            columns = _read(path, piece, None).schema
            unknown = [field for field in columns if field.name not in known]
            names = [pa.field(field.name, known[field.name]) for field in columns if field.name in known]
            found = pa.unify_schemas([found, pa.schema([*names, *unknown])], promote_options="permissive")
        self.schema = found

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream, which raises `pyarrow.ArrowInvalid` for a value that is not of its type."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        as_strings = pa.schema([pa.field(field.name, _with_strings(field.type)) for field in self.schema])
        options = json.ParseOptions(explicit_schema=as_strings, unexpected_field_behavior="error")
        for path, piece in self._pieces():
            yield from _read(path, piece, options, self.schema).to_batches()

    def _pieces(self) -> Iterator[tuple[str, bytes]]:
        for path in self._paths:
            with Path(path).open("rb") as file:
                yield from ((path, piece) for piece in _pieces_of(file))


def _read(path: str, piece: bytes, options: json.ParseOptions | None, columns: pa.Schema | None = None) -> pa.Table:
    """Returns the rows of a piece of a file, cast to the types of columns.

    The piece is one block, as a document may be longer than those of pyarrow.
    """
    try:
        rows = json.read_json(pa.BufferReader(piece), json.ReadOptions(block_size=len(piece) + 1), options)
        return rows if columns is None else rows.cast(columns)
    except pa.ArrowInvalid as error:
        raise pa.ArrowInvalid(f"{path}: {error}") from error


def _pieces_of(file: BinaryIO) -> Iterator[bytes]:
    """Yields the bytes of a file, cut at ends of lines."""
    rest = b""
    while block := file.read(_PIECE):
        whole, end, cut = block.rpartition(b"\n")
        if not end:
            rest += block
            continue
        yield from _unless_blank(rest + whole)
        rest = cut
    yield from _unless_blank(rest)


def _unless_blank(piece: bytes) -> Iterator[bytes]:
    if not piece.isspace() and piece:
        yield piece


def _with_strings(kind: pa.DataType) -> pa.DataType:
    """Returns a type with strings in place of dates and times: a cast of strings does not drop a zone or a time."""
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return pa.struct([field.with_type(_with_strings(field.type)) for field in fields])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_strings(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_with_strings(kind.item_type)))
    return kind


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


FILE_TYPES = ", ".join(FORMATS)
"""The ends of names of files of rows, for help."""


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
        self._rows: JsonLines | ds.Dataset
        try:
            if self._format == "json":
                self._rows = JsonLines(self._paths, table)
                return
            # What pyarrow.dataset reads has the columns of the first file.
            self._rows = ds.dataset(self._paths, format=self._reader(None))
            for path in self._paths[1:]:
                self._compare(path, ds.dataset(path, format=self._reader(None)).schema)
            if table is not None and self._format in WITHOUT_TYPES:
                known = {field.name: field.type for field in table}
                schema = pa.schema([field.with_type(known.get(field.name, field.type)) for field in self.schema])
                self._rows = ds.dataset(self._paths, schema=schema, format=self._reader(schema))
        except (OSError, pa.ArrowException) as error:
            where = "" if self._format == "json" else f"{', '.join(self._paths)}: "
            raise InvalidArgumentError(f"{where}{error}") from error

    def close(self) -> None:
        """Deletes the copy of standard input."""
        if self._copy is not None:
            self._copy.close()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self._rows.schema

    @property
    def row_count(self) -> int | None:
        """The number of rows; None if the files would have to be read for it."""
        if isinstance(self._rows, JsonLines) or self._format in WITHOUT_TYPES:
            return None
        return int(self._rows.count_rows())

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
            raise InvalidArgumentError(f"{path}: the name must end with {FILE_TYPES}")
    if len(set(found.values())) > 1:
        raise InvalidArgumentError(f"files of one write must have one format, got {', '.join(paths)}")
    return next(name for name in found.values() if name is not None)
