"""The tables that are changed: small ones with everything pending that a service could execute."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import mortice
from support.tables.written import CHANGED, FIRST, NO_SMALL_FILES, new_table, rows

KINDS = {
    "v6-mor": (6, "MERGE_ON_READ"),
    "v6-cow": (6, "COPY_ON_WRITE"),
    "v8-mor": (8, "MERGE_ON_READ"),
    "v9-mor": (9, "MERGE_ON_READ"),
    "v9-cow": (9, "COPY_ON_WRITE"),
    "v10-mor": (10, "MERGE_ON_READ"),
}
KEEP_LITTLE = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
AS_IT_IS = NO_SMALL_FILES | {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    # A stopped write whose records were compacted there cannot be rolled back.
    "hoodie.metadata.compact.max.delta.commits": "100",
}


def write_all(folder: Path, kinds: list[str]) -> None:
    """Writes the tables of these kinds into `folder`."""
    for kind in kinds:
        write_table(folder / kind, *KINDS[kind])


def write_table(root: Path, version: int, table_type: str) -> None:
    # Native logs of all kinds.
    properties = {"hoodie.table.cdc.enabled": "true"} if version >= 10 else None
    table = new_table(root, version, table_type, properties=properties)
    table.upsert(FIRST, AS_IT_IS)
    for at in (2, 3):
        kept = table.upsert(rows(("a", "x", at, 10.0), ("c", "y", at, 30.0)), AS_IT_IS)
        if table_type == "MERGE_ON_READ":
            table.compact(AS_IT_IS)
    table.savepoint(kept.instant)
    table.archive(KEEP_LITTLE)
    if version >= 10:
        # Of a key that the last write does not have: its rows are the same when that write is rolled back.
        table.delete(rows(("b", "x", 4, 2.0)), AS_IT_IS)
    last = table.upsert(CHANGED, AS_IT_IS)
    plans = [_plan(root, lambda copy: copy.clean(KEEP_LITTLE)), _plan(root, lambda copy: copy.rollback(last.instant))]
    if table_type == "MERGE_ON_READ":
        plans.append(_plan(root, lambda copy: copy.compact(AS_IT_IS)))
    else:
        plans.append(_plan(root, lambda copy: copy.cluster(AS_IT_IS)))
    _leave_a_stopped_write(root)
    for files in plans:
        for path, content in files.items():
            (root / path).write_bytes(content)


def _plan(root: Path, service) -> dict[str, bytes]:
    """What a service leaves on the timeline if it is stopped before it has done anything: its requested instant."""
    before = {path.name for path in _instants(root)}
    copy = root.with_name("planned")
    shutil.copytree(root, copy)
    service(mortice.Table(copy))
    new = [path for path in _instants(copy) if path.name not in before and path.name.endswith(".requested")]
    plans = {str(path.relative_to(copy)): path.read_bytes() for path in new}
    shutil.rmtree(copy)
    assert plans
    return plans


def _instants(root: Path) -> list[Path]:
    return [path for path in (root / ".hoodie").rglob("*") if path.is_file() and "metadata" not in path.parts]


def _leave_a_stopped_write(root: Path) -> None:
    """Takes the completed instant of a write back, with the markers and the heartbeat of its writer."""
    before = {path for path in root.rglob("*") if path.is_file()}
    written = mortice.Table(root).upsert(rows(("d", "x", 1, 4.0), ("a", "y", 9, 9.0)), AS_IT_IS)
    new = [path for path in root.rglob("*") if path.is_file() and path not in before]
    for path in new:
        if ".hoodie" not in path.parts and written.instant in path.name:
            marker = root / f".hoodie/.temp/{written.instant}" / f"{path.relative_to(root)}.marker.CREATE"
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
        if path.name.endswith(("commit",)) and path.name.startswith(written.instant) and "metadata" not in path.parts:
            path.unlink()
    heartbeat = root / ".hoodie/.heartbeat" / written.instant
    heartbeat.parent.mkdir(exist_ok=True)
    heartbeat.touch()
    os.utime(heartbeat, (1_000_000_000, 1_000_000_000))
