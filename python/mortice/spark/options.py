"""The options of the Spark source: the one place where they are read.

    hoodie.datasource.query.type    snapshot (default), read_optimized, incremental
    as.of.instant                   the instant to read as of; not of an incremental query
    hoodie.datasource.merge.type    payload_combine (default), skip_merge
    mortice.emit_deletes            true or false (default): deleted keys as rows, too
    columns                         `a,b,c` or a JSON list; in this order
    filters                         JSON: [["day", "=", "2024-01-01"], ["fare", ">", 3]], or a list of such lists
    hoodie.optimized.log.blocks.scan.enable  true (default, as Hudi 1.2) or false (as Hudi 1.0 and 1.1 by default)
    hoodie.enable.data.skipping     true (default) or false: read also what partition paths and statistics exclude
    hoodie.merge.use.record.positions  true (default) or false: merge by record key alone, not by position; the rows
                                    differ only where a base file has a key several times
    hoodie.metadata.enable          true (default) or false: list files from storage, not from the metadata table
    mortice.column.stats            true (default) or false: leave file slices unopened by the metadata table's column
                                    statistics; hoodie.enable.data.skipping=false governs these, too
    mortice.record.index            true or false (default): look up the record keys of a filter in the record index
    mortice.semantics               1.x (default)
    hoodie.memory.merge.max.size    bytes of memory for the logs of a file slice (default 1 GiB)
    hoodie.memory.spillable.map.path  the folder for what is more (default the system's for temporary files)
    hoodie.common.diskmap.compression.enabled  true (default) or false: whether it is compressed there
    mortice.split.bytes             bytes that a task reads, at most (default 128 MiB), estimated from the files' sizes
                                    and the columns read: a larger slice is several tasks (see `mortice.spark.tasks`)
    mortice.merger                  package.module:function, for a table that merges by a class of its owner's
    mortice.batch.rows              rows in a batch, at most (default and most 65536)
    mortice.threads                 threads of one Spark task (default 1)
    mortice.on_corrupt              skip (default) or raise
    mortice.mmap                    true (default) or false
    mortice.zip.cache               true (default) or false: on Python 3.10 to 3.12, workers keep the directories of
                                    zip archives that have not changed (see `mortice.spark.zip_directories`)
    mortice.gc.freeze               true (default) or false: the garbage collection after a task visits only objects
                                    of the task (see `mortice.spark.worker_gc`)
    mortice.storage.NAME            the storage option NAME of an object store, such as mortice.storage.endpoint
    fs.s3a.X, fs.azure.X, fs.gs.X   settings of Hadoop's file systems, as in Spark's configuration

of an incremental query (see `mortice.Table.incremental`)

    hoodie.datasource.read.begin.instanttime  after this instant, or earliest; must be given
    hoodie.datasource.read.end.instanttime    up to this one (default the latest)
    hoodie.datasource.query.incremental.format  latest_state (default) or cdc: changes (see `mortice.Table.changes`)
    mortice.changelog               true or false (default): every log record by itself, deletes too
    hoodie.read.timeline.holes.resolution.policy  FAIL (default) or BLOCK, below table version 8
    hoodie.datasource.read.incr.skip_compact, ...skip_cluster  true or false (default)
    hoodie.datasource.read.incr.fallback.fulltablescan.enable  true or false (default: true from table version 8 on)
    hoodie.datasource.read.schema.use.end.instanttime  true or false (default)
    hoodie.datasource.read.incr.table.version  6 or 8, if it is how the table counts (up to 7, or from 8 on)

Streams have options besides, which batch queries refuse: see `mortice.spark.stream_options`.

An option of Hudi that could change the rows and is not among these is refused by name, since a wrong answer is worse
than none. One that cannot is left aside in silence; what nobody knows is warned of, once in a process. An unknown
`mortice.` option is refused, and so is a name that is one of these with a slip in it. What is decided about each stands
in `mortice.spark.option_names`. `spark.hoodie.` may stand for `hoodie.`, as with Hudi.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mortice import queries
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.filters import Filters
from mortice.instants import InstantLike
from mortice.mergers import Merge, imported
from mortice.options import DEFAULT_BATCH_ROWS, checked_uri
from mortice.spark.option_names import (
    AS_OF,
    BATCH_ROWS,
    BEGIN,
    CHANGELOG,
    COLUMN_STATS,
    DATA_SKIPPING,
    EMIT_DELETES,
    END,
    FULL_SCAN,
    GC_FREEZE,
    HOLES,
    INCREMENTAL_FORMAT,
    INCREMENTAL_VERSION,
    LOG_SCAN,
    MEMORY_LIMIT,
    MERGE_TYPE,
    MERGER,
    METADATA,
    MMAP,
    ON_CORRUPT,
    QUERY_TYPE,
    RECORD_INDEX,
    RECORD_POSITIONS,
    SCHEMA_AT_END,
    SCHEMA_ON_READ,
    SEMANTICS,
    SKIP_CLUSTER,
    SKIP_COMPACT,
    SPARK_PREFIX,
    SPILL_COMPRESSED,
    SPILL_FOLDER,
    SPLIT_BYTES,
    STORAGE_PREFIX,
    STREAMING,
    THREADS,
    ZIP_CACHE,
    Decision,
    decision,
    harmless,
    is_of_storage,
    near,
    why_refused,
)
from mortice.spark.option_values import truth as _truth
from mortice.spark.option_values import whole as _whole
from mortice.spark.tasks import DEFAULT_SPLIT_BYTES, TaskOptions
from mortice.spark.worker import WorkerOptions
from mortice.table import Table

MOST_BATCH_ROWS = 65536
"""Spark's JVM takes every batch whole, off its heap."""

