"""Credentials of a function: asked for again before they expire, and when the store says that they have."""

import datetime as dt
import multiprocessing
import pickle
import threading
import time

import pytest

import mortice
from support.cases import answer
from support.object_stores.proxy import Fault

MOR = "h11_event_time_deletes"
EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"


class Vault:
    """Hands out numbered keys; counts its calls, and how many were made at once."""

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


def test_a_token_that_the_store_says_has_expired_is_replaced_and_reading_goes_on(on_s3, fault_proxy, options):
    vault = Vault()
    table = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    scan = table.snapshot()
    scan.splits()
    assert keys_used(fault_proxy) == {"key-1"}
    # All requests with the first token are refused from now on.
    fault_proxy.faults[:] = [Fault("status", code=400, body=EXPIRED, authorization="Credential=key-1/")]
    assert scan.to_arrow().num_rows == answer(MOR).num_rows
    assert keys_used(fault_proxy) == {"key-1", "key-2"}
    assert table.snapshot().to_arrow().num_rows == answer(MOR).num_rows
    assert keys_used(fault_proxy) == {"key-2"}
    assert (vault.calls, vault.most) == (2, 1)


def test_a_token_that_stays_expired_is_an_error_after_one_more_call(on_s3, fault_proxy, options):
    vault = Vault()
    fault_proxy.faults[:] = [Fault("status", code=400, body=EXPIRED)]
    with pytest.raises(mortice.StorageForbiddenError, match="ExpiredToken") as raised:
        mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    assert "hunter2" not in str(raised.value)
    # Five requests at once ask for no more than one other token each.
    assert 2 <= vault.calls <= 6


def test_access_that_is_denied_calls_nobody(on_s3, fault_proxy, options):
    vault = Vault()
    denied = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    fault_proxy.faults[:] = [Fault("status", code=403, body=denied)]
    with pytest.raises(mortice.StorageForbiddenError):
        mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    assert vault.calls == 1


def test_credentials_are_refreshed_before_they_expire_and_held_until_then(on_s3, fault_proxy, options):
    vault = Vault(seconds=3)
    table = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault})
    table.snapshot().to_arrow()
    assert keys_used(fault_proxy) == {"key-1"}
    time.sleep(2.5)
    table.snapshot().to_arrow()
    assert keys_used(fault_proxy) == {"key-2"}
    assert vault.calls == 2


def test_without_an_end_credentials_are_held(on_s3, options):
    vault = Vault()
    for _ in range(2):
        table = mortice.Table(uri(on_s3), storage_options={**options, "credentials": vault}, threads=4)
        assert table.snapshot().to_arrow().num_rows == answer(MOR).num_rows
    assert vault.calls == 1


def test_an_error_of_the_function_is_its_own_at_open_and_typed_later(on_s3, fault_proxy, options):
    vault = Vault()
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


def test_a_function_that_supplies_no_keys_any_more_is_an_error(on_s3, fault_proxy, options):
    vault = Vault()
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
    assert results.get() == answer(MOR).num_rows


def test_a_split_whose_function_is_not_here_says_so(on_s3, options):
    scan = mortice.Table(uri(on_s3), storage_options={**options, "credentials": Vault()}).snapshot()
    query = scan.splits()[0].query
    from mortice import _mortice

    alone = _mortice.SharedQuery.from_bytes(
        query._native.to_bytes().replace(query._native.credentials.encode(), b"0" * 32)
    )
    split = _mortice.Split.with_query(alone, scan.splits()[0].to_bytes_without_query())
    with pytest.raises(mortice.InvalidArgumentError, match="another process"):
        list(split.stream(0))
