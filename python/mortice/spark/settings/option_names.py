"""The names of options and the decision about each: accepted, rejected by name, or without effect on the rows.

The names are those of Hudi 1.2: `DataSourceReadOptions`, `HoodieReaderConfig`, `HoodieCommonConfig`,
`HoodieMemoryConfig`, `HoodieMetadataConfig`, `FileSystemViewStorageConfig`, and the properties that its payloads and
its table read. The effect of an option on the rows was measured on Hudi 1.2.0 if its documentation does not describe
it. `tests/spark/test_option_names.py` requires a decision about every name.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from enum import Enum
from importlib import resources

COLUMNS = "columns"
FILTERS = "filters"
QUERY_TYPE = "hoodie.datasource.query.type"
AS_OF = "as.of.instant"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
MERGE_TYPE = "hoodie.datasource.merge.type"
INCREMENTAL_FORMAT = "hoodie.datasource.query.incremental.format"
INCREMENTAL_VERSION = "hoodie.datasource.read.incr.table.version"
HOLES = "hoodie.read.timeline.holes.resolution.policy"
SKIP_COMPACT = "hoodie.datasource.read.incr.skip_compact"
SKIP_CLUSTER = "hoodie.datasource.read.incr.skip_cluster"
FULL_SCAN = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
SCHEMA_AT_END = "hoodie.datasource.read.schema.use.end.instanttime"
SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
LOG_SCAN = "hoodie.optimized.log.blocks.scan.enable"
MEMORY_LIMIT = "hoodie.memory.merge.max.size"
SPILL_FOLDER = "hoodie.memory.spillable.map.path"
SPILL_COMPRESSED = "hoodie.common.diskmap.compression.enabled"
DATA_SKIPPING = "hoodie.enable.data.skipping"
METADATA = "hoodie.metadata.enable"
RECORD_POSITIONS = "hoodie.merge.use.record.positions"
CHANGELOG = "mortice.changelog"
EMIT_DELETES = "mortice.emit.deletes"
SEMANTICS = "mortice.semantics"
MERGER = "mortice.merger"
SPLIT_BYTES = "mortice.split.bytes"
BATCH_ROWS = "mortice.batch.rows"
THREADS = "mortice.threads"
ON_CORRUPT = "mortice.on.corrupt"
ON_DAMAGE = "mortice.on.damage"
COLUMN_STATS = "mortice.column.stats"
RECORD_INDEX = "mortice.record.index"
MMAP = "mortice.mmap"
SPARK_PARQUET = "mortice.spark.parquet"
ZIP_CACHE = "mortice.zip.cache"
GC_FREEZE = "mortice.gc.freeze"

START = "start"
START_INCLUSIVE = "start_inclusive"
START_OFFSET = "hoodie.datasource.streaming.startoffset"
STREAM_VERSION = "hoodie.datasource.read.streaming.table.version"
STREAMING = (START, START_INCLUSIVE, START_OFFSET, STREAM_VERSION, "maxinstantspertrigger", "maxbytespertrigger")
"""Options of streams only (see `mortice.spark.settings.stream_options`), in lower case, as Spark passes them."""

SYNONYMS = {
    "mortice.columns": COLUMNS,
    "mortice.filters": FILTERS,
    "mortice.emit_deletes": EMIT_DELETES,
    "mortice.on_corrupt": ON_CORRUPT,
    "mortice.on_damage": ON_DAMAGE,
    "mortice.start": START,
    "mortice.start.inclusive": START_INCLUSIVE,
    "mortice.max.instants": "maxinstantspertrigger",
    "mortice.max.bytes": "maxbytespertrigger",
}
"""Other names of options, in lower case, and the names that they are synonyms of."""

STORAGE_PREFIX = "mortice.storage."
"""`mortice.storage.NAME` is the storage option NAME, such as `mortice.storage.endpoint`."""
HADOOP_PREFIXES = ("fs.", "dfs.", "hadoop.security.", "google.cloud.auth.")
"""Prefixes of settings of Hadoop's file systems. Those of the table's store are accepted."""

SPARK_PREFIX = "spark."
"""Hudi accepts `spark.hoodie.x` for `hoodie.x`, the form that a session's configuration has."""

