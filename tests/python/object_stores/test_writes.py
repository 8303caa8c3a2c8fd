"""Tables that are created and written on object stores and HDFS: the state of the same writes on a local disk."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

import mortice
from mortice import _mortice
from support.object_stores import azure as azure_module
from support.object_stores.fixtures import KEYS

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
KINDS = [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 6)]
LOCKED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
}
OBJECT_STORE_LOCK = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider",
}
needs_hdfs = pytest.mark.skipif(not _mortice.has_hdfs, reason="built without HDFS: maturin develop --features hdfs")


@pytest.fixture
def to_s3(moto, bucket):
    return SimpleNamespace(
        uri=f"s3://{bucket}/written", options={"endpoint": moto, "region": "us-east-1", **KEYS}, lock=OBJECT_STORE_LOCK
    )


@pytest.fixture
def to_azure(azurite, container):
    account = azure_module.ACCOUNT
    options = {"endpoint": f"{azurite}/{account}", "account_name": account, "account_key": azure_module.KEY}
    return SimpleNamespace(uri=f"az://{container}/written", options=options, lock={})


@pytest.fixture
def to_hdfs(hdfs):
    return SimpleNamespace(uri=f"{hdfs.uri}/written", options={"user": "mortice-tests"}, lock={})


@pytest.fixture(
    params=[
        "to_s3",
        pytest.param("to_azure", marks=pytest.mark.object_stores),
        pytest.param("to_hdfs", marks=[pytest.mark.object_stores, needs_hdfs]),
    ]
)
def storage(request):
    return request.getfixturevalue(request.param)


def rows(fares, ts):
    """Rows by key, in two cities."""
    ids = sorted(fares)
    cities = ["oslo" if int(one[1:]) % 2 else "rome" for one in ids]
    return pa.table(
        {"id": ids, "city": cities, "fare": [fares[one] for one in ids], "ts": [ts] * len(ids)}, schema=SCHEMA
    )


def create(uri, kind, options=None):
    table_type, version = kind
    names = {"name": "trips", "record_key": "id", "partition_by": "city", "ordering": "ts"}
    return mortice.create_table(uri, SCHEMA, **names, table_type=table_type, version=version, storage_options=options)


def history(table, options=None):
    table.upsert(rows({f"k{number}": float(number) for number in range(20)}, 1), options)
    table.upsert(rows({f"k{number}": -1.0 for number in range(5)} | {"k30": 3.0}, 2), options)
    table.insert(rows({"k40": 4.0}, 3), options)
    table.delete(rows({"k7": 0.0, "k30": 0.0}, 4).select(["id", "city"]), options)


def state(table):
    return table.snapshot(columns=SCHEMA.names).to_arrow().sort_by("id").to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_the_rows_of_the_same_writes_on_disk(storage, tmp_path, kind):
    local = create(tmp_path / "written", kind)
    history(local)
    remote = create(f"{storage.uri}-{kind[0]}-{kind[1]}", kind, storage.options)
    history(remote)
    assert state(remote) == state(local)
    again = mortice.Table(remote.uri, storage_options=storage.options)
    assert state(again) == state(local)
    assert len(again.timeline) == 4


def test_the_metadata_table_is_added_to_a_table_that_has_none(storage):
    uri = f"{storage.uri}-metadata"
    table = create(uri, KINDS[0], storage.options)
    table.upsert(rows({"k1": 1.0}, 1), {"hoodie.metadata.enable": "false"})
    table.upsert(rows({"k2": 2.0}, 1))
    assert [row["id"] for row in state(mortice.Table(uri, storage_options=storage.options))] == ["k1", "k2"]


def test_a_failed_write_is_rolled_back_by_the_next_one(storage):
    uri = f"{storage.uri}-failed"
    table = create(uri, KINDS[0], storage.options)
    table.upsert(rows({"k1": 1.0}, 1))
    with pytest.raises(mortice.InvalidArgumentError):
        table.upsert(pa.table({"id": ["k1", None], "city": ["oslo"] * 2, "fare": [1.0] * 2, "ts": [2, 2]}))
    table.upsert(rows({"k1": 5.0}, 3))
    assert [row["fare"] for row in state(table)] == [5.0]


def test_several_writers_share_the_lock_of_the_storage(storage):
    if not storage.lock:
        pytest.skip("this storage has no lock of its own")
    uri = f"{storage.uri}-locked"
    options = LOCKED | storage.lock
    create(uri, KINDS[0], storage.options).upsert(rows({"k1": 1.0}, 1), options)
    writers = [mortice.Table(uri, storage_options=storage.options) for _ in range(2)]
    for number, writer in enumerate(writers):
        writer.upsert(rows({f"k{number + 2}": 2.0}, 2), options)
    assert len(state(mortice.Table(uri, storage_options=storage.options))) == 3


@pytest.mark.object_stores
@needs_hdfs
def test_a_log_file_is_written_and_appended_to_on_hdfs(hdfs, to_hdfs, tmp_path):
    folder = f"{to_hdfs.uri}-log"
    hdfs.copy(tmp_path, folder.removeprefix(hdfs.uri))
    records = pa.table({"k": ["a", "b"], "v": pa.array([1, None], pa.int32())})
    instant = "20240101000000000"
    with mortice.LogWriter(folder, "f-0", instant, storage_options=to_hdfs.options) as writer:
        writer.write_records(records, table_name="trips")
    with mortice.LogWriter(folder, "f-0", instant, append=True, storage_options=to_hdfs.options) as more:
        more.write_records(records.slice(1), table_name="trips")
    assert more.path == writer.path
    log = mortice.LogFile(writer.path, storage_options=to_hdfs.options)
    assert [block.record_count for block in log.blocks()] == [2, 1]
