"""The table that a statement names: by catalog name, by path (mortice.`/lake/trips`), or by a view.

Spark 4 stores the columns of a table with its entry in the catalog. So an entry is created again when columns have
changed. Where there are no entries, on Spark 3.5, names are views of the session.

A table without a location is managed: DROP TABLE deletes its files. For Spark its entry is external nevertheless. Of an
entry that is managed for Spark, columns cannot be dropped or renamed, it cannot be created for a folder that has files,
and RENAME TO moves the folder, while the path in the columns stays. So the entry has a mark instead, with the name that
the table was created with, and `mortice.spark.sql` deletes the files.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mortice import _mortice
from mortice.catalogs.run import without_sync
from mortice.errors import InvalidArgumentError, TableServiceError, UnsupportedError
from mortice.spark.execution.private import session_key
from mortice.spark.reading.read import read
from mortice.spark.settings.catalog_table import MANAGED, managed_name, stored_options
from mortice.spark.settings.option_names import Decision, decision, is_of_storage, near
from mortice.spark.settings.session import session_writes
from mortice.spark.settings.write_options import WriteTarget
from mortice.spark.statements.parameters import quoted, quoted_string
from mortice.table import Table
from mortice.values.argument_types import Options, OptionValue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_FORMAT = "mortice"
_MARK = "mortice_view"
_views: dict[tuple[str, str], SqlTable] = {}
_dependencies: dict[tuple[str, str], frozenset[str]] = {}


@dataclass(frozen=True)
class SqlTable:
    """A table of a statement."""

    path: str
    options: Options = field(default_factory=dict)
    """The options that it has in the catalog, or that its view has."""
    name: str | None = None
    """Its name in the catalog; None for paths and views."""
    is_managed: bool = False
    """Whether DROP TABLE deletes its files, as it was created without a location."""

    def write_options(self) -> dict[str, OptionValue]:
        """Returns the options of writes and of the storage.

        Properties of the table count as the table has them now: an upgrade may have changed those in the catalog.
        """
        return {name: value for name, value in self.options.items() if is_of_storage(name) or self._is_of_writes(name)}

    def _is_of_writes(self, name: str) -> bool:
        plain = name.lower()
        if self.name is not None and _mortice.is_table_property(plain):
            return False
        return plain.startswith("hoodie.") and decision(plain) not in (Decision.TAKEN, Decision.REFUSED)

    def read_options(self) -> dict[str, OptionValue]:
        """Returns the options of queries; those of writes alone would be warned of."""

        def is_of_writes_alone(name: str) -> bool:
            return name.startswith("hoodie.") and decision(name) is Decision.UNKNOWN and not near(name)

        return {name: value for name, value in self.options.items() if not is_of_writes_alone(name.lower())}

    def change_options(self, spark: SparkSession) -> dict[str, OptionValue]:
        """Returns the options of statements that change rows: those of writes, and before them those of the session."""
        return {**self.write_options(), **session_writes(spark)}

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


def has_entries(spark: SparkSession) -> bool:
    """Returns whether this Spark has tables of Python data sources in its catalog."""
    return int(spark.version.split(".")[0]) >= 4  # noqa: PLR2004


def named(parts: list[str]) -> str:
    """Returns a name as SQL has it."""
    return ".".join(quoted(part) for part in parts)


def done(spark: SparkSession) -> DataFrame:
    """Returns the result of a statement that returns nothing."""
    return spark.createDataFrame([], "done string").select()


def add_entry(
    spark: SparkSession, parts: list[str], table: SqlTable, comment: str | None, managed: str | None = None
) -> None:
    """Gives a table a name: in the catalog, or as a view of the session on Spark 3.5.

    Args:
        spark: The session.
        parts: The name.
        table: The table, with the options of its reads and writes.
        comment: What the catalog says of it.
        managed: The name that it is managed as; None if DROP TABLE keeps its files.
    """
    if has_entries(spark):
        spark.sql(_statement(parts, table, comment, managed))
    else:
        _add_view(spark, parts, SqlTable(table.path, table.options, is_managed=managed is not None))


def _statement(parts: list[str], table: SqlTable, comment: str | None, managed: str | None) -> str:
    pairs = {"path": table.path, **{name: value for name, value in table.options.items() if not is_of_storage(name)}}
    if managed is not None:
        pairs[MANAGED] = managed
    listed = ", ".join(f"{quoted_string(name)} {quoted_string(str(value))}" for name, value in pairs.items())
    said = "" if comment is None else f" COMMENT {quoted_string(comment)}"
    return f"CREATE TABLE {named(parts)} USING mortice OPTIONS ({listed}){said}"


def _add_view(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    if len(parts) > 1:
        raise UnsupportedError(
            f"{'.'.join(parts)}: Spark {spark.version} has no tables of Python data sources in its catalog, so the "
            "table becomes a view of the session; give it a name without a database",
            path=table.path,
        )
    make_view(spark, parts[0], table, read(spark, table.path, options=table.read_options()))


def renew_entry(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    """Shows the columns of a table under its name, after they have changed. Paths have nothing to renew.

    The new entry is made beside the old one, and gets its name when that is dropped: what the catalog refuses leaves
    the old entry. Raises `TableServiceError` if the name is lost, with the statement that registers it.
    """
    if is_view(spark, parts):
        make_view(spark, parts[0], table, read(spark, table.path, options=table.read_options()))
        return
    if table.name is None:
        return
    comment = entry_lines(spark, table.name).get("Comment")
    managed = managed_here(spark, parts) if table.is_managed else None
    beside = [*parts[:-1], f"{parts[-1]}_renewed_{uuid.uuid4().hex[:8]}"]
    try:
        add_entry(spark, beside, table, comment, managed)
    except Exception as error:
        raise _stale(table, parts, error) from error
    try:
        spark.sql(f"DROP TABLE {table.name}")
    except Exception as error:
        spark.sql(f"DROP TABLE IF EXISTS {named(beside)}")
        raise _stale(table, parts, error) from error
    try:
        spark.sql(f"ALTER TABLE {named(beside)} RENAME TO {named(parts)}")
    except Exception:  # noqa: BLE001 (a catalog such as Glue cannot rename)
        _add_again(spark, parts, beside, _statement(parts, table, comment, managed))


def _add_again(spark: SparkSession, parts: list[str], beside: list[str], statement: str) -> None:
    try:
        spark.sql(statement)
    except Exception as error:
        raise TableServiceError(
            f"the columns were changed, and the catalog has lost the name {named(parts)}: the entry of the table is "
            f'{named(beside)} now. Run spark.sql("{statement}") and spark.sql("DROP TABLE {named(beside)}"). The '
            f"catalog said: {error}"
        ) from error
    spark.sql(f"DROP TABLE {named(beside)}")


def _stale(table: SqlTable, parts: list[str], error: Exception) -> TableServiceError:
    return TableServiceError(
        f"the columns were changed, and {named(parts)} shows the former ones, as the catalog did not take the new "
        f"ones; to show them, change a comment by ALTER TABLE. The catalog said: {error}",
        path=table.path,
    )


def managed_here(spark: SparkSession, parts: list[str]) -> str:
    """Returns what the entry of a managed table with this name has."""
    return managed_as(parts if len(parts) > 1 else [spark.catalog.currentDatabase(), *parts])


def entry_lines(spark: SparkSession, name: str) -> dict[str, str]:
    """Returns the lines of the entry of a table; none if its catalog does not show them.

    `DESCRIBE` and `Catalog.getTable` show neither comment nor location of a table of a Python data source.
    """
    from pyspark.errors import PySparkException

    found = spark.catalog.getTable(name)
    database = named([*([found.catalog] if found.catalog else []), *(found.namespace or [])])
    pattern = quoted_string(found.name.replace("*", ".").replace("|", "."))
    try:
        rows = spark.sql(f"SHOW TABLE EXTENDED IN {database} LIKE {pattern}").collect()
    except PySparkException:
        return {}
    text = next((str(row["information"]) for row in rows if row["tableName"] == found.name), "")
    lines: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition(": ")
        if key == "Table Properties":
            break
        if separator:
            lines[key] = value
    return lines


def drop_entry(spark: SparkSession, parts: list[str], table: SqlTable) -> None:
    """Removes the name of a table; its files stay."""
    if is_view(spark, parts):
        spark.catalog.dropTempView(parts[0])
        _views.pop((session_key(spark), parts[0].lower()), None)
    else:
        spark.sql(f"DROP TABLE {table.name}")
