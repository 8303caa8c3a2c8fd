"""The header of a record: machine, commit, time."""

import datetime as dt
import os
import platform
import re
import subprocess
from pathlib import Path

from versus.homes import REPOSITORY


def processor():
    """Returns the name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.machine()


def machine():
    """Returns the machine's name in records: processor and cores, without its owner."""
    slug = re.sub(r"\(r\)|\(tm\)|cpu|processor|@.*", " ", processor().lower())
    return f"{re.sub(r'[^a-z0-9]+', '-', slug).strip('-')}-{len(os.sched_getaffinity(0))}-cores"


def commit():
    """Returns the measured commit, with a plus sign if files have changed since."""
    outputs = [
        subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
        for arguments in (["rev-parse", "--short=10", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    ]
    return f"{outputs[0] or 'unknown'}{'+' if outputs[1] else ''}"


def surroundings(scale):
    """Returns the header of a record."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "processor": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load average at the start": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "scale": scale,
    }
