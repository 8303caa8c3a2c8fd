"""Makes the tables of version 10 in `tests/data` (`h13_*`), with Hudi's results.

    python -m support.hudi.version_10_tables <jar of Hudi 1.3> <folder> [name …]

writes a folder for each table, in the form of `tests/data`: the table as `table.zip`, the results of Hudi's queries as
Parquet files, and `case.json`. Needs Spark 3.5. Hudi 1.3 writes the parts of older versions, too, with
`hoodie.write.table.version`.
"""

import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from support.hudi.hudi_writer import session

RELEASE = "1.3.0-SNAPSHOT"
TYPES = "id string, part string, value long, note string, price decimal(9,2), day date, tags array<string>, ts long"
OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.write.table.version": "10",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}
MOR = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
COW = {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
EVENT = {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}
COMMIT = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
PARTITIONED = {"hoodie.datasource.write.partitionpath.field": "part"}
BUCKETS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.bucket.index.hash.field": "id",
}
METADATA = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.record.index.max.filegroup.count": "1",
    "hoodie.metadata.compact.max.delta.commits": "4",
}
NOW = "hoodie.compact.inline.max.delta.commits=1"
NO_DECIMALS = TYPES.replace("price decimal(9,2), ", "")  # Hudi writes `{"zero":false}` for them in images
FLAGGED = TYPES + ", _hoodie_is_deleted boolean"
CASES = {}


def case(*options, **more):
    """Registers a function that makes a table, under the name of the function."""

    def register(make):
        merged = {}
        for some in options:
            merged.update(some)
        CASES[f"h13_{make.__name__}"] = (make, merged, more)
        return make

    return register


def cdc(mode):
    return {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode}


class Maker:
    """Makes one table."""

    def __init__(self, spark, name, path, options, types=TYPES):
        self.spark, self.name, self.path, self.types, self.steps = spark, name, path, types, []
        self.options = {**OPTIONS, "hoodie.table.name": name, **options}

    def rows(self, keys, step, ts=None, note=None):
        """Returns rows of some keys, whose values depend on the step."""

        def values(key):
            return {
                "id": f"k{key:03}",
                "part": ["amber", "birch", "cedar"][key % 3],
                "value": key * 100 + step,
                "note": note or (f"n{step}" if key % 4 else None),
                "price": f"{key}.{step:02}",
                "day": f"2024-01-{step + 1:02}",
                "tags": None if key % 5 == 0 else [f"t{key}", None][: key % 3],
                "ts": step if ts is None else ts,
                "_hoodie_is_deleted": "false",
                "at": f"2024-01-01 00:00:{step:02}",
                "more": str(step),
            }

        return [tuple(values(key)[name] for name, _ in columns(self.types)) for key in keys]

    def frame(self, rows):
        plain = {"long", "string", "array<string>"}
        given = ", ".join(f"{name} {kind if kind in plain else 'string'}" for name, kind in columns(self.types))
        casts = [f"cast({name} as {kind}) {name}" for name, kind in columns(self.types)]
        return self.spark.createDataFrame(rows, given).selectExpr(*casts).coalesce(1)

    def write(self, operation, rows, **options):
        frame = self.frame(rows)
        named = {name.replace("__", "."): value for name, value in options.items()}
        chosen = {**self.options, "hoodie.datasource.write.operation": operation, **named}
        mode = "append" if (Path(self.path) / ".hoodie").exists() else "overwrite"
        frame.write.format("hudi").options(**chosen).mode(mode).save(self.path)
        self.steps.append(operation)

    def upsert(self, keys, step, ts=None, note=None, **options):
        self.write("upsert", self.rows(keys, step, ts, note), **options)

    def delete(self, keys, step, ts=None, **options):
        """Deletes keys by the operation, whose deletes have no ordering values."""
        self.write("delete", self.rows(keys, step, ts), **options)

    def mark(self, keys, step, ts=None):
        """Deletes keys by rows that are marked, whose deletes have the ordering values of the rows."""
        at = [name for name, _ in columns(self.types)].index("_hoodie_is_deleted")
        self.write("upsert", [(*row[:at], "true", *row[at + 1 :]) for row in self.rows(keys, step, ts)])

    def sql(self, text):
        """Runs a statement on the table, which is `{t}` in it."""
        table = self.name
        self.spark.sql(f"DROP TABLE IF EXISTS {table}")
        self.spark.sql(f"CREATE TABLE {table} USING hudi LOCATION '{self.path}'")
        for name, value in self.options.items():
            if name.startswith("hoodie.") and "table.name" not in name:
                self.spark.conf.set(name, value)
        try:
            self.spark.sql(text.format(t=table)).collect()
        finally:
            for name in self.options:
                self.spark.conf.unset(name)
            self.spark.sql(f"DROP TABLE IF EXISTS {table}")
        self.steps.append(text)

    def completed(self):
        """Returns (requested, completion, action) of the completed instants, in order."""
        files = (Path(self.path) / ".hoodie" / "timeline").iterdir()
        names = (file.name.partition(".") for file in files if "_" in file.name and not file.name.endswith(".crc"))
        return sorted((*times.split("_"), action) for times, _, action in names)

    def instants(self):
        """Returns those of them that wrote rows."""
        writes = {"commit", "deltacommit", "replacecommit"}
        return [instant for instant in self.completed() if instant[2] in writes]


