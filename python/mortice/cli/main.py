"""The command `mortice`: its commands and its exit status.

0  success                          2  the command or an argument is invalid
1  the table or file is invalid     66 to 77  not found, unreachable, exists, input and output, conflict, forbidden
                                    130, 141  interrupted; the output was closed

Also `mortice completion` and `mortice man`: what shells complete, and manual pages, made of the commands themselves.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click
from click.shell_completion import get_completion_class

import mortice
from mortice.cli.log import log
from mortice.cli.output import visible_output
from mortice.cli.parameters import exit_status, print_error
from mortice.cli.read import changes, count, follow, read
from mortice.cli.recovery import repair, restore, rollback, savepoint, verify
from mortice.cli.services import (
    archive,
    clean,
    cluster,
    compact,
    downgrade,
    expire_partitions,
    health,
    log_compact,
    maintain,
    metadata,
    upgrade,
)
from mortice.cli.table import diff, explain, history, info, report, schema, slices, sync, timeline
from mortice.cli.terminal import say
from mortice.cli.write import create, delete, erase, update, write
from mortice.errors import MorticeError
from mortice.queries import TimeTravelWarning
from mortice.values.damage import DamagedFileWarning
from mortice.values.other_names import names_of

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script by which a shell completes commands and options.

    \b
    bash, zsh:  eval "$(mortice completion bash)"   in ~/.bashrc, ~/.zshrc
    fish:       mortice completion fish | source    in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    if found is not None:
        print(found(context.find_root().command, {}, "mortice", "_MORTICE_COMPLETE").source())


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.pass_context
def man(context: click.Context, directory: Path) -> None:
    """Write manual pages to a directory, such as ~/.local/share/man/man1."""
    directory.mkdir(parents=True, exist_ok=True)
    root = context.find_root().command
    pages = list(_pages(root, click.Context(root, info_name="mortice")))
    for name, text in pages:
        (directory / f"{name}.1").write_text(text, encoding="utf-8")
    print(f"{len(pages)} manual pages in {directory}")


def _pages(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    found = [(context.command_path.replace(" ", "-"), page(command, context))]
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            found += _pages(one, click.Context(one, info_name=name, parent=context))
    return found


def page(command: click.Command, context: click.Context) -> str:
    """Returns the manual page of a command in man's macros."""
    title = context.command_path.replace(" ", "-")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{title.upper()}" 1 "" "mortice {mortice.__version__}"',
        ".SH NAME",
        f"{title} \\- {_escaped(command.get_short_help_str(200))}",
        ".SH SYNOPSIS",
        f".B {context.command_path}\n{_escaped(usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            lines += [".TP", f".B {_escaped(record[0])}", _escaped(record[1])]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name, one in sorted(command.commands.items()):
            lines += [".TP", f".B {_escaped(name)}", _escaped(one.get_short_help_str(200))]
    if command.epilog:
        lines += [".SH EXAMPLES", ".nf", *(_escaped(line) for line in command.epilog.splitlines()[2:]), ".fi"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    lines = []
    for paragraph in text.strip().split("\n\n"):
        verbatim = paragraph.lstrip().startswith("\b")
        body = [_escaped(line) for line in paragraph.replace("\b", "").strip("\n").splitlines()]
        lines += [".PP", *([".nf", *body, ".fi"] if verbatim else [line.strip() for line in body])]
    return lines


def _escaped(text: str) -> str:
    """Returns text in which man sees no macros or escapes.

    >>> _escaped(".hoodie -a")
    '\\\\&.hoodie \\\\-a'
    """
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


OUTPUT_FAILED = 74
"""As sysexits.h: an error of input or output."""
INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""As of a process that SIGPIPE has ended."""

SECTIONS = {
    "Look": [info, schema, timeline, slices, explain, log, report],
    "Read": [read, count, changes, follow, diff, history],
    "Write": [create, write, update, delete, erase],
    "Check": [health, verify, repair],
    "Maintain": [maintain, compact, log_compact, cluster, clean, expire_partitions, archive, metadata, sync],
    "Table version": [upgrade, downgrade],
    "Go back": [rollback, savepoint, restore],
    "Shell": [completion, man],
}

EXAMPLES = """\b
Examples:
  mortice info trips
  mortice read trips --columns rider,fare --filter 'fare > 3' --limit 5
  mortice read trips --as-of '2024-01-01 12:00:00' --json
  mortice changes trips --since 20240101120000000 --csv
  mortice log trips/.*.log.* --verify
  mortice create trips --schema 'id string, fare double, ts long' --record-key id --ordering ts
  mortice write trips rides.parquet --operation upsert
  mortice compact trips --dry-run
  mortice clean trips --dry-run --option hoodie.clean.commits.retained=24
  mortice savepoint trips 20240101120000000 --comment 'before the migration'
  mortice verify trips --keys
"""


class _OutputClosed(Exception):  # noqa: N818 — no error for people
    """Nobody reads the output any more. click would exit with 1 for a `BrokenPipeError`."""


class _Group(click.Group):
    """The command, whose help lists its commands by what they are for."""

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command that was named."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _OutputClosed from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that was named; of a name of another tool the error says what it is here."""
        meant = names_of("command").get(args[0])
        if meant is not None and args[0] not in self.commands:
            raise click.UsageError(f"No such command {args[0]!r}; use {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 — as click calls it
        formatter: click.HelpFormatter,
    ) -> None:
        """Writes the sections."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(one.name or "", one.get_short_help_str(100)) for one in commands])


@click.group(cls=_Group, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(mortice.__version__, prog_name="mortice", message="%(prog)s %(version)s")
def group() -> None:
    """Read and write Apache Hudi tables, show what is in them, and run services on them."""


for _commands in SECTIONS.values():
    for _command in _commands:
        group.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with visible_output():
        return _status(arguments)


def _status(arguments: Sequence[str] | None) -> int:
    try:
        return _run(arguments)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, _OutputClosed):
        _leave_output()
        return OUTPUT_CLOSED
    except MorticeError as error:
        print_error(error)
        return exit_status(error)
    except OSError as error:
        # Of mortice itself, errors of storage are `MorticeError`.
        _leave_output()
        print_error(error)
        return OUTPUT_FAILED


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DamagedFileWarning)
            warnings.simplefilter("always", TimeTravelWarning)
            warnings.showwarning = _show_warning
            status = group.main(arguments, prog_name="mortice", standalone_mode=False)
        sys.stdout.flush()
        return int(status or 0)
    except click.ClickException as error:
        shown = _option_error(error) if isinstance(error, click.NoSuchOption) else error
        shown.show()
        return shown.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code


def _option_error(error: click.NoSuchOption) -> click.ClickException:
    """Returns the error for an option that does not exist: of a name of another tool it says what it is here."""
    known = {name for one in error.ctx.command.params for name in one.opts} if error.ctx is not None else set()
    meant = next(
        (one for one in names_of("option").get(error.option_name, "").split(", ") if one.partition(" ")[0] in known),
        None,
    )
    if meant is None:
        return error
    return click.UsageError(f"No such option {error.option_name!r}; use {meant}", error.ctx)


def _leave_output() -> None:
    """Python flushes again at exit, which must not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(  # noqa: PLR0917 (as Python calls it)
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Prints a warning of mortice as errors are printed, others as Python does."""
    if issubclass(category, (DamagedFileWarning, TimeTravelWarning)):
        say(f"mortice: warning: {message}", sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), file=file or sys.stderr, end="")
