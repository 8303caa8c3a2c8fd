"""Tables on Azure Blob Storage, on a server that checks signatures."""

import pytest

import mortice
from support.cases import assert_same_result, hudi_result
from support.object_stores import azure as azure_module

MOR = "h11_event_time_deletes"
TABLES = [
    *(MOR, "h10_types", "h10_bucket_log_only", "h015_orc_mor", "h015_cow_partitioned", "h10_hfile_log_blocks"),
    *("h11_parquet_log_blocks", "h12_bootstrap_mor", "h12_column_stats", "h12_duplicate_keys_commit_time"),
]
pytestmark = pytest.mark.object_stores


def rows(uri, options):
    return mortice.Table(uri, storage_options=options).snapshot().to_arrow().num_rows


@pytest.mark.parametrize("name", TABLES)
def test_rows_equal_hudis_result(on_azure, name):
    stored = on_azure(name)
    table = mortice.Table(stored.uri, storage_options=stored.options)
    assert_same_result(hudi_result(name), table.snapshot().to_arrow())


@pytest.mark.parametrize("scheme", ["abfs", "abfss", "wasb", "wasbs"])
def test_schemes_with_an_account(on_azure, scheme):
    stored = on_azure(MOR)
    assert rows(stored.uri.replace("abfss:", f"{scheme}:"), stored.options) == hudi_result(MOR).num_rows


@pytest.mark.parametrize("scheme", ["az", "azure", "adl", "abfs", "abfss"])
def test_schemes_without_an_account(on_azure, container, scheme):
    stored = on_azure(MOR)
    options = {**stored.options, "account_name": azure_module.ACCOUNT}
    assert rows(f"{scheme}://{container}/lake/{MOR}", options) == hudi_result(MOR).num_rows


@pytest.mark.parametrize("mark", ["", "?"])
def test_a_shared_access_signature(on_azure, mark):
    stored = on_azure(MOR)
    options = {"endpoint": stored.endpoint, "sas_token": mark + azure_module.sas_token()}
    assert rows(stored.uri, options) == hudi_result(MOR).num_rows


def test_environment_variables(on_azure, monkeypatch):
    stored = on_azure(MOR)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", azure_module.KEY)
    monkeypatch.setenv("AZURE_ENDPOINT", stored.endpoint)
    assert rows(stored.uri, {}) == hudi_result(MOR).num_rows


@pytest.mark.parametrize(
    "settings",
    [
        {"fs.azure.account.key": azure_module.KEY},
        {f"fs.azure.account.key.{azure_module.ACCOUNT}.dfs.core.windows.net": azure_module.KEY},
        {"fs.azure.account.auth.type": "SharedKey", f"fs.azure.account.key.{azure_module.ACCOUNT}": azure_module.KEY},
        {"fs.azure.account.auth.type": "SAS", "fs.azure.sas.fixed.token": "SAS"},
    ],
)
def test_hadoop_settings(on_azure, settings):
    stored = on_azure(MOR)
    token = azure_module.sas_token()
    settings = {name: token if value == "SAS" and "token" in name else value for name, value in settings.items()}
    assert rows(stored.uri, {"endpoint": stored.endpoint, **settings}) == hudi_result(MOR).num_rows


@pytest.mark.parametrize(
    "wrong",
    [
        {"account_key": "aHVudGVyMg=="},
        {"sas_token": azure_module.sas_token(minutes=-10)},
        {"sas_token": azure_module.sas_token() + "hunter2"},
        {"skip_signature": True},
    ],
)
def test_refused_credentials_are_a_typed_error_without_secrets(on_azure, wrong):
    stored = on_azure(MOR)
    with pytest.raises(mortice.StorageForbiddenError) as caught:
        rows(stored.uri, {"endpoint": stored.endpoint, **wrong, "max_retries": 1})
    shown = str(caught.value)
    assert "aHVudGVyMg" not in shown
    assert "hunter2" not in shown
    assert "sig=" not in shown


def test_a_missing_table_or_container(on_azure):
    stored = on_azure(MOR)
    with pytest.raises(mortice.TableNotFoundError):
        rows(stored.uri + "-none", stored.options)
    with pytest.raises(mortice.MorticeError, match=r"ContainerNotFound|no such file|no Hudi table"):
        rows(stored.uri.replace("container-", "no-container-"), stored.options)
