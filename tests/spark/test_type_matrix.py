"""Every type on every Spark, through both entry points: types and values equal those that Spark's own reader finds in a
parquet file of the merged rows.

`make test-spark-matrix` runs it on each supported Spark.
"""

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import mortice.spark
from support.cases import canonical
from support.frames import to_arrow
from support.tables import type_table

KEY = "id"
ENTRY_POINTS = ["arrow", pytest.param("source", marks=pytest.mark.spark4)]
COLUMNS = type_table.merged().column_names


def sorted_by_key(frame):
    table = to_arrow(frame)
    return table.take(pc.sort_indices(table[KEY]))


@pytest.fixture(scope="module")
def read_by_spark(spark, tmp_path_factory):
    """Returns the DataFrame, its schema and its rows, read by Spark's own reader."""
    path = tmp_path_factory.mktemp("merged") / "rows.parquet"
    pq.write_table(type_table.merged(), path, version="2.6")
    setting = "spark.sql.parquet.datetimeRebaseModeInRead"
    spark.conf.set(setting, "CORRECTED")
    try:
        frame = spark.read.parquet(str(path))
        return frame.schema, sorted_by_key(frame)
    finally:
        spark.conf.unset(setting)


@pytest.fixture(
    scope="module", params=[(6, "avro"), (9, "avro"), (9, "parquet")], ids=lambda one: f"v{one[0]}-{one[1]}"
)
def table(request, tmp_path_factory):
    return type_table.write(tmp_path_factory.mktemp("types"), *request.param)


@pytest.fixture(scope="module", params=ENTRY_POINTS)
def read_by_mortice(spark, table, request):
    frame = mortice.spark.read(spark, table) if request.param == "arrow" else spark.read.format("mortice").load(table)
    return frame.schema, sorted_by_key(frame)


def test_rows_and_columns(read_by_mortice, read_by_spark):
    assert read_by_mortice[0].names == read_by_spark[0].names == COLUMNS
    assert read_by_mortice[1][KEY].to_pylist() == read_by_spark[1][KEY].to_pylist()


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column(column, read_by_mortice, read_by_spark):
    (our_schema, ours), (its_schema, its) = read_by_mortice, read_by_spark
    assert our_schema[column].dataType == its_schema[column].dataType
    assert ours.schema.field(column).type == its.schema.field(column).type
    kind = its.schema.field(column).type
    found, expected = ([canonical(kind, cell) for cell in one[column].to_pylist()] for one in (ours, its))
    assert found == expected


@pytest.mark.parametrize("column", ["boolean", "decimal_38_18", "timestamp", "struct_nested", "map_string_array"])
def test_a_column_alone(column, spark, table, read_by_spark):
    """Batches are matched by position: a single column must be the right one."""
    frame = mortice.spark.read(spark, table, columns=[column, KEY])
    assert frame.columns == [column, KEY]
    kind = read_by_spark[1].schema.field(column).type
    found, expected = (
        [canonical(kind, cell) for cell in one[column].to_pylist()] for one in (sorted_by_key(frame), read_by_spark[1])
    )
    assert found == expected


def test_spark_computes_with_the_values(spark, table):
    """Filters, sorts and casts in the JVM see the same values."""
    frame = mortice.spark.read(spark, table)
    expected = type_table.merged()
    for column, text in (("date", "1582-10-04"), ("timestamp_ntz", "0001-01-01 00:00:00"), ("string", "𝄞 \U0010ffff")):
        rows = sum(str(cell) == text for cell in expected[column].to_pylist())
        assert frame.filter(frame[column].cast("string") == text).count() == rows > 0
    nan = sum(cell is not None and cell != cell for cell in expected["double"].to_pylist())  # noqa: PLR0124
    assert frame.selectExpr("count_if(isnan(double))").first()[0] == nan > 0
    most = frame.selectExpr("max(decimal_38_0)", "min(bigint)", "max(octet_length(binary))").first()
    assert [str(one) for one in most] == ["9" * 38, str(-(2**63)), str(256 * 300)]
