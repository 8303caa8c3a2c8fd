"""Describes every option of the Spark source: values, default, unit. docs/options.md is generated from it."""

from __future__ import annotations

from dataclasses import dataclass

from mortice.spark.settings import option_names as names

__all__ = ["GROUPS", "Option"]

_BOOL = "true, false"
_BYTES = "bytes"


@dataclass(frozen=True)
class Option:
    """The description of one option."""

    name: str
    """The name, in the spelling of the documentation; options are matched without regard to case."""
    values: str
    """The values that are accepted."""
    default: str
    """The default; empty if there is none."""
    meaning: str
    """What the option does, as one or two sentences."""
    unit: str = ""
    """The unit of a number; empty for other values."""
    argument: str = ""
    """The argument of the Python API that has the same effect; empty if there is none."""

    @property
    def synonyms(self) -> list[str]:
        """Other names that are accepted for the option."""
        return [other for other, name in names.SYNONYMS.items() if name == self.name.lower()]


_QUERY = (
    Option(names.QUERY_TYPE, "snapshot, read_optimized, incremental", "snapshot", "The query type.", "", "query_type"),
    Option(
        names.AS_OF,
        "an instant",
        "the latest",
        "Reads the table as of this instant (time travel). Not for incremental queries.",
        argument="as_of",
    ),
    Option(
        names.COLUMNS, '`a,b,c` or `["a", "b"]`', "all", "The columns to return, in this order.", argument="columns"
    ),
    Option(
        names.FILTERS,
        '`fare > 3 and city = \'oslo\'`, or `[["fare", ">", 3]]`, or a list of such lists',
        "none",
        "Predicates that rows must satisfy: a condition as in SQL's WHERE, or JSON: all terms of a list, in any of "
        "several lists.",
        argument="filters",
    ),
    Option(
        names.MERGE_TYPE,
        "payload_combine, skip_merge",
        "payload_combine",
        "`skip_merge` returns the records of base files and logs without merging them.",
        argument="merge",
    ),
    Option(
        names.EMIT_DELETES,
        _BOOL,
        "false",
        "Returns deleted keys too, as rows with `D` in `_hoodie_operation`.",
        argument="emit_deletes",
    ),
    Option("path", "a local path or URI", "", "The table's base path; `load(path)` sets it.", argument="uri"),
    Option("paths", "a JSON list of one path", "", "Set by `load([path])`."),
)
_INCREMENTAL = (
    Option(names.BEGIN, "an instant, earliest", "", "Begins after this instant. Required.", argument="begin"),
    Option(names.END, "an instant", "the latest", "The last instant, inclusive.", argument="end"),
    Option(
        names.INCREMENTAL_FORMAT,
        "latest_state, cdc",
        "latest_state",
        "`cdc` returns changes with the row before and after (`Table.changes`).",
    ),
    Option(
        names.CHANGELOG,
        _BOOL,
        "false",
        "Returns every log record as a row, deletes included; nothing is merged.",
        argument="changelog",
    ),
    Option(
        names.HOLES,
        "fail, block",
        "fail",
        "Below table version 8: what to do if a commit in the range is pending and later ones have completed. `block` "
        "ends the range before it.",
        argument="holes",
    ),
    Option(
        names.SKIP_COMPACT, _BOOL, "false", "Leaves out what compactions wrote in the range.", argument="skip_compact"
    ),
    Option(
        names.SKIP_CLUSTER, _BOOL, "false", "Leaves out what clustering wrote in the range.", argument="skip_cluster"
    ),
    Option(
        names.FULL_SCAN,
        _BOOL,
        "true from table version 8 on, else false",
        "If commits of the range were archived or their files cleaned: looks for the rows in all files of the table.",
        argument="fall_back_to_full_scan",
    ),
    Option(
        names.SCHEMA_AT_END,
        _BOOL,
        "false",
        "Returns the columns that the table had at the end of the range.",
        argument="schema_at_end",
    ),
    Option(
        names.INCREMENTAL_VERSION,
        "6, 8",
        "that of the table",
        "The kind of instants that bounds are: requested times (6) or completion times (8). It must be the table's.",
    ),
)
_STREAM = (
    Option(
        names.START,
        "earliest, latest, an instant",
        "earliest",
        "Where a new query begins, exclusive. A query with a checkpoint continues from there. "
        "`hoodie.datasource.streaming.startOffset` is Hudi's name of the option.",
    ),
    Option("hoodie.datasource.streaming.startOffset", "earliest, latest, an instant", "", "Hudi's name of `start`."),
    Option(names.START_INCLUSIVE, _BOOL, "false", "Includes the commit at `start`, which must be an instant."),
    Option("maxInstantsPerTrigger", "an integer of 1 or more", "no limit", "Commits in a batch, at most.", "commits"),
    Option(
        "maxBytesPerTrigger",
        "an integer of 1 or more",
        "no limit",
        "Size of the files that the commits of a batch wrote, at most. At least one commit is read.",
        _BYTES,
    ),
    Option(
        names.STREAM_VERSION,
        "6, 8",
        "that of the table",
        "As `hoodie.datasource.read.incr.table.version`, for streams.",
    ),
)
_MERGING = (
    Option(
        names.SEMANTICS,
        "1.x, 0.x",
        "1.x",
        "The merge rules: those of Hudi 1.2, or of Hudi 0.15 on tables that it can read.",
        argument="semantics",
    ),
    Option(
        names.MERGER,
        "package.module:function",
        "",
        "The merge function of a table with a user-defined payload class or record merger.",
        argument="mortice.register_merger",
    ),
    Option(
        names.RECORD_POSITIONS,
        _BOOL,
        "true",
        "Merges by row position if the logs record positions, else by record key. Rows differ only if a base file "
        "contains a key several times.",
        argument="record_positions",
    ),
    Option(
        names.LOG_SCAN,
        _BOOL,
        "true",
        "Merges log blocks by instant, as Hudi 1.2 does by default; false block by block, as 1.0 and 1.1 do.",
        argument="optimized_log_scan",
    ),
    Option(
        names.ON_CORRUPT,
        "skip, raise",
        "skip",
        "What to do with a corrupt log block: skip it with a warning, as Hudi does, or raise an error.",
        argument="on_corrupt",
    ),
    Option(
        names.ON_DAMAGE,
        "warn, raise, ignore",
        "warn",
        "What to do with a log file that has lost bytes of a completed write: read the rest, with a warning in the log "
        "of the executor or without, or raise an error.",
        argument="on_damage",
    ),
    Option(
        names.SCHEMA_ON_READ,
        _BOOL,
        "true",
        "Resolves columns by id if the table has a schema history. False is rejected for such tables.",
    ),
)
_PRUNING = (
    Option(
        names.DATA_SKIPPING,
        _BOOL,
        "true",
        "Skips files and row groups that partition paths and statistics exclude.",
        argument="prune",
    ),
    Option(
        names.METADATA,
        _BOOL,
        "true",
        "Lists files from the metadata table; false lists storage.",
        argument="use_metadata",
    ),
    Option(
        names.COLUMN_STATS,
        _BOOL,
        "true",
        "Skips file slices by the column statistics of the metadata table.",
        argument="use_column_stats",
    ),
    Option(
        names.RECORD_INDEX,
        _BOOL,
        "false",
        "Looks up the record keys of a filter in the record index. For tables whose keys are unique in all partitions.",
        argument="use_record_index",
    ),
)
_RESOURCES = (
    Option(
        names.SPLIT_BYTES,
        "an integer of 1 or more",
        "134217728 (128 MiB)",
        "The bytes that a task reads, at most; a larger file slice is read by several tasks.",
        _BYTES,
    ),
    Option(names.BATCH_ROWS, "1 to 65536", "8192", "Rows in an Arrow batch, at most.", "rows", argument="batch_rows"),
    Option(names.THREADS, "an integer of 1 or more", "1", "Threads of one task.", "threads", argument="threads"),
    Option(
        names.MEMORY_LIMIT,
        "an integer of 1 or more",
        "1073741824 (1 GiB)",
        "Memory for the logs of a file slice. Larger merges run in several passes.",
        _BYTES,
        argument="memory_limit",
    ),
    Option(
        names.SPILL_FOLDER,
        "a local path",
        "the system's directory for temporary files",
        "The directory for spilled data.",
        argument="spill_dir",
    ),
    Option(names.SPILL_COMPRESSED, _BOOL, "true", "Compresses spilled data.", argument="spill_compressed"),
    Option(
        names.MMAP,
        _BOOL,
        "false",
        "Maps large files on local disks into memory. Nobody may make them shorter while they are read.",
        argument="mmap",
    ),
    Option(
        names.ZIP_CACHE,
        _BOOL,
        "true",
        "On Python 3.10 to 3.12, workers cache the directories of unchanged zip archives.",
        argument="zip_cache",
    ),
    Option(
        names.GC_FREEZE,
        _BOOL,
        "true",
        "The garbage collection after a task visits only the objects of the task.",
    ),
)

GROUPS: dict[str, tuple[Option, ...]] = {
    "Queries": _QUERY,
    "Incremental queries": _INCREMENTAL,
    "Streams": _STREAM,
    "Merging and damage": _MERGING,
    "Pruning": _PRUNING,
    "Tasks and memory": _RESOURCES,
}
"""All options by topic, except storage options (`mortice.storage.NAME` and Hadoop's `fs.*`, see docs/storage.md)."""
