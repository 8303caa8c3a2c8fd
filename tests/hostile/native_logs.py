"""Changes of native logs, the Parquet files of table version 10: what their footers say, their columns, their names."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HEADER = b"hudi.log.format.metadata"
NAME = re.compile(r"[^._]+_\d+-\d+-\d+_\d+_\d+\.(log|deletes|cdc)\.parquet")
SUFFIXES = ["log.parquet", "deletes.parquet", "cdc.parquet", "log.orc", "log.hfile", "log.lance", "parquet"]


def is_native_log(path: str) -> bool:
    return NAME.fullmatch(path.rsplit("/", 1)[-1]) is not None


def change_native_log(random: Random, log: Path, other: Path, changed_tree: Callable[[Any], Any]) -> str:
    """Changes a native log and returns what it was.

    Args:
        random: What draws the change.
        log: The log.
        other: Another one, whose footer it may get.
        changed_tree: Changes values of a JSON object.
    """
    if random.random() < 0.15:
        to = log.with_name(f"{log.name.split('.', 1)[0]}.{random.choice(SUFFIXES)}")
        log.rename(to)
        return f"{log.name} is {to.name}"
    rows = read(log)
    if rows is None:
        return f"{log.name} cannot be read"
    header = header_of(rows)
    match random.randrange(6):
        case 0:
            what, header = "other values", changed_tree(header)
        case 1:
            name = random.choice([*header, "VERSION"])
            what = f"{name} is left out"
            header.pop(name, None)
        case 2:
            found = read(other)
            what, header = f"the footer of {other.name}", header_of(found) if found is not None else {}
        case 3:
            what = "other positions"
            count = random.choice([0, 1, rows.num_rows, rows.num_rows + 1, 2**31 - 1])
            bytes_ = count.to_bytes(4, "big") + random.randbytes(random.randrange(12))
            header["RECORD_POSITIONS"] = base64.b64encode(bytes_).decode()
        case 4:
            what, rows = "fewer rows", rows.slice(random.randrange(rows.num_rows + 1))
        case _:
            kept = random.sample(rows.column_names, random.randrange(len(rows.column_names) + 1))
            what, rows = "other columns", rows.select(kept)
    metadata = {**(rows.schema.metadata or {}), HEADER: json.dumps(header).encode()}
    log.unlink()
    pq.write_table(rows.replace_schema_metadata(metadata), log)
    return f"{what} of {log.name}"


def read(log: Path) -> pa.Table | None:
    try:
        return pq.ParquetFile(log).read()
    except (pa.ArrowException, OSError):
        return None


def header_of(rows: pa.Table) -> dict[str, str]:
    return json.loads((rows.schema.metadata or {}).get(HEADER, b"{}"))
