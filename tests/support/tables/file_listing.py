"""A metadata table of table version 6 with nothing but the list of files, as one HFile that is not compressed."""

import io
import json
import struct

import fastavro

SCHEMA = {
    "type": "record",
    "name": "HoodieMetadataRecord",
    "fields": [
        {"name": "key", "type": "string"},
        {"name": "type", "type": "int"},
        {
            "name": "filesystemMetadata",
            "type": [
                "null",
                {
                    "type": "map",
                    "values": {
                        "type": "record",
                        "name": "HoodieMetadataFileInfo",
                        "fields": [{"name": "size", "type": "long"}, {"name": "isDeleted", "type": "boolean"}],
                    },
                },
            ],
        },
    ],
}
PROPERTIES = {
    "hoodie.table.name": "t_metadata",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "6",
    "hoodie.table.recordkey.fields": "key",
    "hoodie.populate.meta.fields": "false",
    "hoodie.table.base.file.format": "HFILE",
    "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
}
NOT_COMPRESSED = 2


def write_listing(table, instant, files):
    """Writes the metadata table of a table, as of its newest instant. `files` are names with sizes by partition."""
    folder = table / ".hoodie/metadata"
    for path in (folder / ".hoodie", folder / "files"):
        path.mkdir(parents=True)
    lines = "".join(f"{key}={value}\n" for key, value in PROPERTIES.items())
    folder.joinpath(".hoodie/hoodie.properties").write_text(lines, encoding="utf-8")
    commit = {"operationType": "UPSERT", "extraMetadata": {"schema": json.dumps(SCHEMA)}}
    folder.joinpath(f".hoodie/{instant}.deltacommit").write_text(json.dumps(commit), encoding="utf-8")
    folder.joinpath("files/.hoodie_partition_metadata").touch()
    records = {"__all_partitions__": record(1, dict.fromkeys(files, 0))}
    records |= {partition: record(2, names) for partition, names in files.items()}
    folder.joinpath(f"files/files-0000-0_0-1-2_{instant}.hfile").write_bytes(hfile(records))


def record(kind, sizes):
    entries = {name: {"size": size, "isDeleted": False} for name, size in sizes.items()}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMA, {"key": "", "type": kind, "filesystemMetadata": entries})
    return out.getvalue()


def hfile(records):
    """An HFile of one data block."""
    cells = b""
    for key, value in sorted(records.items()):
        name = key.encode()
        cells += struct.pack(">ii", len(name) + 12, len(value)) + stored(name)
        cells += b"\0" + struct.pack(">q", 2**63 - 1) + b"\4" + value + b"\0"
    out = block(b"DATABLK*", cells)
    first = stored(min(records).encode())
    load_on_open, index = len(out), struct.pack(">qib", 0, len(out), len(first)) + first
    out += block(b"IDXROOT2", index) + block(b"IDXROOT2", b"")
    file_info = len(out)
    info = {
        b"schema": json.dumps(SCHEMA).encode(),
        b"hfile.LASTKEY": stored(max(records).encode()),
        b"KEY_VALUE_VERSION": struct.pack(">i", 1),
        b"MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0),
    }
    pairs = b"".join(of_bytes(1, of_bytes(1, key) + of_bytes(2, value)) for key, value in info.items())
    out += block(b"FILEINF2", b"PBUF" + varint(len(pairs)) + pairs)
    numbers = {1: file_info, 2: load_on_open, 3: len(cells), 5: 1, 6: 0, 7: len(records), 8: 1, 9: 0, 10: 0}
    trailer = b"".join(varint(field << 3) + varint(number) for field, number in numbers.items())
    trailer += of_bytes(11, b"org.apache.hudi.io.storage.HoodieHBaseKVComparator")
    trailer += varint(12 << 3) + varint(NOT_COMPRESSED)
    return out + (b'TRABLK"$' + varint(len(trailer)) + trailer).ljust(4092, b"\0") + struct.pack(">i", 3)


def block(magic, payload):
    sizes = struct.pack(">iiqBii", len(payload) + 4, len(payload), -1, 0, 16384, len(payload) + 33)
    return magic + sizes + payload + bytes(4)


def stored(key):
    return struct.pack(">h", len(key)) + key


def varint(number):
    low, more = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(more) if more else bytes([low])


def of_bytes(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content
