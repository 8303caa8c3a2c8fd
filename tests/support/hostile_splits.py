"""Reads splits whose numbers were made as large as possible, in a process with little memory.

The split of a table is on standard input. What cannot be read must be an error of `mortice`; what allocates without
bound ends the process. Prints how many splits were tried.
"""

import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mortice

LARGE = (0, 2**31 - 1, 2**32, 2**63 - 1, 2**64 - 1)
SPARE = 1 << 30


def numbers(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yields the holder and key of each number."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        if isinstance(value, (dict, list)):
            yield from numbers(value)
        elif isinstance(value, int) and not isinstance(value, bool) and key != "form":
            yield tree, key


def main() -> None:
    """Changes one number at a time."""
    message = json.load(sys.stdin)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + SPARE, -1))
    tried = 0
    for holder, key in list(numbers(message)):
        kept = holder[key]
        for large in LARGE:
            holder[key] = large
            tried += 1
            try:
                mortice.Split.from_bytes(json.dumps(message).encode()).to_reader().read_all()
            except mortice.InternalError:
                raise
            except mortice.MorticeError:
                pass
        holder[key] = kept
    print(tried)


if __name__ == "__main__":
    main()
