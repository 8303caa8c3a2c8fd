"""A merge-on-read table with a column of every type that Hudi stores for Spark, and its merged rows.

A base file by pyarrow, one log by `mortice.LogWriter`: some rows are in the base file only, some are updated by the
log, some inserted by it, one is deleted. Each column has boundary values.
"""

import datetime as dt
import json
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

import mortice
from support.oracle import Merging
from support.oracle.model import COMMIT_TIME, META
from support.tables.table_writer import FILE_ID, Partitioning, base_file_name, instant, properties, write_commit

NAME = "trips"
EMPTY_TEXT, LONG_TEXT = "", "x" * 70_001
DAYS = ["0001-01-01", "1582-10-04", "1582-10-15", "1899-12-31", "1969-12-31", "1970-01-01", "9999-12-31"]
MOMENTS = [
    "0001-01-01T00:00:00",
    "1582-10-04T23:59:59.999999",
    "1582-10-15T00:00:00.000001",
    "1883-11-18T12:03:58",
    "1899-12-31T23:59:59.999999",
    "1969-12-31T23:59:59.999999",
    "2024-03-31T02:30:00",
    "9999-12-31T23:59:59.999999",
]
LOCAL = [dt.datetime.fromisoformat(moment) for moment in MOMENTS]
ZONED = [moment.replace(tzinfo=dt.timezone.utc) for moment in LOCAL]
SMALLEST, LARGEST = 5e-324, 1.7976931348623157e308


def decimals(precision, scale):
    """Returns the type, its greatest and least values, and values near zero, made of digits because arithmetic would
    round."""
    nines = (9,) * precision
    values = [(0, nines), (1, nines), (0, (0,)), (0, (1,))]
    return pa.decimal128(precision, scale), [Decimal((sign, digits, -scale)) for sign, digits in values]


POINT = pa.struct([("x", pa.int32()), ("y", pa.float64())])
INNER = pa.struct([("at", pa.timestamp("us", "UTC")), ("price", pa.decimal128(20, 4)), ("tags", pa.list_(pa.string()))])

