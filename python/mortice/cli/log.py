"""`mortice log`: lists the blocks of log files and prints their records; `--verify` prints one line for each fault.

A fault has offset, expectation and finding. It is damage (corrupt blocks, contents that cannot be decoded, bytes after
the last block), or something that a table read rejects because it might contain rows: blocks of unknown types or with
unknown header keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import click
import pyarrow as pa

from mortice.cli.output import cell_text, print_csv, print_json
from mortice.cli.parameters import form_options, storage_options
from mortice.cli.tables import print_facts, print_table
from mortice.cli.terminal import say
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
                say(f"{path}: offset {fault['offset']}: {cell_text(fault['reason'], _WIDEST_FAULT)}")
            if not faults:
                say(f"{path}: sound, {blocks[0]} blocks, {log.size} bytes")
    if form == "csv":
        print_csv(["file", "offset", "type", "reason"], rows)
    return int(faulty)


def _faults(log: LogFile, blocks: list[int]) -> Iterator[dict[str, object]]:
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


def fault_of(log: LogFile, block: Block) -> dict[str, object] | None:
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


CHECKSUMS = ".crc"
_WIDEST_NOTE = 200
_HEADING = ["offset", "bytes", "type", "instant", "records", "note"]
_FIELDS = (
    *("index", "type", "offset", "end", "log_format_version", "content_version", "content_offset", "content_length"),
    *("instant_time", "record_count", "damage", "damage_offset", "refusal"),
)
"""What the JSON of a block has, besides its headers and its records."""


@click.command()
@click.option(
    "--records",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Print the first N records or deletes of each block (default: 0).",
)
@click.option("--reverse", is_flag=True, help="List the last block first.")
@click.option(
    "--verify",
    "verifies",
    is_flag=True,
    help="Decode every block and print one line for each fault; exit with status 1 if there are any.",
)
@form_options
@storage_options
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
def log(
    files: tuple[str, ...],
    *,
    records: int,
    reverse: bool,
    verifies: bool,
    storage_options: dict[str, str],
    mmap: bool,
    form: str,
) -> int:
    """List the blocks of log files, each given by its path or URI."""
    if verifies:
        return verify(_opened(files, storage_options, mmap=mmap), form)
    opened = _opened(files, storage_options, mmap=mmap)
    if form == "csv":
        print_csv(["file", *_HEADING], _csv_rows(opened, reverse=reverse))
        return 0
    for number, (path, file) in enumerate(opened):
        if form == "text":
            print(("\n" if number else "") + f"{path} ({file.size} bytes)")
        _show_file(file, form=form, reverse=reverse, records=records)
    return 0


def _opened(files: tuple[str, ...], storage_options: Mapping[str, str], *, mmap: bool) -> Iterator[tuple[str, LogFile]]:
    """Opens the log files one by one, with their paths as they were given.

    Hadoop writes checksums beside files on local disks, `..x.log.1.crc`, which patterns of a shell match as well.
    """
    logs = [path for path in files if not path.endswith(CHECKSUMS)] or files
    return ((path, LogFile(path, storage_options, mmap=mmap)) for path in logs)


def _csv_rows(opened: Iterator[tuple[str, LogFile]], *, reverse: bool) -> Iterator[list[object]]:
    return ([path, *_row(block)] for path, file in opened for block in file.blocks(reverse=reverse))


def _show_file(log: LogFile, *, form: str, reverse: bool, records: int) -> None:
    """Prints the blocks that were found even if the search ends in an error."""
    found: list[Block] = []
    try:
        for block in log.blocks(reverse=reverse):
            found.append(block)
            if form == "json":
                print_json(_document(log, block, records))
    finally:
        if form == "text":
            print_facts(_HEADING, [_row(block) for block in found], is_whole=False)
            _show_records(log, found, records)


def _row(block: Block) -> list[object]:
    target = block.header.get("TARGET_INSTANT_TIME")
    note = f"target {target}" if target else ""
    if block.damage:
        note = f"DAMAGED: {block.damage}"
    elif block.refusal:
        note = f"REFUSED: {block.refusal}"
    return [block.offset, block.end - block.offset, block.type, block.instant_time or "", _records(block), note]


def _records(block: Block) -> object:
    """Returns the number of records; `?` if the content is too damaged to count them."""
    try:
        return "" if block.record_count is None else block.record_count
    except MorticeError:
        return "?"


def _document(log: LogFile, block: Block, records: int) -> dict[str, object]:
    document: dict[str, object] = {"file": log.path}
    document |= {name: getattr(block, name) if name != "record_count" else None for name in _FIELDS}
    document |= {"header": dict(block.header), "footer": dict(block.footer)}
    # Content that is too damaged has no number of records.
    if isinstance(count := _records(block), int):
        document["record_count"] = count
    if records and block.damage is None:
        document["records"] = _first(log, block, records)
    return document


def _first(log: LogFile, block: Block, most: int) -> list[dict[str, object]] | None:
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
            say(f"\nblock at {block.offset}: {cell_text(str(error), _WIDEST_NOTE)}")
            continue
        if held is not None:
            print(f"\nblock at {block.offset}: {block.type}, {held.num_rows} in all")
            print_table(held.schema.names, _rows(held.slice(0, most)))


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
