"""Reads a table with hudi-rs of PyPI, and writes its rows as an Arrow file. It runs with the Python that has hudi-rs,
which is not that of the tests:

    .venv-versus/bin/python -I tests/readers/by_hudi_rs.py TABLE FILE
"""

import sys

import pyarrow as pa
from hudi import HudiTableBuilder

table, file = sys.argv[1:]
rows = pa.Table.from_batches(HudiTableBuilder.from_base_uri(table).build().read())
with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
    writer.write_table(rows)
