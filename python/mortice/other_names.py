"""Names that other libraries have for what mortice calls something else: what an `AttributeError` suggests."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

__all__ = ["MODULE", "TABLE", "missing_attribute"]

MODULE = {
    "open": "Table(path)",
    "load": "Table(path)",
    "load_table": "Table(path)",
    "read": "Table(path).to_arrow()",
    "read_table": "Table(path).to_arrow()",
    "read_hudi": "Table(path).to_pandas()",
    "scan": "Table(path).scan(), or scan_polars(path)",
    "write": "create_table(path, schema, record_key=…), then its upsert(rows)",
    "write_table": "create_table(path, schema, record_key=…), then its upsert(rows)",
    "create": "create_table(path, schema, record_key=…)",
    "connect": "Table(path): there is no catalog to connect to",
}
"""Of the module."""
TABLE = {
    "add_columns": "alter(add={…})",
    "append": "insert(rows), or upsert(rows)",
    "checkout": "scan(as_of=…)",
    "collect": "to_arrow()",
    "commits": "timeline, or history()",
    "count_rows": "count()",
    "describe": "health(), or print(table.schema)",
    "drop_columns": "alter(drop=[…])",
    "expire_snapshots": "clean()",
    "file_uris": "file_slices()",
    "files": "file_slices()",
    "filter": 'scan().filter("fare > 3")',
    "inspect": "health(), history(), file_slices() and timeline",
    "limit": "scan().limit(n)",
    "list_versions": "history()",
    "load_as_version": "scan(as_of=…)",
    "metadata": "properties",
    "optimize": "compact() and cluster()",
    "overwrite": "insert_overwrite_table(rows)",
    "partitions": "partition_fields; those that have files are in file_slices()",
    "query": 'scan(filters="fare > 3")',
    "read": "to_arrow()",
    "select": "scan().select(…)",
    "snapshots": "history()",
    "to_batches": "to_reader()",
    "to_duckdb": "mortice.duckdb(name=table)",
    "to_lazy": "mortice.scan_polars(table)",
    "to_pyarrow_dataset": "dataset()",
    "to_pyarrow_table": "to_arrow()",
    "to_table": "to_arrow()",
    "update": 'update_where({"fare": "fare * 2"}, "city = \'oslo\'")',
    "vacuum": "clean()",
    "versions": "history()",
    "where": 'scan(filters="fare > 3")',
    "write": "upsert(rows)",
}
"""Of tables."""


def missing_attribute(owner: str, name: str, others: Mapping[str, str], known: Iterable[str]) -> AttributeError:
    """Returns the error for a name that does not exist, with the name that was probably meant.

    Args:
        owner: Who does not have it.
        name: The name.
        others: What other libraries call so.
        known: The public names.
    """
    near = others.get(name) or next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
    hint = "" if near is None or name.startswith("_") else f"; use {near}"
    return AttributeError(f"{owner} has no attribute {name!r}{hint}", name=name)
