"""The command `mortice`: its arguments and its exit status.

0  success                          2  the command or an argument is invalid
1  the table or file is invalid     130, 141  interrupted; the output was closed
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TextIO

import mortice
from mortice.cli.arguments import (
    add_as_of,
    add_json,
    add_options,
    add_service_options,
    add_storage_option,
    count,
    name_and_value,
)
from mortice.cli.cluster import add_cluster
from mortice.cli.compact import add_compact
from mortice.cli.data_files import file_types
from mortice.cli.housekeeping import add_housekeeping
from mortice.cli.log import run_log
from mortice.cli.metadata import add_metadata
from mortice.cli.read import run_read
from mortice.cli.recovery import run_restore, run_rollback, run_savepoint
from mortice.cli.table import run_slices, run_timeline
from mortice.cli.verify_table import run_repair, run_verify
from mortice.cli.write import OPERATIONS, run_create, run_write
from mortice.damage import DamagedFileWarning
from mortice.errors import InvalidArgumentError, MorticeError

LOCK = "those of the lock of a table with several writers"
"""Options of services that have none of their own."""

_EXAMPLES = """examples:
  mortice read trips --columns rider,fare --filter 'fare > 3' --filter "day = '2024-01-01'" --limit 5
  mortice read trips --as-of '2024-01-01 12:00:00' --json
  mortice log trips/.*.log.* --verify
  mortice timeline trips
  mortice slices trips --json
  mortice rollback trips 20240101120000000 --dry-run
  mortice savepoint trips 20240101120000000 --comment 'before the migration'
  mortice compact trips --dry-run
  mortice log-compact trips
  mortice metadata build trips --add record_index --dry-run
  mortice clean trips --dry-run --option hoodie.clean.commits.retained=24
  mortice archive trips --dry-run
  mortice restore trips 20240101120000000 --dry-run
  mortice create trips --schema 'id string, city string, fare double, ts long' --record-key id --ordering ts
  mortice write trips rides.parquet --operation upsert --option hoodie.index.type=SIMPLE
  mortice verify trips --keys
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parsed = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = parsed.run
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DamagedFileWarning)
            warnings.showwarning = _show_warning
            status = run(parsed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Python flushes again at exit, which must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except InvalidArgumentError as error:
        return _failed(error, 2)
    except MorticeError as error:
        return _failed(error, 1)


def _show_warning(  # noqa: PLR0917 (as Python calls it)
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Prints a warning of a damaged file as errors are printed, others as Python does."""
    if issubclass(category, DamagedFileWarning):
        print(f"mortice: warning: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), file=file or sys.stderr, end="")


def _failed(error: MorticeError, status: int) -> int:
    print("mortice: " + " ".join(str(error).split()), file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mortice",
        description="Reads and writes Apache Hudi tables, shows their timelines, file slices and log files, and runs "
        "services on them.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mortice {mortice.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_read(commands)
    _add_log(commands)
    add_compact(commands)
    add_housekeeping(commands)
    for name, run, what in (
        ("timeline", run_timeline, "list the instants of a table"),
        ("slices", run_slices, "list the file slices that a snapshot reads"),
    ):
        command = commands.add_parser(
            name, help=what, description=what.replace("list", "Lists", 1) + ".", allow_abbrev=False
        )
        command.set_defaults(run=run)
        command.add_argument("path", metavar="TABLE", help="the table's base path")
        if name == "slices":
            add_as_of(command)
        add_storage_option(command)
        add_json(command)
    _add_rollback(commands)
    _add_restore(commands)
    _add_savepoint(commands)
    add_cluster(commands)
    add_metadata(commands)
    _add_create(commands)
    _add_write(commands)
    _add_verify(commands)
    _add_repair(commands)
    return parser


def _add_rollback(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "rollback",
        help="undo an instant of a table",
        description="Undoes an instant: a pending one, or the latest completed write.",
        allow_abbrev=False,
    )
    command.set_defaults(run=run_rollback)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument("instant", metavar="INSTANT", help="the requested time of the instant")
    add_service_options(command, LOCK)


def _add_restore(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "restore",
        help="take a table back to a savepoint",
        description="Takes a table back to a savepoint: undoes all later writes, newest first.",
        allow_abbrev=False,
    )
    command.set_defaults(run=run_restore)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument("instant", metavar="INSTANT", help="the requested time of the savepoint")
    add_service_options(command, LOCK)


def _add_savepoint(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "savepoint",
        help="keep a completed write from being cleaned",
        description="Makes a savepoint of a completed write, or deletes it.",
        allow_abbrev=False,
    )
    command.set_defaults(run=run_savepoint)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument("instant", metavar="INSTANT", help="the requested time of the write")
    command.add_argument("--comment", metavar="TEXT", default="", help="what the savepoint is for")
    command.add_argument("--user", metavar="NAME", default="", help="who makes it")
    command.add_argument("--delete", action="store_true", help="delete the savepoint")
    add_service_options(command, LOCK)


def _add_verify(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "verify",
        help="find what is wrong with a table; exit with status 1 if anything is",
        description="Finds what is wrong with a table: whether timeline, files and metadata table agree, files that "
        "cannot be decoded, orphan files, temporary files, stale markers and dead heartbeats. Changes nothing.",
        allow_abbrev=False,
    )
    command.set_defaults(run=run_verify)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument(
        "--keys",
        action="store_true",
        help="find record keys of several rows of a partition, and faults of the record index",
    )
    command.add_argument(
        "--global-keys", action="store_true", help="the same, and record keys of several rows of the table"
    )
    command.add_argument("--no-contents", action="store_true", help="do not decode data files")
    add_storage_option(command)
    add_json(command)


def _add_repair(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "repair",
        help="delete what stopped writers left",
        description="Deletes stale markers, dead heartbeats, and data files that no instant accounts for. Exits with "
        "status 1 if something is wrong that stays.",
        allow_abbrev=False,
    )
    command.set_defaults(run=run_repair)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument(
        "--merge-buckets",
        action="store_true",
        help="also make one file group of those of each bucket that has several",
    )
    add_service_options(command, LOCK)


def _add_read(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "read", help="print the rows of a table", description="Prints the rows of a table.", allow_abbrev=False
    )
    command.set_defaults(run=run_read)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument("--columns", metavar="A,B", help="the columns to print, in this order (default: all)")
    command.add_argument(
        "--filter",
        metavar="TERM",
        action="append",
        default=[],
        help="a predicate on rows: 'fare > 3', \"day in ('2024-01-01', '2024-01-02')\", 'rider is null'; may "
        "be repeated, all must hold",
    )
    add_as_of(command)
    add_storage_option(command)
    command.add_argument("--read-optimized", action="store_true", help="read base files only, without log files")
    command.add_argument(
        "--limit",
        metavar="N",
        type=count,
        help="rows to print, at most (default: 20 at a terminal, else all)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON document per row")


def _add_log(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "log", help="list the blocks of log files", description="Lists the blocks of log files.", allow_abbrev=False
    )
    command.set_defaults(run=run_log)
    command.add_argument("files", metavar="FILE", nargs="+", help="a log file: a path or a URI")
    command.add_argument(
        "--records",
        metavar="N",
        type=count,
        default=0,
        help="print the first N records or deletes of each block (default: 0)",
    )
    command.add_argument("--reverse", action="store_true", help="list the last block first")
    command.add_argument(
        "--verify",
        action="store_true",
        help="decode every block and print one line for each fault; exit with status 1 if there are any",
    )
    add_storage_option(command)
    command.add_argument("--json", action="store_true", help="print one JSON document per block")


def _add_create(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "create", help="create a table", description="Creates an empty table.", allow_abbrev=False
    )
    command.set_defaults(run=run_create)
    command.add_argument("path", metavar="TABLE", help="where the table is to be: a path or a URI")
    command.add_argument(
        "--schema",
        metavar="COLUMNS",
        required=True,
        help="the columns: 'id string not null, fare double, at timestamp'; or a file of "
        f"rows ({file_types()}), whose columns are taken",
    )
    command.add_argument("--record-key", metavar="A,B", required=True, help="the columns of the record key")
    command.add_argument("--partition-by", metavar="A,B", help="the partition columns")
    command.add_argument("--ordering", metavar="A,B", help="the ordering columns")
    command.add_argument("--name", metavar="NAME", help="the table's name (default: the last part of TABLE)")
    command.add_argument(
        "--table-type", choices=("MERGE_ON_READ", "COPY_ON_WRITE"), default="MERGE_ON_READ", type=str.upper
    )
    command.add_argument("--table-version", metavar="N", type=count, default=9, help="9 (default), 8 or 6")
    command.add_argument(
        "--property",
        metavar="NAME=VALUE",
        dest="properties",
        action="append",
        type=name_and_value,
        default=[],
        help="a further property by Hudi's name, such as hoodie.record.merge.mode=COMMIT_TIME_ORDERING",
    )
    add_storage_option(command)


def _add_write(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "write",
        help="write files of rows to a table",
        description="Writes the rows of files to a table, as one commit. Files of any size are read as a stream.",
        allow_abbrev=False,
    )
    command.set_defaults(run=run_write)
    command.add_argument("path", metavar="TABLE", help="the table's base path")
    command.add_argument(
        "data", metavar="DATA", nargs="+", help=f"a file of rows: {file_types()}; of JSON, a document per line"
    )
    command.add_argument("--operation", choices=sorted(OPERATIONS), required=True)
    command.add_argument(
        "--columns",
        choices=["exact", "add", "evolve"],
        help="which changes of the table's columns the write may make: none (default), new columns, wider types, too",
    )
    add_options(command, "hoodie.index.type=BLOOM")
    add_storage_option(command)
    add_json(command)
