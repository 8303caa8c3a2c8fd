"""Names that other libraries have for what mortice calls something else, and what errors suggest for them."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar, cast

__all__ = [
    "CLASS",
    "MODULE",
    "RESULTS",
    "SCAN",
    "SPARK",
    "TABLE",
    "TIMELINE",
    "answering",
    "hinted",
    "missing_attribute",
    "unknown_argument",
    "with_hints",
]

MODULE = {
    "Catalog": "Table(path): there is no catalog; sync registers a table in one",
    "Dataset": "Table(path).dataset()",
    "Schema": "pyarrow.schema",
    "catalog": "Table(path): there is no catalog; sync registers a table in one",
    "col": "filters as text, or pyarrow.compute.field and polars.col",
    "connect": "Table(path): there is no catalog to connect to",
    "create": "create_table(path, schema, record_key=…)",
    "dataset": "Table(path).dataset()",
    "delete_table": "the storage: a table is its folder",
    "drop_table": "the storage: a table is its folder",
    "exists": "Table(path), which raises TableNotFoundError",
    "field": "filters as text, or pyarrow.compute.field and polars.col",
    "from_arrow": "create_table(path, data=rows, record_key=…)",
    "from_pandas": "create_table(path, data=rows, record_key=…)",
    "get_table": "Table(path)",
    "is_table": "Table(path), which raises TableNotFoundError",
    "list_tables": "Table(path): there is no catalog",
    "load": "Table(path)",
    "load_table": "Table(path)",
    "log_file": "LogFile(path)",
    "open": "Table(path)",
    "open_table": "Table(path)",
    "pandas": "Table(path).to_pandas()",
    "polars": "scan_polars(path), or Table(path).to_polars()",
    "query": "duckdb(name=path).sql(…)",
    "read": "Table(path).to_arrow()",
    "read_arrow": "Table(path).to_arrow()",
    "read_hudi": "Table(path).to_pandas()",
    "read_pandas": "Table(path).to_pandas()",
    "read_polars": "Table(path).to_polars(), or scan_polars(path)",
    "read_schema": "Table(path).schema",
    "read_table": "Table(path).to_arrow()",
    "save": "create_table(path, data=rows, record_key=…)",
    "scan": "Table(path).scan(), or scan_polars(path)",
    "scan_delta": "scan_polars(path)",
    "scan_hudi": "scan_polars(path)",
    "scan_iceberg": "scan_polars(path)",
    "scan_pandas": "Table(path).to_pandas()",
    "scan_parquet": "scan_polars(path)",
    "scan_table": "scan_polars(path)",
    "schema": "Table(path).schema",
    "set_log_level": "logging.getLogger('mortice').setLevel(…)",
    "sql": "duckdb(name=path).sql(…), or mortice.spark.sql",
    "table": "Table(path)",
    "table_exists": "Table(path), which raises TableNotFoundError",
    "to_pandas": "Table(path).to_pandas()",
    "to_polars": "Table(path).to_polars()",
    "version": "__version__",
    "write": "create_table(path, data=rows, record_key=…), or Table(path).upsert(rows)",
    "write_deltalake": "create_table(path, data=rows, record_key=…), or Table(path).upsert(rows)",
    "write_hudi": "create_table(path, data=rows, record_key=…), or Table(path).upsert(rows)",
    "write_table": "create_table(path, data=rows, record_key=…), or Table(path).upsert(rows)",
}
"""Of the module."""

CLASS = {
    "create": "mortice.create_table(path, schema, record_key=…)",
    "exists": "Table(path), which raises TableNotFoundError",
    "for_path": "Table(path)",
    "from_path": "Table(path)",
    "from_uri": "Table(path)",
    "is_deltatable": "Table(path), which raises TableNotFoundError",
    "is_table": "Table(path), which raises TableNotFoundError",
    "load": "Table(path)",
    "open": "Table(path)",
}
"""Of the class `Table`."""

_ROWS = {
    "agg": "to_pandas(), to_polars(), or SQL: duckdb.sql('… from table')",
    "apply": "to_pandas() or to_polars()",
    "arrow": "to_arrow()",
    "collect": "to_arrow()",
    "column": "to_arrow(columns=…), or [name]",
    "column_names": "columns",
    "count_rows": "count()",
    "data": "to_arrow()",
    "df": "to_pandas()",
    "display": "head()",
    "distinct": "[name].unique()",
    "drop": "select(…)",
    "dropna": "filters: 'fare is not null'",
    "dtypes": "schema",
    "execute": "to_arrow()",
    "fetch": "head(n)",
    "fetch_df": "to_pandas()",
    "fetchall": "to_arrow().to_pylist()",
    "fetchdf": "to_pandas()",
    "field": "schema.field(name)",
    "fields": "schema",
    "first": "head(1)",
    "glimpse": "head()",
    "group_by": "to_pandas(), to_polars(), or SQL: duckdb.sql('… from table')",
    "groupby": "to_pandas(), to_polars(), or SQL: duckdb.sql('… from table')",
    "height": "count()",
    "iloc": "head(n): rows have no numbers",
    "index": "to_pandas()",
    "is_empty": "count() == 0",
    "empty": "count() == 0",
    "info": "schema and count()",
    "items": "columns, or iterate over rows",
    "iter_batches": "to_reader()",
    "iter_rows": "a loop: for row in …",
    "iterrows": "a loop: for row in …",
    "itertuples": "a loop: for row in …",
    "join": "SQL: duckdb.sql('… from table join …'), or to_polars()",
    "keys": "columns",
    "lazy": "mortice.scan_polars(table)",
    "lazyframe": "mortice.scan_polars(table)",
    "loc": "filters: 'city = \\'oslo\\''",
    "max": "SQL: duckdb.sql('select max(fare) from table'), or to_pandas()",
    "mean": "SQL: duckdb.sql('select avg(fare) from table'), or to_pandas()",
    "min": "SQL: duckdb.sql('select min(fare) from table'), or to_pandas()",
    "num_columns": "len(columns)",
    "num_rows": "count()",
    "nunique": "[name].unique(), or SQL: duckdb.sql('select count(distinct city) from table')",
    "orderBy": "to_arrow().sort_by(…)",
    "order_by": "to_arrow().sort_by(…)",
    "pandas": "to_pandas()",
    "pl": "to_polars()",
    "polars": "to_polars()",
    "print": "print(table.head())",
    "printSchema": "print(schema)",
    "read_all": "to_arrow()",
    "read_next_batch": "to_reader()",
    "record_batches": "to_reader()",
    "rename": "to_arrow().rename_columns(…)",
    "row_count": "count()",
    "rows": "to_arrow().to_pylist(), or a loop",
    "sample": "head(n)",
    "scanner": "to_reader()",
    "select_columns": "select(…)",
    "shape": "count() and len(columns)",
    "show": "head()",
    "sort": "to_arrow().sort_by(…)",
    "sort_by": "to_arrow().sort_by(…)",
    "sort_values": "to_pandas().sort_values(…)",
    "sql": "SQL: duckdb.sql('select … from table'), the variable's name being table",
    "sum": "SQL: duckdb.sql('select sum(fare) from table'), or to_pandas()",
    "tail": "head(n): rows have no order",
    "take": "head(n): rows have no numbers",
    "to_arrow_batch_reader": "to_reader()",
    "to_arrow_table": "to_arrow()",
    "to_batches": "to_reader()",
    "to_csv": "pyarrow.csv.write_csv(table.to_arrow(), path), or mortice read TABLE --csv",
    "to_dask": "splits() (docs/reading.md)",
    "to_dict": "to_arrow().to_pydict()",
    "to_dicts": "to_arrow().to_pylist()",
    "to_duckdb": "mortice.duckdb(name=table)",
    "to_json": "to_pandas().to_json(), or mortice read TABLE --json",
    "to_lazy": "mortice.scan_polars(table)",
    "to_lazyframe": "mortice.scan_polars(table)",
    "to_list": "to_arrow().to_pylist()",
    "to_numpy": "to_pandas().to_numpy()",
    "to_parquet": "pyarrow.parquet.write_table(table.to_arrow(), path)",
    "to_pyarrow": "to_arrow()",
    "to_pyarrow_table": "to_arrow()",
    "to_pydict": "to_arrow().to_pydict()",
    "to_pylist": "to_arrow().to_pylist()",
    "to_ray": "splits() (docs/reading.md)",
    "to_record_batches": "to_reader()",
    "to_table": "to_arrow()",
    "unique": "[name].unique()",
    "value_counts": "[name].value_counts()",
    "values": "to_arrow()",
    "where": 'filter("fare > 3")',
    "width": "len(columns)",
    "with_columns": "to_polars().with_columns(…)",
    "write_csv": "pyarrow.csv.write_csv(table.to_arrow(), path)",
    "write_parquet": "pyarrow.parquet.write_table(table.to_arrow(), path)",
}
"""Of rows: a table and a scan."""

SCAN = {
    **_ROWS,
    "as_of": "table.scan(as_of=…)",
    "dataset": "table.dataset()",
    "plan": "explain()",
    "plan_files": "splits()",
    "project": "select(…)",
    "query": 'filter("fare > 3")',
    "tasks": "splits()",
    "to_dataset": "table.dataset()",
    "to_pyarrow_dataset": "table.dataset()",
    "write": "mortice.Table(path).upsert(scan)",
}
"""Of scans."""

TABLE = {
    **_ROWS,
    "add": "insert(rows), or upsert(rows)",
    "add_column": "alter(add={name: type})",
    "add_columns": "alter(add={name: type})",
    "add_constraint": "with_validators(…)",
    "add_data": "insert(rows), or upsert(rows)",
    "add_field": "alter(add={name: type})",
    "alter_columns": "alter(type={name: type}, rename={name: name})",
    "analyze": "build_metadata(add=['column_stats'])",
    "append": "insert(rows), or upsert(rows)",
    "as_of": "scan(as_of=…)",
    "at": "scan(as_of=…)",
    "base_path": "uri",
    "begin": "upsert, merge and the other writes: each is one commit",
    "branch": "savepoint(instant): there are no branches",
    "cdc": "changes(begin)",
    "changelog": "incremental(begin, changelog=True), or changes(begin)",
    "checkout": "scan(as_of=…)",
    "checkpoint": "compact()",
    "close": "del: nothing is held open",
    "cleanup_metadata": "archive()",
    "commit": "upsert, merge and the other writes: each is one commit",
    "commits": "timeline, or history()",
    "config": "properties",
    "configuration": "properties",
    "create_checkpoint": "compact()",
    "create_index": "build_metadata(add=['record_index'])",
    "create_scalar_index": "build_metadata(add=['record_index'])",
    "current_snapshot": "timeline.latest",
    "delete_rows": "delete_where(filters)",
    "delete_table": "the storage: a table is its folder",
    "describe": "health(), schema, properties, or to_pandas().describe()",
    "detail": "health() and properties",
    "details": "health() and properties",
    "drop": "the storage: a table is its folder; columns: alter(drop=[…])",
    "drop_column": "alter(drop=[…])",
    "drop_columns": "alter(drop=[…])",
    "drop_table": "the storage: a table is its folder",
    "dynamic_partition_overwrite": "insert_overwrite(rows)",
    "execute_sql": "SQL: duckdb.sql('select … from table'), or mortice.spark.sql",
    "exists": "Table(path), which raises TableNotFoundError",
    "expire_snapshots": "clean()",
    "explain": "scan().explain()",
    "export": "to_arrow()",
    "file_uris": "file_slices()",
    "files": "file_slices()",
    "filter": 'scan().filter("fare > 3")',
    "format_version": "version",
    "get_add_actions": "file_slices()",
    "hoodie_properties": "properties",
    "incremental_append_scan": "incremental(begin)",
    "incremental_read": "incremental(begin)",
    "info": "health(), schema, properties, or mortice info TABLE",
    "insert_into": "insert(rows), or upsert(rows)",
    "inspect": "health(), history(), file_slices() and timeline",
    "is_merge_on_read": "table_type",
    "key": "record_key_fields",
    "key_fields": "record_key_fields",
    "last_commit": "timeline.latest",
    "latest": "timeline.latest",
    "latest_commit": "timeline.latest",
    "limit": "scan().limit(n)",
    "list_versions": "history()",
    "load_as_version": "scan(as_of=…)",
    "load_cdf": "changes(begin), or incremental(begin)",
    "location": "uri",
    "lock": "options of writes: docs/writing.md, several writers",
    "merge_insert": "merge(rows, on=…), or upsert(rows)",
    "metadata": "properties",
    "nbytes": "health()",
    "num_files": "file_slices()",
    "optimize": "compact() and cluster()",
    "ordering": "ordering_fields",
    "overwrite": "insert_overwrite_table(rows)",
    "partition_by": "partition_fields",
    "partition_columns": "partition_fields",
    "partition_keys": "partition_fields",
    "partition_spec": "partition_fields",
    "path": "uri",
    "plan": "scan().explain()",
    "precombine_field": "ordering_fields",
    "precombine_fields": "ordering_fields",
    "primary_key": "record_key_fields",
    "project": "scan().select(…)",
    "protocol": "version",
    "query": 'scan(filters="fare > 3")',
    "read": "to_arrow()",
    "read_changes": "changes(begin), or incremental(begin)",
    "read_incremental": "incremental(begin)",
    "read_snapshot": "snapshot()",
    "read_stream": "follow(start)",
    "record_key": "record_key_fields",
    "record_keys": "record_key_fields",
    "refs": "savepoint(instant): there are no branches",
    "reload": "refresh()",
    "remove": "delete(keys), or delete_where(filters)",
    "rename_column": "alter(rename={name: name})",
    "rename_columns": "alter(rename={name: name})",
    "replace": "insert_overwrite_table(rows)",
    "revert": "rollback(instant), or restore(instant)",
    "scan_polars": "mortice.scan_polars(table)",
    "schema_evolution": "alter(…), or upsert(rows, schema='add')",
    "select": "scan().select(…)",
    "select_columns": "scan().select(…)",
    "set_properties": "mortice.create_table(properties=…): those of a table stay",
    "size": "count(), or health() for bytes",
    "snapshots": "history()",
    "sort_order": "ordering_fields",
    "spec": "partition_fields",
    "statistics": "health(), and history()",
    "stats": "health(), and history()",
    "stream": "follow(start)",
    "sync": "mortice.sync(table, …)",
    "table_name": "name",
    "table_properties": "properties",
    "table_uri": "uri",
    "tag": "savepoint(instant)",
    "tags": "savepoint(instant)",
    "time_travel": "scan(as_of=…)",
    "to_dask": "scan().splits() (docs/reading.md)",
    "to_dataset": "dataset()",
    "to_pyarrow_dataset": "dataset()",
    "to_ray": "scan().splits() (docs/reading.md)",
    "transaction": "upsert, merge and the other writes: each is one commit",
    "truncate": "delete_where('true')",
    "type": "table_type",
    "undo": "rollback(instant)",
    "update": 'update_where({"fare": "fare * 2"}, "city = \'oslo\'")',
    "update_incremental": "refresh()",
    "update_schema": "alter(…)",
    "update_spec": "mortice.create_table(partition_by=…): those of a table stay",
    "upgrade": "Hudi: mortice does not change the version of a table",
    "vacuum": "clean()",
    "versions": "history()",
    "watch": "follow(start)",
    "where": 'scan(filters="fare > 3")',
    "write": "upsert(rows)",
    "z_order": "cluster({'hoodie.layout.optimize.strategy': 'z-order', …})",
}
"""Of tables."""

SPARK = {
    "Table": "mortice.Table",
    "delete": "delete_where(spark, path, filters), or sql(spark, 'DELETE FROM …')",
    "load": "read(spark, path)",
    "read_stream": "spark.readStream.format('mortice').load(path)",
    "read_table": "read(spark, path)",
    "save": "write(frame, path, …)",
    "table": "read(spark, path)",
    "update": "update_where(spark, path, values, filters)",
    "upsert": "write(frame, path, …)",
    "write_stream": "stream_writer(…)",
    "write_table": "write(frame, path, …)",
}
"""Of `mortice.spark`."""

TIMELINE = {
    "all": "list(timeline)",
    "commits": "completed, or table.history()",
    "filter": "completed, pending, or [one for one in timeline if …]",
    "first": "[0]",
    "instants": "list(timeline)",
    "last": "latest, or [-1]",
    "last_commit": "latest",
    "last_instant": "latest",
    "to_arrow": "table.history()",
    "to_list": "list(timeline)",
    "to_pandas": "table.history().to_pandas()",
    "to_polars": "polars.from_arrow(table.history())",
}
"""Of timelines."""

RESULTS: dict[str, dict[str, str]] = {
    "Commit": {
        "commit_time": "instant",
        "id": "instant",
        "num_deletes": "deletes",
        "num_inserts": "inserts",
        "num_updates": "updates",
        "requested_time": "instant",
        "rows": "inserts, updates and deletes",
        "rows_written": "inserts, updates and deletes",
        "timestamp": "instant",
        "version": "instant",
    },
    "Diff": {
        "changes": "to_arrow()",
        "added": "inserted",
        "removed": "deleted",
        "to_pandas": "to_arrow().to_pandas()",
        "to_polars": "polars.from_arrow(diff.to_arrow())",
    },
    "FileSlice": {
        "files": "base_file and log_files",
        "instant": "base_instant",
        "path": "base_file.path",
        "read": "table.scan().splits()",
        "to_arrow": "table.scan().splits()",
    },
    "Health": {"to_dict": "dataclasses.asdict(health)", "ok": "problems, which is empty then"},
    "Instant": {
        "completed": "is_completed",
        "instant": "requested_time",
        "metadata": "table.timeline.metadata(instant)",
        "operation": "table.history(), or table.timeline.metadata(instant)",
        "time": "requested_time",
        "timestamp": "requested_time",
        "type": "action",
    },
    "RecordHistory": {"to_pandas": "pandas.DataFrame(history.versions)", "to_dict": "dataclasses.asdict(history)"},
    "Split": {
        "read": "to_arrow(), or to_reader()",
        "to_pandas": "to_arrow().to_pandas()",
        "to_polars": "polars.from_arrow(split.to_arrow())",
        "to_table": "to_arrow()",
    },
    "VerifyResult": {
        "errors": "findings",
        "is_ok": "findings, which is empty then",
        "is_valid": "findings, which is empty then",
        "ok": "findings, which is empty then",
        "problems": "findings",
    },
}
"""Of what methods return, by class."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "base_path": ("uri",),
    "cols": ("columns",),
    "column": ("columns",),
    "column_names": ("columns",),
    "condition": ("filters",),
    "df": ("data",),
    "end_timestamp": ("end",),
    "end_version": ("end",),
    "expr": ("filters",),
    "fields": ("columns",),
    "file_path": ("uri",),
    "filter": ("filters",),
    "filter_expr": ("filters",),
    "from_instant": ("begin", "start"),
    "hash_key": ("record_key",),
    "include_meta": ("meta",),
    "instant": ("as_of", "begin", "start"),
    "key": ("record_key",),
    "keys": ("record_key", "keys_or_rows"),
    "location": ("uri",),
    "nrows": ("n",),
    "num_rows": ("n",),
    "order_by": ("ordering",),
    "ordering_field": ("ordering",),
    "ordering_fields": ("ordering",),
    "partition_cols": ("partition_by",),
    "partition_columns": ("partition_by",),
    "partition_fields": ("partition_by",),
    "partition_keys": ("partition_by",),
    "partition_path": ("partition_by",),
    "partitioned_by": ("partition_by",),
    "partitioning": ("partition_by",),
    "partitions": ("partition_by",),
    "path": ("uri",),
    "pre_combine": ("ordering",),
    "precombine": ("ordering",),
    "precombine_field": ("ordering",),
    "predicate": ("filters", "on"),
    "primary_key": ("record_key",),
    "projection": ("columns",),
    "query": ("filters",),
    "record_key_fields": ("record_key",),
    "row_filter": ("filters",),
    "rows": ("data", "keys_or_rows", "n"),
    "schema_mode": ("schema",),
    "select": ("columns",),
    "selected_fields": ("columns",),
    "since": ("begin", "start"),
    "snapshot_id": ("as_of",),
    "source": ("data",),
    "start": ("begin",),
    "starting_timestamp": ("begin", "start"),
    "starting_version": ("begin", "start"),
    "table_name": ("name",),
    "table_path": ("uri",),
    "table_uri": ("uri",),
    "tblproperties": ("properties",),
    "timestamp": ("as_of",),
    "timestamp_as_of": ("as_of",),
    "type": ("table_type",),
    "until": ("end",),
    "updates": ("values",),
    "usecols": ("columns",),
    "version": ("as_of",),
    "version_as_of": ("as_of",),
    "where": ("filters",),
}
"""Arguments: names of other libraries, and those of mortice that mean it."""

