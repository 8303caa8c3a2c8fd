"""Compares the rows of two results in any order: each row is hashed, the hashes are sorted and compared.

Equivalent types (large and plain strings, units and zones of timestamps) are cast to those of the first result. Values
that cannot be cast are a difference.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versus import avro_types

UNREADABLE = (pa.ArrowException, pl.exceptions.PolarsError, OSError)
"""Exceptions that reading and comparing a result may raise."""
AVRO_MAGIC = b"Obj\x01"
NESTED = (pa.types.is_struct, pa.types.is_list, pa.types.is_large_list, pa.types.is_map)


@dataclass(frozen=True)
class Digest:
    """The part of a result that is compared."""

    schema: pa.Schema
    hashes: np.ndarray

    @property
    def text(self):
        """A short digest: equal for equal rows."""
        return hashlib.sha256(self.hashes.tobytes()).hexdigest()[:16]


def read(path):
    """Reads a result of a contender: a Parquet file, a directory of such, or an Avro container file."""
    if path.is_dir():
        return pq.read_table(path)
    with path.open("rb") as file:
        if file.read(len(AVRO_MAGIC)) != AVRO_MAGIC:
            return pq.read_table(path)
        import fastavro

        file.seek(0)
        reader = fastavro.reader(file)
        return avro_types.table(json.loads(reader.metadata["avro.schema"]), list(reader))


def digest(rows, like=None):
    """Returns the digest of a result, with the types of another one. Raises `ValueError` if it cannot be cast."""
    schema = plain(rows.schema) if like is None else like.schema
    missing = [name for name in schema.names if name not in rows.schema.names]
    surplus = [name for name in rows.schema.names if name not in schema.names]
    if missing or surplus:
        raise ValueError(f"columns missing: {missing or 'none'}; too many: {surplus or 'none'}")
    try:
        typed = pa.table([_cast(rows[name], schema.field(name).type) for name in schema.names], names=schema.names)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"columns of other types: {str(error).partition(chr(10))[0]}") from error
    return Digest(schema, np.sort(hashes(typed)))


def plain(schema):
    """Returns the types in which results are compared."""
    return pa.schema([(field.name, _plain(field.type)) for field in schema])


def _plain(type_):
    if any(is_it(type_) for is_it in NESTED):
        return pa.string()
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us")
    if pa.types.is_dictionary(type_):
        return _plain(type_.value_type)
    texts = (pa.types.is_large_string, pa.types.is_string_view)
    return pa.string() if any(is_it(type_) for is_it in texts) else type_


def _cast(column, type_):
    if any(is_it(column.type) for is_it in NESTED):
        return pa.chunked_array([_as_text(chunk) for chunk in column.chunks], type=pa.string())
    if pa.types.is_string(type_) and not pa.types.is_string(column.type) and not _is_text(column.type):
        raise ValueError(f"columns of other types: {column.type}, not text")
    return column.cast(type_)


def _is_text(type_):
    return _plain(type_) == pa.string()


def _as_text(chunk):
    """Returns nested values as JSON; the entries of a map are sorted."""
    return pa.array(
        [None if value is None else json.dumps(_ordered(value), default=str) for value in chunk.to_pylist()],
        pa.string(),
    )


def _ordered(value):
    if isinstance(value, dict):
        return {name: _ordered(item) for name, item in value.items()}
    if isinstance(value, list):
        items = [_ordered(item) for item in value]
        return sorted(items, key=str) if items and all(isinstance(item, tuple) for item in items) else items
    return [_ordered(item) for item in value] if isinstance(value, tuple) else value


def hashes(rows):
    """Returns a hash of each row: equal for equal values."""
    if not rows.num_columns:
        return np.zeros(rows.num_rows, dtype=np.uint64)
    return pl.from_arrow(rows).hash_rows(seed=1).to_numpy()


def difference(reference, rows):
    """Returns how a result differs from a digest, or None if the rows are equal."""
    try:
        found = digest(rows, like=reference)
    except ValueError as error:
        return str(error)
    if np.array_equal(found.hashes, reference.hashes):
        return None
    if len(found.hashes) != len(reference.hashes):
        return f"{len(found.hashes)} rows, not {len(reference.hashes)}"
    names = reference.schema.names
    typed = pa.table([_cast(rows[name], reference.schema.field(name).type) for name in names], names=names)
    strange = ~np.isin(hashes(typed), reference.hashes)
    example = typed.filter(pa.array(strange)).slice(0, 1).to_pylist()
    return f"{pc.sum(pa.array(strange)).as_py() or 0} of {rows.num_rows} rows differ, as {example}"[:600]
