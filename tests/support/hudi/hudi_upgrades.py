"""Upgrades and downgrades by Hudi on Spark: writes the cases of `tests/data/upgrades`.

    python -m support.hudi.hudi_upgrades <jar> <folder> <case> …

A case is `<profile>:<mor or cow>:<version>:<to>`. A table of the version is written and copied, and Hudi brings the
copy to the other version (`UpgradeDowngrade`). `<case>.json` has its properties before and after, and its timeline and
rows after; `<case>.tar.xz` is the table before, with the times of its files.
"""

import json
import shutil
import sys
import tarfile
from pathlib import Path

MODEL = "org.apache.hudi.common.model."
PAYLOAD = "hoodie.datasource.write.payload.class"
PROFILES = {
    "plain": {},
    "latest": {PAYLOAD: f"{MODEL}OverwriteWithLatestAvroPayload"},
    "default": {PAYLOAD: f"{MODEL}DefaultHoodieRecordPayload"},
    "partial": {PAYLOAD: f"{MODEL}PartialUpdateAvroPayload"},
    "nondefaults": {PAYLOAD: f"{MODEL}OverwriteNonDefaultsWithLatestAvroPayload"},
    "eventtime": {PAYLOAD: f"{MODEL}EventTimeAvroPayload"},
    "aws": {PAYLOAD: f"{MODEL}AWSDmsAvroPayload"},
    "mysql": {PAYLOAD: f"{MODEL}debezium.MySqlDebeziumAvroPayload"},
    "postgres": {PAYLOAD: f"{MODEL}debezium.PostgresDebeziumAvroPayload"},
    "commit": {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"},
    "archived": {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    },
    "nometa": {"hoodie.metadata.enable": "false"},
}
KINDS = {"mor": "MERGE_ON_READ", "cow": "COPY_ON_WRITE"}
NAMES = {6: "SIX", 8: "EIGHT", 9: "NINE", 10: "TEN"}
COLUMNS = (
    "id string, city string, ts long, v string, Op string, _change_operation_type string, _event_lsn long, "
    "_event_seq string"
)
SHOWN = ("_hoodie_commit_time", "id", "city", "ts", "v")


def write(spark, table, rows, case):
    """Writes rows of id, city, ts and v."""
    profile, kind, version = case
    columns = [(key, city, ts, v, "I", "c", ts, str(ts)) for key, city, ts, v in rows]
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": KINDS[kind],
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.upsert.shuffle.parallelism": "1",
        **PROFILES[profile],
    }
    frame = spark.createDataFrame(columns, COLUMNS).coalesce(1)
    frame.write.format("hudi").options(**options).mode("append").save(str(table))


def change_version(spark, table, to):
    """Brings a table to another version, as `CALL upgrade_table` does."""
    hudi, storage = spark._jvm.org.apache.hudi, spark._jsc.hadoopConfiguration()
    configuration = hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(storage)
    client = hudi.common.table.HoodieTableMetaClient.builder().setConf(configuration).setBasePath(str(table))
    policy = hudi.common.model.HoodieFailedWritesCleaningPolicy.EAGER
    cleaning = hudi.config.HoodieCleanConfig.newBuilder().withFailedWritesCleaningPolicy(policy).build()
    config = hudi.config.HoodieWriteConfig.newBuilder().forTable("t").withPath(str(table))
    config = config.withRollbackUsingMarkers(True).withCleanConfig(cleaning).build()
    context = hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    helper = hudi.table.upgrade.SparkUpgradeDowngradeHelper.getInstance()
    upgrade = hudi.table.upgrade.UpgradeDowngrade(client.build(), config, context, helper)
    upgrade.run(getattr(hudi.common.table.HoodieTableVersion, NAMES[to]), None)


def properties(table):
    """Returns the properties of a table."""
    lines = (Path(table) / ".hoodie" / "hoodie.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def rows(spark, table):
    """Returns Hudi's snapshot, sorted."""
    found = spark.read.format("hudi").load(str(table)).select(*SHOWN).collect()
    return sorted([str(value) for value in row] for row in found)


def timeline(table, version):
    """Returns the names of the files of the active timeline."""
    folder = Path(table) / ".hoodie" / ("timeline" if version >= 8 else "")
    return sorted(file.name for file in folder.iterdir() if file.name[0].isdigit())


def make(spark, folder, case):
    """Writes a case."""
    profile, kind, version, to = case.split(":")
    version, to = int(version), int(to)
    name = f"{profile}_{kind}_{version}_{to}"
    before, after = folder / name / "before", folder / name / "after"
    shutil.rmtree(folder / name, ignore_errors=True)
    write(spark, before, [("a", "x", 1, "1"), ("b", "x", 1, "1"), ("c", "y", 1, "1")], (profile, kind, version))
    for number in range(2, 9 if profile == "archived" else 4):
        rows_of_commit = [("a", "x", number, str(number)), (f"n{number}", "y", number, "n")]
        write(spark, before, rows_of_commit, (profile, kind, version))
    shutil.copytree(before, after)
    change_version(spark, after, to)
    result = {"before": properties(before), "after": properties(after), "timeline": timeline(after, to)}
    result |= {"rows": rows(spark, after)}
    assert result["rows"] == rows(spark, before)
    store(folder, name, before, result)


def store(folder, name, before, result):
    """Writes the files of a case: what the step did, and the table before it."""
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    with tarfile.open(folder / f"{name}.tar.xz", "w:xz", format=tarfile.PAX_FORMAT) as archive:
        archive.add(before, ".", filter=lambda file: None if file.name.endswith(".crc") else file)


def main(make, jar, folder, *cases):
    """Writes cases, each by `make(spark, folder, case)`."""
    from support.hudi.hudi_writer import session

    spark = session(jar)
    spark.sparkContext.setLogLevel("OFF")
    for case in cases:
        make(spark, Path(folder), case)
        print(case, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(make, *sys.argv[1:])
