"""A table and a scan as data: methods, pickles, instants, and that other engines read only what they need."""

import datetime as dt
import inspect
import pathlib
import pickle
import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import mortice
from mortice.values import other_names
from support.cases import hudi_result, rows

NAME = "h11_event_time_deletes"
META = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]


@pytest.fixture
def table(table_of):
    return mortice.Table(table_of(NAME))


@pytest.fixture
def expected():
    return hudi_result(NAME).drop_columns(META)


def test_a_table_is_data_without_meta_columns(table, expected):
    assert table.columns == expected.column_names
    assert len(table) == table.count() == expected.num_rows
    assert bool(table)
    assert rows(table.to_arrow()) == rows(pa.table(table)) == rows(expected)
    assert rows(pa.Table.from_pylist(list(table), expected.schema)) == rows(expected)
    assert table.to_arrow(meta=True).column_names == [*META, *expected.column_names]
    assert table.snapshot(meta=False).schema.names == table.read_optimized(meta=False).schema.names == table.columns
    assert table.incremental("earliest", meta=False).schema.names == table.columns
    assert table.snapshot().schema.names == table.schema.names
    assert table.head(3, columns="fare", filters="fare > 80").shape == (3, 1)
    assert list(table.to_pandas(columns=["fare"])) == list(table.to_polars(columns="fare").columns) == ["fare"]


def test_pandas_has_types_with_null(table, expected):
    assert expected["note"].null_count > 0
    frame = table.to_pandas(dtype_backend="pyarrow")
    assert rows(pa.Table.from_pandas(frame, expected.schema)) == rows(expected)
    assert str(table.to_pandas(dtype_backend="numpy_nullable")["seats"].dtype) == "Int32"
    with pytest.raises(mortice.InvalidArgumentError, match="dtype_backend"):
        table.to_pandas(dtype_backend="numpy")


def test_a_scan_is_narrowed(table, expected):
    scan = table.snapshot().select("city", "fare").filter("fare > 80").filter([("city", "in", ["oslo", "lima"])])
    mask = (pc.field("fare") > 80) & pc.field("city").isin(["oslo", "lima"])
    assert rows(scan.to_arrow()) == rows(expected.filter(mask).select(["city", "fare"]))
    assert "filter     fare > 80 and city in" in scan.explain()
    assert repr(scan.explain()) == str(scan.explain())  # a notebook shows its lines
    few = scan.limit(5).limit(3)
    assert (few.count(), few.to_arrow().num_rows, pa.table(few).num_rows, scan.head(2).num_rows) == (3, 3, 3, 2)
    assert [list(row) for row in few] == [["city", "fare"]] * 3
    assert few.select(["fare"]).to_arrow().shape == (3, 1)
    assert table.scan().limit(0).to_arrow().shape == (0, len(table.columns))
    for refused in (few.splits, lambda: few.filter("fare > 1"), lambda: scan.limit(-1), lambda: scan.select("nope")):
        with pytest.raises(mortice.InvalidArgumentError):
            refused()


def test_tables_scans_and_timelines_are_pickled(table, expected, monkeypatch, tmp_path):
    again = pickle.loads(pickle.dumps(table))
    assert again.uri == table.uri
    assert rows(again.to_arrow()) == rows(expected)
    for scan in (
        table.snapshot(),
        table.scan(filters="fare > 88"),
        table.scan(filters="fare > 1e9"),
        table.scan().limit(3),
    ):
        copied = pickle.loads(pickle.dumps(scan))
        assert (copied.schema, copied.explain(), copied.count()) == (scan.schema, scan.explain(), scan.count())
        assert rows(copied.to_arrow()) == rows(scan.to_arrow())
    timeline = pickle.loads(pickle.dumps(table.timeline))
    assert list(timeline) == list(table.timeline)
    with pytest.raises(mortice.InvalidArgumentError, match="open the table"):
        timeline.metadata(timeline[0])
    # A table is found from another directory.
    path = pathlib.Path(table.uri)
    monkeypatch.chdir(path.parent)
    relative = mortice.Table(path.name)
    monkeypatch.chdir(tmp_path)
    assert rows(relative.to_arrow()) == rows(expected)


