"""Tables on object stores through Spark: the session's settings are used, and none of its secrets is shown."""

import os

import pytest

import mortice.spark
from mortice.spark.settings.session import hadoop_settings, settings_of_store
from support.cases import assert_same_result, hudi_result
from support.object_stores.fixtures import bucket, moto, no_ambient_credentials, on_s3

__all__ = ["bucket", "moto", "no_ambient_credentials", "on_s3"]
MOR = "h11_event_time_deletes"
SECRET = "hunter2-of-the-session"


@pytest.fixture
def stored(spark, on_s3):
    """A table in a bucket with the session's settings, set by `SET fs.s3a.x=…`."""
    there = on_s3(MOR)
    settings = {
        "fs.s3a.endpoint": there.endpoint,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": "A",
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.bucket.other.secret.key": "another",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield there
    for name in settings:
        spark.conf.unset(name)


def explained(frame, capsys):
    frame.explain(extended=True)
    return capsys.readouterr().out


def test_the_sessions_settings_are_collected_by_scheme(spark, stored):
    found = hadoop_settings(spark, stored.uri)
    assert found["fs.s3a.secret.key"] == SECRET
    # Hadoop's defaults are ignored.
    assert "fs.s3a.connection.timeout" not in found
    assert hadoop_settings(spark, "/a/local/path") == {}
    assert not [name for name in hadoop_settings(spark, "gs://b/t") if name.startswith("fs.s3a.")]


def test_hadoops_configuration_is_used(spark, on_s3):
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("fs.s3a.access.key", "of the context")
    try:
        assert hadoop_settings(spark, "s3a://b/t")["fs.s3a.access.key"] == "of the context"
    finally:
        configuration.unset("fs.s3a.access.key")


def test_settings_are_those_of_the_store():
    settings = {"fs.s3a.access.key": "A", "fs.gs.auth.type": "B", "fs.azure.account.key": "C"}
    assert settings_of_store(settings, "s3://b/t") == {"fs.s3a.access.key": "A"}
    assert settings_of_store(settings, "/t") == settings_of_store(settings, None) == {}


def test_a_table_is_read_with_the_sessions_settings(spark, stored, capsys):
    frame = mortice.spark.read(spark, stored.uri)
    assert_same_result(hudi_result(MOR), _arrow(frame))
    assert SECRET not in explained(frame, capsys)


def test_options_take_precedence_over_the_session(spark, stored):
    options = {"mortice.storage.endpoint": "http://127.0.0.1:9", "mortice.storage.max_retries": "0"}
    with pytest.raises(mortice.StorageError):
        mortice.spark.read(spark, stored.uri, options=options)


def test_the_environment_of_the_driver_needs_no_settings(spark, on_s3, monkeypatch):
    there = on_s3(MOR)
    for name, value in {"AWS_ENDPOINT_URL": there.endpoint, "AWS_ACCESS_KEY_ID": "A"}.items():
        monkeypatch.setitem(os.environ, name, value)
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", SECRET)
    assert mortice.Table(there.uri).snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows


def test_reused_workers_of_sparks_daemon_read_after_the_driver(spark, stored):
    # The driver has its own threads and connections, and the daemon forks workers, which are reused.
    options = {"endpoint": stored.endpoint, "access_key_id": "A", "secret_access_key": SECRET}
    assert (
        mortice.Table(stored.uri, storage_options=options).snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows
    )
    for _ in range(3):
        frame = mortice.spark.read(spark, stored.uri)
        assert frame.repartition(4).count() == hudi_result(MOR).num_rows


def test_a_function_for_credentials_runs_on_executors(spark, stored):
    def credentials():
        return {"access_key_id": "A", "secret_access_key": "of-" + "the-function"}

    options = {"endpoint": stored.endpoint, "credentials": credentials}
    scan = mortice.Table(stored.uri, storage_options=options).snapshot()
    assert_same_result(hudi_result(MOR), _arrow(scan.to_spark(spark)))


@pytest.mark.spark4
def test_a_data_source_uses_the_settings_of_the_session_that_registered_it(spark, stored, capsys):
    mortice.spark.register(spark)
    frame = spark.read.format("mortice").load(stored.uri)
    assert frame.count() == hudi_result(MOR).num_rows
    assert SECRET not in explained(frame, capsys)


@pytest.mark.spark4
def test_a_data_source_takes_settings_as_options(spark, on_s3, capsys):
    there = on_s3(MOR)
    reader = spark.read.format("mortice").option("fs.s3a.endpoint", there.endpoint)
    reader = reader.option("fs.s3a.path.style.access", "true").option("fs.s3a.access.key", "A")
    frame = reader.option("fs.s3a.secret.key", SECRET).load(there.uri)
    assert frame.count() == hudi_result(MOR).num_rows
    assert SECRET not in explained(frame, capsys)


@pytest.mark.spark4
def test_a_stream_reads_a_table_on_s3(spark, stored, tmp_path):
    mortice.spark.register(spark)
    stream = spark.readStream.format("mortice").load(stored.uri)
    query = stream.writeStream.format("memory").queryName("of_s3").option("checkpointLocation", str(tmp_path))
    query = query.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(120)
        assert spark.table("of_s3").count() > 0
    finally:
        query.stop()
    # The checkpoint is a file that others may read.
    strings = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in strings if SECRET.encode() in text]


def _arrow(frame):
    import pyarrow as pa

    return frame.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_batches(frame._collect_as_arrow())
