"""Checksums in files that Hudi wrote: `verify` finds a changed byte that decoding does not notice."""

import struct

import mortice

TABLE = "h015_mdt_hfile"
"""Base files of parquet-mr, and a metadata table of HBase's HFiles: both have checksums."""


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_a_changed_byte_is_found(copy_of):
    root = copy_of(TABLE)
    table = mortice.Table(root)
    assert table.verify().findings == []
    latest = {slice_.base_file.path for slice_ in table.file_slices() if slice_.base_file}
    stored = (path for path in sorted(root.rglob("*.parquet")) if ".hoodie" not in path.parts)
    # A file that no query of the newest state reads.
    page = next(path for path in stored if str(path.relative_to(root)) not in latest)
    flip(page, 100)
    block = next(iter(sorted(root.rglob(".hoodie/metadata/column_stats/*.hfile"))))
    (length,) = struct.unpack(">i", block.read_bytes()[8:12])
    # The last byte of the first block is one of a checksum.
    flip(block, 33 + length - 1)
    found = {finding.path: finding.message for finding in mortice.Table(root).verify().findings}
    assert sorted(found) == sorted(str(path.relative_to(root)) for path in (page, block))
    assert all("checksum" in message for message in found.values()), found
    assert mortice.Table(root).verify(contents=False).findings == []
