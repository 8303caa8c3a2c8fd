"""Locks in ZooKeeper, shared with Curator's `InterProcessMutex`, which Hudi uses. Server and Curator are Spark's."""

import threading

import pyarrow as pa
import pytest

import mortice

PROVIDER = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"


@pytest.fixture(scope="module")
def zookeeper(spark, tmp_path_factory):
    """The address of a server, and a client of Curator."""
    jvm = spark._jvm
    folder = str(tmp_path_factory.mktemp("zookeeper"))
    file = jvm.java.io.File(folder)
    server = jvm.org.apache.zookeeper.server.ZooKeeperServer(file, file, 500)
    factory = jvm.org.apache.zookeeper.server.NIOServerCnxnFactory()
    factory.configure(jvm.java.net.InetSocketAddress("127.0.0.1", 0), 60)
    factory.startup(server)
    address = f"127.0.0.1:{factory.getLocalPort()}"
    policy = jvm.org.apache.curator.retry.RetryOneTime(100)
    client = jvm.org.apache.curator.framework.CuratorFrameworkFactory.newClient(address, policy)
    client.start()
    yield address, client
    client.close()
    factory.shutdown()


@pytest.fixture
def options(zookeeper):
    return {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.write.lock.provider": PROVIDER,
        "hoodie.write.lock.zookeeper.url": zookeeper[0],
        "hoodie.write.lock.zookeeper.base_path": "/hudi/locks",
        "hoodie.write.lock.wait_time_ms": "30000",
        "hoodie.write.num.retries.on.conflict.failures": "10",
    }


def rows(*numbers):
    return pa.table({"id": [f"k{n}" for n in numbers], "v": list(numbers)})


def new_table(folder):
    return mortice.create_table(folder / "t", rows(0).schema, name="trips", record_key="id")


def nodes(client, folder="/hudi/locks/trips"):
    return list(client.getChildren().forPath(folder))


def test_a_writer_has_a_node_while_it_commits(tmp_path, zookeeper, options):
    _, client = zookeeper
    found = []
    table = new_table(tmp_path).with_validators(lambda _: found.extend(nodes(client)))
    table.upsert(rows(1), options=options)
    (node,) = found
    assert node.startswith("_c_")
    assert "-lock-" in node
    assert nodes(client) == []
    implicit = PROVIDER.replace("Based", "BasedImplicitBasePath")
    table.upsert(rows(2), options={**options, "hoodie.write.lock.provider": implicit})
    (folder,) = nodes(client, "/tmp")
    assert (len(folder), nodes(client, f"/tmp/{folder}")) == (16, ["lock_key"])


def test_a_writer_waits_for_curator_and_curator_for_a_writer(spark, tmp_path, zookeeper, options):
    _, client = zookeeper
    mutex = spark._jvm.org.apache.curator.framework.recipes.locks.InterProcessMutex(client, "/hudi/locks/trips")
    table = new_table(tmp_path)
    mutex.acquire()
    with pytest.raises(mortice.MorticeError, match="another writer held the lock"):
        table.upsert(rows(1), options={**options, "hoodie.write.lock.wait_time_ms": "100"})
    assert len(nodes(client)) == 1
    done = []
    writer = threading.Thread(target=lambda: done.append(table.upsert(rows(1), options=options)))
    writer.start()
    while len(nodes(client)) < 2:
        assert writer.is_alive()
    assert done == []
    mutex.release()
    writer.join()
    assert done
    # A writer that commits keeps Curator waiting.
    seconds = spark._jvm.java.util.concurrent.TimeUnit.SECONDS
    acquired = []
    validated = table.with_validators(lambda _: acquired.append(mutex.acquire(0, seconds)))
    validated.upsert(rows(2), options=options)
    assert acquired == [False]
    assert mutex.acquire(10, seconds)
    mutex.release()
    assert nodes(client) == []


def test_several_writers_share_it(tmp_path, zookeeper, options):
    _, client = zookeeper
    path, failures = new_table(tmp_path).uri, []

    def write(first):
        try:
            for number in range(first, first + 3):
                mortice.Table(path).upsert(rows(number), options=options)
        except mortice.MorticeError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(mortice.Table(path).to_arrow()["v"].to_pylist()) == [0, 1, 2, 10, 11, 12, 20, 21, 22]
    assert nodes(client) == []


def test_what_is_wrong_is_named(tmp_path, options):
    table = new_table(tmp_path)
    with pytest.raises(mortice.StorageUnreachableError, match=r"ZooKeeper cannot be reached at 127\.0\.0\.1:1"):
        table.upsert(rows(1), options={**options, "hoodie.write.lock.zookeeper.url": "127.0.0.1:1"})
    without = {name: value for name, value in options.items() if not name.endswith("base_path")}
    with pytest.raises(mortice.InvalidArgumentError, match=r"zookeeper\.base_path"):
        table.upsert(rows(1), options=without)
