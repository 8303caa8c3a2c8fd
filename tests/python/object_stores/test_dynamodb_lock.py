"""Locks in DynamoDB, by a server with its API: what a writer leaves there while it has the lock, and after."""

import json
import threading
import urllib.request

import pyarrow as pa
import pytest

import mortice

OPTIONS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
    "hoodie.write.lock.wait_time_ms_between_retry": "20",
    "hoodie.write.num.retries.on.conflict.failures": "10",
}


@pytest.fixture
def keys(monkeypatch):
    """A table on a local disk has no options of its storage: the lock has the keys of the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")


@pytest.fixture
def options(moto, request):
    name = f"locks_{request.node.name.partition('[')[0]}"
    return {**OPTIONS, "hoodie.write.lock.dynamodb.endpoint_url": moto, "hoodie.write.lock.dynamodb.table": name}


def call(moto, operation, **body):
    signed = "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x"
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Authorization": signed}
    headers["Content-Type"] = "application/x-amz-json-1.0"
    request = urllib.request.Request(moto, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def items(moto, options):
    return call(moto, "Scan", TableName=options["hoodie.write.lock.dynamodb.table"])["Items"]


def rows(*numbers):
    return pa.table({"id": [f"k{n}" for n in numbers], "v": list(numbers)})


def new_table(folder):
    return mortice.create_table(folder / "t", rows(0).schema, name="trips", record_key="id")


def test_a_writer_has_the_item_while_it_commits(tmp_path, moto, keys, options):
    found = []
    table = new_table(tmp_path).with_validators(lambda _: found.extend(items(moto, options)))
    table.upsert(rows(1, 2), options=options)
    (item,) = found
    assert (item["key"], item["leaseDuration"]) == ({"S": "trips"}, {"S": "60000"})
    assert item["ownerName"]["S"].startswith("mortice-")
    assert item["recordVersionNumber"]["S"]
    assert items(moto, options) == []
    described = call(moto, "DescribeTable", TableName=options["hoodie.write.lock.dynamodb.table"])["Table"]
    assert described["KeySchema"] == [{"AttributeName": "key", "KeyType": "HASH"}]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_several_writers_share_it(tmp_path, moto, keys, options):
    path, failures = new_table(tmp_path).uri, []

    def write(first):
        try:
            for number in range(first, first + 3):
                mortice.Table(path).upsert(rows(number), options=options)
        except mortice.MorticeError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(mortice.Table(path).to_arrow()["v"].to_pylist()) == [0, 1, 2, 10, 11, 12, 20, 21, 22]
    assert items(moto, options) == []


def test_a_lock_of_another_client_is_waited_for_and_taken_over_when_it_is_not_renewed(tmp_path, moto, keys, options):
    table = new_table(tmp_path)
    table.upsert(rows(1), options=options)
    name = options["hoodie.write.lock.dynamodb.table"]
    lease = {"leaseDuration": {"S": "1000"}, "recordVersionNumber": {"S": "1"}, "ownerName": {"S": "hudi"}}
    call(moto, "PutItem", TableName=name, Item={"key": {"S": "trips"}, **lease})
    table.upsert(rows(2), options=options)
    # One that was given back is not waited for.
    lease["leaseDuration"]["S"] = "3000000"
    lease["isReleased"] = {"S": "1"}
    call(moto, "PutItem", TableName=name, Item={"key": {"S": "trips"}, **lease})
    table.upsert(rows(3), options=options)
    assert sorted(table.to_arrow()["v"].to_pylist()) == [1, 2, 3]


def test_the_keys_of_a_table_on_s3_are_those_of_its_lock(moto, bucket, options):
    storage = {"endpoint": moto, "region": "us-east-1", "access_key_id": "k", "secret_access_key": "hunter2"}
    provider = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedImplicitPartitionKeyLockProvider"
    options = {**options, "hoodie.write.lock.provider": provider}
    uri = f"s3://{bucket}/locked"
    table = mortice.create_table(uri, rows(0).schema, name="t", record_key="id", storage_options=storage)
    found = []
    table.with_validators(lambda _: found.extend(items(moto, options))).upsert(rows(1), options=options)
    (item,) = found
    # The hash of the base path.
    assert len(item["key"]["S"]) == 16
    assert item["key"]["S"] == item["key"]["S"].upper()


def test_what_is_wrong_is_named(tmp_path, keys, options):
    table = new_table(tmp_path)
    closed = {**options, "hoodie.write.lock.dynamodb.endpoint_url": "http://127.0.0.1:1"}
    with pytest.raises(mortice.StorageUnreachableError, match=r"127\.0\.0\.1:1"):
        table.upsert(rows(1), options=closed)
    with pytest.raises(mortice.InvalidArgumentError, match="billing_mode must be PAY_PER_REQUEST or PROVISIONED"):
        table.upsert(rows(1), options={**options, "hoodie.write.lock.dynamodb.billing_mode": "FREE"})
    with pytest.raises(mortice.InvalidArgumentError, match="wait_time_ms must be at least 1000"):
        table.upsert(rows(1), options={**options, "hoodie.write.lock.wait_time_ms": "10"})
