"""Storage options: misspelled ones raise an error that suggests the right name, and no secret is shown."""

import pickle
import time

import pytest

import mortice
from mortice.spark.settings.options import read_query
from support.cases import hudi_result

MOR = "h11_event_time_deletes"
SECRET = "hunter2"


@pytest.mark.parametrize(
    ("uri", "options", "part"),
    [
        ("s3://b/t", {"acess_key_id": SECRET}, 'did you mean "access_key_id"'),
        ("s3://b/t", {"aws_secret_key": SECRET}, 'did you mean "secret_access_key"'),
        ("s3://b/t", {"region_name": "x"}, "unknown storage option 'region_name'; use region"),
        ("s3://b/t", {"s3.secret-access-key": SECRET}, "use secret_access_key"),
        ("s3://b/t", {"account_key": SECRET}, "is for Azure, but the table is on S3"),
        ("s3://b/t", {"secret_access_key": SECRET}, "needs access_key_id"),
        ("az://c/t", {"account_name": "a", "account_key": SECRET}, "account_key must be base64"),
        (f"s3://k:{SECRET}@b/t", {}, "give them as storage options"),
        ("s3://b/t", {"secret_access_key": SECRET.encode()}, "must be a string, a number or a bool, got bytes"),
        ("s3://b/t", {"secret_access_key": SECRET + "\ud800"}, "must be valid Unicode"),
        ("s3a://b/t", {"fs.s3a.session.token": SECRET}, "fs.s3a.access.key"),
        ("s3://b/t", {"credentials": {"access_key_id": SECRET}}, "must be callable, got an object of type dict"),
        ("s3://b/t", {"credentials": lambda: SECRET}, "must return a mapping"),
        ("s3://b/t", {"credentials": lambda: {"access_key_id": SECRET, "expires_at": time.time() - 1}}, "have expired"),
        ("s3://b/t", {"credentials": lambda: {"expires_at": SECRET}}, "seconds since 1970"),
    ],
)
def test_invalid_options_are_named_without_their_value(uri, options, part):
    with pytest.raises(mortice.InvalidArgumentError) as caught:
        mortice.Table(uri, storage_options=options)
    assert part in str(caught.value)
    assert SECRET not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"fs.s3a.aws.credentials.provider": "com.acme.Vault"}, "com.acme.Vault"),
        ({"hadoop.security.credential.provider.path": "jceks://x"}, "hadoop.security.credential.provider.path"),
        ({"fs.s3a.encryption.algorithm": "CSE-KMS"}, "fs.s3a.encryption.algorithm"),
    ],
)
def test_unsupported_settings_are_refused_by_name(settings, named):
    with pytest.raises(mortice.UnsupportedError) as caught:
        mortice.Table("s3a://b/t", storage_options=settings)
    assert named in str(caught.value)


def test_no_secret_is_shown(on_s3):
    stored = on_s3(MOR)
    table = mortice.Table(stored.uri, storage_options=stored.options)
    scan = table.snapshot()
    shown = [repr(table), str(table), repr(scan), scan.explain(), *map(repr, scan.splits()), repr(table.file_slices())]
    shown.append(repr(read_query({"path": stored.uri, "mortice.storage.secret_access_key": SECRET})))
    assert not [text for text in shown if SECRET in text]


def test_splits_contain_only_settings_of_their_bucket(on_s3):
    stored = on_s3(MOR)
    settings = {
        "fs.s3a.endpoint": stored.endpoint,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": "key-for-all",
        "fs.s3a.secret.key": "secret-for-all",
        "fs.s3a.bucket.other.secret.key": "secret-of-another-bucket",
        "fs.azure.account.key": "secret-of-azure",
    }
    scan = mortice.Table(stored.uri, storage_options=settings).snapshot()
    data = pickle.dumps(list(scan.splits()))
    assert b"secret-for-all" in data
    assert b"secret-of" not in data
    assert scan.to_arrow().num_rows == hudi_result(MOR).num_rows


def test_spark_options_are_converted_to_storage_options():
    options = {
        "path": "s3://b/t",
        "mortice.storage.Endpoint": "http://h",
        "fs.s3a.access.key": "A",
        "mortice.mmap": "false",
    }
    query = read_query(options)
    assert query.storage_options == {"endpoint": "http://h", "fs.s3a.access.key": "A"}
    assert query.read_options.mmap is False
