"""The checksums that Hadoop's local file system keeps beside files: `.NAME.crc`, with the CRC-32 of each 512 bytes.

Hadoop refuses a file that does not fit its checksum, and reads one without.
"""

import struct
import zlib
from pathlib import Path

HEADER = struct.pack(">4si", b"crc\0", 512)


def checksum(content: bytes) -> bytes:
    """Returns the bytes of a checksum file."""
    parts = (content[start : start + 512] for start in range(0, len(content), 512))
    return HEADER + b"".join(struct.pack(">I", zlib.crc32(part)) for part in parts)


def add_checksums(folder: str | Path) -> None:
    """Gives all files below a folder checksums, as if Hadoop had written them."""
    for path in list(_files(folder)):
        path.with_name(f".{path.name}.crc").write_bytes(checksum(path.read_bytes()))


def wrong_checksums(folder: str | Path) -> list[str]:
    """Returns the checksums that do not fit their files, and those whose files are gone."""
    wrong = []
    for path in Path(folder).rglob(".*.crc"):
        file = path.with_name(path.name[1:].removesuffix(".crc"))
        if not file.is_file() or path.read_bytes() != checksum(file.read_bytes()):
            wrong.append(str(path.relative_to(folder)))
    return sorted(wrong)


def _files(folder: str | Path) -> list[Path]:
    return [path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".crc"]
