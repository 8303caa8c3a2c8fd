"""Results of a record: for each point and contender median, minimum and maximum, or the reason why there are none."""

import statistics
from dataclasses import dataclass, field

from versus.contenders import CONTENDERS
from versus.record import OK

NAMES = [contender.name for contender in CONTENDERS]

OURS_BESIDE = {
    "Hudi 1.2.0 on Spark": ("mortice mapInArrow",),
    "Hudi 0.15.0 on Spark": ("mortice mapInArrow",),
    "base files by Spark": ("mortice mapInArrow",),
    "Hudi 1.2.0 writer": ("mortice writer", "mortice.spark.write"),
    "mortice.spark.write": ("mortice writer",),
    "Parquet by pyarrow": ("mortice writer",),
}
"""The mortice contenders that another one is compared with; the API for all others."""
OURS = ("mortice API",)


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of rounds."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values):
        return cls(statistics.median(values), min(values), max(values))


@dataclass
class Result:
    """One contender at one point, cold or warm."""

    line: object
    """Any of its lines: point and contender."""
    lines: list = field(default_factory=list)

    @property
    def is_ok(self):
        return bool(self.lines)

    def spread(self, name):
        """Returns the spread of `wall_s`, `cpu_s` or `peak_bytes`."""
        return Spread.of([getattr(line, name) for line in self.lines])

    @property
    def reason(self):
        """Returns why there is no time."""
        return f"{self.line.status}: {self.line.reason}"


def results(lines):
    """Returns results by point, state and contender, in the order of the record. A contender that failed once has no
    time."""
    found, failed = {}, set()
    for line in lines:
        key = (line.point, line.state, line.contender)
        result = found.setdefault(key, Result(line))
        if line.status == OK and key not in failed:
            result.lines.append(line)
        elif line.status != OK:
            failed.add(key)
            result.line, result.lines = line, []
    return found


def by_point(found):
    """Groups results by point and state, in the order of `versus.contenders`."""
    grouped = {}
    for (point, state, _), result in found.items():
        grouped.setdefault((point, state), []).append(result)
    return {key: sorted(together, key=_place) for key, together in grouped.items()}


def _place(result):
    """Sorts contenders in the order in which their rows are compared; removed ones come last."""
    return NAMES.index(result.line.contender) if result.line.contender in NAMES else len(NAMES)


def ratios(together):
    """Returns the ratios of CPU and wall time to the mortice contenders: {(contender, ours): (cpu, wall)}."""
    times = {result.line.contender: result for result in together if result.is_ok}
    found = {}
    for name, result in times.items():
        for our_name in OURS_BESIDE.get(name, OURS):
            ours = times.get(our_name)
            if ours and ours is not result:
                pairs = [(result.spread(of).median, ours.spread(of).median) for of in ("cpu_s", "wall_s")]
                found[name, our_name] = tuple(theirs / own if own else float("nan") for theirs, own in pairs)
    return found


def per_log_mib(found):
    """Returns the cost of a MiB of log in addition to the table without logs: {(contender, cores): [(MiB, CPU s a
    MiB)]}."""
    alone, costs = {}, {}
    for result in found.values():
        line = result.line
        if line.workload == "growth" and result.is_ok and not line.is_limit:
            spent = result.spread("cpu_s").median
            if line.log_bytes:
                costs.setdefault((line.contender, line.cores), []).append((line.log_bytes / 2**20, spent))
            else:
                alone[line.contender, line.cores] = spent
    return {
        key: [(size, (spent - alone[key]) / size) for size, spent in sorted(sizes)]
        for key, sizes in costs.items()
        if key in alone
    }


def title(line):
    """Returns the title of a point in reports."""
    kinds = {"read": f"{line.columns} columns", "decode": f"{line.table.partition('-')[0]} records"}
    parts = [line.workload, kinds.get(line.kind, line.kind), f"{line.rows:,} rows"]
    parts += [f"{line.fraction:.0%} updated by {line.commits} upserts"] if line.commits else []
    parts += [("metadata table" if line.metadata else "listing")] if line.kind == "plan" else []
    return ", ".join([*parts, f"{line.cores} core" + "s" * (line.cores != 1), f"Hudi {line.table.rpartition('-')[2]}"])
