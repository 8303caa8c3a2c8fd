"""An HTTP proxy in front of a server: it logs requests, delays them and makes them fail as networks do."""

import contextlib
import http.client
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"}
LONGEST_STALL = 30.0


@dataclass(frozen=True)
class Request:
    """A forwarded request."""

    method: str
    path: str
    range: str | None
    status: int
    authorization: str = ""
    at: float = 0.0
    """Time of the response, by the monotonic clock."""


@dataclass
class Fault:
    """A fault of requests whose path contains `part`, for at most `times` requests; None is unlimited.

    `delay` waits `seconds`; `status` returns `code`; `reset` closes the connection with RST, without a response;
    `truncate` ends the body at half; `stall` sends half of the body and then nothing more; `lose` forwards the request
    to the server, and closes the connection instead of returning the response. Responses without a body are lost, or
    withheld, as a whole.
    """

    kind: str
    part: str = ""
    times: int | None = None
    code: int = 503
    seconds: float = 0.05
    body: bytes = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
    method: str = "GET"
    authorization: str = ""
    """A substring of the Authorization header."""


@dataclass
class Proxy:
    """A running proxy. Its faults may be changed at any time."""

    endpoint: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: int = 0
    most_running: int = 0
    """The maximum number of concurrent requests; set it to 0 to start again."""
    stalled: int = 0
    """Number of responses that stall or have stalled."""

    @contextlib.contextmanager
    def request(self):
        """Counts a request while it is being processed."""
        with self.lock:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            yield
        finally:
            with self.lock:
                self.running -= 1

    def fault_of(self, method, path, authorization=""):
        """Returns the fault of a request and counts its use."""
        with self.lock:
            for fault in self.faults:
                is_meant = fault.method == method and fault.part in path and fault.authorization in authorization
                if is_meant and fault.times != 0:
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None

    def log(self, request):
        with self.lock:
            self.requests.append(request)


@contextlib.contextmanager
def proxy(upstream, rewrite_request=None, rewrite_response=None, path=str, *, in_turn=False):
    """Runs a proxy of the server at the URL `upstream`.

    `rewrite_request(headers)` changes the headers of requests, `rewrite_response(headers)` those of responses: dicts,
    names in lower case. `path(text)` changes the path of requests, including queries. With `in_turn` the server
    receives one `PUT` at a time.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.upstream = urlsplit(upstream).netloc
    server.rewrite_request, server.rewrite_response = rewrite_request, rewrite_response
    server.path = path
    server.writes = threading.Lock() if in_turn else contextlib.nullcontext()
    server.proxy = running = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Prints nothing."""

    def handle_one_request(self):
        # A client that disconnects is not a failure of the proxy.
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle_one_request()

    def do_GET(self):
        with self.server.proxy.request():
            self._forward()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

    def _forward(self):
        running = self.server.proxy
        fault = running.fault_of(self.command, self.path, self.headers.get("Authorization") or "")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault and fault.kind == "delay":
            time.sleep(fault.seconds)
        if fault and fault.kind == "reset":
            self._log(0)
            # Closing with unsent data and a linger time of 0 sends RST.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        if fault and fault.kind == "status":
            self._log(fault.code)
            self._send(fault.code, {"content-type": "application/xml"}, fault.body)
            return
        with self.server.writes if self.command == "PUT" else contextlib.nullcontext():
            status, headers, content = self._send_upstream(body)
        self._log(status)
        kind = fault.kind if fault else ""
        if kind == "lose" or (kind in ("truncate", "stall") and len(content) < 2):
            if kind == "stall":
                running.stopped.wait(LONGEST_STALL)
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(status, headers, content, kind)

    def _send_upstream(self, body):
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        if self.server.rewrite_request:
            self.server.rewrite_request(headers)
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        try:
            upstream.request(self.command, self.server.path(self.path), body or None, headers)
            response = upstream.getresponse()
            given = {name.lower(): value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
            length = response.getheader("Content-Length")
            if self.command == "HEAD" and length is not None:
                given["content-length"] = length
            content = response.read()
        finally:
            upstream.close()
        if self.server.rewrite_response:
            self.server.rewrite_response(given)
        return response.status, given, content

    def _send(self, status, headers, content, fault=""):
        self.send_response_only(status)
        headers.setdefault("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault not in ("truncate", "stall"):
            self.wfile.write(content)
            return
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        if fault == "stall":
            self.server.proxy.stalled += 1
            self.server.proxy.stopped.wait(LONGEST_STALL)
        self.close_connection = True
        # Closing alone would leave the connection open: other processes hold the socket, too.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _log(self, status):
        signed = self.headers.get("Authorization") or ""
        request = Request(self.command, self.path, self.headers.get("Range"), status, signed, time.monotonic())
        self.server.proxy.log(request)
