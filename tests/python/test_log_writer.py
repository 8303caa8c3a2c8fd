"""Log files that mortice writes: reading them again, and invalid input."""

import datetime
import decimal
import json
import threading

import pyarrow as pa
import pytest

import mortice
from support.cases import DATA

INSTANT = "20240101000000000"
SCHEMA = {
    "type": "record",
    "name": "trip",
    "fields": [
        {"name": "k", "type": "string"},
        {"name": "v", "type": ["null", "int"], "default": None},
    ],
}
TRIPS = pa.table({"k": ["a", "b"], "v": pa.array([1, None], pa.int32())})


def writer(folder, **arguments):
    return mortice.LogWriter(folder, "f-0", INSTANT, **arguments)


def blocks_of(path):
    log = mortice.LogFile(path)
    blocks = list(log.blocks())
    assert [block.offset for block in log.blocks(reverse=True)] == [block.offset for block in blocks][::-1]
    assert not any(block.damage for block in blocks)
    return log, blocks


def test_blocks_of_every_type_round_trip(tmp_path):
    deletes = pa.table({"record_key": ["c"], "ts": pa.array([7], pa.int64())})
    with writer(tmp_path) as log:
        first = log.write_records(TRIPS, schema=SCHEMA)
        more = log.append(
            *log.records(TRIPS, schema=json.dumps(SCHEMA), format="parquet", compression="zstd", instant="2"),
            log.deletes(deletes, partition_path="p", ordering="ts", schema=SCHEMA),
        )
        assert [block.path for block in first + more] == [log.path] * 3
        assert [block.offset for block in more] == [first[0].length, first[0].length + more[0].length]
        log.write_rollback("2", instant="3")
    assert log.paths == [str(tmp_path / f".f-0_{INSTANT}.log.1_1-0-1")]
    file, blocks = blocks_of(log.path)
    assert [(block.type, block.instant_time) for block in blocks] == [
        ("AVRO_DATA_BLOCK", INSTANT),
        ("PARQUET_DATA_BLOCK", "2"),
        ("DELETE_BLOCK", INSTANT),
        ("COMMAND_BLOCK", "3"),
    ]
    for block in blocks[:2]:
        assert block.header["SCHEMA"] == json.dumps(SCHEMA)
        assert file.records(block).to_pylist() == TRIPS.to_pylist()
    assert file.deletes(blocks[2]).to_pylist() == [
        {"record_key": "c", "partition_path": "p", "ordering_value": "7", "ordering_type": "long"}
    ]
    assert blocks[3].header == {"INSTANT_TIME": "3", "TARGET_INSTANT_TIME": "2", "COMMAND_BLOCK_TYPE": "0"}


def data_blocks(path):
    """Returns the valid blocks of Avro records in a log of Hudi, each with its content."""
    log = mortice.LogFile(path)
    whole = path.read_bytes()
    try:
        for block in log.blocks():
            if block.type in {"AVRO_DATA_BLOCK", "CDC_DATA_BLOCK"}:
                yield log.records(block), block, whole[block.content_offset :][: block.content_length]
    except mortice.MorticeError:
        return  # the file is truncated here


def test_records_of_hudi_are_written_with_the_same_bytes(tmp_path):
    """All bundled logs of every release are read into Arrow and written again with the same schema."""
    count = 0
    with writer(tmp_path) as log:
        for path in sorted(DATA.glob("log_*/logs/.*")):
            for records, block, content in data_blocks(path):
                (again,) = log.records(records, schema=block.header["SCHEMA"])
                # The records follow a version, which differs by release, and their number.
                assert bytes(again)[-12 - len(content) + 4 : -12] == content[4:], (path.name, block.offset)
                count += 1
    assert count > 50


def test_the_positions_of_blocks_are_returned(tmp_path):
    with writer(tmp_path) as log:
        assert (log.path, log.paths, log.append()) == (None, [], [])
        one = log.rollback("1")
        written = [*log.append(one, one), log.write_rollback("1")]
    assert written == [mortice.WrittenBlock(log.path, at * len(one), len(one)) for at in range(3)]
    assert one.type == "COMMAND_BLOCK"
    assert one.record_count is None
    assert (tmp_path / written[0].path).read_bytes() == bytes(one) * 3


