"""A table as HTML: a report on one page that loads nothing and runs nothing, and what notebooks show."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

import pyarrow as pa

import mortice._mortice as native
from mortice._mortice import FileSlice, Health, ServiceNeed
from mortice.display.charts import layout_chart, timeline_chart
from mortice.display.markup import Markup, byte_size, grid, tag
from mortice.insight.instants import commit_row, kinds_of, moment_of
from mortice.insight.plots import laid_out, timed
from mortice.insight.table_view import TableView
from mortice.values.instants import TIMELINE_ZONE
from mortice.values.type_names import META_COLUMNS

__all__ = ["SERVICE_COLUMNS", "health_html", "report_of", "service_cells", "table_html"]

MOST_GROUPS = 40
MOST_INSTANTS = 300
MOST_COMMITS = 20
MOST_PARTITIONS = 50
MOST_COLUMNS = 50
"""Of a notebook."""
# Nothing is loaded, also if a name in the table were to get into the page as markup.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #8884; }
p.where { color: #888; margin-top: 0; overflow-wrap: anywhere; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; }
.cards li { border: 1px solid #8886; border-radius: 8px; padding: .5rem .9rem; }
.cards b { display: block; font-size: 1.25rem; }
.bad { border-left: 4px solid #c0392b; padding-left: .75rem; }
.good { border-left: 4px solid #2e8b57; padding-left: .75rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #8883; vertical-align: top; }
#properties td { overflow-wrap: anywhere; }
"""


