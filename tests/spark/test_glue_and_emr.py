"""What jobs on AWS Glue and EMR do, which run Spark 3.5: the pages, and one job with S3, a lock and Glue's catalog."""

import pytest

import mortice
import mortice.spark
from examples import ROOT, outputs, unpack_tables
from mortice.catalogs import run
from mortice.catalogs.glue import Glue
from support.object_stores.fixtures import KEYS, bucket, moto, no_ambient_credentials

__all__ = ["bucket", "moto", "no_ambient_credentials"]
SYNC = "hoodie.datasource.hive_sync"
LOCK = "hoodie.write.lock"
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.metadata.enable": "false",
}


@pytest.fixture
def new_database(spark):
    """Pages name their tables and views as other pages do."""
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)
    before = spark.catalog.currentDatabase()
    spark.sql("CREATE DATABASE of_one_page")
    spark.catalog.setCurrentDatabase("of_one_page")
    yield
    spark.catalog.setCurrentDatabase(before)
    spark.sql("DROP DATABASE of_one_page CASCADE")


@pytest.mark.usefixtures("new_database")
@pytest.mark.parametrize("page", ["docs/glue-emr.md", "docs/recipes-spark.md"])
def test_pages_run_on_every_release_of_spark(page, tmp_path):
    unpack_tables(tmp_path)
    for shown, printed in outputs(ROOT / page, tmp_path):
        assert printed == shown


def check_job(spark, path, options):
    """Writes, merges, streams and compacts a table, as a job does."""
    spark.createDataFrame([("a", 1, 5.0), ("b", 1, 7.5)], "id string, ts bigint, fare double").createOrReplaceTempView(
        "v"
    )
    mortice.spark.write(spark.table("v"), path, options=options)
    storage = {name: value for name, value in options.items() if name.startswith("mortice.storage.")}
    given = ", ".join(f"'{name}' '{value}'" for name, value in {"path": path, **storage}.items())
    mortice.spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW trips USING mortice OPTIONS ({given})")
    mortice.spark.sql(
        spark,
        "MERGE INTO trips t USING (SELECT id, 2 ts, fare + 1 fare FROM v WHERE id = 'a') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *",
    )
    mortice.spark.stream_writer(path, options=options)(
        spark.createDataFrame([("c", 1, 1.0)], spark.table("v").schema), 0
    )
    mortice.spark.sql(
        spark, "CALL run_compaction(table => 'trips', options => 'hoodie.compact.inline.max.delta.commits=1')"
    )
    rows = mortice.spark.read(spark, path, options=storage).orderBy("id").select("id", "fare").collect()
    assert [tuple(row) for row in rows] == [("a", 6.0), ("b", 7.5), ("c", 1.0)]


@pytest.mark.parametrize("version", ["6", "8", "9"])
def test_a_job_on_local_disk(spark, tmp_path, version):
    check_job(spark, str(tmp_path / "trips"), {**OPTIONS, "hoodie.write.table.version": version})


@pytest.mark.parametrize("version", ["6", "8"])
def test_a_job_with_s3_a_lock_in_dynamodb_and_the_glue_catalog(spark, moto, bucket, monkeypatch, version):
    boto3 = pytest.importorskip("boto3")
    path = f"s3://{bucket}/glue/{version}"
    client = boto3.client(
        "glue", region_name="us-east-1", endpoint_url=moto, aws_access_key_id="a", aws_secret_access_key="b"
    )
    monkeypatch.setattr(run, "Glue", lambda: Glue(client))
    storage = {
        f"mortice.storage.{name}": value for name, value in {"endpoint": moto, "region": "us-east-1", **KEYS}.items()
    }
    options = {
        **OPTIONS,
        **storage,
        "hoodie.write.table.version": version,
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        f"{LOCK}.provider": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
        f"{LOCK}.dynamodb.endpoint_url": moto,
        f"{LOCK}.dynamodb.table": f"glue_locks_{version}",
    }
    check_job(spark, path, options)
    table = mortice.Table(path, storage_options={"endpoint": moto, "region": "us-east-1", **KEYS})
    tool = {"hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"}
    mortice.sync(table, {**tool, f"{SYNC}.database": f"lake{version}", f"{SYNC}.table": "trips"})
    names = {table["Name"] for table in client.get_tables(DatabaseName=f"lake{version}")["TableList"]}
    assert names == {"trips", "trips_ro", "trips_rt"}
