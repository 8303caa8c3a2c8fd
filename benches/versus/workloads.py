"""Workloads: tables, queries and contenders, small (quick) or complete.

decode     raw decoding of a log: wide, narrow, nested records
slice      one file slice; 0 to 100 % of its rows updated, by 1 to 20 log files; all columns, 5, 1
table      many slices: count, projection, aggregates, time travel, incremental, lookup; tables of two releases
planning   files listed and planned, with and without the metadata table
memory     the peak of a new process, by the size of the log
growth     time by the size of the log: once, ten and a hundred times as large
size       time by the size of the table
native     the first table of spark at version 10, written by Hudi 1.3, beside version 9 (HUDI_13_JAR)
spark      mortice and Hudi on Spark, and Spark's own overhead: few large slices, many small ones
write      upserts, inserts and compactions, in one process and on Spark, each of a fresh copy of a table
"""

import os
from dataclasses import asdict, dataclass, replace

from versus.contenders import CONTENDERS
from versus.contenders.contender import WRITES
from versus.contenders.spark_reader import SparkReader
from versus.homes import NEXT, NEXT_JAR
from versus.tables import Table

ONE = ["d0"]
FIVE = ["key", "s0", "l0", "d0", "i0"]
ON_SPARK = tuple(contender.name for contender in CONTENDERS if isinstance(contender, SparkReader))
NOT_ON_SPARK = tuple(contender.name for contender in CONTENDERS if contender.name not in {*ON_SPARK, "mortice API"})
# They differ from mapInArrow in Spark's overhead: the tables show how much.
LIKE_MAP_IN_ARROW = ("mortice data source", "batches ready in the worker", "empty Python tasks")
COLUMNS = {"all": None, "5": FIVE, "1": ONE}


