"""Parses the options of the Spark source: the only place where they are read.

docs/options.md describes the options; it is generated from `tools/spark_options.tsv`. What is decided about each option
of Hudi is in `mortice.spark.settings.option_names`. Streams have additional options, which batch queries reject: see
`mortice.spark.settings.stream_options`.

* An option of Hudi that could change the rows and is not supported raises `UnsupportedError`: an error is better than a
  wrong result. One that cannot change them is ignored.
* A misspelled name, and an unknown name that begins with `mortice.`, raises `InvalidArgumentError`, which suggests the
  right name. Any other unknown option is ignored with a warning, once in a process.
* `spark.hoodie.x` is the same as `hoodie.x`, as in Hudi.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast, get_args, get_type_hints

from mortice import _mortice, queries
from mortice.errors import InvalidArgumentError, UnsupportedError
from mortice.expressions import Filters
from mortice.reading.mergers import Merge, imported
from mortice.reading.read_options import ReadOptions
from mortice.spark.execution.tasks import DEFAULT_SPLIT_BYTES, TaskOptions
from mortice.spark.execution.worker import WorkerOptions
from mortice.spark.settings import option_names as opt
from mortice.table import Table
from mortice.values.instants import InstantLike
from mortice.values.options import checked_count, checked_string, checked_uri
from mortice.values.visible_text import visible_text

V = TypeVar("V")


def parse_count(name: str, value: object) -> int:
    """Returns the value as an integer of 1 or more. Raises `InvalidArgumentError`."""
    try:
        number = int(value.strip()) if isinstance(value, str) else value
    except ValueError:
        number = value
    return checked_count(f"the option {name}", number)


def parse_bool(name: str, value: object) -> bool:
    """Returns the value of `true` or `false`, in any case. Raises `InvalidArgumentError`."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise InvalidArgumentError(f"the option {name} must be true or false, got {value!r}")
    return text == "true"


MOST_BATCH_ROWS = 65536
DEFAULT_BATCH_ROWS = 8192
"""Smaller than outside Spark: the JVM reads a batch row by row, which is faster while the batch is in its cache."""

_FLAGS = {
    opt.CHANGELOG: "changelog",
    opt.SKIP_COMPACT: "skip_compact",
    opt.SKIP_CLUSTER: "skip_cluster",
    opt.FULL_SCAN: "fall_back_to_full_scan",
    opt.SCHEMA_AT_END: "schema_at_end",
}
"""Boolean options of incremental queries, and the fields of the query that they set."""

_warned: set[str] = set()


@dataclass(frozen=True)
class Query:
    """A query as described by options."""

    uri: str
    asked: queries.Query = field(default_factory=queries.Snapshot)
    table_version: int | None = None
    """The kind of the bounds of an incremental query: 6, requested times; 8, completion times; None, the table's."""
    merger: Merge | None = None
    tasks: TaskOptions = field(default_factory=TaskOptions)
    schema_on_read: bool = True
    # Not in repr(): storage options may be secrets.
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    read_options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def columns(self) -> Sequence[str] | None:
        """The columns that options name."""
        return self.asked.columns

    def table(self) -> Table:
        """Opens the table."""
        table = Table(self.uri, storage_options=self.storage_options, read_options=self.read_options)
        return table if self.merger is None else table.with_merger(self.merger)

    def prepare(self, table: Table, columns: Sequence[str] | None) -> queries.QueryPlan:
        """Returns the query on `table` with these columns, not yet planned."""
        if not self.schema_on_read and table.has_column_ids(getattr(self.asked, "as_of", None)):
            raise UnsupportedError(
                f"{opt.SCHEMA_ON_READ}=false is not supported for a table with a schema history; leave out the option",
                path=self.uri,
            )
        own = 8 if table.version >= 8 else 6  # noqa: PLR2004
        if self.table_version not in (None, own):
            raise UnsupportedError(
                f"{opt.INCREMENTAL_VERSION}={self.table_version} does not fit a table of version {table.version}, "
                f"whose incremental queries are those of version {own}; leave out the option"
            )
        return table.prepare(replace(self.asked, columns=columns))


def by_one_name(options: Mapping[str, V] | None) -> dict[str, V]:
    """Returns options by lower-case name, as Spark passes them; synonyms and `spark.hoodie.x` get their one name."""
    named: dict[str, V] = {}
    for given, value in (options or {}).items():
        name = str(given).lower()
        if name.startswith(f"{opt.SPARK_PREFIX}hoodie."):
            name = name.removeprefix(opt.SPARK_PREFIX)
        name = opt.SYNONYMS.get(name, name)
        known = named.setdefault(name, value)
        # Expressions cannot be compared.
        if known is not value and known != value:
            raise InvalidArgumentError(
                f"the option {name} is given twice, with different values; leave out one of them"
            )
    return named


