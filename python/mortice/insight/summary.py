"""What a table is, for notebooks."""

from __future__ import annotations

from mortice.display.markup import grid, tag
from mortice.insight.table_view import TableView
from mortice.values.meta_columns import META_COLUMNS

__all__ = ["table_html"]

SHOWN = 50
"""The number of columns that are shown."""


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
    columns = grid(["column", "type"], ([field.name, str(field.type)] for field in fields[:SHOWN]))
    count = f"{len(fields):,} columns" + (f", the first {SHOWN}" if len(fields) > SHOWN else "")
    name = table.properties.get("hoodie.table.name", "")
    return grid(["", name], facts) + tag("details", tag("summary", count), columns)
