"""Rows of a write, in the forms that people have them in, as Arrow data."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mortice.errors import InvalidArgumentError
from mortice.values.python_values import are_kept, array_of
from mortice.values.type_names import META_COLUMNS

if TYPE_CHECKING:
    import polars

__all__ = ["arrow_rows", "check_names", "key_rows", "listed_keys"]

SchemaOf = Callable[[], pa.Schema]


def arrow_rows(data: object, schema: SchemaOf) -> Any:
    """Returns rows as Arrow data.

    Args:
        data: Anything with `__arrow_c_stream__` or `__arrow_c_array__`, which is returned as it is unless it is of
            pandas; a list of dicts, a dict of lists; a LazyFrame of polars; a `pyarrow.dataset.Dataset` or `Scanner`;
            record batches or tables, as a list or from a generator.
        schema: Returns the table's columns: values of Python get their types.

    Raises:
        InvalidArgumentError: The data has another form, or a column whose name has a NUL character.
    """
    rows = _as_arrow(data, schema)
    columns = getattr(rows, "schema", None)
    if isinstance(columns, pa.Schema):
        check_names(columns)
    elif isinstance(columns, Mapping):
        for name in columns:
            _check_name(name)
    return rows


def check_names(fields: Iterable[pa.Field]) -> None:
    """Refuses columns whose names have a NUL character, at which the C data interface of Arrow cuts names off.

    Raises:
        InvalidArgumentError: There is one, which is named.
    """
    for field in fields:
        _check_name(field.name)
        if pa.types.is_nested(field.type):
            check_names(field.type.field(at) for at in range(field.type.num_fields))


def _check_name(name: object) -> None:
    if isinstance(name, str) and "\0" in name:
        raise InvalidArgumentError(
            f"the name of the column {name!r} has a NUL character, which Arrow cannot hand over; rename it"
        )


def _as_arrow(data: object, schema: SchemaOf) -> Any:
    if _is_pandas_frame(data):
        try:
            return _of_pandas(data)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(f"the rows cannot be read: {': '.join(map(str, error.args))}") from error
    if _is_relation(data):
        return _with_doubles(data, schema())
    if (frame := _polars_frame(data)) is not None:
        # Early releases of polars 1 have no C stream, and no release a valid one of a column without values.
        is_sound = hasattr(frame, "__arrow_c_stream__") and "Null" not in str(frame.dtypes)
        return frame if is_sound else frame.to_arrow()
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return data
    if isinstance(data, Mapping):
        return _table({_name(name): _values(name, values) for name, values in data.items()}, schema)
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(data, dataset.Dataset):
        return data.scanner().to_reader()
    if dataset is not None and isinstance(data, dataset.Scanner):
        return data.to_reader()
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise _refused(f"got {type(data).__name__}")
    return _of_items(data, schema)


def _of_pandas(frame: Any) -> pa.Table:
    table = pa.Table.from_pandas(frame)
    for at, (name, kind) in enumerate(frame.dtypes.items()):
        if str(kind) == "object" and not are_kept(frame.iloc[:, at], table.column(at)):
            raise ValueError(f"the values of column {name!r} have no type in common")
    return table


def listed_keys(data: object) -> list[object] | None:
    """Returns a list, set, array or series of values, which are keys of a table with one key field, as a list; None for
    anything else.
    """
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return None if pa.types.is_struct(data.type) else data.to_pylist()
    if hasattr(data, "dtype") and hasattr(data, "tolist") and getattr(data, "ndim", 1) == 1:
        return list(data.tolist())
    if hasattr(data, "dtype") and hasattr(data, "to_list"):
        return list(data.to_list())
    if not isinstance(data, (list, tuple, set, frozenset)) or len(data) == 0:
        return None
    if any(isinstance(one, (Mapping, list, tuple)) or hasattr(one, "schema") for one in data):
        return None
    return list(data)


def key_rows(keys: Sequence[object], field: str, schema: pa.Schema) -> pa.Table:
    """Returns rows of keys.

    Args:
        keys: The values of the key field.
        field: The name of the key field.
        schema: The table's columns.
    """
    return _table({field: keys}, lambda: schema)


def _of_items(items: Iterable[object], schema: SchemaOf) -> Any:
    iterator = iter(items)
    first = next(iterator, None)
    if first is None:
        if isinstance(items, Sequence):
            fields = [field for field in schema() if field.name not in META_COLUMNS]
            return pa.schema(fields).empty_table()
        raise _refused("got a generator without record batches, whose columns are not known")
    rest = itertools.chain([first], iterator)
    if isinstance(first, Mapping):
        return _of_dicts(rest, schema)
    if not isinstance(first, (pa.RecordBatch, pa.Table)):
        raise _refused(f"got {type(items).__name__} of {type(first).__name__}")
    return pa.RecordBatchReader.from_batches(first.schema, _batches(rest))


def _batches(items: Iterable[object]) -> Iterator[pa.RecordBatch]:
    for item in items:
        if isinstance(item, pa.Table):
            yield from item.to_batches()
        elif isinstance(item, pa.RecordBatch):
            yield item
        else:
            raise _refused(f"got {type(item).__name__} among record batches")


def _of_dicts(items: Iterable[Any], schema: SchemaOf) -> pa.Table:
    rows = list(items)
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise _refused(f"got {type(row).__name__} as row {number}, among dicts")
        names.update(dict.fromkeys(map(_name, row)))
    return _table({name: [row.get(name) for row in rows] for name in names}, schema)


def _table(columns: Mapping[str, Iterable[object]], schema: SchemaOf) -> pa.Table:
    known = {field.name: field.type for field in schema()}
    arrays = {name: _array(values, known.get(name), name) for name, values in columns.items()}
    try:
        return pa.table(arrays)
    except pa.ArrowException as error:
        raise _refused(str(error)) from error


def _array(values: Iterable[object], kind: pa.DataType | None, name: str) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        return array_of(values, kind, name)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _refused(str(error)) from error


def _values(name: object, values: object) -> Iterable[object]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise _refused(f"got {values!r} as the column {name!r}, which must be a list")
    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) or hasattr(values, "dtype") else list(values)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise _refused(f"got {name!r} as the name of a column")
    return name


def _is_pandas_frame(data: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _is_relation(data: object) -> bool:
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


def _with_doubles(relation: Any, schema: pa.Schema) -> Any:
    """Returns a relation of DuckDB whose decimals are doubles where the table's are, as in an INSERT of DuckDB.

    Numbers with a point in its SQL are decimals: `select 1.5 as fare`.
    """
    doubles = {field.name for field in schema if pa.types.is_floating(field.type)}
    columns = zip(relation.columns, relation.types, strict=True)
    cast = [name for name, kind in columns if name in doubles and str(kind).startswith("DECIMAL")]
    if not cast:
        return relation
    quoted = ['"' + name.replace('"', '""') + '"' for name in cast]
    return relation.project(f"* replace ({', '.join(f'cast({name} as double) as {name}' for name in quoted)})")


def _polars_frame(data: object) -> polars.DataFrame | None:
    """Returns a DataFrame of polars, a LazyFrame as one; None for anything else."""
    library = sys.modules.get("polars")
    if library is None:
        return None
    if isinstance(data, library.LazyFrame):
        frame: polars.DataFrame = data.collect()
        return frame
    return data if isinstance(data, library.DataFrame) else None


def _refused(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "rows must be Arrow data (pyarrow, polars, pandas, DuckDB), a list of dicts, a dict of lists, a dataset of "
        f"pyarrow, or record batches; {what}"
    )
