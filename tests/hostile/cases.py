"""One case: a table, some changes of its metadata, and what is done with it."""

from __future__ import annotations

import shutil
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import mortice
from hostile.actions import CHANGES, READS, Action
from hostile.copies import TableCopy
from hostile.mutations import Mutator
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


class Place:
    """A folder with a table that cases change, and beside it another one that they must not reach.

    Args:
        template: The table that both are copies of.
        folder: Where they are. Nothing else may appear there.
    """

    BESIDE = ("outside", "trips")

    def __init__(self, template: Path, folder: Path) -> None:
        self.folder = folder
        # A process that ended in a case leaves what it made.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.outside, self.table = (TableCopy(template, folder / name) for name in self.BESIDE)
        self.rows = _rows_of(self.table.root)

    def what_was_reached(self) -> str | None:
        """Returns what was changed outside of the table, and puts all back."""
        reached = None
        if self.outside.is_changed():
            reached = "files outside of the table were changed"
            self.outside = TableCopy(self.outside.template, self.outside.root)
        for path in self.folder.iterdir():
            if path.name not in self.BESIDE:
                reached = "files were made beside the table"
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self.table.put_back()
        return reached


class Cases:
    """Runs cases on copies of the tables in `templates`, which are put back after each."""

    def __init__(self, templates: Path, folder: Path) -> None:
        self.templates, self.folder = templates, folder
        self.kinds = sorted(path.name for path in templates.iterdir())
        self.places: dict[str, Place] = {}

    def _begin(self, seed: str) -> tuple[Outcome, Place, Mutator]:
        random = Random(seed)
        kind = random.choice(self.kinds)
        if kind not in self.places:
            self.places[kind] = Place(self.templates / kind, self.folder / kind)
        place = self.places[kind]
        return Outcome(seed, [kind], []), place, Mutator(random, place.table, place.outside.root)

    def write(self, seed: str) -> Outcome:
        """Runs a write or a table service, or two."""
        outcome, place, mutator = self._begin(seed)
        self._change(outcome, mutator)
        for name in mutator.random.choices([*CHANGES], k=mutator.random.choice([1, 1, 2])):
            self._act(outcome, mutator, name, CHANGES[name])
        return self._end(outcome, place)

    def read(self, seed: str) -> Outcome:
        """Runs a read."""
        outcome, place, mutator = self._begin(seed)
        self._change(outcome, mutator)
        name = mutator.random.choice([*READS])
        self._act(outcome, mutator, name, READS[name])
        return self._end(outcome, place)

    def payload(self, seed: str) -> Outcome:
        """Changes what processes of a write send each other, or a split, or a merge plan."""
        outcome, place, mutator = self._begin(seed)
        name = mutator.random.choices([*PAYLOADS], [6, 1, 1])[0]
        self._attempt(outcome, lambda: PAYLOADS[name](mutator, outcome.steps), is_panic)
        if outcome.errors and outcome.failure is None and _rows_of(mutator.root) != place.rows:
            outcome.failure = f"{outcome.errors[0]}, and other rows"
        return self._end(outcome, place)

    @staticmethod
    def _change(outcome: Outcome, mutator: Mutator) -> None:
        outcome.steps.extend(mutator.mutate() for _ in range(mutator.random.choice([1, 1, 1, 2, 3])))

    def _act(self, outcome: Outcome, mutator: Mutator, name: str, action: Action) -> None:
        outcome.steps.append(name)
        self._attempt(outcome, lambda: action(mortice.Table(mutator.root), mutator.random))

    @staticmethod
    def _end(outcome: Outcome, place: Place) -> Outcome:
        reached = place.what_was_reached()
        outcome.failure = reached or outcome.failure
        return outcome

    @staticmethod
    def _attempt(
        outcome: Outcome, action: Callable[[], object], is_defect: Callable[[Exception], bool] = lambda _: True
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


def is_panic(error: Exception) -> bool:
    """Whether an internal error is a panic. Others say that what a driver and its tasks say does not fit together."""
    return "panicked" in str(error)


def _rows_of(root: Path) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mortice.Table(root).snapshot(columns=["id", "city", "ts", "fare"]).to_arrow()
    return sorted(map(repr, found.to_pylist()))
