"""A minimal writer of log files for tests: blocks framed as Hudi's `HoodieLogFormat` writes them.

    magic 6 | size 8 | format version 4 | type 4 | header | content length 8 | content | footer | total 8

The size counts what follows it, the total what precedes it. A header is a count and then (key, length, text) entries.
Integers are big-endian. Content of

    an Avro block      a version, a count of records, and then (length, datum) entries
    a parquet block    a parquet file
    a delete block     a version, a length, and a datum of `HoodieDeleteRecordList`
"""

import base64
import datetime as dt
import io
import json
import struct
from decimal import Decimal

import fastavro
import pyarrow.parquet as pq

MAGIC = b"#HUDI#"
DELETE_BLOCK, AVRO_DATA_BLOCK, PARQUET_DATA_BLOCK = 1, 3, 5
INSTANT_TIME, SCHEMA, RECORD_POSITIONS, IS_PARTIAL, BASE_FILE_INSTANT = 0, 2, 5, 7, 8
CONTENT_VERSION = 3


def frame(kind, header, content_length):
    """Returns the bytes before and after the content of a block."""
    entries = b"".join(struct.pack(">ii", key, len(text.encode())) + text.encode() for key, text in header.items())
    body = struct.pack(">ii", 1, kind) + struct.pack(">i", len(header)) + entries + struct.pack(">q", content_length)
    footer = struct.pack(">i", 0)
    size = len(body) + content_length + len(footer) + 8
    return MAGIC + struct.pack(">q", size) + body, footer + struct.pack(">q", size + 6)


def block(kind, header, content):
    before, after = frame(kind, header, len(content))
    return before + content + after


def data_header(schema, instant, partial, more):
    header = {INSTANT_TIME: instant, SCHEMA: json.dumps(schema), **(more or {})}
    return header | {IS_PARTIAL: "true"} if partial else header


def position_header(positions, base_instant):
    """Returns the header of record positions in a base file: a roaring bitmap of one container, all below 65,536."""
    bitmap = struct.pack("<qIIIHHI", 1, 0, 12346, 1, 0, len(positions) - 1, 16)
    bitmap += struct.pack(f"<{len(positions)}H", *positions)
    return {RECORD_POSITIONS: base64.b64encode(bitmap).decode(), BASE_FILE_INSTANT: base_instant}


def avro_block(schema, records, instant, partial=False, more=None):
    """Returns an Avro data block; `more` contains further header entries."""
    parsed = fastavro.parse_schema(schema)
    data = [datum(parsed, record) for record in records]
    content = struct.pack(">ii", CONTENT_VERSION, len(data))
    content += b"".join(struct.pack(">i", len(one)) + one for one in data)
    return block(AVRO_DATA_BLOCK, data_header(schema, instant, partial, more), content)


def parquet_block(schema, table, instant, partial=False, more=None):
    """Returns a parquet data block of an Arrow table. `schema` is the Avro schema."""
    content = io.BytesIO()
    pq.write_table(table, content)
    return block(PARQUET_DATA_BLOCK, data_header(schema, instant, partial, more), content.getvalue())


def delete_block(deletes, instant, partition="", more=None):
    """Returns a delete block of (key, ordering): None, a (Java class, value), or a list of them for several fields."""
    entries = [
        {"recordKey": key, "partitionPath": partition, "orderingVal": wrapped(ordering)} for key, ordering in deletes
    ]
    content = datum(fastavro.parse_schema(delete_list_schema()), {"deleteRecordList": entries})
    content = struct.pack(">ii", CONTENT_VERSION, len(content)) + content
    return block(DELETE_BLOCK, {INSTANT_TIME: instant, **(more or {})}, content)


WRAPPERS = {
    "Boolean": ("BooleanWrapper", "boolean"),
    "Integer": ("IntWrapper", "int"),
    "Long": ("LongWrapper", "long"),
    "Float": ("FloatWrapper", "float"),
    "Double": ("DoubleWrapper", "double"),
    "ByteBuffer": ("BytesWrapper", "bytes"),
    "String": ("StringWrapper", "string"),
    "Date": ("DateWrapper", "int"),
    "BigDecimal": ("DecimalWrapper", "bytes"),
    "Time": ("TimeMicrosWrapper", "long"),
    "Timestamp": ("TimestampMicrosWrapper", "long"),
}
DECIMAL_SCALE = 15
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def delete_list_schema():
    """Returns the schema of `HoodieDeleteRecordList`. The array type contains a LocalDate in the place of itself."""

    def wrapper(name, kind):
        return {"type": "record", "name": name, "fields": [{"name": "value", "type": kind}]}

    scalars = [wrapper(name, kind) for name, kind in WRAPPERS.values()]
    items = ["null", *(name for name, _ in WRAPPERS.values()), wrapper("LocalDateWrapper", "int")]
    array = {"name": "wrappedValues", "type": ["null", {"type": "array", "items": items}]}
    values = ["null", *scalars, {"type": "record", "name": "ArrayWrapper", "fields": [array]}]
    fields = [
        {"name": "recordKey", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {"name": "orderingVal", "type": values},
    ]
    entry = {"type": "record", "name": "HoodieDeleteRecord", "fields": fields}
    entries = {"name": "deleteRecordList", "type": {"type": "array", "items": entry}}
    return {"type": "record", "name": "HoodieDeleteRecordList", "fields": [entries]}


def wrapped(ordering):
    """Returns an ordering value in the wrapper of its Java class, as a union member of fastavro."""
    if ordering is None:
        return None
    if isinstance(ordering, list):
        return ("ArrayWrapper", {"wrappedValues": [wrapped(one) for one in ordering]})
    java, value = ordering
    return (WRAPPERS[java][0], {"value": wire(value)})


def wire(value):
    """Returns the Avro primitive in a wrapper: days, microseconds, or the unscaled decimal at the fixed scale."""
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - EPOCH.date()).days
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(DECIMAL_SCALE))
        return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    return value


def datum(parsed_schema, record):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, parsed_schema, record)
    return buffer.getvalue()
