"""Writes of Arrow data to a table."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import pyarrow as pa

from mortice._mortice import Commit
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.expressions import Filter, Filters, SchemaOf, normal_form
from mortice.values.argument_types import ArrowRows, Options
from mortice.values.damage import caller_level
from mortice.values.type_names import arrow_type
from mortice.values.visible_text import visible_text
from mortice.writing.user_functions import CommitCheck

__all__ = [
    "GENERATED_KEY",
    "SCHEMA_CHANGES",
    "SchemaChanges",
    "WriteRows",
    "checked_batches",
    "checked_options",
    "checked_table",
    "column_changes",
    "raising_causes",
    "terms_to_delete",
    "warn_of",
    "with_nulls",
    "with_schema",
]

SchemaChanges = Literal["exact", "add", "evolve"]
"""Which changes of the table's columns a write may make: none, new columns, or new columns and wider types."""
SCHEMA_CHANGES = "mortice.write.schema"
"""The option that has the same values."""

GENERATED_KEY = ("_hoodie_record_key", "_hoodie_partition_path")
"""The columns that name a row of a table without key fields."""


WriteRows = Callable[[ArrowRows, Mapping[str, str], CommitCheck | None], Commit]
"""A write of the native table: of Arrow data, with checked options."""


def raising_causes(write: WriteRows) -> WriteRows:
    """Has a write raise the error that ended the rows of a reader.

    The C stream interface passes on the traceback of an error as its text.
    """

    @functools.wraps(write)
    def raising(data: ArrowRows, options: Mapping[str, str], check: CommitCheck | None) -> Commit:
        failures: list[InvalidArgumentError] = []
        try:
            return write(checked_batches(data, failures), options, check)
        except MorticeError:
            if failures:
                raise failures[0] from failures[0].__cause__
            raise

    return raising


def checked_batches(data: ArrowRows, failures: list[InvalidArgumentError] | None = None) -> Any:
    """Returns the rows; of a reader, those of one that refuses a batch of other columns than its schema has.

    A reader that is made of a generator yields what that yields, and the C stream interface has no type for each batch:
    numbers of another type would be read as other numbers.

    Args:
        data: Arrow data.
        failures: Gets the error that ends the rows of a reader.
    """
    if not isinstance(data, pa.RecordBatchReader):
        return data

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from _of_one_schema(data)
        except (pa.ArrowException, OSError) as error:
            failure = InvalidArgumentError(f"the rows cannot be read: {error}")
            failure.__cause__ = error
            if failures is not None:
                failures.append(failure)
            raise failure from error
        except InvalidArgumentError as error:
            if failures is not None:
                failures.append(error)
            raise

    return pa.RecordBatchReader.from_batches(data.schema, batches())


def _of_one_schema(data: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(data):
        if batch.schema != data.schema:
            raise InvalidArgumentError(
                f"batch {number} of the rows has other columns than their schema: {_described(batch.schema)}, and not "
                f"{_described(data.schema)}"
            )
        yield batch


def checked_table(data: ArrowRows) -> pa.Table:
    """Returns rows as a table. Raises `InvalidArgumentError` for batches that are not of the rows' schema."""
    try:
        return pa.table(checked_batches(data))
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"the Arrow data cannot be read: {error}") from error


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema) or "no columns"


def terms_to_delete(filters: Filters, schema: SchemaOf | None = None) -> Filter:
    """Returns the filters of a delete. Raises `InvalidArgumentError` if they select all rows."""
    normal = normal_form(filters, schema)
    if not normal:
        raise InvalidArgumentError("filters must select rows; insert_overwrite_table without rows deletes all of them")
    return normal


def with_nulls(
    rows: ArrowRows, kept: Collection[str], options: Options | None
) -> tuple[pa.RecordBatchReader, dict[str, str]]:
    """Returns rows with some of their columns only, and options by which the others are written as null.

    Args:
        rows: Arrow data.
        kept: The columns to keep; of nested ones the top-level column.
        options: Options of the write.
    """
    reader = (
        pa.RecordBatchReader.from_stream(rows) if hasattr(rows, "__arrow_c_stream__") else pa.table(rows).to_reader()
    )
    columns = {name.split(".")[0].split(":")[0] for name in kept}
    if set(GENERATED_KEY) <= columns and not set(GENERATED_KEY) <= set(reader.schema.names):
        raise InvalidArgumentError(
            f"the table has no key fields: rows need the columns {' and '.join(GENERATED_KEY)}, as a query of the "
            "table returns them"
        )
    names = [name for name in reader.schema.names if name in columns]
    schema = pa.schema([reader.schema.field(name) for name in names])
    narrow = pa.RecordBatchReader.from_batches(schema, (batch.select(names) for batch in checked_batches(reader)))
    return narrow, {**checked_options(options), "hoodie.write.set.null.for.missing.columns": "true"}


def with_schema(options: Options | None, schema: SchemaChanges | None) -> dict[str, str]:
    """Returns the options of a write, checked, with the changes of columns that an argument allows.

    Args:
        options: Options of the write, by Hudi's names.
        schema: The argument; None leaves the decision to the options.

    Raises:
        InvalidArgumentError: The argument has another value, or the option has and both are given.
    """
    checked = checked_options(options)
    if schema is None:
        return checked
    if schema not in get_args(SchemaChanges):
        raise InvalidArgumentError(f"schema must be 'exact', 'add' or 'evolve', got {schema!r}")
    if checked.setdefault(SCHEMA_CHANGES, schema) != schema:
        raise InvalidArgumentError(
            f"schema={schema!r} contradicts the option {SCHEMA_CHANGES}={checked[SCHEMA_CHANGES]}; leave one out"
        )
    return checked


def warn_of(sentences: Sequence[str]) -> None:
    """Warns of options that have no effect, in the sentences of the native module, at the line that called mortice."""
    for sentence in sentences:
        warnings.warn(visible_text(sentence), UserWarning, stacklevel=caller_level())


def checked_options(given: Mapping[str, object] | None) -> dict[str, str]:
    """Options as strings: booleans in lower case, numbers as digits. Raises `InvalidArgumentError` for other values."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgumentError(f"options must be a mapping of names to values, got {type(given).__name__}")
    checked = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int, float)):
            raise InvalidArgumentError(f"options must map names to strings, got {name!r}: {value!r}")
        checked[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return checked


def column_changes(given: Mapping[str, Any]) -> dict[str, object]:
    """Returns the arguments of `Table.alter` as the native module takes them: types as columns that have no rows.

    Raises `InvalidArgumentError` for other values than paths, names and types.
    """
    changes: dict[str, object] = {}
    for name in ("drop", "nullable"):
        listed = given[name] or ()
        changes[name] = [listed] if isinstance(listed, str) else list(listed)
    for name in ("rename", "comment", "move"):
        pairs = dict(given[name] or {})
        if not all(isinstance(text, str) or (name == "move" and text is None) for text in pairs.values()):
            to = "names of columns or None" if name == "move" else "strings"
            raise InvalidArgumentError(f"{name} maps paths to {to}, got {pairs!r}")
        changes[name] = list(pairs.items())
    for name in ("type", "add"):
        kinds = given[name] or {}
        pairs = {field.name: field.type for field in kinds} if isinstance(kinds, pa.Schema) else dict(kinds)
        fields = [pa.field(path, arrow_type(path, kind, name)) for path, kind in pairs.items()]
        changes[name] = pa.schema(fields).empty_table()
    return changes
