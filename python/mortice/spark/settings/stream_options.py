"""Parses the options of a stream, `spark.readStream.format("mortice")`. They are listed in docs/options.md.

A batch is an incremental query, so the options of incremental queries apply, except those that set its range.
`hoodie.datasource.query.type` may be left out, or be `incremental`, which `cdc` and `mortice.changelog` require. Below
table version 8, a stream always waits for pending commits. Compaction and clustering preserve the commit time of rows,
so these rows are not returned again. If a writer has clustered without preserving it
(`hoodie.clustering.preserve.commit.metadata=false`), set `hoodie.datasource.read.incr.skip_cluster`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from mortice import queries
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.settings import option_names as opt
from mortice.spark.settings.options import Query, by_one_name, parse_bool, parse_count, read_query

AFTER_ALL = "99991231235959999"
"""After every possible commit: the range after it is empty, but has the columns."""

_OF_RANGES = (opt.BEGIN, opt.END, opt.AS_OF)


@dataclass(frozen=True)
class StreamQuery:
    """A streaming query as described by options."""

    query: Query
    """The query of each batch, without its range."""
    start: str = "earliest"
    start_inclusive: bool = False
    max_instants: int | None = None
    max_bytes: int | None = None

    def between(self, begin: str, end: str | None) -> Query:
        """Returns the query of one batch."""
        asked = cast("queries.Incremental | queries.Changes", self.query.asked)
        return replace(self.query, asked=replace(asked, begin=begin, end=end))

    @property
    def empty(self) -> Query:
        """The query that returns no commit; it has the columns of the stream."""
        return self.between(AFTER_ALL, None)


def is_of_stream(options: Mapping[str, object]) -> bool:
    """Returns true if only a stream has such options: Spark requests the schema before it says what it is for."""
    names = by_one_name(options)
    kind = str(names.get(opt.QUERY_TYPE, "")).strip().lower()
    return any(name in names for name in opt.STREAMING) or (kind == "incremental" and opt.BEGIN not in names)


def read_stream(options: Mapping[str, object]) -> StreamQuery:
    """Parses a streaming query. Raises `InvalidArgumentError`, `UnsupportedError`."""
    rest = by_one_name(options)
    start, inclusive = _start(rest), parse_bool(opt.START_INCLUSIVE, rest.pop(opt.START_INCLUSIVE, False))
    if inclusive and start.lower() in ("earliest", "latest"):
        raise InvalidArgumentError(f"start_inclusive requires a start that is an instant, got {start!r}")
    limits = [_limit(rest, name) for name in ("maxInstantsPerTrigger", "maxBytesPerTrigger")]
    _check_ranges(rest)
    kind = str(rest.get(opt.QUERY_TYPE, "snapshot")).strip().lower()
    if kind not in ("snapshot", "incremental"):
        raise InvalidArgumentError(
            f"{opt.QUERY_TYPE} of a stream must be incremental or left out, got {rest[opt.QUERY_TYPE]!r}"
        )
    if kind == "snapshot":
        # Spark requests the schema without saying for which query, and these options change it.
        for name in (opt.INCREMENTAL_FORMAT, opt.CHANGELOG):
            if str(rest.get(name, "latest_state")).strip().lower() not in ("latest_state", "false"):
                raise InvalidArgumentError(f"{name}={rest[name]} of a stream requires {opt.QUERY_TYPE}=incremental")
    if opt.STREAM_VERSION in rest:
        rest[opt.INCREMENTAL_VERSION] = rest.pop(opt.STREAM_VERSION)
    query = read_query(rest | {opt.QUERY_TYPE: "incremental", opt.BEGIN: "earliest", opt.HOLES: "FAIL"})
    asked = query.asked
    if isinstance(asked, queries.Incremental):
        # A batch that is run again must return the same rows. A full scan of the current files would not.
        asked = replace(asked, fall_back_to_full_scan=bool(asked.fall_back_to_full_scan), skip_log_compact=True)
    return StreamQuery(replace(query, asked=asked), start, inclusive, *limits)


def _start(rest: dict[str, object]) -> str:
    given = {name: str(rest.pop(name)).strip() for name in (opt.START, opt.START_OFFSET) if name in rest}
    if len(set(given.values())) > 1:
        raise InvalidArgumentError(f"{opt.START} and {opt.START_OFFSET} differ: {given}; give one of them")
    start = next(iter(given.values()), "earliest")
    if not start:
        raise InvalidArgumentError("start must be earliest, latest or an instant, got an empty string")
    return start


def _limit(rest: dict[str, object], name: str) -> int | None:
    value = rest.pop(name.lower(), None)
    return None if value is None else parse_count(name, value)


def _check_ranges(rest: Mapping[str, object]) -> None:
    """Rejects options of batch queries: ranges, and those without meaning for streams."""
    for name in _OF_RANGES:
        if name in rest:
            raise InvalidArgumentError(
                f"the option {name} is for batch queries; use {opt.START} to say where a stream begins"
            )
    if str(rest.get(opt.HOLES, "BLOCK")).strip().upper() != "BLOCK":
        raise UnsupportedError(
            f"{opt.HOLES}={rest[opt.HOLES]} is not supported for streams, which wait for pending commits; leave it out"
        )
    if str(rest.get(opt.MERGE_TYPE, "payload_combine")).strip().lower().endswith("skip_merge"):
        raise InvalidArgumentError(f"{opt.MERGE_TYPE}=skip_merge is not for streams; use mortice.changelog=true")
    if str(rest.get(opt.SCHEMA_AT_END, "false")).strip().lower() != "false":
        raise InvalidArgumentError(f"{opt.SCHEMA_AT_END} is not for streams, whose columns are fixed; leave it out")
