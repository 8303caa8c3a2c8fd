"""Which options there are, and what is decided about each: taken, refused by name, or without effect on the rows.

The names are those of Hudi 1.2: `DataSourceReadOptions`, `HoodieReaderConfig`, `HoodieCommonConfig`,
`HoodieMemoryConfig`, `HoodieMetadataConfig`, `FileSystemViewStorageConfig`, and the properties that its payloads and
its table look at. What an option does to the rows was measured on Hudi 1.2.0 where its documentation leaves it open;
`tests/spark/test_option_names.py` holds every name decided.
"""

from __future__ import annotations

import difflib
from enum import Enum

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
EMIT_DELETES = "mortice.emit_deletes"
SEMANTICS = "mortice.semantics"
MERGER = "mortice.merger"
SPLIT_BYTES = "mortice.split.bytes"
BATCH_ROWS = "mortice.batch.rows"
THREADS = "mortice.threads"
ON_CORRUPT = "mortice.on_corrupt"
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
"""Options of streams alone (see `mortice.spark.stream_options`), in lower case, as Spark hands them over."""

STORAGE_PREFIX = "mortice.storage."
"""`mortice.storage.NAME` is the storage option NAME, such as `mortice.storage.endpoint`."""
HADOOP_PREFIXES = ("fs.", "dfs.", "hadoop.security.", "google.cloud.auth.")
"""Settings of Hadoop's file systems; those of the table's store are taken."""

SPARK_PREFIX = "spark."
"""Hudi takes `spark.hoodie.` for `hoodie.`, as configurations of a session are called."""

TAKEN = frozenset(
    {
        *("path", "paths", "columns", "filters"),
        *(QUERY_TYPE, AS_OF, BEGIN, END, MERGE_TYPE, INCREMENTAL_FORMAT, INCREMENTAL_VERSION, HOLES),
        *(SKIP_COMPACT, SKIP_CLUSTER, FULL_SCAN, SCHEMA_AT_END, SCHEMA_ON_READ),
        *(LOG_SCAN, MEMORY_LIMIT, SPILL_FOLDER, SPILL_COMPRESSED, DATA_SKIPPING, METADATA, RECORD_POSITIONS),
        *(CHANGELOG, EMIT_DELETES, SEMANTICS, MERGER, SPLIT_BYTES, BATCH_ROWS, THREADS, ON_CORRUPT),
        *(COLUMN_STATS, RECORD_INDEX, MMAP, ZIP_CACHE, GC_FREEZE),
        *STREAMING,
    }
)
"""Options that are read."""

_MERGING = "how records merge is the table's own, in hoodie.properties"
_MERGER = f"register the merger (mortice.register_merger) or name it ({MERGER})"
_DELETING = "which rows are deletes is the table's own, in hoodie.properties"
_ONE_TABLE = "load() one table by its base path, and use filters on its partition columns"
_FUNCTION = "it asks for another relation than the table's rows; see mortice.Table.timeline and file_slices"

_REFUSED = {
    "glob.paths": _ONE_TABLE,
    "hoodie.datasource.read.paths": _ONE_TABLE,
    "hoodie.datasource.read.incr.filters": "use the option filters",
    "hoodie.datasource.read.incr.path.glob": "use the option filters, on the partition columns",
    "hoodie.datasource.read.extract.partition.values.from.path": (
        "partition columns get the values of the partition path wherever Hudi takes them from there by default, "
        "and cannot be taken from it elsewhere; leave it out"
    ),
    "hoodie.datasource.read.partition.value.extractor.enabled": (
        "partition values are taken from paths as the table's key generator wrote them; leave it out"
    ),
    # Measured: on a merge-on-read table this gives the rows of a read-optimized query.
    "hoodie.datasource.read.file.index.optimize.listing.using.path.filter": (
        f"Hudi then leaves the logs out; where that is meant, say {QUERY_TYPE}=read_optimized"
    ),
    # Measured: Hudi 1.2 leaves it aside, earlier releases take it for the query type.
    "hoodie.datasource.view.type": f"releases of Hudi differ in what they make of it; say {QUERY_TYPE}",
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
    "hoodie.datasource.read.incr.": "it is not known to this release",
    "hoodie.datasource.streaming.": "it is not known to this release",
    "hoodie.datasource.read.streaming.": "it is not known to this release",
    "hoodie.read.timeline.holes.": "it is not known to this release",
    # Measured: with these, rows of logs become deletes; of base files they do not.
    "hoodie.payload.": _DELETING,
}
"""Options of Hudi that change which rows come back, and what to do instead."""

