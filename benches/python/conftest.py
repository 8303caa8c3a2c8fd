"""Benchmarks share the tests' bundled tables and their writer of log files. Run by make bench, never by the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
