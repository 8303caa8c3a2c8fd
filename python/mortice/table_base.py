"""What writes and services know of the table that they are methods of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["TableBase"]


class TableBase:
    """A table, which a subclass opens."""

    _storage_options: Mapping[str, Any]
    _arguments: Mapping[str, Any]

    @property
    def uri(self) -> str:
        """The table's base path."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Opens the table again, in the state that it has now."""
        raise NotImplementedError