_INCREMENTAL_TRUTHS = {
    CHANGELOG: "changelog",
    SKIP_COMPACT: "skip_compact",
    SKIP_CLUSTER: "skip_cluster",
    FULL_SCAN: "fall_back_to_full_scan",
    SCHEMA_AT_END: "schema_at_end",
}
"""Options of an incremental query that are true or false, and the arguments of `Table.incremental` that they are."""

_said: set[str] = set()


@dataclass(frozen=True)
class Incremental:
    """What is asked of an incremental query."""

    begin: InstantLike
    end: InstantLike = None
    table_version: int | None = None
    """Whose bounds: 6, requested times; 8, completion times; None, the table's."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    changes: bool = False
    """Whether changes are asked for, and not the latest state."""

    def query(
        self, table: Table, columns: Sequence[str] | None, filters: Filters, *, emit_deletes: bool
    ) -> queries.Incremental | queries.Changes:
        """The query on `table`, with these columns."""
        own = 8 if table.version >= 8 else 6  # noqa: PLR2004
        if self.table_version not in (None, own):
            raise UnsupportedError(
                f"{INCREMENTAL_VERSION}={self.table_version} on a table of version {table.version}, "
                f"whose incremental queries are those of version {own}; leave it out"
            )
        if self.changes:
            holes = {name: value for name, value in self.arguments.items() if name == "holes"}
            return queries.Changes(self.begin, self.end, columns=columns, filters=filters, **holes)
        return queries.Incremental(
            self.begin, self.end, columns=columns, filters=filters, emit_deletes=emit_deletes, **self.arguments
        )


@dataclass(frozen=True)
class Query:
    """What a user of Spark asked for."""

    uri: str
    columns: Sequence[str] | None = None
    filters: Filters = None
    as_of: InstantLike = None
    read_optimized: bool = False
    merge: bool = True
    merger: Merge | None = None
    emit_deletes: bool = False
    incremental: Incremental | None = None
    tasks: TaskOptions = field(default_factory=TaskOptions)
    schema_on_read: bool = True
    # Not shown: the storage options among them may be secrets.
    table_arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def table(self) -> Table:
        """The table, opened now."""
        table = Table(self.uri, **self.table_arguments)
        return table if self.merger is None else table.with_merger(self.merger)

    def prepare(self, table: Table, columns: Sequence[str] | None) -> queries.QueryPlan:
        """The query on `table`, with these columns: its schema, and a scan when it is planned."""
        if not self.schema_on_read and table.has_column_ids(self.as_of):
            message = f"{SCHEMA_ON_READ}=false is not in this release for a table that has a schema history"
            raise UnsupportedError(f"{message}, as this one does; leave it out")
        if self.incremental:
            query = self.incremental.query(table, columns, self.filters, emit_deletes=self.emit_deletes)
            return table.prepare(query)
        if self.read_optimized:
            return table.prepare(queries.ReadOptimized(columns=columns, filters=self.filters, as_of=self.as_of))
        snapshot = queries.Snapshot(
            columns=columns,
            filters=self.filters,
            as_of=self.as_of,
            merge=self.merge,
            emit_deletes=self.emit_deletes,
        )
        return table.prepare(snapshot)


def by_one_name(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options by lower-case name, as Spark hands them over; `spark.hoodie.` becomes `hoodie.`."""
    named: dict[str, Any] = {}
    for given, value in (options or {}).items():
        name = str(given).lower()
        if name.startswith(f"{SPARK_PREFIX}hoodie."):
            name = name.removeprefix(SPARK_PREFIX)
        if named.setdefault(name, value) != value:
            raise InvalidArgumentError(f"the option {name} is given twice, with different values")
    return named


