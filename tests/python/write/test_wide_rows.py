"""Values of hundreds of kilobytes: batches are limited by their bytes, and no rows are lost or refused on any road.

The memory limit makes the largest batch small (an eighth of it, at least 1 MiB), so that tables of tens of megabytes
have many batches.
"""

import resource
import subprocess
import sys

import pyarrow as pa
import pytest

import mortice
from support.tables.written import NO_SERVICES

MEMORY = 8 << 20
BATCH = 1 << 20  # MEMORY / 8
# A batch may be about twice as large as planned, as sizes are averages.
MOST = 2 * BATCH
ROWS = 48
TYPES = ["MERGE_ON_READ", "COPY_ON_WRITE"]
SHAPES = ["distinct", "alike", "some"]
LOGS = NO_SERVICES | {"hoodie.parquet.small.file.limit": "0"}


def value(shape, number, size=128 << 10):
    """Returns a value of a row: all differ, all are alike (one entry of a dictionary), or most are short."""
    if shape == "alike":
        return "v" * size
    if shape == "some" and number % 8:
        return f"short {number}"
    return f"{number:08}" + "v" * (size - 8)


def table_of(shape, numbers=range(ROWS), ts=0, kind=None):
    values = [value(shape, number + ts) for number in numbers]
    kind = kind or pa.string()
    columns = {
        "id": pa.array([f"key {number:04}" for number in numbers]),
        "ts": pa.array([ts] * len(numbers), pa.int64()),
        "s": pa.array([text.encode() for text in values] if pa.types.is_binary(kind) else values, kind),
    }
    return pa.table(columns)


def created(folder, table_type="COPY_ON_WRITE", kind=None, **arguments):
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("s", kind or pa.string())])
    mortice.create_table(folder, schema, name="t", record_key="id", ordering="ts", table_type=table_type, **arguments)
    return opened(folder)


def opened(folder, **arguments):
    return mortice.Table(folder, read_options=mortice.ReadOptions(memory_limit=MEMORY, **arguments))


def digest(text):
    return (text[:16], len(text))


def expected(*tables):
    """Returns the last row of each key, with the beginning and the length of its value."""
    rows = {}
    for table in tables:
        for row in table.to_pylist():
            rows[row["id"]] = (row["ts"], *digest(row["s"]))
    return rows


def read(scan, most=MOST):
    """Returns the rows of a scan, after checking the size of its batches."""
    rows, batches = {}, 0
    for batch in scan.to_reader():
        assert batch.num_rows == 1 or batch.get_total_buffer_size() == 0 or batch.nbytes <= most, batch.nbytes
        for row in batch.select(["id", "ts", "s"]).to_pylist():
            assert row["id"] not in rows
            rows[row["id"]] = (row["ts"], *digest(row["s"]))
        batches += 1
    assert batches > 1 or sum(size for *_, size in rows.values()) < MOST
    return rows


def in_stream(rows, size=5):
    return pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=size))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("operation", ["bulk_insert", "upsert"])
def test_batches_of_base_files(tmp_path, shape, threads, operation):
    given = table_of(shape)
    getattr(created(tmp_path / "t"), operation)(in_stream(given), NO_SERVICES)
    table = opened(tmp_path / "t", threads=threads)
    assert read(table.snapshot()) == expected(given)
    assert read(table.snapshot(filters=[("id", ">=", "key 0020")])) == expected(given.slice(20))
    assert table.snapshot(columns=["id"]).to_arrow().num_rows == table.snapshot().count() == ROWS
    whole = table.snapshot(columns=["id", "ts", "s"]).to_arrow()
    assert expected(whole) == expected(given)
    assert whole["s"].num_chunks > 1 or shape == "some"


