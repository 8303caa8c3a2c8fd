"""What writes and services know of the table that they are methods of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
        return self.uri, self._storage_options, self._with_damage(options)

    @property
    def timeline(self) -> Timeline:
        """The table's timeline."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Opens the table again, in the state that it has now."""
        raise NotImplementedError
