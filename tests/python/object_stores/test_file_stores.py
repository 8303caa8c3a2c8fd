"""Atomic file operations of stores: one of several writers succeeds, and the reported outcome is true."""

import pytest

from support.object_stores import azure as azure_module
from support.object_stores import servers
from support.object_stores.file_store import FileStore, wait_for_result
from support.object_stores.fixtures import KEYS
from support.object_stores.proxy import Fault, proxy

WRITERS = 8
LARGE = 17 << 20
QUICK = {"max_retries": 2, "retry_timeout": "20s", "read_timeout": "2s", "connect_timeout": "2s"}


def s3_client(endpoint, key, secret):
    boto3 = pytest.importorskip("boto3")
    return boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
    )


@pytest.fixture(scope="session")
def serialised_moto(moto):
    """moto checks for a file and stores it in two steps, so that two concurrent creates may succeed: they are
    serialised."""
    with proxy(moto, in_turn=True) as running:
        yield running.endpoint


@pytest.fixture
def on_moto(serialised_moto, bucket, request):
    options = {"endpoint": serialised_moto, "region": "us-east-1", **KEYS}
    return FileStore(f"s3://{bucket}/files/{request.node.name}", options)


@pytest.fixture(scope="session")
def seaweed_bucket(seaweed):
    s3_client(seaweed, *servers.SEAWEED_KEYS).create_bucket(Bucket="files")
    return "files"


@pytest.fixture
def on_seaweed(seaweed, seaweed_bucket, request):
    key, secret = servers.SEAWEED_KEYS
    options = {"endpoint": seaweed, "region": "us-east-1", "access_key_id": key, "secret_access_key": secret}
    return FileStore(f"s3://{seaweed_bucket}/{request.node.name}", options)


@pytest.fixture
def on_azurite(azurite, container, request):
    account = azure_module.ACCOUNT
    options = {"endpoint": f"{azurite}/{account}", "account_name": account, "account_key": azure_module.KEY}
    return FileStore(f"az://{container}/files/{request.node.name}", options)


@pytest.fixture
def on_cluster(hdfs, request):
    return FileStore(f"{hdfs.uri}/files/{request.node.name}", {"user": "mortice-tests"})


STORES = [
    "on_moto",
    *(pytest.param(name, marks=pytest.mark.object_stores) for name in ("on_seaweed", "on_azurite", "on_cluster")),
]
REPLACING = STORES[:-1]
"""HDFS has no conditional replacement."""