TYPES = {
    "boolean": (pa.bool_(), [True, False]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, 0, -1]),
    "bigint": (pa.int64(), [-(2**63), 2**63 - 1, 0, -1]),
    "float": (pa.float32(), [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.401298464324817e-45, 3.4028234663852886e38]),
    "double": (pa.float64(), [math.nan, math.inf, -math.inf, -0.0, 0.0, SMALLEST, LARGEST]),
    "decimal_1_0": decimals(1, 0),
    "decimal_9_9": decimals(9, 9),
    "decimal_10_2": decimals(10, 2),
    "decimal_18_6": decimals(18, 6),
    "decimal_19_0": decimals(19, 0),
    "decimal_38_18": decimals(38, 18),
    "decimal_38_0": decimals(38, 0),
    "string": (pa.string(), [EMPTY_TEXT, LONG_TEXT, "é", "e\u0301", "𝄞 \U0010ffff", "\x00", "\ufeff\uffff", "null"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff\xfe\x80", bytes(range(256)) * 300]),
    "date": (pa.date32(), [dt.date.fromisoformat(day) for day in DAYS]),
    "timestamp": (pa.timestamp("us", "UTC"), ZONED),
    "timestamp_ntz": (pa.timestamp("us"), LOCAL),
    "array_int": (pa.list_(pa.int32()), [[], [None], [1, None, -(2**31)], list(range(1000))]),
    "array_array_string": (pa.list_(pa.list_(pa.string())), [[], [[]], [None, [EMPTY_TEXT, None, "𝄞"]]]),
    "array_double": (pa.list_(pa.float64()), [[math.nan, -0.0, None, SMALLEST]]),
    "map_string_bigint": (pa.map_(pa.string(), pa.int64()), [[], [("", None)], [("a", 1), ("𝄞", -(2**63))]]),
    "map_string_array": (pa.map_(pa.string(), pa.list_(POINT)), [[("k", [{"x": None, "y": -0.0}, None])], [("k", [])]]),
    "struct": (POINT, [{"x": 1, "y": math.nan}, {"x": None, "y": None}]),
    "struct_nested": (
        pa.struct([("inner", INNER), ("days", pa.list_(pa.date32()))]),
        [
            {"inner": {"at": moment, "price": Decimal("-0.0001"), "tags": [None, "é"]}, "days": [dt.date(1582, 10, 4)]}
            for moment in ZONED
        ]
        + [{"inner": None, "days": None}, {"inner": {"at": None, "price": None, "tags": None}, "days": []}],
    ),
    "array_struct": (pa.list_(INNER), [[{"at": ZONED[0], "price": Decimal("9" * 16 + ".9999"), "tags": []}, None]]),
    "all_null": (pa.string(), []),
}
"""The Arrow type and the values of each column; nulls are added."""

BASE = range(24)
UPDATED = range(8, 20)
DELETED = 3
INSERTED = range(24, 34)


def _value(values, row, shift):
    """Returns the value of a row: all values in turn, then a null."""
    turn = [*values, None]
    return turn[(row + shift) % len(turn)]


def rows(numbers, commit):
    """Returns rows as a writer passes them, meta columns first."""
    shift = 3 * commit
    file_name = FILE_ID if commit else base_file_name()
    meta = {
        "_hoodie_commit_time": [instant(commit)] * len(numbers),
        "_hoodie_commit_seqno": [f"{instant(commit)}_0_{number}" for number in numbers],
        "_hoodie_record_key": [str(number) for number in numbers],
        "_hoodie_partition_path": [""] * len(numbers),
        "_hoodie_file_name": [file_name] * len(numbers),
    }
    assert tuple(meta) == tuple(META)
    columns = {name: pa.array(column, pa.string()) for name, column in meta.items()}
    columns["id"] = columns["_hoodie_record_key"]
    for name, (kind, values) in TYPES.items():
        columns[name] = pa.array([_value(values, number, shift) for number in numbers], kind)
    return pa.table(columns)


def merged():
    """Returns the expected rows, in no order."""
    kept = [number for number in BASE if number not in UPDATED and number != DELETED]
    return pa.concat_tables([rows(kept, 0), rows([*UPDATED, *INSERTED], 1)])


def write(folder, version, log_format):
    """Writes the table and returns its path."""
    merging = Merging((), COMMIT_TIME, ())
    timeline = folder / ".hoodie" if version < 8 else folder / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    text = properties(merging, version, Partitioning())
    (folder / ".hoodie" / "hoodie.properties").write_text(text, encoding="utf-8")
    metadata = f"commitTime={instant(0)}\npartitionDepth=0\n"
    (folder / ".hoodie_partition_metadata").write_text(metadata, encoding="utf-8")
    pq.write_table(rows(BASE, 0), folder / base_file_name(), row_group_size=7, version="2.6")
    named = instant(0) if version < 8 else instant(1)
    with mortice.LogWriter(folder, FILE_ID, named, write_token="0-1-0") as log:
        log.write_records(rows([*UPDATED, *INSERTED], 1), table_name=NAME, format=log_format, instant=instant(1))
        log.write_deletes(pa.table({"record_key": [str(DELETED)]}), partition_path="", instant=instant(1))
        name = log.path.rsplit("/", 1)[-1]
        header = next(mortice.LogFile(log.path).blocks()).header
    schema = json.loads(header["SCHEMA"])
    schema["fields"] = [field for field in schema["fields"] if field["name"] not in META]
    extra = {"schema": json.dumps(schema)}
    write_commit(timeline, version, merging, 0, {"": base_file_name()}, extra=extra)
    write_commit(timeline, version, merging, 1, {"": name}, extra=extra)
    return str(folder)
