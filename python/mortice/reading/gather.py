"""Small record batches, gathered.

Engines have a cost for each batch, small or large. A filter leaves few rows of each batch that was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

__all__ = ["gathered"]

_ROWS = 65_536
_BYTES = 16 << 20


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields the rows of batches, in their order, in tables of one batch or of several small ones.

    The first batch with rows is yielded at once: who needs only some rows does not wait for more. A table of several
    batches has at most 65,536 rows or 16 MiB, and one batch more.

    Args:
        batches: Batches of one schema.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    limit = 1
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= limit or size >= _BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size, limit = [], 0, 0, _ROWS
    if waiting:
        yield pa.Table.from_batches(waiting)
