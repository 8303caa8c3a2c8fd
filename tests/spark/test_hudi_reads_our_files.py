"""Hudi reads base files and log files of mortice, and continues to write to such tables.

`make test-beside-hudi` runs it: a Rust example writes the files and their commits. pyspark 3.5 provides Java.
"""

import base64
import io
import json
import os
import subprocess
import uuid
import zipfile
import zlib
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)

import mortice  # noqa: E402
from support.hudi import fetch_hudi  # noqa: E402

if not os.environ.get("BESIDE_HUDI"):
    pytest.skip("compiles a Rust example: make test-beside-hudi", allow_module_level=True)
if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

from support.hudi.hudi_on_spark import HudiOnSpark  # noqa: E402

TESTS = Path(__file__).parent.parent
FIRST, SECOND = "20240101000000000", "20240102000000000"
COMPLETED = {FIRST: "20240101000001000", SECOND: "20240102000001000"}
META = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]


def run(*command, stdin=None):
    command = ["cargo", "run", "-q", "-p", "mortice", "--example", "write_files", "--", *map(str, command)]
    done = subprocess.run(command, cwd=TESTS.parent, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Tables with a base file of Hudi's Avro writer, and the options with which it was written.
TABLES = {
    "h12_column_stats": [],
    "h12_vectors": ["hoodie.index.bloom.num_entries=10"],
    "h12_test_jar_vector_cow": [],
    "h12_cdc_types_op_key_only": ["parquet.avro.write-old-list-structure=true"],
    "h12_cdc_nulls_data_before_after": [],
    "h11_schema_on_write": ["parquet.avro.write-old-list-structure=true"],
    "h12_lists_of_maps": ["parquet.avro.write-old-list-structure=true"],
}


def base_files(name):
    with zipfile.ZipFile(TESTS / "data" / name / "table.zip") as archive:
        for member in archive.namelist():
            if member.endswith(".parquet") and ".hoodie" not in member:
                content = archive.read(member)
                footer = pq.ParquetFile(io.BytesIO(content)).metadata.metadata
                if b"parquet.avro.schema" in footer:
                    yield member, content


def statistics(file):
    """Returns minimum, maximum and number of nulls of each column chunk."""
    metadata = file.metadata
    for index in range(metadata.num_columns):
        column = metadata.row_group(0).column(index)
        found = column.statistics
        # parquet-rs orders floats by a newer rule, whose statistics pyarrow ignores; parquet-mr omits those of long
        # values.
        if column.physical_type in ("FLOAT", "DOUBLE") or column.path_in_schema == "large":
            continue
        yield column.path_in_schema, found and (found.has_min_max and (found.min, found.max), found.null_count)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TABLES)
def test_base_files_equal_those_of_hudi(tmp_path, name):
    compared = 0
    for member, content in base_files(name):
        original = tmp_path / Path(member).name
        original.write_bytes(content)
        run("rewrite", original, tmp_path / "ours", *TABLES[name])
        one, other = (pq.ParquetFile(path) for path in (original, tmp_path / "ours" / original.name))
        assert str(other.schema).splitlines()[1:] == str(one.schema).splitlines()[1:]
        assert other.metadata.metadata == one.metadata.metadata
        assert other.metadata.row_group(0).column(0).compression == "GZIP"
        assert dict(statistics(other)) == dict(statistics(one))
        # Compared as strings, in which NaN equals NaN.
        assert str(other.read().to_pylist()) == str(one.read().to_pylist())
        compared += 1
    assert compared


SCHEMA = {
    "type": "record",
    "name": "t_record",
    "namespace": "hoodie.t",
    "fields": [
        {"name": "id", "type": ["null", "string"], "default": None},
        {"name": "part", "type": ["null", "string"], "default": None},
        {"name": "n", "type": ["null", "int"], "default": None},
        {"name": "x", "type": ["null", "double"], "default": None},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
        {
            "name": "amount",
            "type": [
                "null",
                {
                    "type": "fixed",
                    "name": "fixed",
                    "namespace": "hoodie.t.t_record.amount",
                    "size": 5,
                    "logicalType": "decimal",
                    "precision": 10,
                    "scale": 2,
                },
            ],
            "default": None,
        },
        {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}], "default": None},
        {"name": "marks", "type": ["null", {"type": "map", "values": ["null", "long"]}], "default": None},
        {"name": "ts", "type": ["null", "long"], "default": None},
    ],
}
ARROW = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("amount", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
        ("marks", pa.map_(pa.string(), pa.int64())),
        ("ts", pa.int64()),
    ]
)