def read_query(options: Mapping[str, Any], uri: str | None = None) -> Query:
    """The query that options ask for. Values are text; `columns`, `filters` and the instant may be Python values."""
    rest = by_one_name(options)
    path = _path(rest.pop("path", None), rest.pop("paths", None), uri)
    kind = _query_type(str(rest.pop(QUERY_TYPE, "snapshot")))
    query = Query(
        uri=path,
        columns=_columns(rest.pop("columns", None)),
        filters=_filters(rest.pop("filters", None)),
        as_of=rest.pop(AS_OF, None),
        read_optimized=kind == "read_optimized",
        merge=_is_merged(str(rest.pop(MERGE_TYPE, "payload_combine"))),
        emit_deletes=_truth(EMIT_DELETES, rest.pop(EMIT_DELETES, False)),
        incremental=_incremental(kind, rest),
        merger=_merger(rest.pop(MERGER, None)),
        tasks=TaskOptions(
            split_bytes=_whole(SPLIT_BYTES, rest.pop(SPLIT_BYTES, DEFAULT_SPLIT_BYTES)),
            worker=WorkerOptions(
                zip_cache=_truth(ZIP_CACHE, rest.pop(ZIP_CACHE, True)),
                gc_freeze=_truth(GC_FREEZE, rest.pop(GC_FREEZE, True)),
            ),
        ),
        schema_on_read=_truth(SCHEMA_ON_READ, rest.pop(SCHEMA_ON_READ, True)),
        table_arguments=_table_arguments(rest),
    )
    _check_kind(query)
    for name, value in rest.items():
        _check_other(name, value)
    return query


def _path(path: Any, paths: Any, uri: str | None) -> str:
    if uri is not None:
        return checked_uri(uri)
    if path is None and paths is not None:
        several = _json("paths", paths)
        if not isinstance(several, list) or len(several) != 1:
            raise InvalidArgumentError(f"load() takes the base path of one table, not {paths}")
        path = several[0]
    if path is None:
        raise InvalidArgumentError("no table named; give its base path to load()")
    return checked_uri(path)


