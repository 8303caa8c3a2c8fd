"""The table that a statement names: by catalog name, by path (mortice.`/lake/trips`), or by a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mortice.catalogs.options import without_sync
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.private import session_key
from mortice.spark.settings.catalog_table import managed_name, stored_options
from mortice.spark.settings.option_names import Decision, decision, is_of_storage
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.tokens import quoted
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SqlTable", "forget_view", "is_path", "is_view", "managed_as", "named_table", "remember_view"]

_FORMAT = "mortice"
_views: dict[tuple[str, str], SqlTable] = {}


@dataclass(frozen=True)
class SqlTable:
    """A table of a statement."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options that it has in the catalog, or that its view has."""
    name: str | None = None
    """Its name in the catalog; None for paths and views."""
    is_managed: bool = False
    """Whether DROP TABLE deletes its files, as it was created without a location."""

    def write_options(self) -> dict[str, Any]:
        """Returns the options of writes and of the storage."""
        return {
            name: value
            for name, value in self.options.items()
            if is_of_storage(name)
            or (name.lower().startswith("hoodie.") and decision(name.lower()) not in (Decision.TAKEN, Decision.REFUSED))
        }

    def opened(self, spark: SparkSession) -> Table:
        """Returns the table, with the session's settings of the storage."""
        target = WriteTarget.from_options(self.path, without_sync(self.write_options()))
        return Table(target.uri, storage_options=target.storage_options(spark))


def is_path(parts: Sequence[str]) -> bool:
    """Returns true for a name such as mortice.`/lake/trips`."""
    return len(parts) == 2 and parts[0].lower() == _FORMAT and ("/" in parts[1] or "\\" in parts[1])  # noqa: PLR2004


def is_view(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Returns true for a view that was made for a table."""
    return len(parts) == 1 and (session_key(spark), parts[0].lower()) in _views


def remember_view(spark: SparkSession, name: str, table: SqlTable) -> None:
    """Stores the table of a view that was made for it."""
    _views[session_key(spark), name.lower()] = table


def forget_view(spark: SparkSession, name: str) -> None:
    """Forgets the table of a view that is dropped."""
    _views.pop((session_key(spark), name.lower()), None)


def managed_as(parts: Sequence[str]) -> str:
    """Returns the name of a table, with its database, as entries of managed tables have it."""
    return ".".join(quoted(part.lower()) for part in parts[-2:])


def named_table(spark: SparkSession, parts: Sequence[str]) -> SqlTable | None:
    """Returns the table of a name; None if it is not one of mortice."""
    if is_path(parts):
        return SqlTable(parts[1])
    if len(parts) == 1 and (view := _views.get((session_key(spark), parts[0].lower()))) is not None:
        return view
    return _of_catalog(spark, ".".join(quoted(part) for part in parts))


def _of_catalog(spark: SparkSession, name: str) -> SqlTable | None:
    from pyspark.errors import PySparkException

    try:
        described = [tuple(row)[:2] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()]
    except PySparkException:
        return None
    start = next((at for at, row in enumerate(described) if str(row[0]).startswith("# Detailed")), len(described))
    about = {str(key): str(value) for key, value in described[start:]}
    # Spark 4.3 shows neither the provider nor the path of a table of a Python data source.
    if about.get("Type", "").upper() not in ("MANAGED", "EXTERNAL") or about.get("Provider", _FORMAT) != _FORMAT:
        return None
    # A copy of a table has its columns, and their metadata; the marked column of a copy is a varchar.
    if any(str(kind).startswith("varchar(1") for _, kind in described[:start]):
        return None
    schema = spark.table(name).schema
    options = dict(stored_options(schema) or {})
    path = options.pop("path", None)
    if path is None and "Provider" not in about:
        return None
    if path is None:
        raise InvalidArgumentError(f"the catalog has no path of the table {name}; name it by its path: mortice.`/path`")
    return SqlTable(str(path), options, name, _is_managed(spark, name, managed_name(schema)))


def _is_managed(spark: SparkSession, name: str, managed: str | None) -> bool:
    """Returns whether an entry has its own name: not if it is a copy, or was renamed by Spark alone."""
    if managed is None:
        return False
    found = spark.catalog.getTable(name)
    return managed == managed_as([*(found.namespace or []), found.name])
