"""The health of a table as metrics of Prometheus, in its text format (exposition format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mortice._mortice import Health, Instant
from mortice.insight.instants import age_of
from mortice.values.instants import TIMELINE_ZONE

__all__ = ["metrics_of"]


Value = tuple[str, str, str, float]
"""Name, meaning, labels, value."""


def metrics_of(tables: Iterable[Health]) -> list[str]:
    """Returns the lines of the metrics of tables, each with the base path as a label."""
    by_name: dict[str, list[Value]] = {}
    for health in tables:
        for one in _values(health):
            by_name.setdefault(one[0], []).append(one)
    lines = []
    for name, values in by_name.items():
        lines += [f"# HELP mortice_{name} {values[0][1]}", f"# TYPE mortice_{name} gauge"]
        lines += [f"mortice_{name}{{{labels}}} {value:.15g}" for _, _, labels, value in values]
    return lines


def _values(health: Health) -> Iterator[Value]:
    zone = {TIMELINE_ZONE: health.timeline_zone}
    table = f'table="{_escaped(health.uri)}"'
    values: list[tuple[str, str, float | None]] = [
        ("base_bytes", "Bytes of the base files that queries read.", health.base_bytes),
        ("base_files", "Base files that queries read.", health.base_files),
        ("log_bytes", "Bytes of the log files that queries merge.", health.log_bytes),
        ("log_files", "Log files that queries merge.", health.log_files),
        ("file_groups", "File groups that queries read.", health.file_groups),
        ("small_files", "Base files below 100 MiB that could be joined.", health.small_files),
        ("active_instants", "Instants that are not archived.", health.active_instants),
        ("writes_since_compaction", "Completed writes since the last compaction.", health.writes_since_compaction),
        ("pending_instants", "Instants that have not completed.", len(health.pending)),
        ("stale_instants", "Writes pending for more than an hour.", sum(one.is_stale for one in health.pending)),
        ("problems", "What is wrong.", len(health.problems)),
        ("last_write_age_seconds", "Seconds since the last write.", _age(health.last_write, zone)),
        ("last_compaction_age_seconds", "Seconds since the last compaction.", _age(health.last_compaction, zone)),
        ("last_clean_age_seconds", "Seconds since the last clean.", _age(health.last_clean, zone)),
    ]
    if health.metadata is not None:
        values += [
            ("metadata_used", "1 if queries list files by the metadata table.", health.metadata.is_used),
            ("metadata_log_files", "Log files of the metadata table.", health.metadata.log_files),
        ]
    yield from ((name, meaning, table, value) for name, meaning, value in values if value is not None)
    for one in health.services:
        labels = f'{table},service="{one.service}"'
        yield "service_due", "1 if a table service is due.", labels, one.is_due
        yield "service_bytes", "Bytes that a table service would read or delete.", labels, one.bytes


def _age(instant: Instant | None, zone: Mapping[str, str]) -> float | None:
    return None if instant is None else age_of(instant.requested_time, zone)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
