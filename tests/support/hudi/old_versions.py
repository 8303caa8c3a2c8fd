"""Upgrades of tables of versions 0 to 5 by Hudi 0.15 on Spark: writes the cases `old_*` of `tests/data/upgrades`.

    python -m support.hudi.old_versions <jar> <folder> <name>:<table>:<from>:<to>[:<option>=<value>]… …

`<table>` is a table that an older release wrote; it is copied. `<from>` is its version, or 0 for one of version 1,
which Hudi brings there first. `<name>.json` has the options, and properties, timeline and rows after Hudi's upgrade
(`UpgradeDowngrade`); `<name>.tar.xz` is the table before.
"""

import shutil
import sys

from support.hudi.hudi_upgrades import main, properties, store, timeline

NAMES = ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"]
HIDDEN = {"_hoodie_commit_seqno", "_hoodie_file_name"}


def change_version(spark, table, to, options):
    """Brings a table to another version, with the options of the writer that would do so."""
    jvm = spark._jvm
    hudi = jvm.org.apache.hudi
    configuration = hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(spark._jsc.hadoopConfiguration())
    client = hudi.common.table.HoodieTableMetaClient.builder().setConf(configuration).setBasePath(str(table)).build()
    given = jvm.java.util.Properties()
    for name, value in options.items():
        given.setProperty(name, value)
    config = hudi.config.HoodieWriteConfig.newBuilder().forTable("t").withPath(str(table)).withProps(given).build()
    context = hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    helper = hudi.table.upgrade.SparkUpgradeDowngradeHelper.getInstance()
    upgrade = hudi.table.upgrade.UpgradeDowngrade(client, config, context, helper)
    upgrade.run(getattr(hudi.common.table.HoodieTableVersion, NAMES[to]), None)


def snapshot(spark, table):
    """Returns Hudi's snapshot: columns and sorted rows, without what differs from one file to the next."""
    frame = spark.read.format("hudi").load(str(table))
    columns = sorted(set(frame.columns) - HIDDEN)
    return columns, sorted([str(value) for value in row] for row in frame.select(*columns).collect())


def make(spark, folder, case):
    """Writes a case."""
    name, table, version, to, *options = case.split(":")
    options = dict(option.split("=", 1) for option in options)
    before, after = folder / name / "before", folder / name / "after"
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(table, before)
    if version == "0":
        change_version(spark, before, 0, options)
    shutil.copytree(before, after)
    change_version(spark, after, int(to), options)
    result = {"options": options, "before": properties(before), "after": properties(after)}
    columns, rows = snapshot(spark, after)
    result |= {"timeline": timeline(after, int(to)), "columns": columns, "rows": rows}
    store(folder, name, before, result)


if __name__ == "__main__":
    main(make, *sys.argv[1:])