def test_an_unpickled_scan_has_the_rows_of_its_time(tmp_path):
    table = mortice.create_table(tmp_path / "t", pa.schema([("id", pa.string())]), name="t", record_key="id")
    table.upsert([{"id": "a"}])
    scan = pickle.dumps(table.scan())
    dataset = table.dataset()
    table.upsert([{"id": "b"}])
    assert pickle.loads(scan).to_arrow()["id"].to_pylist() == ["a"]
    assert dataset.to_table()["id"].to_pylist() == ["a"]
    assert table.count() == pickle.loads(pickle.dumps(dataset)).count_rows() == 2


def test_instants_in_all_forms(table):
    instant = table.timeline[2]
    digits = instant.requested_time
    moment = dt.datetime.strptime(f"{digits}000", "%Y%m%d%H%M%S%f")
    zone = table.properties["hoodie.table.timeline.timezone"]
    zoned = moment.replace(tzinfo=dt.timezone.utc) if zone == "UTC" else moment.astimezone()
    elsewhere = zoned.astimezone(dt.timezone(dt.timedelta(hours=5, minutes=30)))
    expected = rows(table.to_arrow(as_of=digits))
    for form in (
        instant,
        int(digits),
        moment,
        zoned,
        elsewhere,
        elsewhere.isoformat(),
        moment.isoformat(" ", "milliseconds"),
    ):
        assert rows(table.to_arrow(as_of=form)) == expected, form
    last = table.timeline[-2]
    since = table.incremental(last.completion_time)
    assert rows(table.incremental(last).to_arrow()) == rows(since.to_arrow())
    for wrong in (20261121, True, 1.5):
        with pytest.raises(mortice.InvalidArgumentError, match="as_of"):
            table.snapshot(as_of=wrong)


def test_the_history_lists_commits(tmp_path):
    table = mortice.create_table(
        tmp_path / "rides", pa.schema([("id", pa.string()), ("n", pa.int64())]), record_key="id"
    )
    assert table.properties["hoodie.table.name"] == "rides"
    table.upsert([{"id": "a", "n": 1}, {"id": "b", "n": 2}])
    table.upsert([{"id": "b", "n": 3}])
    table.delete(["a"])
    table.refresh()
    counts = table.history().select(["operation", "inserts", "updates", "deletes"]).to_pylist()
    assert [tuple(one.values()) for one in counts] == [("DELETE", 0, 0, 1), ("UPSERT", 0, 1, 0), ("UPSERT", 2, 0, 0)]


@pytest.mark.parametrize(
    ("guess", "advice"),
    [
        ("mortice.read_table", r"use Table\(path\)"),
        ("mortice.creat_table", "use create_table$"),
        ("mortice.scan", r"use Table\(path\)\.scan\(\), or scan_polars\(path\)$"),
        ("mortice.compact", r"use Table\(path\)\.compact$"),
        ("mortice.spark.load", r"use read\(spark, path\)$"),
        ("mortice.Table.is_deltatable", "TableNotFoundError"),
        ("table.vacuum", r"use clean\(\)"),
        ("table.to_pyarow", "use to_"),
        ("table.fare", r"use table\['fare'\]$"),
        ("table.shapes", "no attribute 'shapes'$"),
        ("table._nothing", "no attribute '_nothing'$"),
        ("table.scan().to_pylist", r"use to_arrow\(\)\.to_pylist\(\)"),
        ("table.timeline.last", "use latest"),
        ("table.timeline[0].timestamp", "an Instant has no attribute 'timestamp'; use requested_time$"),
        ("table.scan().splits()[0].to_pandas", r"use to_arrow\(\)\.to_pandas\(\)$"),
        ("table.file_slices()[0].base_fil", "use base_file$"),
    ],
)
def test_a_name_of_another_library_is_answered_with_that_of_mortice(table, guess, advice):
    with pytest.raises(AttributeError, match=advice):
        eval(guess)
    with pytest.raises(mortice.InvalidArgumentError, match="delete_where deletes the rows"):
        table.delete("fare > 3")
    with pytest.raises(mortice.InvalidArgumentError, match="a condition is filters="):
        table.scan("fare > 3")
    for columns in ("*", ["*"]):
        with pytest.raises(mortice.InvalidArgumentError, match="leave the argument out"):
            table.scan(columns)


