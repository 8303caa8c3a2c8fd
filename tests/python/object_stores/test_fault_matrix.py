"""Each fault in each operation: the correct result, or a typed error.

Temporary faults (`once`, `twice`) are retried, and the operation succeeds. Permanent ones are errors of a certain
class. A write that reports an error has written everything or nothing, and one that reports success has written
everything.
"""

import time
from dataclasses import dataclass, replace

import pytest

import mortice
from support.cases import hudi_result
from support.object_stores.file_store import FileStore
from support.object_stores.fixtures import KEYS
from support.object_stores.proxy import Fault
from support.object_stores.uploads import put

MOR = "h11_event_time_deletes"
SECONDS = 60.0
SMALL, LARGE = 100_000, 17 << 20
QUICK = {"retry_timeout": "10s", "read_timeout": "1s", "connect_timeout": "2s", "timeout": "10s"}
ANY = {"MORTICE-IO", "MORTICE-UNREACHABLE", "MORTICE-THROTTLED"}
UNREACHABLE = {"MORTICE-UNREACHABLE"}
EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
DENIED = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
GONE = b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>"
CHANGED = b"<Error><Code>PreconditionFailed</Code><Message>changed</Message></Error>"


@dataclass(frozen=True)
class Case:
    """A fault and the error codes that it may cause; none if it is temporary."""

    kind: str
    times: int | None = None
    code: int = 503
    body: bytes = b""
    errors: frozenset = frozenset()

    def fault(self, method, part):
        return Fault(self.kind, part, self.times, self.code, 0.2, self.body or Fault(self.kind).body, method)


def status(code, errors, body=b"", times=None):
    return Case("status", times, code, body, frozenset(errors))


CASES = {
    "latency": Case("delay"),
    "500 twice": status(500, (), times=2),
    "500": status(500, ANY),
    "503 twice": status(503, (), times=2),
    "503": status(503, ANY),
    "reset once": Case("reset", 1),
    "reset": Case("reset", errors=frozenset(ANY)),
    "truncated once": Case("truncate", 1),
    "truncated": Case("truncate", errors=frozenset(ANY)),
    "stalled once": Case("stall", 1),
    "stalled": Case("stall", errors=frozenset(UNREACHABLE)),
    "403": status(403, {"MORTICE-FORBIDDEN"}, DENIED),
    "404": status(404, {"MORTICE-NOT-FOUND", "MORTICE-FILE-CLEANED"}, GONE),
    "expired token": status(400, {"MORTICE-FORBIDDEN", "MORTICE-IO"}, EXPIRED),
    "changed etag": status(412, {"MORTICE-FILE-CHANGED", "MORTICE-ALREADY-EXISTS", "MORTICE-IO"}, CHANGED),
}
READS = {"open": "hoodie.properties", "plan": "list-type=2", "table": ".parquet"}
"""Operations of tables, and a substring of the path of their requests."""
QUICKEST = {"500 twice", "reset once", "403", "changed etag"}
"""The cells of the default suite, with writes only: reads have tests in test_faults.py."""


def cells(operations, quick=()):
    def cell(operation, name):
        marks = () if operation in quick and name in QUICKEST else (pytest.mark.object_stores,)
        return pytest.param(operation, CASES[name], id=f"{operation}-{name}", marks=marks)

    return [cell(operation, name) for operation in operations for name in CASES]


@pytest.fixture
def store(moto, bucket, fault_proxy, request):
    """A separate root directory, behind the proxy."""
    name = request.node.name.replace("[", "-").replace("]", "")
    options = {"endpoint": fault_proxy.endpoint, "region": "us-east-1", **KEYS, **QUICK}
    return FileStore(f"s3://{bucket}/matrix/{name}", options)


def direct(store, moto):
    """The same without the proxy."""
    return replace(store, options={**store.options, "endpoint": moto})


def timed(work):
    began = time.monotonic()
    result = work()
    assert time.monotonic() - began < SECONDS
    return result


def expect(case, outcome, is_right):
    """Checks that the outcome is one of those that the fault may have."""
    if "error" not in outcome:
        assert is_right, outcome
        return
    assert outcome["error"] in case.errors, outcome
    assert KEYS["secret_access_key"] not in outcome["message"]


def retries(case):
    return {"max_retries": 3 if not case.errors else 1, "retry_timeout": "10s" if not case.errors else "2s"}


