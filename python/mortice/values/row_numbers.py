"""Numbers of rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["row_numbers"]


def row_numbers(count: int) -> pa.Array:
    """Returns `count` numbers from 0, one after the other."""
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=-1)
