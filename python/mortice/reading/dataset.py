"""A table as a `pyarrow.dataset.Dataset`, so that other engines read only the columns and rows that they need.

DuckDB, polars (`scan_pyarrow_dataset`), DataFusion and others ask a dataset for columns and for rows that satisfy an
expression. What of the expression the native module can evaluate prunes files and rows there; the whole expression is
then evaluated by pyarrow on the rows that are left, so that the rows are those that pyarrow selects.
"""

# ruff: noqa: A002 (arguments have the names that pyarrow gives them)

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from mortice.errors import InvalidArgumentError
from mortice.expressions import Filters, referenced_columns, superset
from mortice.reading.scan import Scan
from mortice.reading.split import Split
from mortice.values.visible_text import visible_text

__all__ = ["TableDataset", "TableFragment"]

Columns = Sequence[str] | Mapping[str, pc.Expression] | None
Plan = Callable[[list[str], Filters], Scan]
"""Returns the scan of columns and filters."""

_NOT_A_FILE = "mortice reads this table only through the methods of the dataset, such as scanner() and to_table()"
_MOST_PLANS = 16


class TableDataset(ds.UnionDataset):  # type: ignore[misc]
    """The rows of a table in the state that it has when the dataset is created. Created by `Table.dataset`.

        rides = table.dataset()
        duckdb.sql("select city, avg(fare) from rides where fare > 80 group by city")
        polars.scan_pyarrow_dataset(rides).filter(polars.col("fare") > 80).collect()

    All methods of `pyarrow.dataset.Dataset` that read rows are those of pyarrow, on the rows of the table. Code of
    Arrow that reads a dataset without its methods (`Scanner.from_dataset`, Acero) raises `FileNotFoundError`.

    Args:
        plan: Returns the scan of columns and filters.
        schema: The columns.
        restore: Returns the dataset in another process.
    """

    def __init__(self, plan: Plan, schema: pa.Schema, restore: Callable[[], TableDataset]) -> None:
        # A dataset of Arrow that cannot be read: what bypasses these methods must not see an empty table.
        files = fs.LocalFileSystem()
        form = ds.ParquetFileFormat()
        child = ds.FileSystemDataset([form.make_fragment(_NOT_A_FILE, filesystem=files)], schema, form, files)
        super().__init__(schema, [child])
        self._plan = plan
        self._restore = restore
        self._plans: dict[str, Scan] = {}

    def scanner(self, columns: Columns = None, filter: pc.Expression | None = None, **options: object) -> ds.Scanner:
        """Returns a scanner, which reads the rows once.

        Args:
            columns: The columns to return, or expressions by name. Default: all.
            filter: An expression of pyarrow that selects rows.
            options: Options of `pyarrow.dataset.Scanner.from_batches`.
        """
        names = self._needed(columns, filter)
        scan = self._scan(names, filter)
        return scanner_of(scan.schema, scan.to_reader, columns, filter, options)

    def to_table(self, columns: Columns = None, filter: pc.Expression | None = None, **options: object) -> pa.Table:
        """Returns the rows as a table; arguments as for `scanner`."""
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(
        self,
        columns: Columns = None,
        filter: pc.Expression | None = None,
        **options: object,
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows in record batches; arguments as for `scanner`."""
        return iter(self.scanner(columns, filter, **options).to_reader())

    def head(
        self, num_rows: int, columns: Columns = None, filter: pc.Expression | None = None, **options: object
    ) -> pa.Table:
        """Returns the first rows; arguments as for `scanner`."""
        return self.scanner(columns, filter, **options).head(num_rows)

    def count_rows(self, filter: pc.Expression | None = None, **options: object) -> int:
        """Returns the number of rows; without a filter no column is decoded."""
        if filter is None:
            return self._scan([], None).count()
        return int(self.scanner([], filter, **options).count_rows())

    def take(
        self,
        indices: Sequence[int] | pa.Array,
        columns: Columns = None,
        filter: pc.Expression | None = None,
        **options: object,
    ) -> pa.Table:
        """Returns the rows with these numbers; arguments as for `scanner`."""
        return self.scanner(columns, filter, **options).take(pa.array(indices))

    def filter(self, expression: pc.Expression) -> FilteredDataset:
        """Returns the rows that an expression selects, as a dataset."""
        return FilteredDataset(self._plan, self.schema, self._restore, expression)

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[TableFragment]:
        """Yields the file slices of the table, those that can have rows which a filter selects."""
        for split in self._scan([], filter).splits():
            yield TableFragment(self, filter, split)

    def join(self, *arguments: object, **options: object) -> pa.Table:
        """Joins the rows with a table; arguments as for `pyarrow.Table.join`."""
        return self.to_table().join(*arguments, **options)

    def join_asof(self, *arguments: object, **options: object) -> pa.Table:
        """Joins the rows with a table; arguments as for `pyarrow.Table.join_asof`."""
        return self.to_table().join_asof(*arguments, **options)

    def sort_by(self, sorting: str | Sequence[tuple[str, str]], **options: Any) -> ds.InMemoryDataset:
        """Returns the rows in an order, as a dataset in memory."""
        return ds.InMemoryDataset(self.to_table(**options).sort_by(sorting))

    def replace_schema(self, schema: pa.Schema) -> NoReturn:  # noqa: ARG002
        """Raises `InvalidArgumentError`: the columns are those of the table."""
        raise InvalidArgumentError(
            "a table's dataset has the columns of the table; cast the rows of to_table() instead"
        )

    def explain(self, columns: Columns = None, filter: pc.Expression | None = None) -> str:
        """Returns how these columns and rows would be read, as `Scan.explain` does."""
        return self._scan(self._needed(columns, filter), filter).explain()

    def __repr__(self) -> str:
        return visible_text(f"TableDataset({', '.join(self.schema.names)})")

    def __reduce__(self) -> tuple[Callable[[], TableDataset], tuple[()]]:
        return self._restore, ()

    def _needed(self, columns: Columns, expression: pc.Expression | None) -> list[str]:
        """Returns the columns of the table that are read for columns and an expression."""
        if columns is None:
            return list(self.schema.names)
        parts = columns.values() if isinstance(columns, Mapping) else [pc.field(name) for name in columns]
        used: set[str] = set()
        for part in [*parts, *([] if expression is None else [expression])]:
            found = referenced_columns(part)
            if found is None:
                return list(self.schema.names)
            used |= found
        unknown = used - set(self.schema.names)
        if unknown:
            # Raises the error of an unknown column.
            self._plan([min(unknown)], None)
        return [name for name in self.schema.names if name in used]

    def _scan(self, names: list[str], expression: pc.Expression | None) -> Scan:
        """Returns the scan of columns, of at least the rows that an expression selects. Plans are kept."""
        terms = None if expression is None else superset(expression, self.schema)
        key = repr((names, terms))
        scan = self._plans.get(key)
        if scan is None:
            try:
                scan = self._plan(names, terms)
            except InvalidArgumentError:
                if terms is None:
                    raise
                # The whole expression is evaluated on the rows.
                scan = self._plan(names, None)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = scan
        return scan

    def split_of(self, names: list[str], expression: pc.Expression | None, whole: Split) -> Split | None:
        """Returns the split of a file slice with some columns; None if the expression selects no row of it."""
        splits = self._scan(names, expression).splits()
        same = (one for one in splits if (one.partition, one.file_id) == (whole.partition, whole.file_id))
        return next(same, None)


class FilteredDataset(TableDataset):
    """The rows of a table that an expression selects.

    Args:
        plan: As for `TableDataset`.
        schema: As for `TableDataset`.
        restore: Returns the dataset of all rows in another process.
        expression: The expression.
    """

    def __init__(
        self, plan: Plan, schema: pa.Schema, restore: Callable[[], TableDataset], expression: pc.Expression
    ) -> None:
        super().__init__(plan, schema, partial(_filtered, restore, expression))
        self._expression = expression

    def scanner(self, columns: Columns = None, filter: pc.Expression | None = None, **options: object) -> ds.Scanner:
        """As `TableDataset.scanner`, of the selected rows."""
        return super().scanner(columns, self._both(filter), **options)

    def count_rows(self, filter: pc.Expression | None = None, **options: object) -> int:
        """Returns the number of the selected rows."""
        return int(self.scanner([], filter, **options).count_rows())

    def filter(self, expression: pc.Expression) -> FilteredDataset:
        """Returns the rows that both expressions select."""
        return FilteredDataset(self._plan, self.schema, self._restore.args[0], self._both(expression))  # type: ignore[attr-defined]

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[TableFragment]:
        """Yields the file slices that can have selected rows."""
        return super().get_fragments(self._both(filter))

    def _both(self, expression: pc.Expression | None) -> pc.Expression:
        return self._expression if expression is None else self._expression & expression


def _filtered(restore: Callable[[], TableDataset], expression: pc.Expression) -> FilteredDataset:
    return restore().filter(expression)


class TableFragment:
    """The rows of one file slice, which engines read in parallel. It has the methods of `pyarrow.dataset.Fragment`."""

    partition_expression = pc.scalar(True)

    def __init__(self, dataset: TableDataset, selected: pc.Expression | None, split: Split) -> None:
        self._dataset = dataset
        self._selected = selected
        self._split = split

    @property
    def physical_schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self._dataset.schema

    def scanner(
        self,
        schema: pa.Schema | None = None,  # noqa: ARG002 (that of the dataset)
        columns: Columns = None,
        filter: pc.Expression | None = None,
        **options: object,
    ) -> ds.Scanner:
        """Returns a scanner of the slice; arguments as for `TableDataset.scanner`."""
        selected = self._selected if filter is None else filter if self._selected is None else self._selected & filter
        names = self._dataset._needed(columns, selected)  # noqa: SLF001
        split = self._dataset.split_of(names, selected, self._split)
        fields = pa.schema([self._dataset.schema.field(name) for name in names])
        rows = fields.empty_table().to_reader if split is None else split.to_reader
        return scanner_of(fields, rows, columns, selected, options)

    def to_table(self, schema: pa.Schema | None = None, columns: Columns = None, **options: object) -> pa.Table:
        """Returns the rows as a table."""
        return self.scanner(schema, columns, **options).to_table()

    def to_batches(
        self, schema: pa.Schema | None = None, columns: Columns = None, **options: object
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows in record batches."""
        return iter(self.scanner(schema, columns, **options).to_reader())

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """Returns the first rows."""
        return self.scanner(**options).head(num_rows)

    def count_rows(self, filter: pc.Expression | None = None, **options: object) -> int:
        """Returns the number of rows."""
        return int(self.scanner(columns=[], filter=filter, **options).count_rows())

    def __repr__(self) -> str:
        return f"TableFragment({self._split!r})"


def scanner_of(
    schema: pa.Schema,
    rows: Callable[[], pa.RecordBatchReader],
    columns: Columns,
    expression: pc.Expression | None,
    options: Mapping[str, object],
) -> ds.Scanner:
    """Returns a scanner of pyarrow, which evaluates expressions on rows.

    Args:
        schema: The columns of the rows.
        rows: Returns the rows. Called when the first of them is asked for.
        columns: The columns to return, or expressions by name; None for all.
        expression: An expression that selects rows.
        options: Options of the scanner.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows()

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    wanted = columns if columns is None or isinstance(columns, Mapping) else list(columns)
    return ds.Scanner.from_batches(reader, columns=wanted, filter=expression, **options)