@pytest.mark.parametrize(("operation", "case"), cells(READS))
def test_tables(on_s3, fault_proxy, operation, case):
    stored = on_s3(MOR, fault_proxy.endpoint)
    options = {**stored.options, **QUICK, **retries(case)}

    def read():
        fault_proxy.faults[:] = [case.fault("GET", READS[operation])] if operation != "table" else []
        try:
            scan = mortice.Table(stored.uri, storage_options=options).snapshot()
            if operation == "table":
                assert list(scan.splits())
                fault_proxy.faults[:] = [case.fault("GET", READS[operation])]
            return {"rows": scan.to_arrow().num_rows}
        except mortice.MorticeError as error:
            return {"error": str(error).partition("]")[0].strip("["), "message": str(error), "type": type(error)}

    outcome = timed(read)
    if "error" in outcome:
        allowed = (mortice.StorageError, mortice.TableNotFoundError, mortice.FileCleanedError, mortice.FileChangedError)
        assert issubclass(outcome["type"], allowed), outcome
        assert case.errors, outcome
        assert KEYS["secret_access_key"] not in outcome["message"]
    else:
        assert outcome["rows"] == hudi_result(MOR).num_rows
        assert not case.errors, outcome


@pytest.mark.parametrize(("operation", "case"), cells(["read small", "read large", "list"]))
def test_reads(store, moto, fault_proxy, operation, case):
    length = LARGE if operation == "read large" else SMALL
    content = bytes((at // 1000 + at) % 251 for at in range(length))
    put(moto, f"{store.uri.removeprefix('s3://')}/file", content)
    store = replace(store, options={**store.options, **retries(case)})
    right = direct(store, moto).run("read", "file", length)
    part = "list-type=2" if operation == "list" else "/file"
    fault_proxy.faults[:] = [case.fault("GET", part)]
    if operation == "list":
        outcome = timed(lambda: store.run("list", ""))
        expect(case, outcome, outcome.get("files") == ["file"])
    else:
        outcome = timed(lambda: store.run("read", "file", length))
        expect(case, outcome, outcome == right)


WRITES = ["put_if_absent", "put", "put on a condition", "multipart begin", "multipart part", "multipart end", "delete"]
PLACES = {
    "multipart begin": ("POST", "uploads"),
    "multipart part": ("PUT", "partNumber=2"),
    "multipart end": ("POST", "uploadId="),
    "delete": ("DELETE", "/file"),
}


@pytest.mark.parametrize(("operation", "case"), cells(WRITES, ["put_if_absent", "put on a condition", "delete"]))
def test_writes(store, moto, fault_proxy, operation, case):
    store, behind = replace(store, options={**store.options, **retries(case)}), direct(store, moto)
    before = None
    if operation in ("put on a condition", "delete"):
        before, etag = "before", behind.run("put", "file", "before")["etag"]
    fault_proxy.faults[:] = [case.fault(*PLACES.get(operation, ("PUT", "/file")))]
    if operation.startswith("multipart"):
        outcome = timed(lambda: store.run("upload", "file", LARGE, "finish"))
        found = behind.run("read", "file", LARGE)
        is_right = outcome == found
        # Everything or nothing. Uploads are started and completed once: if the response is lost, the outcome is
        # unknown.
        if operation != "multipart part" and case.kind in ("truncate", "stall"):
            case = replace(case, errors=case.errors | UNREACHABLE)
        assert found.get("bytes") in (None, LARGE), found
        assert found.get("bytes") or found["error"] in ("MORTICE-NOT-FOUND", "MORTICE-FILE-CLEANED"), found
        expect(case, outcome, is_right)
        return
    arguments = {"delete": [], "put on a condition": ["after", before and etag]}.get(operation, ["after"])
    command = "put" if operation == "put on a condition" else operation
    outcome = timed(lambda: store.run(command, "file", *arguments))
    found = behind.get("file")
    if operation == "delete":
        assert found in (before, None)
        # Removing a missing file succeeds.
        expect(case, outcome, found is None or case.code == 404)
        return
    assert found in (before, "after")
    if outcome.get("put") == "refused":
        # The server reports the error, and nothing was written.
        assert found == before
        assert case.code in (404, 412)
        return
    # After a lost response, the file is read back.
    is_lost = case.kind in ("truncate", "stall") and outcome.get("put") == "written"
    if is_lost:
        assert found == "after"
        return
    expect(case, outcome, found == "after")
