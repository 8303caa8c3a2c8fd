"""The names of options and the decision about each: accepted, rejected by name, or without effect on the rows.

The names are those of Hudi 1.2: `DataSourceReadOptions`, `HoodieReaderConfig`, `HoodieCommonConfig`,
`HoodieMemoryConfig`, `HoodieMetadataConfig`, `FileSystemViewStorageConfig`, and the properties that its payloads and
its table read. The effect of an option on the rows was measured on Hudi 1.2.0 if its documentation does not describe
it. `tests/spark/test_option_names.py` requires a decision about every name.
"""

from __future__ import annotations

import difflib
from enum import Enum

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
        *(COLUMN_STATS, RECORD_INDEX, MMAP, ZIP_CACHE, GC_FREEZE),
        *STREAMING,
    }
)
"""Options that are read, in lower case and without synonyms."""

_MERGING = "the table's hoodie.properties define how records are merged; leave it out"
_MERGER = f"register a merge function (mortice.register_merger) or name it in the option {MERGER}"
_DELETING = "the table's hoodie.properties define which rows are deletes; leave it out"
_ONE_TABLE = "load one table by its base path, and use filters on its partition columns"
_FUNCTION = "it requests a relation other than the table's rows; use mortice.Table.timeline or file_slices"

_REFUSED = {
    "glob.paths": _ONE_TABLE,
    "hoodie.datasource.read.paths": _ONE_TABLE,
    "hoodie.datasource.read.incr.filters": "use the option filters",
    "hoodie.datasource.read.incr.path.glob": "use the option filters, on the partition columns",
    "hoodie.datasource.read.extract.partition.values.from.path": (
        "partition columns have the values of the partition path in the tables in which Hudi does so by default; "
        "leave it out"
    ),
    "hoodie.datasource.read.partition.value.extractor.enabled": (
        "partition values are taken from paths as the table's key generator wrote them; leave it out"
    ),
    # Measured: on a merge-on-read table this gives the rows of a read-optimized query.
    "hoodie.datasource.read.file.index.optimize.listing.using.path.filter": (
        f"with it, Hudi ignores log files; if that is intended, use {QUERY_TYPE}=read_optimized"
    ),
    # Measured: Hudi 1.2 ignores it, earlier releases use it as the query type.
    "hoodie.datasource.view.type": f"its meaning differs between releases of Hudi; use {QUERY_TYPE}",
    "hoodie.datasource.read.table.valued.function.timeline.relation": _FUNCTION,
    "hoodie.datasource.read.table.valued.function.timeline.relation.archived": _FUNCTION,
    "hoodie.datasource.read.table.valued.function.filesystem.relation.subpath": _FUNCTION,
    "hoodie.datasource.read.create.filesystem.relation": _FUNCTION,
    "hoodie.datasource.write.record.merger.impls": _MERGER,
    "hoodie.write.record.merge.custom.implementation.classes": _MERGER,
    "hoodie.compaction.payload.class": _MERGING,
    "hoodie.record.merge.mode": _MERGING,
}
_REFUSED_PREFIXES = {
    "hoodie.datasource.read.incr.": "this release does not know it; leave it out",
    "hoodie.datasource.streaming.": "this release does not know it; leave it out",
    "hoodie.datasource.read.streaming.": "this release does not know it; leave it out",
    "hoodie.read.timeline.holes.": "this release does not know it; leave it out",
    # Measured: with these, rows of logs become deletes, but rows of base files do not.
    "hoodie.payload.": _DELETING,
}
"""Options of Hudi that change which rows are returned, and what to do instead."""

REFUSED = frozenset(_REFUSED) | {"hoodie.payload.delete.field", "hoodie.payload.delete.marker"}
"""Rejected options whose full name is known."""

