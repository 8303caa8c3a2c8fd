"""Runs the corpus's checks on the cases of corpus_cases.txt: `check.py` on tables, `check_logs.py` on log files.

The checks are part of the corpus and use the public API of mortice only. Without a corpus nothing is run.
"""

import argparse
import pathlib
import subprocess
import sys
from dataclasses import dataclass

QUERY_TYPES = ("snapshot", "read_optimized", "time_travel", "incremental", "cdc", "snapshot_skip_merge")
SEMANTICS = ("1.x", "0.x")
CASES = pathlib.Path(__file__).with_name("corpus_cases.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--engines", default="api,arrow,spark")
    parser.add_argument(
        "--quick", action="store_true", help="run each query on Spark once, without projections and filters"
    )
    arguments = parser.parse_args()
    if not (arguments.corpus / "check.py").is_file():
        print(f"no corpus at {arguments.corpus}: only the tables of tests/data were compared (by the tests)")
        return 0
    cases = read_cases()
    missing = [name for name in cases if not (arguments.corpus / name / "case.json").is_file()]
    if missing:
        print(f"the corpus has no case {', '.join(missing)}", file=sys.stderr)
        return 1
    logs = [name for name in cases if name.startswith("log_")]
    failed = run("log files", "check_logs.py", arguments.corpus, logs, [])
    for engine in arguments.engines.split(","):
        for semantics in SEMANTICS:
            tables = {name: facts for name, facts in cases.items() if name not in logs and semantics in facts.semantics}
            options = ["--engine", engine, "--semantics", semantics]
            if arguments.quick and engine != "api":
                options.append("--plain")
            for types in sorted({facts.types for facts in tables.values()}, key=len, reverse=True):
                names = [name for name, facts in tables.items() if facts.types == types]
                title = f"tables, {engine}, rules of {semantics}, {len(names)} cases"
                failed |= run(title, "check.py", arguments.corpus, names, [*options, "--type", ",".join(types)])
    return int(failed)


@dataclass(frozen=True)
class Queries:
    """The queries of a case."""

    semantics: tuple
    types: tuple


def read_cases():
    """Returns the cases by name, with the semantics (both unless the line names one) and the query types to check."""
    lines = [line.split("#")[0].split() for line in CASES.read_text(encoding="utf-8").splitlines()]
    return {name: parse_queries(words) for name, *words in filter(None, lines)}


def parse_queries(words):
    semantics = tuple(word for word in words if word in SEMANTICS)
    types = tuple(kind for kind in QUERY_TYPES if f"-{kind}" not in words)
    return Queries(semantics or SEMANTICS, types)


def run(title, check, corpus, names, options):
    print(f"corpus: {title}", flush=True)
    command = [sys.executable, str(corpus / check), *options, *(str(corpus / name) for name in names)]
    return subprocess.run(command, check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
