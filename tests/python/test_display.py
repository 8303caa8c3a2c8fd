"""What notebooks and reports show: it is escaped, complete, and loads nothing."""

import datetime as dt
import re
import shutil
import subprocess
import sys
import types
from decimal import Decimal
from html.parser import HTMLParser

import pyarrow as pa
import pytest

import mortice
from mortice.cli.main import main
from mortice.display.rows import rows_html, show_rows_as_tables

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FORBIDDEN = {"script", "img", "iframe", "link", "object"}
LOADS = {"src", "href", "onerror", "onload"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose name and partitions are markup."""
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
    path = tmp_path_factory.mktemp("hostile") / "t"
    table = mortice.create_table(path, schema, name="<script>alert(1)</script>", record_key="id", partition_by="city")
    for ts in range(2):
        rows = [{"id": "a", "city": city, "ts": ts} for city in (HOSTILE, "<b>$x_1$\u202e")]
        table.upsert(pa.Table.from_pylist(rows, schema=schema), {"hoodie.metadata.enable": "false"})
    return table


class Elements(HTMLParser):
    """Checks that nothing is loaded or run, and that elements are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.text = [], set(), ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        assert tag not in FORBIDDEN
        assert not LOADS & {name for name, _ in attributes}
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.add(tag)
        assert not LOADS & {name for name, _ in attributes}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(value):
    return Elements(value._repr_html_()).text


def test_notebooks_show_what_values_are(hostile):
    assert "<script>alert(1)</script>" in shown(hostile)
    assert "deltacommit" in shown(hostile.timeline)
    slices = hostile.file_slices()
    assert HOSTILE in shown(slices)
    plan = shown(hostile.snapshot(filters=[("city", "=", HOSTILE)]))
    assert "listing" in plan
    assert "<img src=x" in plan
    log = mortice.LogFile(f"{hostile.uri}/{slices[0].log_files[0].path}")
    assert "AVRO_DATA_BLOCK" in shown(log)
    first = hostile.timeline[0]
    commit = hostile.upsert(pa.table({"id": ["z"], "city": ["<i>"], "ts": [1]}))
    assert "1 inserted" in shown(commit)
    versions = shown(hostile.history("a", partition=HOSTILE))
    assert HOSTILE in versions
    assert {"base row", "loses", "log record", "wins"} <= set(re.findall("base row|loses|log record|wins", versions))
    assert "1 inserted, 2 updated, 0 deleted" in shown(hostile.diff(first))
    assert HOSTILE in shown(hostile.diff(first))
    assert "merges" in shown(hostile.health())
    assert "0 findings" in shown(hostile.verify())


def test_a_report_is_complete_and_loads_nothing(hostile, tmp_path, capsys):
    page = hostile.report()
    found = Elements(page)
    assert {"svg", "table", "style"} <= found.names
    for text in ("Layout", "Timeline", "UPSERT", HOSTILE, "<script>alert(1)</script>", "hoodie.table.version"):
        assert text in found.text
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    latest = hostile.timeline.latest.requested_time
    assert f"{latest[:4]}-{latest[4:6]}-{latest[6:8]} {latest[8:10]}:" in found.text
    assert "min-width:760px" in page  # charts are scrolled on a phone
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "\u202e" not in page
    assert main(["report", hostile.uri, "-o", str(tmp_path / "r.html")]) == 0
    assert "r.html" in capsys.readouterr().out
    assert "<h2>Health</h2>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_report_of_an_empty_table(tmp_path):
    table = mortice.create_table(tmp_path / "t", pa.schema([("id", pa.string())]), name="t", record_key="id")
    assert "No problems" in Elements(table.report()).text


def test_plots_show_each_file_group_and_instant(hostile):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    layout = hostile.plot.layout()
    assert len(layout.get_yticklabels()) == len(hostile.file_slices())
    layout.figure.canvas.draw()  # a name with $ is no formula
    assert all(re.search("KiB.* logs?$", one.get_text()) for one in layout.texts)
    assert len(layout.texts) == len(hostile.file_slices())
    timeline = hostile.plot.timeline()
    timeline.figure.canvas.draw()
    year = hostile.timeline[0].requested_time[:4]
    assert year in timeline.xaxis.get_major_formatter().get_offset()
    assert [label.get_text() for label in timeline.get_yticklabels()] == ["deltacommit"]
    log = hostile.file_slices()[0].log_files or hostile.file_slices()[1].log_files
    axes = mortice.LogFile(f"{hostile.uri}/{log[0].path}").plot()
    assert len(axes.patches) == 1
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_runs_and_loads_nothing_of_a_report(hostile, tmp_path):
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    page.write_text(hostile.report(), encoding="utf-8")
    flags = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    flags += [f"--user-data-dir={tmp_path}/profile"]
    page_read = subprocess.check_output([*flags, "--dump-dom", page.as_uri()], encoding="utf-8", timeout=120)
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;: report</title>" in page_read
    assert page_read.count("<svg") == 2
    subprocess.check_call([*flags, "--window-size=1040,1300", f"--screenshot={picture}", page.as_uri()], timeout=120)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_results_of_services_are_tables(tmp_path):
    table = mortice.create_table(tmp_path / "t", {"id": ["a"], "ts": [10_010]}, record_key="id", ordering="ts")
    table.upsert([{"id": "a", "ts": 10_020}])
    savepoint = table.savepoint()
    for done, said in (
        (savepoint, savepoint.instant),
        (table.plan_compact()[0], "slices, 1"),
        (table.compact(), "UPSERT" if table.table_type == "COPY_ON_WRITE" else "COMPACT"),
        (table.plan_clean(), "reason"),
        (table.plan_restore(savepoint.instant), "undone, 1"),
        (table.build_metadata(add=["record_index"]), "added"),
        (table.maintain(), "maintenance in "),
    ):
        assert said in shown(done), type(done)
    # Counts have their digits in groups, values of a table do not.
    assert "10020" in shown(table.history("a"))
    assert "10,020" not in shown(table.history("a"))
    assert 'style="text-align:left">' in table.health()._repr_html_()
    assert "<pre style=" in table.scan()._repr_html_()


def test_a_result_with_many_files_shows_some():
    files = [mortice.CleanedFile(f"{number}.parquet", 4_096) for number in range(1_000)]
    assert "1,000" in shown(mortice.CleanResult([mortice.Clean(None, files, ["p"], "1")]))
    rolled_back = mortice.RollbackResult("1", "commit", "INFLIGHT", None, [(one.path, one.bytes) for one in files], [])
    assert "deleted, the first 50 of 1,000" in shown(rolled_back)
    assert "999.parquet" not in shown(rolled_back)


def test_rows_are_tables_with_their_types():
    rows = pa.table(
        {
            "id": pa.array([1_234_567, None]),
            "fare": [Decimal("1.50"), None],
            "at": pa.array([1, 2], pa.timestamp("ns")),  # Python's own times have no nanoseconds
            "zoned": pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)] * 2),
            HOSTILE: [HOSTILE, "y" * 300],
            "nested": [{"a": [1]}, None],
            "deleted": [True, None],
        }
    )
    page = Elements(rows_html(rows)).text
    for text in ("int64", "1234567", "1.50", "00:00:00.000000002", "2026-01-01", HOSTILE, "{'a': [1]}", "true"):
        assert text in page
    assert "y" * 200 not in page
    assert "2 rows of 7 columns" in page
    assert '<td style="text-align:right">1234567</td>' in rows_html(rows)
    assert "0 rows of 7 columns" in Elements(rows_html(rows.slice(0, 0))).text
    many = pa.table({"n": range(1_000), "m": range(1_000)}).rename_columns(["n", "n"])
    assert "1,000 rows of 2 columns, the first 50 of them" in Elements(rows_html(many)).text
    assert "0 columns" in Elements(rows_html(pa.table({}))).text


def test_a_notebook_shows_arrow_tables_as_it_did_or_as_html(monkeypatch):
    class Formatter(dict):
        for_type = dict.__setitem__

    formatter = Formatter()
    shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    show_rows_as_tables()
    assert formatter == {pa.Table: rows_html}
    formatter[pa.Table] = "as before"
    show_rows_as_tables()
    assert formatter == {pa.Table: "as before"}
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    show_rows_as_tables()
