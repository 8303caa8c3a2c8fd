"""Erases rows so that no file of the table holds them, and proves it: for a legal duty to delete.

Rows are deleted, log files are compacted away, all older file versions are cleaned, and the metadata table, whose
statistics keep values as minimum and maximum, is built again. Then all files that remain are read.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from mortice.errors import InvalidArgumentError, TableServiceError, UnsupportedError
from mortice.expressions.filters import Filter, Filters, normal_form
from mortice.reading.read_options import ReadOptions
from mortice.values.argument_types import Options
from mortice.values.timeline import Timeline

if TYPE_CHECKING:
    from mortice.services.remains import Erased

__all__ = ["UNAIDED", "Erasure", "ErasureWork", "erase", "plan_erase"]

RECORD_KEY = "_hoodie_record_key"
CLEAN: Options = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 1}
UNLIMITED: Options = {"hoodie.compaction.target.io": 1 << 40}
UNAIDED = ReadOptions(use_metadata=False, use_column_stats=False, use_record_index=False, prune=False)
"""Files are listed in the storage, and all read."""
_MOST_ROUNDS = 100


class ErasableTable(Protocol):
    """What an erasure needs of a table."""

    @property
    def uri(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def partition_fields(self) -> list[str]: ...
    @property
    def timeline(self) -> Timeline: ...
    def refresh(self) -> None: ...
    def plan_compact(self, options: Options | None = None) -> Sequence[object]: ...
    def clean(self, options: Options | None = None) -> object: ...
    def plan_clean(self, options: Options | None = None) -> object: ...
    def build_metadata(self, options: Options | None = None, *, rebuild: bool = False) -> object: ...


class ErasureWork(Protocol):
    """The parts of an erasure that read or write rows: in this process, or in tasks of an engine."""

    def count(self, terms: Filters, as_of: str | None = None) -> int:
        """Returns the number of rows that filters select."""

    def count_unaided(self, terms: Filters) -> int:
        """Returns the number of rows that filters select, of the newest state and of base files alone, whichever is
        greater. Files are listed in the storage, and none is left out by statistics or indexes."""

    def values(self, columns: Sequence[str], terms: Filters) -> dict[str, pa.Array]:
        """Returns the distinct values, without null, of columns of the rows that filters select."""

    def delete_where(self, terms: Filters, options: Options | None) -> None:
        """Deletes the rows that filters select."""

    def compact(self, options: Options | None) -> None:
        """Executes and plans compactions."""

    def search(self, paths: Sequence[Path], erased: Erased) -> Iterable[tuple[Path, str]]:
        """Yields the files that have values of erased rows, and how."""

    def is_in_metadata(self, folder: Path, erased: Erased) -> bool:
        """Returns whether records of the metadata table have values of erased rows."""


@dataclass(frozen=True)
class Erasure:
    """What `Table.erase` has done, or `Table.plan_erase` would do. It does not contain what was erased."""

    table: str
    """The table's base path."""
    columns: list[str]
    """The columns of the filters."""
    rows: int
    """The number of rows that the filters select now."""
    commits: list[str] = field(default_factory=list)
    """The instants of what was done: the delete, compactions, cleans."""
    savepoints: dict[str, int] = field(default_factory=dict)
    """Savepoints that hold such rows, and how many: an erasure is refused while there are some."""
    started: str | None = None
    """When it began, in UTC."""
    finished: str | None = None
    """When all files had been read, in UTC."""
    files_read: int = 0
    """The number of files that remained, all of which were read."""
    bytes_read: int = 0
    """Their size."""
    values_searched: int = 0
    """The number of values that were searched for: record keys, constants of the filters, and values that no other row
    has."""

    def to_json(self) -> str:
        """Returns the audit record as JSON."""
        return json.dumps(asdict(self), indent=2)


def plan_erase(table: ErasableTable, filters: Filters, work: ErasureWork) -> Erasure:
    """Returns what `erase` would do, without changing anything."""
    terms = _checked(table, filters)
    table.refresh()
    return Erasure(table.uri, terms.columns, work.count(terms), savepoints=_savepoints(table, terms, work))


