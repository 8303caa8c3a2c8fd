"""AWS roles: keys are exchanged by STS, and the store receives only those of the role."""

import pytest

import mortice
from support.cases import hudi_result
from support.object_stores.proxy import Fault, proxy

MOR = "h11_event_time_deletes"
ROLE = "arn:aws:iam::123456789012:role/reader"
HADOOP_ROLE = "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"
INNER = {"access_key_id": "inner", "secret_access_key": "hunter2"}
QUICK = {"max_retries": 1, "retry_timeout": "2s"}


@pytest.fixture
def recorded_credentials(moto):
    """A proxy in front of moto, which implements STS, too; and the key ids and tokens of signed requests, by
    service."""
    found = {"sts": [], "s3": []}

    def record(headers):
        service = "sts" if "/sts/" in headers["authorization"] else "s3"
        key = headers["authorization"].partition("Credential=")[2].partition("/")[0]
        found[service].append((key, headers.get("x-amz-security-token")))

    with proxy(moto, record) as running:
        yield running, found


def rows(uri, options):
    return mortice.Table(uri, storage_options=options).snapshot().to_arrow().num_rows


@pytest.mark.parametrize("is_hadoop", [False, True])
def test_the_store_receives_the_keys_of_the_role(on_s3, recorded_credentials, is_hadoop):
    running, found = recorded_credentials
    stored = on_s3(MOR, running.endpoint)
    own = {**INNER, "role_arn": ROLE, "role_session_duration": "15m"}
    own |= {"endpoint": running.endpoint, "endpoint_url_sts": running.endpoint}
    hadoop = {
        "fs.s3a.aws.credentials.provider": HADOOP_ROLE,
        "fs.s3a.access.key": "inner",
        "fs.s3a.secret.key": "hunter2",
        "fs.s3a.assumed.role.arn": ROLE,
        "fs.s3a.assumed.role.session.duration": "15m",
        "fs.s3a.assumed.role.sts.endpoint": running.endpoint,
        "fs.s3a.endpoint": running.endpoint,
        "fs.s3a.path.style.access": "true",
    }
    table = mortice.Table(stored.uri, storage_options=hadoop if is_hadoop else own)
    for _ in range(2):
        assert table.snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows
    # The keys were exchanged once.
    assert [key for key, _ in found["sts"]] == ["inner"]
    assert found["s3"]
    assert all(key.startswith("ASIA") and token for key, token in found["s3"])


def test_a_failure_of_sts_is_a_typed_error(on_s3, recorded_credentials):
    running, _ = recorded_credentials
    stored = on_s3(MOR, running.endpoint)
    options = {**INNER, "role_arn": ROLE, "endpoint": stored.endpoint}
    options |= {"endpoint_url_sts": running.endpoint, **QUICK}
    denied = b"<Error><Code>AccessDenied</Code><Message>may not assume the role</Message></Error>"
    running.faults[:] = [Fault("status", method="POST", code=403, body=denied)]
    with pytest.raises(mortice.StorageForbiddenError, match="may not assume the role") as caught:
        rows(stored.uri, options)
    assert "hunter2" not in str(caught.value)
    running.faults[:] = [Fault("status", method="POST", code=500)]
    with pytest.raises(mortice.StorageError):
        rows(stored.uri, options)
    running.faults[:] = [Fault("status", method="POST", code=500, times=1)]
    assert rows(stored.uri, options) == hudi_result(MOR).num_rows


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"role_arn": ROLE}, "needs access_key_id"),
        ({"role_arn": ROLE, "endpoint": "http://h", **INNER}, "endpoint_url_sts"),
        ({"role_policy": "{}", **INNER}, "needs role_arn"),
    ],
)
def test_missing_options_are_named(options, part):
    with pytest.raises(mortice.InvalidArgumentError, match=part):
        mortice.Table("s3://b/t", storage_options=options)
