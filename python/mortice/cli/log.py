"""`mortice log`: the blocks of log files, with what they hold and whether it is sound."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mortice.cli.show import cell_text, print_json, print_table
from mortice.errors import CorruptLogError, MorticeError
from mortice.log_file import Block, LogFile

_WIDEST_NOTE = 200
_HEADING = ["offset", "bytes", "type", "instant", "records", "note"]


def run_log(arguments: argparse.Namespace) -> int:
    """Prints the blocks; 1 where a file is damaged and `--verify` asked about that."""
    damaged = False
    for number, path in enumerate(arguments.files):
        log = LogFile(path)
        if not arguments.json:
            print(("\n" if number else "") + f"{path} ({len(log)} bytes)")
        damaged |= _show_file(log, arguments)
    return 1 if damaged and arguments.verify else 0


def _show_file(log: LogFile, arguments: argparse.Namespace) -> bool:
    """Prints what was found also where the search ends in an error."""
    found: list[tuple[Block, str | None]] = []
    try:
        for block in log.blocks(reverse=arguments.reverse):
            damage = block.damage or (_decoding_fault(log, block) if arguments.verify else None)
            found.append((block, damage))
            if arguments.json:
                print_json(_document(log, block, damage, arguments))
    finally:
        if not arguments.json:
            print_table(_HEADING, [_row(block, damage) for block, damage in found], widest=_WIDEST_NOTE)
            _show_records(log, found, arguments.records)
    return any(damage is not None for _, damage in found)


def _row(block: Block, damage: str | None) -> list[Any]:
    target = block.header.get("TARGET_INSTANT_TIME")
    note = f"DAMAGED: {damage}" if damage else f"target {target}" if target else ""
    records = "" if block.record_count is None else block.record_count
    return [block.offset, block.end - block.offset, block.type, block.instant_time or "", records, note]


def _document(log: LogFile, block: Block, damage: str | None, arguments: argparse.Namespace) -> dict[str, Any]:
    document: dict[str, Any] = {
        "file": log.path,
        "type": block.type,
        "offset": block.offset,
        "end": block.end,
        "log_format_version": block.log_format_version,
        "content_version": block.content_version,
        "content_offset": block.content_offset,
        "content_length": block.content_length,
        "instant_time": block.instant_time,
        "record_count": block.record_count,
        "damage": damage,
        "header": dict(block.header),
        "footer": dict(block.footer),
    }
    if arguments.records and damage is None:
        held = content(log, block)
        document["records"] = [] if held is None else held.slice(0, arguments.records).to_pylist()
    return document


def content(log: LogFile, block: Block) -> pa.RecordBatch | None:
    """What a block holds; None for a command block, or a corrupt one."""
    if block.type == "DELETE_BLOCK":
        return log.deletes(block)
    return log.records(block) if block.type.endswith("_DATA_BLOCK") else None


def _decoding_fault(log: LogFile, block: Block) -> str | None:
    """Why a block cannot be decoded, or None. What this release cannot read is an error, not damage."""
    try:
        content(log, block)
    except CorruptLogError as error:
        return str(error)
    return None


def _show_records(log: LogFile, found: list[tuple[Block, str | None]], most: int) -> None:
    for block, damage in found if most else []:
        if damage is not None:
            continue
        try:
            held = content(log, block)
        except MorticeError as error:
            print(f"\nblock at {block.offset}: {cell_text(str(error), _WIDEST_NOTE)}")
            continue
        if held is not None:
            print(f"\nblock at {block.offset}: {block.type}, {held.num_rows} in all")
            print_table(held.schema.names, _rows(held.slice(0, most)))


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
