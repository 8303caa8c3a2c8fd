"""What a record says about where and when it was taken."""

import datetime as dt
import os
import platform
import re
import subprocess
from pathlib import Path

from versus.homes import REPOSITORY


def processor():
    """The processor as it calls itself."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.machine()


def machine():
    """The machine's name among records: processor and cores, and nothing of its owner."""
    slug = re.sub(r"\(r\)|\(tm\)|cpu|processor|@.*", " ", processor().lower())
    return f"{re.sub(r'[^a-z0-9]+', '-', slug).strip('-')}-{len(os.sched_getaffinity(0))}-cores"


def commit():
    """The commit that is measured; a plus behind it where files have changed since."""
    said = [
        subprocess.run(["git", *asked], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
        for asked in (["rev-parse", "--short=10", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    ]
    return f"{said[0] or 'unknown'}{'+' if said[1] else ''}"


def surroundings(scale):
    """What stands at the head of a record."""
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
