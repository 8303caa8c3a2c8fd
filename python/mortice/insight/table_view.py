"""What this package uses of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from mortice._mortice import FileSlice, Table
from mortice.expressions import Filters
from mortice.reading.scan import Scan
from mortice.values.argument_types import Options
from mortice.values.instants import InstantLike
from mortice.values.timeline import Timeline

__all__ = ["TableView"]


class TableView(Protocol):
    """A table that is open: what `mortice.Table` has, and describes."""

    _native: Table
    _storage_options: Mapping[str, str]

    @property
    def uri(self) -> str: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def version(self) -> int: ...
    @property
    def has_meta_columns(self) -> bool: ...
    @property
    def merge_mode(self) -> str: ...
    @property
    def custom_merge(self) -> str | None: ...
    @property
    def record_key_fields(self) -> list[str]: ...
    @property
    def partition_fields(self) -> list[str]: ...
    @property
    def ordering_fields(self) -> list[str]: ...
    @property
    def timeline(self) -> Timeline: ...
    def _given(self, options: Options | None) -> Mapping[str, str]: ...
    def file_slices(self, as_of: InstantLike = None, filters: Filters = None) -> list[FileSlice]: ...
    def snapshot(
        self,
        columns: Sequence[str] | None = None,
        filters: Filters = None,
        as_of: InstantLike = None,
        merge: bool = True,
        emit_deletes: bool = False,
    ) -> Scan:
        """Returns the rows.

        Args:
            columns: The columns.
            filters: Predicates.
            as_of: The instant of time travel.
            merge: Whether records of a key are merged.
            emit_deletes: Whether deleted keys are rows, too.
        """

    def read_optimized(
        self, columns: Sequence[str] | None = None, filters: Filters = None, as_of: InstantLike = None
    ) -> Scan: ...
