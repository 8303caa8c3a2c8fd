"""A minimal writer of whole tables for tests: one file slice in each partition, with the layout of a merge-on-read
table.

    hoodie.properties                            the merge mode depends on the table version
    .hoodie/<t>.deltacommit                      versions 1 to 7, JSON
    .hoodie/timeline/<t>_<c>.deltacommit         from version 8, Avro
    <file id>_<token>_<t>.parquet                the base file, if there is one
    .<file id>_<t>.log.<n>_<token>               a log file for each later commit; t is the instant of the base file
                                                 before version 8, and of the commit from then on

The settings and the slices are those of the oracle. Files are below their partition's path.
"""

import json
import zlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from support.oracle import DataBlock
from support.oracle.model import COMMIT_TIME, CUSTOM, EVENT_TIME, FILL_UNAVAILABLE, IGNORE_DEFAULTS, KEY, META
from support.tables.log_writer import avro_block, delete_block, parquet_block, position_header

NAME = "trips"
FILE_ID = "4c5e0f5a-7d3b-4f51-9f0e-0d8f1f1a2b3c-0"
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
GENERATORS = {
    "NON_PARTITION": "NonpartitionedKeyGenerator",
    "SIMPLE": "SimpleKeyGenerator",
    "COMPLEX": "ComplexKeyGenerator",
    "CUSTOM": "CustomKeyGenerator",
    "TIMESTAMP": "TimestampBasedKeyGenerator",
}
SLASHED_DAYS = "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"
MICROSECONDS = {
    "UNIX_TIMESTAMP": 1_000_000,
    "EPOCHMILLISECONDS": 1000,
    "EPOCHMICROSECONDS": 1,
    "MILLISECONDS": 1000,
    "HOURS": 3_600_000_000,
    "DAYS": 86_400_000_000,
}
JAVA_LETTERS = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "mm", "%S": "ss"}
DEBEZIUM = ("MySqlDebeziumAvroPayload", "PostgresDebeziumAvroPayload")
PACKAGE = "org.apache.hudi.common.model."
STRATEGIES = {
    COMMIT_TIME: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
    EVENT_TIME: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    CUSTOM: "00000000-0000-0000-0000-000000000000",
}
# The payload classes that are equivalent to a merge mode, and those that fill fields in it.
PAYLOADS = {COMMIT_TIME: "OverwriteWithLatestAvroPayload", EVENT_TIME: "DefaultHoodieRecordPayload"}
NON_DEFAULTS = {COMMIT_TIME: "OverwriteNonDefaultsWithLatestAvroPayload", EVENT_TIME: "PartialUpdateAvroPayload"}
DECIMAL_PRECISION, DECIMAL_BYTES = 10, 5

AVRO = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "struct": {
        "type": "record",
        "name": "struct",
        "fields": [
            {"name": "text", "type": ["null", "string"], "default": None},
            {"name": "number", "type": ["null", "long"], "default": None},
        ],
    },
}
ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "struct": pa.struct([("text", pa.string()), ("number", pa.int64())]),
}


@dataclass(frozen=True)
class Slice:
    """The contents of a table. Rows and blocks are those of the oracle; each commit after the base file's has one log
    file."""

    base: tuple[dict, ...] | None
    commits: tuple[tuple, ...]
    narrowed: tuple[str, ...] = ()
    """Columns of the base file in the type that they had before they were widened."""
    parquet_blocks: bool = False
    """Whether data blocks are parquet instead of Avro."""
    row_group_rows: int | None = None
    """Maximum number of rows in a row group of the base file."""
    positions: bool | tuple[tuple[int, ...], ...] = False
    """Whether blocks whose keys are all different keys of the base file have record positions; or the ascending
    positions of each block."""


@dataclass(frozen=True)
class Times:
    """Formats of numbers as times in partition paths (`TimestampBasedAvroKeyGenerator`)."""

    kind: str
    """UNIX_TIMESTAMP, EPOCHMILLISECONDS, EPOCHMICROSECONDS, or the unit of a SCALAR."""
    pattern: str
    """The strftime format."""
    hours_ahead: int = 0

    def text(self, number):
        """Returns the value in the path. Null counts as 0, and fractions of a millisecond are truncated."""
        milliseconds = int((number or 0) * MICROSECONDS[self.kind] / 1000)
        time = datetime(1970, 1, 1) + timedelta(hours=self.hours_ahead, milliseconds=milliseconds)
        return time.strftime(self.pattern)

    def properties(self):
        prefix = "hoodie.keygen.timebased."
        pattern = self.pattern
        for letter, java in JAVA_LETTERS.items():
            pattern = pattern.replace(letter, java)
        is_unit = self.kind in {"MILLISECONDS", "HOURS", "DAYS"}
        unit = {f"{prefix}timestamp.scalar.time.unit": self.kind} if is_unit else {}
        return unit | {
            f"{prefix}timestamp.type": "SCALAR" if is_unit else self.kind,
            f"{prefix}output.dateformat": pattern,
            f"{prefix}timezone": f"GMT{self.hours_ahead:+d}:00",
        }


