"""Runs the corpus's own checks on the cases of corpus_cases.txt: `check.py` on tables, `check_logs.py` on log files.

The checks come with the corpus and know nothing of this project but its public interface. Without a corpus there is
nothing to do.
"""

import argparse
import pathlib
import subprocess
import sys

QUERY_TYPES = "snapshot,read_optimized,time_travel"
SEMANTICS = "1.x"
CASES = pathlib.Path(__file__).with_name("corpus_cases.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--engines", default="api,arrow,spark")
    parser.add_argument("--quick", action="store_true", help="ask Spark each query once, not by column and filter too")
    arguments = parser.parse_args()
    if not (arguments.corpus / "check.py").is_file():
        print(f"no corpus at {arguments.corpus}: only the tables of tests/data were compared (by the tests)")
        return 0
    lines = [line.split("#")[0].strip() for line in CASES.read_text(encoding="utf-8").splitlines()]
    folders = [arguments.corpus / line for line in lines if line]
    missing = [folder.name for folder in folders if not (folder / "case.json").is_file()]
    if missing:
        print(f"the corpus has no case {', '.join(missing)}", file=sys.stderr)
        return 1
    tables = [str(folder) for folder in folders if not folder.name.startswith("log_")]
    logs = [str(folder) for folder in folders if folder.name.startswith("log_")]
    failed = run("log files", "check_logs.py", arguments.corpus, logs)
    for engine in arguments.engines.split(","):
        options = ["--engine", engine, "--semantics", SEMANTICS, "--type", QUERY_TYPES]
        if arguments.quick and engine != "api":
            options.append("--plain")
        failed |= run(f"tables, {engine}", "check.py", arguments.corpus, [*options, *tables])
    return int(failed)


def run(title, check, corpus, arguments):
    print(f"corpus: {title}", flush=True)
    return subprocess.run([sys.executable, str(corpus / check), *arguments], check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
