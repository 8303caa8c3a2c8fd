"""Base class of contenders that return Arrow batches."""

from abc import abstractmethod

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versus.contenders.contender import Contender

AGGREGATED = ("i0", "l0", "s0", "t0")
AGGREGATES = ("rows", "sum_i0", "min_l0", "max_l0", "min_s0", "max_t0")
KEY = "key"


class ArrowReader(Contender):
    """Subclasses implement `batches`."""

    @abstractmethod
    def batches(self, query):
        """Yields the rows of a query, batch by batch."""

    def count(self, query):
        """Returns the number of rows; contenders with a faster way override it."""
        return sum(batch.num_rows for batch in self.batches(query | {"columns": [KEY]}))

    def aggregate(self, query):
        """Returns six aggregates, computed batch by batch."""
        parts = [_aggregates(batch) for batch in self.batches(query | {"columns": list(AGGREGATED)})]
        return _together(pa.table({name: [part[name] for part in parts] for name in AGGREGATES}))

    def run(self, query):
        if query["kind"] == "count":
            return self.count(query)
        if query["kind"] == "aggregate":
            return self.aggregate(query).num_rows
        return sum(batch.num_rows for batch in self.batches(query))

    def answer(self, query, path):
        if query["kind"] == "count":
            rows = pa.table({"rows": [self.count(query)]})
        elif query["kind"] == "aggregate":
            rows = self.aggregate(query)
        else:
            rows = pa.Table.from_batches(list(self.batches(query)))
        pq.write_table(rows, path)


def _aggregates(batch):
    whole, long, text, time = (batch.column(name) for name in AGGREGATED)
    values = (
        batch.num_rows,
        pc.sum(whole),
        pc.min(long),
        pc.max(long),
        pc.min(text),
        pc.max(time.cast("timestamp[us]")),
    )
    return dict(zip(AGGREGATES, [value if isinstance(value, int) else value.as_py() for value in values], strict=True))


def _together(parts):
    chosen = {"rows": pc.sum, "sum_i0": pc.sum}
    chosen |= {name: pc.min if name.startswith("min") else pc.max for name in AGGREGATES[2:]}
    return pa.table({name: [chosen[name](parts[name]).as_py()] for name in AGGREGATES})
