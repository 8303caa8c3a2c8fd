"""The process of a contender, from outside: started on given cores, queried, measured and ended."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress

from versus import cpu
from versus.contenders.contender import NotSupported
from versus.homes import BENCHES, environment, python_of


class Failed(Exception):  # noqa: N818
    """A contender failed or exceeded its time limit; the message says how."""


def first_cores(count):
    """Returns the cores of contenders: the first `count` cores that this process may use."""
    return sorted(os.sched_getaffinity(0))[:count]


class Process:
    """A contender's process, running or ended."""

    def __init__(self, contender, cores):
        self.contender = contender
        self.cores = cores
        self.version = "unknown"
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        command = contender.command() or [python_of(contender.home), "-m", "versus.worker", contender.name, str(cores)]
        try:
            self._process = self._started(command)
        except OSError as error:
            self._said.close()
            raise Failed(f"it could not be started: {error}") from error
        began = time.perf_counter()
        try:
            self.version = self.ask({"do": "start"}, limit_seconds=300)["version"]
        except Exception:
            self.end()
            raise
        self.start_seconds = time.perf_counter() - began

    def _started(self, command):
        return subprocess.Popen(
            command,
            cwd=BENCHES,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, first_cores(self.cores)),  # noqa: PLW1509
        )

    @property
    def pid(self):
        return self._process.pid

    def ask(self, request, limit_seconds):
        """Sends a request and waits for its reply. Raises `NotSupported` or `Failed`; ends the process after the time
        limit."""
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._line(limit_seconds)
        except (BrokenPipeError, ValueError):
            line = b""
        if not line:
            words = self._last_words()
            self.end()
            raise Failed(f"its process ended: {words}")
        reply = json.loads(line)
        if "cannot" in reply:
            raise NotSupported(reply["cannot"])
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def _line(self, limit_seconds):
        if self._process.stdout.closed:
            return b""
        ready, _, _ = select.select([self._process.stdout], [], [], limit_seconds)
        if not ready:
            self._kill()
            raise Failed(f"took longer than {limit_seconds:g} s")
        return self._process.stdout.readline()

    def _last_words(self):
        if self._said.closed:
            return "ended before"
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else f"exit status {self._process.poll()}"

    @property
    def is_alive(self):
        return self._process.poll() is None

    def measured(self, query, times, limit_seconds):
        """Runs a query `times` times; returns the average cost of one run: {wall_s, cpu_s, peak_bytes, rows}."""
        cpu.reset_peak(self.pid)
        before = cpu.cpu_seconds(self.pid)
        reply = self.ask({"do": "run", "query": query, "times": times}, limit_seconds)
        spent = cpu.cpu_seconds(self.pid) - before
        return {
            "wall_s": reply["wall"],
            "cpu_s": spent / times,
            "peak_bytes": cpu.peak_bytes(self.pid),
            "rows": reply["rows"],
        }

    def _kill(self):
        """Kills the process without the ten seconds of `end`."""
        for pid in cpu.tree(self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.end()

    def end(self):
        """Ends the process and its descendants, which are one session. Can be called again."""
        pids = list(cpu.tree(self.pid))
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        for pid in pids:
            with suppress(ProcessLookupError):
                if os.getsid(pid) == self.pid:
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._said.close()
