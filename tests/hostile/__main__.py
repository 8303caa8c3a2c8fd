"""Runs cases in processes of their own, and reports what must not happen with the seed that repeats it."""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from hostile.cases import Cases
from hostile.tables import KINDS, write_all

WHAT = ("writes", "reads", "payloads")
MEMORY = 8 << 30
"""The address space of a process: what allocates without bound ends it."""
HANG = "hang"


def work(arguments: argparse.Namespace) -> None:
    """Runs cases by number and reports each on stdout, before and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    cases = Cases(arguments.templates, arguments.folder)
    run = {"writes": cases.write, "reads": cases.read, "payloads": cases.payload}[arguments.what]
    number = arguments.first
    while number < arguments.count:
        seed = f"{arguments.seed}-{arguments.what}-{number}"
        print(json.dumps({"start": number}), flush=True)
        outcome = run(seed)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"end": number, "memory": memory, **outcome.__dict__}), flush=True)
        number += arguments.step


class Worker:
    """A process that runs cases, started again after the one that ended it."""

    def __init__(self, arguments: argparse.Namespace, what: str, first: int, step: int, folder: Path) -> None:
        self.arguments, self.what, self.first, self.step, self.folder = arguments, what, first, step, folder
        self.lines: queue.Queue[str] = queue.Queue()
        self.process: subprocess.Popen[str] | None = None
        # No pipe: nothing reads it before the end, and a process waits that has filled it.
        self.errors = folder.with_suffix(".stderr")

    def start(self) -> None:
        command = [sys.executable, "-m", "hostile", "--worker", "--what", self.what, "--seed", self.arguments.seed]
        command += ["--first", str(self.first), "--step", str(self.step), "--count", str(self.arguments.count)]
        command += ["--templates", str(self.arguments.templates), "--folder", str(self.folder)]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()

    def next_line(self) -> str:
        """Returns what the process says next, nothing at its end, and `HANG` if it says nothing for too long.

        Seconds are counted one by one: those in which this process was not running either do not count.
        """
        for _ in range(self.arguments.timeout):
            with contextlib.suppress(queue.Empty):
                return self.lines.get(timeout=1)
        return HANG

    def last_errors(self) -> str:
        """Returns the end of what the process has written to stderr."""
        return self.errors.read_text(errors="replace")[-2000:]

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")


def supervise(worker: Worker, until: float, summary: dict, failures: list[dict]) -> None:
    """Runs the cases of a worker until they or the time are over."""
    worker.start()
    while worker.process is not None:
        line = worker.next_line()
        if line in {"", HANG}:
            process = worker.process
            if line:
                process.kill()
            code = process.wait()
            if code == 0:
                return
            ended = "a hang" if line else f"the process ended with {code}"
            seed = f"{worker.arguments.seed}-{worker.what}-{worker.first}"
            failures.append({"seed": seed, "failure": f"{ended}: {worker.last_errors()}"})
            print(json.dumps(failures[-1]), file=sys.stderr, flush=True)
            worker.first += worker.step
            worker.start()
            continue
        record = json.loads(line)
        if "start" in record:
            worker.first = record["start"]
            if time.monotonic() > until:
                worker.process.kill()
                worker.process.wait()
                return
            continue
        summary["cases"] += 1
        summary["memory"] = max(summary["memory"], record["memory"])
        summary["errors"].update(record["errors"] or ["none"])
        if record["failure"]:
            failures.append(record)
            print(json.dumps(record), file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    """Runs workers and prints a summary. Returns 1 if anything failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hostile", dir=arguments.folder) as folder:
        arguments.templates = Path(folder) / "templates"
        write_all(arguments.templates, arguments.kinds)
        for what in WHAT if arguments.what == "all" else (arguments.what,):
            summary: dict = {"cases": 0, "memory": 0, "errors": Counter()}
            failures: list[dict] = []
            began = time.monotonic()
            threads = []
            for at in range(arguments.processes):
                worker = Worker(arguments, what, at, arguments.processes, Path(folder) / f"{what}-{at}")
                until = began + arguments.seconds
                threads.append(threading.Thread(target=supervise, args=(worker, until, summary, failures)))
                threads[-1].start()
            for thread in threads:
                thread.join()
            seconds = time.monotonic() - began
            errors = ", ".join(f"{name} {count}" for name, count in summary["errors"].most_common())
            print(
                f"{what}: seed {arguments.seed}, {summary['cases']} cases in {seconds:.0f} s, "
                f"{len(failures)} failures, at most {summary['memory'] >> 10} MB ({errors})"
            )
            for failure in failures:
                print(json.dumps(failure, indent=1))
            failed += len(failures)
    return 1 if failed else 0


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--what", choices=[*WHAT, "all"], default="all")
    parser.add_argument("--seed", default=str(time.time_ns()), help="repeats a run (default: the time)")
    parser.add_argument("--count", type=int, default=1000, help="cases of each")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seconds", type=float, default=1e9, help="the time for each of them")
    parser.add_argument("--timeout", type=int, default=60, help="seconds after which a case hangs")
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS], default=[*KINDS], help="the tables")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=None, help="where tables are written; best in memory")
    parser.add_argument("--templates", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return 0
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
