"""Tables whose logs have lost bytes: helpers of the tests of damage."""

import pathlib

import pyarrow as pa

import mortice
from support.tables.written import NO_SMALL_FILES, new_table, rows

BASE = rows(*((f"k{number}", "x", 1, float(number)) for number in range(40)))
UPDATES = rows(*((f"k{number}", "x", 2, -float(number)) for number in range(0, 40, 2)))
DELETES = rows(("k1", "x", 3, 0.0), ("k3", "x", 3, 0.0))
# Blocks of a few rows each.
SMALL_BLOCKS = {"hoodie.logfile.data.block.max.size": "64"}


def table_with_logs(path, version=9, *, metadata=True, block_format="avro", last="upsert"):
    """A table of one file group with two logs, or two appends to one; `last` is what the newest write did."""
    table = new_table(path, version)
    options = {
        **NO_SMALL_FILES,
        **SMALL_BLOCKS,
        "hoodie.metadata.enable": str(metadata).lower(),
        "hoodie.logfile.data.block.format": block_format,
    }
    table.upsert(BASE, options)
    table.upsert(UPDATES.slice(0, 10), options)
    if last == "delete":
        table.delete(DELETES, options)
    else:
        table.upsert(pa.concat_tables([UPDATES.slice(10), BASE.slice(39, 1)]), options)
    return table


def logs_of(table):
    """The logs of the data, in the order of their names."""
    files = pathlib.Path(table.uri).rglob(".*.log.*")
    return sorted(path for path in files if ".hoodie/" not in str(path) and not path.name.endswith(".crc"))


def newest_log(table):
    """The log that the newest commit wrote."""
    return max(logs_of(table), key=lambda path: path.stat().st_mtime_ns)


def cut_in_block(log):
    """Ends the file within its last block."""
    last = list(mortice.LogFile(log).blocks())[-1]
    _resize(log, last.offset + 30)
    return last.offset


def cut_between_blocks(log):
    """Ends the file where its last block began."""
    last = list(mortice.LogFile(log).blocks())[-1]
    _resize(log, last.offset)
    return last.offset


def cut_to_nothing(log):
    """Leaves an empty file."""
    _resize(log, 0)
    return 0


def flip_length(log):
    """Changes the length at the end of the last block."""
    last = list(mortice.LogFile(log).blocks())[-1]
    _overwrite(log, last.end - 1, bytes([log.read_bytes()[last.end - 1] ^ 0x40]))
    return last.offset


def zero_last_block(log):
    """Zeroes the last of several blocks, as a file system may after a power failure."""
    last = list(mortice.LogFile(log).blocks())[-1]
    _overwrite(log, last.offset, bytes(last.end - last.offset))
    return last.offset


def add_unfinished_block(log):
    """Adds what a writer that was stopped leaves at the end."""
    content = log.read_bytes()
    first = next(iter(mortice.LogFile(log).blocks()))
    log.write_bytes(content + content[: first.end - 25])


def _resize(log, length):
    log.write_bytes(log.read_bytes()[:length])


def _overwrite(log, offset, content):
    old = log.read_bytes()
    log.write_bytes(old[:offset] + content + old[offset + len(content) :])
