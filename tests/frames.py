"""Arrow tables of DataFrames, on every Spark."""

import pyarrow as pa


def to_arrow(frame):
    """`toArrow` came with Spark 4."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    return pa.Table.from_batches(frame._collect_as_arrow())
