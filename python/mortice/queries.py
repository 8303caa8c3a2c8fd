"""Queries as values, whose schema is known before they are planned.

    table = mortice.Table("/lake/trips")
    plan = table.prepare(mortice.queries.Snapshot(columns=["rider", "fare"]))
    plan.schema        # from the timeline: no file is listed
    plan.scan()        # lists files, as table.snapshot(columns=["rider", "fare"]) does

The fields of each class are the arguments of the method of `Table` with the same name.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pyarrow as pa

from mortice import _mortice
from mortice.errors import InvalidArgumentError, MorticeError
from mortice.expressions import Filter, Filters, conjunction, normal_form
from mortice.reading.mergers import Merging
from mortice.reading.scan import Again, Scan
from mortice.values.damage import caller_level
from mortice.values.instants import TIMELINE_ZONE, InstantLike, instant_text
from mortice.values.observe import log_failure
from mortice.values.options import (
    DEFAULT_HOLES,
    checked_bool,
    checked_columns,
    checked_holes,
    checked_optional_bool,
)
from mortice.values.type_names import without_meta
from mortice.values.visible_text import visible_text

__all__ = ["Changes", "Incremental", "Query", "QueryPlan", "ReadOptimized", "Snapshot", "TimeTravelWarning"]

logger = logging.getLogger("mortice.scan")
_DIGITS = 17
"""Digits of an instant."""
_AHEAD = dt.timedelta(minutes=1)


class TimeTravelWarning(UserWarning):
    """A query is of a time before the table's first commit, and returns no rows; or of one in the future."""


