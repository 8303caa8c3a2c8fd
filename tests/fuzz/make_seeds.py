"""Cuts the seeds of the fuzz targets out of the bundled log files: `python tests/fuzz/make_seeds.py`.

Small whole files and blocks, and the contents and header values within them, written by released versions of Hudi. Of
blocks that are alike (type, header keys, schema) one is enough, so that all seeds stay below 100 kB.
"""

import base64
import json
import pathlib
import shutil
import struct

import mortice

TESTS = pathlib.Path(__file__).parent.parent
SEEDS = TESTS / "fuzz" / "seeds"
FRAME = 22
TYPES = {
    "COMMAND_BLOCK": 0,
    "DELETE_BLOCK": 1,
    "AVRO_DATA_BLOCK": 3,
    "HFILE_DATA_BLOCK": 4,
    "PARQUET_DATA_BLOCK": 5,
    "CDC_DATA_BLOCK": 6,
}


def keep(target, name, data, most=2560):
    if len(data) <= most:
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def with_length(text):
    return struct.pack(">H", len(text)) + text


def other_reader(schema):
    """A reader's schema with fewer fields, in another order, wider numbers, and a field that the writer has not."""
    reader = json.loads(schema)
    fields = [json.loads(json.dumps(field).replace('"int"', '"long"')) for field in reader["fields"][::-2]]
    reader["fields"] = [*fields, {"name": "added", "type": ["null", "string"], "default": None}]
    return json.dumps(reader, separators=(",", ":"))


def bitmap(cookie, containers, offsets=True):
    """One bucket of a portable 64-bit roaring bitmap; containers are (upper quarter, count, bytes)."""
    heads = b"".join(struct.pack("<HH", high, count - 1) for high, count, _ in containers)
    places = bytes(4 * len(containers)) if offsets else b""
    return cookie + heads + places + b"".join(container for _, _, container in containers)


def keep_shapes_of_positions():
    """Containers that the bundled blocks are too small for: an array, bits, runs, two buckets."""
    plain = struct.pack("<I", 12346)
    array = bitmap(plain + struct.pack("<I", 1), [(0, 3, struct.pack("<HHH", 1, 5, 9))])
    bits = bitmap(plain + struct.pack("<I", 1), [(2, 5000, b"\xff" * 625 + bytes(8192 - 625))])
    runs = bitmap(struct.pack("<HHB", 12347, 0, 1), [(0, 5, struct.pack("<HHHHH", 2, 1, 2, 9, 1))], offsets=False)
    for name, count, buckets in [("array", 3, [array]), ("bits", 5000, [bits]), ("buckets", 8, [array, runs])]:
        bucketed = b"".join(struct.pack("<I", high) + bucket for high, bucket in enumerate(buckets))
        value = base64.b64encode(struct.pack("<Q", len(buckets)) + bucketed)
        keep("positions", name, struct.pack(">H", count) + value, 12_000)


def keep_content(log, name, content, block):
    held = content[block.content_offset : block.content_offset + block.content_length]
    if block.type == "DELETE_BLOCK":
        keep("deletes", name, held)
    if block.type == "HFILE_DATA_BLOCK":
        keep("hfile", name, held, 7000)
    if "RECORD_POSITIONS" in block.header:
        value = block.header["RECORD_POSITIONS"].encode()
        keep("positions", name, struct.pack(">H", len(log.positions(block))) + value)


def keep_block(name, content, block):
    keep("framing", f"block-{name}", b"\x40" + content[block.offset : block.end])
    inside = bytes([TYPES[block.type]]) + content[block.offset + FRAME : block.end - 8]
    keep("block", name, inside, 6100 if block.type == "HFILE_DATA_BLOCK" else 4000)
    keep("header", name, content[block.offset + FRAME : block.content_offset - 8], 1500)
    if block.type in ("AVRO_DATA_BLOCK", "CDC_DATA_BLOCK"):
        schema = block.header["SCHEMA"]
        cut = content[block.content_offset : block.content_offset + min(block.content_length, 300)]
        # Under a name of the schemas, so that each pair is there once. Of a large schema only the other reader.
        for reader in (schema, other_reader(schema)) if len(schema) < 1500 else (other_reader(schema),):
            schemas = with_length(schema.encode()) + with_length(reader.encode())
            keep("avro", f"{len(schema)}-{len(reader)}", schemas + cut, 5000)


def main():
    shutil.rmtree(SEEDS)
    blocks = {}
    for path in sorted((TESTS / "data").glob("log_*/logs/.*")):
        content = path.read_bytes()
        case = path.parts[-3].removeprefix("log_")
        keep("names", case, path.name.encode())
        keep("framing", f"{case}-{len(content)}", b"\x10" + content)
        log = mortice.LogFile(path)
        for block in log.blocks() if "bad" not in case else ():
            name = f"{case}-{block.offset}"
            keep_content(log, name, content, block)
            alike = (block.type, frozenset(block.header), block.header.get("SCHEMA"), len(block.header["INSTANT_TIME"]))
            blocks.setdefault(alike, []).append((block.end - block.offset, name, content, block))
    for alike in blocks.values():
        _, name, content, block = min(alike, key=lambda one: one[:2])
        keep_block(name, content, block)
    keep_shapes_of_positions()


if __name__ == "__main__":
    main()
