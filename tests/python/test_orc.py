"""ORC base files: files of pyarrow are read with all codecs and types; corruption is an error, never a wrong row.

Real tables of Hudi are queried in `test_bundled_tables.py`; here they are corrupted.
"""

import datetime as dt
import decimal
import json
import random

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

import mortice
from support.cases import multiset

COW, MOR = "h015_orc_cow", "h015_orc_mor"
INSTANT = "20240101000000000"
META = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]
CODECS = ["uncompressed", "zlib", "snappy", "lz4", "zstd"]


def moment(*parts):
    year, *rest = parts
    return dt.datetime(year, *(rest or (1, 1)), tzinfo=dt.timezone.utc)


def values(kind, rows, seed):
    """Returns values of a type, including nulls and extremes, in runs as well as at random."""
    draw = random.Random(seed)
    extremes = {
        "bool": [True, False],
        "int8": [-128, 127, 0],
        "int16": [-(2**15), 2**15 - 1],
        "int32": [-(2**31), 2**31 - 1, 0, 1],
        "int64": [-(2**63), 2**63 - 1, 0, -1],
        "float": [0.5, -0.0, float("inf"), float("nan")],
        "double": [1e300, -0.0, float("-inf"), float("nan"), 5e-324],
        "string": ["", "é", "x" * 300, "\N{GRINNING FACE}"],
        "binary": [b"", b"\x00\xff", b"y" * 200],
        "decimal128(38, 10)": [decimal.Decimal("9" * 28 + "." + "9" * 10), decimal.Decimal("-0.0000000001")],
        "decimal128(12, 3)": [decimal.Decimal("-1.5"), decimal.Decimal("999999999.999")],
        "timestamp[us, tz=UTC]": [
            moment(1),
            moment(1969, 6, 1, 0, 0, 0, 250_000),
            moment(2015),
            moment(2262, 1, 1, 1, 1, 1, 7),
        ],
        "date32[day]": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)],
    }
    held, found = extremes[str(kind)], []
    while len(found) < rows:
        if draw.random() < 0.3:
            found += [draw.choice([*held, None])] * draw.randrange(1, 200)
        elif str(kind).startswith("int") and draw.random() < 0.5:
            top = 2 ** draw.randrange(1, int(str(kind)[3:]) - 1)
            base, step = draw.randrange(-top, top), draw.randrange(-3, 4)
            limits = -(2 ** (int(str(kind)[3:]) - 1)), 2 ** (int(str(kind)[3:]) - 1) - 1
            found += [min(max(base + step * at, limits[0]), limits[1]) for at in range(draw.randrange(1, 300))]
            found += [draw.randrange(-top, top) for _ in range(draw.randrange(1, 300))]
        else:
            found += [draw.choice(held) for _ in range(draw.randrange(1, 20))]
    return found[:rows]


KINDS = {
    "b": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(), "f": pa.float32(),
    "d": pa.float64(), "s": pa.string(), "y": pa.binary(), "wide": pa.decimal128(38, 10),
    "narrow": pa.decimal128(12, 3), "day": pa.date32(), "at": pa.timestamp("us", "UTC"),
}  # fmt: skip


def written(rows, seed):
    flat = {name: pa.array(values(kind, rows, seed + at), kind) for at, (name, kind) in enumerate(KINDS.items())}
    draw = random.Random(seed)
    items = [None if draw.random() < 0.1 else [draw.choice([1, -5, None])] * draw.randrange(4) for _ in range(rows)]
    pairs = [None if draw.random() < 0.1 else [(f"k{at}", at)] * draw.randrange(3) for at in range(rows)]
    rows_of = [None if draw.random() < 0.2 else {"x": draw.choice([None, at]), "t": str(at)} for at in range(rows)]
    nested = {
        "list": pa.array(items, pa.list_(pa.int64())),
        "map": pa.array(pairs, pa.map_(pa.string(), pa.int64())),
        "struct": pa.array(rows_of, pa.struct([("x", pa.int64()), ("t", pa.string())])),
        "none": pa.nulls(rows, pa.int32()),
    }
    return pa.table(flat | nested)


AVRO = {
    "b": "boolean", "i8": "int", "i16": "int", "i32": "int", "i64": "long", "f": "float", "d": "double",
    "s": "string", "y": "bytes", "none": "int",
    "wide": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
    "narrow": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
    "day": {"type": "int", "logicalType": "date"},
    "at": {"type": "long", "logicalType": "timestamp-micros"},
    "list": {"type": "array", "items": ["null", "long"]},
    "map": {"type": "map", "values": ["null", "long"]},
    "struct": {"type": "record", "name": "s", "fields": [
        {"name": "x", "type": ["null", "long"], "default": None},
        {"name": "t", "type": ["null", "string"], "default": None},
    ]},
}  # fmt: skip


