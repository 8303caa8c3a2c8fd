"""Types of arguments and results that several modules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

OptionValue: TypeAlias = str | bool | int | float
"""The value of an option; the core gets it as text."""

Options: TypeAlias = Mapping[str, OptionValue]
"""Options of writes and services, by Hudi's names."""

CredentialsFunction: TypeAlias = Callable[[], Mapping[str, object]]
"""Returns storage options with credentials, and when they expire (`mortice.credentials`)."""

StorageOptions: TypeAlias = Mapping[str, str | bool | int | CredentialsFunction]
"""Options of a storage, by name."""

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
"""What the module `json` reads."""

JsonObject: TypeAlias = dict[str, JsonValue]


class ArrowSchema(Protocol):
    """Columns, in the interface of Arrow that all its libraries have."""

    def __arrow_c_schema__(self) -> object: ...


class ArrowArray(Protocol):
    """An array or a record batch in that interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """Record batches in that interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


ArrowRows: TypeAlias = ArrowArray | ArrowStream

Rows: TypeAlias = ArrowRows | Mapping[str, Iterable[object]] | Iterable[object]
"""Rows in the forms that `Table.upsert` takes: Arrow data, columns by name, dicts, or record batches."""
