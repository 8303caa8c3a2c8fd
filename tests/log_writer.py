"""A little writer of log files, for tests: blocks framed as Hudi's `HoodieLogFormat` writes them.

    magic 6 | size 8 | format version 4 | type 4 | header | content length 8 | content | footer | total 8

The size counts what follows it, the total what stands before it. A header is a count and then (key, length, text)
entries. Avro content is a version, a count of records, and then (length, datum) entries. Integers are big-endian.
"""

import io
import json
import struct

import fastavro

MAGIC = b"#HUDI#"
AVRO_DATA_BLOCK = 3
INSTANT_TIME, SCHEMA = 0, 2


def block(kind, header, content):
    entries = b"".join(struct.pack(">ii", key, len(text.encode())) + text.encode() for key, text in header.items())
    body = struct.pack(">ii", 1, kind) + struct.pack(">i", len(header)) + entries
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    head = MAGIC + struct.pack(">q", len(body) + 8)
    return head + body + struct.pack(">q", len(head) + len(body))


def avro_block(schema, records, instant):
    """One Avro data block."""
    parsed = fastavro.parse_schema(schema)
    data = [datum(parsed, record) for record in records]
    content = struct.pack(">ii", 3, len(data)) + b"".join(struct.pack(">i", len(one)) + one for one in data)
    return block(AVRO_DATA_BLOCK, {INSTANT_TIME: instant, SCHEMA: json.dumps(schema)}, content)


def datum(parsed_schema, record):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, parsed_schema, record)
    return buffer.getvalue()
