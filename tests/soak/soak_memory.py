"""The memory of reads, writes and table services whose data are 20 times the limit, and of many of them in one process.

    python tests/soak/soak_memory.py [--times N] [--reads N] [--commits N]

Each work runs in a process of its own on one core, on so many data and on four times as many; what is counted is by
how much anonymous memory (`RssAnon`) grows at most. Between the two, a row may add half of its bytes: keys, and where
they go, are in memory. In the second part memory after all reads and commits is compared with that after a tenth of
them, when every buffer and thread is there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import mortice
from support.write_memory import ROW_BYTES, SCHEMA, anonymous, batches, growth_of

LIMIT = 2 << 20
SMALL = {
    "hoodie.memory.merge.max.size": str(LIMIT),
    "hoodie.logfile.data.block.max.size": str(1 << 20),
    "hoodie.parquet.block.size": str(1 << 20),
    # Files are full with the lesser data already: a service has one file group in memory, and further ones add nothing.
    "hoodie.parquet.max.file.size": str(2 << 20),
    "hoodie.parquet.small.file.limit": "0",
}
INDEXES = {
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}
LOG_FORMATS = ("avro", "parquet")
KEPT = 8 << 20
"""By how many bytes the memory of a process may differ after many reads or commits."""


def _stream(rows: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(SCHEMA, batches(rows))


def _create(path: Path) -> mortice.Table:
    return mortice.create_table(
        path, SCHEMA, name="t", record_key="id", partition_by="part", ordering="ts", table_type="MERGE_ON_READ"
    )


def _drain(reader: pa.RecordBatchReader) -> None:
    for _ in reader:
        pass


def _opened(path: Path) -> mortice.Table:
    return mortice.Table(path, read_options=mortice.ReadOptions(memory_limit=LIMIT, threads=1, batch_rows=1000))


WORKS: dict[str, Callable[[Path, int], object]] = {
    "snapshot": lambda path, _: _drain(_opened(path).snapshot().to_reader()),
    "snapshot without merging": lambda path, _: _drain(_opened(path).snapshot(merge=False).to_reader()),
    "incremental": lambda path, _: _drain(_opened(path).incremental("0").to_reader()),
    "changes": lambda path, _: _drain(_opened(path).incremental("0", changelog=True).to_reader()),
    "insert": lambda path, rows: _opened(path).insert(_stream(rows), SMALL),
    "bulk_insert": lambda path, rows: _opened(path).bulk_insert(_stream(rows), SMALL),
    "upsert": lambda path, rows: _opened(path).upsert(_stream(rows), SMALL),
    "compact": lambda path, _: _opened(path).compact(SMALL),
    "cluster": lambda path, _: _opened(path).cluster(SMALL),
    "build_metadata": lambda path, _: _opened(path).build_metadata({**SMALL, **INDEXES}, rebuild=True),
}


def _prepare(path: Path, rows: int, log_format: str) -> None:
    """Writes all rows to base files, and again to logs."""
    table = _create(path)
    table.bulk_insert(_stream(rows), SMALL)
    table.upsert(_stream(rows), {**SMALL, "hoodie.logfile.data.block.format": log_format})


def _small_rows(count: int) -> pa.Table:
    return pa.Table.from_batches(list(batches(count)))


def _many_commits(path: Path, count: int) -> list[int]:
    """Commits with compactions, cleaning and archival. Returns memory after a tenth of them, and after all."""
    table, rows, seen = _create(path), _small_rows(200), []
    for at in range(1, count + 1):
        table.upsert(rows, {"hoodie.compact.inline": "true", "hoodie.clean.commits.retained": "3"})
        if at in (count // 10, count):
            seen.append(anonymous())
    return seen


def _many_reads(path: Path, count: int) -> list[int]:
    """Opens and reads a table again and again. Returns memory after a tenth of the reads, and after all."""
    _create(path).upsert(_small_rows(200), {})
    mortice.Table(path).upsert(_small_rows(200), {})
    seen = []
    for at in range(1, count + 1):
        table = mortice.Table(path)
        assert table.snapshot().to_arrow().num_rows == 200
        if at in (count // 10, count):
            seen.append(anonymous())
    return seen


def _measured(work: str, path: Path, rows: int) -> int:
    done: list[object] = []
    growth = growth_of(threading.Thread(target=lambda: done.append(WORKS[work](path, rows))))
    assert done, work
    return growth


def _worker(what: str, path: Path, count: int, log_format: str) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if what == "prepare":
        _prepare(path, count, log_format)
        print("null")
    elif what == "commits":
        print(json.dumps(_many_commits(path, count)))
    elif what == "reads":
        print(json.dumps(_many_reads(path, count)))
    else:
        print(_measured(what, path, count))


def _in_process(*arguments: object):
    command = [sys.executable, "-W", "ignore", __file__, "--worker", *map(str, arguments)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _one_format(folder: Path, rows: int, log_format: str) -> int:
    """Prints a line for each work. Returns how many take too much."""
    too_much = 0
    counts = (rows, 4 * rows)
    for count in counts:
        _in_process("prepare", folder / str(count), count, log_format)
    for work in WORKS:
        peaks = []
        for count in counts:
            copy = folder / "copy"
            shutil.copytree(folder / str(count), copy)
            peaks.append(_in_process(work, copy, count, log_format))
            shutil.rmtree(copy)
        each = (peaks[1] - peaks[0]) / (counts[1] - counts[0])
        too_much += each > ROW_BYTES / 2
        print(f"| {work} | {log_format} | {peaks[0] >> 20} | {peaks[1] >> 20} | {each:.0f} |", flush=True)
    return too_much


def main() -> int:
    """Prints the figures. Returns 1 if any of them is too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="the lesser data, in times of the limit")
    parser.add_argument("--reads", type=int, default=1000)
    parser.add_argument("--commits", type=int, default=500)
    parser.add_argument("--formats", nargs="*", choices=LOG_FORMATS, default=LOG_FORMATS, help="of logs")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        what, path, count, log_format = arguments.worker
        _worker(what, Path(path), int(count), log_format)
        return 0
    rows = arguments.times * LIMIT // ROW_BYTES
    too_much = 0
    print(f"limit {LIMIT >> 20} MiB, {rows} and {4 * rows} rows, {arguments.times} and {4 * arguments.times} times it")
    print("| work | logs | MiB | MiB, four times the rows | bytes for each further row |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="memory") as folder:
        for log_format in arguments.formats:
            too_much += _one_format(Path(folder) / log_format, rows, log_format)
        for what, count in (("reads", arguments.reads), ("commits", arguments.commits)):
            before, after = _in_process(what, Path(folder) / what, count, "avro")
            too_much += after - before > KEPT
            print(f"{count} {what} in one process: {after >> 20} MiB, {before >> 20} MiB after a tenth of them")
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
