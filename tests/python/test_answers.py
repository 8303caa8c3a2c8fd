"""Every query of the bundled tables gives what Hudi gives, however it is asked."""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from support.cases import IMAGES, assert_same_answer, queries

each_query = pytest.mark.parametrize("query", queries(), ids=str)


@each_query
def test_the_rows_are_hudis(query, table_of):
    scan = query.scan(mortice.Table(query.table(table_of)))
    actual = scan.to_arrow()
    assert_same_answer(query.expected, actual, ordered=query.ordered)
    assert actual.schema.equals(scan.schema)
    assert scan.count() == query.expected.num_rows


@each_query
def test_splits_pickle_and_add_up_to_the_rows(query, table_of):
    scan = query.scan(mortice.Table(query.table(table_of)))
    splits = [pickle.loads(pickle.dumps(split)) for split in scan.splits()]
    parts = [split.to_reader().read_all() for split in splits]
    assert_same_answer(query.expected, pa.concat_tables([scan.schema.empty_table(), *parts]), ordered=False)
    assert all(split.size > 0 and split.file_id for split in splits)


@each_query
def test_columns_come_in_the_order_asked_for(query, table_of):
    names = query.expected.column_names[:4:-2]
    actual = query.scan(mortice.Table(query.table(table_of)), columns=names).to_arrow()
    assert_same_answer(query.expected.select(names), actual)


@each_query
def test_a_filter_keeps_exactly_the_rows_that_match(query, table_of):
    table = mortice.Table(query.table(table_of))
    for name, keep in filterable(query.expected):
        expected = query.expected.filter(pc.equal(query.expected[name], keep))
        assert_same_answer(expected, query.scan(table, filters=[(name, "=", keep.as_py())]).to_arrow(), ordered=False)
        one = [other for other in query.expected.column_names if other != name][-1]
        only = query.scan(table, columns=[one], filters=[(name, "=", keep.as_py())]).to_arrow()
        assert_same_answer(expected.select([one]), only)


def filterable(table):
    """Columns of simple types, each with a value that some row has; not images, whose text has no one form."""
    simple = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean)
    for field in table.schema:
        column = table[field.name].drop_null()
        if field.name not in IMAGES and any(is_simple(field.type) for is_simple in simple) and len(column):
            yield field.name, column[len(column) // 2]