def read_query(options: Mapping[str, object], uri: str | None = None) -> Query:
    """Parses a query. Values are strings; columns, filters and instants may be Python values as well.

    Raises `InvalidArgumentError`, `UnsupportedError`.
    """
    rest: dict[str, object] = by_one_name(options)
    path = _path(rest.pop("path", None), rest.pop("paths", None), uri)
    asked, table_version = _asked(rest)
    query = Query(
        uri=path,
        asked=asked,
        table_version=table_version,
        merger=_merger(rest.pop(opt.MERGER, None)),
        tasks=TaskOptions(
            split_bytes=parse_count(opt.SPLIT_BYTES, rest.pop(opt.SPLIT_BYTES, DEFAULT_SPLIT_BYTES)),
            spark_parquet=parse_bool(opt.SPARK_PARQUET, rest.pop(opt.SPARK_PARQUET, True)),
            worker=WorkerOptions(
                zip_cache=parse_bool(opt.ZIP_CACHE, rest.pop(opt.ZIP_CACHE, True)),
                gc_freeze=parse_bool(opt.GC_FREEZE, rest.pop(opt.GC_FREEZE, True)),
            ),
        ),
        schema_on_read=parse_bool(opt.SCHEMA_ON_READ, rest.pop(opt.SCHEMA_ON_READ, True)),
        read_options=_read_options(rest),
        storage_options=_storage_options(rest),
    )
    for name, value in rest.items():
        _check_other(name, value)
    return query


def _path(path: object, paths: object, uri: str | None) -> str:
    if uri is not None:
        return checked_uri(uri)
    if path is None and paths is not None:
        several = _json("paths", paths)
        if not isinstance(several, list) or len(several) != 1:
            raise InvalidArgumentError(
                f"load() takes the base path of one table, got {paths}; load each table by itself"
            )
        path = several[0]
    if path is None:
        raise InvalidArgumentError("the path of the table is missing; pass its base path to load()")
    return checked_uri(path)


def _columns(value: object) -> Sequence[str] | None:
    if not isinstance(value, str):
        return cast("Sequence[str] | None", value)
    names = _json("columns", value) if value.lstrip().startswith("[") else [name.strip() for name in value.split(",")]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgumentError(
            f'the option columns must be a list of names, such as a,b or ["a", "b"], got {value!r}'
        )
    return names


def _filters(value: object) -> Filters:
    """Returns filters: of a string, JSON if it begins as a list of JSON does, and else the text itself."""
    if not isinstance(value, str):
        return cast("Filters", value)
    if value.lstrip().startswith("["):
        return cast("Filters", _json("filters", value))
    _mortice.check_filter_text(checked_string("the filter", value))
    return value


def _json(name: str, value: object) -> Any:
    try:
        return json.loads(cast("str", value))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the option {name} must be JSON, got {value!r}: {error}") from error


def _asked(rest: dict[str, object]) -> tuple[queries.Query, int | None]:
    """Removes the options that say what is read from `rest`.

    Returns:
        The query, and the table version whose kind of bounds it has, if that is given.
    """
    kind = _one_of(opt.QUERY_TYPE, rest.pop(opt.QUERY_TYPE, "snapshot"), "snapshot", "read_optimized", "incremental")
    form = rest.pop(opt.INCREMENTAL_FORMAT, "latest_state")
    given: dict[str, Any] = {
        "columns": _columns(rest.pop(opt.COLUMNS, None)),
        "filters": _filters(rest.pop(opt.FILTERS, None)),
    }
    as_of = cast("InstantLike", rest.pop(opt.AS_OF, None))
    merge = _is_merged(str(rest.pop(opt.MERGE_TYPE, "payload_combine")))
    emit_deletes = parse_bool(opt.EMIT_DELETES, rest.pop(opt.EMIT_DELETES, False))
    begin, end = (cast("InstantLike", rest.pop(name, None)) for name in (opt.BEGIN, opt.END))
    holes, version = rest.pop(opt.HOLES, None), rest.pop(opt.INCREMENTAL_VERSION, None)
    flags: dict[str, Any] = {
        argument: parse_bool(name, rest.pop(name)) for name, argument in _FLAGS.items() if name in rest
    }
    if kind != "incremental":
        if begin is not None or end is not None or flags.get("changelog"):
            raise InvalidArgumentError(
                f"{opt.BEGIN}, {opt.END} and {opt.CHANGELOG} require {opt.QUERY_TYPE}=incremental, got {kind}"
            )
        if kind == "snapshot":
            return queries.Snapshot(as_of=as_of, merge=merge, emit_deletes=emit_deletes, **given), None
        if emit_deletes:
            raise InvalidArgumentError(
                f"{opt.EMIT_DELETES} is not for read-optimized queries, which read no log files; use a snapshot query"
            )
        return queries.ReadOptimized(as_of=as_of, **given), None
    if begin is None:
        raise InvalidArgumentError(f'an incremental query requires {opt.BEGIN}: an instant, or "earliest"')
    if as_of is not None or not merge:
        raise InvalidArgumentError(
            f"{opt.AS_OF} and {opt.MERGE_TYPE}=skip_merge are not for incremental queries; "
            f"use {opt.END}, or {opt.CHANGELOG}=true for records that are not merged"
        )
    given |= {"begin": begin, "end": end} | ({} if holes is None else {"holes": str(holes).strip()})
    table_version = None if version is None else parse_count(opt.INCREMENTAL_VERSION, version)
    if _one_of(opt.INCREMENTAL_FORMAT, form, "latest_state", "cdc") == "latest_state":
        return queries.Incremental(emit_deletes=emit_deletes, **given, **flags), table_version
    if emit_deletes or flags.get("changelog"):
        raise InvalidArgumentError(
            f"{opt.INCREMENTAL_FORMAT}=cdc always includes deletes; leave out {opt.EMIT_DELETES} and {opt.CHANGELOG}"
        )
    return queries.Changes(**given), table_version