@pytest.mark.parametrize(
    ("guess", "advice"),
    [
        ("table.to_arrow(where='fare > 3')", r"to_arrow\(\) has no argument 'where'; use filters$"),
        ("table.snapshot(timestamp='2026-11-21')", "use as_of$"),
        ("table.to_pandas(limit=3)", r"use head\(n\)"),
        ("table.scan().head(rows=3)", "use n$"),
        ("table.delete(where='fare > 3')", r"use delete_where\(filters\)$"),
        ("table.clean(opptions={})", "use options$"),
        ("mortice.Table(path='x')", r"Table\(\) has no argument 'path'; use uri$"),
        ("mortice.Table('x', threds=1)", r"Table\(\) has no argument 'threds'; use threads$"),
        ("mortice.create_table('x', table.schema, primary_key='id')", "use record_key$"),
        ("mortice.scan_polars('x', filter='fare > 3')", "use filters$"),
        ("mortice.spark.read(None, 'x', where='fare > 3')", r"read\(\) has no argument 'where'; use filters$"),
        ("mortice.spark.write(None, 'x', save_mode='append')", "use mode$"),
        ("table.count(zzz=1)", r"arguments: filters, as_of$"),
    ],
)
def test_an_argument_of_another_library_is_answered_with_that_of_mortice(table, guess, advice):
    with pytest.raises(TypeError, match=advice):
        eval(guess)


def test_what_errors_suggest_exists(table):
    """A suggestion begins with a name of mortice, if it is one: it must be there."""
    owners = {"module": mortice, "spark": mortice.spark, "Scan": mortice.Scan, "Table": mortice.Table}
    for kind, owner in (owners | {"Timeline": mortice.Timeline}).items():
        assert other_names.names_of(kind), kind
        for name, meant in other_names.names_of(kind).items():
            assert name not in dir(owner), f"{name} exists"
            code = re.sub(r"'[^']*'|\"[^\"]*\"", "", meant)
            for called in re.findall(r"(?<![\w.])([a-z_]\w*)\(", code):
                assert called in dir(owner) or called in BUILT_IN, f"{name}: {meant}"
            for called in re.findall(r"mortice\.(\w+)\(", code):
                assert called in dir(mortice), f"{name}: {meant}"
            for called in re.findall(r"(?:\btable|Table\(path\))\.(\w+)", code):
                assert called in dir(mortice.Table), f"{name}: {meant}"
    for kind in ("Commit", "Diff", "FileSlice", "Health", "Instant", "RecordHistory", "Split", "VerifyResult"):
        found, others = getattr(mortice, kind), other_names.names_of(kind)
        assert others, kind
        known = {*dir(found), *getattr(found, "__dataclass_fields__", ())}
        for name, meant in others.items():
            assert name not in known, f"{kind}.{name} exists"
            assert (
                meant.startswith(("table.", "polars.", "pandas.", "dataclasses."))
                or re.match(r"\w+", meant)[0] in known
            )
    for meant in other_names.names_of("argument").values():
        assert set(meant.split(", ")) <= {one for known in signatures() for one in known}, meant


BUILT_IN = {"help", "len", "list", "print"}


def signatures():
    functions = [mortice.create_table, mortice.Table.__init__]
    functions += [value for value in vars(mortice.Table).values() if callable(value)]
    functions += [getattr(mortice.Table, name) for name in dir(mortice.Table) if not name.startswith("_")]
    functions += [getattr(mortice.Scan, name) for name in dir(mortice.Scan) if not name.startswith("_")]
    return [inspect.signature(one).parameters for one in functions if callable(one)]


