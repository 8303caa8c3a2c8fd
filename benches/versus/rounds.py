"""Alternates contenders: at each point every contender runs once a round, in an order that changes from round to round,
so that disturbances of the machine affect all. A contender has no time until its rows equal those of the reference.
Those that write do so into a fresh copy of the table in every run, and Hudi reads what each of them has written first.
"""

import itertools
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from versus import equal
from versus.contenders import VERIFIER, contender_of
from versus.contenders.contender import NotSupported
from versus.homes import CACHE
from versus.process import Failed, Process
from versus.record import CANNOT, DIFFERS, FAILED, OK, Line
from versus.tables import copy_table

SHORTEST_SECONDS = 0.1
"""Shorter queries are run several times a round."""
MOST_TIMES = 50
KEYS = ["_hoodie_record_key", "_hoodie_partition_path"]
"""The meta columns that do not depend on the writer."""


@dataclass(frozen=True)
class Effort:
    """The effort of a measurement."""

    rounds: int
    warm_ups: int
    limit_seconds: float
    """The time limit of a query."""
    patience_seconds: float
    """Contenders that take longer for one run have three rounds, and no warm-up other than their result, unless all are
    warmed up at the point."""


class Rounds:
    """The contenders' processes and their verified results, for any number of points."""

    def __init__(self, contenders, effort, record, say=print):
        self.contenders = contenders
        self.effort = effort
        self.record = record
        self.say = say
        self._processes = {}
        self._verdicts = {}
        self._references = {}
        self._answer_seconds = {}

    def run(self, point, written):
        """Measures all contenders at one point and records them."""
        target = _Target(point, written)
        field = [one for one in self.contenders if point.kind in one.kinds and one.name not in point.without]
        self.say(point.title)
        self._end_others(target.cores)
        able = [contender for contender in field if not contender.refuses(target.query)]
        firsts = {contender.name: self._cold(contender, target) for contender in able} if target.is_cold else {}
        fit = []
        for contender in field:
            status, reason = self._verdict(contender, target)
            if status == OK:
                fit.append(contender)
                if first := firsts.get(contender.name):
                    self._add(contender, target, "cold", first)
            else:
                self._refused(contender, target, status, reason)
        if "warm" in point.states:
            self._warm(fit, target)

    def end(self):
        """Ends all processes."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()

    def _end_others(self, cores):
        for name, of in [key for key in self._processes if key[1] != cores]:
            self._processes.pop((name, of)).end()

    def _process(self, contender, cores, is_new=False):
        key = (contender.name, cores)
        old = self._processes.get(key)
        if old and (is_new or not old.is_alive):
            self._processes.pop(key).end()
        if key not in self._processes:
            self._processes[key] = Process(contender, cores)
        return self._processes[key]

    def _cold(self, contender, target):
        """Runs the first query of a new process; returns None if it fails, which the verdict will report."""
        try:
            process = self._process(contender, target.cores, is_new=True)
            process.ask({"do": "prepare", "query": target.query}, self.effort.limit_seconds)
            target.drop_from_page_cache()
            return process.measured(target.query, 1, self.effort.limit_seconds)
        except (NotSupported, Failed):
            return None

    def _verdict(self, contender, target):
        """Returns whether its rows are correct; checked once for the same rows, independent of the number of cores."""
        key = (contender.name, target.rows_key)
        if key not in self._verdicts:
            no = contender.refuses(target.query)
            self._verdicts[key] = (CANNOT, no) if no else self._judged(contender, target)
        return self._verdicts[key]

    def _judged(self, contender, target):
        folder = Path(tempfile.mkdtemp(prefix="versus-"))
        try:
            process = self._process(contender, target.cores)
            process.ask({"do": "prepare", "query": target.query}, self.effort.limit_seconds)
            if contender.is_limit or contender.is_other_format or target.point.kind == "plan":
                return OK, ""
            path = folder / "answer.parquet"
            began = time.perf_counter()
            if target.point.is_write:
                self._read_back(process, target, path)
            else:
                process.ask({"do": "answer", "query": target.query, "path": str(path)}, self.effort.limit_seconds)
            self._answer_seconds[contender.name, target.cores, target.rows_key] = time.perf_counter() - began
            return self._compared(equal.read(path), target)
        except equal.UNREADABLE as error:
            return FAILED, f"its rows cannot be read: {error}"
        except NotSupported as no:
            return CANNOT, str(no)
        except Failed as error:
            return FAILED, str(error)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _read_back(self, process, target, path):
        """Has rows written, and Hudi read the whole table."""
        with target.fresh_query() as query:
            process.ask({"do": "run", "query": query, "times": 1}, self.effort.limit_seconds)
            reader = self._process(contender_of(VERIFIER), target.cores)
            result = target.query | {"kind": "read", "path": query["path"], "columns": KEYS + target.columns}
            reader.ask({"do": "answer", "query": result, "path": str(path)}, self.effort.limit_seconds)

    def _compared(self, rows, target):
        reference = self._references.get(target.rows_key)
        if reference is None:
            self._references[target.rows_key] = equal.digest(rows)
            return OK, ""
        reason = equal.difference(reference, rows)
        return (DIFFERS, reason) if reason else (OK, "")

    def _warm(self, contenders, target):
        """Runs the rounds. `plans`: how often each contender runs in a round, and the number of rounds; failed ones are
        removed."""
        plans = {}
        for contender in contenders:
            self._tried(contender, target, lambda one=contender: plans.update({one: self._warmed_up(one, target)}))
        for round_ in range(1, self.effort.rounds + 1):
            turn = [contender for contender, (_, rounds) in plans.items() if round_ <= rounds]
            first = round_ % max(1, len(turn))
            for contender in turn[first:] + turn[:first]:
                if not self._tried(
                    contender, target, lambda one=contender, at=round_: self._round(one, target, plans[one][0], at)
                ):
                    plans.pop(contender)

    def _tried(self, contender, target, step):
        """Returns whether a step succeeded; a failure is recorded."""
        try:
            step()
        except (NotSupported, Failed) as error:
            self._refused(contender, target, FAILED, str(error))
            return False
        return True

    def _round(self, contender, target, times, round_):
        process = self._process(contender, target.cores)
        with target.fresh_query() as query:
            taken = process.measured(query, times, self.effort.limit_seconds)
        self._add(contender, target, "warm", taken, round_)

    def _warmed_up(self, contender, target):
        """Returns the number of runs in a round, and the number of rounds."""
        process = self._process(contender, target.cores)
        process.ask({"do": "prepare", "query": target.query}, self.effort.limit_seconds)
        is_warmed_up = target.point.is_warmed_up
        wall = self._answer_seconds.get((contender.name, target.cores, target.rows_key), 0)
        for _ in range(self.effort.warm_ups):
            if is_warmed_up or wall <= self.effort.patience_seconds:
                with target.fresh_query() as query:
                    wall = process.measured(query, 1, self.effort.limit_seconds)["wall_s"]
        if target.point.is_write:
            return 1, self.effort.rounds
        if wall > self.effort.patience_seconds:
            return 1, self.effort.rounds if is_warmed_up else min(3, self.effort.rounds)
        return max(1, min(MOST_TIMES, round(SHORTEST_SECONDS / max(wall, 1e-6)))), self.effort.rounds

    def _line(self, contender, target, state, **taken):
        process = self._processes.get((contender.name, target.cores))
        return Line(
            **target.facts,
            contender=contender.name,
            version=process.version if process else "unknown",
            is_limit=contender.is_limit,
            state=state,
            **taken,
        )

    def _add(self, contender, target, state, taken, round_=0):
        rows = -1 if taken["rows"] is None else taken["rows"]
        measured = {name: taken[name] for name in ("wall_s", "cpu_s", "peak_bytes")}
        self.record.add(self._line(contender, target, state, round=round_, rows_out=rows, **measured))

    def _refused(self, contender, target, status, reason):
        self.say(f"    {contender.name} {status}: {reason}")
        for state in target.point.states:
            self.record.add(self._line(contender, target, state, status=status, reason=reason))


class _Target:
    """A point and its table."""

    _copies = itertools.count()

    def __init__(self, point, written):
        self.point = point
        self.written = written
        self.query = point.query(written)
        self.cores = point.facts["cores"]

    @contextmanager
    def fresh_query(self):
        """The query; one that writes is of a copy of the table, which is removed again. No two copies have the same
        path: writers and readers cache what they know of one."""
        if not self.point.is_write:
            yield self.query
            return
        path = CACHE / "copies" / f"{os.getpid()}-{next(self._copies)}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.point.is_new:
                copy_table(self.written.path, path)
            yield self.query | {"path": str(path)}
        finally:
            shutil.rmtree(path, ignore_errors=True)

    @property
    def columns(self):
        """The columns of the rows that are written, without meta columns."""
        file = next(Path(self.query["rows"]).glob("*.parquet")) if self.point.has_rows else self.written.bases[0]
        return [name for name in pq.read_schema(file).names if not name.startswith("_hoodie_")]

    @property
    def is_cold(self):
        return "cold" in self.point.states

    @property
    def rows_key(self):
        """Equal for queries that have the same rows."""
        return (self.point.table.name, self.point.kind, self.point.columns, self.point.metadata)

    @property
    def facts(self):
        """Returns the fields of the point in a record."""
        facts = self.point.facts | {name: getattr(self.point.table, name) for name in ("rows", "fraction", "commits")}
        return facts | {"base_bytes": self.written.base_bytes, "log_bytes": self.written.log_bytes}

    def drop_from_page_cache(self):
        """Drops the contents of the table's files from the page cache, unless a process maps them."""
        for path in self.written.files:
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