REFUSED = frozenset(_REFUSED) | {"hoodie.payload.delete.field", "hoodie.payload.delete.marker"}
"""Those refused that are known by their whole name."""

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
"""The values with which a refused option is as if it were left out."""

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
    "hoodie.read.blob.inline.mode",  # of Lance files, and those are not read at all
    "hoodie.spark.polaris.catalog.class",
    "hoodie.base.path",
    # Of writers, which Hudi keeps in the same classes.
    "hoodie.write.set.null.for.missing.columns",
    "hoodie.index.name",
    "hoodie.expression.index.type",
    "_hoodie.metadata.ignore.spurious.deletes",
}
_WITHOUT_EFFECT_PREFIXES = (
    "hoodie.datasource.read.file.index.",  # how partitions and files are listed
    "hoodie.file.index.cache.",
    "hoodie.filesystem.",  # how file slices are held in memory, and by which server
    "hoodie.hfile.block.cache.",
    "hoodie.metadata.",  # how the metadata table is written, cached and merged; whether it is read is taken
    # Options of writers are often given to readers, too. Measured: of these Hudi takes none when it reads, not even
    # merge modes, payloads and ordering fields.
    "hoodie.datasource.write.",
    "hoodie.write.record.merge.",
    "hoodie.record.merge.",
    "hoodie.table.",
    "hoodie.datasource.hive_sync.",
    "hoodie.datasource.meta.sync.",
    "hoodie.meta.sync.",
)
"""Options of Hudi that change how it reads, or what it writes, never what comes back."""

_NEAR = 0.85
"""How alike two names are that may be one with a slip in it: one letter of eight, or a word's ending."""


class Decision(Enum):
    """What becomes of an option."""

    TAKEN = "taken"
    REFUSED = "refused"
    WITHOUT_EFFECT = "without effect"
    UNKNOWN = "unknown"


def decision(name: str) -> Decision:
    """What becomes of the option of this name, in lower case."""
    if name in TAKEN or is_of_storage(name):
        return Decision.TAKEN
    if why_refused(name):
        return Decision.REFUSED
    if name in _WITHOUT_EFFECT or name.startswith(_WITHOUT_EFFECT_PREFIXES):
        return Decision.WITHOUT_EFFECT
    return Decision.UNKNOWN


def is_of_storage(name: str) -> bool:
    """Whether an option is one of the storage. Those of Hadoop keep their names, the others have a prefix."""
    return name.startswith((STORAGE_PREFIX, *HADOOP_PREFIXES))


def why_refused(name: str) -> str | None:
    """Why an option is refused, and what to do; None for one that is not."""
    if name in TAKEN:
        return None
    by_prefix = (why for prefix, why in _REFUSED_PREFIXES.items() if name.startswith(prefix))
    return _REFUSED.get(name) or next(by_prefix, None)


def harmless(name: str, value: object) -> bool:
    """Whether a refused option has the value with which it does nothing."""
    return _HARMLESS.get(name) == str(value).strip().lower()


def near(name: str) -> str | None:
    """The option that is taken and whose name this one nearly is."""
    found = difflib.get_close_matches(name, TAKEN, n=1, cutoff=_NEAR)
    return found[0] if found else None
