"""What is asked of whom: tables and queries, small (quick) or whole.

decode     raw decoding of a log: wide, narrow, nested records
slice      one file slice; 0 to 100 % of its rows updated, by 1 to 20 log files; all columns, 5, 1
table      many slices: count, projection, aggregates, time travel, incremental, look-up; of two releases
planning   files listed and planned, with and without the metadata table
memory     the peak of a new process, by the size of the log
growth     time by the size of the log: once, ten and a hundred times as large
size       time by the size of the table
"""

from dataclasses import dataclass

from versus.contenders import CONTENDERS
from versus.contenders.spark_reader import SparkReader
from versus.tables import Table

ONE = ["d0"]
FIVE = ["key", "s0", "l0", "d0", "i0"]
TEN = [*FIVE, "s1", "l1", "d1", "b0", "t0"]
QUERIES = ("count", "aggregate", "as_of", "incremental", "lookup")
ON_SPARK = tuple(contender.name for contender in CONTENDERS if isinstance(contender, SparkReader))
COLUMNS = {"all": None, "10": TEN, "5": FIVE, "1": ONE}


@dataclass(frozen=True)
class Point:
    """A query of a table, on one core or all: what contenders are timed at."""

    workload: str
    table: Table
    kind: str
    columns: str = "all"
    cores: int = 0
    """0: all."""
    metadata: bool = False
    states: tuple = ("warm",)
    """cold: the first query of a new process, files not in the page cache. warm: the median of rounds after that."""
    without: tuple = ()
    """Names of contenders that do not take part, to save time."""

    @property
    def title(self):
        """As a reader of the report knows it."""
        parts = [self.workload, self.table.name, self.kind]
        parts += [f"{self.columns} columns"] if self.kind == "read" else []
        parts += ["metadata table" if self.metadata else "listing"] if self.kind == "plan" else []
        return ", ".join([*parts, "all cores" if self.cores == 0 else f"{self.cores} core"])

    def query(self, written):
        """The query as contenders get it (see `contenders.contender`)."""
        query = {
            "kind": self.kind,
            "path": str(written.path),
            "columns": COLUMNS[self.columns],
            "logs": written.logs,
            "bases": written.bases,
            "release": self.table.release,
            "metadata": self.metadata,
        }
        if self.kind == "as_of":
            query["instant"] = written.instants[len(written.instants) // 2][0]
        if self.kind == "incremental":
            query["begin"] = written.instants[-2][1]
        if self.kind == "lookup":
            query["key"] = f"key-{self.table.rows // 3:010}"
        return query


class Sizes:
    """How much of everything: whole, quick, or tiny (to see that all of it works)."""

    def __init__(self, scale):
        whole, quick = scale == "whole", scale == "quick"
        self.decode_rows = 1_000_000 if whole else 50_000 if quick else 500
        self.slice_rows = 1_000_000 if whole else 100_000 if quick else 1_000
        self.updates = [
            (0.0, 0),
            (0.05, 1),
            (0.05, 5),
            (0.05, 20),
            (0.2, 1),
            (0.2, 5),
            (0.2, 20),
            (0.5, 1),
            (0.5, 5),
            (0.5, 20),
        ]
        self.updates += [(1.0, 1), (1.0, 5), (1.0, 20)]
        if not whole:
            self.updates = [(0.2, 5)] if quick else [(0.0, 0), (0.2, 2)]
        self.cold_slice = (0.2, 5)
        self.slice_columns = ("all", "10", "5", "1") if whole else ("all", "5", "1") if quick else ("all", "1")
        self.table_groups = 4 if whole or quick else 2
        """And as many partitions: file groups are their square."""
        self.table_rows = 2_000_000 if whole else 200_000 if quick else 2_000
        self.plan_files = (1_000, 10_000, 100_000) if whole else (1_000,) if quick else (50,)
        self.growth_rows = 3_000_000 if whole else 200_000 if quick else 2_000
        self.growth = (0.01, 0.1, 1.0) if whole or quick else (0.2,)
        self.sizes = (10_000, 100_000, 1_000_000) if whole else (10_000, 100_000) if quick else (1_000,)
        self.cores = (1, 0) if whole else (0,)
        self.growth_cores = (1, 0) if whole else (1,)
        # The data source differs from mapInArrow by what Spark does around it: a few points show how much.
        self.without = () if whole else ("mortice data source",)
        self.releases = ("1.2.0", "0.15.0")
        # Spark takes a second for whatever it is asked, and has to be started anew to see its memory.
        self.without_spark = ON_SPARK if quick else self.without
        self.table_kinds = ("count", "aggregate", "lookup") if quick else QUERIES
        self.table_columns = ("all", "1") if quick else ("all", "5", "1")

    def of_memory(self, tables):
        """New processes take long to start: where time is short, the table without a log and that with the largest."""
        return tables if len(self.growth_cores) > 1 else (tables[0], tables[-1])


def decode(sizes):
    for shape in ("wide", "narrow", "nested"):
        yield Point("decode", Table(sizes.decode_rows, shape, commits=1, fraction=1.0), "decode", cores=1)


def slices(sizes):
    for fraction, commits in sizes.updates:
        table = Table(sizes.slice_rows, fraction=fraction, commits=commits)
        states = ("cold", "warm") if (fraction, commits) == sizes.cold_slice else ("warm",)
        for columns in sizes.slice_columns:
            states = states if columns == "all" else ("warm",)
            yield Point("slice", table, "read", columns, cores=1, states=states, without=sizes.without)


def tables(sizes):
    for release in sizes.releases:
        table = Table(
            sizes.table_rows,
            groups=sizes.table_groups,
            partitions=sizes.table_groups,
            commits=5,
            fraction=0.1,
            release=release,
        )
        for cores in sizes.cores:
            is_brief = len(sizes.cores) == 1 and release != sizes.releases[0]
            for kind in ("aggregate",) if is_brief else sizes.table_kinds:
                yield Point("table", table, kind, cores=cores)
            for columns in () if is_brief else sizes.table_columns:
                is_first = columns == "all" and cores == 0 and release == sizes.releases[0]
                states = ("cold", "warm") if is_first else ("warm",)
                yield Point("table", table, "read", columns, cores=cores, states=states)


def planning(sizes):
    for files in sizes.plan_files:
        groups = 10
        table = Table(files * 2, "narrow", groups=groups, partitions=files // groups, metadata=True)
        for metadata in (False, True):
            yield Point("planning", table, "plan", metadata=metadata)


def _growing(sizes):
    rows = sizes.growth_rows
    return [Table(rows), *(Table(rows, commits=1, fraction=fraction) for fraction in sizes.growth)]


def memory(sizes):
    for table in sizes.of_memory(_growing(sizes)):
        yield Point("memory", table, "read", states=("cold",), without=sizes.without_spark)


def growth(sizes):
    for table in _growing(sizes):
        for cores in sizes.growth_cores:
            yield Point("growth", table, "read", cores=cores, without=sizes.without_spark)


def size(sizes):
    for rows in sizes.sizes:
        yield Point("size", Table(rows, commits=5, fraction=0.1), "read", without=sizes.without)


WORKLOADS = {
    "decode": decode,
    "slice": slices,
    "table": tables,
    "planning": planning,
    "memory": memory,
    "growth": growth,
    "size": size,
}


def points(names, scale):
    """The points of the workloads, in an order that lets processes live long: by the cores they are bound to."""
    found = [point for name in names for point in WORKLOADS[name](Sizes(scale))]
    return sorted(found, key=lambda point: (point.workload == "memory", point.cores != 1))