def test_partitions_are_listed(tmp_path, table):
    assert table.partitions() == [""]
    rows = {"id": ["a", "b", "c"], "day": ["2024-01-02", "2024-01-01", "2024-01-02"]}
    days = mortice.create_table(tmp_path / "t", data=rows, record_key="id", partition_by="day")
    first = days.timeline.latest
    days.upsert({"id": ["d"], "day": ["2024-01-03"]})
    assert days.partitions() == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert days.partitions(first) == ["2024-01-01", "2024-01-02"]
    assert days.partitions(filters="day > '2024-01-01'") == ["2024-01-02", "2024-01-03"]
    days.delete_partitions(days.partitions(filters="day = '2024-01-02'"))
    assert days.partitions() == ["2024-01-01", "2024-01-03"]


def test_columns_are_read_by_name(table, expected):
    for rows_of in (table, table.scan(), pickle.loads(pickle.dumps(table.scan()))):
        assert sorted(rows_of["fare"].to_pylist()) == sorted(expected["fare"].to_pylist())
        assert rows(rows_of[["city", "fare"]]) == rows(expected.select(["city", "fare"]))
        assert ("fare" in rows_of, "price" in rows_of) == (True, False)
        for refused in (0, slice(3), [], ["fare", 1]):
            with pytest.raises(TypeError, match="rows have no numbers"):
                rows_of[refused]
    with pytest.raises((mortice.InvalidArgumentError, KeyError), match="price"):
        table["price"]
    assert table.scan("fare").columns == ["fare"]
    assert (table.name, table.table_type) == (NAME, "MERGE_ON_READ")


def test_completion_shows_the_public_names():
    assert set(dir(mortice)) - set(mortice.__all__) <= {"__doc__", "__file__", "__name__", "__path__", "spark"}
    assert not {"preview", "prepare", "_native"} & set(dir(mortice.Table)) - set(vars(mortice.Table)) - {
        "prepare",
        "preview",
    }


@pytest.fixture
def wide(tmp_path):
    """Two partitions, of which engines need one."""
    schema = pa.schema([("id", pa.int64()), ("day", pa.string()), ("fare", pa.float64()), ("note", pa.string())])
    table = mortice.create_table(tmp_path / "t", schema, name="t", record_key="id", partition_by="day")
    table.upsert([{"id": n, "day": "ab"[n % 2], "fare": n / 2, "note": f"n{n}"} for n in range(100)])
    table.upsert([{"id": n, "day": "ab"[n % 2], "fare": None, "note": None} for n in range(0, 100, 10)])
    return table


def planned(monkeypatch):
    """Collects what is planned."""
    scans = []
    plan = mortice.queries.QueryPlan.scan

    def scan(self):
        scans.append(plan(self))
        return scans[-1]

    monkeypatch.setattr(mortice.queries.QueryPlan, "scan", scan)
    return scans


def assert_pushed(scans):
    """Asserts that of two partitions one was read, and that the column `note` was not."""
    assert scans
    assert "partitions 1 (1 pruned)" in scans[-1].explain()
    assert "note" not in scans[-1].schema.names


