"""Reads a table with hudi-rs (`hudi` of PyPI) and prints its rows as JSON. It runs with the Python that has hudi-rs,
which is not that of the tests, and imports nothing of mortice:

    .venv-versus/bin/python tests/support/hudi_rs_reader.py TABLE COLUMN …
"""

import json
import os
import pathlib
import subprocess
import sys

VARIABLE = "MORTICE_HUDI_RS_PYTHON"
PYTHON = pathlib.Path(__file__).parents[2] / ".venv-versus/bin/python"


def python():
    """The Python that has hudi-rs: the one that a variable names, else that of `make setup-versus`; none if there is
    none."""
    path = pathlib.Path(os.environ.get(VARIABLE, PYTHON))
    return path if path.exists() else None


def read(table, *columns):
    """The rows of a snapshot, sorted by the first column.

    Raises:
        AssertionError: hudi-rs fails; with its own message.
    """
    done = subprocess.run(
        [str(python()), "-I", __file__, str(table), *columns], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.strip().splitlines()[-1:]
    return json.loads(done.stdout)


def main(table, *columns):
    from hudi import HudiTableBuilder

    batches = HudiTableBuilder.from_base_uri(table).build().read()
    rows = [row for batch in batches for row in batch.to_pylist()]
    rows = [{name: row[name] for name in columns} for row in rows]
    print(json.dumps(sorted(rows, key=lambda row: row[columns[0]])))


if __name__ == "__main__":
    main(*sys.argv[1:])
