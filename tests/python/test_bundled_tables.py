"""Queries of the bundled tables return Hudi's results through every API."""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from support.cases import IMAGES, assert_same_result, queries

QUERIES = queries()
EVERY = 4
"""Of its columns, a query filters on one in so many."""
each_query = pytest.mark.parametrize("query", QUERIES, ids=str)


@each_query
def test_rows_equal_hudis_result(query, table_of):
    scan = query.scan(mortice.Table(query.table(table_of)))
    actual = scan.to_arrow()
    assert_same_result(query.expected, actual, ordered=query.ordered)
    assert actual.schema.equals(scan.schema)
    assert scan.count() == query.expected.num_rows


@each_query
def test_pickled_splits_together_return_all_rows(query, table_of):
    scan = query.scan(mortice.Table(query.table(table_of)))
    splits = [pickle.loads(pickle.dumps(split)) for split in scan.splits()]
    parts = [split.to_reader().read_all() for split in splits]
    assert_same_result(query.expected, pa.concat_tables([scan.schema.empty_table(), *parts]), ordered=False)
    assert all(split.size > 0 and split.file_id for split in splits)


@each_query
def test_projected_columns_keep_the_requested_order(query, table_of):
    names = query.expected.column_names[:4:-2]
    actual = query.scan(mortice.Table(query.table(table_of)), columns=names).to_arrow()
    assert_same_result(query.expected.select(names), actual)


@each_query
def test_filters_return_exactly_the_matching_rows(query, table_of):
    # Queries of one table begin with another column each, so that all of them are filtered on.
    first = QUERIES.index(query) % EVERY
    assert_filters_select(query, table_of, list(filterable(query.expected))[first::EVERY])


@pytest.mark.slow
@each_query
def test_filters_on_every_column_return_exactly_the_matching_rows(query, table_of):
    assert_filters_select(query, table_of, filterable(query.expected))


def assert_filters_select(query, table_of, filters):
    """Asserts that equality with each value selects the rows that have it, with all columns and with one."""
    table = mortice.Table(query.table(table_of))
    for name, keep in filters:
        expected = query.expected.filter(pc.equal(query.expected[name], keep))
        assert_same_result(expected, query.scan(table, filters=[(name, "=", keep.as_py())]).to_arrow(), ordered=False)
        one = [other for other in query.expected.column_names if other != name][-1]
        only = query.scan(table, columns=[one], filters=[(name, "=", keep.as_py())]).to_arrow()
        assert_same_result(expected.select([one]), only)


def filterable(table):
    """Returns columns of simple types with a value of some row each. JSON images are left out: their text is not
    unique."""
    simple = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean)
    for field in table.schema:
        column = table[field.name].drop_null()
        if field.name not in IMAGES and any(is_simple(field.type) for is_simple in simple) and len(column):
            yield field.name, column[len(column) // 2]
