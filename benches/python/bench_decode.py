"""Decoding of one Avro log block: mortice compared with fastavro (into Python rows, and into Arrow)."""

import io
import json
import os
import random
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest

import mortice
from support.tables.log_writer import avro_block, datum

RECORDS = int(os.environ.get("BENCH_RECORDS", "20000"))
SCHEMA = {
    "type": "record",
    "name": "trip",
    "fields": [
        *(
            {"name": f"_hoodie_{name}", "type": ["null", "string"]}
            for name in ("commit_time", "record_key", "file_name")
        ),
        *({"name": f"text{at}", "type": ["null", "string"]} for at in range(6)),
        *({"name": f"whole{at}", "type": ["null", "long"]} for at in range(4)),
        *({"name": f"real{at}", "type": ["null", "double"]} for at in range(4)),
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 4}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    ],
}


def record(number, chance):
    """Returns a record; a twentieth of the values are null."""
    values = {
        "_hoodie_commit_time": "20240101000000000",
        "_hoodie_record_key": f"key-{number:010}",
        "_hoodie_file_name": "5c1d27a8-4a1c-4a3f-a3b0-9f62a2a1d0d5-0",
        "price": Decimal(chance.randrange(10**9)).scaleb(-4),
        "at": 1_700_000_000_000_000 + number,
    }
    values |= {f"text{at}": f"{chance.getrandbits(20 * (at + 1)):x}" for at in range(6)}
    values |= {f"whole{at}": chance.getrandbits(60) for at in range(4)}
    values |= {f"real{at}": chance.random() for at in range(4)}
    return {name: None if chance.random() < 0.05 else value for name, value in values.items()}


@pytest.fixture(scope="module")
def records():
    chance = random.Random(7)
    return [record(number, chance) for number in range(RECORDS)]


@pytest.fixture(scope="module")
def path(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / ".f_001.log.1_0-0-0"
    path.write_bytes(avro_block(SCHEMA, records, "001"))
    return path


@pytest.mark.benchmark(group=f"decode a block of {RECORDS:,} records × 19 columns")
def test_mortice(benchmark, path):
    log = mortice.LogFile(path)
    (block,) = log.blocks()
    assert benchmark(log.records, block).num_rows == RECORDS


@pytest.mark.benchmark(group=f"decode a block of {RECORDS:,} records × 19 columns")
@pytest.mark.parametrize("into", ["rows", "arrow"])
def test_fastavro(benchmark, records, into):
    parsed = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
    data = [datum(parsed, one) for one in records]

    def decode():
        rows = [fastavro.schemaless_reader(io.BytesIO(one), parsed, None) for one in data]
        return pa.Table.from_pylist(rows).num_rows if into == "arrow" else len(rows)

    assert benchmark.pedantic(decode, rounds=5) == RECORDS
