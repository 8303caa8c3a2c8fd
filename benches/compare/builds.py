"""Builds of the benchmarks, from the working tree or from a commit. Those of a commit are kept by its id:

    .benchmarks/parts/COMMIT/files/     its files, the native module among them where Python looks for it
    .benchmarks/parts/COMMIT/rust/      its Rust benchmarks: one program, `parts`; of older commits a program for each

A commit has its own target directory. Cargo decides by modification times whether to build again, and by the path in
the workspace which build is meant: in one directory, it would confuse the two.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".benchmarks" / "parts"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIBRARY = "lib_mortice.dylib" if sys.platform == "darwin" else "lib_mortice.so"
PARTS = "parts"
NO_PARTS = (PARTS, "decode_worker")
MODULE = Path("python", "mortice", "_mortice.abi3.so")


@dataclass(frozen=True)
class Build:
    """`source`: files, including the native module. `programs`: the Rust benchmarks, by name."""

    source: Path
    programs: dict

    @cached_property
    def commands(self):
        """The command of each Rust benchmark, by name."""
        commands = {name: [str(program)] for name, program in self.programs.items() if name not in NO_PARTS}
        if PARTS in self.programs:
            program = str(self.programs[PARTS])
            listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
            commands |= {name: [program, name] for name in listed.split()}
        return commands

    @property
    def benches(self):
        """The names of all benchmarks; those of Python are paths."""
        found = sorted((self.source / "benches" / "python").glob("bench_*.py"))
        return [*sorted(self.commands), *(str(path.relative_to(self.source)) for path in found)]


def git(*arguments):
    """Runs git and returns its output. Its errors are printed."""
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def is_changed():
    """Whether files differ from the last commit."""
    return bool(git("status", "--porcelain", "--untracked-files=no"))


def current():
    """Builds the working tree."""
    return _built(ROOT, TARGET)


def kept(commit):
    """Returns the build of a commit; builds it unless it is kept."""
    folder = KEPT / commit
    if not folder.is_dir():
        print(f"no baseline of {commit[:10]} is kept: it is built", flush=True)
        files = _files_of(commit)
        _keep(_built(files, TARGET / "bench-base"), commit)
    return Build(folder / "files", {path.name: path for path in (folder / "rust").iterdir()})


def keep(build, commit):
    """Keeps a build of the working tree, which equals a commit."""
    if not (KEPT / commit).is_dir():
        shutil.copyfile(build.source / MODULE, _files_of(commit) / MODULE)
        _keep(build, commit)


def _files_of(commit):
    """Checks out the files of a commit into a temporary directory."""
    partial = KEPT / f"{commit}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    files = partial / "files"
    files.mkdir(parents=True)
    with subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE) as archive:
        # Files get the current time instead of the commit's: cargo builds what is newer than the last build.
        subprocess.run(["tar", "-xm"], cwd=files, stdin=archive.stdout, check=True)
    return files


def _keep(build, commit):
    partial = KEPT / f"{commit}.partial"
    (partial / "rust").mkdir()
    for name, program in build.programs.items():
        shutil.copy2(program, partial / "rust" / name)
    partial.rename(KEPT / commit)


def _built(source, target):
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "bench", "--quiet", "--no-run", "--package", "mortice-benches"]
    command += ["--message-format", "json-render-diagnostics"]
    if (source / "benches" / "rust" / f"{PARTS}.rs").is_file():
        command += ["--bench", PARTS]
    messages = subprocess.run(
        command, cwd=source, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    artifacts = [message for message in map(json.loads, messages.splitlines()) if message.get("executable")]
    programs = {
        message["target"]["name"]: Path(message["executable"])
        for message in artifacts
        if "bench" in message["target"]["kind"]
    }
    library = ["cargo", "build", "--quiet", "--profile", "dist", "--package", "mortice-python"]
    subprocess.run(library, cwd=source, env=environment, check=True)
    shutil.copyfile(target / "dist" / LIBRARY, source / MODULE)
    return Build(source, programs)
