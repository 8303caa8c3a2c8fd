"""The table that queries, writes and services are methods of: where it is, and its state."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from mortice import _mortice, queries
from mortice._mortice import CatalogPartition, CatalogTable, SyncOptions
from mortice.catalogs.run import without_sync
from mortice.expressions.filters import Filters, normal_form
from mortice.reading.mergers import Merge, Merging, merging_of
from mortice.reading.read_options import ReadOptions
from mortice.values.argument_types import Options
from mortice.values.file_slice import FileSlice, FileSlices
from mortice.values.instants import TIMELINE_ZONE, InstantLike, instant_text
from mortice.values.timeline import Instant, Timeline
from mortice.writing.validators import Validator

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TableBase"]

ON_DAMAGE = "mortice.on_damage"
"""The option of writes and services for damaged log files: `raise`, the default, `warn` or `ignore`."""


class TableBase:
    """A table in the state that it had when a subclass opened it, or `refresh` did."""

    _storage_options: Mapping[str, str]
    _read_options: ReadOptions
    _native: _mortice.Table
    _merge: Merge | None
    _validators: tuple[Validator, ...]

    def refresh(self) -> None:
        """Opens the table again, to see commits that others made since. `follow` and scans that exist are not changed.

        Raises `TableNotFoundError`, `InvalidTableError`, `UnsupportedError` as when the table is opened.
        """
        self._native = _mortice.Table(self.uri, self._storage_options, **asdict(self._read_options))
        self._forget()

    def _forget(self) -> None:
        for name in ("schema", "properties", "timeline"):
            self.__dict__.pop(name, None)

    @property
    def uri(self) -> str:
        """The table's base path."""
        return self._native.uri

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns; Hudi's meta columns come first."""
        return pa.schema(self._native.schema())

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """The contents of `hoodie.properties`."""
        return MappingProxyType(self._native.properties)

    @property
    def partition_fields(self) -> list[str]:
        """The columns of the partition path."""
        return self._native.partition_fields

    @property
    def has_meta_columns(self) -> bool:
        """Whether files have Hudi's meta columns (`hoodie.populate.meta.fields`)."""
        return self._native.has_meta_columns

    @cached_property
    def timeline(self) -> Timeline:
        """The table's timeline: its active and archived instants and their metadata."""
        native = self._native

        def read(instant: Instant, plan: bool) -> str | None:
            return native.metadata(instant.requested_time, instant.action, instant.state, plan)

        active = (Instant(*instant) for instant in native.timeline())
        return Timeline(active, lambda: (Instant(*instant) for instant in native.archived()), read)

    def file_slices(self, as_of: InstantLike = None, filters: Filters = None) -> list[FileSlice]:
        """Returns the file slices that a snapshot reads; with `filters`, only those in partitions that can match."""
        slices = self._native.file_slices(self._instant(as_of), normal_form(filters, lambda: self.schema))
        return FileSlices(FileSlice.from_native(slice_) for slice_ in slices)

    def catalog_entries(
        self, options: SyncOptions, spark: str | None
    ) -> tuple[list[CatalogTable], list[CatalogPartition]]:
        """Returns what `mortice.sync` registers of the table: tables of a catalog, and their partitions."""
        return _mortice.catalog_entries(self._native, options, spark)

    @property
    def custom_merge(self) -> str | None:
        """The payload class or the strategy id of the record merger that merges records; None if there is none.

        It is the name to pass to `mortice.register_merger`.
        """
        return self._native.custom_merge

    def _merging(self) -> Merging | None:
        if self._merge is None or self.custom_merge is None:
            return merging_of(self.custom_merge)
        return Merging(self.custom_merge, self._merge)

    def prepare(self, query: queries.Query) -> queries.QueryPlan:
        """Returns the plan of a query, whose schema is known before files are listed (see `mortice.queries`).

        Raises `InvalidArgumentError`.
        """
        return query.prepare(self._native, self._merging())

    def preview(self, native: _mortice.Table) -> Self:
        """Returns the table that validators get, from the native one. Its own writes are not validated."""
        table = copy.copy(self)
        table._native = native  # noqa: SLF001
        table._validators = ()  # noqa: SLF001
        table._forget()  # noqa: SLF001
        return table

    def _instant(self, instant: InstantLike, argument: str = "as_of") -> str | None:
        zone = self.properties.get(TIMELINE_ZONE, "LOCAL")
        return instant_text(instant, zone, argument=argument, table_version=self._native.version)

    def _with_damage(self, options: Options | None) -> Options | None:
        """Returns options of a write or a service with what happens at a damaged log file, if the table has one."""
        on_damage = self._read_options.on_damage
        if on_damage is None or not isinstance(options, (Mapping, type(None))):
            return options
        return {ON_DAMAGE: on_damage, **(options or {})}

    def _target(self, options: Options | None) -> tuple[str, Mapping[str, str], Options | None]:
        """Returns the first arguments of a write or a service: base path, options of the storage, options."""
        return self.uri, self._storage_options, self._without_sync(self._with_damage(options))

    @staticmethod
    def _without_sync(options: Options | None) -> Options | None:
        """Returns options for the core. Raises what is wrong with those of a sync, before there is an instant."""
        return without_sync(options)
