"""The bundled cases: tables and log files with Hudi's results (see data/README.md), and comparison with them."""

import datetime as dt
import json
import math
import os
import pathlib
import time
import zipfile
from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DATA = pathlib.Path(__file__).parents[1] / "data"
TABLES = sorted(path.parent.name for path in DATA.glob("*/table.zip"))
LOGS = sorted(path.name for path in DATA.glob("log_*"))
NEWEST = {"1.2.0", "1.3.0-SNAPSHOT"}
"""The releases whose results count. 1.3 has written the tables of version 10, which 1.2 cannot read."""
TYPES = ("snapshot", "read_optimized", "time_travel", "incremental", "cdc")
IMAGES = ("before", "after")
"""The columns of CDC queries that contain JSON."""
OPTIONS = {
    "as_of": "as.of.instant",
    "begin": "hoodie.datasource.read.begin.instanttime",
    "end": "hoodie.datasource.read.end.instanttime",
}
LOG_FILES = sorted(path.relative_to(DATA) for path in DATA.glob("log_*/logs/.*"))


@dataclass(frozen=True)
class Query:
    """A query and Hudi's result."""

    case: str
    id: str
    type: str
    arguments: dict
    expected_file: pathlib.Path
    path: str = ""

    @property
    def expected(self):
        return pq.read_table(self.expected_file)

    @property
    def options(self):
        """Returns the options of Hudi's Spark source for this query."""
        kind = {"time_travel": "snapshot", "cdc": "incremental"}.get(self.type, self.type)
        form = {"hoodie.datasource.query.incremental.format": "cdc"} if self.type == "cdc" else {}
        return {
            "hoodie.datasource.query.type": kind,
            **form,
            **{OPTIONS[name]: value for name, value in self.arguments.items()},
        }

    @property
    def ordered(self):
        """Whether Hudi returns the columns in the order of the table."""
        return self.type in {"snapshot", "time_travel"}

    def table(self, table_of):
        """Returns the path of the table to query: the case's table, or the metadata table in it."""
        return table_of(self.case) / self.path

    def scan(self, table, **more):
        reads = {"read_optimized": table.read_optimized, "incremental": table.incremental, "cdc": table.changes}
        return reads.get(self.type, table.snapshot)(**self.arguments, **more)

    def __str__(self):
        return f"{self.case}-{self.id}"


def case(name):
    return json.loads((DATA / name / "case.json").read_text(encoding="utf-8"))


def queries():
    """Returns the queries that mortice supports. Each has the result of the newest Hudi, or, if that release cannot
    read the table, of the one that wrote it."""
    found = []
    for name in TABLES:
        facts = case(name)
        results = {}
        for query in facts["queries"]:
            readers = query.get("readers") or [query.get("reader", facts["hudi_version"])]
            if NEWEST & set(readers) or (facts["hudi_version"] in readers and query["id"] not in results):
                results[query["id"]] = query
        for query in results.values():
            arguments = {
                name: query["options"][option] for name, option in OPTIONS.items() if option in query["options"]
            }
            # Before 1.1, Hudi treated the begin of an incremental query as inclusive from table version 8 on, and wrote
            # the before and after images of CDC queries in another format.
            readers = query.get("readers") or [query.get("reader")]
            outdated = query["type"] in {"incremental", "cdc"} and not NEWEST & set(readers)
            if query["type"] in TYPES and not outdated and "quirk" not in query:
                expected, path = DATA / name / query["expected"], query.get("path", "")
                found.append(Query(name, query["id"], query["type"], arguments, expected, path))
    return found


def queries_on_spark(reader):
    """Returns the queries that are run on Spark, as parameters of a test: of the many tables of version 10 only a few.
    By each of the two ways to read, every second query is a slow test.

    Args:
        reader: 0 for Arrow UDFs, 1 for the data source.
    """
    few = ("h13_mor_event_time", "h13_mor_metadata", "h13_mor_upgraded_from_9", "h13_cow_cdc_data_before_after")
    found = [query for query in queries() if not query.case.startswith("h13_") or query.case in few]
    return [
        pytest.param(query, id=str(query), marks=() if at % 2 == reader else pytest.mark.slow)
        for at, query in enumerate(found)
    ]


