"""Files of JSON documents, one for each line, as Arrow data of a table's types.

`pyarrow.dataset` looks for columns in the first megabyte, leaves out those that come later and fields that a struct
does not have, and takes dates as numbers of days. Here a field is read or is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from pyarrow import json

__all__ = ["JsonLines"]

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
