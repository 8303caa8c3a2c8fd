"""The options of a stream, `spark.readStream.format("mortice")`: those of its own, and what others mean there.

    start                   earliest (default), latest, or an instant, itself outside: where a new query begins. A query
                            that goes on from a checkpoint begins where that left off, whatever stands here
    start_inclusive         true or false (default): the instant of `start` is inside (Flink's `read.start-commit`)
    hoodie.datasource.streaming.startOffset  Hudi's name of `start`
    maxInstantsPerTrigger   commits in a batch, at most
    maxBytesPerTrigger      bytes of the files that the commits of a batch wrote or appended to, at most; one commit is
                            taken whatever its size
    hoodie.datasource.read.streaming.table.version  6 or 8, if it is how the table counts (up to 7, or from 8 on)

A batch is an incremental query, so the options of incremental queries hold, but for those that say where one begins and
ends. `hoodie.datasource.query.type` may be left out, or be `incremental`, which `cdc` and `mortice.changelog` need.
Holes below table version 8 always block. Rows keep their commit time in compaction and clustering, so that they do not
come again; where a writer has clustered without (`hoodie.clustering.preserve.commit.metadata=false`), set
`...skip_cluster`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.spark.option_names import (
    AS_OF,
    BEGIN,
    CHANGELOG,
    END,
    HOLES,
    INCREMENTAL_FORMAT,
    INCREMENTAL_VERSION,
    MERGE_TYPE,
    QUERY_TYPE,
    SCHEMA_AT_END,
    START,
    START_INCLUSIVE,
    START_OFFSET,
    STREAM_VERSION,
    STREAMING,
)
from mortice.spark.option_values import truth, whole
from mortice.spark.options import Incremental, Query, by_one_name, read_query

AFTER_ALL = "99991231235959999"
"""No commit comes later: the range after it is empty, and yet has its columns."""

_MILLISECONDS = 17
"""Digits of an instant."""

_OF_RANGES = (BEGIN, END, AS_OF)


@dataclass(frozen=True)
class StreamQuery:
    """What a user of `readStream` asked for."""

    query: Query
    """What is the same in every batch."""
    incremental: Incremental
    """What is asked in each, of a range of its own."""
    start: str = "earliest"
    start_inclusive: bool = False
    max_instants: int | None = None
    max_bytes: int | None = None

    def between(self, begin: str, end: str | None) -> Query:
        """The query of one batch."""
        return replace(self.query, incremental=replace(self.incremental, begin=begin, end=end))

    @property
    def empty(self) -> Query:
        """The query of no commit."""
        return self.between(AFTER_ALL, None)


def is_of_stream(options: Mapping[str, Any]) -> bool:
    """Whether options can only be those of a stream: Spark asks for the schema before it says what it is for."""
    names = by_one_name(options)
    kind = str(names.get(QUERY_TYPE, "")).strip().lower()
    return any(name in names for name in STREAMING) or (kind == "incremental" and BEGIN not in names)


def read_stream(options: Mapping[str, Any]) -> StreamQuery:
    """The stream that options ask for."""
    rest = by_one_name(options)
    start, inclusive = _start(rest), truth(START_INCLUSIVE, rest.pop(START_INCLUSIVE, False))
    if inclusive and start.lower() in ("earliest", "latest"):
        raise InvalidArgumentError(f"start_inclusive is for a start that is an instant, not {start!r}")
    limits = [_limit(rest, name) for name in ("maxInstantsPerTrigger", "maxBytesPerTrigger")]
    _check_ranges(rest)
    kind = str(rest.get(QUERY_TYPE, "snapshot")).strip().lower()
    if kind not in ("snapshot", "incremental"):
        raise InvalidArgumentError(f"{QUERY_TYPE} of a stream is incremental, or left out, not {rest[QUERY_TYPE]!r}")
    if kind == "snapshot":
        # Spark asks for the schema without saying what for, and these change it.
        for name in (INCREMENTAL_FORMAT, CHANGELOG):
            if str(rest.get(name, "latest_state")).strip().lower() not in ("latest_state", "false"):
                raise InvalidArgumentError(f"{name}={rest[name]} of a stream needs {QUERY_TYPE}=incremental")
    if STREAM_VERSION in rest:
        rest[INCREMENTAL_VERSION] = rest.pop(STREAM_VERSION)
    query = read_query(rest | {QUERY_TYPE: "incremental", BEGIN: "earliest", HOLES: "FAIL"})
    if query.incremental is None:
        raise AssertionError("a stream is made of incremental queries")
    # A batch that is run again has to give the same rows: what is sought in the table as it is now would not be.
    arguments = {"fall_back_to_full_scan": False, **query.incremental.arguments, "skip_log_compact": True}
    return StreamQuery(query, replace(query.incremental, arguments=arguments), start, inclusive, *limits)


def before(instant: str) -> str:
    """A position right before an instant, in any form that Hudi takes: after it lies that instant, and what follows.

    >>> before("20240101120000000"), before("20240101120000"), before("2024-01-01 12:00:00")
    ('20240101119999999', '20240101119999999', '20240101119999999')
    >>> before("000")
    'earliest'
    """
    digits = re.sub(r"\D", "", instant).ljust(_MILLISECONDS, "0")
    # What is no time of day is none the worse as a bound: instants are compared as text.
    return str(int(digits) - 1).zfill(len(digits)) if int(digits) else "earliest"


def _start(rest: dict[str, Any]) -> str:
    given = {name: str(rest.pop(name)).strip() for name in (START, START_OFFSET) if name in rest}
    if len(set(given.values())) > 1:
        raise InvalidArgumentError(f"{START} and {START_OFFSET} differ: {given}; give one of them")
    start = next(iter(given.values()), "earliest")
    if not start:
        raise InvalidArgumentError("start is empty; give earliest, latest, or an instant")
    return start


def _limit(rest: dict[str, Any], name: str) -> int | None:
    value = rest.pop(name.lower(), None)
    return None if value is None else whole(name, value)


def _check_ranges(rest: Mapping[str, Any]) -> None:
    """Refuses what says where a query begins and ends, or is of other queries."""
    for name in _OF_RANGES:
        if name in rest:
            raise InvalidArgumentError(f"the option {name} is for batch queries; where a stream begins is {START}")
    if str(rest.get(HOLES, "BLOCK")).strip().upper() != "BLOCK":
        raise UnsupportedError(f"{HOLES}={rest[HOLES]} on a stream, which always waits for what is under way: BLOCK")
    if str(rest.get(MERGE_TYPE, "payload_combine")).strip().lower().endswith("skip_merge"):
        raise InvalidArgumentError(f"{MERGE_TYPE}=skip_merge on a stream; mortice.changelog=true merges nothing there")
    if str(rest.get(SCHEMA_AT_END, "false")).strip().lower() != "false":
        raise InvalidArgumentError(f"{SCHEMA_AT_END} on a stream, whose columns are the same in every batch")
