"""Records: a CSV file for each run, a line for each round, so that the rounds of each median can be looked up.

Lines that begin with `#` are the header. A contender without a time has one line, with its reason.
"""

import csv
from dataclasses import asdict, dataclass, fields
from pathlib import Path

OK, CANNOT, DIFFERS, FAILED = "ok", "cannot", "differs", "failed"
POINT = ("workload", "table", "kind", "columns", "cores", "metadata")
"""The fields that identify a point."""


@dataclass(frozen=True)
class Line:
    """One round of one contender at one point."""

    workload: str
    table: str
    kind: str
    columns: str
    cores: int
    metadata: bool
    rows: int
    fraction: float
    commits: int
    base_bytes: int
    log_bytes: int
    contender: str
    version: str
    is_limit: bool
    state: str
    round: int = 0
    status: str = OK
    reason: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_bytes: int = 0
    rows_out: int = -1
    """-1 if the contender does not report it."""

    @property
    def point(self):
        """The point of this line."""
        return tuple(getattr(self, name) for name in POINT)


class Record:
    """A record while it is written: every line is on disk when `add` returns."""

    def __init__(self, path, surroundings):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as file:
            file.writelines(f"# {name}: {value}\n" for name, value in surroundings.items())
            csv.writer(file, lineterminator="\n").writerow([field.name for field in fields(Line)])

    @classmethod
    def resumed(cls, path, surroundings, points):
        """Continues a record without these points, which are measured again."""
        facts, lines = load(path)
        repeated = {_facts(point) for point in points}
        times = sum(name.startswith("gone on with") for name in facts) + 1
        note = "; ".join(surroundings[name] for name in ("date", "commit") if name in surroundings)
        # Written to a second file first: if this is interrupted, one complete record exists.
        record = cls(Path(path).with_suffix(".resumed"), facts | {f"gone on with, {times}": note})
        for line in lines:
            if line.point not in repeated:
                record.add(line)
        record.path = record.path.replace(path)
        return record

    def add(self, line):
        """Appends a line."""
        values = [f"{value:.6g}" if isinstance(value, float) else value for value in asdict(line).values()]
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(values)


def _typed(field, text):
    return text == "True" if field.type is bool else field.type(text)


def _facts(point):
    """Returns the fields of a point as strings."""
    return tuple(point.facts[name] for name in POINT)


def incomplete_points(points, path):
    """Returns the points that a record does not contain completely: its last one may be incomplete."""
    lines = load(path)[1]
    complete = {line.point for line in lines} - {line.point for line in lines[-1:]}
    return [point for point in points if _facts(point) not in complete]


def load(path):
    """Reads a record: its header, its lines."""
    text = Path(path).read_text().splitlines()
    head = [line[2:].partition(": ") for line in text if line.startswith("# ")]
    rows = csv.DictReader(line for line in text if not line.startswith("#"))
    lines = [Line(**{field.name: _typed(field, row[field.name]) for field in fields(Line)}) for row in rows]
    return {name: value for name, _, value in head}, lines