@dataclass(frozen=True)
class Partitioning:
    """How partition paths are made of columns."""

    declared: tuple[str, ...] = ()
    """Columns; for a custom generator `column:SIMPLE` or `column:TIMESTAMP`."""
    generator: str = "NON_PARTITION"
    hive_style: bool = False
    url_encode: bool = False
    times: Times | None = None
    slashed_days: bool = False
    """Whether dates are three directory levels."""

    @property
    def fields(self):
        return tuple(field.split(":")[0] for field in self.declared)

    @property
    def timed(self):
        """The columns whose numbers are formatted as times."""
        return tuple(field.split(":")[0] for field in self.declared if self._is_timed(field))

    def path(self, values):
        """Returns the path of a row with these values (`KeyGenUtils.getPartitionPath`)."""
        return "/".join(self._part(field, value) for field, value in zip(self.declared, values, strict=True))

    def properties(self):
        days = {"hoodie.table.partition_extractor_class": SLASHED_DAYS} if self.slashed_days else {}
        return days | (self.times.properties() if self.times else {})

    def _is_timed(self, field):
        return self.generator == "TIMESTAMP" or field.endswith(":TIMESTAMP")

    def _part(self, field, value):
        text = DEFAULT_PARTITION if value in {None, ""} else str(value)
        if self._is_timed(field):
            text = self.times.text(value)
        elif self.slashed_days:
            text = text.replace("-", "/")
        text = "".join(map(_escaped, text)) if self.url_encode else text
        return f"{field.split(':')[0]}={text}" if self.hive_style else text


def _escaped(letter):
    """`PartitionPathEncodeUtils.escapePathName`."""
    return f"%{ord(letter):02X}" if letter < " " or letter in "\"#%'*/:=?\\{[]^\x7f" else letter


def instant(commit):
    """Returns the instant of a commit; the base file's is number 0."""
    return f"2026010203{commit:02}00000"


def completion(commit):
    return f"2026010203{commit:02}30000"


def base_file_name():
    return f"{FILE_ID}_0-1-0_{instant(0)}.parquet"


def with_meta(row, key, commit, number, partition=""):
    """Returns a row as Hudi stores it: in a log the file name is the file id only."""
    name = base_file_name() if commit == 0 else FILE_ID
    values = (instant(commit), f"{instant(commit)}_0_{number}", key, partition, name)
    return dict(zip(META, values, strict=True)) | row


def write_table(folder, merging, version, slice_):
    """Writes an unpartitioned table and returns its path as a string."""
    return write_partitions(folder, merging, version, {"": slice_}, Partitioning())


def write_partitions(folder, merging, version, slices, partitioning):
    """Writes a table of slices by partition path and returns its path as a string."""
    place = folder / ".hoodie"
    timeline = place if version < 8 else place / "timeline"
    timeline.mkdir(parents=True)
    place.joinpath("hoodie.properties").write_text(properties(merging, version, partitioning), encoding="utf-8")
    commits = {}
    for partition, slice_ in slices.items():
        for number, name in write_slice(folder / partition, merging, version, slice_, len(partitioning.fields)):
            commits.setdefault(number, {})[partition] = f"{partition}/{name}".lstrip("/")
    for number, paths in sorted(commits.items()):
        write_commit(timeline, version, merging, number, paths)
    return str(folder)