def row(number, ts, part=None):
    other = number % 7 == 0
    return {
        "id": f"key ü {number:04}",
        "part": part or f"p{number % 2}",
        "n": None if other else number * ts,
        "x": number / 3 * ts,
        "day": date(2024, 1, 1 + number % 28),
        "at": None if other else datetime(2024, 1, 1, number % 24, ts, tzinfo=timezone.utc),
        "amount": Decimal(number * ts).scaleb(-2),
        "tags": None if other else ["a", None, str(number)][: number % 4],
        "marks": None if other else [("k", number), ("none", None)],
        "ts": ts,
    }


def parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows, ARROW), path)
    return str(path)


def properties(version):
    """The properties that Hudi writes for a new table."""
    common = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.version": version,
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "part",
        "hoodie.datasource.write.hive_style_partitioning": "false",
        "hoodie.datasource.write.partitionpath.urlencode": "false",
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.populate.meta.fields": "true",
        "hoodie.table.cdc.enabled": "false",
        "hoodie.partition.metafile.use.base.format": "false",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.table.checksum": zlib.crc32(b".t"),
    }
    if version == 6:
        return {
            **common,
            "hoodie.timeline.layout.version": 1,
            "hoodie.archivelog.folder": "archived",
            "hoodie.table.precombine.field": "ts",
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
            "hoodie.compaction.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        }
    return {
        **common,
        "hoodie.table.initial.version": version,
        "hoodie.timeline.layout.version": 2,
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.archivelog.folder": "history",
        "hoodie.table.format": "native",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.record.merge.strategy.id": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
        "hoodie.table.keygenerator.type": "SIMPLE",
        "hoodie.table.multiple.base.file.formats.enable": "false",
    }


def create(table, version):
    folder = table / ".hoodie"
    (folder / ("timeline/history" if version > 6 else "archived")).mkdir(parents=True)
    lines = [f"{name}={value}\n" for name, value in properties(version).items()]
    (folder / "hoodie.properties").write_text("".join(lines))


def commit(table, instant, inserts=(), logs=(), options=None):
    request = {
        "instant": instant,
        "completion": COMPLETED[instant],
        "schema": SCHEMA,
        "key": "id",
        "options": options or {},
        "inserts": inserts,
        "logs": logs,
    }
    return [json.loads(line) for line in run("commit", table, stdin=json.dumps(request)).splitlines()]


def by_key(rows):
    plain = [{**one, "marks": one["marks"] and dict(one["marks"])} for one in rows]
    plain = [{name: value for name, value in one.items() if name not in META} for one in plain]
    return sorted(plain, key=lambda one: one["id"])


WRITE = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
    "hoodie.markers.type": "DIRECT",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


class TwoCommits:
    """A table of two commits: base files in two partitions, then a log file of one of them."""

    def __init__(self, folder, version, options, positions):
        self.table = folder / "table"
        create(self.table, version)
        rows = [row(number, 1) for number in range(300)]
        parts = {part: [one for one in rows if one["part"] == part] for part in ("p0", "p1")}
        inserts = [
            {
                "partition": part,
                "prefix": f"0000000{index}-1111-2222-3333-444444444444",
                "rows": parquet(folder / f"{part}.parquet", some),
            }
            for index, (part, some) in enumerate(parts.items())
        ]
        self.written = commit(self.table, FIRST, inserts, options=options)
        self.base = self.written[0]
        # In another order than in the base file.
        updated = list(range(0, 100, 2))[::-1]
        deleted = [200, 202, 250]
        slice_ = (self.base["file"]["path"].split("/")[-1], []) if version == 6 else None
        log = {
            "partition": "p0",
            "file_id": self.base["file_id"],
            "base_instant": FIRST,
            "slice": slice_,
            "rows": parquet(folder / "updates.parquet", [row(number, 2) for number in updated]),
            "positions": [number // 2 for number in updated] if positions else None,
            "deletes": [row(number, 1)["id"] for number in deleted],
            "delete_positions": [number // 2 for number in deleted] if positions else None,
        }
        self.logs = commit(self.table, SECOND, logs=[log], options=options)
        ages = {number: 2 if number in updated else 1 for number in range(300) if number not in deleted}
        self.expected = {number: row(number, age) for number, age in ages.items()}

    def rows(self):
        return by_key(self.expected.values())


def read_by_hudi(hudi, table, out, where=None, **options):
    hudi.read(table, out, where, **options)
    return by_key(pq.read_table(out).to_pylist())


@pytest.fixture(scope="module")
def hudi():
    hudi = HudiOnSpark(fetch_hudi.jar())
    yield hudi
    hudi.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("options", "positions"),
    [
        ({}, True),
        ({"hoodie.logfile.data.block.format": "parquet", "hoodie.parquet.compression.codec": "snappy"}, True),
        ({"hoodie.logfile.data.block.max.size": "1000", "hoodie.logfile.max.size": "4000"}, False),
    ],
    ids=["avro", "parquet", "many small blocks"],
)
def test_hudi_reads_and_upserts(tmp_path, hudi, options, positions):
    made = TwoCommits(tmp_path, 9, options, positions)
    assert len(made.logs) > 3 if "hoodie.logfile.max.size" in options else len(made.logs) == 1
    assert by_key(mortice.Table(made.table).snapshot().to_arrow().to_pylist()) == made.rows()
    assert read_by_hudi(hudi, made.table, tmp_path / "read") == made.rows()
    by_position = {"hoodie.merge.use.record.positions": "true"}
    assert read_by_hudi(hudi, made.table, tmp_path / "read", **by_position) == made.rows()

    # Keys of both partitions, and new ones: keys that Hudi's Bloom index does not find would be inserted twice.
    numbers = [*range(10, 30), *range(400, 410)]
    made.expected |= {number: row(number, 3) for number in numbers}
    rows = parquet(tmp_path / "upserts.parquet", [row(number, 3) for number in numbers])
    bloom = {"hoodie.index.type": "BLOOM", "hoodie.metadata.enable": "false", "hoodie.compact.inline": "false"}
    hudi.write(rows, made.table, {**WRITE, **bloom})
    assert by_key(mortice.Table(made.table).snapshot().to_arrow().to_pylist()) == made.rows()
    assert read_by_hudi(hudi, made.table, tmp_path / "read") == made.rows()

    # Now with a metadata table, and a compaction of our log.
    made.expected |= {number: row(number, 4) for number in range(3)}
    rows = parquet(tmp_path / "more.parquet", [row(number, 4) for number in range(3)])
    compact = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    hudi.write(rows, made.table, {**WRITE, **compact, "hoodie.metadata.enable": "true"})
    assert by_key(mortice.Table(made.table).snapshot().to_arrow().to_pylist()) == made.rows()
    assert read_by_hudi(hudi, made.table, tmp_path / "read", **{"hoodie.metadata.enable": "true"}) == made.rows()
    optimized = {"hoodie.datasource.query.type": "read_optimized"}
    assert read_by_hudi(hudi, made.table, tmp_path / "read", **optimized) == made.rows()


@pytest.mark.timeout(900)
def test_hudi_0_15_reads_and_upserts(tmp_path):
    jar = fetch_hudi.jar("0.15.0")
    if jar is None:
        pytest.skip("no jar of Hudi 0.15: python tests/fetch_hudi.py 0.15.0")
    hudi = HudiOnSpark(jar)
    try:
        made = TwoCommits(tmp_path, 6, {}, False)
        assert by_key(mortice.Table(made.table).snapshot().to_arrow().to_pylist()) == made.rows()
        assert read_by_hudi(hudi, made.table, tmp_path / "read") == made.rows()
        numbers = [*range(10, 30), *range(400, 410)]
        made.expected |= {number: row(number, 3) for number in numbers}
        rows = parquet(tmp_path / "upserts.parquet", [row(number, 3) for number in numbers])
        hudi.write(rows, made.table, {**WRITE, "hoodie.index.type": "BLOOM", "hoodie.metadata.enable": "false"})
        assert by_key(mortice.Table(made.table).snapshot().to_arrow().to_pylist()) == made.rows()
        assert read_by_hudi(hudi, made.table, tmp_path / "read") == made.rows()
    finally:
        hudi.close()


class Transactions:
    """A table that mortice and Hudi write to in turns, both with the metadata table."""

    def __init__(self, folder, version, options):
        self.folder, self.version, self.table = folder, version, folder / "table"
        self.options = {
            "hoodie.write.table.version": str(version),
            "hoodie.write.auto.upgrade": "false",
            **options,
        }
        create(self.table, version)
        self.expected = {}
        self.files = 0

    def path(self):
        self.files += 1
        return self.folder / f"{self.files}.parquet"

    def transact(self, inserts=(), logs=()):
        request = {
            "instant": "1",
            "completion": "1",
            "schema": SCHEMA,
            "key": "id",
            "options": self.options,
            "inserts": inserts,
            "logs": logs,
        }
        return [json.loads(line) for line in run("transact", self.table, stdin=json.dumps(request)).splitlines()]

    def insert(self, numbers, age):
        rows = [row(number, age) for number in numbers]
        self.expected |= {number: row(number, age) for number in numbers}
        parts = {part: [one for one in rows if one["part"] == part] for part in ("p0", "p1")}
        inserts = [
            {"partition": part, "prefix": str(uuid.uuid4()), "rows": parquet(self.path(), some)}
            for part, some in parts.items()
        ]
        return self.transact(inserts)

    def log(self, numbers, age, deleted=()):
        """Updates and deletes of rows that are in the latest slice of the group of p0 that mortice made first."""
        self.expected |= {number: row(number, age) for number in numbers}
        self.expected = {number: one for number, one in self.expected.items() if number not in deleted}
        slices = mortice.Table(self.table).file_slices()
        (slice_,) = [one for one in slices if one.partition == "p0" and one.file_id == self.group]
        names = [Path(file.path).name for file in slice_.log_files]
        log = {
            "partition": "p0",
            "file_id": slice_.file_id,
            "base_instant": slice_.base_instant,
            "slice": (Path(slice_.base_file.path).name, names) if self.version == 6 else None,
            "rows": parquet(self.path(), [row(number, age) for number in numbers]),
            "positions": None,
            "deletes": [row(number, 1)["id"] for number in deleted],
            "delete_positions": None,
        }
        return self.transact(logs=[log])

    def upsert_by_hudi(self, hudi, numbers, age, **options):
        self.expected |= {number: row(number, age) for number in numbers}
        rows = parquet(self.path(), [row(number, age) for number in numbers])
        hudi.write(rows, self.table, {**WRITE, **self.options, **options})

    def check(self, hudi):
        expected = by_key(self.expected.values())
        assert by_key(mortice.Table(self.table).snapshot().to_arrow().to_pylist()) == expected
        on = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
        assert read_by_hudi(hudi, self.table, self.folder / "read", **on) == expected
        filters = {
            "n > 300": lambda one: one["n"] is not None and one["n"] > 300,
            "n < 20 and part = 'p1'": lambda one: one["n"] is not None and one["n"] < 20 and one["part"] == "p1",
            "n is null": lambda one: one["n"] is None,
            "amount = 2.50": lambda one: one["amount"] == Decimal("2.50"),
            "id = 'key ü 0010'": lambda one: one["id"] == "key ü 0010",
            "day >= date'2024-01-27'": lambda one: one["day"] >= date(2024, 1, 27),
            "x < 0": lambda one: one["x"] < 0,
        }
        for where, passes in filters.items():
            found = read_by_hudi(hudi, self.table, self.folder / "read", where=where, **on)
            assert found == [one for one in expected if passes(one)], where


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", [9, 8, 6])
def test_hudi_uses_the_metadata_table_that_we_write(tmp_path, hudi, version):
    index = {"hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"} if version > 6 else {}
    made = Transactions(tmp_path, version, {**index, "hoodie.metadata.enable": "true"})
    first = made.insert(range(300), 1)
    made.group = first[0]["file_id"]
    made.check(hudi)
    made.log(range(0, 100, 2), 2, deleted=[200, 202, 250])
    made.check(hudi)
    # Keys of both partitions, one that was deleted, and new ones: what the index does not find comes twice.
    made.upsert_by_hudi(hudi, [*range(10, 30), 200, *range(400, 410)], 3)
    made.check(hudi)
    made.log(range(0, 50, 2), 4, deleted=[60])
    # The metadata table is compacted and cleaned by Hudi.
    services = {"hoodie.metadata.compact.max.delta.commits": "2"}
    for age in range(5, 9):
        made.upsert_by_hudi(hudi, range(age, age + 3), age, **services)
    made.log(range(0, 50, 2), 10, deleted=[62])
    made.insert(range(500, 510), 10)
    made.check(hudi)
    made.upsert_by_hudi(hudi, range(500, 512), 11, **services)
    made.check(hudi)


def test_write_statuses_describe_the_files(tmp_path):
    made = TwoCommits(tmp_path, 9, {}, True)
    (log,) = made.logs
    assert (log["writes"], log["inserts"], log["updates"], log["deletes"]) == (50, 0, 50, 3)
    for status in [*made.written, log]:
        path = made.table / status["file"]["path"]
        assert path.stat().st_size == status["file"]["bytes"]
    columns = {one["column"]: one for one in made.base["file"]["columns"]}
    assert columns["n"]["bounds"] == [{"Int": 2}, {"Int": 298}]
    assert (columns["n"]["values"], columns["n"]["nulls"]) == (150, 22)
    assert columns["amount"]["bounds"] == [{"Decimal": "0"}, {"Decimal": "298"}]
    assert made.base["file"]["key_range"] == ["key ü 0000", "key ü 0298"]
    assert len(base64.b64decode(made.base["file"]["bloom"][1])) == 323_534
    assert not (made.table / ".hoodie/.temp" / FIRST).exists() or not any(
        path.is_file() for path in (made.table / ".hoodie/.temp").rglob("*")
    )
