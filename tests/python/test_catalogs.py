"""Tables in catalogs: the entries equal those of Hudi's sync tool, and follow the table."""

import datetime as dt
import decimal
import json
import os
import pathlib
import re
import socket
import subprocess
import time

import pyarrow as pa
import pytest

import mortice
from mortice._mortice import CatalogTable
from mortice.catalogs import run
from mortice.catalogs.glue import Glue
from mortice.cli import main
from mortice.errors import InvalidArgumentError, TableServiceError, UnsupportedError
from support.cases import DATA

HIVE = "hoodie.datasource.hive_sync."
GLUE = {
    HIVE + "enable": "true",
    "hoodie.meta.sync.client.tool.class": "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool",
    HIVE + "database": "lake",
}
HUDIS = json.loads((DATA / "catalog" / "hudi_1.2.0.json").read_text(encoding="utf-8"))
OF_HUDI = {
    "cow_two": ("COPY_ON_WRITE", ["city", "yr"], True, {}),
    "mor_ts": (
        "MERGE_ON_READ",
        ["city"],
        False,
        {"support_timestamp": "true", "table_properties": "owner=me\nk=v", "serde_properties": "a=b"},
    ),
    "mor_days": (
        "MERGE_ON_READ",
        ["day"],
        False,
        {"partition_extractor_class": "org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"},
    ),
    "mor_skip": ("MERGE_ON_READ", ["c"], False, {"skip_ro_suffix": "true"}),
}


def field(name, kind):
    return pa.field(name, kind, nullable=False)


def columns_of(name):
    """The rows that Hudi wrote to the table of that name."""
    if name == "mor_days":
        return {"id": ("a", pa.string()), "ts": (1, pa.int64()), "day": ("2024/01/02", pa.string())}
    if name == "mor_skip":
        return {"id": ("a", pa.string()), "ts": (1, pa.int64()), "c": ("x", pa.string())}
    return {
        "id": ("a", pa.string()),
        "ts": (1, pa.int64()),
        "i": (1, pa.int32()),
        "d": (2.5, pa.float64()),
        "f": (3.5, pa.float32()),
        "b": (True, pa.bool_()),
        "dec": (decimal.Decimal("1.25"), pa.decimal128(10, 2)),
        "dt": (dt.date(2024, 1, 2), pa.date32()),
        "t": (dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc), pa.timestamp("us", "UTC")),
        "bin": (b"x", pa.binary()),
        "arr": ([1, 2], pa.list_(field("element", pa.int32()))),
        "m": ([("k", 1)], pa.map_(pa.string(), field("value", pa.int64()))),
        "st": ({"x": 1, "y": "y"}, pa.struct([field("x", pa.int32()), field("y", pa.string())])),
        "Mixed": (None, pa.string()),
        "city": ("oslo", pa.string()),
        "yr": (2024, pa.int32()),
    }


@pytest.fixture
def glue(monkeypatch):
    boto3, moto = pytest.importorskip("boto3"), pytest.importorskip("moto")
    with moto.mock_aws():
        client = boto3.client("glue", region_name="eu-north-1", aws_access_key_id="a", aws_secret_access_key="b")
        monkeypatch.setattr(run, "Glue", lambda: Glue(client))
        yield client


def entry(client, name, database="lake"):
    """What a catalog has of a table, in the form of tests/data/catalog."""
    table = client.get_table(DatabaseName=database, Name=name)["Table"]
    storage, serde = table["StorageDescriptor"], table["StorageDescriptor"]["SerdeInfo"]
    partitions = client.get_partitions(DatabaseName=database, TableName=name)["Partitions"]
    own = ("hudi_writer_version", "last_commit_completion_time_sync", "last_commit_time_sync", "numFiles", "totalSize")
    return {
        "columns": [[column["Name"], column["Type"]] for column in storage["Columns"]],
        "partition_columns": [[column["Name"], column["Type"]] for column in table["PartitionKeys"]],
        "input_format": storage["InputFormat"],
        "output_format": storage["OutputFormat"],
        "serde": serde["SerializationLibrary"],
        "serde_properties": {key: value for key, value in serde["Parameters"].items() if key != "path"},
        "properties": {key: value for key, value in table["Parameters"].items() if key not in own},
        "partitions": [
            [one["Values"], one["StorageDescriptor"]["Location"].removeprefix(storage["Location"] + "/")]
            for one in partitions
        ],
    }