@dataclass(frozen=True)
class Point:
    """A query of a table, on one core or all: the unit of measurement."""

    workload: str
    table: Table
    kind: str
    columns: str = "all"
    cores: int = 0
    """0: all."""
    metadata: bool = False
    states: tuple = ("warm",)
    """cold: the first query of a new process, files not in the page cache. warm: the median of later rounds."""
    without: tuple = ()
    """Names of contenders that are left out to save time."""

    @property
    def title(self):
        """The title in reports."""
        parts = [self.workload, self.table.name, self.kind]
        parts += [f"{self.columns} columns"] if self.kind == "read" else []
        parts += ["metadata table" if self.metadata else "listing"] if self.kind == "plan" else []
        return ", ".join([*parts, "all cores" if self.cores == 0 else f"{self.cores} core"])

    @property
    def is_write(self):
        """Whether rows are written. `table` is the result then."""
        return self.kind in WRITES

    @property
    def has_rows(self):
        """Whether rows are given to the writer; a compaction has none."""
        return self.is_write and self.kind != "compact"

    @property
    def is_new(self):
        """Whether the table does not exist before."""
        return self.kind in {"insert", "bulk_insert"}

    @property
    def is_warmed_up(self):
        """Whether slow contenders are warmed up too: JVMs get faster for long."""
        return self.is_write or self.workload == "spark"

    @property
    def start(self):
        """The table before the query: of an upsert that without its last commit, of an insert none."""
        starts = {"upsert": self.table.base, "insert": self.table.rows_alone, "bulk_insert": self.table.rows_alone}
        return starts.get(self.kind, self.table)

    @property
    def prepared(self):
        """What is prepared for it."""
        return (self.start, self.table.rows_alone) if self.has_rows else (self.table,)

    @property
    def facts(self):
        """Returns the fields of a record that distinguish this point from others (see `record.POINT`)."""
        facts = {name: getattr(self, name) for name in ("workload", "kind", "columns", "metadata")}
        return facts | {"table": self.table.name, "cores": self.cores or len(os.sched_getaffinity(0))}

    def query(self, written):
        """Returns the query as contenders receive it (see `contenders.contender`)."""
        query = {
            "kind": self.kind,
            "path": str(written.path),
            "columns": COLUMNS[self.columns],
            "logs": written.logs,
            "bases": written.bases,
            "release": self.table.release,
            "metadata": self.metadata,
        }
        if self.is_write:
            query["table"] = asdict(self.table)
        if self.has_rows:
            query["rows"] = str(self.table.rows_alone.path)
        if self.kind == "as_of":
            query["instant"] = written.instants[len(written.instants) // 2][0]
        if self.kind == "incremental":
            query["begin"] = written.instants[-2][1]
        if self.kind == "lookup":
            query["key"] = f"key-{self.table.rows // 3:010}"
        return query


@dataclass(frozen=True)
class Scale:
    """The size of all workloads. Pairs of `updates`: the share of rows, and the number of log files."""

    decode_rows: int
    slice_rows: int
    updates: tuple
    slice_columns: tuple
    logs_of_columns: tuple
    """Slices with other numbers of log files are read with all columns only."""
    table_rows: int
    table_groups: int
    """Also the number of partitions: the number of file groups is its square."""
    queries: tuple
    """Kinds of queries; for reads, their columns."""
    queries_of_one_core: tuple
    queries_of_older: tuple
    """Kinds of queries of the table of an older release."""
    plan_files: tuple
    growth_rows: int
    growth: tuple
    growth_cores: tuple
    sizes: tuple
    spark_updates: tuple
    """Contenders on Spark take many seconds for a slice: the slices that they read."""
    spark_tables: tuple
    """The tables of the Spark workload: rows, partitions, and files of each."""
    spark_memory: bool
    """Whether the memory of Spark is measured, which needs restarts."""
    write_rows: int
    write_updates: tuple
    """The shares of the rows that upserts update."""


ALL, FEW, ALONE = ("read", "all"), ("read", "5"), ("read", "1")
COUNT, AGGREGATE, AS_OF, INCREMENTAL, LOOKUP = (
    (kind, "all") for kind in ("count", "aggregate", "as_of", "incremental", "lookup")
)

SCALES = {
    "whole": Scale(
        decode_rows=1_000_000,
        slice_rows=1_000_000,
        updates=((0.0, 0), *((share, logs) for share in (0.05, 0.2, 0.5, 1.0) for logs in (1, 5, 20))),
        slice_columns=("all", "5", "1"),
        logs_of_columns=(0, 5),
        table_rows=2_000_000,
        table_groups=4,
        queries=(COUNT, AGGREGATE, AS_OF, INCREMENTAL, LOOKUP, ALL, FEW, ALONE),
        queries_of_one_core=(ALL, ALONE),
        queries_of_older=(AGGREGATE, ALL),
        plan_files=(1_000, 10_000, 100_000),
        growth_rows=1_000_000,
        growth=(0.01, 0.1, 1.0),
        growth_cores=(1, 0),
        sizes=(10_000, 100_000, 1_000_000),
        spark_updates=((0.0, 0), (0.2, 5), (1.0, 5)),
        spark_tables=((1_000_000, 0, 4), (2_000_000, 4, 4)),
        spark_memory=True,
        write_rows=1_000_000,
        write_updates=(0.1, 1.0),
    ),
    "quick": Scale(
        decode_rows=50_000,
        slice_rows=100_000,
        updates=((0.2, 5),),
        slice_columns=("all", "5", "1"),
        logs_of_columns=(0, 5),
        table_rows=200_000,
        table_groups=4,
        queries=(COUNT, AGGREGATE, LOOKUP, ALL, ALONE),
        queries_of_one_core=(),
        queries_of_older=(AGGREGATE,),
        plan_files=(1_000,),
        growth_rows=200_000,
        growth=(0.01, 0.1, 1.0),
        growth_cores=(1,),
        sizes=(10_000, 100_000),
        spark_updates=((0.2, 5),),
        spark_tables=((200_000, 0, 4),),
        spark_memory=False,
        write_rows=200_000,
        write_updates=(0.1, 1.0),
    ),
    "tiny": Scale(
        decode_rows=500,
        slice_rows=1_000,
        updates=((0.0, 0), (0.2, 2)),
        slice_columns=("all", "1"),
        logs_of_columns=(0, 2),
        table_rows=2_000,
        table_groups=2,
        queries=(COUNT, AGGREGATE, AS_OF, INCREMENTAL, LOOKUP, ALL, FEW, ALONE),
        queries_of_one_core=(),
        queries_of_older=(AGGREGATE,),
        plan_files=(50,),
        growth_rows=2_000,
        growth=(0.2,),
        growth_cores=(1,),
        sizes=(1_000,),
        spark_updates=((0.0, 0), (0.2, 2)),
        spark_tables=((2_000, 0, 4),),
        spark_memory=True,
        write_rows=1_000,
        write_updates=(0.1, 1.0),
    ),
}
COLD_SLICE = (0.2, 5)
NEWEST, OLDER = "1.2.0", "0.15.0"


def decode(scale):
    for shape in ("wide", "narrow", "nested"):
        yield Point("decode", Table(scale.decode_rows, shape, commits=1, fraction=1.0), "decode", cores=1)


def slices(scale):
    for fraction, commits in scale.updates:
        table = Table(scale.slice_rows, fraction=fraction, commits=commits)
        without = LIKE_MAP_IN_ARROW if (fraction, commits) in scale.spark_updates else ON_SPARK
        for columns in scale.slice_columns if commits in scale.logs_of_columns else ("all",):
            is_cold = (fraction, commits) == COLD_SLICE and columns == "all"
            states = ("cold", "warm") if is_cold else ("warm",)
            yield Point("slice", table, "read", columns, cores=1, states=states, without=without)


def tables(scale):
    groups = scale.table_groups
    table = Table(scale.table_rows, groups=groups, partitions=groups, commits=5, fraction=0.1, release=NEWEST)
    older = replace(table, release=OLDER)
    groups = [(table, 0, scale.queries), (table, 1, scale.queries_of_one_core), (older, 0, scale.queries_of_older)]
    for of, cores, queries in groups:
        for kind, columns in queries:
            is_cold = (of, cores, kind, columns) == (table, 0, *ALL)
            yield Point("table", of, kind, columns, cores, states=("cold", "warm") if is_cold else ("warm",))


def planning(scale):
    for files in scale.plan_files:
        groups = 10
        table = Table(files * 2, "narrow", groups=groups, partitions=files // groups, metadata=True)
        for metadata in (False, True):
            yield Point("planning", table, "plan", metadata=metadata)


def _growing(scale):
    rows = scale.growth_rows
    return [Table(rows), *(Table(rows, commits=1, fraction=fraction) for fraction in scale.growth)]


def memory(scale):
    """New processes take long to start: in short runs, only the table without a log and that with the largest one."""
    tables = _growing(scale)
    without = LIKE_MAP_IN_ARROW if scale.spark_memory else ON_SPARK
    for table in tables if scale.spark_memory else (tables[0], tables[-1]):
        yield Point("memory", table, "read", states=("cold",), without=without)


def growth(scale):
    for table in _growing(scale):
        for cores in scale.growth_cores:
            yield Point("growth", table, "read", cores=cores, without=ON_SPARK)


def size(scale):
    for rows in scale.sizes:
        yield Point("size", Table(rows, commits=5, fraction=0.1), "read", without=LIKE_MAP_IN_ARROW)


def spark(scale):
    """All columns, one, and aggregates of four, of tables whose logs update a tenth of the rows."""
    for rows, partitions, groups in scale.spark_tables:
        table = Table(rows, groups=groups, partitions=partitions, commits=5, fraction=0.1)
        for kind, columns in (ALL, ALONE, AGGREGATE):
            yield Point("spark", table, kind, columns, without=NOT_ON_SPARK)


def native(scale):
    """What `spark` reads, of a table whose logs are Parquet files, and of the same one whose logs are Avro."""
    rows, partitions, groups = scale.spark_tables[0]
    table = Table(rows, groups=groups, partitions=partitions, commits=5, fraction=0.1)
    for of in (table, replace(table, release=NEXT)):
        for kind, columns in (ALL, ALONE, AGGREGATE):
            yield Point("native", of, kind, columns, without=NOT_ON_SPARK)


def writes(scale):
    """Upserts into a table of four file groups, whose keys are all there, and the insert of its rows into a new one."""
    table = Table(scale.write_rows, "full", groups=4, metadata=True, statistics=True)
    for fraction in scale.write_updates:
        yield Point("write", replace(table, commits=1, fraction=fraction), "upsert")
    yield Point("write", table, "insert")
    yield Point("write", table, "bulk_insert")
    yield Point("write", replace(table, commits=5, fraction=0.2), "compact")


WORKLOADS = {
    "decode": decode,
    "slice": slices,
    "table": tables,
    "planning": planning,
    "memory": memory,
    "growth": growth,
    "size": size,
    "spark": spark,
    "write": writes,
    **({"native": native} if NEXT_JAR else {}),
}


def points(names, scale):
    """Returns the points of the workloads, ordered by their number of cores, so that processes live long."""
    found = [point for name in names for point in WORKLOADS[name](SCALES[scale])]
    return sorted(found, key=lambda point: (point.workload == "memory", point.cores != 1))
