"""A lower bound of writing base files: pyarrow writes the same columns, with Hudi's codec and level, as one file. Of a
compaction, mortice reads the rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from versus.contenders.contender import Contender

LEVEL = 6
"""That of Hudi's gzip; pyarrow's own default is 9."""
INSTANT = "20240101000000000"


class ParquetWriter(Contender):
    name = "Parquet by pyarrow"
    kinds = ("insert", "bulk_insert", "compact")
    is_limit = True

    def start(self, cores):
        pa.set_cpu_count(cores)
        self.rows = None

    def version(self):
        return pa.__version__

    def prepare(self, query):
        if query["kind"] == "compact":
            return
        if self.rows is None or self.rows[0] != query["rows"]:
            self.rows = query["rows"], _with_meta_columns(pq.read_table(query["rows"]))

    def run(self, query):
        if query["kind"] == "compact":
            from versus.contenders.mortice_writer import checked

            rows = checked().Table(query["path"]).snapshot().to_arrow()
        else:
            rows = self.rows[1]
            Path(query["path"]).mkdir(parents=True)
        pq.write_table(rows, f"{query['path']}/rows.parquet", compression="gzip", compression_level=LEVEL)
        return rows.num_rows


def _with_meta_columns(rows):
    count = rows.num_rows
    columns = {
        "_hoodie_commit_time": pa.repeat(INSTANT, count),
        "_hoodie_commit_seqno": pa.array([f"{INSTANT}_0_{row}" for row in range(count)]),
        "_hoodie_record_key": rows["key"],
        "_hoodie_partition_path": pa.repeat("", count),
        "_hoodie_file_name": pa.repeat(f"00000000-0000-0000-0000-000000000000-0_0-1-0_{INSTANT}.parquet", count),
    }
    return pa.table(columns | {name: rows[name] for name in rows.schema.names})
