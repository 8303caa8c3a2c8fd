"""delta-rs as a writer: `deltalake` of PyPI, of Arrow data in memory, with its own defaults (Snappy). It writes another
format, so that Hudi cannot read its rows back; their number is checked.

An upsert is `merge` on the record key. Each of a process merges into the same table, whose rows and files have the same
number afterwards.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from versus.contenders.contender import Contender

BATCH_ROWS = 1 << 16


class DeltaWriter(Contender):
    name = "delta-rs"
    home = "rivals"
    kinds = ("upsert", "insert", "bulk_insert")
    is_other_format = True

    def start(self, cores):
        pa.set_cpu_count(cores)
        self.rows = None
        self.tables = {}

    def version(self):
        from importlib.metadata import version

        return version("deltalake")

    def prepare(self, query):
        if self.rows is None or self.rows[0] != query["rows"]:
            self.rows = query["rows"], pq.read_table(query["rows"])
        if query["kind"] == "upsert" and query["rows"] not in self.tables:
            self.tables[query["rows"]] = self._base(query)

    def _base(self, query):
        """Writes the rows of the table before the upsert."""
        from deltalake import write_deltalake

        columns = self.rows[1].schema.names
        rows = pa.concat_tables([pq.read_table(file, columns=columns) for file in query["bases"]])
        folder = tempfile.TemporaryDirectory(prefix="versus-delta-")
        write_deltalake(folder.name, _reader(rows))
        return folder, rows.num_rows

    def run(self, query):
        from deltalake import DeltaTable, write_deltalake

        rows = self.rows[1]
        if query["kind"] != "upsert":
            Path(query["path"]).mkdir(parents=True)
            write_deltalake(query["path"], _reader(rows))
            return rows.num_rows
        folder, count = self.tables[query["rows"]]
        table = DeltaTable(folder.name)
        merger = table.merge(_reader(rows), "t.key = s.key", source_alias="s", target_alias="t")
        merged = merger.when_matched_update_all().when_not_matched_insert_all().execute()
        changed = merged["num_target_rows_updated"] + merged["num_target_rows_inserted"]
        if changed != rows.num_rows:
            raise RuntimeError(f"{changed} of {rows.num_rows} rows were merged into {count}")
        return rows.num_rows


def _reader(rows):
    return pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(BATCH_ROWS))
