"""Catalogs: what a sync needs of one. `hive_metastore` and `glue` are their clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mortice._mortice import CatalogPartition, CatalogTable

__all__ = ["Catalog", "StoredTable"]


@dataclass(frozen=True)
class StoredTable:
    """What a sync compares of a table that the catalog has."""

    columns: Sequence[tuple[str, str]]
    partition_columns: Sequence[tuple[str, str]]


class Catalog(Protocol):
    """A catalog, opened."""

    def ensure_database(self, name: str, *, create: bool) -> None:
        """Creates a database that is missing, or raises `InvalidArgumentError`."""

    def table(self, database: str, name: str) -> StoredTable | None:
        """Returns a table; None if there is none."""

    def create_table(self, database: str, table: CatalogTable) -> None:
        """Creates a table."""

    def alter_table(self, database: str, table: CatalogTable) -> None:
        """Replaces columns, formats and properties of a table, and the columns of its partitions. Properties that
        others have added stay.
        """

    def drop_table(self, database: str, name: str) -> None:
        """Drops a table; its files stay."""

    def partitions(self, database: str, table: CatalogTable) -> list[CatalogPartition]:
        """Returns all partitions."""

    def add_partitions(self, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> None:
        """Adds partitions."""

    def drop_partitions(self, database: str, table: CatalogTable, partitions: list[CatalogPartition]) -> None:
        """Drops partitions; their files stay."""

    def close(self) -> None:
        """Ends the connection."""
