"""Partition columns: what is written is read back and found by filters, or it is refused, by type or by value."""

import datetime as dt
import decimal

import pyarrow as pa
import pytest

import mortice
from mortice import InvalidArgumentError, UnsupportedError
from support.tables.written import NO_METADATA

UTC = dt.timezone.utc
AT = [dt.datetime(2024, 1, 2, 3, 4, 5, 678000), dt.datetime(1969, 12, 31, 23, 59, 59)]
DAYS = [dt.date(2024, 1, 2), dt.date(1969, 7, 20)]
NUMBERS = [decimal.Decimal("1.50"), decimal.Decimal("-0.01")]
ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
HIVE = "hoodie.datasource.write.hive_style_partitioning"

TEXT = pa.string()
KINDS = [
    (pa.bool_(), [True, False]),
    *((kind, [7, 0]) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *((kind, [7, -1]) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    (pa.float16(), [0.5, -2.0]),
    (pa.float32(), [0.5, 1e10]),
    (pa.float64(), [0.1, -1e300]),
    (pa.string(), ["oslo", "å b"]),
    (pa.large_string(), ["oslo", "rome"]),
    (pa.string_view(), ["oslo", "rome"]),
    (pa.dictionary(pa.int8(), pa.string()), ["oslo", "rome"]),
    (pa.dictionary(pa.int32(), pa.int64()), [7, -1]),
    (pa.binary(), [b"a", b"\xff"]),
    (pa.large_binary(), [b"a", b"b"]),
    (pa.binary_view(), [b"a", b"b"]),
    (pa.binary(2), [b"ab", b"cd"]),
    (pa.date32(), DAYS),
    (pa.date64(), DAYS),
    *((pa.timestamp(unit), [at.replace(microsecond=0) for at in AT]) for unit in ("s", "ms", "us", "ns")),
    *((pa.timestamp(unit, "UTC"), [at.replace(microsecond=0, tzinfo=UTC) for at in AT]) for unit in ("ms", "us")),
    (pa.time32("ms"), [dt.time(1), dt.time(2)]),
    (pa.time64("us"), [dt.time(1), dt.time(2)]),
    (pa.duration("us"), [dt.timedelta(1), dt.timedelta(2)]),
    (pa.decimal128(10, 2), NUMBERS),
    (pa.decimal128(38, 20), NUMBERS),
    (pa.decimal256(40, 2), NUMBERS),
    (pa.null(), [None, None]),
    (pa.list_(pa.int64()), [[1], [2]]),
    (pa.struct([("x", pa.int64())]), [{"x": 1}, {"x": 2}]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)], []]),
]


def table_of(path, kind, properties=None, version=9):
    columns = pa.schema([("id", pa.string()), ("p", kind), ("ts", pa.int64())])
    return mortice.create_table(
        path / "t", columns, name="t", record_key="id", partition_by="p", ordering="ts", version=version,
        properties=properties or {},
    )  # fmt: skip


def rows_of(values, kind=TEXT):
    ids = [chr(ord("a") + at) for at in range(len(values))]
    return pa.table({"id": ids, "p": pa.array(values, kind), "ts": [1] * len(values)})


def found(table, filters=None):
    rows = mortice.Table(table.uri).snapshot(columns=["id", "p"], filters=filters).to_arrow().to_pylist()
    return {row["id"]: row["p"] for row in rows}


@pytest.mark.parametrize("properties", [{}, {HIVE: "true", ENCODED: "true"}], ids=["plain", "hive"])
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[str(kind) for kind, _ in KINDS])
def test_each_type_is_read_back_and_found_or_refused_at_creation(tmp_path, kind, values, version, properties):
    try:
        table = table_of(tmp_path, kind, properties, version)
    except (InvalidArgumentError, UnsupportedError):
        assert not (tmp_path / "t" / ".hoodie").exists()
        assert not pa.types.is_integer(kind)
        assert kind not in {TEXT, pa.date32(), pa.bool_(), pa.decimal128(10, 2)}
        return
    given = [*values, None]
    table.upsert(rows_of(given, kind), NO_METADATA)
    expected = dict(zip("abc", given, strict=True))
    assert found(table) == expected
    for key, value in zip("ab", values, strict=True):
        assert found(table, [("p", "=", value)]) == {key: value}
        assert found(table, [("p", "in", [value])]) == {key: value}
    assert found(table, [("p", "is null")]) == {"c": None}
    assert found(table, [("p", "is not null")]) == dict(zip("ab", values, strict=True))
    # An update of what was read stays in its partition.
    read = mortice.Table(table.uri).snapshot(columns=["id", "p", "ts"]).to_arrow()
    table.upsert(read, NO_METADATA)
    assert found(table) == expected