_LIMIT = "head(n), or scan(…).limit(n)"
_EXISTS = "Table(path) for a table that exists: create_table raises TableExistsError"
_ADVICE = {
    "conf": "options",
    "config": "options",
    "dry_run": "the method plan_…, which changes nothing",
    "exist_ok": _EXISTS,
    "filesystem": "storage_options",
    "fs": "storage_options",
    "if_not_exists": _EXISTS,
    "limit": _LIMIT,
    "merge_schema": 'schema="add"',
    "mergeSchema": 'schema="add"',
    "mode": "upsert, insert, insert_overwrite or insert_overwrite_table",
    "n": _LIMIT,
    "n_rows": _LIMIT,
    "nrows": _LIMIT,
    "overwrite": "insert_overwrite or insert_overwrite_table",
    "retain": 'options={"hoodie.clean.commits.retained": n}',
    "retention_hours": 'options={"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS", "hoodie.clean.hours.retained": n}',
    "save_mode": "upsert, insert, insert_overwrite or insert_overwrite_table",
    "storage": "storage_options",
}
"""Arguments for which there is something else."""
_ADVICE_OF = {
    ("Table", "as_of"): "scan(as_of=…)",
    ("Table", "columns"): "to_arrow(columns=…), or scan(columns)",
    ("Table", "filters"): "to_arrow(filters=…), or scan(filters=…)",
    ("Table", "instant"): "scan(as_of=…)",
    ("Table", "version"): "scan(as_of=…)",
    ("create_table", "mode"): _EXISTS,
    ("create_table", "overwrite"): _EXISTS,
    ("delete", "filters"): "delete_where(filters)",
    ("delete", "predicate"): "delete_where(filters)",
    ("delete", "where"): "delete_where(filters)",
    ("history", "limit"): "history().slice(0, n)",
}
"""The same of one function."""

