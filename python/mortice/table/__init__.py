"""The entry point: a Hudi table, its queries, writes and services."""

from mortice.table.table import Table

__all__ = ["Table"]
