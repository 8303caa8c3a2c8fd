"""The table that a statement names: by catalog name, by path (mortice.`/lake/trips`), or by a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mortice import _mortice
from mortice.catalogs.options import without_sync
from mortice.errors import InvalidArgumentError
from mortice.spark.execution.private import session_key
from mortice.spark.settings.catalog_table import managed_name, stored_options
from mortice.spark.settings.option_names import Decision, decision, is_of_storage
from mortice.spark.settings.session_options import session_index
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.tokens import quoted
from mortice.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "SqlTable",
    "depend_on_views",
    "forget_view",
    "is_path",
    "is_view",
    "make_view",
    "managed_as",
    "named_table",
    "qualifiers",
    "views_named",
]

_FORMAT = "mortice"
_MARK = "mortice_view"
_views: dict[tuple[str, str], SqlTable] = {}
_dependencies: dict[tuple[str, str], frozenset[str]] = {}


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
        """Returns the options of writes and of the storage.

        Properties of the table count as the table has them now: an upgrade may have changed those in the catalog.
        """
        return {name: value for name, value in self.options.items() if is_of_storage(name) or self._is_of_writes(name)}

    def _is_of_writes(self, name: str) -> bool:
        plain = name.lower()
        if self.name is not None and _mortice.is_table_property(plain):
            return False
        return plain.startswith("hoodie.") and decision(plain) not in (Decision.TAKEN, Decision.REFUSED)

    def change_options(self, spark: SparkSession) -> dict[str, Any]:
        """Returns the options of statements that change rows: those of writes, with the index that the session sets."""
        return {**self.write_options(), **session_index(spark)}

    def opened(self, spark: SparkSession) -> Table:
        """Returns the table, with the session's settings of the storage."""
        target = WriteTarget.from_options(self.path, without_sync(self.write_options()))
        return Table(target.uri, storage_options=target.storage_options(spark))


def is_path(parts: Sequence[str]) -> bool:
    """Returns true for a name such as mortice.`/lake/trips`."""
    return len(parts) == 2 and parts[0].lower() == _FORMAT and ("/" in parts[1] or "\\" in parts[1])  # noqa: PLR2004


def is_view(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Returns true for a view that was made for a table, and that no other view of its name has replaced."""
    key = (session_key(spark), parts[0].lower())
    if len(parts) != 1 or key not in _views:
        return False
    if _has_mark(spark, parts[0]):
        return True
    _views.pop(key, None)
    return False


def _has_mark(spark: SparkSession, name: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        fields = spark.table(quoted(name)).schema.fields
    except PySparkException:
        return False
    return any((field.metadata or {}).get(_MARK) for field in fields)


def make_view(spark: SparkSession, name: str, table: SqlTable, rows: DataFrame) -> None:
    """Makes a view for a table.

    Args:
        spark: The session.
        name: The name of the view.
        table: The table.
        rows: The rows of its newest state.
    """
    from pyspark.sql import functions as f

    marked, *others = rows.columns
    # The mark is how a view of the same name that others have made is known.
    first = f.col(quoted(marked)).alias(marked, metadata={**(rows.schema[marked].metadata or {}), _MARK: True})
    rows.select(first, *(f.col(quoted(one)) for one in others)).createOrReplaceTempView(quoted(name))
    _views[session_key(spark), name.lower()] = table


def forget_view(spark: SparkSession, name: str) -> None:
    """Forgets the table of a view that is dropped."""
    _views.pop((session_key(spark), name.lower()), None)


def depend_on_views(spark: SparkSession, name: str, views: Iterable[str]) -> None:
    """Stores which views for tables a view depends on, of those that there are."""
    session = session_key(spark)
    found = {one for view in views for one in (view.lower(), *_dependencies.get((session, view.lower()), ()))}
    _dependencies[session, name.lower()] = frozenset(one for one in found if (session, one) in _views)


def views_named(spark: SparkSession, names: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Returns the views for tables that a statement reads, and those that other views of it depend on.

    Args:
        spark: The session.
        names: Names of tables and views, in lower case.
        others: The last parts of longer names.
    """
    session = session_key(spark)
    found = {*names, *(one for name in (*names, *others) for one in _dependencies.get((session, name), ()))}
    return sorted(one for one in found if is_view(spark, [one]))


def qualifiers(spark: SparkSession, parts: Sequence[str]) -> list[list[str]]:
    """Returns the longer names of a table by which its columns can be qualified, as their parts in lower case."""
    if is_path(parts) or is_view(spark, parts):
        return []
    catalog, database = str(spark.catalog.currentCatalog()), str(spark.catalog.currentDatabase())
    missing = 3 - len(parts)
    full = [*([catalog, database][:missing] if missing > 0 else []), *parts]
    lower = [part.lower() for part in full]
    return [lower[at:] for at in range(len(lower) - 1)]


def managed_as(parts: Sequence[str]) -> str:
    """Returns the name of a table, with its database, as entries of managed tables have it."""
    return ".".join(quoted(part.lower()) for part in parts[-2:])


def named_table(spark: SparkSession, parts: Sequence[str]) -> SqlTable | None:
    """Returns the table of a name; None if it is not one of mortice."""
    if is_path(parts):
        return SqlTable(parts[1])
    if is_view(spark, parts):
        return _views[session_key(spark), parts[0].lower()]
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
