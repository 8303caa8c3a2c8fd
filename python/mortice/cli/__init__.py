"""The command `mortice`: reads tables and inspects timelines, file slices and log files. See `mortice --help`."""

from mortice.cli.main import main

__all__ = ["main"]
