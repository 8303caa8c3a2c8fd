"""Code that runs in Spark's workers for the contenders of `spark_limits`."""

import pyarrow as pa

from mortice.spark.execution.arrow_udf import ReadDescriptors

_ready = {}
"""The batches of each task of the last query."""
_of_query = []


class ReadyDescriptors(ReadDescriptors):
    """Reads a task once in each worker, and returns the same batches from then on."""

    def __call__(self, batches):
        query = [self.queries, repr(self.read)]
        if _of_query != query:
            _ready.clear()
            _of_query[:] = query
        for batch in batches:
            for task in batch.column(0).to_pylist():
                key = tuple(task)
                if key not in _ready:
                    row = pa.RecordBatch.from_arrays([pa.array([task], batch.schema.types[0])], schema=batch.schema)
                    _ready[key] = list(super().__call__(iter([row])))
                yield from _ready[key]


def empty(batches):
    """Consumes the batches and returns none."""
    for _ in batches:
        pass
    return iter(())
