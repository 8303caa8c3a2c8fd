"""Metrics and callbacks of commits by Hudi's options, received by local servers."""

import http.server
import json
import socket
import socketserver
import threading
import urllib.request

import pyarrow as pa
import pytest

import mortice

ROWS = pa.table({"id": ["a", "b"], "ts": [1, 1], "p": ["x", "y"]})
METRICS = {"hoodie.metrics.on": "true"}
CALLBACK = "hoodie.write.commit.callback"


@pytest.fixture
def table(tmp_path):
    return mortice.create_table(
        tmp_path / "trips", ROWS.schema, name="shop.trips", record_key="id", partition_by="p", ordering="ts"
    )


@pytest.fixture
def received():
    """The requests that a server has got, as (path, headers, body), and its port."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            requests.append((self.path, self.headers, body))
            self.send_response(404 if "gone" in self.path else 202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield requests, server.server_address[1]
        server.shutdown()
        thread.join()


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_a_pushgateway_gets_the_metrics_of_each_commit(table, received):
    requests, port = received
    options = {
        **METRICS,
        "hoodie.metrics.reporter.type": "PROMETHEUS_PUSHGATEWAY",
        "hoodie.metrics.pushgateway.host": "127.0.0.1",
        "hoodie.metrics.pushgateway.port": port,
        "hoodie.metrics.pushgateway.job.name": "nightly",
        "hoodie.metrics.pushgateway.random.job.name.suffix": "false",
        "hoodie.metrics.pushgateway.report.labels": "env:dev",
    }
    table.upsert(ROWS, options)
    path, headers, body = requests[-1]
    assert path == "/metrics/job/nightly/env/dev"
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    values = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
    name = "shop_trips_deltacommit_"
    assert values[f"{name}totalRecordsWritten"] == values[f"{name}totalFilesInsert"] == "2"
    assert values[f"{name}totalPartitionsWritten"] == "2"
    assert int(values[f"{name}totalBytesWritten"]) > 0
    assert int(values[f"{name}duration"]) >= 0
    table.compact({**options, "hoodie.compact.inline.max.delta.commits": 1})
    table.upsert(ROWS, options)
    table.compact({**options, "hoodie.compact.inline.max.delta.commits": 1})
    assert "shop_trips_compaction_totalLogFilesCompacted 2\n" in requests[-1][2]


def test_graphite_gets_lines(table):
    lines = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            lines.extend(self.rfile.read().decode().splitlines())
            done.set()

    done = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        options = {
            **METRICS,
            "hoodie.metrics.graphite.host": "127.0.0.1",
            "hoodie.metrics.graphite.port": server.server_address[1],
            "hoodie.metrics.graphite.metric.prefix": "eu",
        }
        table.upsert(ROWS, options)
        assert done.wait(30)
        server.shutdown()
        thread.join()
    names = {line.split()[0] for line in lines}
    assert "eu.shop_trips.deltacommit.totalInsertRecordsWritten" in names
    assert all(len(line.split()) == 3 for line in lines)


def test_prometheus_asks_the_process(table):
    port = closed_port()
    options = {**METRICS, "hoodie.metrics.reporter.type": "PROMETHEUS", "hoodie.metrics.prometheus.port": port}
    options["hoodie.metrics.reporter.metricsname.prefix"] = "lake"
    table.upsert(ROWS, options)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/metrics") as got:
        assert "\nlake_deltacommit_totalRecordsWritten 2\n" in got.read().decode()


def test_a_callback_gets_the_commit(table, received):
    requests, port = received
    options = {
        f"{CALLBACK}.on": "true",
        f"{CALLBACK}.http.url": f"http://127.0.0.1:{port}/commits",
        f"{CALLBACK}.http.api.key": "secret",
        f"{CALLBACK}.http.custom.headers": "X-Team: trips; X-B:c",
    }
    commit = table.upsert(ROWS, options)
    [(path, headers, body)] = requests
    assert path == "/commits"
    assert (headers["HUDI-CALLBACK-KEY"], headers["X-Team"], headers["X-B"]) == ("secret", "trips", "c")
    message = json.loads(body)
    assert (message["commitTime"], message["tableName"]) == (commit.instant, "shop.trips")
    assert message["basePath"] == table.uri
    assert sorted(stat["partitionPath"] for stat in message["hoodieWriteStat"]) == ["x", "y"]
    assert message["commitActionType"] == "deltacommit"


def test_a_report_that_fails_is_a_warning(table, received):
    _, port = received
    options = {
        **METRICS,
        "hoodie.metrics.graphite.host": "127.0.0.1",
        "hoodie.metrics.graphite.port": closed_port(),
        f"{CALLBACK}.on": "true",
        f"{CALLBACK}.http.url": f"http://127.0.0.1:{port}/gone",
    }
    with pytest.warns(UserWarning, match="could not be reported") as warned:
        table.upsert(ROWS, options)
    messages = " ".join(str(one.message) for one in warned)
    assert "Graphite" in messages
    assert "HTTP 404" in messages
    assert table.count() == 2


@pytest.mark.parametrize("reporter", ["JMX", "DATADOG", "CLOUDWATCH"])
def test_other_reporters_are_refused_by_name(table, reporter):
    with pytest.raises(mortice.UnsupportedError, match=reporter):
        table.upsert(ROWS, {**METRICS, "hoodie.metrics.reporter.type": reporter})
    assert table.count() == 0