def _one_of(name: str, value: object, *known: str) -> str:
    word = str(value).strip().lower()
    if word not in known:
        listed = f"{', '.join(known[:-1])} or {known[-1]}"
        raise InvalidArgumentError(f"{name} must be {listed}, got {value!r}")
    return word


_READ_OPTIONS = {
    opt.BATCH_ROWS: "batch_rows",
    opt.THREADS: "threads",
    opt.SEMANTICS: "semantics",
    opt.ON_CORRUPT: "on_corrupt",
    opt.ON_DAMAGE: "on_damage",
    opt.MEMORY_LIMIT: "memory_limit",
    opt.SPILL_FOLDER: "spill_dir",
    opt.SPILL_COMPRESSED: "spill_compressed",
    opt.LOG_SCAN: "optimized_log_scan",
    opt.DATA_SKIPPING: "prune",
    opt.METADATA: "use_metadata",
    opt.COLUMN_STATS: "use_column_stats",
    opt.RECORD_INDEX: "use_record_index",
    opt.RECORD_POSITIONS: "record_positions",
    opt.MMAP: "mmap",
}
"""Options, and the fields of `ReadOptions` that they are."""


def _read_options(rest: dict[str, object]) -> ReadOptions:
    """Removes the options that are fields of `ReadOptions` from `rest`, and returns them with the defaults of Spark."""
    # One thread: Spark gives a task one core and forks its workers.
    given: dict[str, Any] = {"batch_rows": DEFAULT_BATCH_ROWS, "threads": 1}
    kinds = get_type_hints(ReadOptions)
    for name, argument in _READ_OPTIONS.items():
        if name in rest:
            given[argument] = _parsed(name, rest.pop(name), kinds[argument])
    if given["batch_rows"] > MOST_BATCH_ROWS:
        raise InvalidArgumentError(
            f"{opt.BATCH_ROWS} must be at most {MOST_BATCH_ROWS}, since Spark allocates a batch in one piece; "
            f"got {given['batch_rows']}"
        )
    return ReadOptions(**given)


def _parsed(name: str, value: Any, kind: object) -> Any:
    if kind is bool:
        return parse_bool(name, value)
    return parse_count(name, value) if int in (kind, *get_args(kind)) else value


def _storage_options(rest: dict[str, object]) -> dict[str, object]:
    return {name.removeprefix(opt.STORAGE_PREFIX): rest.pop(name) for name in list(rest) if opt.is_of_storage(name)}


def _merger(value: object) -> Merge | None:
    """Returns the merge function, imported if it is given by name."""
    return imported(value) if isinstance(value, str) else cast("Merge | None", value)


def _is_merged(merge_type: str) -> bool:
    kind = merge_type.strip().lower().removeprefix("realtime_")
    if kind not in ("payload_combine", "skip_merge"):
        raise InvalidArgumentError(f"{opt.MERGE_TYPE} must be payload_combine or skip_merge, got {merge_type!r}")
    return kind == "payload_combine"


def _check_other(name: str, value: object) -> None:
    """Rejects an option that is not read, or warns that it is ignored."""
    if name in opt.STREAMING:
        raise InvalidArgumentError(f"the option {name} is for streams (spark.readStream), not for batch queries")
    what = opt.decision(name)
    if what is opt.Decision.REFUSED and opt.harmless_value(name) != str(value).strip().lower():
        raise UnsupportedError(f"the option {name} could change the rows and is not supported: {opt.why_refused(name)}")
    if what is not opt.Decision.UNKNOWN:
        return
    meant = opt.near(name)
    if meant or name.startswith("mortice."):
        hint = f"did you mean {meant}?" if meant else "docs/options.md lists the options"
        raise InvalidArgumentError(f"no such option: {name}; {hint}")
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"mortice does not know the option {visible_text(name)} and ignores it", UserWarning, stacklevel=2
        )