@pytest.fixture
def store(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_one_of_many_threads_creates_a_file_and_one_replaces_it(store):
    raced = store.run("race", "a b/commit", 5, WRITERS)
    assert raced["created"] == [1] * 5
    assert raced["replaced"] in ([1] * 5, [])
    assert raced["kept"]


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_one_of_many_processes_creates_a_file(store):
    racing = [store.start("put_if_absent", "commit", f"writer {writer}") for writer in range(WRITERS)]
    results = [result["put"] for result in _results(racing)]
    assert sorted(results) == ["refused"] * (WRITERS - 1) + ["written"]
    assert store.get("commit") == f"writer {results.index('written')}"


def _results(racing):
    return [wait_for_result(process) for process in racing]


@pytest.mark.parametrize("store", REPLACING, indirect=True)
def test_a_version_is_replaced_once_and_a_missing_file_never(store):
    etag = store.run("put_if_absent", "lock", "one")["etag"]
    assert store.run("put", "lock", "two", etag)["put"] == "written"
    assert store.run("put", "lock", "three", etag)["put"] == "refused"
    assert store.run("put", "none", "three", etag)["put"] == "refused"
    assert (store.get("lock"), store.get("none")) == ("two", None)


@pytest.mark.object_stores
def test_hdfs_refuses_conditional_replacement(on_cluster):
    etag = on_cluster.run("put_if_absent", "lock", "one")["etag"]
    refused = on_cluster.run("put", "lock", "two", etag)
    assert refused["error"] == "MORTICE-UNSUPPORTED"
    assert "use a lock" in refused["message"]
    assert on_cluster.run("put", "lock", "three")["put"] == "written"
    assert on_cluster.get("lock") == "three"


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_files_are_listed_renamed_and_removed(store):
    names = ["a", "b/c d", "b/p=1%20x/é", "b.c"]
    for name in names:
        assert store.run("put", name, f"content of {name}")["put"] == "written"
    assert store.run("list", "")["files"] == sorted(names)
    assert store.run("list", "b")["files"] == ["b/c d", "b/p=1%20x/é"]
    assert store.run("list", "none")["files"] == []
    renamed = store.run("rename", "a", "b/c d")["renamed"]
    assert renamed in ("Exists", "Unable")
    if renamed == "Exists":
        assert store.run("rename", "a", "new/a")["renamed"] == "Done"
        assert (store.get("a"), store.get("new/a")) == (None, "content of a")
    for _ in range(2):
        assert "error" not in store.run("delete", "b/c d")
    assert store.get("b/c d") is None
    assert store.get("b/p=1%20x/é") == "content of b/p=1%20x/é"


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_a_large_file_appears_when_complete_and_leaves_nothing_otherwise(store, request):
    written = store.run("upload", "large", LARGE, "finish")
    assert written["bytes"] == LARGE
    assert store.run("read", "large", LARGE) == written
    assert store.run("upload", "dropped", LARGE, "drop") == {"dropped": LARGE}
    assert store.run("list", "")["files"] == ["large"]
    if store.uri.startswith("s3:"):
        names = ("endpoint", "access_key_id", "secret_access_key")
        client = s3_client(*(store.options[name] for name in names))
        bucket, _, prefix = store.uri.removeprefix("s3://").partition("/")
        pending = client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
        assert not [upload for upload in pending if upload["Key"].startswith(prefix)]


@pytest.fixture
def faulty(store):
    """The store behind a proxy with faults that the test sets."""
    with proxy(store.options["endpoint"]) as running:
        path = "/" + "/".join(store.options["endpoint"].split("/")[3:])
        endpoint = running.endpoint + path.rstrip("/")
        yield running, FileStore(store.uri, {**store.options, **QUICK, "endpoint": endpoint})


@pytest.mark.parametrize("store", STORES[:2], indirect=True)
@pytest.mark.parametrize("kind", ["lose", "reset"])
def test_a_create_whose_response_was_lost_is_recognised(faulty, kind):
    running, store = faulty
    running.faults[:] = [Fault(kind, "/commit", method="PUT", times=1)]
    assert store.run("put_if_absent", "commit", "mine")["put"] == "written"
    running.faults[:] = [Fault(kind, "/commit", method="PUT", times=1)]
    assert store.run("put_if_absent", "commit", "another's")["put"] == "refused"
    assert store.get("commit") == "mine"


@pytest.mark.parametrize("store", STORES[:2], indirect=True)
def test_a_replacement_whose_response_was_lost_is_recognised(faulty):
    running, store = faulty
    etag = store.run("put_if_absent", "lock", "one")["etag"]
    running.faults[:] = [Fault("lose", "/lock", method="PUT", times=1)]
    assert store.run("put", "lock", "two", etag)["put"] == "written"
    running.faults[:] = [Fault("lose", "/lock", method="PUT", times=1)]
    assert store.run("put", "lock", "three", etag)["put"] == "refused"
    assert store.get("lock") == "two"


@pytest.mark.parametrize("store", STORES[:2], indirect=True)
def test_a_create_that_conflicts_with_another_is_retried(faulty):
    running, store = faulty
    racing = b"<Error><Code>ConditionalRequestConflict</Code><Message>another</Message></Error>"
    running.faults[:] = [Fault("status", "/commit", method="PUT", times=1, code=409, body=racing)]
    assert store.run("put_if_absent", "commit", "mine")["put"] == "written"
    assert store.get("commit") == "mine"


@pytest.mark.parametrize("store", STORES[:2], indirect=True)
def test_concurrent_creates_with_lost_responses(faulty):
    """Eight writers, and every second response to a create is lost: one reports success, and it did succeed."""
    running, store = faulty
    running.faults[:] = [Fault("lose", "/commit", method="PUT", times=4)]
    racing = [store.start("put_if_absent", "commit", f"writer {writer}") for writer in range(WRITERS)]
    results = [result["put"] for result in _results(racing)]
    assert sorted(results) == ["refused"] * (WRITERS - 1) + ["written"]
    assert store.get("commit") == f"writer {results.index('written')}"


@pytest.mark.object_stores
def test_a_wrong_secret_is_refused_by_a_server_that_checks_signatures(on_seaweed):
    wrong = FileStore(on_seaweed.uri, {**on_seaweed.options, "secret_access_key": "hunter2"})
    result = wrong.run("get", "a")
    assert result["error"] == "MORTICE-FORBIDDEN"
    assert "hunter2" not in result["message"]
    assert wrong.run("put_if_absent", "a", "x")["error"] == "MORTICE-FORBIDDEN"


@pytest.mark.object_stores
def test_faults_of_a_cluster_are_typed(on_cluster, hdfs):
    on_cluster.run("put", "closed", "x")
    hdfs.run("permit", "/files/" + on_cluster.uri.rsplit("/", 1)[1] + "/closed", "000")
    other = FileStore(on_cluster.uri, {"user": "somebody", "timeout": "10s"})
    assert other.run("get", "closed")["error"] == "MORTICE-FORBIDDEN"
    assert other.run("put_if_absent", "new", "x")["error"] == "MORTICE-FORBIDDEN"
    hdfs.run("safe-mode", "ENTER")
    try:
        assert on_cluster.run("put_if_absent", "new", "x")["error"] == "MORTICE-UNREACHABLE"
    finally:
        hdfs.run("safe-mode", "LEAVE")
    assert on_cluster.run("put_if_absent", "new", "x")["put"] == "written"
