"""CPU time of each thread of a bulk insert from memory, and the files that it writes.

    python benches/threads/bulk_insert.py [--rows 1000000] [--partitions 0] [--sort-mode NONE] [--codec zstd]

The rows have 25 columns: keys, strings and numbers that hardly repeat, integers of 100,000 values, a boolean, a
decimal and a timestamp, some values null. CPU time is user and system time from /proc, so this needs Linux. A stage
that one thread alone can do limits the cores that a write can use: the share of the largest thread shows it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator

import pyarrow as pa

import mortice

BATCH_ROWS = 1 << 16
INTERVAL = 0.02
TICK = os.sysconf("SC_CLK_TCK")


def rows_of(count: int, partitions: int) -> pa.Table:
    """Returns rows of 25 columns, and one more of partitions if there are some."""
    given = random.Random(5)
    valid = pa.array([True, *[given.random() >= 0.05 for _ in range(999)]] * (count // 1000 + 1)).slice(0, count)
    bitmap = valid.buffers()[1]

    def numbers(kind: pa.DataType, width: int, nulls: bool = True) -> pa.Array:
        return pa.Array.from_buffers(
            kind, count, [bitmap if nulls else None, pa.py_buffer(given.randbytes(count * width))]
        )

    def small(most: int) -> pa.Array:
        return pa.array([given.randrange(most) for _ in range(count)], pa.int64())

    def strings(length: int) -> pa.Array:
        text = given.randbytes(count * length // 2 + 1).hex().encode()
        offsets = pa.array(range(0, (count + 1) * length, length), pa.int32())
        return pa.Array.from_buffers(pa.string(), count, [bitmap, offsets.buffers()[1], pa.py_buffer(text)])

    columns: dict[str, pa.Array] = {"key": pa.array([f"key-{row:010}" for row in range(count)])}
    columns["ts"] = pa.repeat(pa.scalar(1_000_000, pa.int64()), count)
    columns |= {f"s{at}": strings(12 + 4 * at) for at in range(6)}
    columns |= {f"l{at}": numbers(pa.int64(), 8) for at in range(8)}
    columns |= {f"d{at}": small(10**15).cast(pa.float64(), safe=False) for at in range(4)}
    columns |= {f"i{at}": small(100_000).cast(pa.int32()) for at in range(2)}
    columns["b"] = small(2).cast(pa.bool_())
    columns["dec"] = small(10**12).cast(pa.decimal128(19, 0))
    columns["t"] = small(10**14).cast(pa.timestamp("us", "UTC"))
    if partitions:
        columns["part"] = pa.array([f"p{given.randrange(partitions):05}" for _ in range(count)])
    return pa.table(columns)


def cpu_of_threads() -> Iterator[tuple[int, float, str]]:
    """Yields the number of each thread of this process, its CPU seconds and its name."""
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            before, _, after = (task / "stat").read_text().rpartition(")")
        except OSError:
            # It has ended.
            continue
        fields = after.split()
        yield int(task.name), (int(fields[11]) + int(fields[12])) / TICK, before.partition("(")[2]


class Sampler(threading.Thread):
    """Watches the threads of this process, also those that end meanwhile."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = {number: cpu for number, cpu, _ in cpu_of_threads()}
        self.used: dict[int, tuple[float, str]] = {}
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(INTERVAL):
            self.sample()

    def sample(self) -> None:
        for number, cpu, name in cpu_of_threads():
            if number != self.native_id:
                self.used[number] = (cpu - self.before.get(number, 0.0), name)

    def finish(self) -> list[tuple[float, str]]:
        """Returns the CPU seconds of the threads that had any, greatest first."""
        self.sample()
        self.stopped.set()
        self.join()
        return sorted((used for used in self.used.values() if used[0] > 0), reverse=True)


def measured(rows: pa.Table, options: dict[str, str], folder: str) -> None:
    path = pathlib.Path(folder) / "t"
    shutil.rmtree(path, ignore_errors=True)
    has_partitions = "part" in rows.schema.names
    table = mortice.create_table(
        path, rows.schema, name="t", record_key="key", ordering="ts", partition_by="part" if has_partitions else None
    )
    sampler = Sampler()
    sampler.start()
    cpu, wall = time.process_time(), time.perf_counter()
    table.bulk_insert(pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(BATCH_ROWS)), options=options)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    threads = sampler.finish()
    sizes = [file.stat().st_size for file in path.glob("**/*.parquet") if ".hoodie" not in file.parts]
    written = f"{len(sizes)} files, {sum(sizes) / 1e6:.0f} MB, largest {max(sizes) / 1e6:.0f} MB"
    print(f"{cpu:.2f} CPU s, {wall:.2f} s wall, {written}")
    total = sum(used for used, _ in threads)
    for used, name in threads[: (os.cpu_count() or 1) + 3]:
        print(f"    {name:<16}{used:7.2f} s  {used / total:6.1%}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--partitions", type=int, default=0)
    arguments.add_argument("--sort-mode", default="NONE")
    arguments.add_argument("--codec", default="zstd")
    arguments.add_argument("--repeat", type=int, default=3)
    given = arguments.parse_args()
    options = {
        "hoodie.bulkinsert.sort.mode": given.sort_mode,
        "hoodie.parquet.compression.codec": given.codec,
        "hoodie.metadata.enable": "true",
    }
    rows = rows_of(given.rows, given.partitions)
    print(
        f"{rows.num_rows} rows, {rows.num_columns} columns, {rows.nbytes / 1e6:.0f} MB in Arrow, {os.cpu_count()} cores"
    )
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(given.repeat):
            measured(rows, options, folder)


if __name__ == "__main__":
    main()
