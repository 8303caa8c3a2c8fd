"""The benchmarks use the tests' bundled tables and log writer. `make bench-parts` runs them, not the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
