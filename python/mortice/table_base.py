"""What writes and services know of the table that they are methods of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mortice.catalogs.options import without_sync
from mortice.file_slice import FileSlice
from mortice.timeline import Timeline

__all__ = ["TableBase"]

ON_DAMAGE = "mortice.on_damage"
"""The option of writes and services for damaged log files: `raise`, the default, `warn` or `ignore`."""


class TableBase:
    """A table, which a subclass opens."""

    _storage_options: Mapping[str, Any]
    _arguments: Mapping[str, Any]

    @property
    def uri(self) -> str:
        """The table's base path."""
        raise NotImplementedError

    def _with_damage(self, options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Returns options of a write or a service with what happens at a damaged log file, if the table has one."""
        on_damage = self._arguments.get("on_damage")
        if on_damage is None or not isinstance(options, (Mapping, type(None))):
            return options
        return {ON_DAMAGE: on_damage, **(options or {})}

    def _target(self, options: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any], Mapping[str, Any] | None]:
        """Returns the first arguments of a write or a service: base path, options of the storage, options."""
        return self.uri, self._storage_options, self._without_sync(self._with_damage(options))

    @staticmethod
    def _without_sync(options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Returns options for the core. Raises what is wrong with those of a sync, before there is an instant."""
        return without_sync(options)

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        raise NotImplementedError

    @property
    def properties(self) -> Mapping[str, str]:
        """The contents of `hoodie.properties`."""
        raise NotImplementedError

    @property
    def partition_fields(self) -> list[str]:
        """The columns of the partition path."""
        raise NotImplementedError

    def file_slices(self) -> list[FileSlice]:
        """Returns the newest file slices."""
        raise NotImplementedError

    @property
    def timeline(self) -> Timeline:
        """The table's timeline."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Opens the table again, in the state that it has now."""
        raise NotImplementedError
