"""Measures the anonymous memory of a write whose rows come as a stream. Run in a process of its own.

    python -m support.write_memory TABLE ROWS OPERATION [OPTIONS]

`TABLE` is created if it is not there; OPTIONS is JSON. Prints by how many bytes anonymous memory
(`RssAnon`) grows at most.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import mortice

BATCH_ROWS = 10_000
GROUPS = 4
# Bytes of a row in Arrow, roughly.
ROW_BYTES = 350
NUMBERS = [f"n{at:02}" for at in range(11)]
TEXTS = [f"t{at:02}" for at in range(11)]
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("ts", pa.int64()),
        ("flag", pa.bool_()),
        *((name, pa.float64()) for name in NUMBERS),
        *((name, pa.string()) for name in TEXTS),
    ]
)


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    """Yields batches of 26 columns, some 450 bytes a row, each in memory of its own."""
    numbers = np.random.default_rng(7)
    for start in range(0, rows, BATCH_ROWS):
        count = min(BATCH_ROWS, rows - start)
        ids = np.arange(start, start + count)
        texts = pa.array(numbers.integers(10**15, 10**16, count)).cast(pa.string())
        columns = {
            "id": pa.array(ids * 7919 % 10**12).cast(pa.string()),
            "part": pa.array([f"p{at % GROUPS}" for at in ids.tolist()]),
            "ts": pa.array(ids),
            "flag": pa.array(ids % 3 == 0),
            **{name: pa.array(numbers.random(count)) for name in NUMBERS},
            **{name: texts.take(pa.array(numbers.permutation(count))) for name in TEXTS},
        }
        yield pa.record_batch([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def anonymous() -> int:
    """Returns the anonymous memory of this process in bytes."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")) * 1024


def growth_of(work: threading.Thread) -> int:
    """Runs a thread and returns by how much anonymous memory grew at most."""
    before = most = anonymous()
    work.start()
    while work.is_alive():
        most = max(most, anonymous())
        work.join(0.01)
    return most - before


def main() -> None:
    """Writes a stream of rows."""
    path, rows, operation, *options = sys.argv[1:]
    if Path(path).exists():
        table = mortice.Table(path)
    else:
        table = mortice.create_table(
            path, SCHEMA, name="t", record_key="id", partition_by="part", ordering="ts", table_type="MERGE_ON_READ"
        )
    stream = pa.RecordBatchReader.from_batches(SCHEMA, batches(int(rows)))
    write = getattr(table, operation)
    written = []
    work = threading.Thread(target=lambda: written.append(write(stream, json.loads(options[0]) if options else None)))
    growth = growth_of(work)
    assert [commit.inserts + commit.updates for commit in written] == [int(rows)], written
    print(growth)


if __name__ == "__main__":
    main()