_HARMLESS = {
    "hoodie.datasource.read.incr.filters": "",
    "hoodie.datasource.read.incr.path.glob": "",
    "hoodie.datasource.read.extract.partition.values.from.path": "false",
    "hoodie.datasource.read.partition.value.extractor.enabled": "false",
    "hoodie.datasource.read.table.valued.function.timeline.relation": "false",
    "hoodie.datasource.read.table.valued.function.timeline.relation.archived": "false",
    "hoodie.datasource.read.table.valued.function.filesystem.relation.subpath": "",
    "hoodie.datasource.read.create.filesystem.relation": "false",
    "hoodie.datasource.read.file.index.optimize.listing.using.path.filter": "false",
    "hoodie.datasource.view.type": "realtime",
}
"""The value of a rejected option that has the same effect as leaving it out."""

_WITHOUT_EFFECT = {
    "hoodie.file.group.reader.enabled",
    "hoodie.file.index.enable",
    "hoodie.file.listing.parallelism",
    "hoodie.compaction.lazy.block.read",
    "hoodie.compaction.reverse.log.read",
    "hoodie.datasource.read.use.new.parquet.file.format",
    "hoodie.datasource.read.table.version",
    "hoodie.memory.merge.fraction",
    "hoodie.memory.compaction.fraction",
    "hoodie.memory.compaction.max.size",
    "hoodie.memory.dfs.buffer.max.size",
    "hoodie.memory.writestatus.failure.fraction",
    "hoodie.common.spillable.diskmap.type",
    "hoodie.fs.atomic_creation.support",
    "hoodie.read.blob.inline.mode",  # for Lance files, which are not supported
    "hoodie.spark.polaris.catalog.class",
    "hoodie.base.path",
    # Options of writers, which Hudi defines in the same classes.
    "hoodie.write.set.null.for.missing.columns",
    "hoodie.index.name",
    "hoodie.expression.index.type",
    "_hoodie.metadata.ignore.spurious.deletes",
}
_WITHOUT_EFFECT_PREFIXES = (
    "hoodie.datasource.read.file.index.",  # how partitions and files are listed
    "hoodie.file.index.cache.",
    "hoodie.filesystem.",  # how file slices are cached, and by which server
    "hoodie.hfile.block.cache.",
    "hoodie.metadata.",  # how the metadata table is written, cached and merged; `hoodie.metadata.enable` is accepted
    # Options of writers are often passed to readers, too. Measured: Hudi reads none of these in queries, not even merge
    # modes, payload classes and ordering fields.
    "hoodie.datasource.write.",
    "hoodie.write.record.merge.",
    "hoodie.record.merge.",
    "hoodie.table.",
    "hoodie.datasource.hive_sync.",
    "hoodie.datasource.meta.sync.",
    "hoodie.meta.sync.",
)
"""Options of Hudi that change how it reads, or what it writes, never the rows that are returned."""

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
    if name in _WITHOUT_EFFECT or name.startswith(_WITHOUT_EFFECT_PREFIXES):
        return Decision.WITHOUT_EFFECT
    return Decision.UNKNOWN


def is_of_storage(name: str) -> bool:
    """Returns true for storage options: `mortice.storage.NAME`, and Hadoop's settings under their own names."""
    return name.startswith((STORAGE_PREFIX, *HADOOP_PREFIXES))


def why_refused(name: str) -> str | None:
    """Returns why an option is rejected and what to do instead; None for other options."""
    if name in TAKEN:
        return None
    by_prefix = (why for prefix, why in _REFUSED_PREFIXES.items() if name.startswith(prefix))
    return _REFUSED.get(name) or next(by_prefix, None)


def harmless(name: str, value: object) -> bool:
    """Returns true if a rejected option has the value that has no effect."""
    return _HARMLESS.get(name) == str(value).strip().lower()


def near(name: str) -> str | None:
    """Returns the accepted option whose name is most similar to `name`, None if none is similar enough."""
    found = difflib.get_close_matches(name, TAKEN | SYNONYMS.keys(), n=1, cutoff=_NEAR)
    return found[0] if found else None


def rejected() -> dict[str, str]:
    """Returns the rejected options, those of a family as `prefix*`, and what to do instead of each."""
    return {**_REFUSED, **{f"{prefix}*": reason for prefix, reason in _REFUSED_PREFIXES.items()}}


def harmless_value(name: str) -> str | None:
    """Returns the value with which a rejected option has no effect; None if there is none."""
    return _HARMLESS.get(name)
