"""DROP TABLE: the name, and the files of a managed table, or of any table with PURGE, as Hudi deletes them.

The entry of the catalog is dropped first, then the files are deleted. A process that ends in between leaves a table
without a name, which is whole, or no table.

Local folders are deleted by Python. Folders elsewhere are deleted by Hadoop's file system, as Spark deletes those of
its own managed tables: with the settings of the session, which Spark Connect does not show.

A table is a table as long as it has `.hoodie/hoodie.properties`. So that file is deleted first, in one request: a
process that ends in between leaves either the whole table, or no table and files that nobody reads. New tables are
not created among such files (`TableFolder.check_vacant`): a reader takes data files that are older than the timeline
for committed ones.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mortice.errors import InvalidArgumentError, StorageError, UnsupportedError
from mortice.spark.execution.data_frame import is_connect
from mortice.spark.execution.private import hadoop_configuration
from mortice.spark.statements.statement_text import StatementText
from mortice.spark.statements.targets import (
    SqlTable,
    done,
    drop_entry,
    has_entries,
    is_path,
    is_view,
    named,
    named_table,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_HOODIE = ".hoodie"
_PROPERTIES = "hoodie.properties"
_BACKUP = "hoodie.properties.backup"
"""Hudi reads it if the properties are missing."""
_OF_PARTITION = ".hoodie_partition_metadata"


@dataclass(frozen=True)
class Entry:
    """A file, a link or a folder within a folder."""

    name: str
    is_folder: bool
    """False for a link to a folder."""


class Files(Protocol):
    """The file system of a table."""

    def listed(self, path: str) -> list[Entry] | None:
        """Returns what is in a folder; None if there is no such folder."""

    def is_link(self, path: str) -> bool:
        """Returns whether a path is a link to a folder."""

    def parents(self, path: str) -> list[str]:
        """Returns the folders above a folder, the nearest first."""

    def delete_file(self, path: str) -> None:
        """Deletes a file or a link."""

    def delete_folder(self, path: str) -> None:
        """Deletes a folder with all that is in it. Links are deleted, and not followed."""


class LocalFiles:
    """The file system of this machine."""

    def listed(self, path: str) -> list[Entry] | None:
        try:
            with os.scandir(path) as found:
                return [Entry(one.name, one.is_dir(follow_symlinks=False)) for one in found]
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_link(self, path: str) -> bool:
        return os.path.islink(path.rstrip("/"))  # noqa: PTH114 (as the paths here are strings)

    def parents(self, path: str) -> list[str]:
        # Links above the table are those of the file system, such as /tmp.
        at, found = os.path.realpath(path), []
        while (above := os.path.dirname(at)) != at:  # noqa: PTH120
            found.append(above)
            at = above
        return found

    def delete_file(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108

    def delete_folder(self, path: str) -> None:
        shutil.rmtree(path)


class HadoopFiles:
    """A file system of Hadoop, with the settings of a session of classic Spark."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._files: Any = self._path(uri).getFileSystem(hadoop_configuration(spark))

    def listed(self, path: str) -> list[Entry] | None:
        at = self._path(path)
        if not self._files.exists(at):
            return None
        found = self._files.listStatus(at)
        return [Entry(str(one.getPath().getName()), bool(one.isDirectory())) for one in found]

    def is_link(self, path: str) -> bool:
        at = self._path(path)
        return bool(self._files.exists(at)) and bool(self._files.getFileLinkStatus(at).isSymlink())

    def parents(self, path: str) -> list[str]:
        at, found = self._path(path), []
        while (at := at.getParent()) is not None:
            found.append(str(at.toString()))
        return found

    def delete_file(self, path: str) -> None:
        self._deleted(path, is_recursive=False)

    def delete_folder(self, path: str) -> None:
        self._deleted(path, is_recursive=True)

    def _deleted(self, path: str, *, is_recursive: bool) -> None:
        at = self._path(path)
        if not self._files.delete(at, is_recursive) and self._files.exists(at):
            raise OSError(f"the file system did not delete {path}")


