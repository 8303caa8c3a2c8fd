"""`mortice log --verify`: prints one line for each fault of a log file, with offset, expectation and finding.

A fault is damage (corrupt blocks, contents that cannot be decoded, bytes after the last block), or something that a
table read rejects because it might contain rows: blocks of unknown types or with unknown header keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from mortice.cli.show import cell_text, print_csv, print_json
from mortice.errors import CorruptLogError, MorticeError
from mortice.reading.log_file import Block, LogFile

_WIDEST_FAULT = 400


def verify(logs: Iterable[tuple[str, LogFile]], form: str) -> int:
    """Prints the faults of each file, given with its path. Returns 1 if there are any."""
    faulty = False
    rows = []
    for path, log in logs:
        blocks = [0]
        faults = list(_faults(log, blocks))
        faulty |= bool(faults)
        if form == "json":
            print_json({"file": log.path, "bytes": log.size, "blocks": blocks[0], "faults": faults})
            continue
        rows += [[path, fault["offset"], fault["type"], fault["reason"]] for fault in faults]
        if form == "text":
            for fault in faults:
                print(f"{path}: offset {fault['offset']}: {cell_text(fault['reason'], _WIDEST_FAULT)}")
            if not faults:
                print(f"{path}: sound, {blocks[0]} blocks, {log.size} bytes")
    if form == "csv":
        print_csv(["file", "offset", "type", "reason"], rows)
    return int(faulty)


def _faults(log: LogFile, blocks: list[int]) -> Iterator[dict[str, Any]]:
    end = 0
    try:
        for block in log.blocks():
            blocks[0] += 1
            end = block.end
            fault = fault_of(log, block)
            if fault is not None:
                yield fault
    except MorticeError as error:
        yield {"block": error.block, "type": None, "offset": error.offset, "reason": error.message}
        return
    if end < log.size:
        stray = f"expected the end of the file, found {log.size - end} more bytes, which Hudi skips"
        yield {"block": None, "type": None, "offset": end, "reason": stray}


def fault_of(log: LogFile, block: Block) -> dict[str, Any] | None:
    """Returns what is wrong with a block, whose content is decoded; None if nothing is."""
    offset: int | None = block.offset
    reason = block.damage or block.refusal
    if block.damage is not None:
        offset = block.damage_offset
    elif reason is None:
        try:
            content(log, block)
        except CorruptLogError as error:
            reason, offset = error.message, error.offset
    return None if reason is None else {"block": block.index, "type": block.type, "offset": offset, "reason": reason}


def content(log: LogFile, block: Block) -> pa.RecordBatch | None:
    """Returns the content of a block; None for a command block or a corrupt one."""
    if block.type == "DELETE_BLOCK":
        return log.deletes(block)
    return log.records(block) if block.type.endswith("_DATA_BLOCK") else None