def test_duckdb_pushes_into_a_table(wide, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    con = mortice.duckdb(t=wide, path=wide.uri)
    query = "select count(*), sum(fare) from {} where day = 'a' and (fare > 10.5 or fare is null)"
    expected = duckdb.connect().from_arrow(wide.to_arrow()).query("t", query.format("t")).fetchall()
    for name in ("t", "path", "variable"):
        scans = planned(monkeypatch)
        variable = wide.dataset()
        assert (con if name != "variable" else duckdb).sql(query.format(name)).fetchall() == expected
        assert_pushed(scans)
        del variable
    assert duckdb.sql("select count(*) from wide").fetchall() == [(100,)]
    assert con.sql("select count(*) from t where day in ('a', 'c') and note like 'n1%'").fetchall() == [(4,)]


def test_polars_pushes_into_a_table(wide, monkeypatch):
    polars = pytest.importorskip("polars")
    predicate = (polars.col("day") == "a") & ((polars.col("fare") > 10.5) | polars.col("fare").is_null())
    expected = polars.DataFrame(wide.to_arrow()).filter(predicate).select("id").sort("id")
    for lazy in (mortice.scan_polars(wide), mortice.scan_polars(wide.uri)):
        scans = planned(monkeypatch)
        assert lazy.filter(predicate).select("id").collect().sort("id").equals(expected)
        assert_pushed(scans)
    assert (
        polars.scan_pyarrow_dataset(wide.dataset()).filter(predicate).select("id").collect().sort("id").equals(expected)
    )
    lazy = mortice.scan_polars(wide, filters="day = 'b'")
    assert lazy.head(7).collect().height == 7
    assert lazy.filter(polars.col("fare") > 10.5).select(polars.len()).collect().item() == 39
    assert lazy.collect_schema().names() == wide.columns


def test_daft_pushes_into_a_table(wide, monkeypatch):
    daft = pytest.importorskip("daft")
    frame = mortice.scan_daft(wide)
    assert frame.column_names == wide.columns
    scans = planned(monkeypatch)
    rows_of_a = list(range(0, 100, 2))
    assert sorted(frame.where(daft.col("day") == "a").select("id").to_pydict()["id"]) == rows_of_a
    assert_pushed(scans)
    # Daft orders -0.0 below 0.0 and NaN above all numbers: a predicate on such columns is left to it.
    both = (daft.col("day") == "a") & (daft.col("fare") > 40)
    assert frame.where(both).count_rows() == wide.count("day = 'a' and fare > 40") > 0
    assert "partitions 2 (0 pruned)" in scans[-2].explain()
    assert frame.where(daft.col("day").upper() == "B").count_rows() == 50
    narrow = mortice.scan_daft(wide.uri, ["id", "day"], [("id", "<", 30)])
    assert narrow.where(daft.col("day").is_in(["b"])).count_rows() == 15
    assert_pushed(scans)
    assert sorted(frame.select("id").to_pydict()["id"]) == sorted(wide["id"].to_pylist())
    with pytest.raises(TypeError, match=r"scan_daft\(\) has no argument 'where'; use filters"):
        mortice.scan_daft(wide, where="id < 3")


def test_datafusion_pushes_into_a_table(wide, monkeypatch):
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_dataset("t", wide.dataset())
    scans = planned(monkeypatch)
    found = context.sql("select count(*) as rows, sum(fare) as sum from t where day = 'a' and fare > 10.5")
    expected = wide.to_arrow().filter((pc.field("day") == "a") & (pc.field("fare") > 10.5))
    assert found.to_pydict() == {"rows": [expected.num_rows], "sum": [pc.sum(expected["fare"]).as_py()]}
    assert_pushed(scans)


def test_a_dataset_is_one_of_pyarrow(wide):
    import pyarrow.dataset as ds

    data, everything = wide.dataset(), wide.to_arrow()
    expression = (pc.field("day") == "a") & (pc.field("fare") > 10.5)
    assert isinstance(data, ds.Dataset)
    assert data.schema == everything.schema
    assert data.count_rows() == 100
    selected = everything.filter(expression)
    assert data.count_rows(expression) == data.filter(expression).count_rows() == selected.num_rows
    assert rows(data.filter(pc.field("day") == "a").to_table(["id"], filter=pc.field("fare") > 10.5)) == rows(
        selected.select(["id"])
    )
    doubled = data.to_table({"twice": pc.field("fare") * 2}, filter=expression)
    assert sorted(doubled["twice"].to_pylist()) == sorted(value * 2 for value in selected["fare"].to_pylist())
    assert data.head(3).num_rows == 3
    parts = [fragment.to_table(columns=["id"], filter=expression) for fragment in data.get_fragments(expression)]
    assert len(parts) == 1
    assert rows(pa.concat_tables(parts)) == rows(selected.select(["id"]))
    assert rows(pickle.loads(pickle.dumps(data.filter(expression))).to_table()) == rows(selected)
    with pytest.raises(mortice.InvalidArgumentError, match='unknown column "nope"'):
        data.to_table(["nope"])
    # What bypasses the methods of the dataset must not see an empty table.
    with pytest.raises(FileNotFoundError, match="methods of the dataset"):
        ds.Scanner.from_dataset(data).to_table()
    assert "partitions 1 (1 pruned)" in data.explain(["id"], expression)
