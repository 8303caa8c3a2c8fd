"""Expressions of pyarrow and polars in the forms in which these serialise them. The native module parses them."""

from __future__ import annotations

import io
import sys
import warnings
from typing import TYPE_CHECKING, TypeAlias

from mortice import _mortice

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    import pyarrow.compute as pc

__all__ = ["referenced_columns", "serialised"]

Serialised: TypeAlias = "bytes | tuple[str, Callable[[str], pa.Table]]"
"""An Arrow file, of pyarrow; or JSON, of polars, with a function that evaluates expressions without columns."""


def serialised(value: object) -> Serialised | None:
    """Returns an expression of pyarrow or polars, serialised; None for another value. Neither library is imported."""
    if type(value).__name__ == "Expression" and type(value).__module__.startswith("pyarrow."):
        return _of_pyarrow(value)
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(value, polars.Expr):
        return None
    with warnings.catch_warnings():
        # The form may change between releases of polars.
        warnings.simplefilter("ignore")
        try:
            return value.meta.serialize(format="json"), _evaluated
        except (AttributeError, ValueError, polars.exceptions.PolarsError):
            # With a function of Python in it. Not recognised, as other JSON that is no expression.
            return "", _evaluated


def referenced_columns(expression: pc.Expression) -> set[str] | None:
    """Returns the columns that an expression of pyarrow refers to; None if its structure is not recognised."""
    names = _mortice.referenced_columns(_of_pyarrow(expression))
    return None if names is None else set(names)


def _of_pyarrow(expression: pc.Expression) -> bytes:
    _, (data,) = expression.__reduce__()
    return bytes(data)


def _evaluated(part: str) -> pa.Table:
    """Returns the value of an expression of polars, as JSON, that has no columns."""
    import polars

    return polars.select(polars.Expr.deserialize(io.StringIO(part), format="json")).to_arrow()
