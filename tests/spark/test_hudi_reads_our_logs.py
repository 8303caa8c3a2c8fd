"""Hudi's Java reader reads our log files: every block, header, record and delete equals what was written.

`make hudi-jar` downloads the jar; pyspark 3.5 provides Java and Hudi's dependencies.
"""

import datetime
import decimal
import json
import pathlib

import pyarrow as pa
import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi's reader is run with the jars of pyspark 3.5", allow_module_level=True)

import mortice  # noqa: E402
from support.hudi import fetch_hudi  # noqa: E402

if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

from support.hudi.hudi_reader import HudiReader  # noqa: E402

INSTANT = "20240101000000000"
ROWS = 4


@pytest.fixture(scope="module")
def hudi():
    reader = HudiReader(fetch_hudi.jar())
    yield reader
    reader.close()


@pytest.fixture
def writer(tmp_path):
    def new(**arguments):
        return mortice.LogWriter(tmp_path, "f-0", INSTANT, **arguments)

    return new


def logical(kind, logical_type, **more):
    return {"type": kind, "logicalType": logical_type, **more}


def decimals(*strings, kind):
    return pa.array([decimal.Decimal(text) for text in strings], kind)


def latin(*values):
    """Returns bytes as Avro's `toString` prints them: one character per byte."""
    return [value.decode("latin-1") for value in values]


def signed(*values):
    return [[byte - 256 if byte > 127 else byte for byte in value] for value in values]


def times(*micros, kind):
    return pa.array(micros, pa.int64()).cast(kind)


POINT = {
    "type": "record",
    "name": "point",
    "fields": [
        {"name": "x", "type": "int"},
        {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}]},
    ],
}
POINT_ARROW = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
POINTS = [{"x": 1, "tags": ["a", None]}, {"x": -1, "tags": None}, {"x": 0, "tags": []}]
EXTREME = 10**38 - 1

