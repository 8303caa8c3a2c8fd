"""Runs the corpus's checks on the cases of corpus_cases.txt: `check.py` on tables, `check_logs.py` on log files.

The checks are part of the corpus and use the public API of mortice only. Without a corpus nothing is run.
"""

import argparse
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from support.spark_jvm import START_QUICKLY

QUERY_TYPES = ("snapshot", "read_optimized", "time_travel", "incremental", "cdc", "snapshot_skip_merge")
SEMANTICS = ("1.x", "0.x")
CASES = pathlib.Path(__file__).with_name("corpus_cases.txt")
DATA = pathlib.Path(__file__).with_name("data")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--engines", default="api,arrow,spark")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="on Spark only tables that tests/data lacks, by one engine each, without projections and filters",
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many checks run at the same time (2)")
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
    checks = [Check("log files", "check_logs.py", logs, [])]
    engines = arguments.engines.split(",")
    for engine in engines:
        for semantics in SEMANTICS:
            tables = {name: facts for name, facts in cases.items() if name not in logs and semantics in facts.semantics}
            options = ["--engine", engine, "--semantics", semantics]
            if arguments.quick and engine != "api":
                options.append("--plain")
                tables = share_of(tables, engine, engines)
            for types in sorted({facts.types for facts in tables.values()}, key=len, reverse=True):
                names = [name for name, facts in tables.items() if facts.types == types]
                title = f"tables, {engine}, rules of {semantics}, {len(names)} cases"
                checks.append(Check(title, "check.py", names, [*options, "--type", ",".join(types)]))
    # The largest first; output is not interleaved.
    checks.sort(key=lambda check: -len(check.names))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        failed = [print_output(*done) for done in pool.map(lambda check: run(check, arguments.corpus), checks)]
    return int(any(failed))


@dataclass(frozen=True)
class Check:
    """A program of the corpus and the cases that it is run on."""

    title: str
    program: str
    names: list
    options: list


@dataclass(frozen=True)
class Queries:
    """The queries of a case."""

    semantics: tuple
    types: tuple


def share_of(tables, engine, engines):
    """Returns the tables that an engine on Spark is asked for in a quick run: each table by one engine.

    Those of tests/data are left out: tests/spark asks for each of them in both ways.
    """
    on_spark = [name for name in engines if name != "api"]
    others = [name for name in tables if not (DATA / name / "table.zip").is_file()]
    return {name: tables[name] for name in others[on_spark.index(engine) :: len(on_spark)]}


def read_cases():
    """Returns the cases by name, with the semantics (both unless the line names one) and the query types to check."""
    lines = [line.split("#")[0].split() for line in CASES.read_text(encoding="utf-8").splitlines()]
    return {name: parse_queries(words) for name, *words in filter(None, lines)}


def parse_queries(words):
    semantics = tuple(word for word in words if word in SEMANTICS)
    types = tuple(kind for kind in QUERY_TYPES if f"-{kind}" not in words)
    return Queries(semantics or SEMANTICS, types)


def run(check, corpus):
    """Returns the title, the output, and whether the check failed."""
    command = [
        sys.executable,
        str(corpus / check.program),
        *check.options,
        *(str(corpus / name) for name in check.names),
    ]
    environment = START_QUICKLY | os.environ
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    return check.title, done.stdout, done.returncode != 0


def print_output(title, output, failed):
    print(f"corpus: {title}\n{output}", end="", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
