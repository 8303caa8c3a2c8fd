"""Which parts got slower since the last commit: `python benches/compare.py [BASE]`, or `make bench-compare`.

The benchmarks of the parts (`benches/rust`, `benches/python`) are run on the files as they are and compared with the
baseline of BASE: HEAD where files have changed since, else the commit before. A baseline is kept in `.benchmarks/parts`
by its commit; where there is none, BASE is checked out into `target`, built and run.

A busy machine makes everything slow. So a part is slower only where its least and its median are both more than a tenth
above the baseline's, and above it as well in proportion to its yardstick: the contenders beside it, which no commit of
ours changes.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINES = ROOT / ".benchmarks" / "parts"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TOLERANCE = 1.10
OURS = ("mortice", "frames", "storage", "metadata table")
"""How names of contenders begin that are parts of ours; all others are yardsticks."""


def git(*asked):
    return subprocess.run(["git", *asked], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def is_changed():
    """Whether files differ from the last commit."""
    return bool(git("status", "--porcelain", "--untracked-files=no"))


def parts_of_rust(source):
    """{(bench, case, contender): (least, median)}, in ns a record."""
    path = TARGET / "bench-parts.tsv"
    path.unlink(missing_ok=True)
    command = ["cargo", "bench", "--quiet", "--package", "mortice-benches"]
    subprocess.run(command, cwd=source, env=_environment(BENCH_RECORD=str(path)), check=True)
    if not path.is_file():
        print(f"the Rust benchmarks of {source} keep no record: left out", flush=True)
        return {}
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {(bench, case, name): (float(least), float(median)) for bench, case, name, least, median in rows}


def parts_of_python(source):
    """The same, in ns a call, with the native module of `source`."""
    path = TARGET / "bench-parts.json"
    build = ["cargo", "build", "--quiet", "--profile", "dist", "--package", "mortice-python"]
    subprocess.run(build, cwd=source, env=_environment(), check=True)
    module = Path(source) / "python" / "mortice" / "_mortice.abi3.so"
    shutil.copyfile(TARGET / "dist" / ("lib_mortice.dylib" if sys.platform == "darwin" else "lib_mortice.so"), module)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    command += ["--benchmark-only", "--benchmark-json", str(path), "benches/python"]
    subprocess.run(command, cwd=source, env=_environment(PYTHONPATH=str(Path(source) / "python")), check=True)
    found = {}
    for one in json.loads(path.read_text())["benchmarks"]:
        name = one["name"].removeprefix("test_")
        found[one["fullname"].partition("::")[0], one["group"], name] = (
            one["stats"]["min"] * 1e9,
            one["stats"]["median"] * 1e9,
        )
    return found


def _environment(**more):
    return os.environ | {"CARGO_TARGET_DIR": str(TARGET)} | more


def measured(source):
    """All parts of a source tree."""
    return parts_of_rust(source) | parts_of_python(source)


def save(parts, commit):
    """Keeps the baseline of a commit."""
    BASELINES.mkdir(parents=True, exist_ok=True)
    rows = [[*key, *times] for key, times in parts.items()]
    (BASELINES / f"{commit}.json").write_text(json.dumps(rows, indent=0))


@contextlib.contextmanager
def checked_out(commit):
    """A tree of a commit's files, removed at the end; one that an interrupted run has left gives way."""
    tree = TARGET / "bench-base"
    shutil.rmtree(tree, ignore_errors=True)
    git("worktree", "prune")
    git("worktree", "add", "--detach", str(tree), commit)
    try:
        yield tree
    finally:
        git("worktree", "remove", "--force", str(tree))


def baseline(commit):
    """The baseline of a commit: kept, or taken now from a tree of its own."""
    kept = BASELINES / f"{commit}.json"
    if not kept.is_file():
        print(f"no baseline of {commit[:10]} is kept: it is built and run", flush=True)
        with checked_out(commit) as tree:
            save(measured(tree), commit)
    return {tuple(row[:3]): tuple(row[3:]) for row in json.loads(kept.read_text())}


def is_ours(key):
    return key[2].startswith(OURS)


def drift(before, now, key):
    """How much slower the machine is by the yardsticks beside a part: the median of their ratios, or 1 without any."""
    beside = [other for other in now if other[:2] == key[:2] and not is_ours(other) and other in before]
    return statistics.median(now[other][1] / before[other][1] for other in beside) if beside else 1.0


def told(before, now, key):
    """How much slower a part is, in a line."""
    least, median = (new / old for new, old in zip(now[key], before[key], strict=True))
    ratios = f"least {least:5.2f}  median {median:5.2f}  yardsticks {drift(before, now, key):5.2f}"
    return f"{' / '.join(key):80} {ratios}"


def slower(before, now):
    """Parts that got slower."""
    for key, (least, median) in now.items():
        if key not in before or not is_ours(key):
            continue
        by_least, by_median, of_machine = least / before[key][0], median / before[key][1], drift(before, now, key)
        if min(by_least, by_median) > TOLERANCE * max(1.0, of_machine):
            yield key


def main():
    named = sys.argv[1] if len(sys.argv) > 1 else "HEAD" if is_changed() else "HEAD~1"
    commit = git("rev-parse", named)
    before = baseline(commit)
    now = measured(ROOT)
    if not is_changed():
        save(now, git("rev-parse", "HEAD"))
    print(f"\nsince {commit[:10]} ({named}); ratios above 1 are slower")
    for key in now:
        if key in before and is_ours(key):
            print(f"  {told(before, now, key)}")
    worse = list(slower(before, now))
    for key in worse:
        print(f"slower: {told(before, now, key)}")
    if not worse:
        print(f"no part got slower by more than {TOLERANCE - 1:.0%}")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
