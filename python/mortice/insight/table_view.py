"""What this package uses of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from mortice._mortice import ArchiveResult, CleanResult, ClusterResult, CompactResult, Table
from mortice.expressions.filters import Filters
from mortice.reading.scan import Scan
from mortice.values.argument_types import Options
from mortice.values.file_slice import FileSlice
from mortice.values.instants import InstantLike
from mortice.values.timeline import Timeline

__all__ = ["TableView"]


class TableView(Protocol):
    """A table that is open: what `mortice.Table` has."""

    _native: Table
    _storage_options: Mapping[str, str]

    @property
    def uri(self) -> str:
        """The base path."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    @property
    def properties(self) -> Mapping[str, str]:
        """The contents of `hoodie.properties`."""

    @property
    def version(self) -> int:
        """The table version."""

    @property
    def has_meta_columns(self) -> bool:
        """Whether files have Hudi's meta columns."""

    @property
    def merge_mode(self) -> str:
        """How records of one key are merged."""

    @property
    def custom_merge(self) -> str | None:
        """The payload class or the strategy id of the merger."""

    @property
    def record_key_fields(self) -> list[str]:
        """The columns of the record key."""

    @property
    def partition_fields(self) -> list[str]:
        """The columns of the partition path."""

    @property
    def ordering_fields(self) -> list[str]:
        """The columns of the ordering value."""

    @property
    def timeline(self) -> Timeline:
        """The timeline."""

    def _given(self, options: Options | None) -> Mapping[str, str]:
        """Returns options of a service, checked."""

    def file_slices(self, as_of: InstantLike = None, filters: Filters = None) -> list[FileSlice]:
        """Returns the latest file slices."""

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
    ) -> Scan:
        """Returns the rows of base files."""

    def metadata_table(self) -> TableView | str | None:
        """Returns the metadata table; why it cannot be opened; None if there is none."""

    def refresh(self) -> None:
        """Opens the table again."""

    def compact(self, options: Options | None = None, *, schedule: bool = True, run: bool = True) -> CompactResult:
        """Merges log files into base files."""

    def cluster(self, options: Options | None = None, *, schedule: bool = True, run: bool = True) -> ClusterResult:
        """Rewrites small file groups."""

    def clean(self, options: Options | None = None) -> CleanResult:
        """Deletes old files."""

    def archive(self, options: Options | None = None) -> ArchiveResult:
        """Moves old instants to the archive."""