def table_of_file(folder, rows, **options):
    """Writes a table of one ORC base file."""
    count = rows.num_rows
    meta = {name: pa.array([f"{at:06}" for at in range(count)]) for name in META}
    meta["_hoodie_commit_time"] = pa.array([INSTANT] * count)
    rows = pa.table(meta | {name: rows.column(name) for name in rows.column_names})
    fields = [{"name": name, "type": ["null", AVRO[name]], "default": None} for name in rows.column_names[5:]]
    schema = json.dumps({"type": "record", "name": "t", "fields": fields})
    (folder / ".hoodie").mkdir(parents=True)
    properties = "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.base.file.format=ORC\n"
    (folder / ".hoodie" / "hoodie.properties").write_text(properties, encoding="utf-8")
    commit = {"partitionToWriteStats": {}, "extraMetadata": {"schema": schema}, "operationType": "INSERT"}
    (folder / ".hoodie" / f"{INSTANT}.commit").write_text(json.dumps(commit), encoding="utf-8")
    (folder / ".hoodie_partition_metadata").touch()
    po.write_table(rows, folder / f"f-0_0-1-2_{INSTANT}.orc", **options)
    return folder


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dictionary", [0.0, 1.0])
def test_every_type_in_every_codec(codec, dictionary, tmp_path):
    rows = written(5000, seed=CODECS.index(codec))
    options = {"compression": codec, "dictionary_key_size_threshold": dictionary, "stripe_size": 1 << 16}
    path = table_of_file(tmp_path, rows, **options)
    found = (
        mortice.Table(path, read_options=mortice.ReadOptions(batch_rows=777))
        .snapshot(columns=rows.column_names)
        .to_arrow()
    )
    assert multiset(found.to_pylist()) == multiset(rows.to_pylist())


def test_stripes_without_matching_rows_are_skipped(tmp_path):
    rows = pa.table({"i64": range(200_000), "s": [f"{at:08}" for at in range(200_000)]})
    path = table_of_file(tmp_path, rows, stripe_size=1 << 16, compression="uncompressed")
    stripes = po.ORCFile(next(path.glob("*.orc"))).nstripes
    assert stripes > 3
    for filters in ([("i64", "=", 150_000)], [("s", "=", "00150000")], [("_hoodie_record_key", "=", "150000")]):
        scan = mortice.Table(path).snapshot(filters=filters)
        assert scan.to_arrow().column("i64").to_pylist() == [150_000]
    none = mortice.Table(path).snapshot(filters=[("i64", ">", 10**9)])
    assert none.count() == 0


def test_projection_reads_one_column(tmp_path):
    rows = written(300, seed=9)
    path = table_of_file(tmp_path, rows)
    found = mortice.Table(path).snapshot(columns=["struct", "i64"]).to_arrow()
    assert found.column_names == ["struct", "i64"]
    assert found.column("i64").to_pylist() == rows.column("i64").to_pylist()


@pytest.mark.parametrize("name", [COW, MOR])
def test_corruption_is_an_error_and_never_panics(name, table_of, copy_of):
    path = copy_of(name)
    file = max(path.rglob("*.orc"), key=lambda file: file.stat().st_size)
    whole, draw = file.read_bytes(), random.Random(5)
    sound = mortice.Table(path).read_optimized().to_arrow()
    for cut in sorted({draw.randrange(len(whole)) for _ in range(60)} | {0, 1, 2, len(whole) - 1}):
        file.write_bytes(whole[:cut])
        with pytest.raises(mortice.MorticeError):
            mortice.Table(path).read_optimized().to_arrow()
    for _ in range(300):
        at = draw.randrange(len(whole))
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
        try:
            found = mortice.Table(path).read_optimized().to_arrow()
        except mortice.MorticeError as error:
            assert file.name in str(error)  # noqa: PT017
        else:
            assert found.schema.equals(sound.schema)


def test_a_file_that_is_not_orc_is_refused_by_name(copy_of):
    path = copy_of(COW)
    file = next(path.rglob("*.orc"))
    file.write_bytes(b"PAR1 is not ORC")
    with pytest.raises(mortice.InvalidTableError, match=file.name):
        mortice.Table(path).snapshot().to_arrow()


def test_several_formats_in_one_table(table_of, tmp_path):
    """A table whose base file format was changed at some point."""
    rows = pa.table({"i64": [1, 2], "s": ["a", "b"]})
    path = table_of_file(tmp_path / "t", rows)
    orc = next(path.glob("*.orc"))
    pq.write_table(po.read_table(orc), path / f"g-0_0-1-2_{INSTANT}.parquet")
    found = mortice.Table(path).snapshot(columns=["i64"]).to_arrow()
    assert sorted(found.column("i64").to_pylist()) == [1, 1, 2, 2]


def test_logs_over_orc_base_files(table_of):
    """Compares the changes of the logs with the rows of base files."""
    table = mortice.Table(table_of(MOR))
    base = {row["id"]: row for row in table.read_optimized().to_arrow().to_pylist()}
    merged = {row["id"]: row for row in table.snapshot().to_arrow().to_pylist()}
    assert {"k0001", "k0002", "k0040"} == base.keys() - merged.keys(), "deleted"
    assert {f"k{at:04}" for at in range(100, 105)} == merged.keys() - base.keys(), "inserted"
    changed = {key for key in base.keys() & merged.keys() if base[key] != merged[key]}
    assert changed == {f"k{at:04}" for at in range(5, 30)}