def everything(rows):
    """Columns of every type that a Hudi table can have."""
    at = datetime.datetime(2024, 5, 17, 1, 2, 3, 456789)
    point = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    columns = {
        "b": (pa.bool_(), True),
        "i": (pa.int32(), -5),
        "l": (pa.int64(), 2**62),
        "f": (pa.float32(), 0.25),
        "d": (pa.float64(), -0.0),
        "s": (pa.string(), "häß€🚕"),
        "by": (pa.binary(), b"\x00\xff"),
        "dc": (pa.decimal128(10, 2), decimal.Decimal("-12345678.90")),
        "big": (pa.decimal128(38, 18), decimal.Decimal("1.000000000000000001")),
        "dt": (pa.date32(), at.date()),
        "ts": (pa.timestamp("us", "UTC"), at.replace(tzinfo=datetime.timezone.utc)),
        "lts": (pa.timestamp("us"), at),
        "arr": (pa.list_(pa.field("element", pa.int64())), [1, None]),
        "m": (pa.map_(pa.string(), pa.float64()), [("k", 1.5)]),
        "st": (point, {"x": 1, "y": ["z", None]}),
    }
    return pa.table({name: pa.array([value, None] * rows, kind) for name, (kind, value) in columns.items()})


@pytest.mark.parametrize("format_", ["avro", "parquet"])
def test_every_type_round_trips(tmp_path, format_):
    table = everything(3)
    with writer(tmp_path) as log:
        log.write_records(table, table_name="trips", format=format_)
    file, (block,) = blocks_of(log.path)
    schema = json.loads(block.header["SCHEMA"])
    assert (schema["namespace"], schema["name"]) == ("hoodie.trips", "trips_record")
    assert pa.table(file.records(block)).to_pylist() == table.to_pylist()


@pytest.mark.parametrize(
    "data",
    [
        TRIPS.to_batches()[0],
        TRIPS.to_reader(),
        pa.StructArray.from_arrays([column.chunk(0) for column in TRIPS.columns], TRIPS.column_names),
        TRIPS.cast(pa.schema([("k", pa.large_string()), ("v", pa.int8())])),
        TRIPS.set_column(0, "k", TRIPS["k"].dictionary_encode()),
        TRIPS.slice(0, 2),
    ],
    ids=["batch", "reader", "structs", "cousins", "dictionary", "slice"],
)
def test_any_arrow_data_is_written(tmp_path, data):
    with writer(tmp_path) as log:
        log.write_records(data, schema=SCHEMA)
    file, (block,) = blocks_of(log.path)
    assert file.records(block).to_pylist() == TRIPS.to_pylist()


def test_data_frames_are_written(tmp_path):
    pandas = pytest.importorskip("pandas")
    with writer(tmp_path) as log:
        log.write_records(pandas.DataFrame({"k": ["a"]}), schema=SCHEMA)
    file, (block,) = blocks_of(log.path)
    assert file.records(block).to_pylist() == [{"k": "a", "v": None}]


def test_records_are_divided_into_blocks(tmp_path):
    keys = [f"{number:06}" for number in range(1000)]
    table = pa.table({"k": keys, "v": pa.array(range(1000), pa.int32())})
    with writer(tmp_path, max_file_bytes=5000) as log:
        log.write_records(table, schema=SCHEMA, max_block_bytes=1000)
        log.write_records(table, schema=SCHEMA, max_block_bytes=10**6)
    assert [path.rsplit(".", 1)[1] for path in log.paths] == ["1_1-0-1", "2_1-0-1"]
    file, blocks = blocks_of(log.paths[0])
    assert max(block.content_length for block in blocks) <= 1000
    assert [key for block in blocks for key in file.records(block)["k"].to_pylist()] == keys
    file, (block,) = blocks_of(log.paths[1])
    assert block.record_count == 1000


def test_appending_continues_the_latest_file(tmp_path):
    for number, append in enumerate([True, True, False]):
        with writer(tmp_path, append=append, write_token=None if number else "0-7-8") as log:
            log.write_rollback("1", instant=str(number))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f".f-0_{INSTANT}.log.1_0-7-8", f".f-0_{INSTANT}.log.2_1-0-1"]
    assert [block.instant_time for block in blocks_of(tmp_path / names[0])[1]] == ["0", "1"]


