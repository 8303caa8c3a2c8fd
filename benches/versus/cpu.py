"""CPU seconds and memory of a process and its descendants, read by another process from Linux' /proc.

    CPU of a tree   the CPU clock of each living process (nanoseconds, all its threads, also ended ones), plus the time
                    of its ended children (`cutime`, `cstime` of /proc/PID/stat, in ticks)
    peak memory     `VmHWM`, reset before (`clear_refs` 5), summed over the tree: exact for one process, an upper bound
                    of the joint peak for several. Includes touched pages of mapped files

The garbage collector and compiler of a JVM, and Spark's Python workers, are part of the tree.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")
RESET_PEAK = "5"
# Fields of /proc/PID/stat, counted after the name, which may contain any character.
PARENT, CHILDREN_USER, CHILDREN_SYSTEM = 1, 13, 14


def _stat(pid):
    """Returns the fields of a process, or None if it has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree(root):
    """Returns a process and all its descendants, with their fields."""
    fields = {int(entry.name): _stat(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()}
    children = {}
    for pid, of_pid in fields.items():
        if of_pid:
            children.setdefault(int(of_pid[PARENT]), []).append(pid)
    found, waiting = {}, [root]
    while waiting:
        pid = waiting.pop()
        if fields.get(pid):
            found[pid] = fields[pid]
            waiting += children.get(pid, [])
    return found


def _clock(pid):
    """Returns the CPU clock of another process (that of `clock_getcpuclockid`), in seconds; 0 if it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def cpu_seconds(root):
    """Returns the CPU seconds, user and system, of a process and its descendants so far."""
    total = 0.0
    for pid, fields in tree(root).items():
        total += _clock(pid) + (int(fields[CHILDREN_USER]) + int(fields[CHILDREN_SYSTEM])) / TICK
    return total


def reset_peak(root):
    """Resets the peak memory of each process to its current memory."""
    for pid in tree(root):
        with suppress(OSError):
            (PROC / str(pid) / "clear_refs").write_text(RESET_PEAK)


def _memory(root, field):
    total = 0
    for pid in tree(root):
        try:
            lines = (PROC / str(pid) / "status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))
    return total


def peak_bytes(root):
    """Returns the peak memory since `reset_peak`, including touched pages of mapped files."""
    return _memory(root, "VmHWM")


def resident_bytes(root):
    """Returns the current memory."""
    return _memory(root, "VmRSS")
