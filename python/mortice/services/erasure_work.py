"""The work of an erasure in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from mortice.expressions.filters import Filters
from mortice.reading.scan import Scan
from mortice.services.erasure import UNAIDED

if TYPE_CHECKING:
    from mortice.services.remains import Erased

__all__ = ["ProcessWork"]


class WrittenTable(Protocol):
    """What the work needs of a table."""

    @property
    def uri(self) -> str: ...
    def snapshot(self, columns: Any = None, filters: Filters = None, as_of: Any = None) -> Scan: ...
    def read_optimized(self, columns: Any = None, filters: Filters = None) -> Scan: ...
    def delete_where(self, filters: Filters, options: Mapping[str, Any] | None = None) -> Any: ...
    def compact(self, options: Mapping[str, Any] | None = None) -> Any: ...


class ProcessWork:
    """Reads and writes rows in this process.

    Args:
        table: The table.
        open_table: Opens a table.
    """

    def __init__(self, table: WrittenTable, open_table: Callable[..., WrittenTable]) -> None:
        self._table = table
        self._open_table = open_table

    def count(self, terms: Any, as_of: str | None = None) -> int:
        """As `ErasureWork.count`."""
        return self._table.snapshot(columns=[], filters=terms, as_of=as_of).count()

    def count_unaided(self, terms: Any) -> int:
        """As `ErasureWork.count_unaided`."""
        table = self._open_table(self._table.uri, read_options=UNAIDED)
        return max(query(columns=[], filters=terms).count() for query in (table.snapshot, table.read_optimized))

    def values(self, columns: Sequence[str], terms: Any) -> dict[str, pa.Array]:
        """As `ErasureWork.values`."""
        from mortice.services.remains import distinct_values

        return distinct_values(self._table.snapshot(columns=list(columns), filters=terms).to_reader())

    def delete_where(self, terms: Any, options: Mapping[str, Any] | None) -> None:
        """As `ErasureWork.delete_where`."""
        self._table.delete_where(terms, options)

    def compact(self, options: Mapping[str, Any] | None) -> None:
        """As `ErasureWork.compact`."""
        self._table.compact(options)

    def search(self, paths: Sequence[Path], erased: Erased) -> Iterable[tuple[Path, str]]:
        """As `ErasureWork.search`."""
        from mortice.services.remains import search_files

        return search_files(paths, erased)

    def is_in_metadata(self, folder: Path, erased: Erased) -> bool:
        """As `ErasureWork.is_in_metadata`."""
        from mortice.services.remains import is_in_records

        return is_in_records(self._open_table(str(folder)).snapshot().to_reader(), erased)
