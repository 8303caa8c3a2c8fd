"""Log files on object stores: read block by block, written by one of several writers, and lost only with an error."""

import threading

import pyarrow as pa
import pytest

import mortice
from mortice.cli import main
from support.object_stores.fixtures import KEYS
from support.object_stores.proxy import Fault
from support.object_stores.uploads import put

INSTANT = "20240101000000000"
TRIPS = pa.table({"k": ["a", "b"], "v": pa.array([1, None], pa.int32())})
QUICK = {"max_retries": 1, "retry_timeout": "2s", "read_timeout": "2s", "connect_timeout": "2s", "timeout": "10s"}


def options(endpoint):
    return {"endpoint": endpoint, "region": "us-east-1", **KEYS}


@pytest.fixture
def folder(bucket, request):
    """The URI of an empty directory."""
    return f"s3://{bucket}/logs/{request.node.name}"


@pytest.fixture
def log(tmp_path, moto, bucket):
    """A log file of two data blocks, local and in the bucket."""
    with mortice.LogWriter(tmp_path, "f-0", INSTANT) as writer:
        writer.write_records(TRIPS, table_name="trips")
        writer.write_records(TRIPS, table_name="trips", instant="2")
    name = writer.path.rsplit("/", 1)[1]
    put(moto, f"{bucket}/read/{name}", (tmp_path / name).read_bytes())
    return writer.path, f"s3://{bucket}/read/{name}"


def described(file):
    return [(block.offset, block.end, block.type, block.instant_time, block.record_count) for block in file.blocks()]


def test_a_log_in_a_bucket_has_the_blocks_of_the_file(log, moto):
    local, remote = (mortice.LogFile(log[0]), mortice.LogFile(log[1], storage_options=options(moto)))
    assert (remote.path, remote.size) == (log[1], local.size)
    assert described(remote) == described(local)
    assert [block.offset for block in remote.blocks(reverse=True)] == [block.offset for block in local.blocks()][::-1]
    assert all(remote.records(block).equals(local.records(block)) for block in remote.blocks())


def test_a_missing_log_is_an_error(bucket, moto):
    with pytest.raises(FileNotFoundError) as error:
        mortice.LogFile(f"s3://{bucket}/read/.none_1.log.1_1-0-1", options(moto))
    assert ".none_1.log" in str(error.value)


def test_the_command_prints_a_log_in_a_bucket(log, moto, capsys):
    arguments = [f"--storage-option={name}={value}" for name, value in options(moto).items()]
    assert main(["log", log[1], *arguments]) == 0
    assert capsys.readouterr().out.count("AVRO_DATA_BLOCK") == 2
    assert main(["log", log[1], "--verify", *arguments]) == 0
    assert "sound, 2 blocks" in capsys.readouterr().out


def test_blocks_are_in_the_bucket_once_the_writer_is_closed(folder, moto):
    with mortice.LogWriter(folder, "f-0", INSTANT, storage_options=options(moto)) as writer:
        first = writer.write_records(TRIPS, table_name="trips")
        more = writer.write_records(TRIPS, table_name="trips")
        assert mortice.LogFile(writer.path, options(moto)).size == 0
    assert writer.paths == [f"{folder}/.f-0_{INSTANT}.log.1_1-0-1"]
    file = mortice.LogFile(writer.path, options(moto))
    assert [block.offset for block in file.blocks()] == [first[0].offset, more[0].offset] == [0, first[0].length]
    assert [file.records(block).to_pylist() for block in file.blocks()] == [TRIPS.to_pylist()] * 2


def test_a_large_log_is_written_in_parts(folder, moto):
    keys = pa.table({"k": [f"{number:01000}" for number in range(10_000)]})
    with mortice.LogWriter(folder, "f-0", INSTANT, storage_options=options(moto)) as writer:
        writer.write_records(keys, table_name="keys", max_block_bytes=3 << 20)
    file = mortice.LogFile(writer.path, options(moto))
    assert file.size > 9 << 20
    assert pa.Table.from_batches([file.records(block).select(["k"]) for block in file.blocks()]) == keys


def test_a_full_file_is_followed_by_the_next_version(folder, moto):
    with mortice.LogWriter(folder, "f-0", INSTANT, max_file_bytes=1, storage_options=options(moto)) as writer:
        writer.write_records(TRIPS, table_name="trips")
        assert len(described(mortice.LogFile(writer.path, options(moto)))) == 1
        writer.write_records(TRIPS, table_name="trips")
    assert [path.split(".log.")[1] for path in writer.paths] == ["1_1-0-1", "2_1-0-1"]


def test_concurrent_writers_use_different_versions(folder, moto):
    paths = []

    def write():
        with mortice.LogWriter(folder, "f-0", INSTANT, version=1, storage_options=options(moto)) as writer:
            writer.write_records(TRIPS, table_name="trips")
        paths.append(writer.path)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.split(".log.")[1] for path in paths) == [f"{version}_1-0-1" for version in range(1, 5)]
    assert all(len(described(mortice.LogFile(path, options(moto)))) == 1 for path in paths)


def test_appending_to_an_object_is_refused(folder, moto):
    with pytest.raises(mortice.UnsupportedError, match="new version of the log file"):
        mortice.LogWriter(folder, "f-0", INSTANT, append=True, storage_options=options(moto))


def test_after_lost_blocks_every_call_is_an_error(folder, fault_proxy):
    writer = mortice.LogWriter(folder, "f-0", INSTANT, storage_options={**options(fault_proxy.endpoint), **QUICK})
    writer.write_records(TRIPS, table_name="trips")
    fault_proxy.faults[:] = [Fault("status", ".log.", method="POST")]
    keys = pa.table({"k": [f"{number:01000}" for number in range(10_000)]})
    with pytest.raises(mortice.StorageError):
        writer.write_records(keys, table_name="keys")
    fault_proxy.faults.clear()
    for call in (lambda: writer.write_records(TRIPS, table_name="trips"), writer.close):
        with pytest.raises(mortice.StorageError, match="lost"):
            call()


def test_a_failure_of_the_last_part_is_an_error_of_close(folder, fault_proxy):
    writer = mortice.LogWriter(folder, "f-0", INSTANT, storage_options={**options(fault_proxy.endpoint), **QUICK})
    writer.write_records(TRIPS, table_name="trips")
    fault_proxy.faults[:] = [Fault("status", ".log.", method="PUT")]
    for _ in range(2):
        with pytest.raises(mortice.StorageError):
            writer.close()


@pytest.mark.parametrize("uri", ["table", "s3://bucket/table"])
def test_mmap_is_not_a_storage_option(tmp_path, uri):
    path = uri if "://" in uri else str(tmp_path)
    with pytest.raises(mortice.InvalidArgumentError, match="argument of its own"):
        mortice.Table(path, storage_options={"mmap": "false"})
