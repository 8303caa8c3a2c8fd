"""The work of an erasure in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from mortice.expressions.filters import Filters
from mortice.reading.scan import Scan
from mortice.services.erasure import UNAIDED
from mortice.values.argument_types import Options
from mortice.values.instants import InstantLike

if TYPE_CHECKING:
    from mortice.services.remains import Erased

__all__ = ["ProcessWork"]


class WrittenTable(Protocol):
    """What the work needs of a table."""

    @property
    def uri(self) -> str: ...
    def snapshot(
        self, columns: Sequence[str] | str | None = None, filters: Filters = None, as_of: InstantLike = None
    ) -> Scan: ...
    def read_optimized(self, columns: Sequence[str] | str | None = None, filters: Filters = None) -> Scan: ...
    def delete_where(self, filters: Filters, options: Options | None = None) -> object: ...
    def compact(self, options: Options | None = None) -> object: ...


class ProcessWork:
    """Reads and writes rows in this process.

    Args:
        table: The table.
        open_table: Opens a table.
    """

    def __init__(self, table: WrittenTable, open_table: Callable[..., WrittenTable]) -> None:
        self._table = table
        self._open_table = open_table

    def count(self, terms: Filters, as_of: str | None = None) -> int:
        """As `ErasureWork.count`."""
        return self._table.snapshot(columns=[], filters=terms, as_of=as_of).count()

    def count_unaided(self, terms: Filters) -> int:
        """As `ErasureWork.count_unaided`."""
        table = self._open_table(self._table.uri, read_options=UNAIDED)
        return max(query(columns=[], filters=terms).count() for query in (table.snapshot, table.read_optimized))

    def values(self, columns: Sequence[str], terms: Filters) -> dict[str, pa.Array]:
        """As `ErasureWork.values`."""
        from mortice.services.remains import distinct_values

        return distinct_values(self._table.snapshot(columns=list(columns), filters=terms).to_reader())

    def delete_where(self, terms: Filters, options: Options | None) -> None:
        """As `ErasureWork.delete_where`."""
        self._table.delete_where(terms, options)

    def compact(self, options: Options | None) -> None:
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
