"""Tables whose files are large enough for several requests."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from support.oracle import Field, Merging
from support.tables.table_writer import Slice, with_meta, write_table

NUMBERS = tuple(f"n{number}" for number in range(8))
FIELDS = (Field("id", "string"), *(Field(name, "long") for name in NUMBERS), Field("ts", "long"))


def write_large_table(folder, rows, row_group_rows, slices=1):
    """Writes a table with a base file for each slice: about 85 random bytes a row, which do not compress."""
    row = with_meta({"id": "0", "ts": 0} | dict.fromkeys(NUMBERS, 0), "0", 0, 0)
    path = write_table(folder, Merging(FIELDS, ordering=("ts",)), 6, Slice((row,), ()))
    (base,) = folder.rglob("*.parquet")
    schema = pq.read_schema(base)
    written = pq.read_table(base)
    first = {name: written[name][0] for name in schema.names}
    random = np.random.default_rng(7)
    for number in range(slices):
        keys = [f"{number}-{key:08}" for key in range(rows)]
        columns = {name: random.integers(0, 2**63, rows) for name in NUMBERS}
        columns |= {"id": keys, "ts": np.zeros(rows, "int64"), "_hoodie_record_key": keys}
        constants = {name: pa.repeat(first[name], rows) for name in schema.names if name not in columns}
        arrays = [
            pa.array(columns[name], field.type) if name in columns else constants[name]
            for name, field in zip(schema.names, schema, strict=True)
        ]
        file_id, rest = base.name.split("_", 1)
        name = base.name if number == 0 else f"{number:08x}{file_id[8:]}_{rest}"
        pq.write_table(
            pa.Table.from_arrays(arrays, schema=schema),
            base.with_name(name),
            row_group_size=row_group_rows,
            compression="none",
            use_dictionary=["_hoodie_commit_time", "_hoodie_file_name", "_hoodie_partition_path"],
        )
    return path
