"""The table that a write creates if there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import pyarrow as pa

from mortice import _mortice
from mortice.errors import MorticeError

__all__ = ["NewTable"]


class NewTable:
    """A table that a write may create. If the write then fails, the table is left without columns.

    So the next write, with other columns, is not refused.

    Args:
        uri: The table's base path.
        storage: Options of the storage.
    """

    def __init__(self, uri: str, storage: Mapping[str, str]) -> None:
        self.uri, self.storage = uri, storage
        self._is_created = False

    def create(self, operation: str, columns: pa.Table, options: Mapping[str, str]) -> None:
        """Creates the table.

        Args:
            operation: The operation of the write.
            columns: The columns of the rows.
            options: The options of the write.
        """
        self._is_created = _mortice.create_table_by_options(self.uri, self.storage, operation, columns, options)

    def forget_columns(self) -> None:
        """Removes the columns of the table if it was created here and has no commit."""
        if self._is_created:
            with contextlib.suppress(MorticeError):
                _mortice.forget_schema(self.uri, self.storage)

    @contextlib.contextmanager
    def forgotten_on_error(self) -> Iterator[None]:
        """Calls `forget_columns` if the block raises anything."""
        try:
            yield
        except BaseException:
            self.forget_columns()
            raise