@pytest.mark.parametrize("name", OF_HUDI)
def test_entries_equal_those_of_hudis_tool(glue, tmp_path, name):
    kind, parts, hive_style, options = OF_HUDI[name]
    columns = columns_of(name)
    schema = pa.schema([pa.field(key, kind, value is None) for key, (value, kind) in columns.items()])
    properties = {"hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower()}
    table = mortice.create_table(
        str(tmp_path / "t"),
        schema,
        name=name,
        record_key="id",
        partition_by=parts,
        ordering="ts",
        table_type=kind,
        properties=properties,
    )
    rows = pa.table({key: pa.array([value], kind) for key, (value, kind) in columns.items()}, schema=schema)
    table.upsert(rows, {**GLUE, **{HIVE + key: value for key, value in options.items()}})
    expected = {key: value for key, value in HUDIS.items() if re.fullmatch(f"{name}(_ro|_rt)?", key)}
    for key, value in expected.items():
        found = entry(glue, key)
        # Field names of items are written in neither form.
        assert found == value | {
            "properties": {k: v for k, v in value["properties"].items() if k in found["properties"]}
        }
        assert found["properties"].keys() == value["properties"].keys() - {"numFiles", "totalSize"}


def new_table(tmp_path):
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("city", pa.string())])
    return mortice.create_table(
        str(tmp_path / "t"), schema, name="trips", record_key="id", partition_by="city", ordering="ts"
    )


def test_columns_and_partitions_follow_the_table(glue, tmp_path):
    table = new_table(tmp_path)
    table.upsert(pa.table({"id": ["a", "b"], "ts": [1, 1], "city": ["oslo", "rome"]}), GLUE)
    assert [one[0] for one in entry(glue, "trips")["partitions"]] == [["oslo"], ["rome"]]
    rows = pa.table({"id": ["c"], "ts": [1], "city": ["bern"], "tip": pa.array([2.5])})
    table.upsert(rows, GLUE, schema="add")
    table.delete_partitions(["rome"], GLUE)
    for name in ("trips", "trips_ro", "trips_rt"):
        found = entry(glue, name)
        assert sorted(one[0] for one in found["partitions"]) == [["bern"], ["oslo"]]
        assert ["tip", "double"] in found["columns"]
        assert '"tip"' in found["properties"]["spark.sql.sources.schema.part.0"]
        for one in glue.get_partitions(DatabaseName="lake", TableName=name)["Partitions"]:
            assert one["StorageDescriptor"]["Columns"][-1]["Name"] == "tip"


def test_a_sync_of_its_own_says_what_it_did(glue, tmp_path):
    table = new_table(tmp_path)
    table.upsert(pa.table({"id": ["a"], "ts": [1], "city": ["oslo"]}))
    done = mortice.sync(table, GLUE)
    assert [(one.table, one.created, one.partitions_added) for one in done] == [
        ("trips_ro", True, 1),
        ("trips_rt", True, 1),
        ("trips", True, 1),
    ]
    again = mortice.sync(table.uri, GLUE)
    assert [(one.created, one.columns_changed, one.partitions_added, one.partitions_dropped) for one in again] == [
        (False, False, 0, 0)
    ] * 3


def test_properties_of_others_stay(glue, tmp_path):
    table = new_table(tmp_path)
    table.upsert(pa.table({"id": ["a"], "ts": [1], "city": ["oslo"]}), GLUE)
    stored = glue.get_table(DatabaseName="lake", Name="trips")["Table"]
    changed = {key: stored[key] for key in ("Name", "StorageDescriptor", "PartitionKeys", "TableType")}
    glue.update_table(
        DatabaseName="lake", TableInput={**changed, "Parameters": {**stored["Parameters"], "team": "rides"}}
    )
    table.upsert(pa.table({"id": ["b"], "ts": [1], "city": ["oslo"]}), GLUE)
    after = glue.get_table(DatabaseName="lake", Name="trips")["Table"]["Parameters"]
    assert after["team"] == "rides"
    assert after["last_commit_time_sync"] == table.timeline.latest.requested_time


