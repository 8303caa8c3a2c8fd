"""Tables on HDFS and Azure through Spark, with the session's Hadoop settings."""

import pytest

import mortice.spark
from mortice import _mortice
from mortice.spark.settings.session import hadoop_settings
from support.cases import assert_same_result, hudi_result
from support.object_stores import azure as azure_module
from support.object_stores.fixtures import azurite, container, hdfs, no_ambient_credentials, on_azure, on_hdfs

__all__ = ["azurite", "container", "hdfs", "no_ambient_credentials", "on_azure", "on_hdfs"]
MOR = "h11_event_time_deletes"
pytestmark = pytest.mark.object_stores
needs_hdfs = pytest.mark.skipif(not _mortice.has_hdfs, reason="built without HDFS: maturin develop --features hdfs")


@pytest.fixture
def session(spark):
    """Sets settings of the session for one test."""
    names = []

    def configure(settings):
        for name, value in settings.items():
            spark.conf.set(name, value)
            names.append(name)
        return spark

    yield configure
    for name in names:
        spark.conf.unset(name)


def _arrow(frame):
    import pyarrow as pa

    return frame.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_batches(frame._collect_as_arrow())


@needs_hdfs
def test_a_table_on_a_name_service_of_the_session(session, on_hdfs, hdfs):
    on_hdfs(MOR)
    address = hdfs.uri.removeprefix("hdfs://")
    spark = session({"dfs.ha.namenodes.lake": "nn1", "dfs.namenode.rpc-address.lake.nn1": address})
    uri = f"hdfs://lake/lake/{MOR}"
    assert set(hadoop_settings(spark, uri)) == {"dfs.ha.namenodes.lake", "dfs.namenode.rpc-address.lake.nn1"}
    assert_same_result(hudi_result(MOR), _arrow(mortice.spark.read(spark, uri)))


@needs_hdfs
@pytest.mark.spark4
def test_a_data_source_on_hdfs(spark, on_hdfs):
    mortice.spark.register(spark)
    assert spark.read.format("mortice").load(on_hdfs(MOR).uri).count() == hudi_result(MOR).num_rows


def test_a_table_on_azure_with_the_settings_of_the_session(session, on_azure, capsys):
    stored = on_azure(MOR)
    name = f"fs.azure.account.key.{azure_module.ACCOUNT}.dfs.core.windows.net"
    spark = session({name: azure_module.KEY})
    # Hadoop has no setting for a server other than Azure's own.
    frame = mortice.spark.read(spark, stored.uri, options={"mortice.storage.endpoint": stored.endpoint})
    assert_same_result(hudi_result(MOR), _arrow(frame))
    frame.explain(extended=True)
    assert azure_module.KEY not in capsys.readouterr().out


def test_a_shared_access_signature_of_the_session(session, on_azure):
    stored = on_azure(MOR)
    settings = {"fs.azure.account.auth.type": "SAS", "fs.azure.sas.fixed.token": azure_module.sas_token()}
    options = {"mortice.storage.endpoint": stored.endpoint}
    frame = mortice.spark.read(session(settings), stored.uri, options=options)
    assert frame.count() == hudi_result(MOR).num_rows