def test_concurrent_tasks_get_different_file_names(tmp_path):
    start = threading.Barrier(8)
    paths = []

    def task(number):
        with writer(tmp_path, version=1) as log:
            start.wait()
            log.write_rollback("1", instant=str(number))
        paths.append((log.path, str(number)))

    threads = [threading.Thread(target=task, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(dict(paths)) == len(list(tmp_path.iterdir())) == 8
    for path, instant in paths:
        assert [block.instant_time for block in blocks_of(path)[1]] == [instant]


def test_records_that_cannot_be_written_leave_no_file(tmp_path):
    def rows():
        yield TRIPS.to_batches()[0]
        raise ValueError("the source failed")

    with writer(tmp_path) as log:
        for data, word in [
            (pa.table({"k": ["a", None]}), "row 1, field k: null"),
            (pa.table({"k": [1]}), "Int64 cannot be written as string"),
            (pa.table({"key": ["a"]}), "no such field"),
            (pa.RecordBatchReader.from_batches(TRIPS.schema, rows()), "the source failed"),
            (["a"], "expected Arrow data, got list"),
            (pa.chunked_array([["a"]]), "no record batches"),
            (pa.array(["a"]), "no record batches"),
        ]:
            with pytest.raises(mortice.InvalidArgumentError, match=word):
                log.write_records(data, schema=SCHEMA)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "kind", "word"),
    [
        ({}, mortice.InvalidArgumentError, "either schema"),
        ({"schema": SCHEMA, "table_name": "t"}, mortice.InvalidArgumentError, "either schema"),
        ({"schema": "{"}, mortice.InvalidArgumentError, "schema is no Avro schema"),
        ({"schema": 7}, mortice.InvalidArgumentError, "JSON string or a mapping"),
        ({"schema": {"a": object()}}, mortice.InvalidArgumentError, "written as JSON"),
        ({"table_name": ""}, mortice.InvalidArgumentError, "table_name"),
        ({"table_name": "t", "format": "hfile"}, mortice.UnsupportedError, "hfile"),
        ({"table_name": "t", "format": "cdc"}, mortice.UnsupportedError, "cdc"),
        ({"table_name": "t", "format": "orc"}, mortice.InvalidArgumentError, "orc"),
        ({"table_name": "t", "compression": "lzo"}, mortice.InvalidArgumentError, "lzo"),
        ({"table_name": "t", "max_block_bytes": 0}, mortice.InvalidArgumentError, "max_block_bytes"),
        ({"table_name": "t", "instant": "x"}, mortice.InvalidArgumentError, "digits"),
        ({"table_name": "t", "header": {"SCHEMA": "{}"}}, mortice.InvalidArgumentError, "SCHEMA is derived"),
        ({"table_name": "t", "header": {"X": "1"}}, mortice.InvalidArgumentError, "'X'|\"X\""),
        ({"table_name": "t", "header": ["X"]}, mortice.InvalidArgumentError, "header must be a mapping"),
        ({"table_name": "t", "header": {"IS_PARTIAL": True}}, mortice.InvalidArgumentError, "IS_PARTIAL"),
    ],
)
def test_invalid_arguments_are_refused_by_name(tmp_path, arguments, kind, word):
    with writer(tmp_path) as log, pytest.raises(kind, match=word):
        log.write_records(TRIPS, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_header_extras_are_written(tmp_path):
    extras = {
        "IS_PARTIAL": "true",
        "COMPACTED_BLOCK_TIMES": "1,2",
        "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS": "0",
        "RECORD_POSITIONS": "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA=",
    }
    with writer(tmp_path) as log:
        log.write_records(TRIPS, schema=SCHEMA, header=extras)
        log.write_deletes(pa.table({"record_key": ["a", "b"]}), partition_path="", header=extras)
        with pytest.raises(mortice.InvalidArgumentError, match="RECORD_POSITIONS does not fit"):
            log.write_deletes(pa.table({"record_key": ["a"]}), partition_path="", header=extras)
    for block in blocks_of(log.path)[1]:
        assert extras.items() <= block.header.items()


def test_invalid_deletes_are_refused_by_column(tmp_path):
    deletes = pa.table({"record_key": ["a"], "n": [1], "long": [decimal.Decimal("0.0000000000000001")]})
    with writer(tmp_path) as log:
        for arguments, word in [
            ({}, 'no column "partition_path"'),
            ({"partition_column": "n"}, '"n" must be a string column, got Int64'),
            ({"partition_path": "", "ordering": ["x"]}, 'no column "x"'),
            ({"partition_path": "", "ordering": "long"}, 'ordering column "long": row 0'),
            ({"partition_path": 7}, "partition_path"),
            ({"partition_path": "", "ordering": 7}, "ordering"),
        ]:
            with pytest.raises(mortice.InvalidArgumentError, match=word):
                log.write_deletes(deletes, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_invalid_writers_are_refused(tmp_path):
    for arguments, word in [
        ({"version": 0}, "version"),
        ({"write_token": "1"}, "write token"),
        ({"max_file_bytes": 0}, "max_file_bytes"),
        ({"storage_options": {"x": 1}}, "storage option"),
    ]:
        with pytest.raises(mortice.InvalidArgumentError, match=word):
            writer(tmp_path, **arguments)
    with pytest.raises(mortice.InvalidArgumentError, match="file id"):
        mortice.LogWriter(tmp_path, "f_0", INSTANT)
    with pytest.raises(mortice.TableNotFoundError):
        writer(tmp_path / "none")
    with pytest.raises(mortice.UnsupportedError, match="oss"):
        writer("oss://bucket/trips")
    log = writer(tmp_path)
    log.close()
    log.close()
    with pytest.raises(mortice.InvalidArgumentError, match="closed"):
        log.write_rollback("1")