def report_of(table: TableView, health: Health) -> str:
    """Returns the page.

    Args:
        table: The table.
        health: Its health.
    """
    name = table.properties.get("hoodie.table.name", "")
    slices = table.file_slices()
    sections = [
        _section("Health", _health(health)),
        _section("Services", grid(SERVICE_COLUMNS, map(service_cells, health.services))),
        _section("Layout", layout_chart(laid_out(slices, MOST_GROUPS)), _more(len(slices), MOST_GROUPS, "file groups")),
        _section("Timeline", timeline_chart(timed(table, MOST_INSTANTS))),
        _section("Latest writes", grid(COMMIT_COLUMNS, _commits(table))),
        _section("Partitions", *_partitions(slices)),
        _section("Columns", grid(["column", "type", "nullable"], _columns(table.schema))),
        _section("Properties", grid(["property", "value"], sorted(table.properties.items()))),
    ]
    made = f"Made by mortice {native.__version__} at {dt.datetime.now(dt.timezone.utc):%Y-%m-%d %H:%M:%S} UTC."
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width"),
        tag("title", f"{name or table.uri}: report"),
        tag("style", Markup(STYLE)),
    )
    body = tag(
        "body",
        tag("h1", name or table.uri),
        tag("p", table.uri, class_="where"),
        *sections,
        tag("p", made, class_="where"),
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en")


def _section(title: str, *content: Markup) -> Markup:
    name = title.lower().replace(" ", "-")
    return tag("section", tag("h2", title), tag("div", *content, class_="wide"), id=name)


def _health(health: Health) -> Markup:
    cards = {
        "table": f"{health.table_type.replace('_', '-').lower()}, version {health.version}",
        "file groups": f"{health.file_groups:,} in {health.partitions:,} partitions",
        "base files": byte_size(health.base_bytes),
        "logs": f"{byte_size(health.log_bytes)} in {health.log_files:,}",
        "logs per base byte": f"{health.log_ratio:.1%}",
        "last write": _time(health),
    }
    found = [tag("p", one, class_="bad") for one in health.problems]
    if health.due:
        found.append(tag("p", f"Due: {', '.join(health.due)}.", class_="bad"))
    if not found:
        found.append(tag("p", "No problems, and no service is due.", class_="good"))
    return tag(
        "div", tag("ul", *(tag("li", name, tag("b", value)) for name, value in cards.items()), class_="cards"), *found
    )


def _time(health: Health) -> str:
    """Returns when the last write was requested, as people read it."""
    if health.last_write is None:
        return "none"
    moment = moment_of(health.last_write.requested_time, {TIMELINE_ZONE: health.timeline_zone})
    return health.last_write.requested_time if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


COMMIT_COLUMNS = ["instant", "operation", "inserts", "updates", "deletes", "files", "bytes written"]


def _commits(table: TableView) -> Iterable[list[object]]:
    writes = [one for one, kind in kinds_of(table) if one.is_completed and kind == "write"]
    for instant in reversed(writes[-MOST_COMMITS:]):
        row = commit_row(table, instant)
        yield [*(row[name] for name in COMMIT_COLUMNS[:-1]), byte_size(row["bytes"])]


def _partitions(slices: Iterable[FileSlice]) -> list[Markup]:
    sums: dict[str, list[int]] = {}
    for one in slices:
        found = sums.setdefault(one.partition, [0, 0, 0])
        found[0] += 1
        found[1] += one.base_file.size if one.base_file else 0
        found[2] += sum(log.size for log in one.log_files)
    largest = sorted(sums.items(), key=lambda one: (-one[1][1] - one[1][2], one[0]))
    rows = [[name or "(none)", one[0], byte_size(one[1]), byte_size(one[2])] for name, one in largest[:MOST_PARTITIONS]]
    table = grid(["partition", "file groups", "base files", "logs"], rows)
    return [table, _more(len(sums), MOST_PARTITIONS, "partitions, the largest")]


def _columns(schema: pa.Schema) -> Iterable[list[object]]:
    return ([one.name, str(one.type), one.nullable] for one in schema)


def _more(count: int, shown: int, what: str) -> Markup:
    return tag("p", f"{shown} of {count:,} {what}.", class_="where") if count > shown else Markup()


def table_html(table: TableView) -> str:
    """Returns HTML of a table's properties and columns. Files are not listed."""
    latest = table.timeline.latest
    kind = table.properties.get("hoodie.table.type", "COPY_ON_WRITE").replace("_", "-").lower()
    facts: list[list[object]] = [
        ["path", table.uri],
        ["table", f"{kind}, version {table.version}"],
        ["record key", ", ".join(table.record_key_fields) or "generated"],
        ["partitioned by", ", ".join(table.partition_fields) or "nothing"],
        ["merged by", " ".join([table.merge_mode, *table.ordering_fields])],
        ["latest write", "none" if latest is None else f"{latest.requested_time} {latest.action}"],
        ["pending", len(table.timeline.pending.active)],
    ]
    fields = [field for field in table.schema if field.name not in META_COLUMNS]
    columns = grid(["column", "type"], ([field.name, str(field.type)] for field in fields[:MOST_COLUMNS]))
    count = f"{len(fields):,} columns" + (f", the first {MOST_COLUMNS}" if len(fields) > MOST_COLUMNS else "")
    name = table.properties.get("hoodie.table.name", "")
    return grid(["", name], facts) + tag("details", tag("summary", count), columns)


SERVICE_COLUMNS = ["service", "state", "files", "bytes", "gain"]
"""Of a table of services."""


def service_cells(need: ServiceNeed) -> list[str | int]:
    """Returns what a table of services shows of one, under `SERVICE_COLUMNS`."""
    state = "due" if need.is_due else "cannot run" if need.problem else ""
    return [need.service, state, need.files, need.bytes, need.problem or need.gain]


def health_html(health: Health) -> str:
    """Returns what each service would gain, and what is wrong, for notebooks."""
    files = (
        f"{health.file_groups:,} file groups: {byte_size(health.base_bytes)} in {health.base_files:,} base files, "
        f"{byte_size(health.log_bytes)} in {health.log_files:,} logs ({health.log_ratio:.0%})"
    )
    problems = tag("ul", *(tag("li", one) for one in health.problems)) if health.problems else ""
    return grid(SERVICE_COLUMNS, map(service_cells, health.services), health.uri) + tag("p", files) + problems


setattr(Health, "_repr_html_", health_html)  # noqa: B010 — the class does not declare it