class TableFolder:
    """The folder of one table."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path.rstrip("/")
        self._files = files

    @staticmethod
    def at(spark: SparkSession, path: str) -> TableFolder:
        """Returns the folder at a path. Raises `UnsupportedError` if this session has no access to its files."""
        scheme, separator, rest = path.partition(":")
        if scheme == "file" and separator:
            path, separator = "/" + rest.lstrip("/"), ""
        if "://" not in path:
            return TableFolder(LocalFiles(), path)
        remedy = (
            "delete the folder by a tool of the store, and remove the name alone by spark.sql('DROP TABLE …'), which "
            "keeps the files"
        )
        if is_connect(spark):
            raise UnsupportedError(f"files there cannot be deleted through Spark Connect; {remedy}", path=path)
        try:
            return TableFolder(HadoopFiles(spark, path), path)
        except Exception as error:
            raise UnsupportedError(f"Spark has no file system for {scheme}://; {remedy}", path=path) from error

    def check_vacant(self) -> None:
        """Refuses a folder for a new table that has files and no table: those that a broken DROP TABLE has left."""
        if self._files.listed(self.path) and not self._is_table(self.path):
            raise InvalidArgumentError(
                "the folder of the new table is not empty, and there is no table in it; delete the folder, or name "
                "another one (LOCATION '…')",
                path=self.path,
            )

    def check_deletable(self) -> bool:
        """Returns whether there is a folder. Refuses one that is not exactly the folder of one table."""
        if self._files.is_link(self.path):
            raise self._refusal("it is a link")
        found = self._files.listed(self.path)
        if not found:
            return found is not None
        if not any(one.name == _HOODIE and one.is_folder for one in found) or not self._is_table(self.path):
            raise self._refusal("there is no table in it (.hoodie/hoodie.properties)")
        parents = self._files.parents(self.path)
        if not parents:
            raise self._refusal("it is the root of its file system")
        for parent in parents:
            if self._is_table(parent):
                raise self._refusal(f"it is in the folder of the table {parent}")
        folders = [(self.path, found)]
        while folders:
            at, entries = folders.pop()
            self._check_entries(at, entries)
            for one in entries:
                # The metadata table is part of the table.
                if one.is_folder and not (at == self.path and one.name == _HOODIE):
                    below = f"{at}/{one.name}"
                    folders.append((below, self._files.listed(below) or []))
        return True

    def _check_entries(self, at: str, entries: list[Entry]) -> None:
        if at != self.path and any(one.name == _HOODIE for one in entries):
            raise self._refusal(f"there is another table in it: {at}")
        names = [one.name for one in entries if not one.is_folder]
        others = [name for name in names if not name.startswith(".")]
        if others and not any(name.startswith(_OF_PARTITION) for name in names):
            raise self._refusal(f"the file {at}/{others[0]} is not one of the table: {at} is no partition")

    def delete(self) -> None:
        """Deletes the folder: the properties first, so that there is no table any more, and `.hoodie` at last."""
        hoodie = f"{self.path}/{_HOODIE}"
        names = [one.name for one in self._files.listed(hoodie) or []]
        for name in (_BACKUP, _PROPERTIES):
            if name in names:
                self._files.delete_file(f"{hoodie}/{name}")
        for one in self._files.listed(self.path) or []:
            if one.name == _HOODIE:
                continue
            below = f"{self.path}/{one.name}"
            if one.is_folder:
                self._files.delete_folder(below)
            else:
                self._files.delete_file(below)
        self._files.delete_folder(self.path)

    def _is_table(self, path: str) -> bool:
        return any(one.name == _PROPERTIES for one in self._files.listed(f"{path.rstrip('/')}/{_HOODIE}") or [])

    def _refusal(self, reason: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"DROP TABLE does not delete this folder: {reason}; spark.sql('DROP TABLE …') removes the name alone",
            path=self.path,
        )


def drop_table(spark: SparkSession, statement: StatementText) -> DataFrame | None:
    """Runs DROP TABLE, and DROP VIEW of a view for a table; None for names that are not of mortice."""
    parsed = statement.parsed
    is_of_view, (name,) = parsed.kind == "drop_view", parsed.names
    parts = name.parts
    if is_path(parts):
        raise statement.error("a path has no name to drop; delete the folder to delete the table", name.behind)
    if parsed.if_exists and not is_view(spark, parts) and not spark.catalog.tableExists(named(parts)):
        return done(spark)
    if is_of_view and not is_view(spark, parts):
        return None
    table = _table(spark, parts)
    if table is None:
        return None
    if parsed.purges and is_view(spark, parts) and (is_of_view or has_entries(spark)):
        raise statement.error("PURGE is for tables; a view has no files: delete the folder of its table", name.behind)
    _drop(spark, parts, table, deletes=not is_of_view and (parsed.purges or table.is_managed))
    return done(spark)


def _table(spark: SparkSession, parts: list[str]) -> SqlTable | None:
    try:
        return named_table(spark, parts)
    except InvalidArgumentError:
        # An entry without a path; Spark can drop it.
        return None


def _drop(spark: SparkSession, parts: list[str], table: SqlTable, *, deletes: bool) -> None:
    folder = TableFolder.at(spark, table.path) if deletes else None
    is_there = folder is not None and folder.check_deletable()
    drop_entry(spark, parts, table)
    if folder is None or not is_there:
        return
    try:
        folder.delete()
    except Exception as error:
        raise StorageError(
            f"{named(parts)} was dropped, and some of its files could not be deleted; delete the rest of the folder: "
            f"{error}",
            path=folder.path,
        ) from error
