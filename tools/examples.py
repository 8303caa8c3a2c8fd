"""Runs the Python examples of Markdown pages and compares what they print with the page.

    python tools/examples.py README.md docs/reading.md

writes the output of each example into the page; the tests compare only. A block that begins with ```python is run, all
blocks of a page in one namespace. A block that begins with ```text right after it is its output: what it prints, and
the value of its last expression. Blocks that begin with ```py are not run: they need servers or clusters. Pages
whose examples import Spark share one session of it.

Examples use paths in /tmp. They are replaced by a directory of their own, which contains the tables of `TABLES`.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.notebook import run  # noqa: E402

TABLES = {"trips": "h11_event_time_deletes", "ledger": "h12_cdc_caught_up_data_before_after"}
"""Directories in /tmp that examples read, and the table of tests/data that each of them contains."""
EXAMPLE = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```$"
    r"(?:\n+^(?P=indent)```text\n(?P<output>.*?)^(?P=indent)```$)?",
    re.MULTILINE | re.DOTALL,
)
"""A block, which may be in a tab: then all of its lines are indented."""


def pages(*, spark: bool) -> list[str]:
    """Returns the pages with examples, as paths in the repository.

    Args:
        spark: Whether those are returned whose examples start a Spark session, or all others.
    """
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    sources = {path: "\n".join(block["code"] for block in EXAMPLE.finditer(path.read_text("utf-8"))) for path in found}
    return [str(path.relative_to(ROOT)) for path, code in sources.items() if code and ("pyspark" in code) is spark]


def unpack_tables(folder: Path) -> None:
    """Creates the tables of examples in a directory."""
    for name, table in TABLES.items():
        with zipfile.ZipFile(ROOT / "tests" / "data" / table / "table.zip") as archive:
            archive.extractall(folder / name)


def outputs(page: Path, folder: Path) -> list[tuple[str, str]]:
    """Returns for each example of a page the output that the page shows and the one that the example has."""
    text = page.read_text(encoding="utf-8")
    examples = list(EXAMPLE.finditer(text))
    sources = [textwrap.dedent(example["code"]).replace("/tmp/", f"{folder}/") for example in examples]  # noqa: S108
    found = []
    for example, (printed, value) in zip(examples, run(sources, folder), strict=True):
        output = printed + (f"{value}\n" if value is not None else "")
        lines = [line.rstrip() for line in output.replace(f"{folder}/", "/tmp/").strip("\n").split("\n")]  # noqa: S108
        found.append((textwrap.dedent(example["output"] or ""), "\n".join([*lines, ""]) if output.strip() else ""))
    return found


def update(page: Path) -> None:
    """Writes the outputs of all examples into a page."""
    with tempfile.TemporaryDirectory() as name:
        unpack_tables(Path(name))
        found = iter(outputs(page, Path(name)))

    def replaced(example: re.Match[str]) -> str:
        _, output = next(found)
        indent = example["indent"]
        block = f"\n\n{indent}```text\n{textwrap.indent(output, indent)}{indent}```" if output else ""
        return f"{indent}```python\n{example['code']}{indent}```{block}"

    page.write_text(EXAMPLE.sub(replaced, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    from support.find_java import use_java

    use_java()
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(variable, sys.executable)
    for argument in sys.argv[1:]:
        update(Path(argument).resolve())