def erase(
    table: ErasableTable,
    filters: Filters,
    options: Options | None,
    audit: str | os.PathLike[str] | None,
    work: ErasureWork,
) -> Erasure:
    """Erases the rows that filters select (`Table.erase`).

    Args:
        table: The table.
        filters: The filters.
        options: Options of the writes.
        audit: The file for the audit record; None for none.
        work: Reads and writes rows.
    """
    # pyarrow.compute takes a tenth of a second to be imported.
    from mortice.services.remains import Erased, remaining_files, searched_columns

    terms, started = _checked(table, filters), _now()
    table.refresh()
    if audit is not None and Path(audit).resolve().is_relative_to(Path(_folder(table)).resolve()):
        raise InvalidArgumentError("the audit record must not be in the folder of the table")
    held = _savepoints(table, terms, work)
    if held:
        names = " and ".join(f"delete_savepoint({instant!r})" for instant in held)
        raise UnsupportedError(f"rows to erase are in savepoints, whose files stay: call {names} first", path=table.uri)
    _check_pending(table)
    columns = searched_columns(table.schema, table.partition_fields)
    values = work.values(columns, terms)
    erased = Erased.of_values(work.count(terms), values, terms.terms, (table.schema, table.partition_fields))
    commits = _remove(table, terms, options, work, erased.rows)
    _check_gone(table, terms, work)
    erased = erased.without_shared(work.values)
    remains = remaining_files(Path(_folder(table)), erased, table.timeline, work.search)
    if _metadata_folder(table).is_dir() and work.is_in_metadata(_metadata_folder(table), erased):
        remains.found.append(".hoodie/metadata (its statistics)")
    if remains.found:
        raise TableServiceError(
            f"{erased.rows} rows were deleted, but what was erased is still in {len(remains.found)} files: "
            f"{'; '.join(remains.found[:10])}; repair() removes what another writer has left; remove others by hand",
            path=table.uri,
        )
    done = Erasure(
        table=table.uri,
        columns=terms.columns,
        rows=erased.rows,
        commits=commits,
        started=started,
        finished=_now(),
        files_read=remains.files,
        bytes_read=remains.bytes,
        values_searched=erased.count,
    )
    if audit is not None:
        Path(audit).write_text(done.to_json() + "\n", encoding="utf-8")
    return done


def _remove(table: ErasableTable, terms: Filters, options: Options | None, work: ErasureWork, rows: int) -> list[str]:
    """Deletes so many rows, and all files that may hold them. Returns the instants of what was done."""
    before = {instant.requested_time for instant in table.timeline.active}
    if rows:
        work.delete_where(terms, options)
    if table.properties.get("hoodie.table.type") == "MERGE_ON_READ":
        given = {**(options or {}), **UNLIMITED}
        for _ in range(_MOST_ROUNDS):
            if not table.plan_compact(given):
                break
            work.compact(given)
    table.clean({**(options or {}), **CLEAN})
    if _metadata_folder(table).is_dir():
        table.build_metadata(options, rebuild=True)
    table.refresh()
    after = (instant.requested_time for instant in table.timeline.active.completed)
    return [instant for instant in after if instant not in before]


def _check_gone(table: ErasableTable, terms: Filters, work: ErasureWork) -> None:
    """Makes sure that the filters select no row. Values of a row that is left would count as those of another row, and
    not be searched for."""
    left = work.count_unaided(terms)
    if left:
        rows = f"{left} rows" if left > 1 else "1 row"
        raise TableServiceError(
            f"{rows} that the filters select are in the table after the delete: another writer has added them, or no "
            "index finds them; erase again, or with another index (hoodie.index.type=GLOBAL_SIMPLE)",
            path=table.uri,
        )


def _checked(table: ErasableTable, filters: Filters) -> Filter:
    terms = normal_form(filters, lambda: table.schema)
    if not terms:
        raise InvalidArgumentError("filters must select the rows to erase")
    if not Path(_folder(table)).is_dir():
        message = "erase of a table that is not on a local file system: all of its files have to be listed and read"
        raise UnsupportedError(message, path=table.uri)
    if table.properties.get("hoodie.bootstrap.base.path"):
        raise UnsupportedError("erase of a bootstrapped table, whose rows are in files elsewhere", path=table.uri)
    return terms


def _folder(table: ErasableTable) -> str:
    return table.uri.removeprefix("file://")


def _metadata_folder(table: ErasableTable) -> Path:
    return Path(_folder(table), ".hoodie", "metadata")


def _check_pending(table: ErasableTable) -> None:
    for instant in table.timeline.pending:
        if instant.action in ("clustering", "replacecommit", "logcompaction"):
            raise UnsupportedError(
                f"the pending {instant.action} {instant.requested_time} needs files that an erasure removes: run "
                "cluster(schedule=False) or log_compact(schedule=False), or roll it back",
                path=table.uri,
            )


def _savepoints(table: ErasableTable, terms: Filters, work: ErasureWork) -> dict[str, int]:
    """Returns the savepoints that hold rows which filters select."""
    instants = [one.requested_time for one in table.timeline.active.completed if one.action == "savepoint"]
    counts = {instant: work.count(terms, instant) for instant in instants}
    return {instant: count for instant, count in counts.items() if count}


def _now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
