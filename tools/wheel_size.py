"""Says how large wheels are, and fails if one is larger than LIMIT: jobs and notebooks install it at every start.

python tools/wheel_size.py dist/*.whl
"""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT = 15_000_000
"""Bytes of a wheel, at most."""


def main(paths: list[str]) -> int:
    """Prints the size of each wheel. Returns 1 if there is none, or one is too large.

    Args:
        paths: The wheels.
    """
    sizes = {path: Path(path).stat().st_size for path in paths}
    for path, size in sizes.items():
        print(f"{path}: {size / 1_000_000:.1f} MB of {LIMIT / 1_000_000:.0f} MB")
    return int(not sizes or max(sizes.values()) > LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
