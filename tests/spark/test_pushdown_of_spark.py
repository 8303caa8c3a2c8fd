"""Why `format("mortice")` has no `pushFilters`: Spark's results for a source that has it.

Spark stores the plan of a query with pushed-down filters on the DataFrame of the source, and uses it for other queries
over that DataFrame. The tests assert the correct rows, and are expected to fail. When one passes, Spark has fixed it,
and filters can be pushed down from that release on.
"""

import pytest

pyspark = pytest.importorskip("pyspark")
VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
if VERSION < (4, 1):
    pytest.skip("Spark pushes filters down to Python sources from 4.1 on", allow_module_level=True)

from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition  # noqa: E402

ROWS = [("a", 1), ("b", 2), ("c", 3)]
REASON = "Spark uses a plan with pushed-down filters for other queries over the same DataFrame"

pytestmark = pytest.mark.spark4


def source():
    """Returns a class that is pickled by value: executors cannot import what the tests define."""
    rows = ROWS

    class Reader(DataSourceReader):
        def __init__(self):
            self.only = None

        def pushFilters(self, filters):  # noqa: N802
            (self.only,) = (one.value for one in filters if isinstance(one, EqualTo))
            return [one for one in filters if not isinstance(one, EqualTo)]

        def partitions(self):
            return [InputPartition(self.only)]

        def read(self, partition):
            return (row for row in rows if partition.value in {None, row[0]})

    class Source(DataSource):
        @classmethod
        def name(cls):
            return "letters_of_test"

        def schema(self):
            return "k string, v int"

        def reader(self, schema):
            return Reader()

    return Source


@pytest.fixture
def load(spark):
    spark.dataSource.register(source())
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield lambda: spark.read.format("letters_of_test").load()
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def test_one_query_over_one_dataframe_is_correct(load):
    assert rows(load().filter("k = 'a'")) == ROWS[:1]
    assert rows(load()) == ROWS


@pytest.mark.xfail(reason=REASON, raises=AssertionError, strict=True)
def test_a_later_query_without_the_filter(load):
    frame = load()
    assert rows(frame.filter("k = 'a'")) == ROWS[:1]
    assert rows(frame) == ROWS


@pytest.mark.xfail(reason=REASON, raises=AssertionError, strict=True)
def test_two_filters_in_one_query(load):
    frame = load()
    assert rows(frame.filter("k = 'a'").union(frame.filter("k = 'b'"))) == ROWS[:2]


@pytest.mark.xfail(reason=REASON, raises=AssertionError, strict=True)
def test_a_view_in_sql(load, spark):
    load().createOrReplaceTempView("letters_of_test")
    found = spark.sql("select a.v, b.v from letters_of_test a join letters_of_test b on b.k = 'c' where a.k = 'a'")
    assert rows(found) == [(1, 3)]
