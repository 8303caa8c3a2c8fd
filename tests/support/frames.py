"""DataFrames as Arrow tables, on every Spark."""

import pyarrow as pa


def to_arrow(frame):
    """Returns a DataFrame as an Arrow table. `toArrow` exists since Spark 4."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = frame._collect_as_arrow()
    # The batches have the time zone of the session, and the schema UTC.
    return pa.Table.from_batches(batches, schema=None if batches else to_arrow_schema(frame.schema))
