"""Arguments that several commands have, and the tables that they name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click

from mortice import errors
from mortice.cli.output import print_csv, print_json
from mortice.cli.progress import service_progress
from mortice.cli.tables import print_facts
from mortice.cli.terminal import digits_of, say
from mortice.reading.read_options import ReadOptions
from mortice.table import Table

LOCK = "those of the lock of a table with several writers"
"""Options of services that have none of their own."""

_Command = TypeVar("_Command", bound=Callable[..., object])


class _NameAndValue(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Parses the option."""
        name, equals, text = str(value).partition("=")
        if not equals or not name:
            # The value may be a secret.
            self.fail("an option must be NAME=VALUE", param, ctx)
        return name, text


class _Instant(click.ParamType[str]):
    """The requested time of an instant, also as terminals show it: `2024-01-02 03:04:05.678`."""

    name = "INSTANT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Returns its digits."""
        return digits_of(str(value))


INSTANT = _Instant()


def mapping_option(
    *names: str,
    help: str,  # noqa: A002 — as click calls it
    metavar: str | None = None,
    required: bool = False,
) -> Callable[[_Command], _Command]:
    """Adds an option NAME=VALUE that may be repeated; its argument is a mapping.

    Args:
        names: The option, and the argument.
        help: What it is for.
        metavar: What help calls its value.
        required: Whether there has to be one.
    """
    return click.option(
        *names,
        multiple=True,
        type=_NameAndValue(),
        metavar=metavar,
        required=required,
        callback=lambda _context, _parameter, pairs: dict(pairs),
        help=help,
    )


@dataclass(frozen=True)
class Target:
    """A table that a command is about, and the form of what it prints."""

    path: str
    """The base path, as it was given."""
    storage_options: Mapping[str, str]
    mmap: bool
    form: str
    """`text`, `json` or `csv`."""
    number: int | None = None
    """Its number among several tables, from 0; None if it is the only one."""

    def table(self) -> Table:
        """Opens the table."""
        return Table(self.path, storage_options=self.storage_options, read_options=ReadOptions(mmap=self.mmap))

    def if_csv(self, rows: Sequence[Sequence[object]]) -> Sequence[Sequence[object]]:
        """Returns the rows for CSV; none for text, whose lines below say it all."""
        return rows if self.form == "csv" else []

    def print_title(self) -> None:
        """Prints which table it is, if there are several."""
        if self.number is not None and self.form == "text":
            print(("\n" if self.number else "") + f"{self.path}:")

    def show(
        self,
        document: object,
        names: Sequence[str] = (),
        rows: Iterable[Sequence[object]] = (),
        lines: Iterable[str] = (),
        *,
        is_whole: bool = True,
        less: Sequence[str] = (),
    ) -> None:
        """Prints a result: as JSON the document, as CSV the rows, else the rows and lines of text.

        Args:
            document: What JSON has.
            names: The columns.
            rows: The rows. Without any, no heading is printed as text.
            lines: Lines of text below.
            is_whole: As for `print_facts`.
            less: As for `print_facts`.
        """
        if self.form == "json":
            print_json({"table": self.path, "result": document} if self.number is not None else document)
        elif self.form == "csv":
            print_csv(names, rows)
        else:
            self.print_title()
            rows = list(rows)
            if rows:
                print_facts(names, rows, is_whole=is_whole, less=less)
            for line in lines:
                say(line)


def on_table(run: _Command) -> _Command:
    """Gives a command the argument TABLE, storage options and forms of output; it is called with a `Target`."""
    return _on(run, click.argument("path", metavar="TABLE"), lambda path: [path])


def on_tables(run: _Command) -> _Command:
    """As `on_table`, for one table or several: the command is called for each. `-` reads paths from standard input.

    An error of one does not keep the others from being looked at. The exit status is that of the first that failed.
    """
    return _on(run, click.argument("path", metavar="TABLE...", nargs=-1, required=True), _paths)


def _on(
    run: _Command,
    argument: Callable[[Callable[..., object]], Callable[..., object]],
    paths: Callable[..., Iterable[str]],
) -> _Command:
    @form_options
    @storage_options
    @argument
    @functools.wraps(run)
    def command(path: object, *, storage_options: dict[str, str], mmap: bool, form: str, **arguments: object) -> object:
        found = list(paths(path))
        several = len(found) > 1
        statuses = []
        for number, one in enumerate(found):
            target = Target(one, storage_options, mmap, form, number if several else None)
            try:
                statuses.append(run(target, **arguments) or 0)
            except errors.MorticeError as error:
                if not several:
                    raise
                sys.stdout.flush()
                print_error(error)
                statuses.append(exit_status(error))
        return next((status for status in statuses if status), 0)

    return command  # type: ignore[return-value]


