"""Arguments that several commands have."""

from __future__ import annotations

import argparse

__all__ = [
    "add_as_of",
    "add_json",
    "add_options",
    "add_service_options",
    "add_storage_option",
    "count",
    "name_and_value",
]


def add_as_of(command: argparse.ArgumentParser) -> None:
    """Adds the instant of time travel."""
    command.add_argument(
        "--as-of", metavar="INSTANT", help="read the table as of this instant: 20240101120000000, '2024-01-01 12:00:00'"
    )


def add_storage_option(command: argparse.ArgumentParser) -> None:
    """Adds the options of the storage."""
    command.add_argument(
        "--storage-option",
        metavar="NAME=VALUE",
        dest="storage_options",
        action="append",
        type=name_and_value,
        default=[],
        help="a storage option, such as endpoint=http://localhost:9000; may be repeated. "
        "Pass secrets in the environment instead: AWS_SECRET_ACCESS_KEY",
    )
    command.add_argument(
        "--no-mmap", dest="mmap", action="store_false", help="read ranges of local files; do not map them into memory"
    )


def add_options(command: argparse.ArgumentParser, example: str) -> None:
    """Adds options by Hudi's names; `example` is one of them."""
    command.add_argument(
        "--option",
        metavar="NAME=VALUE",
        dest="options",
        action="append",
        type=name_and_value,
        default=[],
        help=f"an option by Hudi's name, such as {example}; may be repeated",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Adds the switch for output that programs read."""
    command.add_argument("--json", action="store_true", help="print one JSON document")


def add_service_options(command: argparse.ArgumentParser, example: str) -> None:
    """Adds what commands have that run a service: a dry run, options, the storage, the form of the output."""
    command.add_argument("--dry-run", action="store_true", help="print what would be done; change nothing")
    command.add_argument(
        "--no-progress",
        dest="progress",
        action="store_false",
        help="show no progress bar; none is shown without a terminal",
    )
    add_options(command, example)
    add_storage_option(command)
    add_json(command)


def name_and_value(text: str) -> tuple[str, str]:
    """Parses NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The value may be a secret.
        raise argparse.ArgumentTypeError("an option must be NAME=VALUE")
    return name, value


def count(text: str) -> int:
    """Parses an integer of 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be an integer of 0 or more, got {text!r}")
    return int(text)