def write_slice(folder, merging, version, slice_, depth):
    """Writes the files of one partition and yields (number of the commit, name)."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"commitTime={instant(0)}\npartitionDepth={depth}\n"
    folder.joinpath(".hoodie_partition_metadata").write_text(text, encoding="utf-8")
    if slice_.base is not None:
        fields = tuple(narrowed(field) if field.name in slice_.narrowed else field for field in merging.fields)
        rows = arrow_table(fields, slice_.base)
        pq.write_table(rows, folder / base_file_name(), row_group_size=slice_.row_group_rows)
        yield 0, base_file_name()
    for number, blocks in enumerate(slice_.commits, start=1):
        name = log_file_name(version, number, slice_.base is None)
        content = b"".join(block_bytes(merging.fields, block, number, slice_) for block in blocks)
        folder.joinpath(name).write_bytes(content)
        yield number, name


def log_file_name(version, number, log_only):
    if version >= 8:
        return f".{FILE_ID}_{instant(number)}.log.1_0-{number}-0"
    return f".{FILE_ID}_{instant(1 if log_only else 0)}.log.{number}_0-{number}-0"


def properties(merging, version, partitioning):
    lines = {
        "hoodie.table.name": NAME,
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.version": version,
        "hoodie.table.initial.version": version,
        "hoodie.timeline.layout.version": 1 if version < 8 else 2,
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": ",".join(partitioning.declared),
        "hoodie.datasource.write.hive_style_partitioning": str(partitioning.hive_style).lower(),
        "hoodie.datasource.write.partitionpath.urlencode": str(partitioning.url_encode).lower(),
        "hoodie.populate.meta.fields": "true",
        "hoodie.table.checksum": zlib.crc32(f".{NAME}".encode()),
    }
    if version < 8:
        lines["hoodie.table.keygenerator.class"] = f"org.apache.hudi.keygen.{GENERATORS[partitioning.generator]}"
    else:
        lines |= {
            "hoodie.table.keygenerator.type": partitioning.generator,
            "hoodie.record.merge.mode": merging.mode,
            "hoodie.timeline.path": "timeline",
            "hoodie.timeline.history.path": "history",
        }
    lines |= merge_properties(merging, version) | partitioning.properties()
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def merge_properties(merging, version):
    prefix = "hoodie.record.merge.property." if version >= 9 else ""
    lines = {}
    if merging.ordering:
        key = "hoodie.table.ordering.fields" if version >= 9 else "hoodie.table.precombine.field"
        lines[key] = ",".join(merging.ordering)
    if version < 9 or merging.mode == CUSTOM:
        lines["hoodie.compaction.payload.class"] = class_name(merging.payload or PAYLOADS[merging.mode])
    elif merging.partial_update is not None or merging.delete_field is not None:
        lines["hoodie.table.legacy.payload.class"] = class_name(legacy_payload(merging))
    if version == 8 or (version >= 9 and merging.mode == CUSTOM):
        lines["hoodie.record.merge.strategy.id"] = STRATEGIES[merging.mode]
    # Payload classes that merge have built-in markers.
    if merging.delete_field is not None and merging.mode != CUSTOM:
        lines[f"{prefix}hoodie.payload.delete.field"] = merging.delete_field
        lines[f"{prefix}hoodie.payload.delete.marker"] = merging.delete_marker
    if merging.partial_update is not None:
        lines["hoodie.table.partial.update.mode"] = merging.partial_update
    if merging.unavailable is not None:
        lines[f"{prefix}hoodie.write.partial.update.unavailable.value"] = merging.unavailable
    return lines


def legacy_payload(merging):
    """Returns the payload class before the upgrade to version 9. Hudi uses the merge properties only if it is set."""
    if merging.partial_update == IGNORE_DEFAULTS:
        return NON_DEFAULTS[merging.mode]
    if merging.partial_update == FILL_UNAVAILABLE:
        return "PostgresDebeziumAvroPayload"
    return "AWSDmsAvroPayload" if merging.mode == COMMIT_TIME else PAYLOADS[merging.mode]


def class_name(payload):
    return f"{PACKAGE}debezium.{payload}" if payload in DEBEZIUM else PACKAGE + payload


def write_commit(timeline, version, merging, number, paths, *, extra=None):
    """Writes the three files of a completed delta commit. `paths` are the files that it wrote, by partition; `extra` is
    its extra metadata, by default the schema of all commits."""
    stats = {
        partition: [{"fileId": FILE_ID, "path": path, "prevCommit": instant(number)}]
        for partition, path in paths.items()
    }
    metadata = {
        "partitionToWriteStats": stats,
        "compacted": False,
        "extraMetadata": extra or {"schema": json.dumps(avro_schema(merging.fields))},
        "operationType": "UPSERT",
    }
    for state in ("requested", "inflight"):
        timeline.joinpath(f"{instant(number)}.deltacommit.{state}").touch()
    if version < 8:
        text = json.dumps(metadata)
        timeline.joinpath(f"{instant(number)}.deltacommit").write_text(text, encoding="utf-8")
        return
    with timeline.joinpath(f"{instant(number)}_{completion(number)}.deltacommit").open("wb") as file:
        fastavro.writer(file, COMMIT_METADATA, [metadata])


def avro_schema(fields, names=None):
    """Returns the table's schema, or that of a block with some of its columns. Only blocks have meta columns."""
    columns = [avro_field(field) for field in fields if names is None or field.name in names]
    if names is not None:
        columns = [{"name": name, "type": ["null", "string"], "default": None} for name in META] + columns
    return {"type": "record", "name": f"{NAME}_record", "namespace": f"hoodie.{NAME}", "fields": columns}