# The Avro type, the Arrow type, and three values with their form in Java.
TYPES = {
    "boolean": ("boolean", pa.array([True, False, True]), [True, False, True]),
    "int": ("int", pa.array([0, -(2**31), 2**31 - 1], pa.int32()), [0, -(2**31), 2**31 - 1]),
    "int_of_int8": ("int", pa.array([0, -128, 127], pa.int8()), [0, -128, 127]),
    "long": ("long", pa.array([0, -(2**63), 2**63 - 1]), [0, -(2**63), 2**63 - 1]),
    "float": ("float", pa.array([0.5, float("-inf"), 3.4028235e38], pa.float32()), [0.5, "-Infinity", 3.4028235e38]),
    "double": ("double", pa.array([-0.0, float("nan"), 5e-324]), [-0.0, "NaN", 4.9e-324]),
    "string": ("string", pa.array(["", 'häß€🚕\n"', "x" * 10_000]), ["", 'häß€🚕\n"', "x" * 10_000]),
    "large_string": ("string", pa.array(["", "a", "b"], pa.large_string()), ["", "a", "b"]),
    "dictionary": ("string", pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    "bytes": ("bytes", pa.array([b"", b"\x00\xff", b"abc"]), latin(b"", b"\x00\xff", b"abc")),
    "fixed": (
        {"type": "fixed", "name": "two", "size": 2},
        pa.array([b"\x00\xff", b"ab", b"cd"], pa.binary(2)),
        signed(b"\x00\xff", b"ab", b"cd"),
    ),
    "enum": ({"type": "enum", "name": "suit", "symbols": ["A", "B"]}, pa.array(["B", "A", "B"]), ["B", "A", "B"]),
    "uuid": (logical("string", "uuid"), pa.array(["00000000-0000-0000-0000-00000000000" + c for c in "012"]), None),
    "date": (
        logical("int", "date"),
        pa.array([0, -719162, 2932896], pa.int32()).cast(pa.date32()),
        [0, -719162, 2932896],
    ),
    "time_millis": (
        logical("int", "time-millis"),
        times(0, 1, 86_399_999, kind=pa.int32()).cast(pa.time32("ms")),
        [0, 1, 86_399_999],
    ),
    "time_micros": (
        logical("long", "time-micros"),
        times(0, 1, 86_399_999_999, kind=pa.time64("us")),
        [0, 1, 86_399_999_999],
    ),
    "timestamp_millis": (
        logical("long", "timestamp-millis"),
        times(0, -1, 2**40, kind=pa.timestamp("ms", "UTC")),
        [0, -1, 2**40],
    ),
    "timestamp_micros": (
        logical("long", "timestamp-micros"),
        times(0, -1, 2**50, kind=pa.timestamp("us", "UTC")),
        [0, -1, 2**50],
    ),
    "timestamp_of_nanos": (
        logical("long", "timestamp-micros"),
        times(0, -1000, 5000, kind=pa.timestamp("ns", "Asia/Tokyo")),
        [0, -1, 5],
    ),
    "local_timestamp_millis": (
        logical("long", "local-timestamp-millis"),
        times(0, -1, 2**40, kind=pa.timestamp("ms")),
        [0, -1, 2**40],
    ),
    "local_timestamp_micros": (
        logical("long", "local-timestamp-micros"),
        times(0, -1, 2**50, kind=pa.timestamp("us")),
        [0, -1, 2**50],
    ),
    "decimal_bytes": (
        logical("bytes", "decimal", precision=10, scale=2),
        decimals("0.00", "-1.29", "99999999.99", kind=pa.decimal128(10, 2)),
        latin(b"\x00", b"\xff\x7f", b"\x02\x54\x0b\xe3\xff"),
    ),
    "decimal_fixed": (
        logical("fixed", "decimal", name="money", size=5, precision=10, scale=2),
        decimals("0.00", "-1.29", "99999999.99", kind=pa.decimal128(10, 2)),
        signed(bytes(5), b"\xff\xff\xff\xff\x7f", b"\x02\x54\x0b\xe3\xff"),
    ),
    "decimal_widest": (
        logical("fixed", "decimal", name="widest", size=16, precision=38, scale=18),
        pa.array(
            [decimal.Decimal(digits).scaleb(-18, decimal.Context(prec=38)) for digits in (0, EXTREME, -EXTREME)],
            pa.decimal128(38, 18),
        ),
        signed(*(digits.to_bytes(16, "big", signed=True) for digits in (0, EXTREME, -EXTREME))),
    ),
    "record": (POINT, pa.array(POINTS, POINT_ARROW), POINTS),
    "array": ({"type": "array", "items": ["null", "long"]}, pa.array([[1, None], [], [2]]), [[1, None], [], [2]]),
    "array_of_values": ({"type": "array", "items": "long"}, pa.array([[1, 2], [], [3]]), [[1, 2], [], [3]]),
    "array_of_records": (
        {"type": "array", "items": POINT},
        pa.array([POINTS, [], POINTS[:1]], pa.list_(POINT_ARROW)),
        [POINTS, [], POINTS[:1]],
    ),
    "array_of_arrays": (
        {"type": "array", "items": ["null", {"type": "array", "items": "int"}]},
        pa.array([[[1], None, []], [], [[2, 3]]], pa.list_(pa.list_(pa.int32()))),
        [[[1], None, []], [], [[2, 3]]],
    ),
    "map": (
        {"type": "map", "values": ["null", "double"]},
        pa.array([[("a", 1.5), ("ü", None)], [], [("b", 0.0)]], pa.map_(pa.string(), pa.float64())),
        [{"a": 1.5, "ü": None}, {}, {"b": 0.0}],
    ),
    "map_of_records": (
        {"type": "map", "values": POINT},
        pa.array([[("a", POINTS[0])], [], [("b", POINTS[1])]], pa.map_(pa.string(), POINT_ARROW)),
        [{"a": POINTS[0]}, {}, {"b": POINTS[1]}],
    ),
}


def renamed(ty, names):
    """Returns the type with unique names: Avro permits one definition of a name."""
    if isinstance(ty, list):
        return [renamed(one, names) for one in ty]
    if not isinstance(ty, dict):
        return ty
    ty = {key: renamed(value, names) if key in ("type", "items", "values") else value for key, value in ty.items()}
    if "name" in ty:
        ty["name"] = f"{ty['name']}_{next(names)}"
    if "fields" in ty:
        ty["fields"] = [{**field, "type": renamed(field["type"], names)} for field in ty["fields"]]
    return ty


def columns(kinds):
    """Returns a schema, the Arrow table, and the values in Java: each type three times, null first, null last, and
    required."""
    names = iter(range(10_000))
    fields, arrays, java_values = [], {}, []
    for kind in kinds:
        ty, values, raw = TYPES[kind]
        raw = values.to_pylist() if raw is None else raw
        with_null = pa.chunked_array([values, pa.nulls(1, values.type)]).combine_chunks()
        with_value = pa.chunked_array([values, values.slice(0, 1)]).combine_chunks()
        for name, null, array, last in [
            (kind, lambda ty: ["null", ty], with_null, None),
            (f"{kind}_null_last", lambda ty: [ty, "null"], with_null, None),
            (f"{kind}_required", lambda ty: ty, with_value, raw[0]),
        ]:
            fields.append({"name": name, "type": null(renamed(ty, names))})
            arrays[name] = array
            java_values.append((name, [*raw, last]))
    rows = [{name: values[row] for name, values in java_values} for row in range(ROWS)]
    return {"type": "record", "name": "everything", "namespace": "hoodie.t", "fields": fields}, pa.table(arrays), rows


def same(found, expected):
    """Compares strings, which distinguish -0.0 from 0.0."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.parametrize("format_", ["avro", "parquet"])
@pytest.mark.parametrize("kind", TYPES)
def test_every_type(hudi, writer, kind, format_):
    schema, table, rows = columns([kind])
    with writer() as log:
        log.write_records(table, schema=schema, format=format_)
    (block,) = hudi.blocks(log.path)
    assert block["type"] == {"avro": "AVRO_DATA_BLOCK", "parquet": "PARQUET_DATA_BLOCK"}[format_]
    assert block["header"] == {"INSTANT_TIME": INSTANT, "SCHEMA": json.dumps(schema)}
    assert block["footer"] == {}
    assert same(block["records"], rows), block["records"]


def test_all_types_in_one_schema(hudi, writer):
    schema, table, rows = columns(TYPES)
    with writer() as log:
        log.append(*log.records(table, schema=schema), *log.records(table, schema=schema, format="parquet"))
    blocks = hudi.blocks(log.path)
    assert [block["type"] for block in blocks] == ["AVRO_DATA_BLOCK", "PARQUET_DATA_BLOCK"]
    for block in blocks:
        assert same(block["records"], rows)


def test_defaults_and_unions_of_several_types(hudi, writer):
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "k", "type": "string"},
            {"name": "any", "type": ["null", "string", "boolean"]},
            {"name": "given", "type": ["int", "null"], "default": 7},
            {"name": "list", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
            {"name": "none", "type": ["null", "double"], "default": None},
        ],
    }
    chosen = [{"member0": "x"}, {"member1": True}, None]
    members = pa.struct([("member0", pa.string()), ("member1", pa.bool_())])
    table = pa.table({"any": pa.array(chosen, members), "k": ["a", "b", "c"]})
    with writer() as log:
        log.write_records(table, schema=schema)
        # Hudi fails on such unions when it reads parquet.
        with pytest.raises(mortice.UnsupportedError, match="field any"):
            log.write_records(table, schema=schema, format="parquet")
    (block,) = hudi.blocks(log.path)
    rest = {"given": 7, "list": [1, 2], "none": None}
    assert block["records"] == [{"k": k, "any": one, **rest} for k, one in zip("abc", ["x", True, None], strict=True)]


@pytest.mark.parametrize("compression", ["gzip", "snappy", "zstd", "uncompressed"])
def test_parquet_codecs_and_many_rows(hudi, writer, compression):
    table = pa.table({"id": [f"k{row:05}" for row in range(1500)], "n": range(1500)})
    with writer() as log:
        log.write_records(table, table_name="t", format="parquet", compression=compression)
    (block,) = hudi.blocks(log.path)
    assert block["records"] == table.to_pylist()


def test_blocks_without_records(hudi, writer):
    none = pa.table({"id": pa.array([], pa.string())})
    with writer() as log:
        log.write_records(none, table_name="t")
        log.write_records(none, table_name="t", format="parquet")
        log.write_deletes(pa.table({"record_key": none["id"]}), partition_path="")
    blocks = hudi.blocks(log.path)
    assert [block.get("records", block.get("deletes")) for block in blocks] == [[], [], []]


def test_the_schema_equals_hudis(hudi, writer):
    ddl = (
        "id STRING NOT NULL, b BOOLEAN, y TINYINT, h SMALLINT, i INT, l BIGINT NOT NULL, f FLOAT, d DOUBLE, by BINARY, "
        "dt DATE, ts TIMESTAMP, lts TIMESTAMP_NTZ, d1 DECIMAL(1,0), d10 DECIMAL(10,2), d38 DECIMAL(38,18), "
        "arr ARRAY<DECIMAL(20,5)>, m MAP<STRING, STRUCT<x: INT, d: DECIMAL(5,2)>>, "
        "st STRUCT<a: STRING, n: STRUCT<z: DECIMAL(9,3)>, l: ARRAY<STRUCT<q: DATE>>>"
    )
    arrow = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            ("b", pa.bool_()),
            ("y", pa.int8()),
            ("h", pa.int16()),
            ("i", pa.int32()),
            pa.field("l", pa.int64(), nullable=False),
            ("f", pa.float32()),
            ("d", pa.float64()),
            ("by", pa.binary()),
            ("dt", pa.date32()),
            ("ts", pa.timestamp("us", "UTC")),
            ("lts", pa.timestamp("us")),
            ("d1", pa.decimal128(1, 0)),
            ("d10", pa.decimal128(10, 2)),
            ("d38", pa.decimal128(38, 18)),
            ("arr", pa.list_(pa.decimal128(20, 5))),
            ("m", pa.map_(pa.string(), pa.struct([("x", pa.int32()), ("d", pa.decimal128(5, 2))]))),
            (
                "st",
                pa.struct(
                    [
                        ("a", pa.string()),
                        ("n", pa.struct([("z", pa.decimal128(9, 3))])),
                        ("l", pa.list_(pa.struct([("q", pa.date32())]))),
                    ]
                ),
            ),
        ]
    )
    with writer() as log:
        log.write_records(arrow.empty_table(), table_name="trips")
    (block,) = hudi.blocks(log.path)
    assert json.loads(block["header"]["SCHEMA"]) == hudi.avro_schema(ddl, "trips")


# An ordering column, and for each value the Java class and the value in Hudi.
AT = datetime.datetime(2024, 5, 17, 1, 2, 3, 456789)
ORDERINGS = {
    "boolean": (pa.array([True, False]), "java.lang.Boolean", [True, False]),
    "int8": (pa.array([-1, 127], pa.int8()), "java.lang.Integer", [-1, 127]),
    "int": (pa.array([-(2**31), 2**31 - 1], pa.int32()), "java.lang.Integer", [-(2**31), 2**31 - 1]),
    "long": (pa.array([0, -(2**63)]), "java.lang.Long", [0, -(2**63)]),
    "uint64": (pa.array([0, 2**63 - 1], pa.uint64()), "java.lang.Long", [0, 2**63 - 1]),
    "float": (pa.array([0.5, float("inf")], pa.float32()), "java.lang.Float", [0.5, float("inf")]),
    "double": (pa.array([-0.5, 1e300]), "java.lang.Double", [-0.5, 1e300]),
    "string": (pa.array(["", "ü🚕"]), "java.lang.String", ["", "ü🚕"]),
    "bytes": (pa.array([b"\x00\xff", b""]), "java.nio.HeapByteBuffer", [b"\x00\xff", b""]),
    # As Hudi compares them with those of rows: with dates and timestamps of another class it ends with a class cast.
    "date": (pa.array([AT.date(), datetime.date(1, 1, 1)]), "java.lang.Integer", [19_860, -719_162]),
    "timestamp": (pa.array([AT], pa.timestamp("us", "UTC")), "java.lang.Long", [1_715_907_723_456_789]),
    "local_timestamp": (pa.array([AT], pa.timestamp("us")), "java.lang.Long", [1_715_907_723_456_789]),
    "time": (pa.array([datetime.time(0, 0, 1)], pa.time64("us")), "java.lang.Long", [1_000_000]),
    "decimal": (
        decimals("-1.29", "99999999999999.9", kind=pa.decimal128(38, 15)),
        "java.math.BigDecimal",
        [decimal.Decimal("-1.290000000000000"), decimal.Decimal("99999999999999.900000000000000")],
    ),
    "decimal_of_scale_2": (
        decimals("-1.29", kind=pa.decimal128(10, 2)),
        "java.math.BigDecimal",
        [decimal.Decimal("-1.290000000000000")],
    ),
}


@pytest.mark.parametrize("kind", ORDERINGS)
def test_deletes_of_every_ordering_type(hudi, writer, kind):
    values, java, java_values = ORDERINGS[kind]
    keys = [f"k{row}ü" for row in range(len(values) + 1)]
    deletes = pa.table({"record_key": keys, "o": pa.concat_arrays([values, pa.nulls(1, values.type)])})
    with writer() as log:
        log.write_deletes(deletes, partition_path="city=Zürich", ordering="o")
    (block,) = hudi.blocks(log.path)
    assert (block["type"], block["header"]) == ("DELETE_BLOCK", {"INSTANT_TIME": INSTANT})
    if java == "java.math.BigDecimal":
        block["deletes"] = [(*one[:3], one[3] and decimal.Decimal(one[3])) for one in block["deletes"]]
    expected = [(key, "city=Zürich", java, value) for key, value in zip(keys, java_values, strict=False)]
    # A null ends Hudi with an error if an earlier log has a record of the key.
    assert block["deletes"] == [*expected, (keys[-1], "city=Zürich", "java.lang.Integer", 0)]


def test_deletes_without_ordering_and_with_several(hudi, writer):
    deletes = pa.table(
        {
            "id": ["a", "b"],
            "partition_path": ["p", "q"],
            "ts": [1, None],
            "day": [datetime.date(2024, 1, 1)] * 2,
            "name": ["x", "y"],
        }
    )
    with writer() as log:
        log.write_deletes(deletes, record_key="id")
        log.write_deletes(deletes, record_key="id", ordering=["ts", "day", "name"])
    one, several = hudi.blocks(log.path)
    assert one["deletes"] == [("a", "p", "java.lang.Integer", 0), ("b", "q", "java.lang.Integer", 0)]
    array = "org.apache.hudi.common.util.collection.ArrayComparable"
    rest = [("java.lang.Integer", 19_723)]
    assert several["deletes"] == [
        ("a", "p", array, [("java.lang.Long", 1), *rest, ("java.lang.String", "x")]),
        ("b", "q", array, [("java.lang.Integer", 0), *rest, ("java.lang.String", "y")]),
    ]


def test_rollbacks_and_header_extras(hudi, writer):
    # Positions 3 and 5, as Hudi writes them.
    extras = {
        "RECORD_POSITIONS": "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA=",
        "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS": "20230101000000000",
        "COMPACTED_BLOCK_TIMES": "20230101000000001,20230101000000002",
    }
    trips = pa.table({"id": ["a", "b"]})
    schema = {"type": "record", "name": "t", "fields": [{"name": "id", "type": "string"}]}
    deletes = pa.table({"record_key": trips["id"]})
    with writer() as log:
        log.append(
            *log.records(trips, schema=schema, header={**extras, "IS_PARTIAL": "true"}, instant="20240101000000001"),
            log.deletes(deletes, partition_path="", header=extras, schema=schema, instant="20240101000000001"),
        )
        log.write_rollback("20240101000000001", instant="20240101000000002")
    data, deletes, rollback = hudi.blocks(log.path)
    both = {"INSTANT_TIME": "20240101000000001", "SCHEMA": json.dumps(schema), **extras}
    assert data["header"] == {**both, "IS_PARTIAL": "true"}
    assert deletes["header"] == both
    assert (data["positions"], deletes["positions"], data["partial"]) == ([3, 5], [3, 5], True)
    assert rollback["command"] == "ROLLBACK_BLOCK"
    assert rollback["header"] == {
        "INSTANT_TIME": "20240101000000002",
        "TARGET_INSTANT_TIME": "20240101000000001",
        "COMMAND_BLOCK_TYPE": "0",
    }


def test_rolled_files(hudi, writer):
    keys = [f"{row:05}" for row in range(3000)]
    table = pa.table({"id": keys})
    with writer(max_file_bytes=10_000, write_token="3-14-15") as log:
        for start in range(0, len(keys), 500):
            log.write_records(table.slice(start, 500), table_name="t", max_block_bytes=2000)
    assert len(log.paths) > 1
    found = []
    for version, path in enumerate(log.paths, 1):
        name = {"file_id": "f-0", "instant": INSTANT, "version": version, "token": "3-14-15"}
        assert hudi.log_file(path) == name
        blocks = hudi.blocks(path)
        assert {block["type"] for block in blocks} == {"AVRO_DATA_BLOCK"}
        assert hudi.types_backwards(path) == ["AVRO_DATA_BLOCK"] * len(blocks)
        found += [record["id"] for block in blocks for record in block["records"]]
    assert found == keys


def test_appended_files(hudi, writer):
    """Several delta commits and a rollback in a file, as in tables up to version 6 on HDFS."""
    for instant in ["1", "2"]:
        with writer(append=True) as log:
            log.write_records(pa.table({"id": [instant]}), table_name="t", instant=instant)
    with writer(append=True) as log:
        log.write_rollback("2", instant="3")
        log.write_records(pa.table({"id": ["4"]}), table_name="t", instant="4", format="parquet")
    blocks = hudi.blocks(log.path)
    assert [block["header"]["INSTANT_TIME"] for block in blocks] == ["1", "2", "3", "4"]
    types = ["AVRO_DATA_BLOCK", "AVRO_DATA_BLOCK", "COMMAND_BLOCK", "PARQUET_DATA_BLOCK"]
    assert [block["type"] for block in blocks] == types
    assert hudi.types_backwards(log.path) == types[::-1]
    # A writer died in the middle of a magic: nothing is appended after it.
    with pathlib.Path(log.path).open("ab") as torn:
        torn.write(b"#HU")
    with writer(append=True) as later:
        later.write_rollback("4", instant="5")
    assert later.path != log.path
    assert [block["type"] for block in hudi.blocks(log.path)] == types
    assert [block["type"] for block in hudi.blocks(later.path)] == ["COMMAND_BLOCK"]
