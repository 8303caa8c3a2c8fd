"""Cuts the seeds of the fuzz targets out of the bundled log files: `python tests/fuzz/make_seeds.py`.

Small whole files and blocks, and the contents and header values within them, written by released versions of Hudi. Of
blocks that are alike (type, header keys, schema) one is enough, so that all seeds stay below 250 kB. ORC files are made
here: Hudi's are too large for seeds. Inputs that targets have failed on are kept: their names begin with `found-`.
"""

import base64
import datetime
import decimal
import io
import json
import pathlib
import shutil
import struct
import zipfile

import make_table_seeds
import pyarrow as pa
from pyarrow import orc

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


def keep_bloom_filters():
    """One of Hudi's, and small ones of either kind and hash function."""
    folder = TESTS / "data" / "format" / "bloom_filter"
    keep("bloom", "simple_1000", b"\0" + (folder / "simple_1000_murmur.txt").read_bytes().strip(), 6000)
    for kind, code in [("murmur", 1), ("jenkins", 0)]:
        header = struct.pack(">iibi", -1, 3, code, 100)
        row = header + bytes(range(13))
        keep("bloom", f"simple_{kind}", b"\0" + base64.b64encode(row))
        keep("bloom", f"dynamic_{kind}", b"\1" + base64.b64encode(header + struct.pack(">iii", 10, 5, 2) + row + row))


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


def keep_orc_files():
    """Every kind of column in both versions of runs, and every codec."""
    day, time = datetime.date(2024, 2, 29), datetime.datetime(1969, 12, 31, 23, 59, 59, 999, datetime.UTC)
    few = {
        "bool": pa.array([True, None, False] * 9),
        "int": pa.array([*range(20), None, -7, 1 << 60, 3, 3, 3, 3]),
        "small": pa.array([1, 2, 300] * 9, pa.int16()),
        "double": pa.array([1.5, None, -0.0] * 9),
        "text": pa.array(["a", "ä", None] * 9),
        "varied": pa.array([str(n * n) for n in range(27)]),
        "bytes": pa.array([b"", b"\xff", None] * 9),
        "day": pa.array([day, None, day] * 9),
        "time": pa.array([time, None, time] * 9, pa.timestamp("ns", "UTC")),
        "number": pa.array([decimal.Decimal("-1.25"), None, decimal.Decimal("99999.99")] * 9, pa.decimal128(20, 2)),
    }
    nested = {
        "list": pa.array([[1, None], [], None] * 9),
        "map": pa.array([[("k", 1)], None, []] * 9, pa.map_(pa.string(), pa.int32())),
        "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}] * 9),
    }
    for name, columns, codec, version in (
        ("flat", few, "uncompressed", "0.12"),
        ("flat-runs-1", few, "uncompressed", "0.11"),
        ("nested", nested, "zlib", "0.12"),
        *((codec, nested, codec, "0.12") for codec in ("snappy", "lz4", "zstd")),
    ):
        file = io.BytesIO()
        orc.write_table(
            pa.table(columns), file, compression=codec, file_version=version, dictionary_key_size_threshold=0.5
        )
        keep("orc", name, file.getvalue(), 6000)


NATIVE = [("log", "parquet"), ("deletes", "parquet"), ("cdc", "parquet"), ("log", "hfile"), ("deletes", "hfile")]
CONTENTS, FORMATS = ("log", "deletes", "cdc"), ("parquet", "hfile", "orc")


def keep_native_logs():
    """The smallest native log of each kind, and headers of three rows."""
    found = {}
    for path in sorted((TESTS / "data").glob("h13_*/table.zip")):
        with zipfile.ZipFile(path) as table:
            for entry in table.infolist():
                kind = tuple(entry.filename.split(".")[-2:])
                known = found.get(kind)
                if kind in NATIVE and (known is None or entry.file_size < len(known)):
                    found[kind] = table.read(entry)
    for content, suffix in NATIVE:
        kind = CONTENTS.index(content) + 3 * FORMATS.index(suffix)
        keep("native", f"{content}-{suffix}", bytes([kind]) + found[content, suffix], 10_000)
    fields = [{"name": "_hoodie_record_key", "type": "string"}, {"name": "ts", "type": ["null", "long"]}]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    header = {"VERSION": "2", "INSTANT_TIME": "20250409161256974", "SCHEMA": schema}
    base = {"BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS": "20250409161256973"}
    for name, more in [
        ("header", {"RECORD_POSITIONS": "AAAAAwUDrAI=", **base}),
        ("header-partial", {"IS_PARTIAL": "true"}),
        ("header-compacted", {"COMPACTED_BLOCK_TIMES": "20250409161256971,20250409161256972"}),
    ]:
        # 130 is a deletes file, whose columns the three rows have.
        keep("native", name, b"\x82" + json.dumps({**header, **more}).encode())


def main():
    found = {path: path.read_bytes() for path in SEEDS.glob("*/found-*")}
    shutil.rmtree(SEEDS)
    for path, content in found.items():
        keep(path.parent.name, path.name, content, len(content))
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
    keep_bloom_filters()
    keep_orc_files()
    keep_native_logs()
    make_table_seeds.keep_all()


if __name__ == "__main__":
    main()
