"""The number of requests of each operation, counted by the server, and errors of a store."""

import collections
import http.server
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile

import pytest

import mortice

pytest.importorskip("moto.server")

DATA = pathlib.Path(__file__).parents[2] / "data"
SECRET = "a-secret-that-nobody-sees"


class Counter(http.server.BaseHTTPRequestHandler):
    """Forwards requests to the store, and counts them by method and purpose."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind = "LIST" if "list-type=2" in self.path else self.command
        self.server.seen[kind] += 1
        self.server.most = max(self.server.most, self.server.enter())
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            request = urllib.request.Request(self.server.store + self.path, headers=headers, method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=20) as response:
                    status, kept, body = response.status, response.headers, response.read()
            except urllib.error.HTTPError as error:
                status, kept, body = error.code, error.headers, error.read()
            self.send_response(status)
            for name in ("ETag", "Last-Modified", "Content-Range", "Content-Type"):
                if kept.get(name):
                    self.send_header(name, kept[name])
            length = kept.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(body)
        finally:
            self.server.leave()

    def do_HEAD(self):
        self.do_GET()

    def log_message(self, *_):
        pass


class CountingServer(http.server.ThreadingHTTPServer):
    def __init__(self, store):
        super().__init__(("127.0.0.1", 0), Counter)
        self.store, self.lock, self.running = store, threading.Lock(), 0
        self.reset()

    def reset(self):
        self.seen, self.most = collections.Counter(), 0

    def enter(self):
        with self.lock:
            self.running += 1
            return self.running

    def leave(self):
        with self.lock:
            self.running -= 1


@pytest.fixture(scope="module")
def store():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def counted(store):
    server = CountingServer(store)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def bucket(store):
    import boto3

    client = boto3.client(
        "s3", endpoint_url=store, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key=SECRET
    )
    client.create_bucket(Bucket="tables")
    return client


def copied(bucket, case, folder):
    """A bundled table, in the bucket and in a local directory."""
    with zipfile.ZipFile(DATA / case / "table.zip") as archive:
        archive.extractall(folder)
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.endswith(".crc"):
            bucket.put_object(Bucket="tables", Key=f"{case}/{path.relative_to(folder)}", Body=path.read_bytes())
    return f"s3://tables/{case}"


def options(server):
    return {
        "endpoint": f"http://127.0.0.1:{server.server_port}",
        "access_key_id": "key",
        "secret_access_key": SECRET,
        "region": "us-east-1",
    }


def sorted_rows(table):
    return sorted(map(repr, table.to_pylist()))


# A table with a metadata table and one without; requests: opened, planned, and one for each file that is read.
@pytest.mark.parametrize(("case", "most"), [("h10_types", (2, 1)), ("h12_column_stats", (2, 4))])
def test_opening_takes_five_concurrent_requests_and_reading_one_per_file(tmp_path, bucket, counted, case, most):
    uri = copied(bucket, case, tmp_path)
    table = mortice.Table(uri, storage_options=options(counted), read_options=mortice.ReadOptions(threads=1))
    assert counted.seen == {"LIST": 3, "GET": 2}
    assert counted.most > 1
    assert table.storage_requests == {"list": 3, "open": 0, "read": 2}
    counted.reset()
    scan = table.snapshot()
    splits = scan.splits()
    assert counted.seen["LIST"] <= most[0]
    assert counted.seen["GET"] <= most[1]
    assert "HEAD" not in counted.seen
    counted.reset()
    rows = scan.to_arrow()
    files = scan.report()["files"]
    assert counted.seen == {"GET": files}
    assert scan.report()["read_requests"] == files
    assert len(splits) > 1
    assert sorted_rows(rows) == sorted_rows(mortice.Table(tmp_path).snapshot().to_arrow())


def test_a_file_that_changed_since_planning_is_an_error(tmp_path, bucket, counted):
    uri = copied(bucket, "h10_types", tmp_path)
    scan = mortice.Table(uri, storage_options=options(counted)).snapshot()
    scan.splits()
    keys = [item["Key"] for item in bucket.list_objects_v2(Bucket="tables", Prefix="h10_types/")["Contents"]]
    base = [key for key in keys if key.endswith(".parquet") and "/.hoodie" not in key]
    content = bucket.get_object(Bucket="tables", Key=base[0])["Body"].read()
    for key in base:
        bucket.put_object(Bucket="tables", Key=key, Body=content[:-1] + b"?")
    with pytest.raises(mortice.FileChangedError, match="plan the query again"):
        scan.to_arrow()
    for key in base:
        bucket.delete_object(Bucket="tables", Key=key)
    with pytest.raises(mortice.FileCleanedError, match="plan the query again"):
        scan.to_arrow()


def test_an_unreachable_endpoint_is_an_error_without_secrets():
    wrong = {"endpoint": "http://127.0.0.1:9", "access_key_id": "key", "secret_access_key": SECRET}
    with pytest.raises(mortice.StorageUnreachableError) as raised:
        mortice.Table("s3://tables/none", storage_options={**wrong, "max_retries": "1"})
    assert SECRET not in str(raised.value)
    assert "s3://tables/none" in str(raised.value)


def test_a_prefix_without_a_table_is_not_found(bucket, counted):
    with pytest.raises(mortice.TableNotFoundError, match=r"\.hoodie"):
        mortice.Table("s3://tables/no/such/table", storage_options=options(counted))


WAITING = """
import signal, sys, mortice
# A process that was begun in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("started", flush=True)
try:
    options = {"endpoint": sys.argv[1], "access_key_id": "a", "secret_access_key": "b"}
    mortice.Table("s3://tables/t", storage_options=options)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interrupt_ends_the_wait_for_a_store_that_does_not_respond():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-W", "ignore", "-c", WAITING, endpoint]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "started\n"
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=15)
    assert out == "interrupted\n"
