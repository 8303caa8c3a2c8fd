"""The tables of the matrix: every version, type and layout, after the operations that a reader must understand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import mortice

VERSIONS = (6, 8, 9)
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("ts", pa.int64()),
        ("fare", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("cost", pa.decimal128(10, 2)),
        ("ok", pa.bool_()),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("name", pa.string()), ("floor", pa.int32())])),
        ("note", pa.string()),
    ]
)
SERVICES_ASKED_FOR = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
RECORD_INDEX = {"hoodie.metadata.global.record.level.index.enable": "true"}
EACH_WRITE = {"hoodie.metadata.compact.max.delta.commits": "1"}
Rows = dict[str, dict]


def _row(key: str, city: str, ts: int) -> dict:
    return {
        "id": key,
        "city": city,
        "ts": ts,
        "fare": ts + 0.25,
        "day": date(2024, 2, 28) + timedelta(days=ts),
        "at": datetime(2024, 2, 28, 23, 59, 59, 123456, tzinfo=timezone.utc) + timedelta(hours=ts),
        "cost": Decimal(ts) + Decimal("1234.56"),
        "ok": ts % 2 == 0,
        "raw": bytes([0, ts, 255]),
        "tags": [key, "ü"],
        "place": {"name": city, "floor": -ts},
        "note": None if ts % 3 == 0 else f"note {ts}",
    }


def _upsert(table: mortice.Table, stored: Rows, options: dict[str, str], *given: tuple[str, str, int]) -> None:
    rows = [_row(*values) for values in given]
    table.upsert(pa.Table.from_pylist(rows, schema=SCHEMA), {**SERVICES_ASKED_FOR, **options})
    stored.update({row["id"]: row for row in rows})


def _history(table: mortice.Table, options: dict[str, str]) -> Rows:
    """Inserts, updates, a new partition and a delete. Returns the rows."""
    stored: Rows = {}
    _upsert(table, stored, options, *[(f"k{at:02}", "xy"[at % 2], 1) for at in range(20)])
    _upsert(table, stored, options, *[(f"k{at:02}", "xy"[at % 2], 2) for at in range(0, 20, 3)], ("new", "z", 2))
    _upsert(table, stored, options, ("k00", "x", 3), ("k05", "y", 3))
    gone = pa.Table.from_pylist([_row("k01", "y", 4), _row("k06", "x", 4)], schema=SCHEMA)
    table.delete(gone, {**SERVICES_ASKED_FOR, **options})
    del stored["k01"], stored["k06"]
    return stored


def _plain(table: mortice.Table) -> Rows:
    return _history(table, {})


def _metadata_compacted(table: mortice.Table) -> Rows:
    return _history(table, EACH_WRITE)


def _compacted(table: mortice.Table) -> Rows:
    stored = _history(table, {})
    table.compact(SERVICES_ASKED_FOR)
    return stored


def _log_compacted(table: mortice.Table) -> Rows:
    stored = _history(table, {})
    table.log_compact({**SERVICES_ASKED_FOR, "hoodie.log.compaction.blocks.threshold": "1"})
    return stored


def _clustered(table: mortice.Table) -> Rows:
    stored = _history(table, {})
    if table.table_type == "MERGE_ON_READ":
        table.compact(SERVICES_ASKED_FOR)
    table.cluster(SERVICES_ASKED_FOR)
    _upsert(table, stored, {}, ("k07", "y", 5))
    return stored


def _record_index(table: mortice.Table) -> Rows:
    return _history(table, {**RECORD_INDEX, **EACH_WRITE})


def _cleaned(table: mortice.Table) -> Rows:
    stored = _history(table, {})
    if table.table_type == "MERGE_ON_READ":
        table.compact(SERVICES_ASKED_FOR)
    for ts in (5, 6, 7):
        _upsert(table, stored, {}, ("k02", "x", ts))
    kept = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    table.clean(kept)
    table.archive(kept)
    return stored


STATES: dict[str, Callable[[mortice.Table], Rows]] = {
    "written": _plain,
    "written, metadata table compacted": _metadata_compacted,
    "compacted": _compacted,
    "log compacted": _log_compacted,
    "clustered, then updated": _clustered,
    "with a record index": _record_index,
    "cleaned and archived": _cleaned,
}
OF_LOGS = ("compacted", "log compacted")


@dataclass
class Written:
    """A table of the matrix.

    Args:
        version: Its version.
        table_type: Its type.
        kind: Its layout, and what was done with it.
        root: Where it is.
        rows: What it holds.
    """

    version: int
    table_type: str
    kind: str
    root: Path
    rows: list[dict]


def write_all(folder: Path) -> list[Written]:
    """Writes a table of each kind."""
    written = []
    for version in VERSIONS:
        for table_type in TYPES:
            for partition_by in ("city", None):
                for state, write in STATES.items():
                    if table_type == "COPY_ON_WRITE" and state in OF_LOGS:
                        continue
                    layout = "partitioned" if partition_by else "not partitioned"
                    root = folder / f"t{len(written)}"
                    arguments = {"record_key": "id", "partition_by": partition_by, "ordering": "ts"}
                    arguments |= {"table_type": table_type, "version": version}
                    table = mortice.create_table(root, SCHEMA, name="trips", **arguments)
                    rows = sorted(write(table).values(), key=lambda row: row["id"])
                    written.append(Written(version, table_type, f"{layout}, {state}", root, rows))
    return written
