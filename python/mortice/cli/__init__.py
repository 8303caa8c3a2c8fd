"""`mortice` at a terminal: look at a table, its timeline, its file slices, its log files. See `mortice --help`."""

from mortice.cli.main import main

__all__ = ["main"]