@pytest.mark.parametrize("codec", ["gzip", "zstd", "snappy", "uncompressed"])
def test_batches_of_each_codec(tmp_path, codec):
    given = table_of("distinct")
    created(tmp_path / "t").bulk_insert(given, NO_SERVICES | {"hoodie.parquet.compression.codec": codec})
    assert read(opened(tmp_path / "t").snapshot()) == expected(given)


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.list_(pa.string()), pa.struct([("a", pa.string())]), pa.map_(pa.string(), pa.string())],
    ids=str,
)
@pytest.mark.parametrize("table_type", TYPES)
def test_batches_of_other_types(tmp_path, kind, table_type):
    def value_of(number):
        text = value("distinct", number)
        if pa.types.is_binary(kind):
            return text.encode()
        if pa.types.is_list(kind):
            return [text[:100]] * (len(text) // 100)
        return {"a": text} if pa.types.is_struct(kind) else [("a", text)]

    def rows_of(ts):
        values = pa.array([value_of(number + ts) for number in range(ROWS)], kind)
        return pa.table({"id": [f"key {number:04}" for number in range(ROWS)], "ts": [ts] * ROWS, "s": values})

    created(tmp_path / "t", table_type, kind).bulk_insert(rows_of(0), NO_SERVICES)
    table = opened(tmp_path / "t")
    table.upsert(rows_of(1).slice(0, ROWS // 2), LOGS)
    found, batches = [], 0
    for batch in table.snapshot(columns=["id", "ts", "s"]).to_reader():
        # Items of lists have offsets and levels.
        assert batch.num_rows == 1 or batch.nbytes <= 2 * MOST
        found += batch.to_pylist()
        batches += 1
    given = pa.concat_tables([rows_of(1).slice(0, ROWS // 2), rows_of(0).slice(ROWS // 2)])
    assert sorted(found, key=lambda row: row["id"]) == given.to_pylist()
    assert batches > 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block", ["avro", "parquet"])
def test_batches_of_logs(tmp_path, shape, block):
    """Small base rows are replaced by large log rows, and large rows are inserted by logs."""
    options = LOGS | {"hoodie.logfile.data.block.format": block, "hoodie.index.type": "BUCKET"}
    options |= {"hoodie.bucket.index.num.buckets": "1"}
    created(tmp_path / "t", "MERGE_ON_READ")
    narrow = pa.table({"id": [f"key {number:04}" for number in range(ROWS)], "ts": [0] * ROWS, "s": ["x"] * ROWS})
    opened(tmp_path / "t").upsert(narrow, options)
    opened(tmp_path / "t").compact(options=NO_SERVICES)
    changed = table_of(shape, range(ROWS // 2, 2 * ROWS), ts=1)
    opened(tmp_path / "t").upsert(in_stream(changed), options)
    table = opened(tmp_path / "t")
    now = expected(narrow, changed)
    assert read(table.snapshot()) == now
    assert read(table.snapshot(filters=[("ts", "=", 1)])) == expected(changed)
    assert read(opened(tmp_path / "t", batch_rows=7).snapshot()) == now
    assert table.snapshot().count() == len(now)
    table.compact(options=NO_SERVICES)
    assert read(opened(tmp_path / "t").snapshot()) == now
    assert not opened(tmp_path / "t").verify().findings


@pytest.mark.parametrize("table_type", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_changes_of_large_rows(tmp_path, table_type, shape):
    created(tmp_path / "t", table_type).bulk_insert(in_stream(table_of(shape)), NO_SERVICES)
    changed = table_of(shape, range(0, ROWS, 3), ts=1)
    opened(tmp_path / "t").upsert(in_stream(changed), NO_SERVICES)
    gone = [f"key {number:04}" for number in range(1, ROWS, 3)]
    opened(tmp_path / "t").delete(pa.table({"id": gone}), NO_SERVICES)
    now = {key: row for key, row in expected(table_of(shape), changed).items() if key not in gone}
    assert read(opened(tmp_path / "t").snapshot()) == now
    opened(tmp_path / "t").delete_where("ts = 1", NO_SERVICES)
    now = {key: row for key, row in now.items() if row[0] != 1}
    assert read(opened(tmp_path / "t").snapshot()) == now
    opened(tmp_path / "t").update_where({"ts": "7"}, "ts = 0", NO_SERVICES)
    now = {key: (7, *row[1:]) for key, row in now.items()}
    assert read(opened(tmp_path / "t").snapshot()) == now
    if table_type == "MERGE_ON_READ":
        opened(tmp_path / "t").compact(options=NO_SERVICES)
    opened(tmp_path / "t").cluster(NO_SERVICES | {"hoodie.clustering.plan.strategy.sort.columns": "id"})
    assert read(opened(tmp_path / "t").snapshot()) == now
    assert not opened(tmp_path / "t").verify(keys=True).findings


@pytest.mark.parametrize("sort", ["NONE", "GLOBAL_SORT", "PARTITION_SORT"])
@pytest.mark.parametrize("shape", SHAPES)
def test_large_rows_are_sorted(tmp_path, sort, shape):
    given = table_of(shape)
    created(tmp_path / "t").bulk_insert(in_stream(given), NO_SERVICES | {"hoodie.bulkinsert.sort.mode": sort})
    assert read(opened(tmp_path / "t").snapshot()) == expected(given)


READ = """
import resource, sys, warnings
warnings.simplefilter("ignore")
import mortice
options = mortice.ReadOptions(threads=1, memory_limit=8 << 20)
mortice.Table(sys.argv[1], read_options=options).snapshot(columns=["id"]).to_arrow()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for batch in mortice.Table(sys.argv[1], read_options=options).snapshot().to_reader():
    del batch
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is that of Linux")
def test_memory_of_a_read(tmp_path):
    rows = 512
    given = table_of("alike", range(rows))
    created(tmp_path / "t").bulk_insert(given, NO_SERVICES)
    done = subprocess.run([sys.executable, "-c", READ, tmp_path / "t"], capture_output=True, text=True, check=True)
    # 64 MiB are read; a batch and the pages that it is decoded from are a few MiB.
    assert int(done.stdout) < 40 << 20


READ_BY_THREADS = """
import sys, threading, time, warnings
warnings.simplefilter("ignore")
import mortice

def used():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) << 10

path, limit, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
options = mortice.ReadOptions(memory_limit=limit, threads=threads)
mortice.Table(path, read_options=options).snapshot(columns=["id"]).to_arrow()
before, peak, is_done = used(), 0, threading.Event()

def watch():
    global peak
    while not is_done.wait(0.002):
        peak = max(peak, used())

watcher = threading.Thread(target=watch)
watcher.start()
rows = 0
for batch in mortice.Table(path, read_options=options).snapshot().to_reader():
    rows += batch.num_rows
    del batch
is_done.set()
watcher.join()
print(rows, peak - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RssAnon is Linux's")
@pytest.mark.parametrize("threads", [1, 4, 8])
def test_memory_of_several_threads(tmp_path, threads):
    """Threads share the limit: each may have one row more than its share."""
    size, count, partitions, limit = 1 << 20, 64, 8, 256 << 20
    schema = pa.schema([("id", pa.string()), ("p", pa.string()), ("s", pa.string())])
    table = mortice.create_table(
        tmp_path / "t", schema, name="t", record_key="id", partition_by="p", table_type="COPY_ON_WRITE"
    )
    values = [value("distinct", number, size) for number in range(count)]
    for partition in range(partitions):
        ids = [f"{partition} {number}" for number in range(count)]
        table.bulk_insert(pa.table([ids, [f"p{partition}"] * count, values], schema=schema), NO_SERVICES)
    command = [sys.executable, "-c", READ_BY_THREADS, tmp_path / "t", str(limit), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, used = map(int, done.stdout.split())
    assert rows == count * partitions
    assert used <= limit + threads * size


@pytest.mark.slow
@pytest.mark.parametrize("table_type", TYPES)
@pytest.mark.parametrize("operation", ["bulk_insert", "upsert"])
def test_more_than_an_arrow_column_holds(tmp_path, table_type, operation):
    """A column of a base file has 2.6 GiB, where the offsets of an Arrow column have 31 bits."""
    count, size = 2600, 1 << 20
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("s", pa.string())])

    def batches():
        for start in range(0, count, 50):
            numbers = range(start, min(start + 50, count))
            values = pa.array([value("distinct", number, size) for number in numbers])
            ids = pa.array([f"key {number:04}" for number in numbers])
            yield pa.record_batch([ids, pa.array([0] * len(numbers), pa.int64()), values], schema=schema)

    def check(rows):
        found = 0
        for batch in (
            mortice.Table(tmp_path / "t", read_options=mortice.ReadOptions(memory_limit=256 << 20))
            .snapshot(meta=False)
            .to_reader()
        ):
            assert batch.nbytes <= 64 << 20
            found += batch.num_rows
        assert found == rows

    created(tmp_path / "t", table_type)
    getattr(opened(tmp_path / "t"), operation)(pa.RecordBatchReader.from_batches(schema, batches()), NO_SERVICES)
    check(count)
    opened(tmp_path / "t").upsert({"id": ["key 0001"], "ts": [1], "s": ["new"]}, NO_SERVICES)
    check(count)
    assert not opened(tmp_path / "t").verify().findings
    if table_type == "MERGE_ON_READ":
        opened(tmp_path / "t").compact(options=NO_SERVICES)
    opened(tmp_path / "t").cluster(NO_SERVICES)
    check(count)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 << 20
