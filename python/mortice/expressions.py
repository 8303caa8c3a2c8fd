"""Filters of all forms as the native module has them.

A filter is any of these, in every query, write, command and option:

- text as in SQL's WHERE: `"fare > 80 and city in ('oslo', 'lima') or rider.name like 'a%'"`;
- an expression of `pyarrow.compute` or of polars;
- a term `(column, operator, literal)`, or a list of terms, strings and expressions, all of which must hold;
- a list of lists of terms, any of which must hold, as in pyarrow.

Operators of terms: `= == != <> < <= > >=`, `in` and `not in` (with a list), `like` and `not like` (with a pattern), `is
null` and `is not null` (no literal). A field of a struct is `struct.field`. A null value satisfies only `is null`.
Literals are plain Python values, or scalars of numpy, pandas and pyarrow. They are cast exactly to the column's type,
or an error is raised; in a comparison of order, a number may be between the values of the type.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Filter

if TYPE_CHECKING:
    import polars
    import pyarrow.compute as pc

__all__ = ["Filter", "Filters", "SchemaOf", "conjunction", "normal_form", "referenced_columns", "superset"]

Filters: TypeAlias = "str | Sequence[object] | pc.Expression | polars.Expr | Filter | None"
"""Text, a term, an expression, a list of them, or a list of lists of terms; None for no filter."""
SchemaOf = Callable[[], pa.Schema]
"""Returns the columns that a filter is about. Called only if the form of the filter needs them."""


def normal_form(filters: Filters, schema: SchemaOf | None = None) -> Filter | None:
    """Returns filters as alternatives of conjunctions; None if they select all rows.

    Args:
        filters: The filters.
        schema: Returns the columns that they are about.

    Raises:
        InvalidArgumentError: The filters are malformed, too complex, or have a part that queries cannot evaluate.

    >>> normal_form([("day", "==", "2024-01-01"), ("fare", ">", 3)])
    [[('day', '=', '2024-01-01'), ('fare', '>', 3)]]
    >>> normal_form([[["fare", "in", (1, 2)]], [["rider", "IS NULL"]]])
    [[('fare', 'in', [1, 2])], [('rider', 'is null', None)]]
    >>> normal_form("fare > 3 and not (city = 'oslo' or city is null)")
    [[('fare', '>', 3), ('city', '!=', 'oslo'), ('city', 'is not null', None)]]
    """
    return None if filters is None else Filter.parse(filters, schema, _serialised)


def conjunction(one: Filters, other: Filters, schema: SchemaOf) -> Filter | None:
    """Returns filters that select the rows which both filters select. Raises as `normal_form`."""
    first, second = normal_form(one, schema), normal_form(other, schema)
    return first.both(second) if first and second else first or second


def superset(expression: pc.Expression | polars.Expr, schema: pa.Schema) -> Filter | None:
    """Returns filters that the native module can evaluate, and that select all rows which an expression selects and
    perhaps others; None if there are none. Nothing of an expression is refused.

    Args:
        expression: The expression.
        schema: The columns that it is about.
    """
    return Filter.superset(expression, schema, _serialised)


Serialised: TypeAlias = "bytes | tuple[str, Callable[[str], pa.Table]]"
"""An Arrow file, of pyarrow; or JSON, of polars, with a function that evaluates expressions without columns."""


def _serialised(value: object) -> Serialised | None:
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
