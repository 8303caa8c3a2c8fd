"""`mortice log`: lists the blocks of log files and prints their records."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from mortice.cli.show import cell_text, print_json, print_table
from mortice.cli.verify import content, verify
from mortice.errors import MorticeError
from mortice.log_file import Block, LogFile

_WIDEST_NOTE = 200
_HEADING = ["offset", "bytes", "type", "instant", "records", "note"]


def run_log(arguments: argparse.Namespace) -> int:
    """Prints the blocks, or with `--verify` their faults. Returns 1 if there are faults."""
    if arguments.verify:
        return verify(opened(arguments), arguments.json)
    for number, (path, log) in enumerate(opened(arguments)):
        if not arguments.json:
            print(("\n" if number else "") + f"{path} ({log.size} bytes)")
        _show_file(log, arguments)
    return 0


def opened(arguments: argparse.Namespace) -> Iterator[tuple[str, LogFile]]:
    """Opens the log files one by one, with their paths as they were given."""
    options = dict(arguments.storage_options)
    return ((path, LogFile(path, options, mmap=arguments.mmap)) for path in arguments.files)


def _show_file(log: LogFile, arguments: argparse.Namespace) -> None:
    """Prints the blocks that were found even if the search ends in an error."""
    found: list[Block] = []
    try:
        for block in log.blocks(reverse=arguments.reverse):
            found.append(block)
            if arguments.json:
                print_json(_document(log, block, arguments))
    finally:
        if not arguments.json:
            print_table(_HEADING, [_row(block) for block in found], widest=_WIDEST_NOTE)
            _show_records(log, found, arguments.records)


def _row(block: Block) -> list[Any]:
    target = block.header.get("TARGET_INSTANT_TIME")
    note = f"target {target}" if target else ""
    if block.damage:
        note = f"DAMAGED: {block.damage}"
    elif block.refusal:
        note = f"REFUSED: {block.refusal}"
    return [block.offset, block.end - block.offset, block.type, block.instant_time or "", _records(block), note]


def _records(block: Block) -> Any:
    """Returns the number of records; `?` if the content is too damaged to count them."""
    try:
        return "" if block.record_count is None else block.record_count
    except MorticeError:
        return "?"


def _document(log: LogFile, block: Block, arguments: argparse.Namespace) -> dict[str, Any]:
    count = _records(block)
    document: dict[str, Any] = {
        "file": log.path,
        "index": block.index,
        "type": block.type,
        "offset": block.offset,
        "end": block.end,
        "log_format_version": block.log_format_version,
        "content_version": block.content_version,
        "content_offset": block.content_offset,
        "content_length": block.content_length,
        "instant_time": block.instant_time,
        "record_count": count if isinstance(count, int) else None,
        "damage": block.damage,
        "damage_offset": block.damage_offset,
        "refusal": block.refusal,
        "header": dict(block.header),
        "footer": dict(block.footer),
    }
    if arguments.records and block.damage is None:
        document["records"] = _first(log, block, arguments.records)
    return document


def _first(log: LogFile, block: Block, most: int) -> list[dict[str, Any]] | None:
    """Returns the first records; None if they cannot be decoded."""
    try:
        held = content(log, block)
    except MorticeError:
        return None
    return [] if held is None else held.slice(0, most).to_pylist()


def _show_records(log: LogFile, found: list[Block], most: int) -> None:
    for block in found if most else []:
        if block.damage is not None:
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
