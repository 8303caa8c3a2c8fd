"""What contenders that return Arrow batches share: a query is identified by the batches of its rows."""

from abc import abstractmethod

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versus.contenders.contender import Contender

AGGREGATED = ("i0", "l0", "s0", "t0")
AGGREGATES = ("rows", "sum_i0", "min_l0", "max_l0", "min_s0", "max_t0")
KEY = "key"


class ArrowReader(Contender):
    """Subclasses give `batches`."""

    @abstractmethod
    def batches(self, query):
        """The rows of a query, batch by batch."""

    def count(self, query):
        """How many rows there are: those who know a shorter way have their own."""
        return sum(batch.num_rows for batch in self.batches(query | {"columns": [KEY]}))

    def aggregate(self, query):
        """Six aggregates, over batches as they come."""
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
