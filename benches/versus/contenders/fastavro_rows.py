"""fastavro, for raw decoding: datums into Python rows. It receives the records one by one, in memory."""

import io
import json
from pathlib import Path

from versus import avro_types
from versus.contenders.contender import Contender

LENGTH_BYTES = 4
HEAD_BYTES = 8
"""Content of a block: its version, and the number of records."""


class FastavroRows(Contender):
    name = "fastavro"
    kinds = ("decode",)

    def start(self, _cores):
        import fastavro

        self.fastavro = fastavro

    def version(self):
        return self.fastavro.__version__

    def prepare(self, query):
        """mortice finds blocks and schemas: framing is not compared."""
        import mortice

        self.blocks = []
        for path in query["logs"]:
            with Path(path).open("rb") as file:
                for block in mortice.LogFile(path).blocks():
                    if block.type == "AVRO_DATA_BLOCK":
                        file.seek(block.content_offset)
                        self.schema = json.loads(block.header["SCHEMA"])
                        schema = self.fastavro.parse_schema(self.schema)
                        self.blocks.append((schema, list(datums(file.read(block.content_length)))))

    def rows(self, into):
        """Decodes all rows, one block at a time."""
        for schema, records in self.blocks:
            read = self.fastavro.schemaless_reader
            into([read(io.BytesIO(record), schema, None) for record in records])
            yield len(records)

    def run(self, query):  # noqa: ARG002 (uses what `prepare` stored)
        return sum(self.rows(lambda rows: rows))

    def answer(self, query, path):  # noqa: ARG002
        import pyarrow.parquet as pq

        rows = []
        for _ in self.rows(rows.extend):
            pass
        pq.write_table(avro_types.table(self.schema, rows), path)


def datums(content):
    """Yields the records of an Avro block's content: each is a length and a datum."""
    at = HEAD_BYTES
    for _ in range(int.from_bytes(content[LENGTH_BYTES:HEAD_BYTES], "big")):
        end = at + LENGTH_BYTES + int.from_bytes(content[at : at + LENGTH_BYTES], "big")
        yield content[at + LENGTH_BYTES : end]
        at = end
