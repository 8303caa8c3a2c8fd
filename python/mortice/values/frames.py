"""Arrow tables as data frames of other libraries."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from mortice.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas
    import polars
    from pandas.api.extensions import ExtensionDtype

__all__ = ["DtypeBackend", "pandas_frame", "polars_frame", "polars_library"]

DtypeBackend = Literal["numpy_nullable", "pyarrow"]


def pandas_frame(rows: pa.Table, dtype_backend: DtypeBackend | None = None) -> pandas.DataFrame:
    """Returns rows as a pandas DataFrame.

    Args:
        rows: The rows.
        dtype_backend: `"numpy_nullable"` or `"pyarrow"`: types that have null, as in `pandas.read_parquet`. Default:
            the types of numpy, which make floats of integers with null.

    Raises:
        ImportError: pandas is not installed.
        InvalidArgumentError: The backend is another one.
    """
    if dtype_backend not in (None, "numpy_nullable", "pyarrow"):
        raise InvalidArgumentError(f"dtype_backend must be 'numpy_nullable' or 'pyarrow', got {dtype_backend!r}")
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install 'mortice[pandas]'") from error
    if dtype_backend is None:
        return rows.to_pandas()
    if dtype_backend == "pyarrow":
        return rows.to_pandas(types_mapper=pandas.ArrowDtype)
    nullable: dict[pa.DataType, ExtensionDtype] = {
        pa.bool_(): pandas.BooleanDtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.float32(): pandas.Float32Dtype(),
        pa.float64(): pandas.Float64Dtype(),
        pa.string(): pandas.StringDtype(),
    }
    return rows.to_pandas(types_mapper=nullable.get)


def polars_frame(rows: pa.Table) -> polars.DataFrame:
    """Returns rows as a polars DataFrame. Raises `ImportError` if polars is not installed."""
    frame: polars.DataFrame = polars_library("to_polars()").DataFrame(rows)
    return frame


def polars_library(what: str) -> ModuleType:
    """Returns the module polars. Raises `ImportError`, with the remedy, if it is not installed.

    Args:
        what: What needs it.
    """
    try:
        import polars
    except ImportError as error:
        raise ImportError(f"{what} needs polars: pip install 'mortice[polars]'") from error
    return polars