def columns(types):
    """Returns the names and types of columns."""
    parts = types.replace("(9,2)", "(9;2)").split(", ")
    return [tuple(part.replace(";", ",").split(" ", 1)) for part in parts]


@case(MOR, EVENT)
def mor_event_time(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.upsert(range(4, 8), 1)  # late: some lose
    it.delete([1, 9], 3)
    it.delete([2], 1)  # a late delete loses
    it.upsert([1, 3, 20], 3)  # ties


@case(MOR, COMMIT, PARTITIONED)
def mor_commit_time(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 5)
    it.delete([1, 2, 9], 4)
    it.upsert([2, 3, 21], 1)


@case(COW, EVENT, PARTITIONED, METADATA)
def cow_metadata(it):
    it.write("insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.delete([1, 9], 3)


@case(MOR, EVENT, PARTITIONED, METADATA)
def mor_metadata(it):
    it.write("insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.delete([1, 9], 3)
    it.upsert([0, 2, 22], 4)


@case(MOR, EVENT, {"hoodie.write.auto.upgrade": "true"})
def mor_upgraded_from_9(it):
    it.write("bulk_insert", it.rows(range(12), 0), hoodie__write__table__version="9")
    it.upsert(range(6), 2, hoodie__write__table__version="9")
    it.delete([0, 9], 3, hoodie__write__table__version="9")
    it.upsert(range(3, 8), 4)
    it.delete([4], 5)


@case(COW, EVENT, cdc("data_before_after"), types=NO_DECIMALS)
def cow_cdc_data_before_after(it):
    it.write("insert", it.rows(range(8), 0))
    it.upsert([1, 2, 30], 2)
    it.delete([3], 3)


@case(COW, EVENT, cdc("data_before"), types=NO_DECIMALS)
def cow_cdc_data_before(it):
    it.write("insert", it.rows(range(8), 0))
    it.upsert([1, 2, 30], 2)
    it.delete([3], 3)


@case(COW, EVENT, cdc("op_key_only"), types=NO_DECIMALS)
def cow_cdc_op_key_only(it):
    it.write("insert", it.rows(range(8), 0))
    it.upsert([1, 2, 30], 2)
    it.delete([3], 3)


@case(MOR, EVENT, cdc("data_before_after"), types=NO_DECIMALS)
def mor_cdc_data_before_after(it):
    it.write("insert", it.rows(range(8), 0))
    it.upsert([1, 2, 30], 2)
    it.delete([3], 3)
    it.upsert([2, 4], 1)
    it.sql("CALL run_compaction(op => 'scheduleandexecute', table => '{t}', options => '" + NOW + "')")


@case(MOR, EVENT, cdc("data_before_after"), BUCKETS, types=NO_DECIMALS)
def mor_cdc_buckets(it):
    it.write("upsert", it.rows(range(8), 0))
    it.upsert([1, 2, 30], 2)
    it.delete([3], 3)


@case(MOR, COMMIT, BUCKETS, PARTITIONED)
def mor_log_only(it):
    it.write("upsert", it.rows(range(9), 0))
    it.upsert([1, 2, 30], 2)
    it.delete([3, 4], 3)


LOG_COMPACTION = {
    "hoodie.log.compaction.enable": "true",
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
}


@case(MOR, EVENT, LOG_COMPACTION)
def mor_log_compaction(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.upsert(range(4, 8), 1)
    it.delete([1, 9], 3)
    it.upsert([2, 31], 4)


@case(MOR, EVENT, {"hoodie.write.record.positions": "false"})
def mor_without_positions(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.delete([1, 9], 3)


@case(MOR, EVENT, PARTITIONED)
def mor_clustered(it):
    it.write("insert", it.rows(range(9), 0))
    it.upsert(range(6), 2)
    it.delete([1], 3)
    it.sql("CALL run_clustering(table => '{t}', op => 'scheduleandexecute')")
    it.upsert([2, 3], 4)


@case(MOR, EVENT)
def mor_compacted(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.delete([1, 9], 3)
    it.sql("CALL run_compaction(op => 'scheduleandexecute', table => '{t}', options => '" + NOW + "')")
    it.upsert([2, 3], 4)
    it.delete([5], 5)
    it.sql("CALL run_compaction(op => 'schedule', table => '{t}', options => '" + NOW + "')")
    it.upsert([6], 6)


@case(MOR, EVENT)
def mor_restored(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    saved = it.instants()[-1][0]
    it.sql(f"CALL create_savepoint('{{t}}', '{saved}')")
    it.upsert(range(3, 9), 3)
    it.delete([1], 4)
    it.sql(f"CALL rollback_to_savepoint('{{t}}', '{saved}')")
    it.delete([2], 5)


@case(MOR, EVENT, METADATA)
def mor_rolled_back(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.upsert(range(3, 9), 3)
    it.sql(f"CALL rollback_to_instant('{{t}}', '{it.instants()[-1][0]}')")
    it.delete([2], 5)


@case(MOR, EVENT)
def mor_failed_write(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.upsert(range(3, 9), 3)
    requested, completion, action = it.instants()[-1]
    (Path(it.path) / ".hoodie" / "timeline" / f"{requested}_{completion}.{action}").unlink()


@case(MOR, EVENT, PARTITIONED, METADATA)
def mor_upgraded_with_metadata(it):
    it.write("insert", it.rows(range(12), 0), hoodie__write__table__version="9")
    it.upsert(range(6), 2, hoodie__write__table__version="9")
    it.upsert(range(3, 8), 4)
    it.delete([4], 5)


@case(MOR, EVENT)
def mor_upgraded_from_8(it):
    it.write("bulk_insert", it.rows(range(12), 0), hoodie__write__table__version="8")
    it.upsert(range(6), 2, hoodie__write__table__version="8")
    it.upsert(range(3, 8), 4)
    it.delete([4], 5)


@case(MOR, EVENT)
def mor_upgraded_from_6(it):
    it.write("bulk_insert", it.rows(range(12), 0), hoodie__write__table__version="6")
    it.upsert(range(6), 2, hoodie__write__table__version="6")
    it.upsert(range(3, 8), 4)
    it.delete([4], 5)


# mortice refuses native logs in a table of version 9.
@case(MOR, EVENT, without=["as_of_middle"])
def mor_downgraded(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2)
    it.delete([1], 3)
    it.sql("CALL downgrade_table(table => '{t}', to_version => 'NINE')")
    it.upsert([2], 6, hoodie__write__table__version="9", hoodie__write__auto__upgrade="false")


def marked_deletes(it):
    it.write("bulk_insert", it.rows(range(8), 0))
    it.upsert(range(5), 2)
    it.mark([1, 2], 3)
    it.mark([3], 1)  # late
    it.mark([4], 2)  # a tie
    it.upsert([1], 2)  # before the delete


@case(MOR, EVENT, types=FLAGGED)
def mor_long_ordering(it):
    marked_deletes(it)


@case(MOR, EVENT, {"hoodie.table.ordering.fields": "day,ts"}, types=FLAGGED)
def mor_two_ordering_fields(it):
    it.write("bulk_insert", it.rows(range(12), 0))
    it.upsert(range(6), 2, ts=3)
    it.upsert(range(2, 7), 2, ts=2)
    it.mark([1, 9], 2, ts=9)
    it.mark([3], 2, ts=1)
    it.delete([4], 2)


@case(MOR, EVENT, {"hoodie.table.ordering.fields": "price"}, types=FLAGGED)
def mor_decimal_ordering(it):
    marked_deletes(it)


@case(MOR, EVENT, {"hoodie.table.ordering.fields": "day"}, types=FLAGGED)
def mor_date_ordering(it):
    marked_deletes(it)


@case(MOR, EVENT, {"hoodie.table.ordering.fields": "at"}, types=FLAGGED + ", at timestamp")
def mor_timestamp_ordering(it):
    marked_deletes(it)


LATER_DELETES = {"as_of_middle": "Hudi's reader of lsm_tree applies deletes of later commits to an earlier time"}


@case(MOR, EVENT, {"hoodie.table.storage.layout": "lsm_tree"}, quirks=LATER_DELETES)
def mor_lsm_tree(it):
    it.write("insert", it.rows(range(8), 0))
    it.upsert([5, 3, 1, 30], 2)
    it.delete([4], 3)


@case(MOR, EVENT, {"hoodie.populate.meta.fields": "false"})
def mor_without_meta_columns(it):
    it.write("insert", it.rows(range(8), 0))
    it.upsert([5, 3, 1, 30], 2)
    it.delete([4], 3)


@case(MOR, {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload"})
def mor_ignore_defaults(it):
    it.write("bulk_insert", it.rows(range(8), 0))
    it.upsert(range(6), 2)
    it.delete([1], 3)


KEYS = {
    "hoodie.datasource.write.recordkey.field": "id,value",
    "hoodie.datasource.write.partitionpath.field": "part,day",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
}


@case(MOR, EVENT, KEYS)
def mor_complex_keys(it):
    rows = it.rows(range(9), 0)
    it.write("insert", rows)
    it.write("upsert", [(*row[:3], "changed", *row[4:7], 2) for row in rows[:5]])
    it.write("delete", [(*row[:7], 3) for row in rows[3:6]])


@case(MOR, EVENT, PARTITIONED)
def mor_replaced_partitions(it):
    it.write("insert", it.rows(range(9), 0))
    it.upsert(range(6), 2)
    it.write("insert_overwrite", it.rows([0, 3, 33], 3))
    it.write("delete_partition", it.rows([1], 4), hoodie__datasource__write__partitions__to__delete="birch")


@case(MOR, EVENT)
def mor_evolved(it):
    it.write("bulk_insert", it.rows(range(8), 0))
    it.types = TYPES + ", more int"
    it.upsert([1, 2, 34], 2)
    it.delete([3], 3)


def main(jar, folder, *names):
    spark = session(jar)
    spark.sparkContext.setLogLevel("OFF")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark._jsc.hadoopConfiguration().set("parquet.avro.write-old-list-structure", "false")
    for name in names or CASES:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            try:
                make_case(spark, name, Path(folder) / name, Path(scratch) / name)
                print(name, "made", flush=True)
            except Exception as error:  # noqa: BLE001 - the others are made
                print(name, "FAILED", str(error)[:3000], flush=True)
    spark.stop()


def make_case(spark, name, folder, path):
    make, options, more = CASES[name]
    more = dict(more)
    without, quirks = more.pop("without", []), more.pop("quirks", {})
    maker = Maker(spark, name, str(path), options, **more)
    make(maker)
    for index in path.glob("**/*.crc"):
        index.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    instants = maker.instants()
    properties = (path / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8").splitlines()
    facts = {
        "name": name,
        "hudi_version": RELEASE,
        "hoodie_properties": dict(line.split("=", 1) for line in properties if not line.startswith("#")),
        "write_options": maker.options,
        "steps": maker.steps,
        "commits": [
            {"instant": requested, "completion": completion, "action": action}
            for requested, completion, action in maker.completed()
        ],
        "queries": [
            result(spark, query, path, folder) for query in asked(options, instants) if query[0] not in without
        ],
    }
    facts["queries"] = [query for query in facts["queries"] if query]
    for query in facts["queries"]:
        if query["id"] in quirks:
            query["quirk"] = quirks[query["id"]]
    (folder / "case.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    with zipfile.ZipFile(folder / "table.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(path.glob("**/*")):
            archive.write(file, file.relative_to(path))


def asked(options, instants):
    """Yields the id, type and options of each query."""
    kind, form = "hoodie.datasource.query.type", "hoodie.datasource.query.incremental.format"
    begin, end = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
    yield "snapshot", "snapshot", {kind: "snapshot"}
    if options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        yield "read_optimized", "read_optimized", {kind: "read_optimized"}
    if len(instants) > 1:
        yield "as_of_middle", "time_travel", {kind: "snapshot", "as.of.instant": instants[len(instants) // 2][0]}
    yield "incr_all", "incremental", {kind: "incremental", begin: "000"}
    if len(instants) > 1:
        yield "incr_after_first", "incremental", {kind: "incremental", begin: instants[0][1]}
    if len(instants) > 2:
        middle = {begin: instants[0][1], end: instants[-2][1]}
        yield "incr_middle", "incremental", {kind: "incremental", **middle}
    if "hoodie.table.cdc.enabled" in options:
        yield "cdc_all", "cdc", {kind: "incremental", form: "cdc", begin: "000"}
        yield "cdc_after_first", "cdc", {kind: "incremental", form: "cdc", begin: instants[0][1]}


def result(spark, query, path, folder):
    """Returns what `case.json` says of a query, whose result is written beside it; None if Hudi fails."""
    name, kind, options = query
    written = folder / "written"
    try:
        rows = spark.read.format("hudi").options(**options).load(str(path)).coalesce(1)
        rows.write.mode("overwrite").option("compression", "snappy").parquet(str(written))
        (file,) = written.glob("*.parquet")
        shutil.move(file, folder / f"{name}.parquet")
    except Exception as error:  # noqa: BLE001 - some queries fail in Hudi
        print(" ", path.name, name, "failed:", str(error)[:300].replace("\n", " "), flush=True)
        return None
    finally:
        shutil.rmtree(written, ignore_errors=True)
    return {"id": name, "type": kind, "options": options, "expected": f"{name}.parquet", "readers": [RELEASE]}


if __name__ == "__main__":
    main(*sys.argv[1:])