def test_the_command_prints_what_it_did(glue, tmp_path, capsys):
    table = new_table(tmp_path)
    table.upsert(pa.table({"id": ["a"], "ts": [1], "city": ["oslo"]}))
    assert main(["sync", table.uri, "--glue", "--database", "lake"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[-3:]] == [
        ["lake.trips_ro", "created"],
        ["lake.trips_rt", "created"],
        ["lake.trips", "created"],
    ]
    assert main(["sync", table.uri]) == 2
    assert "metastore.uris" in capsys.readouterr().err


@pytest.fixture
def nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return {HIVE + "enable": "true", HIVE + "metastore.uris": f"thrift://127.0.0.1:{free.getsockname()[1]}"}


def test_a_failed_sync_undoes_nothing_and_says_so(tmp_path, nobody_listens):
    pytest.importorskip("pymetastore")
    table = new_table(tmp_path)
    with pytest.raises(
        TableServiceError, match=r"the rows are in the table.*no metastore answers.*mortice\.sync"
    ) as raised:
        table.upsert(pa.table({"id": ["a"], "ts": [1], "city": ["oslo"]}), nobody_listens)
    assert raised.value.instant == table.timeline.latest.requested_time
    assert table.snapshot(columns=["id"]).to_arrow().num_rows == 1
    with pytest.warns(UserWarning, match="could not be registered"):
        table.upsert(
            pa.table({"id": ["b"], "ts": [1], "city": ["oslo"]}), {**nobody_listens, HIVE + "ignore_exceptions": "true"}
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InvalidArgumentError, "metastore.uris"),
        ({HIVE + "metastore.uris": "thrift://h:1", HIVE + "mode": "jdbc"}, UnsupportedError, "mode=hms"),
        ({HIVE + "metastore.uris": "thrift://h:1", HIVE + "databse": "x"}, InvalidArgumentError, "databse"),
        ({HIVE + "metastore.uris": "thrift://h:1", HIVE + "bucket_sync": "true"}, UnsupportedError, "bucket_sync"),
        (
            {HIVE + "metastore.uris": "thrift://h:1", HIVE + "table.strategy": "X"},
            InvalidArgumentError,
            "ALL, RO or RT",
        ),
        (
            {HIVE + "metastore.uris": "thrift://h:1", HIVE + "partition_extractor_class": "my.Own"},
            UnsupportedError,
            "my.Own",
        ),
    ],
)
def test_options_are_refused_before_anything_is_written(tmp_path, options, error, message):
    table = new_table(tmp_path)
    with pytest.raises(error, match=re.escape(message)):
        table.upsert(pa.table({"id": ["a"], "ts": [1], "city": ["oslo"]}), {HIVE + "enable": "true", **options})
    assert len(table.timeline) == 0


@pytest.fixture
def metastore(tmp_path):
    """The metastore server that Spark's jars contain."""
    pytest.importorskip("pymetastore")
    pyspark = pytest.importorskip("pyspark")
    from support.find_java import use_java

    use_java()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    java = pathlib.Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "net", "util", "util.concurrent")]
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{tmp_path}/warehouse",
        "hive.metastore.uris": "",
        "hive.async.log.enabled": "false",
    }
    command = [str(java), "-Xmx512m", *opened, "-cp", f"{pathlib.Path(pyspark.__file__).parent}/jars/*"]
    command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    command += [word for name, value in settings.items() for word in ("--hiveconf", f"{name}={value}")]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path) as server:
        try:
            for _ in range(240):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert server.poll() is None, (tmp_path / "log").read_text()[-2000:]
                time.sleep(0.5)
            yield f"thrift://127.0.0.1:{port}"
        finally:
            server.kill()


@pytest.mark.slow
def test_a_hive_metastore_has_the_table(metastore, tmp_path):
    from mortice.catalogs.hive_metastore import HiveMetastore

    table = new_table(tmp_path)
    options = {HIVE + "enable": "true", HIVE + "metastore.uris": metastore, HIVE + "database": "lake"}
    table.upsert(pa.table({"id": ["a", "b"], "ts": [1, 1], "city": ["oslo", "rome"]}), options)
    rows = pa.table({"id": ["c"], "ts": [1], "city": ["bern"], "tip": pa.array([2.5])})
    table.upsert(rows, options, schema="add")
    table.delete_partitions(["rome"], options)
    opened = HiveMetastore((metastore,))
    client = opened._client
    for name in ("trips", "trips_ro", "trips_rt"):
        found = client.get_table("lake", name)
        assert found.sd.cols[-1].name == "tip"
        assert (found.sd.outputFormat, found.sd.serdeInfo.serializationLib) == (
            CatalogTable.OUTPUT_FORMAT,
            CatalogTable.SERDE,
        )
        partitions = client.get_partitions("lake", name, -1)
        assert sorted(one.values for one in partitions) == [["bern"], ["oslo"]]
        assert {one.sd.cols[-1].name for one in partitions} == {"tip"}
    opened.close()
