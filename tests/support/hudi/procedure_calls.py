"""Hudi's procedures and table functions on two tables that Hudi writes, with its answers.

    python -m support.hudi.procedure_calls <jar> <folder>

needs pyspark 3.5. It writes the tables to `<folder>/tables` and the answers to `<folder>/answers.json`: a list of
calls, each with its columns (names and types) and rows, or an error. There the folder of the tables is `{root}`. What
`help` says of each procedure is in `<folder>/help.json`: its parameters (name, type, default, required) and columns
(name, type, nullable, metadata).
"""

import json
import sys
from pathlib import Path

from support.hudi.hudi_writer import session

NAMES = ("mor", "cow")
OPTIONS = {
    "hoodie.archive.automatic": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.embed.timeline.server": "false",
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.parquet.compression.codec": "gzip",
}


def merge(name, *rows):
    values = ", ".join(f"({key}, '{text}', {fare}D, {ts}L, '{city}')" for key, text, fare, ts, city in rows)
    return (
        f"MERGE INTO {name} t USING (SELECT * FROM VALUES {values} AS s(id, name, fare, ts, city)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


class Tables:
    """The tables, while Hudi writes them."""

    def __init__(self, spark, root):
        self.spark, self.root = spark, root

    def sql(self, text):
        return [tuple(row) for row in self.spark.sql(text).collect()]

    def last(self, name):
        return self.sql(f"CALL show_commits(table => '{name}', limit => 1)")[0][0]

    def write(self):
        for key, value in OPTIONS.items():
            self.sql(f"SET {key}={value}")
        for name in NAMES:
            self.sql(
                f"CREATE TABLE {name} (id int, name string, fare double, ts long, city string) USING hudi "
                f"PARTITIONED BY (city) LOCATION '{self.root}/{name}' "
                f"TBLPROPERTIES (type = '{name}', primaryKey = 'id', preCombineField = 'ts')"
            )
            self.sql(merge(name, (1, "a", 1.5, 1, "oslo"), (2, "b", 2.5, 1, "oslo"), (3, "c", 3.5, 1, "rome")))
            self.sql(merge(name, (1, "a2", 10.5, 2, "oslo"), (4, "d", 4.5, 2, "rome")))
            self.sql(merge(name, (3, "c2", 30.5, 3, "rome"), (5, "e", 5.5, 3, "oslo")))
            self.sql(f"CALL rollback_to_instant(table => '{name}', instant_time => '{self.last(name)}')")
            self.sql(f"DELETE FROM {name} WHERE id = 2")
        self.sql(merge("cow", (1, "a3", 11.5, 4, "oslo")))
        self.sql("CALL run_clean(table => 'cow', retain_commits => 1)")
        self.sql(merge("cow", (1, "a4", 12.5, 5, "oslo")))
        self.sql("CALL run_clustering(table => 'cow', op => 'scheduleAndExecute', order => 'fare')")
        self.sql(merge("cow", (6, "f", 6.5, 6, "rome")))
        self.sql("CALL archive_commits(table => 'cow', min_commits => 3, max_commits => 4, retain_commits => 1)")
        self.sql("CALL run_compaction(op => 'run', table => 'mor')")
        self.sql("CALL create_savepoint(table => 'mor', user => 'me', comments => 'why')")
        self.sql(merge("mor", (1, "a5", 13.5, 6, "oslo")))
        self.sql("CALL run_compaction(op => 'schedule', table => 'mor')")
        self.sql(merge("mor", (1, "a6", 14.5, 7, "oslo")))

    def calls(self):
        """Returns the calls of both tables."""
        for name in NAMES:
            path = f"{self.root}/{name}"
            commits = [row[0] for row in self.sql(f"CALL show_commits(table => '{name}', limit => 100)")]
            yield from of_commits(name, commits)
            yield from of_services(name, path)
            yield from of_files(name, path, commits[0])
            yield from of_metadata(name)
            for rollback, *_ in self.sql(f"CALL show_rollbacks(table => '{name}')"):
                detail = f"CALL show_rollback_detail(table => '{name}', instant_time => '{rollback}')"
                yield detail
                file = Path(self.sql(detail)[0][3]).name
                yield f"CALL show_file_status(table => '{name}', partition => 'city=oslo', file => '{file}')"
        other = NAMES[1]
        yield f"CALL commits_compare(table => '{NAMES[0]}', path => '{self.root}/{other}')"
        yield f"CALL commits_compare(table => '{other}', path => '{self.root}/{NAMES[0]}')"
        # A log file without deletes: Hudi fails on others.
        log = next(iter(sorted(Path(f"{self.root}/mor/city=oslo").glob(f".*_{self.last('mor')}.log*"))), None)
        if log is not None:
            yield f"CALL show_logfile_metadata(table => 'mor', log_file_path_pattern => '{log}', limit => 100)"
            yield f"CALL show_logfile_records(table => 'mor', log_file_path_pattern => '{log}')"


def of_commits(name, commits):
    of_table = f"table => '{name}'"
    yield f"CALL show_commits({of_table})"
    yield f"CALL show_commits('{name}', 2)"
    yield f"CALL show_commits_metadata({of_table}, limit => 100)"
    for procedure in ("show_archived_commits", "show_archived_commits_metadata"):
        yield f"CALL {procedure}({of_table}, start_ts => '20200101', end_ts => '20990101', limit => 100)"
        yield f"CALL {procedure}({of_table}, start_ts => '20980101', end_ts => '20990101')"
    for instant in (commits[0], commits[-1]):
        for procedure in ("files", "partitions", "write_stats", "extra_metadata"):
            yield f"CALL show_commit_{procedure}({of_table}, instant_time => '{instant}')"
    yield f"CALL show_commit_extra_metadata({of_table}, metadata_key => 'schema')"
    yield f"CALL show_commit_files('{name}', 1, '{commits[-1]}')"
    yield f"CALL stats_wa({of_table})"
    yield f"CALL stats_wa({of_table}, limit => 1)"
    yield f"CALL show_timeline({of_table})"
    yield f"CALL show_timeline({of_table}, limit => 100, showArchived => true)"
    yield f"CALL show_timeline({of_table}, filter => \"action = 'rollback'\")"
    yield f"CALL show_timeline({of_table}, limit => 1, startTime => '{commits[-1]}', endTime => '{commits[0]}')"
    yield f"CALL show_timeline({of_table}, limit => 3, endTime => '{commits[0]}')"
    yield f"SELECT * FROM hudi_query_timeline('{name}')"


def of_services(name, path):
    of_table = f"table => '{name}'"
    for procedure in ("show_cleans", "show_cleans_metadata", "show_clean_plans"):
        yield f"CALL {procedure}({of_table})"
        yield f"CALL {procedure}({of_table}, limit => 1, showArchived => true)"
    yield f"CALL show_clustering({of_table})"
    yield f"CALL show_clustering(path => '{path}', show_involved_partition => true)"
    yield f"CALL show_compaction({of_table})"
    yield f"CALL show_rollbacks({of_table})"
    yield f"CALL show_savepoints({of_table})"
    yield f"CALL show_table_properties({of_table}, limit => 100)"
    yield f"CALL show_table_properties(path => '{path}', limit => 100, filter => \"key LIKE 'hoodie.table%'\")"
    yield f"CALL repair_corrupted_clean_files({of_table})"
    yield f"CALL show_audit_lock_status({of_table})"
    yield f"CALL validate_audit_lock({of_table})"
    yield f"CALL cleanup_audit_lock({of_table})"
    yield f"CALL show_bootstrap_partitions({of_table})"
    yield f"CALL show_bootstrap_mapping({of_table})"


def of_files(name, path, last):
    of_table = f"table => '{name}', limit => 100"
    yield f"CALL stats_file_sizes({of_table})"
    yield f"CALL stats_file_sizes({of_table}, partition_path => 'city=oslo')"
    yield f"CALL show_fsview_all({of_table})"
    yield f"CALL show_fsview_all(path => '{path}', path_regex => 'city=oslo', limit => 100)"
    yield f"CALL show_fsview_all({of_table}, exclude_compaction => true)"
    yield f"CALL show_fsview_latest({of_table})"
    yield f"CALL show_fsview_latest({of_table}, path_regex => '*')"
    yield f"CALL show_fsview_latest({of_table}, merge => false)"
    yield f"CALL show_fsview_latest({of_table}, partition_path => 'city=rome')"
    yield f"CALL show_fsview_latest({of_table}, max_instant => '{last}')"
    yield f"CALL show_fsview_latest({of_table}, max_instant => '{last}', include_max => true)"
    yield f"SELECT * FROM hudi_filesystem_view('{name}', 'city=oslo')"
    yield f"CALL show_fs_path_detail(path => '{path}/city=oslo')"
    yield f"CALL show_fs_path_detail(path => '{path}/city=oslo', is_sub => true)"
    yield f"CALL show_fs_path_detail(path => '{path}/city=*', sort => false)"
    yield f"CALL show_invalid_parquet(path => '{path}')"
    yield f"CALL show_file_status(table => '{name}', partition => 'city=oslo', file => 'nothing.parquet')"
    yield f"SELECT id, name, fare FROM hudi_query('{name}', 'snapshot')"
    yield f"SELECT id, name, fare FROM hudi_query('{name}', 'read_optimized')"
    yield f"SELECT id, name, fare FROM hudi_table_changes('{name}', 'latest_state', 'earliest')"


def of_metadata(name):
    of_table = f"table => '{name}'"
    yield f"CALL show_metadata_table_files({of_table}, partition => 'city=oslo')"
    yield f"CALL show_metadata_table_files({of_table}, partition => 'city=oslo', limit => 1)"
    yield f"CALL show_metadata_table_partitions({of_table})"
    yield f"CALL show_metadata_table_column_stats({of_table}, targetColumns => 'id,fare,name')"
    yield f"CALL show_metadata_table_column_stats({of_table}, targetColumns => 'id', partition => 'city=rome')"
    yield f"CALL validate_metadata_table_files({of_table})"
    yield f"CALL validate_metadata_table_files({of_table}, verbose => true)"
    yield f"SELECT key, type FROM hudi_metadata('{name}') WHERE type = 2"


def answer(spark, text):
    """Returns what Spark answers: columns and rows, or the first line of an error."""
    try:
        frame = spark.sql(text)
        columns = [[field.name, field.dataType.simpleString()] for field in frame.schema.fields]
        return {"columns": columns, "rows": [list(row) for row in frame.collect()]}
    except Exception as error:  # noqa: BLE001 - part of the answers
        return {"error": str(error).splitlines()[0]}


def described(spark):
    """Returns what `help` says of each procedure, by name."""
    _, _, _, *names = (line.split("\t") for line in spark.sql("CALL help()").first()[0].splitlines())
    found = {}
    for name in sorted(name[1].strip() for name in names if len(name) > 1):
        text = spark.sql(f"CALL help(cmd => '{name}')").first()[0]
        found[name] = dict(zip(("parameters", "columns"), parts_of(text), strict=True))
    return found


def parts_of(text):
    """Returns the parameters and the columns in a text of `help`, each a list of strings."""
    parameters, columns = text.removeprefix("parameters:\n").split("outputType:\n")
    return [
        [[field.strip() for field in line.split("\t")[1:]] for line in part.splitlines()[1:]]
        for part in (parameters, columns)
    ]


def main(jar, folder):
    root = Path(folder) / "tables"
    root.mkdir(parents=True)
    spark = session(
        jar,
        {
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        },
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    tables = Tables(spark, root)
    tables.write()
    answers = [{"call": text, **answer(spark, text)} for text in list(tables.calls())]
    text = json.dumps(answers, indent=1, default=str).replace(str(root), "{root}")
    (Path(folder) / "answers.json").write_text(text + "\n")
    of_each = (f"{json.dumps(name)}: {json.dumps(said)}" for name, said in described(spark).items())
    (Path(folder) / "help.json").write_text("{\n" + ",\n".join(of_each) + "\n}\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
