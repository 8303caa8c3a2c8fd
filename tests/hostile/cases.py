"""One case: a table, some changes of its metadata, and what is done with it."""

from __future__ import annotations

import os
import shutil
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import mortice
from hostile.actions import CHANGES, READS
from hostile.mutations import Mutator, entries_below
from hostile.sent import PAYLOADS


@dataclass
class Outcome:
    """The outcome of a case.

    Args:
        seed: The seed.
        steps: What was changed and done.
        errors: The classes of the errors of `mortice` that were raised.
        failure: What must not happen, or None.
    """

    seed: str
    steps: list[str]
    errors: list[str]
    failure: str | None = None


def files_below(folder: Path) -> list[tuple[str, int, int, int]]:
    """Returns the path, inode, size and time of what is below a folder; links are not followed."""
    status = ((path, os.lstat(path)) for path in entries_below(folder))
    return sorted((path, found.st_ino, found.st_size, found.st_mtime_ns) for path, found in status)


class Cases:
    """Runs cases on copies of the tables in `templates`."""

    def __init__(self, templates: Path, folder: Path) -> None:
        self.templates, self.folder = templates, folder
        self.kinds = sorted(path.name for path in templates.iterdir())
        folder.mkdir(parents=True, exist_ok=True)
        self.kept: dict[str, tuple[Path, Path, list[tuple[str, int, int, int]]]] = {}

    def write(self, seed: str) -> Outcome:
        """Runs a write or a table service, or two, on a table of its own."""
        random = Random(seed)
        root, outside = self.folder / "trips", self.folder / "outside"
        for folder in (root, outside):
            shutil.rmtree(folder, ignore_errors=True)
        kind = random.choice(self.kinds)
        for folder in (root, outside):
            shutil.copytree(self.templates / kind, folder, symlinks=True)
        return self._run(seed, [kind], random, Mutator(random, root, outside), CHANGES)

    def payload(self, seed: str) -> Outcome:
        """Changes what processes of a write send each other, or a split, or a merge plan."""
        random = Random(seed)
        root, outside = self.folder / "trips", self.folder / "outside"
        kind = random.choice(self.kinds)
        for folder in (root, outside):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.templates / kind, folder)
        mutator = Mutator(random, root, outside)
        outcome = Outcome(seed, [kind], [])
        before, rows = files_below(outside), _rows_of(root)
        name = random.choices([*PAYLOADS], [6, 1, 1])[0]
        self._attempt(outcome, lambda: PAYLOADS[name](mutator, outcome.steps), is_panic)
        if outcome.errors and outcome.failure is None and _rows_of(root) != rows:
            outcome.failure = f"{outcome.errors[0]}, and other rows"
        self._check_outside(outcome, outside, before, ["outside", "trips"])
        return outcome

    def read(self, seed: str) -> Outcome:
        """Runs a read on a table that other reads of the kind use, too; its files are put back."""
        random = Random(seed)
        kind = random.choice(self.kinds)
        root, outside = self.folder / kind, self.folder / f"outside-{kind}"
        if kind not in self.kept:
            for folder in (root, outside):
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(self.templates / kind, folder)
            self.kept[kind] = (root, outside, files_below(outside))
        mutator = Mutator(random, root, outside)
        outcome = self._run(seed, [kind], random, mutator, READS)
        for path in sorted(mutator.touched):
            self._put_back(kind, path)
        return outcome

    def _put_back(self, kind: str, path: str) -> None:
        ours, original = self.folder / kind / path, self.templates / kind / path
        if ours.is_dir() and not ours.is_symlink():
            shutil.rmtree(ours)
        else:
            ours.unlink(missing_ok=True)
        if original.is_dir():
            shutil.copytree(original, ours)
        elif original.exists():
            ours.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(original, ours)

    def _run(self, seed: str, steps: list[str], random: Random, mutator: Mutator, actions: dict) -> Outcome:
        outcome = Outcome(seed, steps, [])
        steps.extend(mutator.mutate() for _ in range(random.choice([1, 1, 1, 2, 3])))
        before = files_below(mutator.outside)
        beside = sorted(path.name for path in self.folder.iterdir())
        for name in random.choices([*actions], k=random.choice([1, 1, 2]) if actions is CHANGES else 1):
            steps.append(name)
            self._attempt(outcome, lambda: actions[name](mortice.Table(mutator.root), random))  # noqa: B023
        self._check_outside(outcome, mutator.outside, before, beside)
        return outcome

    def _attempt(
        self, outcome: Outcome, action: Callable[[], object], is_defect: Callable[[Exception], bool] = lambda _: True
    ) -> None:
        """Does something, which may raise errors of `mortice`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                action()
        except mortice.InternalError as error:
            if is_defect(error):
                outcome.failure = f"internal error: {error}"
            outcome.errors.append("InternalError")
        except mortice.MorticeError as error:
            outcome.errors.append(type(error).__name__)
        except BaseException:  # noqa: BLE001 - any other exception is what is looked for
            outcome.failure = traceback.format_exc()

    def _check_outside(
        self, outcome: Outcome, outside: Path, before: list[tuple[str, int, int, int]], beside: list[str]
    ) -> None:
        if files_below(outside) != before:
            outcome.failure = "files outside of the table were changed"
        if sorted(path.name for path in self.folder.iterdir()) != beside:
            outcome.failure = "files were made beside the table"


def is_panic(error: Exception) -> bool:
    """Whether an internal error is a panic. Others say that what a driver and its tasks say does not fit together."""
    return "panicked" in str(error)


def _rows_of(root: Path) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mortice.Table(root).snapshot(columns=["id", "city", "ts", "fare"]).to_arrow()
    return sorted(map(repr, found.to_pylist()))