class QueryPlan:
    """A query of a table that is not planned yet. Created by `Table.prepare`.

    Schema and scans are those of the table at the time when it was opened.

    Args:
        native: The native plan.
        title: The query in one line.
        merger: The function that merges records, if it is user-defined.
        again: Plans the query again, with other columns and further filters.
        hint: Returns what is odd about the time that is asked for, given whether there are no rows.
    """

    def __init__(
        self,
        native: _mortice.QueryPlan,
        title: str,
        merger: Merging | None = None,
        again: Again | None = None,
        hint: Callable[[bool], str | None] | None = None,
    ) -> None:
        self._native = native
        self._title = title
        self._merger = merger
        self._again = again
        self._hint = hint

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the rows, with the columns in the requested order.

        It is read from the timeline. Files are listed only if neither a commit nor `hoodie.properties` stores a schema.

        Raises the errors of planning, except those that are found when files are listed.
        """
        return pa.schema(self._native.schema())

    def scan(self) -> Scan:
        """Plans the query: lists the table's files and fixes the splits. Warns (`TimeTravelWarning`) if it is of a time
        before the first commit, or in the future.
        """
        started = time.perf_counter()
        try:
            native = self._native.scan()
        except MorticeError as error:
            log_failure(f"plan of {self._title}", started, error, logger)
            raise
        hint = None if self._hint is None else self._hint(native.split_count == 0)
        if hint is not None:
            warnings.warn(visible_text(hint), TimeTravelWarning, stacklevel=caller_level())
        return Scan(native, self._title, self._merger, self._again)

    def __repr__(self) -> str:
        return visible_text(f"QueryPlan: {self._title}")


@dataclass(frozen=True)
class Snapshot:
    """See `mortice.Table.snapshot`."""

    columns: Sequence[str] | str | None = None
    filters: Filters = None
    as_of: InstantLike = None
    merge: bool = True
    emit_deletes: bool = False
    meta: bool = True

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        merge, deletes = checked_bool("merge", self.merge), checked_bool("emit_deletes", self.emit_deletes)
        instant = _instant(table, self.as_of)

        def plan(names: list[str] | None, terms: Filter | None) -> _mortice.QueryPlan:
            return table.snapshot(names, terms, instant, merge, deletes, merger)

        return _planned(self, table, merger, plan, "snapshot", instant, meta=self.meta)


@dataclass(frozen=True)
class ReadOptimized:
    """See `mortice.Table.read_optimized`."""

    columns: Sequence[str] | str | None = None
    filters: Filters = None
    as_of: InstantLike = None
    meta: bool = True

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:  # noqa: ARG002 — nothing is merged
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        instant = _instant(table, self.as_of)

        def plan(names: list[str] | None, terms: Filter | None) -> _mortice.QueryPlan:
            return table.read_optimized(names, terms, instant)

        return _planned(self, table, None, plan, "read optimized", instant, meta=self.meta)


@dataclass(frozen=True)
class Incremental:
    """See `mortice.Table.incremental`."""

    begin: InstantLike
    end: InstantLike = None
    columns: Sequence[str] | str | None = None
    filters: Filters = None
    changelog: bool = False
    emit_deletes: bool = False
    holes: str = DEFAULT_HOLES
    skip_compact: bool = False
    skip_cluster: bool = False
    skip_log_compact: bool = False
    fall_back_to_full_scan: bool | None = None
    schema_at_end: bool = False
    meta: bool = True

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        after, until = _range(table, self.begin, self.end)
        changelog = checked_bool("changelog", self.changelog)
        merger = None if changelog else merger
        incremental = partial(
            table.incremental,
            holes=checked_holes(self.holes),
            skip_compact=checked_bool("skip_compact", self.skip_compact),
            skip_cluster=checked_bool("skip_cluster", self.skip_cluster),
            skip_log_compact=checked_bool("skip_log_compact", self.skip_log_compact),
            fall_back_to_full_scan=checked_optional_bool("fall_back_to_full_scan", self.fall_back_to_full_scan),
            schema_at_end=checked_bool("schema_at_end", self.schema_at_end),
            changelog=changelog,
            emit_deletes=checked_bool("emit_deletes", self.emit_deletes),
        )

        def plan(names: list[str] | None, terms: Filter | None) -> _mortice.QueryPlan:
            return incremental(names, terms, after, until, merger)

        return _planned(self, table, merger, plan, f"incremental {_span(after, until)}", meta=self.meta)


@dataclass(frozen=True)
class Changes:
    """See `mortice.Table.changes`."""

    begin: InstantLike
    end: InstantLike = None
    columns: Sequence[str] | str | None = None
    filters: Filters = None
    holes: str = DEFAULT_HOLES

    def prepare(self, table: _mortice.Table, merger: Merging | None) -> QueryPlan:
        """Returns the plan of this query of a native table. Checks the arguments and reads nothing."""
        holes, (after, until) = checked_holes(self.holes), _range(table, self.begin, self.end)

        def plan(names: list[str] | None, terms: Filter | None) -> _mortice.QueryPlan:
            return table.changes(names, terms, after, until, merger, holes=holes)

        return _planned(self, table, merger, plan, f"changes {_span(after, until)}", meta=True)


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


def _planned(  # noqa: PLR0917
    query: Query,
    table: _mortice.Table,
    merger: Merging | None,
    plan: Callable[[list[str] | None, Filter | None], _mortice.QueryPlan],
    kind: str,
    instant: str | None = None,
    *,
    meta: bool,
) -> QueryPlan:
    """Returns the plan of a query, with checked columns and filters.

    Args:
        query: The query.
        table: The native table.
        merger: The function that merges records.
        plan: Returns the native plan for columns and filters.
        kind: The kind of the query, for its title.
        instant: The instant of time travel.
        meta: Whether meta columns are among all columns.
    """

    def schema() -> pa.Schema:
        return pa.schema(plan(None, None).schema())

    def again(columns: list[str] | None, filters: Filters) -> Scan:
        narrower = query if columns is None else replace(query, columns=columns)
        if filters is not None:
            narrower = replace(narrower, filters=conjunction(query.filters, filters, schema))
        return narrower.prepare(table, merger).scan()

    names, terms = _names(query.columns, schema, meta=meta), normal_form(query.filters, schema)
    hint = None if instant is None else partial(_odd_time, table, instant)
    return QueryPlan(plan(names, terms), title(kind, table.uri, instant, terms), merger, again, hint)


def _names(columns: Sequence[str] | str | None, schema: Callable[[], pa.Schema], *, meta: bool) -> list[str] | None:
    """Returns the columns to read; without any given, all, or all but the meta columns."""
    if columns is None and not checked_bool("meta", meta):
        return without_meta(schema().names)
    return checked_columns(columns)


def _odd_time(table: _mortice.Table, instant: str, is_empty: bool) -> str | None:
    """Returns what to say of a query as of an instant that is before the first commit or in the future; else None.

    Args:
        table: The native table.
        instant: The instant.
        is_empty: Whether there are no rows.
    """
    digits = "".join(re.findall(r"\d", instant)).ljust(_DIGITS, "0")
    if digits > _now(table):
        newest = max((one.requested_time for one in table.timeline()), default="")
        if digits <= newest:
            return None
        return (
            f"{instant} is in the future: these are the newest rows of {table.uri}, and later commits can change them"
        )
    if not is_empty:
        return None
    # An archived instant is older than all active ones.
    instants = (*table.archived(), *table.timeline())
    first = min((one.requested_time for one in instants if one.is_completed), default=None)
    if first is None or digits >= first:
        return None
    return (
        f"there are no rows as of {instant}: the first commit of {table.uri} is {first}, in the time zone of the "
        "table's timeline; a date is its first moment"
    )


def _now(table: _mortice.Table) -> str:
    """Returns the instant from which on times are in the future: clocks of other machines may be ahead."""
    is_utc = table.properties.get(TIMELINE_ZONE, "LOCAL").upper() == "UTC"
    now = dt.datetime.now(dt.timezone.utc) if is_utc else dt.datetime.now().astimezone()
    return (now + _AHEAD).strftime("%Y%m%d%H%M%S%f")[:_DIGITS]


def _instant(table: _mortice.Table, instant: InstantLike, argument: str = "as_of") -> str | None:
    zone = table.properties.get(TIMELINE_ZONE, "LOCAL")
    return instant_text(instant, zone, argument=argument, table_version=table.version)


def _range(table: _mortice.Table, begin: InstantLike, end: InstantLike) -> tuple[str, str | None]:
    after, until = _instant(table, begin, "begin"), _instant(table, end, "end")
    if after is None:
        raise InvalidArgumentError('begin must be an instant or "earliest", got None')
    if until is not None and after.isdigit() and until.isdigit() and after[: len(until)] > until[: len(after)]:
        raise InvalidArgumentError(f"begin must not be after end, got begin {after} and end {until}")
    return after, until


def _span(after: str, until: str | None) -> str:
    return f"after {after} up to {until or 'the latest'}"
