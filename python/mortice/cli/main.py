"""The command `mortice`: its arguments, and what its exit status says.

0  done                         2  the command or an argument is wrong
1  the table or file is bad     130, 141  interrupted; the reader of the output went away
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

import mortice
from mortice.cli.log import run_log
from mortice.cli.read import run_read
from mortice.cli.table import run_slices, run_timeline
from mortice.errors import InvalidArgumentError, MorticeError

_EXAMPLES = """examples:
  mortice read trips --columns rider,fare --filter 'fare > 3' --filter "day = '2024-01-01'" --limit 5
  mortice read trips --as-of '2024-01-01 12:00:00' --json
  mortice log trips/.*.log.* --verify
  mortice timeline trips
  mortice slices trips --json
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parsed = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = parsed.run
    try:
        status = run(parsed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Python flushes once more at exit; let it go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except InvalidArgumentError as error:
        return _failed(error, 2)
    except MorticeError as error:
        return _failed(error, 1)


def _failed(error: MorticeError, status: int) -> int:
    print("mortice: " + " ".join(str(error).split()), file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mortice",
        description="Reads Apache Hudi merge-on-read tables.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mortice {mortice.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_read(commands)
    _add_log(commands)
    for name, run, what in (
        ("timeline", run_timeline, "what happened to a table"),
        ("slices", run_slices, "the file slices that a snapshot reads"),
    ):
        command = commands.add_parser(name, help=what, description=what.capitalize() + ".", allow_abbrev=False)
        command.set_defaults(run=run)
        command.add_argument("path", metavar="PATH", help="the table's base path")
        if name == "slices":
            _add_as_of(command)
        _add_storage_option(command)
        command.add_argument("--json", action="store_true", help="one JSON document")
    return parser


def _add_as_of(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--as-of", metavar="INSTANT", help="the table as it was then: 20240101120000000, '2024-01-01 12:00:00'"
    )


def _add_storage_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--storage-option",
        metavar="NAME=VALUE",
        dest="storage_options",
        action="append",
        type=_pair,
        default=[],
        help="an option of the table's storage, such as endpoint=http://localhost:9000; may be given several times. "
        "Secrets are better given in the environment: AWS_SECRET_ACCESS_KEY",
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The text may be a secret.
        raise argparse.ArgumentTypeError("a storage option must be NAME=VALUE")
    return name, value


def _add_read(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "read", help="the rows of a table", description="The rows of a table.", allow_abbrev=False
    )
    command.set_defaults(run=run_read)
    command.add_argument("path", metavar="PATH", help="the table's base path")
    command.add_argument("--columns", metavar="A,B", help="only these columns, in this order")
    command.add_argument(
        "--filter",
        metavar="TERM",
        action="append",
        default=[],
        help="only rows for which it holds: 'fare > 3', \"day in ('2024-01-01', '2024-01-02')\", 'rider is null'; "
        "all must hold",
    )
    _add_as_of(command)
    _add_storage_option(command)
    command.add_argument("--read-optimized", action="store_true", help="the base files alone")
    command.add_argument(
        "--limit",
        metavar="N",
        type=_count,
        help="at most so many rows (unless given: 20 at a terminal, all into a pipe or file)",
    )
    command.add_argument("--json", action="store_true", help="one JSON document a row")


def _add_log(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "log", help="the blocks of log files", description="The blocks of log files.", allow_abbrev=False
    )
    command.set_defaults(run=run_log)
    command.add_argument("files", metavar="FILE", nargs="+", help="a log file")
    command.add_argument(
        "--records", metavar="N", type=_count, default=0, help="show the first N records or deletes of each block"
    )
    command.add_argument("--reverse", action="store_true", help="the last block first")
    command.add_argument(
        "--verify",
        action="store_true",
        help="decode every block and print a line for each fault; the exit status is 1 where there is one",
    )
    command.add_argument("--json", action="store_true", help="one JSON document a block")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
