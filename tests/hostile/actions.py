"""What is done with a hostile table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import mortice
from hostile.tables import AS_IT_IS, KEEP_LITTLE
from support.tables.written import CHANGED, rows

Action = Callable[[mortice.Table, Random], object]


def _an_instant(table: mortice.Table, random: Random) -> str:
    instants = [instant.requested_time for instant in table.timeline]
    return random.choice(instants or ["20240101000000000"])


CHANGES: dict[str, Action] = {
    "upsert": lambda table, _: table.upsert(CHANGED, AS_IT_IS),
    "insert": lambda table, _: table.insert(rows(("n", "x", 1, 1.0))),
    "delete": lambda table, _: table.delete(rows(("a", "x", 99, 1.0))),
    "insert_overwrite": lambda table, _: table.insert_overwrite(rows(("o", "y", 1, 1.0)), AS_IT_IS),
    "compact": lambda table, _: table.compact(AS_IT_IS),
    "log_compact": lambda table, _: table.log_compact({"hoodie.log.compaction.blocks.threshold": "1"}),
    "cluster": lambda table, _: table.cluster(AS_IT_IS),
    "clean": lambda table, _: table.clean(KEEP_LITTLE),
    "archive": lambda table, _: table.archive(KEEP_LITTLE),
    "rollback": lambda table, random: table.rollback(_an_instant(table, random)),
    "restore": lambda table, random: table.restore(_an_instant(table, random)),
    "savepoint": lambda table, random: table.savepoint(_an_instant(table, random)),
    "delete_savepoint": lambda table, random: table.delete_savepoint(_an_instant(table, random)),
    "repair": lambda table, _: table.repair(),
    "build_metadata": lambda table, _: table.build_metadata(rebuild=True),
    "delete_metadata": lambda table, _: table.delete_metadata(),
}


def _logs(table: mortice.Table, random: Random) -> None:
    kinds = ("*.log.*", "*.deletes.*", "*.cdc.*")
    logs = sorted(path for kind in kinds for path in Path(table.uri).rglob(kind) if path.is_file())
    if logs:
        log = mortice.LogFile(random.choice(logs))
        for block in log.blocks():
            repr(block)
            log.positions(block)


READS: dict[str, Action] = {
    "snapshot": lambda table, _: table.snapshot().to_arrow(),
    "filtered": lambda table, _: table.snapshot(filters=[("id", "==", "a"), ("fare", ">", 0.5)]).to_arrow(),
    "read_optimized": lambda table, _: table.read_optimized().to_arrow(),
    "incremental": lambda table, random: table.incremental(_an_instant(table, random)).to_arrow(),
    "as_of": lambda table, random: table.snapshot(as_of=_an_instant(table, random)).to_arrow(),
    "changes": lambda table, random: table.changes(_an_instant(table, random)).to_arrow(),
    "timeline": lambda table, _: [repr(instant) for instant in table.timeline],
    "file_slices": lambda table, _: table.file_slices(),
    "verify": lambda table, _: table.verify(keys=True),
    "logs": _logs,
}
