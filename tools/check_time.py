"""Checks that time is a value: Rust code gets its time from the store of its table. `make lint` runs it.

    python tools/check_time.py   # prints findings; exits with status 1 if there are any

| code | must not |
|---|---|
| tests of all crates | sleep, read a clock |
| the crates in TIMED, as a whole | the same: what they wait for is a `mortice_base::time::Time` |
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Crates whose waits, deadlines and ages tests simulate.
TIMED = ("commit", "services", "client")
CLOCK = re.compile(r"\bsleep(?:_ms|_until)?\(|\b(?:Instant|SystemTime|Started|Utc|Local)::now\b|\.elapsed\(\)")
# What a `Time` is asked for.
OF_TIME = re.compile(r"(?:\btime|\bclock|\bahead|\.time\(\)|self\.1)\.sleep\(")
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod tests \{", re.MULTILINE)


def is_test_file(path: Path) -> bool:
    """Returns true for files that only tests have.

    >>> is_test_file(Path("rust/commit/src/commit/tests/heartbeats.rs"))
    True
    >>> is_test_file(Path("rust/commit/src/commit/heartbeat.rs"))
    False
    """
    return "tests" in path.parts or path.stem == "tests" or path.stem.endswith("_tests")


def findings(path: Path, text: str) -> list[str]:
    """Returns the lines of a file that read a clock or sleep.

    >>> findings(Path("rust/table/src/a.rs"), "sleep(PAUSE);\\n#[cfg(test)]\\nmod tests {\\n    sleep(PAUSE);\\n}\\n")
    ['rust/table/src/a.rs:4: sleep(PAUSE);']
    >>> findings(Path("rust/commit/src/a.rs"), "time.sleep(PAUSE);\\nlet now = Utc::now();\\n")
    ['rust/commit/src/a.rs:2: let now = Utc::now();']
    """
    if path.parts[1] in TIMED or is_test_file(path):
        first = 0
    else:
        tests = TESTS.search(text)
        first = len(text) if tests is None else tests.start()
    skipped = text.count("\n", 0, first)
    lines = enumerate(text[first:].splitlines(), skipped + 1)
    code = ((number, line.split("//")[0]) for number, line in lines)
    return [f"{path}:{number}: {line.strip()}" for number, line in code if CLOCK.search(OF_TIME.sub("", line))]


def main() -> int:
    """Prints the findings."""
    paths = sorted(ROOT.glob("rust/*/src/**/*.rs"))
    found = [line for path in paths for line in findings(path.relative_to(ROOT), path.read_text(encoding="utf-8"))]
    for line in found:
        print(line)
    if found:
        print("\nWhat waits or reads a clock is given a mortice_base::time::Time; tests have a SimulatedTime.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
