"""What processes of a write send each other, taken from real writes without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from hostile.tables import AS_IT_IS
from mortice import _mortice
from mortice.spark.writing.write_stages import ORDER, REPORT, WANTED

Bytes = Callable[[str, bytes], bytes]
"""Given the name of a payload and the payload, returns what is sent in its place."""


def as_it_is(_: str, sent: bytes) -> bytes:
    """Sends a payload unchanged."""
    return sent


class LocalFrames:
    """As `mortice.spark.writing.write_stages.Frames`, in this process and with one task for each step."""

    def __init__(self, rows: pa.Table, send: Bytes) -> None:
        self._rows: pa.Table = rows
        self._send = send

    def _run(self, name: str, stage: bytes, rows: pa.Table) -> pa.Table:
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
        batches = _mortice.run_stage(self._send(f"stage {name}", stage), (0, 0, 0), reader)
        made = [pa.record_batch(batch) for batch in batches]
        return pa.Table.from_batches(made) if made else rows.slice(0, 0)

    def _reports(self, rows: pa.Table) -> list[bytes]:
        kinds = rows["kind"].to_pylist() if "kind" in rows.column_names else []
        reports = rows["report"].to_pylist() if kinds else []
        sent = [report for kind, report in zip(kinds, reports, strict=True) if kind == REPORT]
        return [self._send("report", report) for report in sent]

    @staticmethod
    def _sorted(rows: pa.Table) -> pa.Table:
        return rows.sort_by([(name, "ascending") for name in ORDER])

    def step(self, name: str, stages: Mapping[str, bytes], tasks: int) -> list[bytes]:
        """Runs a step of the write. Returns the reports of its tasks."""
        if name in ("prepare", "insert"):
            self._rows = self._run(name, stages[name], self._rows)
        elif name == "tag":
            chunks = [self._run("split", stages["split"], self._rows)]
            if "read_keys" in stages:
                numbers = pa.table({"id": pa.array(range(tasks), pa.int64())})
                chunks.append(self._run("read_keys", stages["read_keys"], numbers))
            self._rows = self._run("tag", stages["tag"], self._sorted(pa.concat_tables(chunks)))
        elif name == "move":
            kinds = self._rows["kind"].to_pylist()
            wanted = self._rows.filter(pa.array([kind == WANTED for kind in kinds]))
            others = self._rows.filter(pa.array([kind not in (WANTED, REPORT) for kind in kinds]))
            stored = self._run("read_rows", stages["read_rows"], self._sorted(wanted))
            self._rows = self._run("merge", stages["merge"], self._sorted(pa.concat_tables([others, stored])))
        elif name == "write":
            routed = self._run("route", stages["route"], self._rows)
            self._rows = self._run("write", stages["write"], self._sorted(routed))
        return self._reports(self._rows)


def write_in_stages(root: Path | str, operation: str, rows: pa.Table, send: Bytes = as_it_is) -> None:
    """Writes rows as tasks and a driver do. `send` may change what they send."""
    write = _mortice.DistributedWrite(str(root), {}, operation, rows.slice(0, 0), AS_IT_IS, 2)
    try:
        frames = LocalFrames(rows.cast(pa.schema(write.schema)), send)
        name, _, stages, tasks = write.start()
        reports: list[bytes] = []
        while name != "commit":
            reports = frames.step(name, stages, tasks)
            if name in ("write", "insert"):
                break
            name, _, stages, tasks = write.next(reports)
        write.commit(reports)
    except BaseException:
        write.abort("a payload was changed")
        raise
