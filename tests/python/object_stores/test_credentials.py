"""Credential functions: called again before the credentials expire, and when the store reports that they have."""

import datetime as dt
import multiprocessing
import pickle
import threading
import time

import pytest

import mortice
from support.cases import hudi_result
from support.object_stores.proxy import Fault

MOR = "h11_event_time_deletes"
EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"


class CredentialFunction:
    """Returns numbered keys; counts its calls, and how many ran concurrently."""

    def __init__(self, seconds=None, **more):
        self.seconds, self.more, self.calls = seconds, more, 0
        self.running, self.most, self.lock = 0, 0, threading.Lock()
        self.error = None

    def __call__(self):
        with self.lock:
            self.calls += 1
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            time.sleep(0.05)
            if self.error:
                raise self.error
            keys = {"access_key_id": f"key-{self.calls}", "secret_access_key": "hunter2", "session_token": "t"}
            if self.seconds is not None:
                keys["expiry"] = dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=self.seconds)
            return keys | self.more
        finally:
            with self.lock:
                self.running -= 1


@pytest.fixture
def options(on_s3, fault_proxy):
    on_s3(MOR)
    return {"endpoint": fault_proxy.endpoint, "region": "us-east-1"}


def uri(on_s3):
    return on_s3(MOR).uri


def keys_used(fault_proxy):
    used = [request.authorization.split("Credential=")[1].split("/")[0] for request in fault_proxy.requests]
    fault_proxy.requests.clear()
    return set(used)


def test_a_token_that_the_store_reports_as_expired_is_renewed(on_s3, fault_proxy, options):
    vault = CredentialFunction()
    table = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    scan = table.snapshot()
    scan.splits()
    assert keys_used(fault_proxy) == {"key-1"}
    # All requests with the first token are refused from now on.
    fault_proxy.faults[:] = [Fault("status", code=400, body=EXPIRED, authorization="Credential=key-1/")]
    assert scan.to_arrow().num_rows == hudi_result(MOR).num_rows
    assert keys_used(fault_proxy) == {"key-1", "key-2"}
    assert table.snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows
    assert keys_used(fault_proxy) == {"key-2"}
    assert (vault.calls, vault.most) == (2, 1)


def test_a_token_that_stays_expired_is_an_error_after_one_renewal(on_s3, fault_proxy, options):
    vault = CredentialFunction()
    fault_proxy.faults[:] = [Fault("status", code=400, body=EXPIRED)]
    with pytest.raises(mortice.StorageForbiddenError, match="ExpiredToken") as raised:
        mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    assert "hunter2" not in str(raised.value)
    # Five concurrent requests call the function at most once more each.
    assert 2 <= vault.calls <= 6


def test_denied_access_does_not_renew_credentials(on_s3, fault_proxy, options):
    vault = CredentialFunction()
    denied = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    fault_proxy.faults[:] = [Fault("status", code=403, body=denied)]
    with pytest.raises(mortice.StorageForbiddenError):
        mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    assert vault.calls == 1


def test_credentials_are_renewed_before_they_expire_and_cached_until_then(on_s3, fault_proxy, options, clock):
    clock.ahead = -1000
    vault = CredentialFunction(seconds=200)
    table = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    # They are renewed five minutes before they expire, which the store asks for already.
    clock.ahead = -110
    table.snapshot().to_arrow()
    assert keys_used(fault_proxy) == {"key-1"}
    clock.ahead = 0
    table.snapshot().to_arrow()
    assert keys_used(fault_proxy) == {"key-2"}
    assert vault.calls == 2


def test_credentials_without_expiry_are_cached(on_s3, options):
    vault = CredentialFunction()
    for _ in range(2):
        table = mortice.Table(
            uri(on_s3), storage_options={**options, "credentials": vault}, read_options=mortice.ReadOptions(threads=4)
        )
        assert table.snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows
    assert vault.calls == 1


def test_an_exception_of_the_function_is_unchanged_at_open_and_typed_later(on_s3, fault_proxy, options):
    vault = CredentialFunction()
    vault.error = LookupError("the vault is sealed")
    with pytest.raises(LookupError, match="sealed"):
        mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    vault.error = None
    scan = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault}).snapshot()
    scan.splits()
    vault.error = LookupError("the vault is sealed")
    fault_proxy.faults[:] = [Fault("status", code=400, body=EXPIRED)]
    with pytest.raises(mortice.StorageForbiddenError, match="LookupError: the vault is sealed"):
        scan.to_arrow()


def test_a_function_that_stops_returning_keys_is_an_error(on_s3, fault_proxy, options):
    vault = CredentialFunction()
    scan = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault}).snapshot()
    scan.splits()
    vault.more = {"access_key_id": None, "secret_access_key": None, "session_token": None}
    fault_proxy.faults[:] = [Fault("status", code=400, body=EXPIRED)]
    with pytest.raises(mortice.InvalidArgumentError, match="has returned no access_key_id"):
        scan.to_arrow()


def _count(splits, results):
    try:
        results.put(sum(batch.num_rows for split in pickle.loads(splits) for batch in split.to_reader()))
    except mortice.MorticeError as error:
        results.put(repr(error))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_splits_contain_the_function_and_no_secret(on_s3, options, method):
    pytest.importorskip("pyspark.cloudpickle")
    secret = "hunter2"

    def credentials():
        return {"access_key_id": "of-the-child", "secret_access_key": "hunter" + str(1 + 1)}

    scan = mortice.Table(uri(on_s3), storage_options={**options, "credentials": credentials}).snapshot()
    data = pickle.dumps(list(scan.splits()))
    assert secret.encode() not in data
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    child = context.Process(target=_count, args=(data, results))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert results.get() == hudi_result(MOR).num_rows


def test_a_split_whose_function_cannot_be_imported_is_an_error(on_s3, options):
    scan = mortice.Table(uri(on_s3), storage_options={**options, "credentials": CredentialFunction()}).snapshot()
    query = scan.splits()[0].query
    from mortice import _mortice

    alone = _mortice.SharedQuery.from_bytes(
        query._native.to_bytes().replace(query._native.credentials.encode(), b"0" * 32)
    )
    split = _mortice.Split.with_query(alone, scan.splits()[0].to_bytes_without_query())
    with pytest.raises(mortice.InvalidArgumentError, match="another process"):
        list(split.stream(0))
