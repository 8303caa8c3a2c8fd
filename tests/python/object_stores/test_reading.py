"""Tables on object stores return the same rows as on a local disk."""

import json
import pickle

import pyarrow as pa
import pytest

import mortice
from mortice.cli import main
from support.cases import assert_same_result, hudi_result

MOR = "h11_event_time_deletes"
TABLES = [MOR, "h10_types", "h10_bucket_log_only", "h015_orc_mor", "h12_bootstrap_mor"]


def options_of(stored):
    return [word for name, value in stored.options.items() for word in ("--storage-option", f"{name}={value}")]


@pytest.mark.parametrize("name", TABLES)
def test_rows_on_s3_equal_hudis_result(on_s3, name):
    stored = on_s3(name)
    table = mortice.Table(stored.uri, storage_options=stored.options)
    assert_same_result(hudi_result(name), table.snapshot().to_arrow())


@pytest.mark.parametrize("name", TABLES[:2])
def test_rows_on_gcs_equal_hudis_result(on_gcs, name):
    stored = on_gcs(name)
    table = mortice.Table(stored.uri, storage_options=stored.options)
    assert_same_result(hudi_result(name), table.snapshot().to_arrow())


def test_a_split_is_read_in_another_process(on_s3):
    stored = on_s3(MOR)
    scan = mortice.Table(stored.uri, storage_options=stored.options).snapshot()
    parts = [pa.table(pickle.loads(pickle.dumps(split)).to_reader()) for split in scan.splits()]
    assert_same_result(hudi_result(MOR), pa.concat_tables(parts))


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_hadoop_settings_are_options(on_s3, scheme):
    stored = on_s3(MOR)
    hadoop = {
        "fs.s3a.endpoint": stored.endpoint,
        "fs.s3a.access.key": "A",
        "fs.s3a.secret.key": "B",
        "fs.s3a.path.style.access": "true",
    }
    table = mortice.Table(stored.uri.replace("s3:", f"{scheme}:"), storage_options=hadoop)
    assert table.snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows


def test_the_command_line_takes_storage_options(on_s3, capsys):
    stored = on_s3(MOR)
    assert main(["read", stored.uri, "--json", *options_of(stored)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == hudi_result(MOR).num_rows
    assert main(["timeline", stored.uri, "--json", *options_of(stored)]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["slices", stored.uri, *options_of(stored)]) == 0


def test_a_missing_table(on_s3):
    stored = on_s3(MOR)
    with pytest.raises(mortice.TableNotFoundError):
        mortice.Table(stored.uri + "-none", storage_options=stored.options)


def test_a_function_supplies_credentials(on_s3):
    stored = on_s3(MOR)
    calls = []

    def credentials():
        calls.append(1)
        return {"access_key_id": "A", "secret_access_key": "B", "session_token": None, "expires_at": 2**40}

    options = {"endpoint": stored.endpoint, "credentials": credentials}
    assert (
        mortice.Table(stored.uri, storage_options=options).snapshot().to_arrow().num_rows == hudi_result(MOR).num_rows
    )
    assert calls == [1]
