"""Arrow and Spark schemas correspond exactly."""

import inspect

import pyarrow as pa
import pytest
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from mortice import InvalidArgumentError, UnsupportedError
from mortice.spark.execution.arrow_udf import conformed
from mortice.spark.schema import checked_projection, spark_arrow_schema, spark_schema
from support.cases import queries

EVERY_TYPE = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,0)": pa.decimal128(38, 0),
    "array<int>": pa.list_(pa.int32()),
    "array<array<string>>": pa.list_(pa.list_(pa.field("array", pa.string(), nullable=False))),
    "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
    "struct<a:int,b:struct<c:timestamp>>": pa.struct(
        [("a", pa.int32()), pa.field("b", pa.struct([("c", pa.timestamp("us", "UTC"))]), nullable=False)]
    ),
    "map<string,array<struct<x:decimal(5,2)>>>": pa.map_(
        pa.string(), pa.list_(pa.struct([("x", pa.decimal128(5, 2))]))
    ),
}


def arrow_by_spark(schema):
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_type(name):
    schema = pa.schema([pa.field("c", EVERY_TYPE[name])])
    assert spark_schema(schema).fields[0].dataType.simpleString() == name
    assert spark_arrow_schema(schema).equals(arrow_by_spark(spark_schema(schema)))


@pytest.mark.parametrize("query", queries(), ids=str)
def test_every_bundled_result(query):
    schema = query.expected.schema
    assert spark_arrow_schema(schema).equals(arrow_by_spark(spark_schema(schema)))


def hudi_field(name, kind, hudi_type):
    return pa.field(name, kind, metadata={"hudi_type": hudi_type})


def test_types_of_hudi_have_metadata():
    blob = hudi_field("b", pa.struct([("type", pa.string()), ("data", pa.binary())]), "BLOB")
    vector = hudi_field("v", pa.list_(pa.float32()), "VECTOR(4)")
    schema = pa.schema([vector, pa.field("s", pa.struct([blob])), pa.field("n", pa.int32())])
    spark = spark_schema(schema)
    assert [field.dataType.simpleString() for field in spark] == [
        "array<float>",
        "struct<b:struct<type:string,data:binary>>",
        "int",
    ]
    assert [field.metadata for field in spark] == [{"hudi_type": "VECTOR(4)"}, {}, {}]
    assert spark["s"].dataType["b"].metadata == {"hudi_type": "BLOB"}
    assert spark_arrow_schema(schema).equals(arrow_by_spark(spark))


def test_variants_have_sparks_type_if_it_exists():
    variant = hudi_field("v", pa.struct([("value", pa.binary()), ("metadata", pa.binary())]), "VARIANT")
    schema = pa.schema([variant, pa.field("l", pa.list_(variant.with_name("element")))])
    spark = spark_schema(schema)
    if hasattr(st, "VariantType"):
        assert [field.dataType.simpleString() for field in spark] == ["variant", "array<variant>"]
        assert spark["v"].metadata == {}
        assert spark_arrow_schema(schema).equals(arrow_by_spark(spark))
        assert spark_arrow_schema(schema).field("v").type.field("metadata").metadata == {b"variant": b"true"}
        batch = pa.RecordBatch.from_pylist(
            [{"v": {"value": b"1", "metadata": b"2"}}, {"v": None}], pa.schema([variant])
        )
        assert conformed(batch, spark_arrow_schema(batch.schema)).to_pylist() == batch.to_pylist()
    else:
        assert spark["v"].dataType.simpleString() == "struct<value:binary,metadata:binary>"
        assert spark["v"].metadata == {"hudi_type": "VARIANT"}


@pytest.mark.parametrize(
    "kind", [pa.uint8(), pa.large_string(), pa.timestamp("ns"), pa.time64("us"), pa.decimal256(50, 2)], ids=str
)
def test_types_that_spark_lacks_are_refused_by_name(kind):
    with pytest.raises(UnsupportedError, match="'c'"):
        spark_schema(pa.schema([pa.field("c", kind)]))


def test_batches_use_sparks_names_of_children():
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    schema = pa.schema(
        [pa.field("c", pa.list_(pa.field("item", inner))), pa.field("m", pa.map_(pa.string(), inner), nullable=False)]
    )
    batch = pa.RecordBatch.from_pylist([{"c": [{"x": 1}, None], "m": [("k", {"x": 2})]}, {"c": None, "m": []}], schema)
    target = spark_arrow_schema(schema)
    assert conformed(batch, target).schema.equals(target)
    assert str(conformed(batch, target).schema) == str(target)
    assert conformed(batch, target).to_pylist() == batch.to_pylist()


def test_a_user_defined_schema_is_a_projection_by_name_and_type():
    table = pa.schema([("a", pa.int32()), ("b", pa.string()), ("l", pa.list_(pa.int32()))])
    requested = st.StructType().add("l", st.ArrayType(st.IntegerType())).add("a", st.IntegerType(), nullable=False)
    assert checked_projection(requested, table) == ["l", "a"]
    with pytest.raises(InvalidArgumentError, match="no column 'A'"):
        checked_projection(st.StructType().add("A", st.IntegerType()), table)
    with pytest.raises(InvalidArgumentError, match="bigint"):
        checked_projection(st.StructType().add("a", st.LongType()), table)
    with pytest.raises(InvalidArgumentError, match="array"):
        checked_projection(st.StructType().add("l", st.ArrayType(st.IntegerType(), containsNull=False)), table)


@pytest.mark.parametrize("large", [False, True])
def test_rows_with_timestamps_have_an_arrow_schema_on_every_release(large):
    from pyspark.sql.types import StringType, StructField, StructType, TimestampNTZType, TimestampType

    from mortice.spark.schema import arrow_schema

    fields = [StructField("t", TimestampType()), StructField("n", TimestampNTZType()), StructField("s", StringType())]
    found = arrow_schema(StructType(fields), large)
    assert [found.field("t").type, found.field("n").type] == [pa.timestamp("us", "UTC"), pa.timestamp("us")]
