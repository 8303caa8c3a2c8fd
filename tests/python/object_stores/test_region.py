"""The region of an S3 bucket, if no option names it: it is looked up once, without credentials."""

import http.server
import threading

import pytest

import mortice

KEYS = {"access_key_id": "key", "secret_access_key": "secret"}


@pytest.fixture
def refusing_proxy():
    """An HTTPS proxy that refuses every connection, and the requested hosts."""
    hosts = []

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_CONNECT(self):
            hosts.append(self.path)
            self.send_error(502)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", hosts
    server.shutdown()
    thread.join()
    server.server_close()


def hosts_of(proxy, options):
    url, hosts = proxy
    with pytest.raises(mortice.StorageUnreachableError):
        mortice.Table("s3://lake/trips", storage_options=KEYS | options | {"proxy_url": url, "max_retries": "0"})
    return hosts


def test_the_region_of_a_bucket_is_looked_up_once_before_the_default(refusing_proxy):
    first, *others = hosts_of(refusing_proxy, {})
    assert first == "lake.s3.amazonaws.com:443"
    assert set(others) == {"s3.us-east-1.amazonaws.com:443"}


def test_a_configured_region_is_not_looked_up(refusing_proxy):
    assert set(hosts_of(refusing_proxy, {"region": "eu-west-1"})) == {"s3.eu-west-1.amazonaws.com:443"}