TAKEN = frozenset(
    {
        *("path", "paths", COLUMNS, FILTERS),
        *(QUERY_TYPE, AS_OF, BEGIN, END, MERGE_TYPE, INCREMENTAL_FORMAT, INCREMENTAL_VERSION, HOLES),
        *(SKIP_COMPACT, SKIP_CLUSTER, FULL_SCAN, SCHEMA_AT_END, SCHEMA_ON_READ),
        *(LOG_SCAN, MEMORY_LIMIT, SPILL_FOLDER, SPILL_COMPRESSED, DATA_SKIPPING, METADATA, RECORD_POSITIONS),
        *(CHANGELOG, EMIT_DELETES, SEMANTICS, MERGER, SPLIT_BYTES, BATCH_ROWS, THREADS, ON_CORRUPT, ON_DAMAGE),
        *(COLUMN_STATS, RECORD_INDEX, MMAP, SPARK_PARQUET, ZIP_CACHE, GC_FREEZE),
        *STREAMING,
    }
)
"""Options that are read, in lower case and without synonyms."""


def _decided(decision: str) -> dict[str, tuple[str, str]]:
    """Returns the options of Hudi with a decision, those of a family as `prefix*`: the harmless value and the remedy.

    `option_decisions.tsv` has those that change which rows are returned, with what to do instead, and those that change
    how Hudi reads, or what it writes, never the rows. A harmless value, behind `=`, has the same effect as leaving a
    rejected option out.
    """
    text = resources.files("mortice.spark.settings").joinpath("option_decisions.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {name: (harmless, instead) for name, decided, harmless, instead, _ in rows if decided == decision}


_REFUSED, _WITHOUT_EFFECT = _decided("refused"), _decided("without effect")
REFUSED = {name for name in _REFUSED if not name.endswith("*")} | {
    "hoodie.payload.delete.field",
    "hoodie.payload.delete.marker",
}
"""Rejected options whose full name is known."""

_NEAR = 0.85
"""The similarity from which on a name counts as misspelled: one letter in eight, or the ending of a word, differs."""


class Default(str):
    """The default of an argument, which an option replaces. It does not replace one that the caller has passed."""

    __slots__ = ()


class Decision(Enum):
    """How an option is handled."""

    TAKEN = "taken"
    REFUSED = "refused"
    WITHOUT_EFFECT = "without effect"
    UNKNOWN = "unknown"


def decision(name: str) -> Decision:
    """Returns how the option of this name, in lower case, is handled."""
    if name in TAKEN or is_of_storage(name):
        return Decision.TAKEN
    if why_refused(name):
        return Decision.REFUSED
    if _entry(_WITHOUT_EFFECT, name) is not None:
        return Decision.WITHOUT_EFFECT
    return Decision.UNKNOWN


def is_of_storage(name: str) -> bool:
    """Returns true for storage options: `mortice.storage.NAME`, and Hadoop's settings under their own names."""
    return name.startswith((STORAGE_PREFIX, *HADOOP_PREFIXES))


def _entry(decided: Mapping[str, tuple[str, str]], name: str) -> tuple[str, str] | None:
    families = (one for one in decided if one.endswith("*") and name.startswith(one[:-1]))
    found = name if name in decided else next(families, None)
    return None if found is None else decided[found]


def why_refused(name: str) -> str | None:
    """Returns why an option is rejected and what to do instead; None for other options."""
    found = None if name in TAKEN else _entry(_REFUSED, name)
    return None if found is None else found[1]


def near(name: str) -> str | None:
    """Returns the accepted option whose name is most similar to `name`, None if none is similar enough."""
    found = difflib.get_close_matches(name, TAKEN | SYNONYMS.keys(), n=1, cutoff=_NEAR)
    return found[0] if found else None


def rejected() -> dict[str, str]:
    """Returns the rejected options, those of a family as `prefix*`, and what to do instead of each."""
    return {name: instead for name, (_, instead) in _REFUSED.items()}


def harmless_value(name: str) -> str | None:
    """Returns the value with which a rejected option has no effect; None if there is none."""
    value = _REFUSED.get(name, ("", ""))[0]
    return value[1:] if value.startswith("=") else None