def hudi_result(name, query_id="snapshot"):
    """Returns Hudi's result of one query of a case."""
    return next(query.expected for query in queries() if (query.case, query.id) == (name, query_id))


def unpack(name, folder):
    """Extracts the table of a case, with its file names (UTF-8) and modification times; next to it the source of a
    bootstrapped table."""
    folder = pathlib.Path(folder)
    _extract(DATA / name / "table.zip", folder)
    if (DATA / name / "source.zip").exists():
        source = folder.with_name(f"{folder.name}-source")
        _extract(DATA / name / "source.zip", source)
        with_properties(folder, {"hoodie.bootstrap.base.path": str(source)})
    return folder


def with_properties(table, changed):
    """Changes properties of a table. A value of None removes the property."""
    path = table / ".hoodie" / "hoodie.properties"
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.startswith("#") or line.partition("=")[0] not in changed]
    put = [f"{key}={value}" for key, value in changed.items() if value is not None]
    path.write_text("\n".join([*kept, *put, ""]), encoding="utf-8")


def _extract(file, folder):
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            # Without the UTF-8 flag, zipfile decodes names as code page 437.
            named = entry.filename if entry.flag_bits & 0x800 else entry.filename.encode("cp437").decode("utf-8")
            target = pathlib.Path(folder, named)
            if entry.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(entry))
            modified = time.mktime((*entry.date_time, 0, 0, -1))
            os.utime(target, (modified, modified))


def logs_of(path):
    """Returns the log files in a directory, ordered by instant, without checksum files."""
    found = [log for log in pathlib.Path(path).glob(".*.log.*") if not log.name.endswith(".crc")]
    return sorted(found, key=lambda log: log.name.split("_")[1])


def assert_same_result(expected, actual, *, ordered=True):
    """Asserts that the columns, their types (except names of children) and the rows (as a multiset, bit by bit) are
    equal. JSON images are compared by value."""
    if ordered:
        assert actual.column_names == expected.column_names
    else:
        assert sorted(actual.column_names) == sorted(expected.column_names)
    names = expected.column_names
    types = {name: shape(expected.schema.field(name).type) for name in names}
    assert {name: shape(actual.schema.field(name).type) for name in names} == types
    assert rows(actual.select(names)) == rows(expected)


def shape(kind):
    """Returns an Arrow type without the names of its children."""
    if pa.types.is_map(kind):
        return "map", shape(kind.key_type), shape(kind.item_type)
    if pa.types.is_list(kind):
        return "list", shape(kind.value_type)
    if pa.types.is_struct(kind):
        return "struct", *((field.name, shape(field.type)) for field in kind)
    return str(kind)


def rows(table):
    """Returns the rows as a multiset of hashable tuples. NaN equals NaN, and -0.0 differs from 0.0."""
    if not table.column_names:
        return Counter({(): table.num_rows})
    types = {name: table.schema.field(name).type for name in table.column_names}
    # In the CDC log files themselves, images are structs.
    images = {name for name in IMAGES if name in types and pa.types.is_string(types[name])}
    cells = [
        [image(cell) if name in images else canonical(kind, cell) for cell in table.column(name).to_pylist()]
        for name, kind in types.items()
    ]
    return Counter(zip(*cells, strict=True))


def image(text):
    """Returns the normalised JSON of an image: 1 differs from 1.0, and -0.0 from 0.0. A string that is not JSON is
    unchanged."""
    try:
        return text and json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def canonical(kind, value):
    if value is None:
        return None
    if pa.types.is_map(kind):
        return frozenset((canonical(kind.key_type, key), canonical(kind.item_type, item)) for key, item in value)
    if pa.types.is_list(kind):
        return tuple(canonical(kind.value_type, item) for item in value)
    if pa.types.is_struct(kind):
        return tuple((field.name, canonical(field.type, value[field.name])) for field in kind)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return value


def multiset(rows):
    """Returns rows as a multiset. NaN equals NaN, -0.0 differs from 0.0, and timestamps are equal in all zones named
    UTC."""

    def facts(value):
        return str(value) if isinstance(value, dt.datetime) else repr(value)

    return Counter(tuple(sorted((name, facts(value)) for name, value in row.items())) for row in rows)