def avro_field(field):
    kind = AVRO.get(field.kind) or {
        "type": "fixed",
        "name": f"{field.name}_fixed",
        "size": DECIMAL_BYTES,
        "logicalType": "decimal",
        "precision": DECIMAL_PRECISION,
        "scale": field.scale,
    }
    kind = ["null", kind] if field.default is None else kind
    return {"name": field.name, "type": kind, "default": field.default}


def narrowed(field):
    """Returns the field in its original type, before a long was an int, a double a float, a string a number."""
    return replace(field, kind={"long": "int", "double": "float", "string": "int"}[field.kind])


def arrow_table(fields, rows):
    """Returns rows as an Arrow table, meta columns first."""
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in META}
    for field in fields:
        kind = ARROW.get(field.kind) or pa.decimal128(DECIMAL_PRECISION, field.scale)
        columns[field.name] = pa.array([row.get(field.name, field.default) for row in rows], kind)
    return pa.table(columns)


def block_bytes(fields, block, number, slice_):
    """Returns the bytes of a block of the oracle. A data block has the columns of its first row."""
    if isinstance(slice_.positions, tuple):
        more = position_header(slice_.positions[all_blocks(slice_).index(block)], instant(0))
    else:
        block, more = by_position(block, slice_)
    if not isinstance(block, DataBlock):
        deletes = [(key, plain(ordering)) for key, ordering in block.deletes]
        return delete_block(deletes, instant(number), more=more)
    names = set(block.columns)
    fields = tuple(narrowed(field) if field.name in block.narrowed else field for field in fields)
    schema = avro_schema(fields, names)
    if slice_.parquet_blocks:
        table = arrow_table([field for field in fields if field.name in names], block.rows)
        return parquet_block(schema, table, instant(number), block.partial, more)
    return avro_block(schema, block.rows, instant(number), block.partial, more)


def all_blocks(slice_):
    return [block for commit in slice_.commits for block in commit]


def by_position(block, slice_):
    """Returns the block with its records in the order of their base rows, and its record position headers."""
    keys = [row[KEY] for row in block.rows] if isinstance(block, DataBlock) else [key for key, _ in block.deletes]
    rows = {row[KEY]: number for number, row in reversed(list(enumerate(slice_.base or ())))}
    if not slice_.positions or len(set(keys)) < len(keys) or not rows.keys() >= set(keys):
        return block, None
    order = sorted(range(len(keys)), key=lambda at: rows[keys[at]])
    header = position_header([rows[keys[at]] for at in order], instant(0))
    if isinstance(block, DataBlock):
        return replace(block, rows=tuple(block.rows[at] for at in order)), header
    return replace(block, deletes=tuple(block.deletes[at] for at in order)), header


def plain(ordering):
    """Returns an ordering value of the oracle in the form that the log writer takes."""
    if isinstance(ordering, tuple):
        return [("Integer", 0) if one is None else (one.java, one.held) for one in ordering]
    return ordering and (ordering.java, ordering.held)


def _optional(kind):
    return ["null", kind]


COMMIT_METADATA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "org.apache.hudi.avro.model.HoodieCommitMetadata",
        "fields": [
            {
                "name": "partitionToWriteStats",
                "type": _optional(
                    {
                        "type": "map",
                        "values": {
                            "type": "array",
                            "items": {
                                "type": "record",
                                "name": "org.apache.hudi.avro.model.HoodieWriteStat",
                                "fields": [
                                    {"name": "fileId", "type": _optional("string"), "default": None},
                                    {"name": "path", "type": _optional("string"), "default": None},
                                    {"name": "prevCommit", "type": _optional("string"), "default": None},
                                ],
                            },
                        },
                    }
                ),
                "default": None,
            },
            {"name": "compacted", "type": _optional("boolean"), "default": None},
            {"name": "extraMetadata", "type": _optional({"type": "map", "values": "string"}), "default": None},
            {"name": "operationType", "type": _optional("string"), "default": None},
        ],
    }
)
