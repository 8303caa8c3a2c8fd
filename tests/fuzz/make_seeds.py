"""Cuts the seeds of the fuzz targets out of the bundled log files: `python tests/fuzz/make_seeds.py`.

Small whole blocks, and the contents and header values within them, written by released versions of Hudi.
"""

import pathlib
import struct

import mortice

TESTS = pathlib.Path(__file__).parent.parent
SEEDS = TESTS / "fuzz" / "seeds"
MOST_BYTES = 4096


def keep(target, name, data, most=MOST_BYTES):
    if len(data) <= most:
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def with_length(text):
    return struct.pack(">H", len(text)) + text


def main():
    for path in sorted((TESTS / "data").glob("log_*/logs/.*")):
        content = path.read_bytes()
        case = path.parts[-3].removeprefix("log_")
        keep("names", case, path.name.encode())
        keep("framing", f"{case}-{len(content)}", b"\x10" + content)
        for block in mortice.LogFile(path).blocks() if "bad" not in case else ():
            name = f"{case}-{block.offset}"
            held = content[block.content_offset : block.content_offset + block.content_length]
            keep("framing", f"block-{name}", b"\x40" + content[block.offset : block.end])
            keep("header", name, content[block.offset + 22 : block.content_offset - 8], 1500)
            if block.type == "AVRO_DATA_BLOCK":
                schema = block.header["SCHEMA"].encode()
                cut = held[:8] + held[8 : 8 + 600]
                keep("avro", name, with_length(schema) + with_length(schema) + cut, 8192)
            if block.type == "DELETE_BLOCK":
                keep("deletes", name, held)
            if block.type == "HFILE_DATA_BLOCK":
                keep("hfile", name, held, 8192)
            if "RECORD_POSITIONS" in block.header:
                value = block.header["RECORD_POSITIONS"].encode()
                keep("positions", name, struct.pack(">H", block.record_count or 0) + value)


if __name__ == "__main__":
    main()