@pytest.mark.parametrize(
    "value",
    ["10:30", ":", "", ".", "..", "a//b", "/a", "a/", "a/../b", ".hoodie", "a\0b", "x" * 256, "é" * 128, "p=a", "%41",
     "__HIVE_DEFAULT_PARTITION__"],
)  # fmt: skip
def test_values_that_no_path_has_are_refused_with_row_and_value(tmp_path, value):
    for write in ("upsert", "bulk_insert", "insert_overwrite"):
        table = table_of(tmp_path / write, pa.string())
        with pytest.raises(InvalidArgumentError, match=f'row 1, partition column "p".*{ENCODED}=true') as refused:
            getattr(table, write)(rows_of(["oslo", value]), NO_METADATA)
        assert repr(value)[1:-1].replace("\\x00", "\\0") in str(refused.value)
        assert found(table) == {}
        assert [path.name for path in (tmp_path / write / "t").iterdir()] == [".hoodie"]


ODD = ["10:30", "a/b", "a//b", "p=a", "50%", "%41", "a b", "[x]{y}", "\t\n", "\x01", "é", "#?*", '"', "\\"]


def test_url_encoding_takes_values_that_a_path_has_not(tmp_path):
    for properties in ({ENCODED: "true"}, {ENCODED: "true", HIVE: "true"}):
        table = table_of(tmp_path / str(len(properties)), pa.string(), properties)
        table.upsert(rows_of(ODD), NO_METADATA)
        assert list(found(table).values()) == ODD or set(found(table).values()) == set(ODD)
        for value in ODD:
            assert list(found(table, [("p", "=", value)]).values()) == [value]


def test_values_without_encoding_are_read_back(tmp_path):
    plain = ["a/b", "50%", "a b", "[x]{y}", "\t\n", "\x01", "é", "#?*", '"', "\\", "x" * 255]
    for properties in ({}, {HIVE: "true"}):
        table = table_of(tmp_path / str(len(properties)), pa.string(), properties)
        values = [value for value in plain if len(value) < 255 or not properties]
        table.upsert(rows_of(values), NO_METADATA)
        assert set(found(table).values()) == set(values)
        for value in values:
            assert list(found(table, [("p", "=", value)]).values()) == [value]


def test_a_slash_that_would_shift_the_columns_is_refused(tmp_path):
    columns = pa.schema([("id", pa.string()), ("p", pa.string()), ("q", pa.string())])
    table = mortice.create_table(tmp_path / "t", columns, name="t", record_key="id", partition_by=["p", "q"])
    with pytest.raises(InvalidArgumentError, match='row 0, partition column "p": the value "a/b"'):
        table.upsert(pa.table({"id": ["a"], "p": ["a/b"], "q": ["c"]}), NO_METADATA)


def test_rows_in_partitions_that_cannot_be_written_are_still_deleted(tmp_path):
    table = table_of(tmp_path, pa.string())
    table.upsert(rows_of(["oslo"]), NO_METADATA)
    assert table.delete(rows_of(["10:30"]), NO_METADATA).deletes == 0


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [(["a"], ["a/b"], {}), (["a/b"], ["a"], {}), ([], ["a", "a/b"], NO_METADATA)],
    ids=["within", "around", "of one write"],
)
@pytest.mark.parametrize("operation", ["upsert", "insert", "insert_overwrite"])
def test_a_new_partition_within_another_one_is_refused(tmp_path, first, second, options, operation):
    """Readers that list the storage would not find its rows."""
    table = table_of(tmp_path, pa.string())
    if first:
        table.upsert(rows_of(first), options)
    with pytest.raises(InvalidArgumentError, match='partition "a/b" would be within partition "a"'):
        getattr(table, operation)(rows_of(second), options)
    assert set(found(table).values()) == set(first)
    table.upsert(rows_of([*first, "a!", "c/b"]), options)
    assert set(found(table).values()) == {*first, "a!", "c/b"}


@pytest.mark.parametrize("options", [{}, NO_METADATA], ids=["metadata table", "none"])
def test_partitions_within_others_that_are_there_are_written_to(tmp_path, options):
    table = table_of(tmp_path, pa.string())
    for value in ("a", "a/b"):
        table.bulk_insert(pa.table({"id": [value], "p": [value], "ts": [1]}), options)
    commit = table.upsert(pa.table({"id": ["a", "a/b", "c"], "p": ["a", "a/b", "a/b"], "ts": [2, 2, 2]}), options)
    assert (commit.inserts, commit.updates) == (1, 2)
