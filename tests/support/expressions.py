"""SQL's expressions, evaluated over pyarrow's data as `Table.update_where` and `Table.merge` evaluate them."""

import pyarrow as pa

from mortice import _mortice


class Expression:
    """An expression over the columns of some rows.

    Args:
        text: The expression.
        schema: The columns that it can name.
    """

    def __init__(self, text, schema):
        self._native = _mortice.Expression(text, [("row", schema.empty_table())], [])

    def evaluate(self, rows):
        """Returns the value for each row of a batch."""
        names = self._native.names("row")
        # A batch without columns has no rows.
        kept = [name for name in rows.schema.names if name in names] or rows.schema.names[:1]
        return _values(self._native.evaluate([("row", rows.select(kept))]))

    def pushed_terms(self):
        """Returns filters that all rows satisfy for which the condition is true."""
        pushed = self._native.pushed_filter("row")
        return [] if pushed is None else pushed.terms[0]


def _values(batch):
    return pa.record_batch(batch).column(0)
