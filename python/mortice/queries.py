"""Queries as values, whose schema is known before they are planned.

    table = mortice.Table("/lake/trips")
    plan = table.prepare(mortice.queries.Snapshot(columns=["rider", "fare"]))
    plan.schema        # from the timeline: no file is listed
    plan.scan()        # lists files, as table.snapshot(columns=["rider", "fare"]) does

The fields of each class are the arguments of the method of `Table` with the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError
from mortice.filters import Filters, normal_form
from mortice.instants import TIMELINE_ZONE, InstantLike, instant_text
from mortice.mergers import Merging
from mortice.options import (
    DEFAULT_HOLES,
    checked_bool,
    checked_columns,
    checked_holes,
    checked_optional_bool,
)
from mortice.scan import Scan

__all__ = ["Changes", "Incremental", "Query", "QueryPlan", "ReadOptimized", "Snapshot"]


class QueryPlan:
    """A query of a table that is not planned yet. Created by `Table.prepare`.

    Schema and scans are those of the table at the time when it was opened.
    """

    def __init__(self, native: _mortice.QueryPlan, title: str, merger: Merging | None = None) -> None:
        self._native = native
        self._title = title
        self._merger = merger

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the rows, with the columns in the requested order.

        It is read from the timeline. Files are listed only if neither a commit nor `hoodie.properties` stores a schema.

        Raises the errors of planning, except those that are found when files are listed.
        """
        return pa.schema(self._native.schema())

    def scan(self) -> Scan:
        """Plans the query: lists the table's files and fixes the splits."""
        return Scan(self._native.scan(), self._title, self._merger)

    def __repr__(self) -> str:
        return f"QueryPlan: {self._title}"


@dataclass(frozen=True)
class Snapshot:
    """See `mortice.Table.snapshot`."""

    columns: Sequence[str] | None = None
    filters: Filters = None
    as_of: InstantLike = None
    merge: bool = True
    emit_deletes: bool = False

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        merge, deletes = checked_bool("merge", self.merge), checked_bool("emit_deletes", self.emit_deletes)
        names, terms, instant = checked_columns(self.columns), normal_form(self.filters), _instant(table, self.as_of)
        native = table.snapshot(names, terms, instant, merge, deletes, merger)
        return QueryPlan(native, title("snapshot", table.uri, instant, terms), merger)


@dataclass(frozen=True)
class ReadOptimized:
    """See `mortice.Table.read_optimized`."""

    columns: Sequence[str] | None = None
    filters: Filters = None
    as_of: InstantLike = None

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:  # noqa: ARG002
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        names, terms, instant = checked_columns(self.columns), normal_form(self.filters), _instant(table, self.as_of)
        native = table.read_optimized(names, terms, instant)
        return QueryPlan(native, title("read optimized", table.uri, instant, terms))


@dataclass(frozen=True)
class Incremental:
    """See `mortice.Table.incremental`."""

    begin: InstantLike
    end: InstantLike = None
    columns: Sequence[str] | None = None
    filters: Filters = None
    changelog: bool = False
    emit_deletes: bool = False
    holes: str = DEFAULT_HOLES
    skip_compact: bool = False
    skip_cluster: bool = False
    skip_log_compact: bool = False
    fall_back_to_full_scan: bool | None = None
    schema_at_end: bool = False

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        names, terms = checked_columns(self.columns), normal_form(self.filters)
        after, until = _range(table, self.begin, self.end)
        changelog = checked_bool("changelog", self.changelog)
        merger = None if changelog else merger
        native = table.incremental(
            names,
            terms,
            after,
            until,
            merger,
            holes=checked_holes(self.holes),
            skip_compact=checked_bool("skip_compact", self.skip_compact),
            skip_cluster=checked_bool("skip_cluster", self.skip_cluster),
            skip_log_compact=checked_bool("skip_log_compact", self.skip_log_compact),
            fall_back_to_full_scan=checked_optional_bool("fall_back_to_full_scan", self.fall_back_to_full_scan),
            schema_at_end=checked_bool("schema_at_end", self.schema_at_end),
            changelog=changelog,
            emit_deletes=checked_bool("emit_deletes", self.emit_deletes),
        )
        return QueryPlan(native, title(f"incremental {_span(after, until)}", table.uri, None, terms), merger)


@dataclass(frozen=True)
class Changes:
    """See `mortice.Table.changes`."""

    begin: InstantLike
    end: InstantLike = None
    columns: Sequence[str] | None = None
    filters: Filters = None
    holes: str = DEFAULT_HOLES

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        names, terms = checked_columns(self.columns), normal_form(self.filters)
        after, until = _range(table, self.begin, self.end)
        native = table.changes(names, terms, after, until, merger, holes=checked_holes(self.holes))
        return QueryPlan(native, title(f"changes {_span(after, until)}", table.uri, None, terms), merger)


Query = Snapshot | ReadOptimized | Incremental | Changes
"""Any query that `Table.prepare` accepts."""


def title(kind: str, uri: str, instant: str | None, terms: object) -> str:
    """Returns a query in one line, for `repr`.

    Args:
        kind: The kind of the query.
        uri: The table's base path.
        instant: The instant of time travel, if any.
        terms: The filters, if any.
    """
    moment = f" as of {instant}" if instant else ""
    filtered = f", filters {terms}" if terms else ""
    return f"{kind} of {uri}{moment}{filtered}"


def _instant(table: _mortice.Table, instant: InstantLike, argument: str = "as_of") -> str | None:
    return instant_text(instant, table.properties.get(TIMELINE_ZONE, "LOCAL"), argument=argument)


def _range(table: _mortice.Table, begin: InstantLike, end: InstantLike) -> tuple[str, str | None]:
    after, until = _instant(table, begin, "begin"), _instant(table, end, "end")
    if after is None:
        raise InvalidArgumentError('begin must be an instant or "earliest", got None')
    return after, until


def _span(after: str, until: str | None) -> str:
    return f"after {after} up to {until or 'the latest'}"
