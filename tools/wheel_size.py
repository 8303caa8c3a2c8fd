"""Says how large wheels are, and fails if one is larger than LIMIT: jobs and notebooks install it at every start. What
is in it must fit into a layer of AWS Lambda beside pyarrow (tools/lambda_layer.py): at most UNZIPPED.

python tools/wheel_size.py dist/*.whl
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

LIMIT = 15_000_000
"""Bytes of a wheel, at most."""
UNZIPPED = 80_000_000
"""Bytes of its files, at most."""


def main(paths: list[str]) -> int:
    """Prints the size of each wheel. Returns 1 if there is none, or one is too large.

    Args:
        paths: The wheels.
    """
    failed = not paths
    for path in paths:
        size = Path(path).stat().st_size
        with zipfile.ZipFile(path) as files:
            unzipped = sum(file.file_size for file in files.infolist())
        of_limits = (
            f"{size / 1e6:.1f} MB of {LIMIT / 1e6:.0f} MB, unzipped {unzipped / 1e6:.1f} MB of {UNZIPPED / 1e6:.0f} MB"
        )
        print(f"{path}: {of_limits}")
        failed |= size > LIMIT or unzipped > UNZIPPED
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
