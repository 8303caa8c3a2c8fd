"""Network faults: correct rows or a typed error, within a deadline."""

import time

import pytest

import mortice
from support.cases import hudi_result
from support.object_stores.proxy import Fault

MOR = "h11_event_time_deletes"
DEADLINE = 60.0
QUICK = {"max_retries": 3, "retry_timeout": "20s", "read_timeout": "2s", "connect_timeout": "2s", "timeout": "10s"}
PLACES = {"open": "hoodie.properties", "plan": "list-type=2", "base": ".parquet", "log": ".log."}
"""A substring of the path of an operation's requests."""
RECOVERABLE = {
    "delay": {"seconds": 0.2},
    "status": {"code": 503, "times": 2},
    "reset": {"times": 1},
    "truncate": {"times": 1},
    "stall": {"times": 1},
}


@pytest.fixture
def read(on_s3, fault_proxy):
    """Reads a table through the proxy; returns rows or the error, and the seconds that it took."""

    def attempt(*faults, **options):
        stored = on_s3(MOR, fault_proxy.endpoint)
        fault_proxy.faults[:] = faults
        began = time.monotonic()
        try:
            table = mortice.Table(stored.uri, storage_options={**stored.options, **QUICK, **options})
            outcome = table.snapshot().to_arrow().num_rows
        except mortice.MorticeError as error:
            outcome = error
        assert time.monotonic() - began < DEADLINE
        return outcome

    return attempt


PASSING = [(kind, place) for kind in RECOVERABLE for place in PLACES]


@pytest.mark.parametrize(("kind", "place"), PASSING)
def test_temporary_faults_are_retried(read, place, kind):
    assert read(Fault(kind, PLACES[place], **RECOVERABLE[kind])) == hudi_result(MOR).num_rows


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["status", "reset", "truncate", "stall"])
def test_permanent_faults_are_typed_errors(read, place, kind):
    outcome = read(Fault(kind, PLACES[place]), max_retries=1, retry_timeout="2s")
    assert isinstance(outcome, mortice.StorageError)
    assert "hunter2" not in str(outcome)


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        (403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>", PermissionError),
        (403, b"<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>", PermissionError),
        (400, b"<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>", mortice.StorageError),
        (404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>", mortice.TableNotFoundError),
    ],
)
def test_error_responses_are_typed(read, code, body, kind):
    outcome = read(Fault("status", "hoodie.properties", code=code, body=body))
    assert isinstance(outcome, kind)


def test_a_file_that_disappears_after_planning_is_an_error(on_s3, fault_proxy):
    stored = on_s3(MOR, fault_proxy.endpoint)
    scan = mortice.Table(stored.uri, storage_options={**stored.options, **QUICK}).snapshot()
    fault_proxy.faults[:] = [Fault("status", ".parquet", code=404, body=b"<Error><Code>NoSuchKey</Code></Error>")]
    with pytest.raises((mortice.FileCleanedError, mortice.TableNotFoundError)):
        scan.to_arrow()


def test_a_file_that_changes_after_planning_is_an_error(on_s3, fault_proxy):
    stored = on_s3(MOR, fault_proxy.endpoint)
    scan = mortice.Table(stored.uri, storage_options={**stored.options, **QUICK}).snapshot()
    changed = b"<Error><Code>PreconditionFailed</Code></Error>"
    fault_proxy.faults[:] = [Fault("status", ".parquet", code=412, body=changed)]
    with pytest.raises(mortice.StorageError, match="changed"):
        scan.to_arrow()


def test_an_unreachable_server(on_s3):
    stored = on_s3(MOR)
    began = time.monotonic()
    with pytest.raises(mortice.StorageError):
        mortice.Table(stored.uri, storage_options={**stored.options, **QUICK, "endpoint": "http://127.0.0.1:9"})
    assert time.monotonic() - began < DEADLINE