def _paths(paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        if path == "-":
            yield from (line.strip() for line in sys.stdin if line.strip())
        else:
            yield path


STATUSES: Sequence[tuple[type[errors.MorticeError], int]] = (
    (errors.InvalidArgumentError, 2),
    (errors.TableNotFoundError, 66),
    (errors.StorageUnreachableError, 69),
    (errors.StorageThrottledError, 69),
    (errors.InternalError, 70),
    (errors.TableExistsError, 73),
    (errors.StorageForbiddenError, 77),
    (errors.StorageError, 74),
    (errors.WriteConflictError, 75),
)
"""The exit status of errors, as in sysexits.h; of all others it is 1."""


def exit_status(error: errors.MorticeError) -> int:
    """Returns the exit status for an error: one for each kind."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 1)


def print_error(error: BaseException) -> None:
    """Prints an error on one line of standard error."""
    say("mortice: " + " ".join(str(error).split()), sys.stderr)


def storage_options(run: _Command) -> _Command:
    """Adds the options of the storage."""
    run = click.option(
        "--mmap/--no-mmap",
        default=False,
        help="Map large files on local disks into memory. Nobody may make them shorter while they are read.",
    )(run)
    return mapping_option(
        "--storage-option",
        "storage_options",
        help="A storage option, such as endpoint=http://localhost:9000; may be repeated. Pass secrets in the "
        "environment instead: AWS_SECRET_ACCESS_KEY.",
    )(run)


def form_options(run: _Command) -> _Command:
    """Adds the switches for output that programs read, as one argument `form`."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document; of rows, one for each.")
    @click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values with a heading.")
    @functools.wraps(run)
    def command(*arguments: object, as_json: bool, as_csv: bool, **named: object) -> object:
        if as_json and as_csv:
            raise click.UsageError("--json and --csv exclude each other")
        return run(*arguments, form="json" if as_json else "csv" if as_csv else "text", **named)

    return command  # type: ignore[return-value]


def as_of(run: _Command) -> _Command:
    """Adds the instant of time travel."""
    return click.option(
        "--as-of",
        metavar="INSTANT",
        help="Read the table as of this instant: 20240101120000000, '2024-01-01 12:00:00'.",
    )(run)


def options_of(example: str) -> Callable[[_Command], _Command]:
    """Adds options by Hudi's names; `example` is one of them."""
    return mapping_option("--option", "options", help=f"An option by Hudi's name, such as {example}; may be repeated.")


def service_options(example: str, *, has_progress: bool = True) -> Callable[[_Command], _Command]:
    """Adds what commands have that run a service: a dry run, options, the bar of progress, unless none is shown."""

    def decorate(run: _Command) -> _Command:
        run = options_of(example)(run)
        run = click.option(
            "--no-progress",
            "progress",
            flag_value=False,
            default=True,
            expose_value=has_progress,
            hidden=not has_progress,
            help="Show no progress bar; none is shown without a terminal.",
        )(run)
        return click.option("--dry-run", is_flag=True, help="Print what would be done; change nothing.")(run)

    return decorate


def steps(kind: str) -> Callable[[_Command], _Command]:
    """Adds --schedule-only and --run-only, as the arguments `schedule` and `run` of services that are planned."""

    def decorate(command: _Command) -> _Command:
        @click.option("--schedule-only", is_flag=True, help=f"Plan a {kind}; do not execute any.")
        @click.option("--run-only", is_flag=True, help="Execute what is pending; plan nothing.")
        @functools.wraps(command)
        def with_steps(*arguments: object, schedule_only: bool, run_only: bool, **named: object) -> object:
            if schedule_only and run_only:
                raise click.UsageError("--schedule-only and --run-only exclude each other")
            return command(*arguments, schedule=not run_only, run=not schedule_only, **named)

        return with_steps  # type: ignore[return-value]

    return decorate


def service(
    method: str, example: str, *, unit: str = "", kind: str | None = None, several: bool = True
) -> Callable[[Callable[..., int | None]], Callable[..., object]]:
    """Makes a command of a method of `Table` out of a function that prints what it has done, or would do.

    The function is called with the target, the result, and whether it is that of a dry run: of `plan_METHOD`. It may
    return an exit status.

    Args:
        method: The method.
        example: One of its options.
        unit: What its bar of progress counts: "bytes", "files"; empty if it only shows for how long it runs.
        kind: What it plans and executes, if there are options for each of them: "compaction".
        several: Whether it can be run for several tables.
    """

    def decorate(show: Callable[..., int | None]) -> Callable[..., object]:
        @functools.wraps(show)
        def run(target: Target, *, dry_run: bool, progress: bool = True, **arguments: object) -> int | None:
            table = target.table()
            call = getattr(table, f"plan_{method}" if dry_run else method)
            with service_progress(unit, table.service_progress, progress):
                done = call(**arguments)
            return show(target, done, is_plan=dry_run)

        command = service_options(example, has_progress=bool(unit))((on_tables if several else on_table)(run))
        return command if kind is None else steps(kind)(command)

    return decorate


def columns_of(text: str | None) -> list[str] | None:
    """Parses names of columns, which commas separate."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