def _columns(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    names = _json("columns", value) if value.lstrip().startswith("[") else [name.strip() for name in value.split(",")]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgumentError(f'the option columns is a list of names, such as a,b or ["a", "b"], not {value!r}')
    return names


def _filters(value: Any) -> Any:
    return _json("filters", value) if isinstance(value, str) else value


def _json(name: str, value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the option {name} is not JSON: {error}: {value!r}") from error


def _query_type(query_type: str) -> str:
    kind = query_type.strip().lower()
    if kind not in ("snapshot", "read_optimized", "incremental"):
        raise InvalidArgumentError(f"{QUERY_TYPE} is snapshot, read_optimized or incremental, not {query_type!r}")
    return kind


def _incremental(kind: str, rest: dict[str, Any]) -> Incremental | None:
    """Takes the options of an incremental query out of `rest`; other queries have none that could change their rows."""
    begin, end = rest.pop(BEGIN, None), rest.pop(END, None)
    form = str(rest.pop(INCREMENTAL_FORMAT, "latest_state")).strip().lower()
    holes = rest.pop(HOLES, None)
    version = rest.pop(INCREMENTAL_VERSION, None)
    arguments: dict[str, Any] = {
        argument: _truth(name, rest.pop(name)) for name, argument in _INCREMENTAL_TRUTHS.items() if name in rest
    }
    if kind != "incremental":
        if begin is not None or end is not None or arguments.get("changelog"):
            raise InvalidArgumentError(
                f"{BEGIN}, {END} and {CHANGELOG} belong to {QUERY_TYPE}=incremental; the query type is {kind}"
            )
        return None
    if form not in ("latest_state", "cdc"):
        raise InvalidArgumentError(f"{INCREMENTAL_FORMAT} is latest_state or cdc, not {form!r}")
    if begin is None:
        raise InvalidArgumentError(f'an incremental query needs {BEGIN}: an instant, or "earliest"')
    if holes is not None:
        arguments["holes"] = str(holes).strip()
    return Incremental(
        begin, end, None if version is None else _whole(INCREMENTAL_VERSION, version), arguments, changes=form == "cdc"
    )


def _check_kind(query: Query) -> None:
    if query.incremental and (query.as_of is not None or not query.merge):
        raise InvalidArgumentError(
            f"an incremental query takes no {AS_OF}, and no {MERGE_TYPE}=skip_merge: "
            f"{END} says how far it goes, and mortice.changelog=true leaves records unmerged"
        )
    if (
        query.incremental
        and query.incremental.changes
        and (query.emit_deletes or query.incremental.arguments.get("changelog"))
    ):
        raise InvalidArgumentError(
            f"{INCREMENTAL_FORMAT}=cdc with {EMIT_DELETES} or mortice.changelog: changes tell of deletes by themselves"
        )
    if query.read_optimized and query.emit_deletes:
        raise InvalidArgumentError(f"{EMIT_DELETES} on a read-optimized query, which reads no log and knows no deletes")


def _table_arguments(rest: dict[str, Any]) -> dict[str, Any]:
    """Takes the options that are arguments of `Table` out of `rest`."""
    rows = _whole(BATCH_ROWS, rest.pop(BATCH_ROWS, DEFAULT_BATCH_ROWS))
    if rows > MOST_BATCH_ROWS:
        raise InvalidArgumentError(
            f"{BATCH_ROWS} is at most {MOST_BATCH_ROWS}, since Spark holds a batch whole; got {rows}"
        )
    arguments: dict[str, Any] = {
        "batch_rows": rows,
        # One: Spark gives a task one core and forks its workers.
        "threads": _whole(THREADS, rest.pop(THREADS, 1)),
    }
    for name, argument in ((SEMANTICS, "semantics"), (ON_CORRUPT, "on_corrupt")):
        if name in rest:
            arguments[argument] = rest.pop(name)
    if MEMORY_LIMIT in rest:
        arguments["memory_limit"] = _whole(MEMORY_LIMIT, rest.pop(MEMORY_LIMIT))
    if SPILL_FOLDER in rest:
        arguments["spill_dir"] = str(rest.pop(SPILL_FOLDER))
    truths = (
        (LOG_SCAN, "optimized_log_scan"),
        (DATA_SKIPPING, "prune"),
        (METADATA, "use_metadata"),
        (COLUMN_STATS, "use_column_stats"),
        (RECORD_INDEX, "use_record_index"),
        (RECORD_POSITIONS, "record_positions"),
        (SPILL_COMPRESSED, "spill_compressed"),
    )
    for name, argument in truths:
        if name in rest:
            arguments[argument] = _truth(name, rest.pop(name))
    stored = {name.removeprefix(STORAGE_PREFIX): rest.pop(name) for name in list(rest) if is_of_storage(name)}
    if MMAP in rest:
        stored["mmap"] = _truth(MMAP, rest.pop(MMAP))
    if stored:
        arguments["storage_options"] = stored
    return arguments


def _merger(value: Any) -> Merge | None:
    """A function, or the name of one."""
    return imported(value) if isinstance(value, str) else value


def _is_merged(merge_type: str) -> bool:
    kind = merge_type.strip().lower()
    if kind in ("skip_merge", "realtime_skip_merge"):
        return False
    if kind not in ("payload_combine", "realtime_payload_combine"):
        raise InvalidArgumentError(f"{MERGE_TYPE} is payload_combine or skip_merge, not {merge_type!r}")
    return True


def _check_other(name: str, value: Any) -> None:
    """Refuses or warns of an option that is not read."""
    if name in STREAMING:
        raise InvalidArgumentError(f"the option {name} is for streams (spark.readStream), not for batch queries")
    what = decision(name)
    if what is Decision.REFUSED and not harmless(name, value):
        raise UnsupportedError(f"the option {name} could change the rows and is not taken: {why_refused(name)}")
    if what is not Decision.UNKNOWN:
        return
    meant = near(name)
    if meant or name.startswith("mortice."):
        hint = f"did you mean {meant}?" if meant else "see mortice.spark.options for those there are"
        raise InvalidArgumentError(f"no such option: {name}; {hint}")
    if name not in _said:
        _said.add(name)
        warnings.warn(f"the option {name} has no meaning for mortice and is left aside", UserWarning, stacklevel=2)