_CLOSE = 0.75
_SHORTEST_PART = 4

T = TypeVar("T", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


def missing_attribute(owner: str, name: str, others: Mapping[str, str], known: Iterable[str]) -> AttributeError:
    """Returns the error for a name that does not exist, with the name that was probably meant.

    Args:
        owner: Who does not have it.
        name: The name.
        others: What other libraries call so.
        known: The names that exist.
    """
    meant = None if name.startswith("_") else others.get(name) or _nearest(name, known)
    return AttributeError(f"{owner} has no attribute {name!r}{'' if meant is None else f'; use {meant}'}", name=name)


def unknown_argument(function: str, name: str, known: Iterable[str]) -> TypeError:
    """Returns the error for an argument that a function does not have.

    Args:
        function: The name of the function.
        name: The name of the argument.
        known: The arguments that it has.
    """
    names = [one for one in known if one != "self"]
    meant = (
        _ADVICE_OF.get((function, name))
        or next((one for one in ARGUMENTS.get(name, ()) if one in names), None)
        or _nearest(name, names)
        or _ADVICE.get(name)
    )
    hint = f"use {meant}" if meant is not None else f"arguments: {', '.join(names)}" if names else "it takes none"
    return TypeError(f"{function}() has no argument {name!r}; {hint}")


def with_hints(where: T) -> T:
    """Has the methods of a class name the argument that was meant when they get one that they do not have."""
    for name, method in list(vars(where).items()):
        if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(where, name, hinted(method, where.__name__ if name == "__init__" else name))
    return where


def answering(where: T) -> T:
    """Has the objects of a class name the attribute that was meant (`RESULTS`) when they do not have one."""
    fields = getattr(where, "__dataclass_fields__", ())
    article = "an" if where.__name__[0] in "AEIO" else "a"

    def missing(_: Any, name: str) -> Any:
        raise missing_attribute(f"{article} {where.__name__}", name, RESULTS[where.__name__], [*dir(where), *fields])

    # Not in the body of the class, so that type checkers go on to report unknown names.
    setattr(where, "__getattr__", missing)  # noqa: B010
    return where


def hinted(function: F, name: str | None = None) -> F:
    """Has a function name the argument that was meant when it gets one that it does not have.

    Args:
        function: The function.
        name: What errors call it.
    """
    code = cast("FunctionType", function).__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & 0x08:  # it takes any name: inspect.CO_VARKEYWORDS
        return function
    names = frozenset(known)

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        if not names.issuperset(named):
            raise unknown_argument(name or function.__name__, next(one for one in named if one not in names), known)
        return function(*arguments, **named)

    return cast("F", called)


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the public name that is spelt like a name, or has it as a part; None if none is near."""
    public = [one for one in known if not one.startswith("_")]
    small = {one.lower(): one for one in reversed(public)}
    near = difflib.get_close_matches(name.lower(), list(small), n=1, cutoff=_CLOSE)
    if near:
        return small[near[0]]
    parts = [one for one in public if min(len(one), len(name)) >= _SHORTEST_PART and (one in name or name in one)]
    return max(parts, key=lambda one: difflib.SequenceMatcher(None, one, name).ratio(), default=None)
